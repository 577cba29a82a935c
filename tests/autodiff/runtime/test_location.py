"""Placements, locations and values at a placement."""

from __future__ import annotations

import numpy as np
import pytest
from runtimes import claimed, emulated, managed

from autodiff import F32, F64, Tensor, TraceError
from autodiff.program import placeholder
from autodiff.runtime.location import (
    ExecutionLocation,
    Placement,
    bytes_of,
    described,
    resident_of,
)


def test_equal_storage_class_is_not_equal_location() -> None:
    a = ExecutionLocation("a", "a", "device")
    assert a != ExecutionLocation("b", "a", "device")
    assert a != ExecutionLocation("a", "b", "device")
    assert a == ExecutionLocation("a", "a", "device")
    assert str(a) == "a (device)"


def test_value_of_a_tensor_lies_where_the_tensor_is() -> None:
    value = resident_of(Tensor(np.ones((2, 3)), device="emulated:1"))
    assert value.placement == Placement("emulated", 1, "device")
    assert (value.family, value.shape, value.dtype, value.nbytes) == ("emulated", (2, 3), F64, 48)
    assert emulated("emulated:1").owns(value.buffer)
    assert resident_of(Tensor(1.0)).placement == Placement("cpu", 0, "host")
    assert resident_of(managed([1.0])).placement == Placement("emulated", 0, "managed")


def test_later_write_is_not_seen() -> None:
    t = Tensor([1.0])
    value = resident_of(t)
    t.set_([2.0])
    assert value.buffer.tolist() == [1.0]


def test_signature_tells_allocation_domains_apart() -> None:
    one, other = (resident_of(Tensor([1.0], device=d)) for d in ("emulated", "emulated:1"))
    assert one.signature != other.signature
    assert one.signature == resident_of(Tensor([2.0], device="emulated")).signature
    assert str(other.signature) == (
        "shape (1,), dtype float64 at emulated:1 (device) in a emulated buffer"
    )


def test_claim_is_taken_from_the_tensor() -> None:
    value = resident_of(claimed(np.ones(2), "emulated"))
    assert value.family == "emulated"
    assert value.placement == Placement("emulated", 0, "device")


def test_placeholder_is_described_but_has_no_value() -> None:
    x = placeholder((2,), F32)
    assert described(x).meta == ((2,), F32)
    with pytest.raises(TraceError, match="needs a run"):
        resident_of(x)


def test_bytes_of_nothing() -> None:
    assert bytes_of(((0, 3), F64)) == 0
