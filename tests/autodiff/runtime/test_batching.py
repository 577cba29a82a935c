"""Programs written out for inputs with a batch axis."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from runtimes import Recorder

import autodiff as ad
from autodiff import F64, Program, Tensor, TraceError
from autodiff.runtime.batching import batched_program
from autodiff.runtime.errors import UnsupportedOp
from autodiff.runtime.executor import Executor
from autodiff.runtime.runtime import Runtime

W = np.array([1.0, 2.0, 3.0])

#: Functions of x, one sample of shape (2,), and w, of shape (3,).
FUNCTIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "scalar times vector": lambda x, w: x[0] * w,
    "sum": lambda x, w: x.sum() * w,
    "outer": lambda x, w: x[:, None] * w,
    "reduced": lambda x, w: (x[:, None] * w).sum(axis=0),
    "without w": lambda x, w: ad.sin(x),
    "without x": lambda x, w: ad.sin(w),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("batch", [1, 3])
def test_written_out_program_means_the_same(name: str, batch: int) -> None:
    program = Program.trace(FUNCTIONS[name], ((2,), F64), ((3,), F64))
    values = [Tensor(np.arange(2.0 * batch).reshape(batch, 2) + 0.5), Tensor(W)]
    flags = (True, False)
    written = batched_program(program, [(x.shape, x.dtype) for x in values], flags)
    expected = program.run(values, flags)
    for found in (written_run(written, values), Runtime().run(program, values, batched=flags)):
        assert [x.tolist() for x in found] == [x.tolist() for x in expected]


def written_run(program: Program, values: list[Tensor]) -> tuple[Tensor, ...]:
    """Run instruction by instruction, as the slots' shapes are those of one sample."""
    slots = tuple(values)
    return Program(slots, program.constants, program.instructions, program.outputs).run(values)


def test_without_a_batch_it_is_the_program_itself() -> None:
    program = Program.trace(FUNCTIONS["sum"], ((2,), F64), ((3,), F64))
    assert batched_program(program, [((2,), F64), ((3,), F64)], (False, False)) is program


def test_padding_is_marked_as_made_by_the_compiler() -> None:
    program = Program.trace(FUNCTIONS["scalar times vector"], ((2,), F64), ((3,), F64))
    written = batched_program(program, [((4, 2), F64), ((3,), F64)], (True, False))
    made = [(i.op.name, i.compiler_made) for i in written.instructions]
    assert made == [("getitem", False), ("reshape", True), ("multiply", False)]


def test_op_without_a_per_sample_meaning_is_refused() -> None:
    opaque = ad.custom_op("opaque", lambda xp, x: x, None, lambda meta: (meta,))
    program = Program.trace(opaque, ((2,), F64))
    with pytest.raises(TraceError, match=r"per sample .* got 'opaque'"):
        Runtime().run(program, [Tensor(np.ones((3, 2)))], batched=[True])


# -- where the padding runs ------------------------------------------------------------------------

SCALED = Program.trace(lambda x, w: x * w, ((), F64), ((3,), F64))


def scaled_inputs(device: str) -> list[Tensor]:
    return [Tensor([2.0, 3.0], device=device), Tensor(W, device=device)]


def test_padding_runs_at_the_root_and_counts_as_a_use() -> None:
    log: list[tuple[str, ...]] = []
    a = Recorder("emulated", log, name="a")
    b = Recorder("emulated", log, name="b")
    runtime = Runtime([a, b])
    inputs, flags = scaled_inputs("emulated"), (True, False)
    prepared = runtime.prepare(SCALED, inputs, {"multiply": "b"}, flags)
    # x is read by the padding alone; that runs at b, so x is taken in there and nothing moves.
    assert {str(home) for home in prepared.schedule.homes.values()} == {"b (device)"}
    assert prepared.schedule.transfers == ()
    (out,) = runtime.run_prepared(prepared, inputs)
    assert log == [("run", "b", "reshape"), ("run", "b", "multiply")]
    assert np.array_equal(out.numpy(), np.outer([2.0, 3.0], W))


def test_wishes_count_the_users_instructions_only() -> None:
    runtime = Runtime(["emulated", "emulated:1"])
    inputs, flags = scaled_inputs("emulated"), (True, False)
    prepared = runtime.prepare(SCALED, inputs, {0: "emulated:1"}, flags)
    assert [str(launch.at) for launch in prepared.schedule.launches] == ["emulated:1 (device)"]


def test_root_has_to_have_the_padding() -> None:
    runtime = Runtime([Executor("emulated", ops=["multiply"])])
    with pytest.raises(UnsupportedOp, match="made by the compiler, needs 'reshape'"):
        runtime.prepare(SCALED, scaled_inputs("emulated"), batched=(True, False))
