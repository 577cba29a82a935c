"""Every row of the op table through every check, and a planted row that each check finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from op_checks import CHECKS, REFERENCES, TESTED_ELSEWHERE

from autodiff.dispatch import apply
from autodiff.errors import GradcheckError
from autodiff.node import Op
from autodiff.ops.declare import per_input, unchanged
from autodiff.ops.trigonometry import cos
from autodiff.table import FUNCTIONS, OPS


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("name", OPS)
def test_row(name: str, check: str) -> None:
    CHECKS[check](OPS[name])


def test_definitions_are_of_rows() -> None:
    assert REFERENCES.keys() | TESTED_ELSEWHERE <= OPS.keys()
    assert not REFERENCES.keys() & TESTED_ELSEWHERE


def planted(row: str = "sin", **changes: Any) -> Op:  # Any: fields of a row
    """Return a copy of a row with some fields changed; it stands in no table."""
    fields = {field: getattr(OPS[row], field) for field in Op.__slots__}
    return Op(**{**fields, **changes})


def sine_with(factor: float, second: float = 1.0) -> Op:
    """Return a sine whose first and second derivatives are wrong by factors."""

    def minus_sine(g: Any, outs: Any, x: Any) -> Any:
        return g * -second * apply(OPS["sin"], x).conj()

    cosine = planted("cos", vjp=per_input(minus_sine))
    return planted(vjp=per_input(lambda g, outs, x: g * factor * apply(cosine, x).conj()))


def test_planted_copies_are_right_before_they_are_changed() -> None:
    for check in CHECKS.values():
        check(planted())
    CHECKS["gradients"](sine_with(1.0))


@pytest.mark.parametrize("factors", [(1.001, 1.0), (1.0, 1.001), (0.999, 1.0), (1.0, 0.999)])
def test_derivative_wrong_by_a_thousandth_is_found(factors: tuple[float, float]) -> None:
    with pytest.raises(GradcheckError, match="Correct the rule of the op"):
        CHECKS["gradients"](sine_with(*factors))


@pytest.mark.parametrize(
    "rule",
    [
        lambda g, outs, x: g * cos(x),  # not conjugated
        lambda g, outs, x: g * cos(x).detach().conj(),  # no second derivative
    ],
)
def test_rule_of_the_wrong_kind_is_found(rule: Callable[..., Any]) -> None:
    with pytest.raises(GradcheckError, match="Correct the rule of the op"):
        CHECKS["gradients"](planted(vjp=per_input(rule)))


def test_missing_rule_is_found() -> None:
    with pytest.raises(AssertionError, match="sin needs a rule"):
        CHECKS["gradients"](planted(vjp=None))


def widening(xp: Any, x: Any) -> Any:
    return xp.sin(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64))


def gapless(xp: Any, x: Any) -> Any:
    """Read memory as if there were no gaps between elements."""
    base = x if x.base is None else x.base
    return xp.sin(base.ravel()[: x.size].reshape(x.shape))


FAULTS: dict[str, Op] = {
    "samples": planted(samples=lambda draw: [((draw(2, 3),), {})]),
    "forward": planted(forward=lambda xp, x: xp.sin(x) * (1 + 1e-9)),
    "precision": planted(forward=widening),
    "meta": planted(meta=lambda x: ((x[0], np.dtype(np.float64)),)),
    "strided": planted(forward=gapless),
    "batch": planted("sum", per_sample=unchanged),
    "docs": planted(doc=" "),
}


@pytest.mark.parametrize("check", FAULTS)
def test_planted_fault_is_found(check: str) -> None:
    with pytest.raises(AssertionError):
        CHECKS[check](FAULTS[check])


@pytest.mark.parametrize("samples", [None, lambda draw: []])
def test_row_without_samples_is_found(samples: Callable[..., Any] | None) -> None:
    with pytest.raises(AssertionError, match="has no samples"):
        CHECKS["samples"](planted(samples=samples))


def test_row_without_definition_is_found() -> None:
    with pytest.raises(AssertionError, match="sine needs a definition in REFERENCES"):
        CHECKS["forward"](planted(name="sine"))


@pytest.mark.parametrize("example", [None, "no example", ">>> sin(0.0).item()\n1.0"])
def test_missing_or_wrong_example_is_found(
    example: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sin(x: Any) -> Any:
        return apply(OPS["sin"], x)

    sin.__doc__ = example
    monkeypatch.setitem(FUNCTIONS, "sin", sin)
    with pytest.raises(AssertionError):
        CHECKS["docs"](OPS["sin"])
