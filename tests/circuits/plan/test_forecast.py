"""A forecast prints as a table of readable lines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from circuits.plan.forecast import Forecast, Outline

OUTLINE = Outline("stages", "large", {"Turn": 3, "Cx": 2}, (4, 1), 2, 1 << 20, 3 << 20)
FORECAST = Forecast(
    14,
    1,
    "complex128",
    "numba",
    "the default",
    OUTLINE,
    2 << 20,
    4 << 20,
    1 << 30,
)


def test_the_table_says_everything() -> None:
    assert repr(FORECAST).splitlines() == [
        "run          14 qubits, complex128, 1 sample",
        "engine       'numba', the default",
        "layout       stages: large",
        "blocks       5: 3 Turn, 2 Cx",
        "stages       2, of 4, 1 instructions",
        "threads      2",
        "final states kept between forward and backward",
        "memory       2 MiB, with gradient 4 MiB; available 1 GiB",
    ]


def test_the_table_shortens_long_lists() -> None:
    outline = replace(OUTLINE, stages=(1,) * 20, blocks={})
    text = repr(replace(FORECAST, outline=outline, batch=7))
    assert "7 samples" in text
    assert "stages       20, of 1, 1, 1, 1, 1, 1, 1, 1, ... instructions" in text
    assert "blocks       0\n" in text


@pytest.mark.parametrize(
    ("blocks", "text"), [(0, "kept"), (1, "recomputed in 1 block"), (9, "recomputed in 9 blocks")]
)
def test_final_states_are_kept_or_recomputed(blocks: int, text: str) -> None:
    forecast = replace(FORECAST, sample_blocks=blocks)
    assert forecast.final_states == text
    assert f"final states {text} between forward and backward" in repr(forecast)


def test_attributes_are_those_of_the_outline() -> None:
    assert FORECAST.layout == "stages"
    assert FORECAST.stages == (4, 1)
    assert FORECAST.blocks == {"Turn": 3, "Cx": 2}
    assert FORECAST.threads == 2
