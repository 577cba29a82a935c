"""The snapshot of a circuit that runs use."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import Parameter
from circuits import Circuit, Input, Z


def test_only_symbolic_angles_get_slots() -> None:
    a = Parameter(0.1)
    compiled = Circuit(2).rx(a, 0).rx(0.5, 1).u(0.1, a, 2 * a, 0).x(1).compiled()
    assert compiled.plan.num_slots == 3
    assert [step.slots for step in compiled.plan.steps] == [(0,), (), (1, 2), ()]
    assert [step.position for step in compiled.plan.steps] == [0, 1, 2, 3]


def test_matrix_tensors_get_sources_in_order() -> None:
    u, v = (Parameter(np.eye(2) + 0j) for _ in range(2))
    compiled = Circuit(2).unitary(u, 0).unitary(np.eye(2), 1).unitary(v, 1).unitary(u, 1).compiled()
    assert [step.source for step in compiled.plan.steps] == [0, None, 1, 2]
    assert [matrix.tensor for matrix in compiled.matrices] == [u, v, u]
    assert compiled.plan.num_matrices == 3


@pytest.mark.parametrize(
    ("first", "second", "dtype"),
    [
        (np.float32, np.float32, np.complex64),
        (np.float32, np.float64, np.complex128),
        (np.float64, np.float64, np.complex128),
    ],
)
def test_precision_follows_the_leaves(first: type, second: type, dtype: type) -> None:
    circuit = Circuit(1).rx(Parameter(first(0.1)), 0).rx(Input("x", 1, dtype=second)[0], 0)
    assert circuit.compiled().dtype == dtype


def test_leaves_that_no_gate_uses_count_too() -> None:
    circuit = Circuit(1).register(Parameter(0.5)).rx(Parameter(np.float32(0.1)), 0)
    assert circuit.compiled().dtype == np.complex128


def test_circuits_without_leaves_run_in_double_precision() -> None:
    assert Circuit(1).h(0).compiled().dtype == np.complex128


def test_a_snapshot_is_not_changed_by_later_gates() -> None:
    circuit = Circuit(1).rx(Parameter(0.1), 0)
    e = circuit.expectation(Z(0), engine="reference")
    circuit.x(0).rx(Parameter(3.0), 0)
    e.backward()
    first, second = circuit.parameters()
    assert first.grad is not None
    assert first.grad.item() == pytest.approx(-np.sin(0.1))
    assert second.grad is None


def test_twenty_thousand_gates_compile() -> None:
    a = Parameter(0.1)
    circuit = Circuit(2)
    for _ in range(10_000):
        circuit.rx(a, 0).cx(0, 1)
    assert len(circuit.compiled().plan.steps) == 20_000
