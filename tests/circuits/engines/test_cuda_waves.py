"""Functions as waves: what a device makes of them is what they make."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import programs
import pytest
from block_steps import quaternion_matrix

from circuits.engines.cuda_waves import Column, Made, turned_phase, waves_of
from circuits.engines.numba_columns import Columns, turn_jacobian
from circuits.errors import EngineError
from circuits.gates import GATES
from circuits.lowering import PartlyFixed
from circuits.plan.blocks import Function
from circuits.plan.fusion import fuse
from circuits.plan.steps import Plan, Spectra, Step, Structure

ROWS = [row for row in GATES.values() if row.function is not None and row.base is None]


def values(columns: tuple[Column, ...], angles: np.ndarray) -> np.ndarray:
    """Columns at angles ``(B, p)``."""
    found = []
    for waves in columns:
        amplitudes = waves[:, 0] + 1j * waves[:, 1]
        found.append((amplitudes * np.exp(1j * angles @ waves[:, 2:].T)).real.sum(axis=1))
    return np.stack(found, axis=1)


def table_function(name: str) -> Function:
    """The function of a row, with one member."""
    row = GATES[name]
    assert row.function is not None
    assert row.derivative is not None
    size, diagonal = 1 << (row.num_qubits or 0), row.structure is Structure.DIAGONAL
    made = Function(row.function, row.derivative, size, diagonal, row.spectra)
    made.slots.append(tuple(range(len(row.params))))
    return made


def spectral_function(kind: type[programs.Spectral], size: int) -> Function:
    """A random function of two angles."""
    function = kind(np.random.default_rng(size), size, 2)
    diagonal = kind is programs.SpectralDiagonal
    made = Function(function, function.derivative, size, diagonal, function.spectra)
    made.slots.append((0, 1))
    return made


FUNCTIONS = {row.name: table_function(row.name) for row in ROWS} | {
    f"{kind.__name__} {size}": spectral_function(kind, size)
    for kind in (programs.SpectralMatrix, programs.SpectralDiagonal)
    for size in (1, 2, 4, 8)
}


def entries(function: Function, columns: np.ndarray) -> np.ndarray:
    """What a member of a function makes, from its columns ``(B, C)``."""
    if not function.is_turn:
        return columns[:, ::2] + 1j * columns[:, 1::2]
    phases = columns[:, -2:-1] + 1j * columns[:, -1:]
    if function.size == 1:
        return phases
    matrices = np.array([quaternion_matrix(row) for row in columns[:, :4]])
    kept = [0, 3] if function.diagonal else [0, 1, 2, 3]
    return phases * matrices.reshape(-1, 4)[:, kept]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_waves_are_the_function_and_its_derivatives(name: str) -> None:
    function = FUNCTIONS[name]
    waves, count = waves_of(function), len(function.slots[0])
    angles = np.random.default_rng(1).uniform(-7, 7, (5, count))
    right = np.asarray(function.function(angles)).reshape(5, -1)
    found = values(waves.columns, angles)
    np.testing.assert_allclose(entries(function, found), right, rtol=0, atol=1e-13)
    derived = np.asarray(function.derivative(angles)).reshape(5, 1, count, -1)
    expected = np.stack([derived.real, -derived.imag], axis=-1)
    if function.is_turn:
        phases = np.exp(1j * (waves.offset + angles @ waves.slope))
        np.testing.assert_allclose(found[:, -2] + 1j * found[:, -1], phases, rtol=0, atol=1e-13)
        expected = turn_jacobian(right[:, None], derived)
    found = values(waves.jacobian, angles)
    np.testing.assert_allclose(found, expected.reshape(5, -1), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "counts", "slope"),
    [
        # cos(theta/2) cos((phi + lam)/2) is a sum of two waves.
        ("u", [2, 2, 2, 2, 1, 1], [0, 0.5, 0.5]),
        ("r", [1, 2, 2, 0, 1, 0], [0, 0]),
        ("p", [1, 0, 0, 1, 1, 1], [0.5]),
    ],
)
def test_waves_are_few(name: str, counts: list[int], slope: list[float]) -> None:
    waves = waves_of(FUNCTIONS[name])
    assert [len(column) for column in waves.columns] == counts
    assert waves.slope.tolist() == slope


def test_fixed_angles_leave_functions_of_the_others() -> None:
    row = GATES["u"]
    assert row.function is not None
    assert row.derivative is not None
    fixed = (None, 0.4, None)
    function = Function(
        PartlyFixed(row.function, fixed),
        PartlyFixed(row.derivative, fixed, is_derivative=True),
        2,
        False,
        (row.spectra[0], row.spectra[2]),
        [(0, 1)],
    )
    angles = np.array([[0.3, -1.7]])
    found = entries(function, values(waves_of(function).columns, angles))
    right = row.function(np.array([0.3, 0.4, -1.7])).ravel()
    np.testing.assert_allclose(found[0], right, rtol=0, atol=1e-13)


def test_frequencies_need_no_common_gap() -> None:
    rates = np.array([0.0, 0.3, 1.0, 1.7])

    def function(angles: np.ndarray) -> np.ndarray:
        return np.exp(1j * angles * rates)

    made = Function(function, function, 4, True, (tuple(rates),), [(0,)])
    angles = np.array([[2.3]])
    found = entries(made, values(waves_of(made).columns, angles))
    np.testing.assert_allclose(found, function(angles), rtol=0, atol=1e-12)


@pytest.mark.parametrize("spectra", [(), ((-0.5, 0.5),) * 3, ((-0.5, 0.5), (0.0, 1.0))])
def test_spectra_that_lack_a_frequency_are_refused(spectra: Spectra) -> None:
    function = replace(FUNCTIONS["u"], spectra=spectra)
    match = r"spectra that list all frequencies of its matrix, got .* for 3 angles .*Correct"
    with pytest.raises(EngineError, match=match):
        waves_of(function)


def test_every_column_of_functions_is_made_once() -> None:
    fused = fuse(programs.random_plan(np.random.default_rng(0), 4, 60))
    columns, waves = Columns.place(fused), [waves_of(f) for f in fused.functions]
    assert len(waves) > 3
    without, made = (Made.place(fused, waves, columns, gradients=g) for g in (False, True))
    taken = np.zeros(made.width, int)
    np.add.at(taken, made.table[:, 0], 1)
    for source, size in fused.matrices.items():
        taken[columns.given[source] :][: 2 * size * size] += 1
    assert (taken[2:] == 1).all()
    assert without.width == columns.width
    assert (without.table[:, 0] < columns.width).all()
    for _, first, last, angles, listed in made.table.tolist():
        assert 0 <= first <= last <= len(made.waves)
        assert (last - first) % (2 + angles) == 0
        assert listed + angles <= len(made.angles)


def test_phase_of_functions_adds_up_by_angle() -> None:
    u, p = (GATES[name] for name in ("u", "p"))
    fields = [
        {"function": row.function, "derivative": row.derivative, "spectra": row.spectra}
        for row in (u, p)
    ]
    steps = (
        Step(Structure.DENSE, (0,), slots=(0, 1, 2), **fields[0]),
        Step(Structure.DENSE, (0,), (1,), 1, slots=(2, 1, 0), **fields[0]),
        Step(Structure.DIAGONAL, (1,), slots=(1,), **fields[1]),
        Step(Structure.ROTATION, (), slots=(3,), word=""),
    )
    fused = fuse(Plan(2, steps, 4))
    slots, numbers = turned_phase(fused, [waves_of(f) for f in fused.functions])
    assert slots.tolist() == [1, 2, 3]
    np.testing.assert_allclose(numbers, [0, 1, 0.5, -0.5], rtol=0, atol=1e-15)
