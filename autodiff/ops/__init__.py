"""The op table: a module a family, a row an op, a public function made from each."""

# ruff: noqa: F401 - a module is imported so that it fills the table

from autodiff.ops import (
    activation,
    algebra,
    cast,
    compare,
    complex,
    contraction,
    diagonals,
    elementwise,
    extremes,
    gather,
    index,
    join,
    norms,
    piecewise,
    reduce,
    shape,
    smooth_max,
    spectral,
    statistics,
    systems,
    transfer,
    trigonometry,
)
