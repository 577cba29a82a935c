from __future__ import annotations

import dense
import numpy as np
import pytest

from autodiff import Parameter
from circuits import CapacityError, Circuit, Input, X, Z
from circuits.audit_case import AuditCase, beginning, central_differences, random_cotangent
from circuits.binding import bind
from circuits.compiled_observables import compile_observables
from circuits.engines.registry import ENGINES, get_engine


def made(inputs: dict[str, list[float]] | None = None) -> AuditCase:
    t, w = Parameter(0.3, name="t"), Parameter([0.7, 0.2], name="w")
    circuit = Circuit(2).ry(t, 0).u(w[1], 2 * t, 0.4, 1).crx(t * w[0], 0, 1).h(0).rz(w[0], 0)
    if inputs:
        circuit.ry(Input("x", 1)[0] * t, 1)
    return AuditCase.of(circuit, X(0) + 0.5 * Z(1), bind(circuit, inputs, None))


def test_every_way_gives_the_dense_gradient() -> None:
    case = made()
    start = np.eye(1, 4, dtype=complex)[0]
    final = dense.plan_matrix(case.plan, case.angles) @ start
    cotangent = 2 * sum(
        c * dense.term_matrix(term, 2) @ final
        for c, term in zip(case.coefficients, case.terms.terms, strict=True)
    )
    by_angle = dense.gradients(case.plan, start, case.angles, [], cotangent).angles
    columns = [case.differences(), case.shifted(), case.on_tape()]
    columns += [case.by_engine(get_engine(e), np.dtype(np.complex128))[1] for e in ENGINES]
    for column in columns:
        np.testing.assert_allclose(column, by_angle, rtol=0, atol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("gates", range(6))
def test_engine_and_tape_agree_on_every_beginning(engine: str, gates: int) -> None:
    case, seen = made(), random_cotangent(2)
    steps = beginning(case.plan.steps, gates)
    assert [step.position for step in steps] == list(range(gates))
    found = case.evolved(get_engine(engine), np.dtype(np.complex128), steps, seen)
    for mine, right in zip(found, case.tape(steps, seen), strict=True):
        np.testing.assert_allclose(mine, right, rtol=0, atol=1e-12)


def test_value_is_that_of_a_run() -> None:
    case = made()
    value = case.circuit.expectation(X(0) + 0.5 * Z(1), engine="reference").item()
    assert case.value() == pytest.approx(value)
    assert case.measured(case.plan.steps)[0] == pytest.approx(value)
    assert case.scale == 1.5


def test_angles_follow_values_of_the_parameters_and_keep_the_inputs() -> None:
    case = made({"x": [0.5]})
    held = case.parameter_values()
    assert held.tolist() == [0.3, 0.7, 0.2]
    np.testing.assert_allclose(case.angles_at(held[None])[0], case.angles, rtol=0, atol=1e-15)
    moved = case.angles_at(np.array([held, held + np.array([0.1, 0, 0])]))
    slopes = (moved[1] - moved[0]) / 0.1
    np.testing.assert_allclose(slopes, [1, 0, 2, 0.7, 0, 0.5], rtol=0, atol=1e-12)
    assert case.texts == ["t", "w[1]", "2*t", "t*w[0]", "w[0]", "x[0]*t"]


def test_fault_names_gate_qubits_and_angles() -> None:
    fault = made().fault("numba", "wrong", 2, [3])
    assert str(fault) == "numba: wrong at gate 2, crx on (0, 1), angle t*w[0]"


def test_differences_are_exact_to_the_fourth_order() -> None:
    def function(rows: np.ndarray) -> np.ndarray:
        return np.stack([np.sin(rows[:, 0]) * rows[:, 1], rows[:, 1] ** 4], axis=1)

    found = central_differences(function, np.array([0.4, 1.5]))
    exact = [[1.5 * np.cos(0.4), 0.0], [np.sin(0.4), 4 * 1.5**3]]
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-10)
    assert central_differences(function, np.zeros(0)).shape == (0,)


def test_cotangent_sees_every_amplitude_alike() -> None:
    seen = random_cotangent(8)
    assert np.linalg.norm(seen) == pytest.approx(16, rel=0.1)
    assert np.abs(seen).min() > 0
    np.testing.assert_array_equal(seen, random_cotangent(8))


def test_tape_that_does_not_fit_is_refused() -> None:
    circuit = Circuit(34).h(0)
    with pytest.raises(CapacityError, match="an audit of 1 steps on 34 qubits needs"):
        AuditCase.of(circuit, Z(0), bind(circuit, None, None))


def test_coefficients_are_those_of_the_observable() -> None:
    case = made()
    compiled = compile_observables([X(0) + 0.5 * Z(1)], 2)
    np.testing.assert_array_equal(case.coefficients, compiled.coefficients().numpy())
