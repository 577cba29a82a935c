"""What declaring a row does: names, conjugation, projection, broadcasting, refusals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from autodiff import DTypeError, ShapeError, Tensor, grad
from autodiff.dispatch import apply
from autodiff.node import Op
from autodiff.ops.declare import (
    broadcast_shape,
    broadcasting,
    conj_of,
    elementwise_op,
    fit,
    per_input,
    public,
    register,
)
from autodiff.table import FUNCTIONS, METHODS, OPS


@pytest.fixture(autouse=True)
def _tables() -> Iterator[None]:
    """Leave the tables as they were."""
    ops, functions, methods = dict(OPS), dict(FUNCTIONS), list(METHODS)
    yield
    for table, kept in ((OPS, ops), (FUNCTIONS, functions)):
        table.clear()
        table.update(kept)
    METHODS[:] = methods


def test_a_name_stands_once() -> None:
    with pytest.raises(ValueError, match="an op needs a new name, got 'sin' twice"):
        register(Op("sin", lambda xp, x: x))
    with pytest.raises(ValueError, match="a function needs a new name, got 'sin' twice"):
        public("sin")(lambda x: x)


def test_function_gets_name_doc_and_aliases() -> None:
    twice = broadcasting(
        "twice", lambda xp, x: 2 * x, lambda outs, x: 2, doc="2x.", aliases=("x2",)
    )
    assert (twice.__name__, twice.__doc__) == ("twice", "2x.")
    assert FUNCTIONS["twice"] is FUNCTIONS["x2"] is twice
    assert {"twice", "x2"} <= set(METHODS)
    hidden = broadcasting("hidden", lambda xp, x: x, doc=".", method=False)
    assert FUNCTIONS["hidden"] is hidden
    assert "hidden" not in METHODS


def test_partials_are_conjugated_and_projected_once() -> None:
    turn = broadcasting("turn", lambda xp, x: 1j * x, lambda outs, x: 1j, doc="i x.")
    z, x = Tensor(2 + 1j, requires_grad=True), Tensor(2.0, requires_grad=True)
    assert grad(turn(z), z, Tensor(1 + 0j)).item() == -1j
    g = grad(turn(x), x, Tensor(0.5 + 3j))
    assert (g.item(), g.dtype) == (3.0, np.float64)


def test_an_operand_without_partial_gets_none() -> None:
    pick = elementwise_op(
        "pick", lambda xp, x, y: x + 0 * y, lambda outs, x, y: 1, None, doc="x for any y."
    )
    x, y = Tensor(1.0, requires_grad=True), Tensor(2.0, requires_grad=True)
    assert [g.item() for g in grad(apply(pick, x, y), (x, y))] == [1.0, 0.0]


def test_rules_run_only_for_operands_that_require_grad() -> None:
    asked = []

    def note(k: int) -> object:
        return lambda g, outs, x, y: asked.append(k) or g

    op = register(Op("noted", lambda xp, x, y: x + y, per_input(note(0), note(1))))
    apply(op, Tensor(1.0), Tensor(1.0, requires_grad=True)).backward()
    assert asked == [1]


def test_fit_sums_over_broadcast_axes() -> None:
    g = Tensor(np.ones((4, 2, 3)))
    assert fit(g, Tensor(np.zeros((2, 1)))).tolist() == [[12.0], [12.0]]
    assert fit(Tensor(np.ones((2, 0))), Tensor(np.zeros((2, 1)))).tolist() == [[0.0], [0.0]]
    single = fit(Tensor(np.ones(3)), Tensor(np.zeros((), np.float32)))
    assert (single.item(), single.dtype) == (3.0, np.float32)


@pytest.mark.parametrize(("found", "wanted"), [((3,), (2, 3)), ((2, 3), (2, 2)), ((2,), (3,))])
def test_fit_refuses_a_cotangent_of_a_wrong_rule(
    found: tuple[int, ...], wanted: tuple[int, ...]
) -> None:
    with pytest.raises(ShapeError, match=r"a cotangent needs a shape that .* Correct the rule"):
        fit(Tensor(np.ones(found)), Tensor(np.zeros(wanted)))


def test_conjugation_of_reals_costs_nothing() -> None:
    x = Tensor([1.0])
    assert conj_of(x) is x
    assert conj_of(2.0) == 2.0
    assert conj_of(2j) == -2j


def test_broadcast_shapes() -> None:
    assert broadcast_shape((2, 1), (3,)) == (2, 3)
    assert broadcast_shape((2, 1), (0,)) == (2, 0)
    with pytest.raises(ShapeError, match=r"shapes that broadcast, got \(2,\), \(3,\)"):
        broadcast_shape((2,), (3,))


def test_complex_operands_of_a_real_op() -> None:
    step = broadcasting("step", lambda xp, x, y: x > y, takes_complex=False, doc=".")
    with pytest.raises(DTypeError, match=r"step needs real operands, got dtype complex128"):
        step(1.0, 2j)
    assert step(2.0, 1.0).item() is True
