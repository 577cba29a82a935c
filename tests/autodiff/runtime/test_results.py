"""The check of what an executor gave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from runtimes import SPLIT, VALUES

from autodiff import Tensor
from autodiff.runtime.errors import OutputResidencyMismatch
from autodiff.runtime.results import check_outputs
from autodiff.runtime.runtime import Runtime
from autodiff.runtime.schedule import ScheduledOp

FAULTS: dict[str, tuple[tuple[Any, ...], str]] = {
    "number": ((VALUES, VALUES), "needs 1 results, got 2"),
    "shape": ((VALUES[:2],), r"shape \(3,\), dtype float64, got shape \(2,\)"),
    "dtype": ((VALUES.astype(np.float32),), "dtype float64, got shape .*, dtype float32"),
}


def first_op() -> ScheduledOp:
    launch, *_ = Runtime(["cpu"]).prepare(SPLIT, [Tensor(VALUES)]).schedule.launches
    return launch.ops[0]


@pytest.mark.parametrize("name", FAULTS)
def test_what_the_row_does_not_say_is_refused(name: str) -> None:
    made, message = FAULTS[name]
    with pytest.raises(OutputResidencyMismatch, match=rf"0 \(sin\) at cpu \(host\) .*{message}"):
        check_outputs(first_op(), made, lambda buffer, storage_class: True)


def test_executor_is_asked_where_a_buffer_lies() -> None:
    asked: list[tuple[Any, str]] = []

    def owns(buffer: Any, storage_class: str) -> bool:
        asked.append((buffer, storage_class))
        return len(asked) == 1

    check_outputs(first_op(), (VALUES,), owns)
    with pytest.raises(OutputResidencyMismatch, match="needs results in its own memory, got array"):
        check_outputs(first_op(), (VALUES,), owns)
    assert [(buffer is VALUES, where) for buffer, where in asked] == [(True, "host")] * 2
