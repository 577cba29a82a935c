"""What the machine's speed lets expect."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.calibration import (
    COPIED_BYTES,
    MATRIX_SIDE,
    Calibration,
    blocks,
    calibration,
    calibration_calls,
)
from benchmarks.cases import batch, layered, qaoa
from benchmarks.timing import Timing

RATES = Calibration(bytes_per_second=1e10, flops_per_second=1e10, python_seconds=1e-4)


def test_blocks_are_what_fusion_leaves() -> None:
    assert blocks(layered(5, layers=2)) == 10
    assert blocks(qaoa(4, layers=1)) == 4 + 4 + 4
    assert blocks(batch(4)) == 12  # the encoding joins the first layer


def test_expectation_follows_size_precision_and_rates() -> None:
    small, large = RATES.expected(layered(12)), RATES.expected(layered(18))
    arithmetic = 60 * 2**12 * 48 / 1e10
    assert small == pytest.approx(arithmetic + 1e-4)
    assert large > 64 * 1.5 * arithmetic
    single = RATES.expected(replace(layered(18), single=True))
    assert single - 1e-4 == pytest.approx((large - 1e-4) / 2)
    slower = replace(RATES, flops_per_second=5e9)
    assert slower.expected(layered(12)) == pytest.approx(small + arithmetic)


def test_rates_come_from_the_fastest_calls() -> None:
    calls = calibration_calls()
    assert len(calls) == 3
    for call in calls:
        call()
    rates = calibration(*[Timing(9.0, best, 1) for best in (2.0, 4.0, 0.5)])
    assert rates == Calibration(COPIED_BYTES / 2, 2 * MATRIX_SIDE**3 / 4, 0.5)
