"""Prepared executions: the check of what they are run on, and the constants in their places."""

from __future__ import annotations

import gc
from collections import defaultdict

import numpy as np
import pytest
from runtimes import COS_ON_1, SPLIT, VALUES, chain, claimed, emulated, managed

from autodiff import F32, F64, Program, Tensor
from autodiff.runtime.errors import ResidencyMismatch
from autodiff.runtime.prepared import add_copy, take_in
from autodiff.runtime.runtime import Runtime

SIN = chain("sin")


def on(device: str, start: float = 0.0) -> list[Tensor]:
    return [Tensor(np.arange(3.0) + start, device=device)]


# -- values that are there before a run ------------------------------------------------------------


def test_values_are_taken_in_at_their_homes_and_numbers_travel() -> None:
    program = Program.trace(lambda x, unused: x * 2.0, ((3,), F64), ((), F64))
    inputs = [*on("emulated"), Tensor(1.0, device="emulated")]
    prepared = Runtime(["emulated", "cpu"]).prepare(program, inputs)
    buffers = {0: emulated().from_host(VALUES), 1: emulated().from_host(np.ones(()))}
    given = take_in(prepared.schedule, {**buffers, 2: np.array(2.0)})
    home = prepared.schedule.homes[0].location
    assert given.copies == {home: {0: buffers[0]}}
    assert list(given.numbers) == [2]


def test_transfer_adds_a_copy_and_keeps_the_source() -> None:
    schedule = Runtime(["emulated", "emulated:1"]).prepare(SPLIT, on("emulated"), COS_ON_1).schedule
    there, _ = schedule.transfers
    source = emulated().from_host(VALUES)
    copies = defaultdict(dict, {there.source.location: {there.value: source}})
    add_copy(there, copies)
    assert copies[there.source.location] == {there.value: source}
    moved = copies[there.destination.location][there.value]
    assert emulated("emulated:1").owns(moved)
    assert np.array_equal(emulated("emulated:1").to_host(moved), VALUES)


def test_moved_constants_go_with_their_program() -> None:
    gc.collect()
    runtime, before = Runtime(["emulated", "cpu"]), emulated().live_buffers
    program = Program.trace(lambda x: x * np.ones(3), ((3,), F64))
    runtime.run(program, on("emulated"))
    assert emulated().live_buffers == before + 1
    del program
    gc.collect()
    assert emulated().live_buffers == before


# -- inputs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], r"needs 1 inputs, got 0"),
        ([Tensor(np.ones(3))], r"got .*cpu:0 \(host\) in a numpy buffer"),
        ([managed(np.ones(3))], r"got .*emulated:0 \(managed\)"),
        ([Tensor(np.ones(3), dtype=F32, device="emulated")], r"got shape \(3,\), dtype float32"),
        ([Tensor(np.ones(4), device="emulated")], r"got shape \(4,\)"),
    ],
)
def test_inputs_are_checked_again_at_each_run(given: list[Tensor], message: str) -> None:
    runtime = Runtime(["emulated", "cpu"])
    prepared = runtime.prepare(SIN, on("emulated"))
    with pytest.raises(ResidencyMismatch, match=message):
        runtime.run_prepared(prepared, given)
    assert emulated().executions == {}


def forged() -> dict[str, Tensor]:
    return {
        "host buffer": claimed(np.ones(3), "emulated"),
        "foreign buffer": claimed(emulated("emulated:1").from_host(np.ones(3)), "emulated"),
        "dtype": claimed(emulated().from_host(np.ones(3)), "emulated", F32),
    }


@pytest.mark.parametrize("name", forged())
def test_forged_input_is_refused(name: str) -> None:
    runtime = Runtime(["emulated", "emulated:1", "cpu"])
    message = "input 0 needs a buffer that is what its tensor claims"
    for refuse in (runtime.prepare, runtime.run, runtime.submit):
        with pytest.raises(ResidencyMismatch, match=message):
            refuse(SIN, [forged()[name]])
    runtime.prepare(SIN, on("emulated"))
    with pytest.raises(ResidencyMismatch):
        runtime.run(SIN, [forged()[name]])
