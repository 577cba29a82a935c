"""The op table and what is published from it."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

import autodiff
from autodiff import Tensor
from autodiff.table import FUNCTIONS, METHODS, OPS


def test_rows_stand_under_their_names() -> None:
    assert OPS
    assert {name: op.name for name, op in OPS.items()} == {name: name for name in OPS}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_function_stands_in_the_package(name: str) -> None:
    assert getattr(autodiff, name) is FUNCTIONS[name]
    assert FUNCTIONS[name].__doc__


@pytest.mark.parametrize("name", METHODS)
def test_method_is_the_public_function(name: str) -> None:
    assert getattr(Tensor, name) is FUNCTIONS[name]


def test_no_function_hides_another_public_name() -> None:
    explicit = autodiff.__all__[: autodiff.__all__.index("vjp") + 1]
    assert FUNCTIONS.keys() & {*explicit, "install", "builtins"} == set()


def test_star_import_leaves_builtins_alone() -> None:
    assert [name for name in autodiff.__all__ if hasattr(builtins, name)] == []
    assert len(set(autodiff.__all__)) == len(autodiff.__all__)


def test_function_with_a_numpy_name_does_what_numpy_does() -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert np.array_equal(autodiff.matmul(x, x).numpy(), x @ x)
    assert np.array_equal(autodiff.sum(x, axis=0).numpy(), x.sum(axis=0))
