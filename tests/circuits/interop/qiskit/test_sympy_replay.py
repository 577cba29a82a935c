"""Reading expressions through SymPy gives what Qiskit's own list of operations gives."""

from __future__ import annotations

from typing import Any

import pytest
from qiskit.circuit import Parameter as QiskitParameter

import autodiff as ad
from circuits import ConversionError, Parameter
from circuits.interop.qiskit.expressions import replay
from circuits.interop.qiskit.refusal import Refusal
from circuits.interop.qiskit.sympy_replay import replay_sympy

A, B = QiskitParameter("a"), QiskitParameter("b")

UNREAD = Refusal("expressions", "Write another one.")

EXPRESSIONS = [
    2 * A + B - 1,
    A / B - B / 3,
    (A.sin() + B.cos()) * (A * B).tan(),
    A.arcsin() + B.arccos() - (A + B).arctan(),
    (A.exp() + B.log()) ** 2,
    abs(A - B) + abs(-A),
    (A - B).sign() + (B - A * B).conjugate(),
    (A**2 + 1) ** B.sin(),
    (1j * A * 1j) ** 2,
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_value_and_derivatives_are_those_of_the_replay(expression: Any) -> None:
    leaves = {A: Parameter(0.3, name="a"), B: Parameter(0.7, name="b")}
    direct = replay(expression, leaves.__getitem__).real
    read = replay_sympy(expression, leaves.__getitem__, UNREAD).real
    assert read.item() == pytest.approx(direct.item(), rel=1e-12)
    both = [ad.grad(y, list(leaves.values())) for y in (read, direct)]
    for p, q in zip(*both, strict=True):
        assert p.item() == pytest.approx(q.item(), rel=1e-12)


def test_numbers_are_read() -> None:
    assert replay_sympy(2 * A + 1, lambda p: 0.5, UNREAD) == 2.0


def missing() -> Any:
    raise ImportError("no sympy")


def unreadable() -> Any:
    raise ValueError("no expression")


@pytest.mark.parametrize("answer", [missing, unreadable, lambda: NotImplemented])
def test_what_sympy_cannot_read_is_refused_with_the_first_reason(answer: Any) -> None:
    class Expression:
        parameters = frozenset({A})
        sympify = staticmethod(answer)

    with pytest.raises(ConversionError, match=r"needs expressions\. Write another one\."):
        replay_sympy(Expression(), lambda p: 0.5, UNREAD)


def test_function_without_counterpart_is_refused() -> None:
    import sympy

    class Expression:
        parameters = frozenset({A})

        def sympify(self) -> Any:
            return sympy.gamma(sympy.Symbol("a"))

    with pytest.raises(ConversionError, match="needs expressions of"):
        replay_sympy(Expression(), lambda p: 0.5, UNREAD)
