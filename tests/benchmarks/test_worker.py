"""A library in its own process."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.cases import layered
from benchmarks.libraries import OURS
from benchmarks.ours import Ours
from benchmarks.worker import WorkerFailed, reset_peak, status_bytes, worker

CASE = layered(3, layers=1)


@pytest.mark.slow
def test_process_computes_times_and_measures_memory() -> None:
    with worker(OURS, CASE, limit=120) as process:
        first = process.first()
        timing = process.time(0.01)
        peak = process.peak()
    value, gradient = Ours(CASE, engine="reference")(CASE.parameters(0))
    assert first.value == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(first.gradient, gradient, atol=1e-12)
    assert min(first.start, first.build, first.call) > 0
    assert 0 < timing.best <= timing.median
    assert 0 <= peak < 1e8


@pytest.mark.slow
def test_process_that_fails_or_is_late_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    with (
        pytest.raises(WorkerFailed, match="ended"),
        worker("no such library", CASE, limit=120) as process,
    ):
        process.first()
    assert "KeyError" in capfd.readouterr().err
    with (
        pytest.raises(WorkerFailed, match=r"took more than 0\.001 s"),
        worker(OURS, CASE, limit=0.001) as process,
    ):
        process.first()


def test_peak_starts_from_the_present_memory() -> None:
    np.ones(40_000_000)
    before = reset_peak()
    small = status_bytes("VmHWM") - before
    block = np.ones(5_000_000)
    grown = status_bytes("VmHWM") - before
    assert small < block.nbytes / 2 < grown < 3 * block.nbytes
