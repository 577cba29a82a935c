"""Plans on a device: tiles, blocks, and the columns of a call."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from programs import SpectralMatrix

from autodiff.backends.emulated_backend import EmulatedBackend
from circuits.engines.base import Wanted
from circuits.engines.cuda_program import (
    MAX_PARTIAL,
    WAVES,
    DeviceProgram,
    blocks_of,
    tile_bits,
)
from circuits.plan.steps import Plan, Step, Structure

DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)


def rotations(num_qubits: int) -> Plan:
    steps = [Step(Structure.ROTATION, (q,), slots=(q,), word="Y") for q in range(num_qubits)]
    return Plan(num_qubits, tuple(steps), num_qubits)


@pytest.mark.parametrize("real", [SINGLE, DOUBLE], ids=str)
@pytest.mark.parametrize("kib", [48, 99, 163, 227])
def test_tiles_fit_the_shared_memory_of_a_block(kib: int, real: np.dtype[np.floating]) -> None:
    for num_qubits in range(1, 30):
        bits = tile_bits(num_qubits, real, kib << 10)
        assert bits <= num_qubits
        # psi and lambda, and 128 sums.
        used = (4 << bits) * real.itemsize + 128 * real.itemsize
        assert used <= (kib << 10) // (1 if bits == num_qubits else 2)


def test_tables_are_made_and_sent_once() -> None:
    backend = EmulatedBackend()
    program = DeviceProgram(rotations(3), backend)
    first = program.table(DOUBLE, None, Wanted())
    uploads = backend.stats.uploads
    assert program.table(DOUBLE, None, Wanted()) is first
    assert backend.stats.uploads == uploads == 2
    assert program.table(SINGLE, None, Wanted()) is not first


def test_a_smaller_device_gets_smaller_tiles_of_the_same_program() -> None:
    backend = EmulatedBackend()
    program = DeviceProgram(rotations(12), backend)
    assert program.bits(DOUBLE) == 12
    backend.device_limits = replace(backend.device_limits, shared_bytes_optin=99 << 10)
    assert program.bits(DOUBLE) == 10
    assert program.table(DOUBLE, None, Wanted()).host.tile == 1 << 10


def test_blocks_share_a_sample_as_far_as_the_device_and_memory_allow() -> None:
    program = DeviceProgram(rotations(16), EmulatedBackend(), tile=4)
    host = program.host_table(DOUBLE, None, Wanted())
    assert blocks_of(host, DOUBLE, 1, 1 << 20) == 1 << 12
    assert blocks_of(host, DOUBLE, 1, 2) == 2 * WAVES
    assert blocks_of(host, DOUBLE, 2 * WAVES, 2) == 1
    size = MAX_PARTIAL // (host.sums * 8)
    assert blocks_of(host, DOUBLE, size // 8, 1 << 40) <= 8


def test_columns_of_a_plan_without_functions_are_sent_once() -> None:
    backend = EmulatedBackend()
    program = DeviceProgram(rotations(2), backend)
    angles = np.zeros((1, 2))
    columns = program.call_columns(angles, (), DOUBLE, reverse=False)
    assert program.call_columns(angles, (), DOUBLE, reverse=True) is columns
    np.testing.assert_array_equal(columns, [[0, 0]])
    assert (backend.stats.uploads, backend.stats.downloads) == (1, 0)


def test_columns_hold_what_functions_make_then_matrices_then_derivatives() -> None:
    function = SpectralMatrix(np.random.default_rng(0), 4, 2)
    steps = (
        Step(Structure.DENSE, (0,), source=0),
        Step(
            Structure.DENSE,
            (0, 1),
            slots=(0, 1),
            function=function,
            derivative=function.derivative,
        ),
    )
    program = DeviceProgram(Plan(2, steps, 2, num_matrices=1), EmulatedBackend())
    angles, given = np.array([[0.3, -0.4]]), np.array([[[1, 2j], [3, 4]]], complex)
    columns = program.call_columns(angles, (given,), DOUBLE, reverse=True)
    made, derived = function(angles)[0].ravel(), function.derivative(angles)[0].ravel()
    np.testing.assert_allclose(columns[0, 2:34:2] + 1j * columns[0, 3:34:2], made)
    np.testing.assert_array_equal(columns[0, 34:42].view(complex), given.ravel())
    np.testing.assert_allclose(columns[0, 42::2] - 1j * columns[0, 43::2], derived)
