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


def test_columns_have_room_for_what_functions_make_and_hold_given_matrices() -> None:
    function = SpectralMatrix(np.random.default_rng(0), 4, 2)
    steps = (
        Step(Structure.DENSE, (0,), source=0),
        Step(Structure.DENSE, (0, 1), slots=(0, 1), **function.fields),
    )
    program = DeviceProgram(Plan(2, steps, 2, num_matrices=1), EmulatedBackend())
    given = np.array([[[1, 2j], [3, 4]]], complex)
    host = program.host_table(DOUBLE, None, Wanted())
    columns = program.call_columns((given,), host, 3)
    assert columns.shape == (3, 2 + 32 + 8 + 2 * 32)
    np.testing.assert_array_equal(columns[:, 34:42].copy().view(complex), [given.ravel()] * 3)
    forward = program.host_table(DOUBLE, None, Wanted(angles=False))
    assert program.call_columns((given,), forward, 3).shape == (3, 2 + 32 + 8)


@pytest.mark.parametrize("rows", [1, 3])
def test_columns_without_functions_have_the_rows_of_the_given_matrices(rows: int) -> None:
    steps = (Step(Structure.DENSE, (0,), source=0),)
    backend = EmulatedBackend()
    program = DeviceProgram(Plan(1, steps, 0, num_matrices=1), backend)
    given = np.tile(np.eye(2), (rows, 1, 1))
    host = program.host_table(DOUBLE, None, Wanted())
    assert program.call_columns((given,), host, 3).shape == (rows, 10)
    assert (backend.stats.uploads, backend.stats.downloads) == (0, 0)
