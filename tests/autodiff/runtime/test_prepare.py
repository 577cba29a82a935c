"""Preparing: signatures, caches, and where inputs are taken in."""

from __future__ import annotations

import dataclasses
import gc
import time
from collections.abc import Callable

import numpy as np
import pytest
from runtimes import DEVICES, Provider, Recorder, chain, emulated, managed

import autodiff as ad
from autodiff import F64, Program, ShapeError, Tensor
from autodiff.program import placeholder
from autodiff.runtime import runtime as runtimes_module
from autodiff.runtime.errors import MissingIngressContract, NoIngress, ResidencyMismatch
from autodiff.runtime.execute import Run
from autodiff.runtime.executor import Executor, IngressContract
from autodiff.runtime.prepare import ByProgram, prepare_at, structure_of
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


def seconds_to_prepare(count: int) -> float:
    """The least of three, so that another process's work does not count."""
    program = chain(*["sin", "cos"] * (count // 2))
    found = []
    for _ in range(3):
        runtime = Runtime(["cpu", "emulated"])
        started = time.thread_time()
        prepared = runtime.prepare(program, on("emulated"))
        found.append(time.thread_time() - started)
        assert len(prepared.schedule.launches[0].ops) == count
    return min(found)


def test_preparation_is_quick_and_at_most_quadratic() -> None:
    """Four times the ops take at most 16 times as long; half as much again is for the machine."""
    seconds = {count: seconds_to_prepare(count) for count in (250, 1000)}
    assert seconds[1000] < 1.0
    assert seconds[1000] < 1.5 * 4**2 * seconds[250]


def test_program_for_one_executor_runs_without_a_transfer() -> None:
    slots = [placeholder((3,), F64, device="emulated"), placeholder((), F64)]
    traced = Program.trace(lambda x, y: ad.sin(x) * y, ((3,), F64), ((), F64))
    program = dataclasses.replace(traced, slots=tuple(slots))
    executor = Executor("emulated")
    prepared = prepare_at(executor, program, numbers=[1])
    assert prepared.schedule.transfers == ()
    assert list(prepared.schedule.homes) == [0]
    buffers = {0: emulated().from_host(np.arange(3.0)), 1: np.array(2.0)}
    (found,) = Run(prepared, buffers).run().values()
    assert np.array_equal(emulated().to_host(found), 2 * np.sin(np.arange(3.0)))
    with pytest.raises(NoIngress, match=r"value 1 .* at cpu:0"):
        prepare_at(executor, program, numbers=[])


# -- inputs ----------------------------------------------------------------------------------------


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
