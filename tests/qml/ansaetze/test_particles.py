from __future__ import annotations

from math import comb, cos, sin

import numpy as np
import pytest

import qml
from qml.ansaetze.particles import excitations
from qml.errors import SettingError

ANGLE = 0.7


def turned(size: int, low: int, high: int) -> np.ndarray:
    """The identity, but for a turn of basis state ``low`` towards ``high``."""
    matrix = np.eye(size)
    matrix[[low, high, low, high], [low, high, high, low]] = [
        cos(ANGLE / 2),
        cos(ANGLE / 2),
        -sin(ANGLE / 2),
        sin(ANGLE / 2),
    ]
    return matrix


@pytest.mark.parametrize(
    ("circuit", "wanted"),
    [
        (qml.single_excitation(ANGLE), turned(4, 0b01, 0b10)),
        (qml.double_excitation(ANGLE), turned(16, 0b0011, 0b1100)),
    ],
    ids=["single", "double"],
)
def test_excitation_is_exact(circuit: qml.Circuit, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(circuit.unitary().numpy(), wanted, atol=1e-14)


def test_angles_may_be_expressions() -> None:
    theta = qml.Parameter(ANGLE / 2)
    for function in (qml.single_excitation, qml.double_excitation):
        found = function(2 * theta).unitary().numpy()
        np.testing.assert_allclose(found, function(ANGLE).unitary().numpy(), atol=1e-14)


def test_excitations_keep_the_spin() -> None:
    singles, doubles = excitations(6, 3)
    assert singles == [(0, 4), (1, 3), (1, 5), (2, 4)]
    assert doubles[0] == (0, 1, 3, 4)
    for move in (*singles, *doubles):
        half = len(move) // 2
        assert sum(q % 2 for q in move[:half]) == sum(q % 2 for q in move[half:])
    assert excitations(4, 4) == ([], [])
    assert excitations(4, 0) == ([], [])


@pytest.mark.parametrize(("num_qubits", "electrons"), [(4, 1), (4, 2), (6, 3), (6, 2)])
def test_number_of_particles_and_spin_stay(num_qubits: int, electrons: int) -> None:
    initial = qml.uniform_angles(seed=num_qubits)
    circuit = qml.particle_conserving(num_qubits, electrons, initial=initial)
    probabilities = circuit.probabilities().numpy()
    states = np.arange(1 << num_qubits)
    bits = states[:, None] >> np.arange(num_qubits) & 1
    particles, spin = bits.sum(axis=1), bits[:, 1::2].sum(axis=1)
    allowed = (particles == electrons) & (spin == electrons // 2)
    assert probabilities[~allowed].max() < 1e-28
    assert (probabilities[allowed] > 1e-6).all()
    up = (num_qubits + 1) // 2
    assert allowed.sum() == comb(up, (electrons + 1) // 2) * comb(num_qubits // 2, electrons // 2)


def test_hydrogen_is_solved_by_three_angles() -> None:
    h2 = qml.load_h2()
    circuit = qml.particle_conserving(4, 2, initial=0.0)
    assert circuit.expectation(h2.hamiltonian).item() == pytest.approx(h2.hartree_fock_energy)
    optimizer = qml.Adam(circuit.parameters(), lr=0.05)
    for _ in range(150):
        optimizer.zero_grad()
        circuit.expectation(h2.hamiltonian).backward()
        optimizer.step()
    assert abs(circuit.expectation(h2.hamiltonian).item() - h2.exact_energy) < 1e-6


@pytest.mark.parametrize(
    ("sizes", "match"),
    [((4, 5), "electrons needs at most 4"), ((0, 0), "num_qubits"), ((4, -1), "electrons needs")],
)
def test_bad_sizes_are_refused(sizes: tuple[int, int], match: str) -> None:
    with pytest.raises(SettingError, match=match):
        qml.particle_conserving(*sizes, initial=0.1)
