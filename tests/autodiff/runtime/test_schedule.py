"""Schedules: transfers and launches in order, with instruction numbers and last uses."""

from __future__ import annotations

import numpy as np
from runtimes import COS_ON_1, SPLIT, VALUES, Provider

import autodiff as ad
from autodiff import F64, Program, Tensor
from autodiff.runtime.runtime import Runtime
from autodiff.runtime.schedule import ScheduledLaunch, ScheduledTransfer

INPUTS = [Tensor(VALUES, device="emulated")]


def test_every_transfer_and_launch_stands_in_order() -> None:
    provider = Provider()
    runtime = Runtime(["emulated", "emulated:1"], providers=[provider])
    schedule = runtime.prepare(SPLIT, INPUTS, COS_ON_1).schedule
    kinds = [ScheduledLaunch, ScheduledTransfer] * 2 + [ScheduledLaunch]
    assert [type(step) for step in schedule.steps] == kinds
    there, back = schedule.transfers
    assert [op.index for launch in schedule.launches for op in launch.ops] == [0, 1, 2]
    assert (there.value, there.before, there.nbytes) == (1, 1, 24)
    assert (back.value, back.before) == (2, 2)
    assert [str(x) for x in (there.source, there.destination)] == [
        "emulated (device)",
        "emulated:1 (device)",
    ]
    assert there.provider is back.provider is provider
    assert [op.drops for launch in schedule.launches for op in launch.ops] == [(0,), (), (1, 2)]


def test_values_for_a_launch_come_before_it() -> None:
    program = Program.trace(lambda x, y: ad.sin(x) + ad.cos(y), ((3,), F64), ((3,), F64))
    runtime = Runtime(["emulated", "cpu"])
    schedule = runtime.prepare(program, [Tensor(VALUES), Tensor(VALUES)]).schedule
    assert [type(step) for step in schedule.steps] == [ScheduledTransfer] * 2 + [ScheduledLaunch]
    assert [transfer.before for transfer in schedule.transfers] == [0, 1]


def test_output_stays_where_it_was_computed() -> None:
    program = Program.trace(lambda x, y: (ad.sin(x), y), ((3,), F64), ((3,), F64))
    runtime = Runtime(["emulated", "emulated:1"])
    inputs = [*INPUTS, Tensor(VALUES, device="emulated:1")]
    schedule = runtime.prepare(program, inputs, {"sin": "emulated:1"}).schedule
    assert [str(where) for where in schedule.outputs.values()] == ["emulated:1 (device)"] * 2


def test_constants_are_placed_once() -> None:
    program = Program.trace(lambda x: x * np.ones(3) + 2.0, ((3,), F64))
    schedule = Runtime(["emulated", "cpu"]).prepare(program, INPUTS).schedule
    assert [transfer.value for transfer in schedule.placed] == [1]
    assert schedule.transfers == ()
