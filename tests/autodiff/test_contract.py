"""The data contract, rule by rule: each check passes here and fails for a planted violation."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from runtimes import emulated

import autodiff as ad
from autodiff import (
    DeviceMismatch,
    GradcheckError,
    Parameter,
    StaleHandleError,
    StorageBusy,
    Tensor,
    custom_op,
    gradcheck,
    graph_mode,
    local_graph_mode,
    reset_stats,
    stats,
)
from autodiff.backends.emulated_buffer import EmulatedBuffer
from autodiff.checking import _slopes
from autodiff.node import Op
from autodiff.pool import Pool
from autodiff.program import Place, Ref
from autodiff.queue import Queue, queue_of
from autodiff.storage import Storage
from autodiff.table import OPS

# Rule 1, that nobody but storage.py touches the copies, stands in tests/architecture.

Plant = Callable[[pytest.MonkeyPatch], None]


def on_device(value: Any = (1.0, 2.0)) -> Tensor:
    return Tensor(value, device="emulated")


# -- the access paths ------------------------------------------------------------------------------


def read_never_recomputes() -> None:
    x = on_device()
    y = x.exp()
    reset_stats()
    emulated().executions.clear()
    y.numpy(), y.numpy(), (y * 1).numpy()
    assert emulated().executions == {"multiply": 1}
    assert stats("emulated").downloads == 2


def updates_are_unseen_until_written() -> None:
    storage = on_device()._cell.storage
    before = storage.read("cpu").tolist()
    copy = storage.read_for_update("cpu")
    copy[:] = 9.0
    assert storage.read("cpu").tolist() == before
    storage.write(copy, "cpu")
    assert (storage.read("cpu").tolist(), storage.version) == ([9.0, 9.0], 1)


def writes_drop_the_other_copies() -> None:
    x = on_device()
    x.numpy()
    x.set_([3.0, 4.0])
    assert x.residency == ("emulated",)
    assert x.tolist() == [3.0, 4.0]


# -- the rules -------------------------------------------------------------------------------------


def handle_has_no_arithmetic() -> None:
    handle = on_device()._cell.storage.read("emulated")
    one = np.ones(2)
    for use in (
        lambda: handle + 1,
        lambda: 2 * handle,
        lambda: one + handle,
        lambda: np.sin(handle),
        lambda: np.asarray(handle),
        lambda: handle < 1,
        lambda: -handle,
        lambda: handle @ handle,
        lambda: [*handle],
        lambda: len(handle),
        lambda: bool(handle),
    ):
        with pytest.raises(TypeError):
            use()


def absence_is_not_emptiness() -> None:
    empty = on_device(np.zeros((0, 3)))
    assert empty.residency == ("emulated",)
    assert empty.numpy().shape == (0, 3)
    assert empty.residency == ("emulated", "cpu")
    assert empty.sum().item() == 0.0
    reset_stats()
    empty.numpy()
    assert stats("emulated").downloads == 0


def old_handle_raises() -> None:
    with ad.grad_tape():
        y = on_device().exp()
        storage = y._cell.storage
    with ad.grad_tape():
        for use in (y.numpy, lambda: y * 2, lambda: storage.read("emulated")):
            with pytest.raises(StaleHandleError, match=r"result of exp \(.*contract\.py:\d+\)"):
                use()
        assert storage.locations == ()


def computed_handle_enters_as_a_leaf() -> None:
    emulated().executions.clear()
    with local_graph_mode(True):
        p = Parameter(on_device())
        y = p.exp()
        first = y.numpy().copy()
        p.set_([0.0, 0.0])
        z = y * 1
        np.testing.assert_array_equal(z.numpy(), first)
    assert emulated().executions == {"exp": 1, "multiply": 1}


def pending_handle_is_computed_once() -> None:
    emulated().executions.clear()
    with local_graph_mode(True):
        y = on_device().exp()
        z, w = y * 2, y + 1
        assert emulated().executions == {}
        z.numpy(), w.numpy(), y.numpy()
    assert emulated().executions == {"exp": 1, "multiply": 1, "add": 1}


def device_draws_nothing() -> None:
    row = Op("mask", lambda xp, x: xp.array(x), meta=lambda x: (x,), draws=True)
    with pytest.raises(DeviceMismatch, match=r"mask draws random numbers.*\.to\(device\)"):
        ad.dispatch.apply(row, on_device())
    assert ad.dispatch.apply(row, Tensor([1.0])).tolist() == [1.0]


def tape_keeps_what_a_pass_starts_from() -> None:
    p = Parameter(on_device())
    with ad.grad_tape():
        uploaded, moved = on_device(), Tensor([5.0, 6.0]).to("emulated")
        made = Parameter((p * 2).detach())
        kept = (p * 3).deep_clone()
        gone = p * 4
    with ad.grad_tape():
        values = [x.tolist() for x in (p, uploaded, moved, made, kept)]
        assert values == [[1.0, 2.0], [1.0, 2.0], [5.0, 6.0], [2.0, 4.0], [3.0, 6.0]]
        with pytest.raises(StaleHandleError):
            gone.numpy()


def wrong() -> Callable[..., Any]:
    """A square whose rule is wrong by 0.1 %."""
    return custom_op("square", lambda xp, x: x * x, lambda gs, outs, ins: gs[0] * ins[0] * 2.002)


def gradcheck_sees_its_own_perturbation() -> None:
    x = on_device([0.3, -1.2])
    assert gradcheck(lambda x: x * x * x, x)
    with pytest.raises(GradcheckError, match="argument 0"):
        gradcheck(wrong(), x)
    assert x.tolist() == [0.3, -1.2]


def table_reads_see_a_perturbed_table() -> None:
    table = Parameter(on_device([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    index = Tensor([2, 0, 2], device="emulated")
    assert table[index].tolist() == [[5.0, 6.0], [1.0, 2.0], [5.0, 6.0]]
    table.set_(table.numpy() + 10)
    assert table[index].tolist() == [[15.0, 16.0], [11.0, 12.0], [15.0, 16.0]]
    assert gradcheck(lambda t: t[index].sum() * t[index][1, 1], table)


# -- and what breaks them --------------------------------------------------------------------------


def recompute(patch: pytest.MonkeyPatch) -> None:
    """A value is computed again from its operand's present value whenever it is read."""

    def read(self: Storage, location: str) -> Any:
        value = original(self, location)
        if self.origin is not None and self.origin.op == "exp":
            device = original(self, "emulated")
            emulated().launch(OPS["exp"].forward, [device], {}, "exp", "device")
        return value

    original = Storage.read
    patch.setattr(Storage, "read", read)


def update_in_place(patch: pytest.MonkeyPatch) -> None:
    def read_for_update(self: Storage, location: str | None = None) -> Any:
        value = self.read(location or self.home)
        value.setflags(write=True)
        return value

    patch.setattr(Storage, "read_for_update", read_for_update)


def keep_copies(patch: pytest.MonkeyPatch) -> None:
    def install(self: Storage, value: Any, location: str) -> None:
        locations = self.locations
        original(self, value, location)
        for name in locations:
            self.read(name)

    original = Storage._install
    patch.setattr(Storage, "_install", install)


def arithmetic(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(EmulatedBuffer, "__add__", lambda self, other: self, raising=False)


def empty_is_absent(patch: pytest.MonkeyPatch) -> None:
    def read(self: Storage, location: str) -> Any:
        if self._any_copy().size == 0:
            return self._materialise(location)
        return original(self, location)

    original = Storage.read
    patch.setattr(Storage, "read", read)


def pool_without_reset(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Pool, "reset", lambda self: None)


def pool_without_members(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Pool, "add", lambda self, storage, op, site: None)


def node_for_a_computed_handle(patch: pytest.MonkeyPatch) -> None:
    """The queue asks for the op behind a handle again instead of taking its value."""

    def graph_operand(handle: Tensor, queue: Queue) -> Any:
        origin = None if handle._cell.storage is None else handle._cell.storage.origin
        if origin is None or handle._cell.queued is not None:
            return original(handle, queue)
        history = handle._meta.history
        (cell,) = queue.add(history.node.op, history.node.inputs, history.node.attrs, origin.site)
        kept.append(cell)
        return Ref(Place.RESULT, len(queue.entries) - 1, 0)

    kept: list[Any] = []
    original = ad.queue.graph_operand
    patch.setattr(ad.queue, "graph_operand", graph_operand)


def pending_handle_twice(patch: pytest.MonkeyPatch) -> None:
    """Every operand that is pending is queued again for its user."""

    def graph_operand(handle: Tensor, queue: Queue) -> Any:
        entry = handle._cell.queued
        if entry is None:
            return original(handle, queue)
        again = copy.copy(entry)
        again.position, again.cells = len(queue.entries), tuple([lambda: None for _ in entry.cells])
        queue.entries.append(again)
        return Ref(Place.RESULT, again.position, handle._cell.index)

    original = ad.queue.graph_operand
    patch.setattr(ad.queue, "graph_operand", graph_operand)


def draw_anywhere(patch: pytest.MonkeyPatch) -> None:
    original = Op.__init__

    def init(self: Op, *args: Any, draws: bool = False, **kwargs: Any) -> None:
        original(self, *args, **kwargs)

    patch.setattr(Op, "__init__", init)


def everything_ends(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ad.parameter, "keep", lambda storage: None)


def perturbation_of_a_copy(patch: pytest.MonkeyPatch) -> None:
    """Gradcheck moves values that nobody reads."""
    patch.setattr(Tensor, "set_", lambda self, value: self.deep_clone())


def stale_table(patch: pytest.MonkeyPatch) -> None:
    """A write on the host leaves the device's copy."""
    original = Storage.write

    def write(self: Storage, value: Any, location: str) -> None:
        if self.home == "cpu" or value.ndim != 2:
            original(self, value, location)

    patch.setattr(Storage, "write", write)


RULES: tuple[tuple[Callable[[], None], Plant], ...] = (
    (read_never_recomputes, recompute),
    (updates_are_unseen_until_written, update_in_place),
    (writes_drop_the_other_copies, keep_copies),
    (handle_has_no_arithmetic, arithmetic),
    (absence_is_not_emptiness, empty_is_absent),
    (old_handle_raises, pool_without_reset),
    (old_handle_raises, pool_without_members),
    (computed_handle_enters_as_a_leaf, node_for_a_computed_handle),
    (pending_handle_is_computed_once, pending_handle_twice),
    (device_draws_nothing, draw_anywhere),
    (tape_keeps_what_a_pass_starts_from, everything_ends),
    (gradcheck_sees_its_own_perturbation, perturbation_of_a_copy),
    (table_reads_see_a_perturbed_table, stale_table),
)


@pytest.mark.parametrize("rule", dict.fromkeys(rule for rule, _ in RULES), ids=lambda f: f.__name__)
def test_rule_holds(rule: Callable[[], None]) -> None:
    rule()


@pytest.mark.parametrize(("rule", "plant"), RULES, ids=lambda f: f.__name__)
def test_check_finds_a_planted_violation(
    rule: Callable[[], None], plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception, StaleHandleError)):
        rule()


# -- gradcheck is the same everywhere --------------------------------------------------------------


def cubic(x: Tensor) -> Tensor:
    return (x * x * x).tanh().logsumexp() + (x @ x).exp()


def test_differences_and_gradients_are_those_of_the_cpu_to_the_last_bit() -> None:
    value = np.array([0.3, -0.7, 0.11])
    found = []
    for device in ("cpu", "emulated"):
        x = Tensor(value, device=device, requires_grad=True)
        slopes = [s for *_, s in _slopes(x, lambda x=x: cubic(x).item(), 2.0**-10)]
        found.append((slopes, ad.grad(cubic(x), x).tolist()))
    assert found[0] == found[1]


def test_wrong_rule_is_found_with_the_same_numbers_everywhere() -> None:
    messages = []
    for device in ("cpu", "emulated"):
        with pytest.raises(GradcheckError, match="from backward and") as error:
            gradcheck(wrong(), Tensor([0.3], device=device))
        messages.append(str(error.value).replace(f" on {device}", ""))
    assert messages[0] == messages[1]


def test_gradcheck_finds_a_wrong_rule_in_graph_mode() -> None:
    row = custom_op(
        "square",
        lambda xp, x: x * x,
        lambda gs, outs, ins: gs[0] * ins[0] * 2.002,
        meta=lambda x: (x,),
    )
    with local_graph_mode(True):
        assert gradcheck(cubic, on_device([0.3, 0.2]))
        with pytest.raises(GradcheckError):
            gradcheck(row, on_device([0.3]))
    assert not graph_mode()


def test_open_storage_cannot_be_queued() -> None:
    x = on_device()
    with local_graph_mode(True), x.storage_mut(), pytest.raises(StorageBusy):
        x * 2
    assert queue_of("emulated").entries == []
    assert (x * 2).tolist() == [2.0, 4.0]
