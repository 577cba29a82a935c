"""Every op that has a kernel, on its own samples; and lists of ops that become few launches."""

from __future__ import annotations

from typing import Any

import numpy as np
import op_checks
import pytest
from tensor_listing import Listing

from autodiff.backends.tensor_launches import RESIDENT
from autodiff.node import Op
from autodiff.table import OPS

RNG = np.random.default_rng(11)
REAL = [np.dtype(np.float64), np.dtype(np.float32)]
ROWS = [op for op in OPS.values() if op.name in RESIDENT or op.view]


def test_names_are_those_of_the_op_table() -> None:
    assert OPS.keys() >= RESIDENT


@pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
def test_op_has_the_value_of_its_row(op: Op) -> None:
    ran = 0
    for sample in op_checks.cases(op, REAL):
        listing = Listing(*sample.args)
        result = listing.add(op.name, *listing.leaves, **sample.attrs)
        if listing.plan(result) is not None:
            listing.check(result)
            ran += 1
    assert ran >= 2 or op.name == "astype"  # whose samples are complex


def test_numbers_and_booleans_are_converted() -> None:
    f = Listing(RNG.normal(size=5), RNG.normal(size=5) > 0)
    positive = f.add("greater", 0, f.add("zeros_like", 0))
    f.check(f.add("astype", 1, dtype=np.dtype(float)), f.add("astype", 0, dtype=np.dtype(bool)))
    f.check(f.add("where", f.add("logical_and", positive, 1), 0, f.add("negative", 0)), positive)


SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.5, 0.5, 1e-300, 1e300])
UNARY = [
    op
    for op in ROWS
    if op.name in RESIDENT and not op.view and len(op_checks.samples_of(op, REAL[0])[0].args) == 1
    and not op_checks.samples_of(op, REAL[0])[0].attrs
]  # fmt: skip


@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_special_values_follow_ieee_754(op: Op, dtype: np.dtype[Any]) -> None:
    with np.errstate(over="ignore"):
        listing = Listing(SPECIAL.astype(dtype))
    listing.check(listing.add(op.name, 0))


BINARY = ("add", "divide", "power", "maximum", "minimum", "less", "equal", "logical_xor", "arctan2")


@pytest.mark.parametrize("name", BINARY)
def test_special_values_meet_each_other(name: str) -> None:
    listing = Listing(SPECIAL, SPECIAL[:, None])
    listing.check(listing.add(name, 0, 1))


@pytest.mark.parametrize(("name", "near"), [("expm1", 0), ("log1p", 0), ("softplus", -40)])
def test_small_results_keep_their_digits(name: str, near: float) -> None:
    """Compared with what they are next to: x, or e^x."""
    listing = Listing(near + np.array([1e-10, -1e-9, 1e-12]))
    size = listing.add("exp", 0) if near else 0
    listing.check(listing.add("divide", listing.add(name, 0), size))


# -- lists of ops ----------------------------------------------------------------------------------


def layer() -> tuple[Listing, int, list[int]]:
    """A dense layer, its loss, and what backward computes."""
    x, w, b, y = RNG.normal(size=(5, 3)), RNG.normal(size=(3, 4)), RNG.normal(size=4), 0.5
    f = Listing(x, w, b, np.float64(y))
    z = f.add("add", f.add("matmul", 0, 1), 2)
    h = f.add("tanh", z)
    difference = f.add("subtract", h, 3)
    loss = f.add("mean", f.add("square", difference), axis=(0, 1), keepdims=False)
    scaled = f.add("multiply", difference, f.add("reciprocal", 3))
    slope = f.add("multiply", scaled, f.add("subtract", 3, f.add("square", h)))
    turned = f.add("transpose", 0, axes=(1, 0))
    return f, loss, [f.add("matmul", turned, slope), f.add("sum", slope, axis=(0,), keepdims=False)]


def test_layer_and_its_gradient_are_few_launches() -> None:
    f, loss, gradients = layer()
    f.check(loss, *gradients)
    names = [launch.instance.partition("<")[0] for launch in f.planned(loss, *gradients).launches]
    assert names.count("elementwise") <= 3
    assert sorted(set(names)) == ["elementwise", "matmul", "reduce"]


def test_what_nobody_reads_is_not_written() -> None:
    f = Listing(RNG.normal(size=6))
    f.add("exp", 0)
    last = f.add("negative", f.add("tanh", f.add("sin", 0) if "sin" in RESIDENT else 0))
    (launch,) = f.planned(last).launches
    assert launch.arguments[0]["outputs"] == 1  # type: ignore[index]
    f.check(last)


def test_long_programs_are_divided() -> None:
    f = Listing(RNG.normal(size=(2, 3)), RNG.normal(size=3))
    value, kept = 0, []
    for k in range(40):
        value = f.add("multiply" if k % 3 else "add", value, 1)
        kept += [value] if k % 4 == 0 else []
    f.check(*kept, value)
    assert 5 <= len(f.planned(*kept, value).launches) <= 12


def test_program_has_few_operands() -> None:
    f = Listing(*[RNG.normal(size=3) for _ in range(9)])
    total = 0
    for k in range(1, 9):
        total = f.add("add", total, k)
    f.check(total)


def test_views_are_strides() -> None:
    f = Listing(RNG.normal(size=(4, 6)))
    exp = f.add("exp", 0)
    turned = f.add("transpose", exp, axes=(1, 0))
    part = f.add("getitem", turned, index=(slice(None, None, -2), slice(1, 3)))
    wide = f.add("broadcast_to", f.add("getitem", part, index=(slice(0, 1),)), shape=(3, 2))
    result = f.add("add", part, wide)
    again = f.add("reshape", part, shape=(6,))  # strided: a copy comes first
    f.check(result, part, again, turned, f.add("sum", part, axis=(0,), keepdims=True))


def test_spread_is_strides_or_one_launch() -> None:
    f = Listing(RNG.normal(size=(3, 2)), RNG.normal(size=2))
    shared = {"shape": (3, 2), "kept": (1, 2)}
    whole = f.add("multiply", 0, f.add("spread", 1, parts=1, **shared))
    f.check(whole)
    assert len(f.planned(whole).launches) == 1
    part = f.add("spread", f.add("sum", 0, axis=(0,), keepdims=False), parts=3, **shared)
    f.check(part)
    names = [launch.instance.partition("<")[0] for launch in f.planned(part).launches]
    assert names[-2:] == ["reduce", "elementwise"]


def test_empty_values_run_nothing() -> None:
    f = Listing(np.zeros((0, 3)))
    outputs = [
        f.add("exp", 0),
        f.add("sum", 0, axis=(0,), keepdims=False),
        f.add("matmul", 0, f.add("transpose", 0, axes=(1, 0))),
    ]
    f.check(*outputs)


REFUSED = {
    "a complex number": (("exp", {}), [np.ones(2, complex)]),
    "two precisions": (("add", {}), [np.ones(2), np.ones(2, np.float32)]),
    "an op without a kernel": (("cumsum", {"axis": 0}), [np.ones(3)]),
    "integers": (("add", {}), [np.ones(2, int), np.ones(2, int)]),
    "a sum of integers": (("sum", {"axis": (0,), "keepdims": False}), [np.ones(2, int)]),
    "large matrices": (("matmul", {}), [np.ones((2, 600)), np.ones((600, 2))]),
    "many axes": (("negative", {}), [np.ones((2,) * 6).transpose(5, 0, 1, 4, 2, 3)]),
    "axes apart": (("softmax", {"axis": (0, 2)}), [np.ones((2, 2, 2))]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_kernel_has_no_plan(name: str) -> None:
    (op, attrs), leaves = REFUSED[name]
    f = Listing(*leaves)
    assert f.plan(f.add(op, *f.leaves, **attrs)) is None
