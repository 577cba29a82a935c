"""Qiskit's parameter expressions as captured angles of our Parameters and Inputs.

An expression is replayed operation by operation through our tensor ops on placeholders, so nothing
is computed and nothing is bound; ``capture_angle`` then makes of it what it makes of any other
expression. The list of operations is private to Qiskit, so every result is proved against Qiskit's
own value at a random point. What fails there is read through SymPy.
"""

from __future__ import annotations

import operator
from cmath import isclose, isfinite
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from qiskit.circuit import Parameter as QiskitParameter
from qiskit.circuit import ParameterExpression

import autodiff as ad
from autodiff import Tensor
from circuits.angles import Angle, Atom, capture_angle
from circuits.interop.qiskit.refusal import Refusal, Unread
from circuits.interop.qiskit.sympy_replay import replay_sympy

# Any in this file: a number or a Tensor while an expression is replayed; a gate's parameter.
Leaf = Callable[[QiskitParameter], Any]

_UNARY = {
    "SIN": "sin",
    "COS": "cos",
    "TAN": "tan",
    "ASIN": "arcsin",
    "ACOS": "arccos",
    "ATAN": "arctan",
    "EXP": "exp",
    "LOG": "log",
    "ABS": "abs",
    "SIGN": "sign",
    "CONJ": "conj",
}

_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "ADD": operator.add,
    "SUB": operator.sub,
    "MUL": operator.mul,
    "DIV": operator.truediv,
    "POW": operator.pow,
    "RSUB": lambda x, y: y - x,
    "RDIV": lambda x, y: y / x,
    "RPOW": lambda x, y: y**x,
}

_RANGES = ((0.1, 0.9), (-0.9, -0.1), (1.1, 2.9), (3.2, 6.1), (-2.9, -1.1))
"""Where points of a proof are drawn from, until one lies in the expression's real domain."""

_TRIES = 200
"""Points of a proof after these, of any sign and size, each symbol for itself."""

_SEED = 20240611


def real_number(value: Any) -> float:
    """Return a real number as a float, or refuse.

    >>> real_number(np.complex128(0.5))
    0.5
    """
    try:
        number = complex(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise Refusal(
            "angles that are numbers or parameter expressions",
            "Convert the angle first.",
            f"the angle {value!r:.60}",
        ) from error
    if number.imag != 0:
        raise Refusal("real angles", "Take the real part.", f"the angle {value!r:.60}")
    if not isfinite(number):
        raise Refusal(
            "finite angles",
            "Check how it was computed: numbers beyond 1.8e308 overflow.",
            f"the angle {number.real}",
        )
    return number.real


class Symbols:
    """What stands for each of Qiskit's Parameters, and the angles made of them so far.

    Args:
        stand_ins: a placeholder of shape ``()``, or an element of an Input, for each Parameter.
        atoms: the leaf and the element that each of these is.
        swap: what a leaf of a captured expression is replaced with.
        fixed: numbers for loop parameters.
    """

    def __init__(
        self,
        stand_ins: Mapping[QiskitParameter, Tensor],
        atoms: Mapping[QiskitParameter, Atom],
        swap: Callable[[Tensor], Tensor],
        fixed: Mapping[QiskitParameter, float] | None = None,
    ) -> None:
        self._stand_ins = stand_ins
        self._atoms = atoms
        self._swap = swap
        self._fixed = dict(fixed or {})
        self._angles: dict[ParameterExpression, float | Angle] = {}

    def with_fixed(self, parameter: QiskitParameter, number: float) -> Symbols:
        """Return the same symbols where one more Parameter is a number."""
        fixed = {**self._fixed, parameter: number}
        return Symbols(self._stand_ins, self._atoms, self._swap, fixed)

    def angle(self, value: Any) -> float | Angle:
        """Return a number, or the captured expression.

        Raises:
            Refusal: not real, or not readable.
        """
        if type(value) is float and isfinite(value):
            return value
        if not isinstance(value, ParameterExpression):
            return real_number(value)
        try:
            known = self._angles.get(value)
        except OverflowError:  # Qiskit 2.6 cannot hash what it simplifies to a negative number
            return self._compile(value)
        if known is None:
            known = self._angles[value] = self._compile(value)
        return known

    def _compile(self, expression: ParameterExpression) -> float | Angle:
        if not expression.parameters:
            return real_number(expression.numeric())
        if isinstance(expression, QiskitParameter):
            return self._captured(expression, self._leaf(expression))
        try:
            return self._captured(expression, replay(expression, self._leaf))
        except Unread as unread:
            return self._captured(expression, replay_sympy(expression, self._leaf, unread))

    def _captured(self, expression: ParameterExpression, made: Any) -> float | Angle:
        """Return what was read as a number or an angle, proved."""
        if not isinstance(made, Tensor):
            return real_number(made)
        if made.dtype.kind == "c":
            made = made.real
        angle = capture_angle(made, f"the expression {expression}")
        assert isinstance(angle, Angle)
        if not isinstance(expression, QiskitParameter):
            self._prove(expression, angle)
        return angle.substitute(self._swap)

    def _leaf(self, parameter: QiskitParameter) -> Any:
        if parameter in self._fixed:
            return self._fixed[parameter]
        if parameter not in self._stand_ins:
            raise Refusal(
                "symbols that qc.parameters lists",
                "Rebuild the gate's definition with the circuit's own Parameters.",
                f"the symbol {parameter.name!r}, which it does not list",
            )
        return self._stand_ins[parameter]

    def _prove(self, expression: ParameterExpression, angle: Angle) -> None:
        """Compare with Qiskit at a random point of the real domain, or refuse."""
        bind = getattr(expression, "bind_all", expression.bind)
        symbols = sorted(expression.parameters, key=lambda p: p.name)
        for point in points_of(symbols, np.random.default_rng(_SEED)):
            point |= {p: x for p, x in self._fixed.items() if p in point}
            expected = complex(bind(point))
            if not isfinite(expected) or abs(expected.imag) > 1e-12 * abs(expected):
                continue
            found = self._value(angle, point)
            if not isclose(expected.real, found, rel_tol=1e-10, abs_tol=1e-12):
                raise Unread(
                    "expressions that it can read",
                    "Report this expression; bind its parameters before the import meanwhile.",
                    f"the expression {expression}, {expected.real} in Qiskit and {found} here",
                )
            return
        raise Refusal(
            "angles that are real numbers",
            "Take the real part, or restrict the expression to where it is real.",
            f"the expression {expression}, not real and finite at any point of "
            f"{len(_RANGES) + _TRIES}",
        )

    def _value(self, angle: Angle, point: Mapping[QiskitParameter, float]) -> float:
        """Return the value of an angle that is still made of stand-ins."""
        arrays: dict[int, Any] = {id(leaf._meta): np.zeros(leaf.shape) for leaf in angle.leaves}
        for parameter, number in point.items():
            if parameter not in self._fixed:
                leaf, element = self._atoms[parameter]
                arrays[id(leaf._meta)].flat[element] = number
        total = angle.offset
        for (leaf, element), factor in zip(angle.atoms, angle.coefficients, strict=True):
            total += factor * float(arrays[id(leaf._meta)].flat[element])
        if angle.program is not None:
            slots = [Tensor(arrays[id(leaf._meta)]) for leaf in angle.program.slots]
            total += angle.scale * angle.program.run(slots)[0].item()
        return total


def points_of(
    symbols: Sequence[QiskitParameter], generator: np.random.Generator
) -> Iterator[dict[QiskitParameter, float]]:
    """Yield points, the usual ones first, then of any sign and magnitude from 1e-4 to 1e4.

    >>> x = QiskitParameter("x")
    >>> len(list(points_of([x], np.random.default_rng(0))))
    205
    """
    for low, high in _RANGES:
        yield {p: float(generator.uniform(low, high)) for p in symbols}
    for _ in range(_TRIES):
        sizes = 10.0 ** generator.uniform(-4, 4, len(symbols))
        signs = generator.choice([-1.0, 1.0], len(symbols))
        yield dict(zip(symbols, (sizes * signs).tolist(), strict=True))


def replay(expression: ParameterExpression, leaf: Leaf) -> Any:
    """Run the operations of an expression on what ``leaf`` gives for its Parameters.

    A step is (op, lhs, rhs); an operand of None is taken from the stack, the right one first.

    Raises:
        Unread: an operation without counterpart here, or no list.

    >>> x, y = QiskitParameter("x"), QiskitParameter("y")
    >>> replay(2 - x * y**2, lambda parameter: {"x": 3.0, "y": 0.5}[parameter.name])
    1.25
    """
    stack: list[Any] = []
    own = expression.parameters

    def operand(given: Any) -> Any:
        if given is None:
            return stack.pop()
        if isinstance(given, QiskitParameter):
            if given not in own:  # Qiskit 1.x lists what was substituted, too
                raise Unread(
                    "expressions of their own symbols",
                    "Bind its parameters before the import.",
                    f"the expression {expression}, made of {given.name!r} that it has no more",
                )
            return leaf(given)
        if isinstance(given, ParameterExpression):
            return replay(given, leaf) if given.parameters else given.numeric()
        return given

    if not hasattr(expression, "_qpy_replay"):
        raise Unread(
            "expressions whose operations Qiskit lists",
            "Install SymPy: pip install sympy.",
            f"the expression {expression}",
        )
    for step in expression._qpy_replay:
        name = getattr(step.op, "name", None) or str(step.op).rpartition(".")[2]
        if name in _UNARY:
            x = operand(step.lhs)
            namespace: Any = ad if isinstance(x, Tensor) else np
            stack.append(getattr(namespace, _UNARY[name])(x))
        elif name in _BINARY:
            y = operand(step.rhs)
            stack.append(_BINARY[name](operand(step.lhs), y))
        else:
            raise Unread(
                "expressions of + - * / ** and Qiskit's functions",
                "Bind its parameters before the import.",
                f"the operation {name} in {expression}",
            )
    return stack.pop()
