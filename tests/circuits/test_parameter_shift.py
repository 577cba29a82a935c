"""The parameter-shift rule, for every frequency set of the gate table and for random ones."""

from __future__ import annotations

import numpy as np
import pytest
from gate_rows import ROWS, angles_of, controls_of, payload_of, size_of
from hypothesis import given
from hypothesis import strategies as st

from autodiff import Parameter
from circuits import Circuit, Hermitian
from circuits.gate_row import Gate
from circuits.parameter_shift import shift_rule, slot_rules


@given(st.sets(st.integers(1, 9), min_size=1, max_size=5), st.integers(0, 99))
def test_rule_is_exact_for_its_frequencies(rates: set[int], seed: int) -> None:
    frequencies = [rate / 2 for rate in sorted(rates)]
    rng = np.random.default_rng(seed)
    even, odd, t = rng.normal(size=len(rates)), rng.normal(size=len(rates)), rng.uniform(-3, 3)

    def f(x: float) -> float:
        waves = zip(frequencies, even, odd, strict=True)
        return 0.3 + sum(a * np.cos(w * x) + b * np.sin(w * x) for w, a, b in waves)

    expected = sum(
        w * (b * np.cos(w * t) - a * np.sin(w * t))
        for w, a, b in zip(frequencies, even, odd, strict=True)
    )
    rule = shift_rule(frequencies)
    moves = zip(rule.shifts, rule.coefficients, strict=True)
    assert sum(c * (f(t + s) - f(t - s)) for s, c in moves) == pytest.approx(expected, abs=1e-9)


def test_rules_of_rotations_and_controlled_rotations_are_the_published_ones() -> None:
    two, four = shift_rule([1.0]), shift_rule([0.5, 1.0])
    assert (two.shifts.tolist(), two.coefficients.tolist()) == ([np.pi / 2], [0.5])
    assert four.shifts == pytest.approx([np.pi / 2, 3 * np.pi / 2])
    root = np.sqrt(2)
    assert four.coefficients == pytest.approx([(root + 1) / (4 * root), (1 - root) / (4 * root)])


def test_phase_that_nothing_sees_needs_no_shift() -> None:
    assert shift_rule([]).shifts.size == 0


@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("row", [r for r in ROWS if r.params], ids=lambda row: row.name)
def test_every_row_of_the_gate_table(row: Gate, extra: int) -> None:
    """The rule's derivative of a random Hermitian matrix is the adjoint sweep's."""
    used = size_of(row) + controls_of(row) + extra
    size = max(used, 1)
    parameters = [Parameter(x) for x in angles_of(row)]
    circuit = Circuit(size)
    for qubit in range(size):
        circuit.ry(0.4 + qubit, qubit).rz(1.1 - qubit, qubit)
    every = list(range(size))
    controls, own = every[:extra], every[extra:used]
    circuit.append(row, own, parameters, payload=payload_of(row), controls=controls)
    rng = np.random.default_rng(size)
    matrix = rng.normal(size=(2, 1 << size, 1 << size))
    observable = Hermitian(matrix[0] + matrix[0].T + 1j * (matrix[1] - matrix[1].T), every)
    circuit.expectation(observable, engine="reference").backward()
    start = np.array([p.item() for p in circuit.parameters()])
    for k, rule in enumerate(slot_rules(circuit.instructions)):
        slope = 0.0
        for shift, coefficient in zip(rule.shifts, rule.coefficients, strict=True):
            move = np.eye(len(start))[k] * shift
            batch = np.stack([start + move, start - move])
            up, down = circuit.expectation(observable, values=batch, engine="reference").tolist()
            slope += coefficient * (up - down)
        assert slope == pytest.approx(circuit.parameters()[k].grad.item(), abs=1e-10)
