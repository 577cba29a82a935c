"""CuPy's backend on a stand-in: what it says without a GPU, and what it asks CuPy for with one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fake_cupy_arrays
import numpy as np
import op_checks
import pytest
from fake_cupy import FakeCupy

from autodiff import DeviceMismatch, Tensor
from autodiff.backends.constants import ConstantArray
from autodiff.backends.cupy_backend import CupyBackend
from autodiff.backends.raw_modules import (
    OutOfDeviceMemory,
)
from autodiff.node import Op
from autodiff.table import OPS

# -- buffers ---------------------------------------------------------------------------------------


def values() -> np.ndarray:
    return np.arange(6.0).reshape(2, 3)


def run(gpu: CupyBackend, forward: Callable[..., Any], *operands: Any) -> Any:
    return gpu.launch(forward, operands, {}, "test", "device")


def test_moves_copy_and_are_counted(gpu: CupyBackend) -> None:
    host = values()
    buffer = gpu.from_host(host)
    host[:] = 9.0
    back = gpu.to_host(buffer)
    assert np.array_equal(back, values())
    assert not back.flags.writeable
    stats = gpu.stats
    assert (stats.uploads, stats.upload_bytes) == (1, 48)
    assert (stats.downloads, stats.download_bytes) == (1, 48)
    assert (stats.allocations, stats.launches) == (1, 0)
    assert gpu.storage_class(gpu.place(values(), "device")) == "device"


def test_device_takes_only_its_own_arrays(gpu: CupyBackend) -> None:
    other = CupyBackend(1)
    theirs = other.from_host(values())
    assert (other.owns(theirs), gpu.owns(theirs), gpu.owns(values())) == (
        True,
        False,
        False,
    )
    for take in (gpu.to_host, gpu.own, gpu.writable_copy):
        with pytest.raises(DeviceMismatch, match="cuda needs arrays of its own, got ndarray"):
            take(theirs)
    with pytest.raises(DeviceMismatch):
        run(gpu, lambda xp, x: x, values())


def test_writable_copy_is_private(gpu: CupyBackend) -> None:
    buffer = gpu.from_host(values())
    copy = gpu.writable_copy(buffer)
    copy[0, 0] = 7.0
    copy[1] = gpu.from_host(np.full(3, -1.0))
    assert gpu.to_host(copy).tolist() == [[7.0, 1.0, 2.0], [-1.0, -1.0, -1.0]]
    assert np.array_equal(gpu.to_host(buffer), values())


VIEWS = {
    "row": lambda a: a[1],
    "column": lambda a: a[:, 2],
    "transpose": lambda a: a.T,
    "reversed": lambda a: a[::-1, ::-2],
    "reshape": lambda a: a.reshape(3, 2),
}


@pytest.mark.parametrize("name", VIEWS)
def test_view_is_found_and_made_again(name: str, gpu: CupyBackend) -> None:
    base = gpu.from_host(values())
    result = run(gpu, lambda xp, x: VIEWS[name](x), base)
    spec = gpu.view_of(result, base)
    assert spec is not None
    view = gpu.view(base, result.shape, *spec, base.dtype)
    assert np.array_equal(gpu.to_host(view), VIEWS[name](values()))
    assert gpu.view_of(gpu.own(view), base) is None


def test_scalars_are_views_of_a_vector(gpu: CupyBackend) -> None:
    vector = gpu.own(gpu.from_host(np.array([1.0, 2.0])))
    allocations = gpu.stats.allocations
    scalars = gpu.scalars(vector)
    assert gpu.stats.allocations == allocations
    assert [gpu.to_host(x).tolist() for x in scalars] == [1.0, 2.0]
    assert [gpu.view_of(x, vector) for x in scalars] == [((), 0), ((), 1)]


def test_other_results_are_no_views(gpu: CupyBackend) -> None:
    base = gpu.from_host(values())
    others = [
        run(gpu, lambda xp, x: x + 1, base),
        run(gpu, lambda xp, x: x[:0], base),
        gpu.from_host(values()),
    ]
    assert [gpu.view_of(other, base) for other in others] == [None] * 3


RESULTS = {
    "fresh": (lambda xp, x: x + 1, 0),
    "a scalar": (lambda xp, x: x.sum(), 0),
    "the operand itself": (lambda xp, x: x, 1),
    "a view": (lambda xp, x: x[:, 1], 1),
    "a contiguous view": (lambda xp, x: x[1:], 1),
    "a view of something fresh": (lambda xp, x: (x + 1).T, 1),
}


@pytest.mark.parametrize("name", RESULTS)
def test_own_gives_contiguous_memory_that_nobody_shares(name: str, gpu: CupyBackend) -> None:
    forward, copies = RESULTS[name]
    base = gpu.from_host(values())
    result = run(gpu, forward, base)
    before = gpu.stats.allocations
    owned = gpu.own(result)
    assert gpu.stats.allocations - before == copies
    assert gpu.view_of(owned, base) is None
    assert owned.flags.c_contiguous


def test_launches_and_graphs_are_counted(gpu: CupyBackend) -> None:
    x = gpu.from_host(values())
    made = run(gpu, lambda xp, x, y: (xp.sin(xp.cos(x)), x * y), x, np.array(2.0))
    assert np.array_equal(gpu.to_host(made[1]), 2 * values())
    assert (gpu.stats.launches, gpu.stats.uploads) == (1, 1)
    with gpu.graph():
        run(gpu, lambda xp, x: -x, x)
        run(gpu, lambda xp, x: abs(x), x)
    assert gpu.stats.launches == 2


def test_out_of_memory_has_the_numbers_and_a_remedy(cupy: FakeCupy, gpu: CupyBackend) -> None:
    cupy.free = 1000
    match = r"cuda needs more memory .*allocating 8,000 bytes; 1000 of 2147483648 .*Drop what"
    with pytest.raises(OutOfDeviceMemory, match=match):
        gpu.empty((1000,), np.dtype(float))
    with pytest.raises(OutOfDeviceMemory, match=match):
        run(gpu, lambda xp: xp.empty((1000,)))
    assert fake_cupy_arrays.current == [0]


#: Ops whose forward waits for the device, and why.
WAITING = {
    "expm": "the norm says how often the result is squared",
    "flat_index": "an index out of range is refused",
    "same_for_all_bases": "a gradient that depends on a basis is refused",
}
ROWS = [op for op in OPS.values() if op.samples is not None and not op.moves and not op.draws]


@pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
def test_whole_op_table_runs_on_cupys_namespace(op: Op, gpu: CupyBackend) -> None:
    """No forward reads an array on the host or hands one to NumPy, and every value is right."""
    if op.name in WAITING:
        with fake_cupy_arrays.reads_allowed(WAITING[op.name]):
            check_on_cupy(op, gpu)
        with pytest.raises(TypeError, match="Implicit conversion"):
            check_on_cupy(op, gpu)
    else:
        check_on_cupy(op, gpu)


def check_on_cupy(op: Op, gpu: CupyBackend) -> None:
    for sample in op_checks.cases(op, [*op_checks.DOUBLE, *op_checks.SINGLE]):
        host = [np.asarray(x) for x in sample.args]
        expected = op.forward(np, *host, **sample.attrs)
        operands = [gpu.from_host(x) for x in host]
        made = gpu.launch(op.forward, operands, sample.attrs, op.name, "device")
        several = isinstance(made, tuple)
        for value, reference in zip(
            made if several else (made,), expected if several else (expected,), strict=True
        ):
            np.testing.assert_array_equal(gpu.to_host(value), np.asarray(reference))


# -- the stand-in ----------------------------------------------------------------------------------

READS = {
    "asarray": np.asarray,
    "ufunc": np.sin,
    "function": np.sum,
    "float": float,
    "bool": bool,
    "list": list,
    "item": lambda x: x.item(),
    "host operand": lambda x: x + np.ones(3),
    "host operand from the left": lambda x: np.ones(3) * x,
    "host argument": lambda x: FakeCupy().add(x, np.ones(3)),
}


@pytest.mark.parametrize("name", READS)
def test_stand_in_refuses_a_hidden_round_trip(name: str, gpu: CupyBackend) -> None:
    with pytest.raises(TypeError):
        READS[name](gpu.from_host(np.ones(3)))


UPLOADS = {
    "asarray": lambda xp, x: xp.asarray(np.ones(3)),
    "array of a list": lambda xp, x: xp.array([1.0, 2.0]),
    "array of a number": lambda xp, x: xp.array(2.0),
    "take": lambda xp, x: xp.take(x, np.array([0, 1])),
    "method take": lambda xp, x: x.take([0, 1]),
    "index": lambda xp, x: x[np.array([0, 1])],
    "mask among slices": lambda xp, x: x[None, np.array([True, False, True])],
    "list as an index": lambda xp, x: x[[0, 1]],
    "place written to": lambda xp, x: x.__setitem__(np.array([0]), 1.0),
}


@pytest.mark.parametrize("name", UPLOADS)
def test_stand_in_refuses_an_upload_that_nobody_counts(name: str, gpu: CupyBackend) -> None:
    x = gpu.from_host(np.ones(3))
    with pytest.raises(TypeError, match="of the host is uploaded at every call, and nothing count"):
        UPLOADS[name](gpu.xp, x)
    with fake_cupy_arrays.uploads_counted("a test"):
        UPLOADS[name](gpu.xp, x)


def test_constants_among_attributes_are_sent_once(gpu: CupyBackend) -> None:
    x, index = gpu.from_host(np.arange(3.0)), ConstantArray(np.array([2, 0]))

    def forward(xp: Any, x: Any, index: ConstantArray) -> Any:
        return x.take(index.array)

    for _ in range(3):
        made = gpu.launch(forward, [x], {"index": index}, "test", "device")
        assert gpu.to_host(made).tolist() == [2, 0]
    assert (gpu.stats.uploads, gpu.stats.upload_bytes) == (2, 24 + 16)


# -- the device's name -----------------------------------------------------------------------------


@pytest.mark.usefixtures("cupy")
def test_tensors_compute_on_cuda() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = (x.to("cuda:1") * 3).sum()
    assert (y.device, y.item()) == ("cuda:1", 9.0)
    y.backward()
    assert x.grad is not None
    assert (x.grad.device, x.grad.tolist()) == ("cpu", [3.0, 3.0])
    assert Tensor([1.0], device="cuda:0").device == "cuda"
