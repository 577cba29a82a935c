"""Program: capture, trace, replay, per sample."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import autodiff as ad
from autodiff import (
    F32,
    F64,
    Parameter,
    Program,
    ShapeError,
    Tensor,
    TraceError,
    dispatch,
    no_grad,
)
from autodiff.node import Kind
from autodiff.program import placeholder


class Refused(Exception):
    pass


def capture(*outputs: Tensor) -> Program:
    """Capture with Parameters and Inputs as slots, as a circuit does."""
    kinds = (Kind.PARAMETER, Kind.INPUT)
    return Program.capture(outputs, lambda x: x._meta.kind in kinds, lambda x: Refused(x._label()))


def names(program: Program) -> list[str]:
    return [instruction.op.name for instruction in program.instructions]


# -- capture ---------------------------------------------------------------------------------------


def test_replay_computes_with_new_values() -> None:
    a, b = Parameter(2.0), Parameter(3.0)
    program = capture(2 * a + b)
    (out,) = program.run([Tensor(10.0), Tensor(1.0)])
    assert out.item() == 21.0


def test_slots_stand_in_order_of_first_use() -> None:
    a, b, c = (Parameter(float(k), name="abc"[k]) for k in range(3))
    assert [s.name for s in capture((c * a) + (b * c)).slots] == ["c", "a", "b"]


def test_shared_part_is_listed_once() -> None:
    a = Parameter(2.0)
    k = a * a
    assert names(capture(k + k, k)) == ["multiply", "add"]


def test_parameter_itself_is_a_program_without_instructions() -> None:
    a = Parameter(2.0)
    program = capture(a)
    assert program.instructions == ()
    assert program.run([Tensor(5.0)])[0].item() == 5.0


def test_values_may_be_constants_as_they_are() -> None:
    """Without a refusal, what has a value is neither followed to its leaves nor copied."""
    w = Parameter([1.0, 2.0])
    made = w * w
    x = placeholder((2,))
    two = dispatch.constant(np.array(2.0))
    program = Program.capture([(x + made) * two], lambda leaf: leaf._cell is x._cell, None)
    assert names(program) == ["add", "multiply"]
    assert [c._cell.storage for c in program.constants] == [made._cell.storage, two._cell.storage]
    assert [c._meta.kind for c in program.constants] == [Kind.TENSOR, Kind.CONSTANT]
    assert not any(c.requires_grad for c in program.constants)
    assert program.run([Tensor([1.0, 1.0])])[0].tolist() == [4.0, 10.0]


def test_constants_are_copied() -> None:
    a, data = Parameter(2.0), np.array([1.0, 2.0])
    program = capture(a * data)
    data[0] = 9.0
    assert program.run([Tensor(3.0)])[0].tolist() == [3.0, 6.0]
    assert not np.shares_memory(program.constants[0].numpy(), data)


def test_program_is_immutable() -> None:
    program = capture(Parameter(2.0) * 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        program.outputs = ()


def test_capture_is_not_touched_by_backward_changes_or_no_grad() -> None:
    a = Parameter(2.0)
    y = a * a
    program = capture(y)
    y.backward()
    a.set_(7.0)
    with no_grad():
        assert program.run([Tensor(3.0)])[0].item() == 9.0
    leaf = Tensor(3.0, requires_grad=True)
    program.run([leaf])[0].backward()
    assert leaf.grad.item() == 6.0


OTHERS = {
    "plain tensor": lambda a: a * Tensor(2.0),
    "detached": lambda a: (a * 2).detach(),
    "under no_grad": lambda a: no_grad()(lambda: a * 2)(),
    "inside": lambda a: a + (a * 2).detach(),
}


@pytest.mark.parametrize("name", OTHERS)
def test_any_other_leaf_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="Tensor of shape"):
        capture(OTHERS[name](Parameter(2.0)))


def test_freed_graph_is_refused() -> None:
    y = Parameter(2.0) * 2
    y.backward()
    with pytest.raises(Refused):
        capture(y)


def test_deep_expression_is_captured_without_recursion() -> None:
    a = Parameter(1.0)
    y = a
    for _ in range(5_000):
        y = y + 1.0
    assert len(capture(y).instructions) == 5_000


def test_placeholder_is_followed_without_history() -> None:
    x = placeholder((2,), name="x")
    w = Parameter(2.0)
    program = capture(x[0] * w)
    assert [s.name for s in program.slots] == ["x", None]
    (out,) = program.run([Tensor([3.0, 4.0]), Tensor(5.0)])
    assert out.item() == 15.0


def test_one_of_several_outputs_is_captured() -> None:
    both = ad.custom_op(
        "both",
        lambda xp, x: (x + 1, x * 3),
        lambda gs, outs, inputs: (None,),
        outputs=2,
    )
    a = Parameter(2.0)
    assert capture(both(a)[1]).run([Tensor(5.0)])[0].item() == 15.0


# -- trace -----------------------------------------------------------------------------------------


def test_trace_runs_on_shapes() -> None:
    seen = []

    def function(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        z = x @ y
        seen.append((z.shape, z.dtype))
        return z, z.sum()

    program = Program.trace(function, ((2, 3), F32), ((3,), F32))
    assert seen == [((2,), F32)]
    z, total = program.run([Tensor(np.ones((2, 3)), dtype=F32), Tensor(np.ones(3), dtype=F32)])
    assert (z.tolist(), total.item()) == ([3.0, 3.0], 6.0)


def test_arguments_keep_their_order_and_need_not_be_used() -> None:
    program = Program.trace(lambda x, y, z: z - x, ((), F64), ((), F64), ((), F64))
    values = [Tensor(1.0), Tensor(2.0), Tensor(10.0)]
    assert program.run(values)[0].item() == 9.0


def test_argument_may_be_returned() -> None:
    program = Program.trace(lambda x: x, ((), F64))
    assert program.run([Tensor(4.0)])[0].item() == 4.0


def test_tensor_from_outside_is_refused() -> None:
    w = Tensor(2.0)
    with pytest.raises(TraceError, match="arguments and constants only, got Tensor of shape"):
        Program.trace(lambda x: x * w, ((), F64))


def test_value_of_a_traced_tensor_is_refused() -> None:
    with pytest.raises(TraceError, match="needs a run, got a placeholder"):
        Program.trace(lambda x: x * x.item(), ((), F64))


# -- run -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [[], [Tensor(1.0)], [Tensor(1.0), Tensor([1.0, 2.0])]])
def test_values_must_fit_the_slots(values: list[Tensor]) -> None:
    program = capture(Parameter(1.0) * Parameter([1.0]))
    with pytest.raises(ShapeError, match=r"one value a slot, of shapes \[\(\), \(1,\)\]"):
        program.run(values)


def test_replay_is_differentiable() -> None:
    program = capture(Parameter(1.0) * Parameter(1.0))
    x, y = (Tensor(v, requires_grad=True) for v in (2.0, 3.0))
    program.run([x, y])[0].backward()
    assert (x.grad.item(), y.grad.item()) == (3.0, 2.0)


# -- per sample ------------------------------------------------------------------------------------

W = np.array([1.0, 2.0, 3.0, 4.0])

EXPRESSIONS = {
    "(x[0]*w)[2]": lambda x, w: (x[0] * w)[2],
    "x[0] + w": lambda x, w: x[0] + w,
    "w * (x @ 1)": lambda x, w: (x * 2.0).sum() * w,
    "matrix by vector": lambda x, w: x[:, None] * w,
    "sum over an axis": lambda x, w: (x[:, None] * w).sum(axis=0),
    "transpose": lambda x, w: (x[:, None] * w).T[1],
    "from the end": lambda x, w: (x[:, None] * w)[..., -1],
    "constant array": lambda x, w: x[1] * np.array([1.0, 2.0]) + w[0],
    "astype": lambda x, w: x.astype(F32) * w[3],
}


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("batch", [1, 3, 4])
def test_batch_is_evaluated_as_if_per_sample(name: str, batch: int) -> None:
    expression = EXPRESSIONS[name]
    program = capture(expression(placeholder((3,)), Parameter(W)))
    xs = np.arange(3.0 * batch).reshape(batch, 3) + 0.5
    (out,) = program.run([Tensor(xs), Tensor(W)], [True, False])
    expected = np.stack([expression(Tensor(x), Tensor(W)).numpy() for x in xs])
    assert np.array_equal(out.numpy(), expected)


@pytest.mark.parametrize("flags", [(True, True), (False, True), (False, False)])
def test_any_value_may_carry_the_batch(flags: tuple[bool, bool]) -> None:
    program = capture((placeholder((2,))[0] * Parameter(W))[2])
    xs, ws = np.array([[2.0, 0.0], [3.0, 0.0]]), np.stack([W, 10 * W])
    x, w = (Tensor(v if flag else v[0]) for v, flag in zip((xs, ws), flags, strict=True))
    (out,) = program.run([x, w], flags)
    expected = xs[:, 0] * ws[:, 2] if all(flags) else 2 * ws[:, 2] if any(flags) else 6.0
    assert np.array_equal(out.numpy(), expected)


def test_gradient_of_an_unbatched_value_adds_up_over_samples() -> None:
    program = capture(placeholder((2,))[0] * Parameter(2.0))
    w = Tensor(2.0, requires_grad=True)
    (out,) = program.run([Tensor([[1.0, 0.0], [5.0, 0.0]]), w], [True, False])
    out.sum().backward()
    assert w.grad.item() == 6.0


def test_op_without_a_per_sample_meaning_is_refused_in_a_batch() -> None:
    opaque = ad.custom_op(
        "opaque", lambda xp, x: x * 2, lambda gs, outs, ins: gs, meta=lambda m: (m,)
    )
    program = capture(opaque(placeholder((2,))))
    assert program.run([Tensor([1.0, 2.0])])[0].tolist() == [2.0, 4.0]
    with pytest.raises(TraceError, match=r"per sample needs elementwise ops.*got 'opaque'"):
        program.run([Tensor([[1.0, 2.0]])], [True])


# -- backward passes -------------------------------------------------------------------------------


def test_trace_may_contain_a_backward_pass() -> None:
    def function(x: Tensor, w: Tensor) -> tuple[Tensor, ...]:
        return ad.value_and_grad(lambda w: ad.tanh(x @ w).sum())(w)

    program = Program.trace(function, ((3, 2), F64), ((2,), F64))
    values = [Tensor(np.arange(6.0).reshape(3, 2)), Tensor([0.1, 0.2])]
    assert [x.tolist() for x in program.run(values)] == [x.tolist() for x in function(*values)]


def test_what_a_rule_computes_from_constants_is_traced() -> None:
    factor = np.array([1 + 2j, 3j])

    def function(w: Tensor) -> Tensor:
        return ad.value_and_grad(lambda w: (w * factor).abs().sum())(w)[1]

    program = Program.trace(function, ((2,), F64))
    w = Tensor([1.0, 2.0])
    assert program.run([w])[0].tolist() == function(w).tolist()


def test_gradient_of_an_input_that_is_not_used_is_traced_as_zeros() -> None:
    def function(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return ad.value_and_grad(lambda x, y: x.sum())(x, y)[1]

    program = Program.trace(function, ((2,), F64), ((3,), F64))
    found = program.run([Tensor([1.0, 2.0]), Tensor([1.0, 2.0, 3.0])])
    assert [x.tolist() for x in found] == [[1.0, 1.0], [0.0, 0.0, 0.0]]


def test_second_derivative_may_be_traced() -> None:
    program = Program.trace(
        lambda x: ad.grad(ad.grad((x.requires_grad_() ** 3).sum(), x, create_graph=True).sum(), x),
        ((2,), F64),
    )
    assert program.run([Tensor([1.0, 2.0])])[0].tolist() == [6.0, 12.0]


def test_output_that_only_a_rule_reads_is_replayed() -> None:
    saves = ad.custom_op(
        "saves",
        lambda xp, x: (x * x, 2 * x),
        lambda gs, outs, ins: gs[0] * outs[1],
        lambda meta: (meta, meta),
        outputs=1,
        reads_outputs=True,
    )
    program = Program.trace(lambda x: ad.value_and_grad(saves)(x), ((), F64))
    assert [x.item() for x in program.run([Tensor(3.0)])] == [9.0, 6.0]


def test_computed_mask_is_refused_and_a_fixed_one_kept() -> None:
    """Where a mask holds depends on values that a replay would change."""
    w = Parameter([-1.0, 2.0])
    fixed = capture(w[np.array([False, True])])
    assert fixed.run([Tensor([3.0, 4.0])])[0].tolist() == [4.0]
    with pytest.raises(Refused, match="int64"):
        capture(w[w > 0][0])
