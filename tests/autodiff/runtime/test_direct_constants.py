"""Direct runs: what the package's ops make of constants is computed once, and never seen."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from runtimes import VALUES, bits, directly, in_general, prepared_on_cpu

import autodiff as ad
from autodiff import F64, Program, Tensor
from autodiff.dispatch import apply, constant, traced_constant
from autodiff.node import Op
from autodiff.ops.declare import register
from autodiff.runtime.direct import MOST_FOLDED
from autodiff.runtime.errors import ExecutionFailed
from autodiff.runtime.prepared import Prepared
from autodiff.table import OPS


def fixed(array: Any) -> Tensor:
    """A constant whose ops are traced, as those of a backward pass are."""
    return traced_constant(constant(np.array(array, float)))


class Counted:
    """An op that notes its runs; in the table until ``close``, or a user's."""

    def __init__(self, *, ours: bool, forward: Callable[[Any], Any] = np.sin) -> None:
        self.runs = 0
        self.forward = forward
        self.row = Op("counted", self._forward, meta=lambda x: (x,))
        if ours:
            register(self.row)

    def _forward(self, xp: Any, x: Any) -> Any:
        self.runs += 1
        return self.forward(x)

    def __call__(self, x: Tensor) -> Tensor:
        made: Tensor = apply(self.row, x)
        return made


@pytest.fixture
def ours() -> Any:
    """An op of the table that counts."""
    yield Counted(ours=True)
    del OPS["counted"]


def traced(function: Callable[[Tensor], Any]) -> Program:
    return Program.trace(function, ((3,), F64))


def called(prepared: Prepared) -> list[str]:
    """The ops of each run."""
    assert prepared.direct is not None
    return [call.op.line.op.name for call in prepared.direct._calls]


def test_op_on_constants_runs_once(ours: Counted) -> None:
    program = traced(lambda x: x + ad.exp(ours(ours(fixed(VALUES)))).sum())
    prepared = prepared_on_cpu(program, [Tensor(VALUES)])
    for k in range(5):
        given = [Tensor(VALUES + k)]
        expected = in_general(prepared, given)
        ours.runs = 2 * (k > 0)
        assert bits(directly(prepared, given)) == bits(expected)
        assert ours.runs == 2
    assert called(prepared) == ["add"]


def test_seed_of_a_backward_pass_is_spread_once() -> None:
    program = traced(lambda x: ad.value_and_grad(lambda x: (x * x).mean())(x))
    prepared = prepared_on_cpu(program, [Tensor(VALUES)])
    listed = [instruction.op.name for instruction in program.instructions]
    assert "spread" in listed
    assert bits(directly(prepared, [Tensor(VALUES)])) == bits(program.run([Tensor(VALUES)]))
    assert called(prepared) == [name for name in listed if name != "spread"]


def test_op_of_a_user_runs_each_time() -> None:
    """It may draw, count or read a file."""
    theirs = Counted(ours=False)
    prepared = prepared_on_cpu(traced(lambda x: x + theirs(fixed(VALUES))), [Tensor(VALUES)])
    theirs.forward = lambda x: x + theirs.runs
    found = [directly(prepared, [Tensor(VALUES)])[0].tolist() for _ in range(3)]
    assert found == [(VALUES + (VALUES + run)).tolist() for run in (1, 2, 3)]


def test_namesake_of_an_op_is_a_users(ours: Counted) -> None:
    theirs = Counted(ours=False)
    prepared = prepared_on_cpu(traced(lambda x: x + theirs(fixed(VALUES))), [Tensor(VALUES)])
    for _ in range(3):
        directly(prepared, [Tensor(VALUES)])
    assert theirs.runs == 3


def test_large_results_are_not_kept(ours: Counted) -> None:
    """They are computed in each run, and so is what follows from them."""
    large = np.ones(MOST_FOLDED // 8 + 1)
    prepared = prepared_on_cpu(
        traced(lambda x: x + ours(ours(fixed(large)).sum())), [Tensor(VALUES)]
    )
    for run in (1, 2, 3):
        directly(prepared, [Tensor(VALUES)])
        assert ours.runs == 2 * run


def test_results_are_kept_up_to_a_size_in_all(ours: Counted) -> None:
    part = np.ones(MOST_FOLDED // 24 + 1)

    def function(x: Tensor) -> Tensor:
        y = fixed(part)
        for _ in range(4):
            y = ours(y)
        return x + y.sum()

    prepared = prepared_on_cpu(traced(function), [Tensor(VALUES)])
    for run in (1, 2, 3):
        directly(prepared, [Tensor(VALUES)])
        assert ours.runs == 2 + 2 * run


def test_failing_op_fails_in_each_run_and_nothing_before_it_is_skipped(ours: Counted) -> None:
    ran = Counted(ours=False)
    prepared = prepared_on_cpu(traced(lambda x: ran(x) + ours(fixed(VALUES))), [Tensor(VALUES)])

    def fail(x: Any) -> Any:
        raise ZeroDivisionError("no")

    ours.forward = fail
    for run in (1, 2):
        message = r"^instruction 1 \(counted\) at cpu \(host\) needs to run, got ZeroDivisionError"
        with pytest.raises(ExecutionFailed, match=message) as caught:
            directly(prepared, [Tensor(VALUES)])
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert ran.runs == run


OUTPUTS: dict[str, Callable[[Tensor], tuple[Tensor, ...]]] = {
    "a result": lambda x: (ad.exp(fixed(VALUES)), x + 1.0),
    "a result twice": lambda x: (y := ad.exp(fixed(VALUES)), y, x + y),
    "a view of a result": lambda x: (ad.exp(fixed([VALUES] * 2)).T, x + 1.0),
    "a view of a constant": lambda x: (fixed([VALUES] * 2).T[::-1], x + 1.0),
    "nothing but constants": lambda x: (ad.exp(fixed(VALUES)),),
    "several results": lambda x: (*ad.slogdet(fixed([[2.0, 1.0], [1.0, -3.0]])), x * 2.0),
    "one of several": lambda x: (x * ad.slogdet(fixed([[2.0, 1.0], [1.0, -3.0]]))[1],),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_are_their_own(name: str) -> None:
    prepared, given = prepared_on_cpu(traced(OUTPUTS[name]), [Tensor(VALUES)]), [Tensor(VALUES)]
    expected = bits(in_general(prepared, given))
    for _ in range(2):
        outs = directly(prepared, given)
        assert bits(outs) == expected
        assert not any(out.numpy().flags.writeable for out in outs)
        assert all(out.numpy().flags.owndata and out.is_contiguous() for out in outs)
        for out in outs:
            with out.storage_mut() as a:
                a[...] = 0.0


def test_output_that_finds_no_memory_is_named() -> None:
    given = [Tensor(VALUES)]
    prepared = prepared_on_cpu(traced(OUTPUTS["a result"]), given)
    directly(prepared, given)

    def full(*args: Any, **options: Any) -> Any:
        raise MemoryError("full")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "array", full)
        with pytest.raises(ExecutionFailed, match=r"output \d at cpu \(host\) needs memory of its"):
            directly(prepared, given)


def test_threads_that_run_first_find_the_same_values(ours: Counted) -> None:
    program = traced(lambda x: (x * ours(fixed(VALUES)), ours(fixed(VALUES + 1.0))))
    prepared = prepared_on_cpu(program, [Tensor(VALUES)])
    start, found = threading.Barrier(4, timeout=60), []

    def work(factor: float) -> None:
        start.wait()
        for _ in range(50):
            product, alone = directly(prepared, [Tensor(VALUES * factor)])
            found.append(product.tolist() == (VALUES * factor * np.sin(VALUES)).tolist())
            found.append(alone.tolist() == np.sin(VALUES + 1.0).tolist())

    threads = [threading.Thread(target=work, args=(k + 1.0,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [True] * 400
    before = ours.runs
    directly(prepared, [Tensor(VALUES)])
    assert ours.runs == before
