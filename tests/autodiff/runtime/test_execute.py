"""Runs: order of calls, copies and last uses, failures that leave nothing, checked results."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from op_checks import cases
from runtimes import (
    COS_ON_1,
    DEVICES,
    EXPECTED,
    ROWS,
    SPLIT,
    VALUES,
    Faulty,
    Provider,
    Recorder,
    bits,
    chain,
    emulated,
    results_of_row,
)

import autodiff as ad
from autodiff import F64, Program, Tensor
from autodiff.backends.emulated_backend import EmulatedFailure
from autodiff.runtime.errors import (
    ExecutionFailed,
    OutputResidencyMismatch,
    TransferContractError,
    TransferFailed,
)
from autodiff.runtime.execute import PartialRun, Run
from autodiff.runtime.executor import Executor
from autodiff.runtime.prepared import Prepared
from autodiff.runtime.runtime import Runtime
from autodiff.table import OPS


def inputs() -> list[Tensor]:
    return [Tensor(VALUES, device="emulated")]


def live() -> list[int]:
    gc.collect()
    return [emulated(device).live_buffers for device in DEVICES]


def test_split_use_makes_one_transfer_each_way() -> None:
    log: list[tuple[str, ...]] = []
    executors = [Recorder(device, log) for device in ("emulated", "emulated:1")]
    runtime = Runtime(executors, providers=[Provider(log=log)])
    (out,) = runtime.run(SPLIT, inputs(), COS_ON_1)
    assert log == [
        ("run", "emulated", "sin"),
        ("transfer", "emulated (device)", "emulated:1 (device)"),
        ("run", "emulated:1", "cos"),
        ("transfer", "emulated:1 (device)", "emulated (device)"),
        ("run", "emulated", "add"),
    ]
    assert out.device == "emulated"
    assert np.array_equal(out.numpy(), EXPECTED)


def test_first_op_may_run_elsewhere_than_the_input_is_taken_in() -> None:
    log: list[tuple[str, ...]] = []
    executors = [Recorder(device, log) for device in ("emulated", "emulated:1")]
    runtime = Runtime(executors, providers=[Provider(log=log)])
    (out,) = runtime.run(chain("sin", "cos"), inputs(), {"sin": "emulated:1", "cos": "emulated"})
    assert log == [
        ("transfer", "emulated (device)", "emulated:1 (device)"),
        ("run", "emulated:1", "sin"),
        ("transfer", "emulated:1 (device)", "emulated (device)"),
        ("run", "emulated", "cos"),
    ]
    assert np.array_equal(out.numpy(), np.cos(np.sin(VALUES)))


def test_consecutive_ops_are_one_launch() -> None:
    runtime = Runtime(["emulated"])
    runtime.run(chain("sin", "cos", "exp"), inputs())
    assert emulated().stats.launches == 1
    assert emulated().executions == {"sin": 1, "cos": 1, "exp": 1}


def test_last_use_drops_all_copies() -> None:
    given, before = inputs(), live()
    held: list[int] = []

    def note(made: Any) -> Any:
        held.append(sum(live()) - sum(before))
        return made

    runtime = Runtime(["emulated", Faulty("emulated:1", "exp", note)])
    where = dict.fromkeys(("cos", "exp"), "emulated:1")
    (out,) = runtime.run(chain("sin", "cos", "tanh", "exp"), given, {**where, "tanh": "emulated"})
    # At exp only its operand lives, there and where it comes from, beside the result and the input.
    assert held == [3]
    assert sum(live()) - sum(before) == 1
    del out
    assert live() == before


def test_result_shares_no_memory_with_inputs_constants_or_other_results() -> None:
    program = Program.trace(lambda x: (x, x, x.reshape((3, 1)), x * np.ones(3)), ((3,), F64))
    for device in ("cpu", "emulated"):
        given = Tensor(VALUES, device=device)
        outs = Runtime([device, "cpu"] if device != "cpu" else ["cpu"]).run(program, [given])
        with outs[0].storage_mut() as a:
            a[...] = 0.0
        assert outs[1].tolist() == outs[2].numpy().ravel().tolist() == VALUES.tolist()
        assert given.tolist() == VALUES.tolist()


def test_constant_may_be_returned() -> None:
    program = Program.trace(lambda x: (x, x * 0.0 + np.ones(2)), ((2,), F64))
    one = Program(program.slots, program.constants, (), program.outputs[:1])
    assert Runtime().run(one, [Tensor([1.0, 2.0])])[0].tolist() == [1.0, 2.0]


def test_gradient_that_is_zero_is_a_constant_of_the_program() -> None:
    def function(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        value, gradients = ad.value_and_grad(lambda x, y: (x * x).sum() + 0 * y.sum().detach())(
            x, y
        )
        return (value, *gradients)

    program = Program.trace(function, ((2,), F64), ((2,), F64))
    values = [Tensor([1.0, 2.0]), Tensor([3.0, 4.0])]
    assert [x.tolist() for x in Runtime().run(program, values)] == [5.0, [2.0, 4.0], [0.0, 0.0]]


def test_constants_are_moved_once() -> None:
    runtime = Runtime(["emulated", "cpu"])
    program = Program.trace(lambda x: x * np.arange(3.0) + 2.0, ((3,), F64))
    prepared = runtime.prepare(program, inputs())
    assert emulated().stats.uploads == 1  # the input's own
    for _ in range(3):
        (out,) = runtime.run_prepared(prepared, inputs())
    assert emulated().stats.uploads == 5
    assert np.array_equal(out.numpy(), VALUES * np.arange(3.0) + 2.0)


#: Results whose order in memory is not that of their axes: another order, another last bit.
ORDERS: dict[str, Callable[[Tensor], Tensor]] = {
    "ufunc": lambda x: (x.T * 2.0).sum(),
    "axis": lambda x: ((x.T * 2.0).sum(axis=0) * x.sum(axis=1)).sum(),
    "where": lambda x: ad.where(x.T > 0.0, x.T, 0.0).sum(),
    "contraction": lambda x: ad.einsum("ij,kj->ki", x, x).tanh().sum(),
    "reshape": lambda x: (x.T.reshape((-1,)) * 1.1).sum(),
}


@pytest.mark.parametrize("device", ["cpu", "emulated"])
@pytest.mark.parametrize("name", ORDERS)
def test_results_equal_eager_ones_to_the_last_bit(name: str, device: str) -> None:
    value = np.random.default_rng(0).normal(size=(37, 53))
    program = Program.trace(ORDERS[name], (value.shape, F64))
    given = Tensor(value, device=device)
    (out,) = Runtime(dict.fromkeys([device, "cpu"])).run(program, [given])
    assert out.item() == ORDERS[name](given).item()


#: Without an operand that can be differentiated there is nothing to trace.
TRACED = [name for name in ROWS if all(sample.moving for sample in cases(OPS[name]))]


@pytest.mark.parametrize("name", TRACED)
def test_every_row_gives_the_bits_of_eager_mode(name: str) -> None:
    runtime = Runtime(["emulated", "cpu"])
    for sample in cases(OPS[name]):
        moving = [Tensor(sample.args[k]) for k in sample.moving]
        function = results_of_row(OPS[name], sample)
        program = Program.trace(function, *[(x.shape, x.dtype) for x in moving])
        assert bits(runtime.run(program, moving)) == bits(function(*moving))


# -- failures --------------------------------------------------------------------------------------


@pytest.mark.parametrize("event", ["upload", "allocation"])
def test_failing_transfer_leaves_nothing_and_runs_nothing(event: str) -> None:
    given, before = inputs(), live()
    runtime = Runtime(["emulated", "emulated:1"])
    emulated("emulated:1").fail(event)
    with pytest.raises(TransferFailed) as caught:
        runtime.run(SPLIT, given, COS_ON_1)
    assert isinstance(caught.value.__cause__, EmulatedFailure)
    assert emulated("emulated:1").executions["cos"] == 0
    assert emulated().executions == {"sin": 1}
    del caught
    assert live() == before
    (out,) = runtime.run(SPLIT, given, COS_ON_1)
    assert np.array_equal(out.numpy(), EXPECTED)


def test_error_that_is_kept_holds_no_value_but_the_one_on_its_way() -> None:
    def function(x: Tensor) -> Tensor:
        several = [ad.sin(x), ad.exp(x), ad.tanh(x)]
        return several[0] + ad.cos(several[1]) * several[2]

    program, given, before = Program.trace(function, ((3,), F64)), inputs(), live()
    runtime = Runtime(["emulated", "emulated:1"])
    emulated("emulated:1").fail("upload")
    with pytest.raises(TransferFailed) as caught:
        runtime.run(program, given, {"cos": "emulated:1"})
    assert live() == [before[0] + 1, *before[1:]]
    assert caught.value.__traceback__ is not None


def test_faulty_transfer_is_refused_before_its_consumer_runs() -> None:
    relabelled = Provider(fault=lambda result, request: request.value)
    runtime = Runtime(["emulated", "emulated:1"], providers=[relabelled])
    given, before = inputs(), live()
    with pytest.raises(TransferContractError):
        runtime.run(SPLIT, given, COS_ON_1)
    assert emulated("emulated:1").executions == {}
    assert live()[1:] == before[1:]


def test_failing_launch_is_named() -> None:
    runtime = Runtime(["emulated", "emulated:1"])
    emulated("emulated:1").fail("launch")
    with pytest.raises(ExecutionFailed, match=r"instructions 1 to 1 at emulated:1 \(device\)"):
        runtime.run(SPLIT, inputs(), COS_ON_1)


def test_output_that_finds_no_memory_is_named() -> None:
    runtime, given = Runtime(["emulated"]), Tensor(np.ones((2, 3)), device="emulated")
    emulated().fail("allocation", 1)
    with pytest.raises(ExecutionFailed, match=r"output 1 at emulated \(device\) needs memory"):
        runtime.run(Program.trace(lambda x: x.T, ((2, 3), F64)), [given])


def test_failing_op_is_named_with_its_error() -> None:
    def refuse(xp: Any, x: Any) -> Any:
        raise ZeroDivisionError("no")

    program = Program.trace(ad.custom_op("refuse", refuse, None, lambda meta: (meta,)), ((3,), F64))
    with pytest.raises(ExecutionFailed, match=r"0 \(refuse\) at .*ZeroDivisionError") as caught:
        Runtime(["emulated"]).run(program, inputs())
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


#: What an executor on emulated:1 may give in place of cos, and what the message says of it.
FAULTS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "too few": (lambda made: (), "needs 1 results, got 0"),
    "too many": (lambda made: (*made, *made), "needs 1 results, got 2"),
    "foreign": (
        lambda made: (emulated("emulated").from_host(VALUES),),
        "its own memory, got <buffer on emulated ",
    ),
    "host": (lambda made: (VALUES.copy(),), "its own memory, got array"),
    "kind of memory": (
        lambda made: (emulated("emulated:1").place(VALUES, "managed"),),
        "its own memory, got <buffer on emulated:1 .managed.",
    ),
    "dtype": (
        lambda made: (emulated("emulated:1").from_host(VALUES.astype(np.float32)),),
        "dtype float64, got shape .3,., dtype float32",
    ),
    "shape": (
        lambda made: (emulated("emulated:1").from_host(VALUES[:2]),),
        "shape .3,., dtype float64, got shape .2,.",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faulty_executor_output_is_refused(name: str) -> None:
    fault, message = FAULTS[name]
    runtime = Runtime(["emulated", Faulty("emulated:1", "cos", fault)])
    with pytest.raises(OutputResidencyMismatch, match=rf"instruction 1 \(cos\) .*{message}"):
        runtime.run(SPLIT, inputs(), COS_ON_1)
    assert emulated().executions["add"] == 0


# -- outputs of a foreign domain -------------------------------------------------------------------


def test_non_contiguous_output_is_read_through_its_owner() -> None:
    program = Program.trace(lambda x: ad.sin(x).T[::-1], ((2, 3), F64))
    given = Tensor(np.arange(6.0).reshape(2, 3), device="emulated")
    runtime = Runtime(["emulated", "emulated:1"])
    wishes = dict.fromkeys(("sin", "transpose", "getitem"), "emulated:1")
    (out,) = runtime.run(program, [given], wishes)
    assert out.device == "emulated:1"
    before = [emulated(device).stats.downloads for device in DEVICES]
    assert np.array_equal(out.numpy(), np.sin(np.arange(6.0).reshape(2, 3)).T[::-1])
    after = [emulated(device).stats.downloads for device in DEVICES]
    assert [b - a for a, b in zip(before, after, strict=True)] == [0, 1, 0]


# -- runs that go on -------------------------------------------------------------------------------


def failing(*names: str) -> tuple[Prepared, dict[int, Any]]:
    """sin, cos and exp of one input, tanh of the sines; the ops of these names raise."""

    def function(x: Tensor) -> tuple[Tensor, ...]:
        y = ad.sin(x)
        return y, ad.cos(x), ad.exp(x), ad.tanh(y)

    class Picky(Executor):
        def run(self, op: Any, *args: Any) -> tuple[Any, ...]:
            if op.name in names:
                raise ZeroDivisionError(op.name)
            return super().run(op, *args)

    runtime = Runtime([Picky("emulated")])
    prepared = runtime.prepare(Program.trace(function, ((3,), F64)), inputs())
    return prepared, {0: emulated().from_host(VALUES)}


def found(run: PartialRun) -> dict[int, list[float]]:
    return {value: emulated().to_host(buffer).tolist() for value, buffer in run.results.items()}


def test_partial_run_gives_what_does_not_depend_on_a_failure() -> None:
    prepared, buffers = failing("sin", "exp")
    run = PartialRun(prepared, buffers, {})
    assert list(run.run()) == [2]
    assert found(run) == {2: np.cos(VALUES).tolist()}
    assert {value: failure.line for value, failure in run.failures.items()} == {1: 0, 3: 2, 4: 0}
    assert isinstance(run.failures[4].error.__cause__, ZeroDivisionError)
    assert emulated().executions == {"cos": 1}


def test_partial_run_without_a_failure_is_a_run() -> None:
    prepared, buffers = failing()
    run = PartialRun(prepared, buffers, {})
    expected = Run(prepared, buffers).run()
    run.run()
    assert found(run) == {v: emulated().to_host(x).tolist() for v, x in expected.items()}
    assert run.failures == {}


def test_missing_input_fails_whoever_needs_it() -> None:
    prepared, _ = failing()
    run = PartialRun(prepared, {}, {0: KeyError("gone")})
    assert run.run() == {}
    assert {value: failure.line for value, failure in run.failures.items()} == {
        1: 0,
        2: 1,
        3: 2,
        4: 0,
    }


def test_interrupted_partial_run_keeps_what_was_done() -> None:
    def interrupt(x: Any) -> Any:
        raise KeyboardInterrupt

    prepared, buffers = failing()
    run = PartialRun(prepared, buffers, {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "exp", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run.run()
    assert found(run) == {1: np.sin(VALUES).tolist(), 2: np.cos(VALUES).tolist()}
