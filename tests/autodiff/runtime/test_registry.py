"""Who may be registered, and what a registry answers."""

from __future__ import annotations

import pytest
from runtimes import Provider, at

from autodiff.node import Op
from autodiff.runtime.errors import (
    ExecutorConflict,
    MissingIngressContract,
    PlacementError,
    RegistrationError,
    TransferProviderConflict,
)
from autodiff.runtime.executor import Executor
from autodiff.runtime.location import ExecutionLocation
from autodiff.runtime.registry import Registry
from autodiff.runtime.transfer import HostCopy

A, B = Executor("emulated", name="a"), Executor("emulated:1", name="b", ops=["sin"])
BOTH = Registry().with_executor(A).with_executor(B)


def test_executors_stand_in_order_of_registration() -> None:
    assert list(BOTH.executors) == ["a", "b"]
    sin, cos = (Op(name, lambda xp, x: x) for name in ("sin", "cos"))
    assert BOTH.locations(sin) == (*A.locations, *B.locations)
    assert BOTH.locations(cos) == A.locations


def test_registry_is_not_changed_by_later_registrations() -> None:
    empty = Registry()
    empty.with_executor(A).with_provider(HostCopy("host", "device"))
    assert not empty.executors
    assert not empty.providers


def test_executor_without_a_contract_is_refused() -> None:
    executor = Executor("emulated")
    executor.contract = None
    with pytest.raises(MissingIngressContract):
        Registry().with_executor(executor)


def test_one_executor_a_name() -> None:
    assert BOTH.with_executor(A) is BOTH
    with pytest.raises(ExecutorConflict, match="two named 'a'"):
        BOTH.with_executor(Executor("cpu", name="a"))


def test_same_provider_twice_is_fine_and_another_one_a_conflict() -> None:
    provider = Provider()
    registry = BOTH.with_provider(provider)
    assert registry.with_provider(provider) is registry
    with pytest.raises(TransferProviderConflict, match="from 'device' to 'device' need one"):
        registry.with_provider(Provider())
    with pytest.raises(TransferProviderConflict):
        registry.with_provider(HostCopy("device", "device"))
    copies = BOTH.with_provider(HostCopy("host", "device"))
    assert copies.with_provider(HostCopy("host", "device")) is copies


def test_provider_that_only_queues_is_refused() -> None:
    provider = Provider()
    provider.blocking = False
    with pytest.raises(RegistrationError, match="read at once"):
        BOTH.with_provider(provider)


def test_provider_is_found_by_the_classes_of_both_ends() -> None:
    provider = Provider("device", "managed")
    registry = BOTH.with_provider(provider)
    ends = at(A, "device"), at(B, "managed")
    assert registry.provider(*ends) is provider
    assert registry.provider(*reversed(ends)) is None


def test_what_was_registered_can_be_removed() -> None:
    registry = BOTH.with_provider(Provider())
    assert not registry.without_provider("device", "device").providers
    assert list(registry.without_executor("a").executors) == ["b"]
    with pytest.raises(RegistrationError, match=r"names \['a', 'b'\], got 'c'"):
        registry.without_executor("c")
    with pytest.raises(RegistrationError, match="one of the pairs"):
        registry.without_provider("host", "device")


def test_location_that_a_user_names() -> None:
    assert BOTH.location("b") == at(B, "device")
    assert BOTH.location(at(B, "managed")) == at(B, "managed")
    for name in ("c", ExecutionLocation("b", "other", "device"), 3):
        with pytest.raises(PlacementError, match=r"executors \['a', 'b'\]"):
            BOTH.location(name)  # type: ignore[arg-type]


def test_first_location_needs_an_executor() -> None:
    assert BOTH.first_location() == at(A, "device")
    with pytest.raises(PlacementError, match="without any"):
        Registry().first_location()


def test_endpoint_knows_its_executor_and_placement() -> None:
    endpoint = BOTH.endpoint(at(B, "managed"))
    assert endpoint.executor is B
    assert endpoint.placement == B.placement("managed")
    assert str(endpoint) == "b (managed)"
