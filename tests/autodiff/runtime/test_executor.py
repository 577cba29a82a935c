"""Executors and the contract that says what they take in."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from runtimes import claimed, emulated, managed

from autodiff import F32, F64, Program, Runtime, Tensor
from autodiff.node import Op
from autodiff.runtime.errors import MissingIngressContract
from autodiff.runtime.executor import Executor, IngressContract
from autodiff.runtime.location import ExecutionLocation, Placement, resident_of

OWN = Executor("emulated").contract
PARTS = [field.name for field in dataclasses.fields(IngressContract)]


def test_location_by_storage_class_the_default_first() -> None:
    executor = Executor("emulated:1", name="gpu", event_domain="stream")
    assert executor.locations == (
        ExecutionLocation("gpu", "stream", "device"),
        ExecutionLocation("gpu", "stream", "managed"),
    )
    assert executor.placement("managed") == Placement("emulated", 1, "managed")


def test_ops_that_an_executor_has() -> None:
    draws = Op("draw", lambda xp: xp.ones(2), draws=True)
    plain = Op("sin", lambda xp, x: xp.sin(x))
    assert Executor("emulated").supports(plain)
    assert not Executor("emulated").supports(draws)
    assert Executor("cpu").supports(draws)
    assert not Executor("cpu", ops=["cos"]).supports(plain)


def test_contract_takes_in_its_own_device_only() -> None:
    ingress = Executor("emulated").require_contract()
    assert ingress.eligible(Placement("emulated", 0, "device"))
    assert ingress.eligible(Placement("emulated", 0, "managed"))
    others = [Placement("emulated", 1, "device"), Placement("cpu", 0, "host")]
    others += [Placement("cuda", 0, "device"), Placement("emulated", 0, "pinned")]
    assert not any(map(ingress.eligible, others))
    assert ingress.accepts(resident_of(Tensor([1.0], device="emulated")))
    assert ingress.accepts(resident_of(managed([1.0])))
    assert not ingress.accepts(resident_of(Tensor([1.0], device="emulated:1")))
    assert not ingress.accepts(resident_of(Tensor([1.0])))


def test_forged_metadata_are_not_accepted() -> None:
    ingress = Executor("emulated").require_contract()
    foreign = emulated("emulated:1").from_host(np.ones(2))
    own = emulated().from_host(np.ones(2))
    honest = resident_of(claimed(own, "emulated"))
    assert ingress.accepts(honest)
    forged = [
        resident_of(claimed(np.ones(2), "emulated")),
        resident_of(claimed(foreign, "emulated")),
        dataclasses.replace(honest, family="numpy"),
        dataclasses.replace(honest, family="cupy"),
        dataclasses.replace(honest, placement=Placement("emulated", 0, "managed")),
        dataclasses.replace(honest, dtype=F32),
        dataclasses.replace(honest, shape=(1, 2)),
    ]
    assert not any(map(ingress.accepts, forged))


def test_own_buffers_by_storage_class() -> None:
    ingress = Executor("emulated").require_contract()
    assert ingress.owns(emulated().place(np.ones(2), "managed"), "managed")
    assert not ingress.owns(emulated().place(np.ones(2), "managed"), "device")
    assert not ingress.owns(emulated("emulated:1").from_host(np.ones(2)), "device")
    assert not ingress.owns(np.ones(2), "device")


def test_plain_is_the_cpu_with_nothing_of_a_users() -> None:
    class Own(Executor):
        pass

    plain = Executor("cpu", name="host", event_domain="clock", ops=["sin"])
    assert plain.is_plain
    contract = Executor("cpu").contract
    others = [Executor("emulated"), Own("cpu"), Executor("cpu", contract=contract)]
    others.append(Executor("cpu", storage_classes=["host", "pinned"]))
    assert not any(executor.is_plain for executor in others)
    plain.contract = None
    assert not plain.is_plain


def test_a_method_of_one_executor_is_asked() -> None:
    """Assigned to the object, not to a class of its own."""
    executor, ran = Executor("cpu"), []

    def run(op: Op, *given: Any) -> tuple[Any, ...]:
        ran.append(op.name)
        return Executor.run(executor, op, *given)

    executor.run = run  # type: ignore[method-assign]
    square = Program.trace(lambda x: x * x, ((2,), F64))
    (made,) = Runtime([executor]).run(square, [Tensor([2.0, 3.0])])
    assert (made.tolist(), ran, executor.is_plain) == ([4.0, 9.0], ["multiply"], False)


@pytest.mark.parametrize("part", PARTS)
def test_contract_needs_all_three_parts(part: str) -> None:
    assert OWN is not None
    executor = Executor("emulated", contract=dataclasses.replace(OWN, **{part: None}))
    with pytest.raises(MissingIngressContract, match=f"'emulated' needs .* got none for {part}"):
        executor.require_contract()


def test_contract_itself_may_be_missing() -> None:
    executor = Executor("emulated")
    executor.contract = None
    with pytest.raises(MissingIngressContract, match="none for eligible, accepts, owns"):
        executor.require_contract()
