"""Forecasts of launches and traffic; ``test_cuda.py`` compares them with what the device counts."""

from __future__ import annotations

import numpy as np
from programs import Case, random_program

from autodiff.backends.emulated_backend import EmulatedBackend
from circuits.engines.base import Wanted
from circuits.engines.cuda_outline import (
    forward_launches,
    forward_traffic,
    outline,
    reverse_launches,
    reverse_traffic,
)
from circuits.engines.cuda_program import DeviceProgram
from circuits.plan.words import words_of

SINGLE, COMPLEX = np.dtype(np.float32), np.dtype(np.complex64)
PROGRAM = random_program(Case(6, 2, np.complex64, seed=3))


def test_a_state_of_one_tile_takes_one_launch_and_sparse_terms_one_or_two_each() -> None:
    made = DeviceProgram(PROGRAM.plan, EmulatedBackend())
    host, sparse = (
        made.host_table(SINGLE, PROGRAM.terms, Wanted()),
        len(words_of(PROGRAM.terms).sparse),
    )
    assert sparse == 1
    assert forward_launches(host, None) == {"forward": 1}
    expected = {"forward": 1, "sparse_product": 1, "collect": 1}
    assert forward_launches(host, PROGRAM.terms) == expected
    assert reverse_launches(host, None, Wanted()) == {"reverse": 1}
    wanted = Wanted(coefficients=True)
    expected = {"reverse": 1, "sparse_product": 2, "collect": 1}
    assert reverse_launches(host, PROGRAM.terms, wanted) == expected


def test_traffic_counts_reads_and_writes_of_states() -> None:
    made = DeviceProgram(PROGRAM.plan, EmulatedBackend())
    host = made.host_table(SINGLE, None, Wanted())
    assert forward_traffic(host, 512, 3, 1) == 512 * (1 + 3)
    assert reverse_traffic(host, 512, 3, cotangent=True) == 512 * 6
    assert reverse_traffic(host, 512, 3, cotangent=False) == 512 * 3


def test_sparse_terms_make_the_sweep_read_the_lambda_that_they_write() -> None:
    made = DeviceProgram(PROGRAM.plan, EmulatedBackend())
    host = made.host_table(SINGLE, PROGRAM.terms, Wanted())
    work = outline(made, 2, COMPLEX, PROGRAM.terms).device
    assert work is not None
    assert work.traffic[1] == reverse_traffic(host, 512, 2, cotangent=True)


def test_an_outline_allocates_and_sends_nothing() -> None:
    backend = EmulatedBackend()
    found = [
        outline(DeviceProgram(PROGRAM.plan, backend, tile), 2, COMPLEX, PROGRAM.terms)
        for tile in (None, 4)
    ]
    assert backend.stats.allocations == backend.stats.uploads == 0
    assert [o.layout for o in found] == ["one tile a sample", "stages"]
    assert found[1].reverse_bytes - found[1].forward_bytes == 2 * 2 * 512
    assert found[0].device is not None
    assert found[0].device.launches == (3, 2)
