"""Prepared executions: their signature, their cache, and the check of what they are run on."""

from __future__ import annotations

import dataclasses
import gc
import time
from collections.abc import Callable

import numpy as np
import pytest
from runtimes import DEVICES, Provider, Recorder, chain, claimed, emulated, managed

from autodiff import F32, F64, Program, ShapeError, Tensor
from autodiff.runtime import runtime as runtimes_module
from autodiff.runtime.errors import MissingIngressContract, NoIngress, ResidencyMismatch
from autodiff.runtime.executor import Executor, IngressContract
from autodiff.runtime.prepare import ByProgram, structure_of
from autodiff.runtime.runtime import Runtime

SIN = chain("sin")


def on(device: str, start: float = 0.0) -> list[Tensor]:
    return [Tensor(np.arange(3.0) + start, device=device)]


# -- the cache -------------------------------------------------------------------------------------


def test_allocation_domains_never_alias_in_the_cache() -> None:
    log: list[tuple[str, ...]] = []
    runtime = Runtime(["emulated", "emulated:1"], providers=[Provider(log=log)])
    for step in range(4):
        device = DEVICES[step % 2]
        (out,) = runtime.run(SIN, on(device, step))
        assert np.array_equal(out.numpy(), np.sin(np.arange(3.0) + step))
    assert runtime.planned == 2
    assert log == [("transfer", "emulated:1 (device)", "emulated (device)")] * 2
    first, other = (runtime.prepare(SIN, on(device)) for device in DEVICES[:2])
    assert first is not other
    with pytest.raises(ResidencyMismatch, match=r"input 0 needs .*emulated:0 .* got .*emulated:1"):
        runtime.run_prepared(first, on("emulated:1"))


def test_repeated_runs_plan_once() -> None:
    runtime = Runtime(["emulated"])
    for step in range(3):
        runtime.run(SIN, on("emulated", step))
    assert runtime.planned == 1
    assert runtime.prepare(SIN, on("emulated")) is runtime.prepare(SIN, on("emulated"))


def test_equal_programs_share_a_schedule_but_not_their_constants() -> None:
    runtime = Runtime(["emulated", "cpu"])
    for factor in (2.0, 3.0):
        program = Program.trace(lambda x, f=factor: x * np.full(3, f) + f, ((3,), F64))
        (out,) = runtime.run(program, on("emulated"))
        assert np.array_equal(out.numpy(), np.arange(3.0) * factor + factor)
    assert runtime.planned == 1


@pytest.mark.parametrize(
    "other",
    [
        lambda x: x.sum(axis=1),
        lambda x: x.sum(axis=0, keepdims=True),
        lambda x: x.mean(axis=0),
        lambda x: (x * 1.0).sum(axis=0),
        lambda x: x[0],
        lambda x: x[0:1],
        lambda x: x[1:],
    ],
)
def test_other_programs_have_another_structure(other: Callable[[Tensor], Tensor]) -> None:
    first, again, reference = (
        structure_of(Program.trace(function, ((2, 2), F64)))
        for function in (other, other, lambda x: x.sum(axis=0))
    )
    assert first == again
    assert first != reference


def test_configuration_is_part_of_what_was_planned() -> None:
    runtime = Runtime(["emulated:1", "emulated"])
    (moved,) = runtime.run(SIN, on("emulated"))
    runtime.remove_executor("emulated:1")
    (stayed,) = runtime.run(SIN, on("emulated"))
    assert (moved.device, stayed.device) == ("emulated:1", "emulated")


def test_what_belongs_to_a_program_goes_with_it() -> None:
    known: ByProgram[int] = ByProgram()
    program = chain("sin")
    known.of(program)["key"] = 1
    assert known.of(program) == {"key": 1}
    del program
    gc.collect()
    assert known.of(chain("sin")) == {}


def test_moved_constants_go_with_their_program() -> None:
    runtime, before = Runtime(["emulated", "cpu"]), emulated().live_buffers
    program = Program.trace(lambda x: x * np.ones(3), ((3,), F64))
    runtime.run(program, on("emulated"))
    assert emulated().live_buffers == before + 1
    del program
    gc.collect()
    assert emulated().live_buffers == before


def test_preparation_is_quick() -> None:
    program = chain(*["sin", "cos"] * 500)
    runtime = Runtime(["cpu", "emulated"])
    started = time.perf_counter()
    prepared = runtime.prepare(program, on("emulated"))
    assert time.perf_counter() - started < 1.0
    assert len(prepared.schedule.launches[0].ops) == 1000


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


def test_input_that_nobody_takes_in_is_refused() -> None:
    with pytest.raises(NoIngress, match=r"at emulated:1 \(device\), got \['emulated'\]"):
        Runtime(["emulated"]).prepare(SIN, on("emulated:1"))


def test_inputs_have_to_fit_the_slots() -> None:
    runtime = Runtime()
    for inputs, batched in (
        ([], None),
        ([Tensor(1.0)], None),
        (on("cpu"), [True]),
        (on("cpu"), []),
    ):
        with pytest.raises(ShapeError, match="a program needs one value a slot"):
            runtime.prepare(SIN, inputs, batched=batched)


def test_executor_may_take_in_its_other_storage_class_only() -> None:
    log: list[tuple[str, ...]] = []
    executor = Recorder("emulated", log, name="picky")
    assert executor.contract is not None
    own = executor.contract.eligible
    assert own is not None
    executor.contract = dataclasses.replace(
        executor.contract, eligible=lambda p: own(p) and p.storage_class == "managed"
    )
    runtime = Runtime([executor, "emulated:1"], providers=[])
    prepared = runtime.prepare(SIN, [managed(np.ones(3))])
    assert str(prepared.schedule.homes[0]) == "picky (managed)"
    (out,) = runtime.run_prepared(prepared, [managed(np.ones(3))])
    assert emulated().storage_class(out._cell.read()) == "managed"
    with pytest.raises(NoIngress):
        runtime.prepare(SIN, on("emulated"))


def test_contract_is_checked_again_for_each_candidate() -> None:
    executor = Executor("emulated:1")
    runtime = Runtime(["emulated", executor])
    executor.contract = IngressContract()
    with pytest.raises(MissingIngressContract):
        runtime.prepare(SIN, on("emulated"))


def test_kept_schedules_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtimes_module, "_KEPT_SCHEDULES", 1)
    runtime, programs = Runtime(), [chain("sin"), chain("cos")]
    for program in (*programs, *(chain("sin"), chain("cos"))):
        runtime.run(program, on("cpu"))
    assert runtime.planned == 4
