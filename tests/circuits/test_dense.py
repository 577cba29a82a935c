from __future__ import annotations

import dense as kronecker
import numpy as np
import pytest
from gate_rows import controls_of, payload_of, size_of

from autodiff import Parameter, Tensor
from circuits import Circuit
from circuits.angles import Angle
from circuits.dense import (
    apply_steps,
    fixed_matrix,
    matrix_by_function,
    matrix_on_tape,
    word_matrix,
)
from circuits.gates import GATES
from circuits.plan.steps import Step, Structure

WITH_ANGLES = [name for name, row in GATES.items() if row.params and row.payload is None]


def lone_step(name: str) -> Step:
    """The step of a gate whose angles are all symbolic."""
    row = GATES[name]
    size = size_of(row) + controls_of(row)
    angles = [Parameter(0.1 * k) for k in range(len(row.params))]
    circuit = Circuit(max(size, 1)).append(row, list(range(size)), angles)
    assert all(isinstance(a, Angle) for a in circuit.instructions[0].angles)
    (step,) = circuit.compiled().plan.steps
    return step


@pytest.mark.parametrize("name", WITH_ANGLES)
def test_polynomial_of_every_gate_is_its_matrix_and_has_its_derivative(name: str) -> None:
    step, row = lone_step(name), GATES[name]
    angles = np.array([0.4, -1.3, 2.2, 0.9])[: len(row.params)]
    leaf = Tensor(angles, requires_grad=True)
    made = matrix_on_tape(step, leaf, row.spectra)
    right = matrix_by_function(step, angles)
    np.testing.assert_allclose(made.numpy(), right, rtol=0, atol=1e-14)
    weights = np.random.default_rng(0).normal(size=(2, *right.shape))
    cotangent = weights[0] + 1j * weights[1]
    made.backward(gradient=Tensor(cotangent))
    if row.derivative is None:  # a rotation: -i/2 P times itself
        slopes = -0.5j * word_matrix(step.word or "") @ right[None]
    else:
        slopes = row.derivative(angles)
        if step.structure is Structure.DIAGONAL:
            slopes = slopes[..., None] * np.eye(slopes.shape[-1])
    expected = np.einsum("ij,pij->p", cotangent.conj(), slopes).real
    np.testing.assert_allclose(leaf.grad.numpy(), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", [n for n, row in GATES.items() if not row.params])
def test_fixed_gates_act_as_their_kronecker_products(name: str) -> None:
    row = GATES[name]
    size = size_of(row) + controls_of(row)
    circuit = Circuit(size + 1)
    for qubit in range(size + 1):
        circuit.ry(0.3 + qubit, qubit)
    qubits = list(reversed(range(1, size + 1)))
    circuit.append(row, qubits, payload=payload_of(row)).s(0)
    start = np.eye(1, 1 << circuit.num_qubits, dtype=complex)
    steps = circuit.compiled().plan.steps
    found = apply_steps(steps, circuit.num_qubits, Tensor(start), fixed_matrix).numpy()
    whole = kronecker.plan_matrix(circuit.compiled().plan, np.zeros(0), [])
    np.testing.assert_allclose(found[0], whole[:, 0], rtol=0, atol=1e-13)


def test_matrices_may_have_a_batch_axis() -> None:
    step = Step(Structure.ROTATION, (1,), controls=(0,), control_state=1, slots=(0,), word="Y")
    start = Tensor(np.array([[0, 1, 0, 0]] * 3, dtype=complex))
    angles = np.array([[0.0], [np.pi / 2], [np.pi]])
    states = apply_steps([step], 2, start, lambda s: matrix_by_function(s, angles)).numpy()
    np.testing.assert_allclose(states[:, 1], [1, np.sqrt(0.5), 0], atol=1e-15)
    np.testing.assert_allclose(states[:, 3], [0, np.sqrt(0.5), 1], atol=1e-15)


def test_first_letter_of_a_word_is_least_significant() -> None:
    np.testing.assert_array_equal(
        word_matrix("XZ"), np.kron(np.diag([1, -1]), np.array([[0, 1], [1, 0]]))
    )
