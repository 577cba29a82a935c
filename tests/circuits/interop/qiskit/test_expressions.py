"""Parameter expressions become angles with Qiskit's values and derivatives."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from qiskit import QuantumCircuit
from qiskit.circuit import Parameter, ParameterExpression

from circuits import Circuit, ConversionError
from circuits.binding import bind
from circuits.interop import from_qiskit
from circuits.interop.qiskit import expressions
from circuits.interop.qiskit.refusal import Unread

A, B, C = Parameter("a"), Parameter("b"), Parameter("c")
POINT = {A: 0.37, B: 0.61, C: -0.83}
FUNCTIONS: list[Callable[[Any], Any]] = [
    lambda e: e.sin(),
    lambda e: np.cos(e),
    lambda e: (e.sin() * 0.9).tan(),
    lambda e: (0.9 * e.cos()).arcsin(),
    lambda e: (e.sin() / 1.2).arccos(),
    lambda e: e.arctan(),
    lambda e: e.sin().exp(),
    lambda e: (abs(e) + 1.5).log(),
    lambda e: abs(e - 0.123),
    lambda e: (e + 0.0717).sign(),
    lambda e: e.conjugate(),
    lambda e: -e,
    lambda e: (e.sin() ** 2 + 0.5) ** 0.5,
    lambda e: 1.7 ** e.sin(),
    lambda e: 2 - e,
    lambda e: 3 / (e.cos() + 2),
]
PAIRS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y.sin(),
    lambda x, y: x / (y.cos() + 1.5),
    lambda x, y: (x.sin() + 2) ** y.cos(),
]


def random_expression(rng: np.random.Generator, depth: int) -> ParameterExpression:
    """A nested expression that is smooth and moderate near ``POINT``."""
    if depth == 0:
        return [A, B, C, 2 * A, B - 1, C * 0.5][rng.integers(6)]
    first = random_expression(rng, depth - 1)
    if rng.random() < 0.4:
        return FUNCTIONS[rng.integers(len(FUNCTIONS))](first)
    return PAIRS[rng.integers(len(PAIRS))](first, random_expression(rng, int(rng.integers(depth))))


def circuit_of(angles: list[Any]) -> QuantumCircuit:
    circuit = QuantumCircuit(1)
    for angle in angles:
        circuit.rz(angle, 0)
    return circuit


def angles_of(circuit: Circuit) -> Any:
    """All angles of a circuit, recorded, at ``POINT``."""
    circuit.assign(
        {p.name: POINT[q] for p in circuit.parameters() for q in POINT if q.name == p.name}
    )
    return bind(circuit, None, None).angles()


def qiskit_values(made: list[ParameterExpression], point: dict[Parameter, float]) -> Any:
    return np.array([complex(e.bind_all({p: point[p] for p in e.parameters})) for e in made])


def differences(made: list[ParameterExpression]) -> NDArray[np.float64]:
    """Derivatives ``(N, 3)`` by Qiskit's values at four points, of fourth order."""
    columns = []
    for p in (A, B, C):
        steps = [
            qiskit_values(made, {**POINT, p: POINT[p] + k * 1e-3}).real for k in (-2, -1, 1, 2)
        ]
        columns.append((steps[0] - 8 * steps[1] + 8 * steps[2] - steps[3]) / 12e-3)
    return np.array(columns).T


@pytest.mark.parametrize("seed", range(4))
def test_random_expressions_have_qiskits_values_and_derivatives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = [random_expression(rng, 1 + k % 5) for k in range(250)]
    expected = qiskit_values(made, POINT)
    assert np.abs(expected.imag).max() == 0
    for expression, value, slopes in zip(made, expected.real, differences(made), strict=True):
        imported = from_qiskit(circuit_of([A, B, C, expression]))
        angle = angles_of(imported)[3]
        assert angle.item() == pytest.approx(value, rel=1e-12, abs=1e-12), str(expression)
        angle.backward()
        found = [p.grad.item() for p in imported.parameters()]
        assert found == pytest.approx(slopes, rel=1e-6, abs=1e-7), str(expression)


DOMAINS: dict[str, tuple[Any, float]] = {
    "log far out": ((A - 10).log(), 12.0),
    "narrow": ((1000 * A).arccos(), 0.0005),
    "root": ((A - 5000) ** 0.5, 5004.0),
    "negative": ((-A - 40).log(), -50.0),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_angle_that_is_real_somewhere_is_read(name: str) -> None:
    expression, value = DOMAINS[name]
    imported = from_qiskit(circuit_of([expression]), values=[value])
    expected = complex(expression.bind_all({A: value}))
    assert bind(imported, None, None).angles().item() == pytest.approx(expected.real, rel=1e-12)


@pytest.mark.parametrize("expression", [A - A - 1, 0 * A - 2.5, (A - A) * B - 3], ids=str)
def test_expression_that_is_a_negative_number_is_read(expression: ParameterExpression) -> None:
    """Qiskit 2.6 raises OverflowError when it hashes one."""
    imported = from_qiskit(circuit_of([expression]))
    expected = float(expression.bind_all(dict.fromkeys(expression.parameters, 0.3)))
    assert bind(imported, None, None).angles().item() == pytest.approx(expected, abs=1e-14)


def test_integer_that_no_float_holds_is_refused() -> None:
    circuit = QuantumCircuit(1)
    circuit.rx(10**400, 0)
    with pytest.raises(ConversionError, match=r"numbers or parameter expressions.*position 0"):
        from_qiskit(circuit)


def test_affine_expressions_have_no_program() -> None:
    imported = from_qiskit(circuit_of([2 * A + B, (A - B) / 4 + 1, -A, A * 3 - (2 - C)]))
    assert [i.angles[0].program for i in imported] == [None] * 4
    angle = imported.instructions[0].angles[0]
    named = {leaf.name: c for (leaf, _), c in zip(angle.atoms, angle.coefficients, strict=True)}
    assert (named, angle.offset) == ({"a": 2.0, "b": 1.0}, 0.0)


def test_expression_is_not_evaluated_at_the_start_values(recwarn: pytest.WarningsRecorder) -> None:
    imported = from_qiskit(circuit_of([1 / A, B.log()]), values={"a": 0.5, "b": 2.0})
    assert bind(imported, None, None).angles().tolist() == [2.0, pytest.approx(np.log(2.0))]
    assert not recwarn.list


def test_expression_of_another_real_domain_is_proved_there() -> None:
    imported = from_qiskit(circuit_of([(A - 1).log()]), values=[3.0])
    assert bind(imported, None, None).angles().tolist() == [pytest.approx(np.log(2.0))]


def test_complex_constants_are_allowed_where_the_angle_is_real() -> None:
    imported = from_qiskit(circuit_of([1j * A * 1j * B]), values=[0.5, 0.25])
    angles = bind(imported, None, None).angles()
    angles.sum().backward()
    assert angles.tolist() == [-0.125]
    assert [p.grad.item() for p in imported.parameters()] == [-0.25, -0.5]


@pytest.mark.parametrize("angle", [1j * A, (-2 - A.sin()).log()], ids=str)
def test_angle_that_is_never_real_is_refused(angle: ParameterExpression) -> None:
    with pytest.raises(ConversionError, match=r"angles that are real numbers.*'rz' at position 1"):
        from_qiskit(circuit_of([A, angle]))


def test_symbol_from_elsewhere_is_refused() -> None:
    with pytest.raises(ConversionError, match=r"symbols that qc\.parameters lists"):
        expressions.Symbols({}, {}, lambda leaf: leaf).angle(A)


def broken(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Break SymPy's way, and one operation of the other."""

    def unread(expression: Any, leaf: Any, reason: Exception) -> None:
        raise reason

    table = {k: v for k, v in expressions._BINARY.items() if k != name}
    if name == "SUB":
        table["SUB"] = lambda x, y: y - x
    monkeypatch.setattr(expressions, "_BINARY", table)
    monkeypatch.setattr(expressions, "replay_sympy", unread)


def test_wrong_reading_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "SUB")
    with pytest.raises(ConversionError, match=r"expressions that it can read.*in Qiskit and"):
        from_qiskit(circuit_of([A - B]))


def test_unknown_operation_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "ADD")
    with pytest.raises(ConversionError, match="the operation ADD in a"):
        from_qiskit(circuit_of([A + B]))


@pytest.mark.parametrize("fault", [lambda x, y: y - x, None], ids=["wrong", "unknown"])
def test_sympy_reads_what_the_list_of_operations_does_not_give(
    fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = {**expressions._BINARY, "SUB": fault} if fault else {}
    monkeypatch.setattr(expressions, "_BINARY", table)
    imported = from_qiskit(circuit_of([A - B]), values=[0.75, 0.25])
    assert bind(imported, None, None).angles().tolist() == [0.5]


def test_expression_without_list_is_unread() -> None:
    class Bare:
        parameters = frozenset({A})

    with pytest.raises(Unread, match="whose operations Qiskit lists"):
        expressions.replay(Bare(), lambda p: 0.5)


def test_list_of_operations_on_substituted_symbols_is_not_read() -> None:
    """Qiskit 1.4 lists what stood in an expression before a substitution."""
    step = SimpleNamespace(op=SimpleNamespace(name="SIN"), lhs=B, rhs=None)
    stale = SimpleNamespace(parameters={A}, _qpy_replay=[step])
    with pytest.raises(Unread, match="expressions of their own symbols"):
        expressions.replay(stale, lambda p: 0.5)
