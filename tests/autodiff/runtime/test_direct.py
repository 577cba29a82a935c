"""Direct runs: what the general path and eager code give, with hardly a call more."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np
import pytest
from op_checks import cases
from python_calls import python_calls
from runtimes import (
    ROWS,
    SPLIT,
    VALUES,
    Own,
    Recorder,
    bits,
    chain,
    directly,
    in_general,
    prepared_on_cpu,
    results_of_row,
)

import autodiff as ad
from autodiff import F32, F64, Program, Tensor, custom_op
from autodiff.device import backend_of
from autodiff.ieee import silenced
from autodiff.program import Place, Ref
from autodiff.runtime.direct import runs_directly
from autodiff.runtime.errors import RouteError
from autodiff.runtime.executor import Executor
from autodiff.runtime.runtime import Runtime
from autodiff.table import OPS

MATRIX = np.random.default_rng(0).normal(size=(3, 4))


# -- results ---------------------------------------------------------------------------------------

several = custom_op(
    "several", lambda xp, x: (x.sum(), x * 2.0), None, lambda x: (((), x[1]), x), outputs=2
)

#: Of a matrix (3, 4): whatever its result is, a tuple.
FUNCTIONS: dict[str, Callable[[Tensor], tuple[Tensor, ...]]] = {
    "views": lambda x: (x.T[::-1], x.T.reshape((-1,)), (x.T * 1.1).sum(), x[1:, 2]),
    "view of a result": lambda x: (ad.sin(x).T, ad.sin(x)[0, 1] * 2.0),
    "several outputs": lambda x: (x + 1.0, x * x, (x + 1.0).sum()),
    "one output twice": lambda x: (y := ad.exp(x), y, y.T),
    "an input": lambda x: (ad.cos(x), x, x),
    "numbers": lambda x: (x.sum() * 2.0 - 0.5, x.mean(), 3.0 / (x * x).sum()),
    "an array": lambda x: (x @ np.arange(8.0).reshape(4, 2),),
    "ops with several results": lambda x: (*several(x), *ad.slogdet(x @ x.T)),
    "a result that nobody needs": lambda x: (several(x)[1] + ad.slogdet(x @ x.T)[1],),
    "value and gradient": lambda x: ad.value_and_grad(lambda x: (x.T @ x).tanh().sum())(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bits_of_the_general_path_and_of_eager_code(name: str) -> None:
    function, given = FUNCTIONS[name], [Tensor(MATRIX)]
    prepared = prepared_on_cpu(Program.trace(function, ((3, 4), F64)), given)
    outs = directly(prepared, given)
    expected = in_general(prepared, given)
    assert bits(outs) == bits(expected) == bits(function(*given))
    for out, general in zip(outs, expected, strict=True):
        assert (out.shape, out.dtype, out.device) == (general.shape, general.dtype, "cpu")
        assert (out.strides, out.is_leaf, out.requires_grad) == (general.strides, True, False)


def test_run_and_submit_are_direct_as_well() -> None:
    program, given = chain(*["sin"] * 50), [Tensor(VALUES)]
    runtime, most = Runtime(["cpu"]), calls(program) + 20
    (expected,) = in_general(runtime.prepare(program, given), given)
    workers: list[Callable[[], None]] = []
    submitting = Runtime(["cpu"], spawn=workers.append)
    for _ in range(2):  # what the first one prepares, the second one finds
        (out,) = runtime.run(program, given)
        handle = submitting.submit(program, given)
        (work,) = workers
        work()
        assert bits([out]) == bits(handle.result(60)) == bits([expected])
        workers.clear()
    assert python_calls(lambda: runtime.run(program, given)) <= most
    submitting.submit(program, given)
    assert python_calls(workers.pop()) <= most


#: Without an operand that can be differentiated there is nothing to trace.
TRACED = [name for name in ROWS if all(sample.moving for sample in cases(OPS[name]))]


@pytest.mark.parametrize("name", TRACED)
def test_every_row_gives_the_bits_of_eager_code(name: str) -> None:
    for sample in cases(OPS[name]):
        given = [Tensor(sample.args[k]) for k in sample.moving]
        function = results_of_row(OPS[name], sample)
        program = Program.trace(function, *[(x.shape, x.dtype) for x in given])
        assert bits(directly(prepared_on_cpu(program, given), given)) == bits(function(*given))


def test_constant_may_be_returned() -> None:
    made = Program.trace(lambda x: x * np.arange(3.0) + 2.0, ((3,), F64))
    constants = [Ref(Place.CONSTANT, k) for k in range(len(made.constants))]
    program = Program(made.slots, made.constants, made.instructions, (*made.outputs, *constants))
    prepared, given = prepared_on_cpu(program, [Tensor(VALUES)]), [Tensor(VALUES)]
    outs = directly(prepared, given)
    assert bits(outs) == bits(in_general(prepared, given))
    for out in outs:
        out.set_(np.zeros(out.shape))
    assert bits(directly(prepared, given)) == bits(in_general(prepared, given))


def test_outputs_are_read_only_and_share_no_memory() -> None:
    program = Program.trace(lambda x: (x, x, x.T, y := ad.sin(x), y.T), ((3, 4), F64))
    given = [Tensor(MATRIX)]
    prepared = prepared_on_cpu(program, given)
    outs = directly(prepared, given)
    assert not any(out.numpy().flags.writeable for out in outs)
    for out in outs:
        with out.storage_mut() as a:
            a[...] = 0.0
    assert given[0].tolist() == MATRIX.tolist()
    given[0].set_(np.zeros((3, 4)))
    assert directly(prepared, [Tensor(MATRIX)])[0].tolist() == MATRIX.tolist()


def test_later_write_to_an_input_is_not_seen() -> None:
    given = Tensor(VALUES)
    prepared = prepared_on_cpu(Program.trace(lambda x: (x, ad.sin(x)), ((3,), F64)), [given])
    outs = directly(prepared, [given])
    given.set_(np.zeros(3))
    assert [out.tolist() for out in outs] == [VALUES.tolist(), np.sin(VALUES).tolist()]
    assert directly(prepared, [given])[0].tolist() == [0.0, 0.0, 0.0]


def test_view_is_an_input_like_any_other() -> None:
    whole = Tensor(np.arange(12.0).reshape(3, 4))
    prepared = prepared_on_cpu(chain("sin"), [Tensor(VALUES)])
    assert directly(prepared, [whole[:, 1]])[0].tolist() == np.sin([1.0, 5.0, 9.0]).tolist()


def test_threads_share_a_prepared_execution() -> None:
    program = Program.trace(lambda x: (x * 2.0, (x * x).sum()), ((3,), F64))
    prepared = prepared_on_cpu(program, [Tensor(VALUES)])
    start, wrong = threading.Barrier(2, timeout=60), []

    def work(seed: int) -> None:
        start.wait()
        for k in range(200):
            x = VALUES + seed * 1000 + k
            double, total = directly(prepared, [Tensor(x)])
            if double.tolist() != (x * 2.0).tolist() or total.item() != (x * x).sum():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []


# -- silence ---------------------------------------------------------------------------------------

SETTING: ContextVar[str] = ContextVar("SETTING", default="none")


def test_infinities_are_silent_and_other_code_is_warned_as_before() -> None:
    program = Program.trace(lambda x: ad.log(x - x) / (x - x).T, ((3,), F64))
    prepared = prepared_on_cpu(program, [Tensor(VALUES)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (out,) = directly(prepared, [Tensor(VALUES)])
    assert np.isneginf(out.numpy()).all()
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.log(np.zeros(1))


@pytest.mark.parametrize("view", [False, True])
def test_op_of_a_user_sees_what_the_user_set(view: bool) -> None:
    seen = []

    def forward(xp: Any, x: Any) -> Any:
        seen.append((SETTING.get(), np.geterr()["divide"]))
        return x[::-1]

    flipped = ad.node.Op("flipped", forward, meta=lambda x: (x,), view=view)
    program = Program.trace(lambda x: ad.log(ad.dispatch.apply(flipped, x - x)), ((3,), F64))
    prepared = prepared_on_cpu(program, [Tensor(VALUES)])
    token = SETTING.set("mine")
    with np.errstate(divide="raise"):
        (out,) = directly(prepared, [Tensor(VALUES)])
    SETTING.reset(token)
    assert seen == [("mine", "raise")]
    assert np.isneginf(out.numpy()).all()


def test_warning_of_a_custom_op_is_given() -> None:
    loud = custom_op("loud", lambda xp, x: xp.log(x), None, lambda x: (x,))
    prepared = prepared_on_cpu(
        Program.trace(lambda x: loud(x - x) * 2.0, ((3,), F64)), [Tensor(VALUES)]
    )
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        directly(prepared, [Tensor(VALUES)])


# -- when a run is direct --------------------------------------------------------------------------


def test_executors_of_users_are_asked() -> None:
    log: list[tuple[str, ...]] = []
    entered: list[str] = []

    class Launching(Recorder):
        def launch(self) -> Any:
            entered.append(self.name)
            return super().launch()

    runtime = Runtime([Launching("cpu", log)])
    (out,) = runtime.run(SPLIT, [Tensor(VALUES)])
    assert log == [("run", "cpu", name) for name in ("sin", "cos", "add")]
    assert entered == ["cpu"]
    assert bits([out]) == bits(Runtime(["cpu"]).run(SPLIT, [Tensor(VALUES)]))


def test_contract_of_a_user_is_asked() -> None:
    contract, asked = Executor("cpu").contract, []
    assert contract is not None

    def owns(buffer: Any, storage_class: str) -> bool:
        asked.append(storage_class)
        return True

    executor = Executor("cpu")
    executor.contract = type(contract)(contract.eligible, contract.accepts, owns)
    Runtime([executor]).run(SPLIT, [Tensor(VALUES)])
    assert asked == ["host"] * 3


def test_ops_of_an_executor_are_respected() -> None:
    with pytest.raises(RouteError, match="cos"):
        Runtime([Executor("cpu", ops=["sin", "add"])]).run(SPLIT, [Tensor(VALUES)])


#: Executors, the input's device, a placement: what needs the general path.
GENERAL: dict[str, tuple[list[str | Executor], str, dict[int | str, str]]] = {
    "a device": (["emulated"], "emulated", {}),
    "transfers": (["cpu", "emulated"], "cpu", {"cos": "emulated"}),
    "an input elsewhere": (["cpu", "emulated"], "emulated", dict.fromkeys((0, 1, 2), "cpu")),
    "a class": ([Own("cpu")], "cpu", {}),
    "a kind of memory": ([Executor("cpu", storage_classes=["host", "other"])], "cpu", {}),
}


@pytest.mark.parametrize("name", GENERAL)
def test_whatever_is_not_only_the_cpus_takes_the_general_path(name: str) -> None:
    executors, device, placement = GENERAL[name]
    runtime, given = Runtime(executors), [Tensor(VALUES, device=device)]
    prepared = runtime.prepare(SPLIT, given, placement)
    assert prepared.direct is None
    assert not runs_directly(prepared.schedule, prepared.signatures)
    (out,) = runtime.run_prepared(prepared, given)
    assert out.tolist() == SPLIT.run([Tensor(VALUES)])[0].tolist()


def test_input_that_nobody_needs_is_checked_where_it_is() -> None:
    program = Program.trace(lambda x, unused: ad.sin(x), ((3,), F64), ((3,), F64))
    runtime, given = Runtime(["cpu"]), [Tensor(VALUES), Tensor(VALUES, device="emulated")]
    prepared = runtime.prepare(program, given)
    assert prepared.direct is None
    assert runtime.run_prepared(prepared, given)[0].tolist() == np.sin(VALUES).tolist()


def test_program_without_ops_takes_the_general_path() -> None:
    program = Program.trace(lambda x: (x, x), ((3,), F64))
    prepared = prepared_on_cpu(program, [Tensor(VALUES)])
    assert prepared.direct is None
    outs = Runtime(["cpu"]).run_prepared(prepared, [Tensor(VALUES)])
    assert [out.tolist() for out in outs] == [VALUES.tolist()] * 2


def test_run_finds_what_it_ran_last() -> None:
    runtime = Runtime(["cpu"])
    program = Program.trace(lambda x, y: x * y, ((3,), F64), ((3,), F64))
    single = [Tensor(VALUES, dtype=F32)] * 2
    for given in ([Tensor(VALUES)] * 2, single, [Tensor(VALUES)] * 2):
        (out,) = runtime.run(program, given)
        assert bits([out]) == bits(program.run(given))
    assert runtime.planned == 2
    runtime.register_executor("emulated")
    runtime.remove_executor("cpu")
    with pytest.raises(RouteError):
        runtime.run(program, single)


def test_view_that_has_to_copy_is_read_only_for_users_ops() -> None:
    """A reshape of what is strided copies: nobody may write to that, and change other values."""

    def doubled(xp: Any, x: Any) -> Any:
        assert not x.flags.writeable
        return x * 2.0

    op = custom_op("doubled", doubled, None, lambda x: (x,))

    def function(x: Tensor) -> tuple[Tensor, ...]:
        flat = x.T.reshape((-1,))
        return op(flat), flat + 0.0, flat, flat.reshape((3, 4)), flat.reshape((4, 3))

    given = [Tensor(MATRIX)]
    prepared = prepared_on_cpu(Program.trace(function, ((3, 4), F64)), given)
    expected = bits(function(*given))
    for run in (directly, in_general):
        outs = run(prepared, given)
        assert bits(outs) == expected
        arrays = [x.numpy() for x in outs]
        for k, array in enumerate(arrays):
            assert not any(np.shares_memory(array, other) for other in arrays[:k])


def test_op_finds_out_once_what_follows_from_shapes() -> None:
    asked = []

    def prepare(metas: Any, attrs: Any) -> Any:
        asked.append((metas, attrs))
        return {**attrs, "rows": metas[0][0][0]}

    def forward(xp: Any, x: Any, y: Any, factor: float, rows: int | None = None) -> Any:
        return (x + y) * factor * (len(x) if rows is None else 10 * rows)

    row = ad.node.Op("rows", forward, meta=lambda x, y, **_: (x,), prepare=prepare)
    program = Program.trace(lambda x: ad.dispatch.apply(row, x, x + 1.0, factor=2.0), ((3,), F64))
    given = [Tensor(VALUES)]
    prepared = prepared_on_cpu(program, given)
    eager = (2 * VALUES + 1) * 6
    for _ in range(3):
        np.testing.assert_allclose(directly(prepared, given)[0].numpy(), 10 * eager)
    assert asked == [([((3,), F64)] * 2, {"factor": 2.0})]
    np.testing.assert_allclose(in_general(prepared, given)[0].numpy(), eager)


# -- what it costs ---------------------------------------------------------------------------------


def calls(program: Program) -> int:
    runtime, given = Runtime(["cpu"]), [Tensor(VALUES)]
    prepared = runtime.prepare(program, given)
    runtime.run_prepared(prepared, given)
    return python_calls(lambda: runtime.run_prepared(prepared, given))


def test_op_costs_the_calls_of_its_forward_and_of_one_buffer() -> None:
    forward, own = silenced(OPS["sin"].forward), backend_of("cpu").own
    assert forward is not None
    alone = python_calls(lambda: own(forward(np, VALUES))) - 1
    few, many = (calls(chain(*["sin"] * ops)) for ops in (10, 110))
    assert many - few == 100 * (alone + 1)  # whether it is a tuple
    assert few <= 10 * (alone + 1) + 25


def test_tuple_costs_few_calls_more() -> None:
    """Circuits give tuples."""
    pair = ad.node.Op("pair", lambda xp, x: (x + 1.0, x), meta=lambda x: (x, x), outputs=2)

    def function(x: Tensor, ops: int) -> Tensor:
        for _ in range(ops):
            x, _ = ad.dispatch.apply(pair, x)
        return x

    own = backend_of("cpu").own
    alone = python_calls(lambda: [own(x) for x in pair.forward(np, VALUES)]) - 2
    few, many = (calls(Program.trace(partial(function, ops=n), ((3,), F64))) for n in (10, 110))
    assert many - few <= 100 * (alone + 6)


def test_general_path_needs_more() -> None:
    runtime, given = Runtime([Own("cpu")]), [Tensor(VALUES)]
    program = chain(*["sin"] * 50)
    prepared = runtime.prepare(program, given)
    runtime.run_prepared(prepared, given)
    assert python_calls(lambda: runtime.run_prepared(prepared, given)) > 2 * calls(program)
