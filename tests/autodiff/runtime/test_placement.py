"""The placement search: anchors in order, explicit wishes, and the bounded product search."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from runtimes import Provider, at, chain, managed

import autodiff as ad
from autodiff import F64, Program, Tensor
from autodiff.runtime import placement
from autodiff.runtime.errors import (
    DispatchSearchBudgetExceeded,
    MissingTransferProvider,
    PlacementError,
    UnsupportedOp,
)
from autodiff.runtime.executor import Executor
from autodiff.runtime.prepared import Prepared
from autodiff.runtime.runtime import Runtime

ON_DEVICE = [Tensor(np.ones(3), device="emulated")]


def places(prepared: Prepared) -> list[str]:
    """The location of every instruction."""
    return [str(launch.at) for launch in prepared.schedule.launches for _ in launch.ops]


def two(**options: Any) -> list[Executor]:
    return [Executor("emulated", name="a", **options), Executor("emulated:1", name="b")]


def test_first_registered_executor_is_the_anchor() -> None:
    a, b = two()
    program = chain("sin", "cos")
    assert places(Runtime([a, b]).prepare(program, ON_DEVICE)) == ["a (device)"] * 2
    assert places(Runtime([b, a]).prepare(program, ON_DEVICE)) == ["b (device)"] * 2


def test_another_executor_serves_only_what_the_anchor_lacks() -> None:
    runtime = Runtime(two(ops=["sin", "exp"]))
    prepared = runtime.prepare(chain("sin", "cos", "exp"), ON_DEVICE)
    assert places(prepared) == ["a (device)", "b (device)", "a (device)"]


def test_next_anchor_is_tried_when_the_first_has_no_route() -> None:
    runtime = Runtime(["cpu", "emulated"], providers=[])
    assert places(runtime.prepare(chain("sin"), ON_DEVICE)) == ["emulated (device)"]


def test_default_storage_class_goes_before_others() -> None:
    inputs = [managed(np.ones(3))]
    only = Runtime(["emulated"], providers=[])
    assert places(only.prepare(chain("sin"), inputs)) == ["emulated (managed)"]
    movable = Runtime(["emulated"], providers=[Provider("managed", "device")])
    assert places(movable.prepare(chain("sin"), inputs)) == ["emulated (device)"]


def test_wish_by_name_by_number_and_by_location() -> None:
    a, b = two()
    runtime, program = Runtime([a, b]), chain("sin", "cos", "sin")
    prepared = runtime.prepare(program, ON_DEVICE, {"sin": "b"})
    assert places(prepared) == ["b (device)", "a (device)", "b (device)"]
    prepared = runtime.prepare(program, ON_DEVICE, {"sin": "b", 2: at(a, "managed")})
    assert places(prepared) == ["b (device)", "a (device)", "a (managed)"]


def test_wish_is_never_changed() -> None:
    runtime = Runtime(two(), providers=[])
    assert places(runtime.prepare(chain("sin"), ON_DEVICE)) == ["a (device)"]
    with pytest.raises(MissingTransferProvider, match=r"direct transfer to b \(device\)"):
        runtime.prepare(chain("sin"), ON_DEVICE, {0: "b"})


@pytest.mark.parametrize("wish", [{"exp": "a"}, {2: "a"}, {-1: "a"}, {"sin": "c"}])
def test_wish_for_what_is_not_there_is_refused(wish: dict[int | str, str]) -> None:
    with pytest.raises(PlacementError, match="a placement needs"):
        Runtime(two()).prepare(chain("sin", "cos"), ON_DEVICE, wish)


def test_wish_for_an_executor_without_the_op_is_refused() -> None:
    with pytest.raises(PlacementError, match=r"needs an executor that has 'cos', got a \(device\)"):
        Runtime(two(ops=["sin"])).prepare(chain("cos"), ON_DEVICE, {"cos": "a"})


def test_op_that_nobody_has_is_refused() -> None:
    runtime = Runtime([Executor("emulated", ops=["sin"])])
    with pytest.raises(UnsupportedOp, match=r"has 'cos', got \['emulated'\]"):
        runtime.prepare(chain("sin", "cos"), ON_DEVICE)


def test_draws_stay_off_the_device() -> None:
    draw = ad.custom_op("draw", lambda xp, x: x + 1, None, lambda meta: (meta,), draws=True)
    program = Program.trace(draw, ((3,), F64))
    prepared = Runtime(["emulated", "cpu"]).prepare(program, ON_DEVICE)
    assert places(prepared) == ["cpu (host)"]


def mixed() -> tuple[Runtime, Program, list[Tensor]]:
    """A program whose only placement is op 0 in managed memory and op 1 on the host.

    x lies in device memory and y on the host; values go from device to managed memory and from
    there to the host, and nowhere else.
    """
    providers = [Provider("device", "managed"), Provider("managed", "host")]
    program = Program.trace(lambda x, y: ad.sin(x) * y, ((3,), F64), ((3,), F64))
    inputs = [*ON_DEVICE, Tensor(np.full(3, 2.0))]
    return Runtime(["cpu", "emulated"], providers=providers), program, inputs


def test_mixed_pair_that_no_anchor_finds() -> None:
    runtime, program, inputs = mixed()
    prepared = runtime.prepare(program, inputs)
    assert places(prepared) == ["emulated (managed)", "cpu (host)"]
    (out,) = runtime.run_prepared(prepared, inputs)
    assert np.array_equal(out.numpy(), 2 * np.sin(np.ones(3)))


def unsatisfiable(count: int) -> tuple[Runtime, Program, list[Tensor]]:
    """Operands on two executors between which nothing goes."""

    def function(x: Tensor, y: Tensor) -> Tensor:
        for _ in range(count):
            x = x * y
        return x

    program = Program.trace(function, ((3,), F64), ((3,), F64))
    return Runtime(["cpu", "emulated"], providers=[]), program, [*ON_DEVICE, Tensor(np.ones(3))]


def test_unsatisfiable_graph_ends_within_a_second() -> None:
    runtime, program, inputs = unsatisfiable(20)
    started = time.thread_time()
    with pytest.raises(DispatchSearchBudgetExceeded, match="none in 4096 tries") as caught:
        runtime.prepare(program, inputs)
    assert time.thread_time() - started < 1.0
    assert isinstance(caught.value.__cause__, MissingTransferProvider)


def test_search_that_has_tried_everything_gives_the_reason_itself() -> None:
    runtime, program, inputs = unsatisfiable(2)
    with pytest.raises(MissingTransferProvider, match="no provider"):
        runtime.prepare(program, inputs)


def test_anchored_vectors_are_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime, program, inputs = unsatisfiable(2)  # 9 vectors, of which 3 are anchored
    monkeypatch.setattr(placement, "BUDGET", 6)
    with pytest.raises(MissingTransferProvider):
        runtime.prepare(program, inputs)
    monkeypatch.setattr(placement, "BUDGET", 5)
    with pytest.raises(DispatchSearchBudgetExceeded):
        runtime.prepare(program, inputs)
