"""The only door: lifting, dtypes, recording, tracing."""

from __future__ import annotations

import gc
import sys
import tracemalloc

import numpy as np
import pytest

from autodiff import C64, C128, F32, F64, DTypeError, Tensor, TraceError, no_grad
from autodiff.dispatch import apply, constant, lift
from autodiff.node import Kind, Op, State
from autodiff.program import placeholder
from autodiff.table import OPS

ADD = OPS["add"]


# -- numbers and arrays ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [F32, F64, C64, C128])
@pytest.mark.parametrize("number", [2, 2.0, True])
def test_python_numbers_are_weak(dtype: np.dtype, number: object) -> None:
    assert apply(ADD, Tensor([1.0], dtype=dtype), number).dtype == dtype
    assert apply(ADD, number, Tensor([1.0], dtype=dtype)).dtype == dtype


@pytest.mark.parametrize(
    ("dtype", "number", "expected"),
    [(F32, 1j, C64), (F64, 1j, C128), (np.int64, 2.0, F64), (np.bool_, 2, np.int64)],
)
def test_weak_number_changes_the_kind_at_most(
    dtype: object, number: object, expected: object
) -> None:
    assert apply(ADD, Tensor(1, dtype=dtype), number).dtype == expected


@pytest.mark.parametrize("strong", [np.float64(2), np.array(2.0), [2.0]], ids=repr)
def test_numpy_numbers_arrays_and_lists_are_strong(strong: object) -> None:
    assert apply(ADD, Tensor(1.0, dtype=F32), strong).dtype == F64


@pytest.mark.parametrize("a", [F32, F64, C64, C128, np.dtype("int32"), np.dtype("bool")])
@pytest.mark.parametrize("b", [F32, F64, C64, C128, np.dtype("int64")])
def test_tensors_combine_by_result_type(a: np.dtype, b: np.dtype) -> None:
    assert apply(ADD, Tensor(1, dtype=a), Tensor(1, dtype=b)).dtype == np.result_type(a, b)


def test_arrays_are_copied() -> None:
    data = np.array([1.0])
    (t,) = lift((data,))
    data[0] = 9.0
    assert t.tolist() == [1.0]


def test_lifted_operands_are_constants() -> None:
    x = Tensor(1.0)
    lifted = lift((x, 2.0, np.ones(2)))
    assert lifted[0] is x
    assert [t._meta.kind for t in lifted] == [Kind.TENSOR, Kind.CONSTANT, Kind.CONSTANT]
    assert constant(np.ones(2))._meta.kind is Kind.CONSTANT


@pytest.mark.parametrize("number", [3, 2.5], ids=repr)
def test_number_that_was_used_before_has_its_buffer_again(number: float) -> None:
    first, again = (lift((Tensor(1.0), number))[1] for _ in range(2))
    assert again.numpy() is first.numpy()


def test_equal_numbers_that_differ_are_kept_apart() -> None:
    x = Tensor(1)
    numbers = (0.0, -0.0, 0, 1, True, 1.0)
    lifted = [lift((x, number))[1] for number in (*numbers, *numbers)]
    wanted = [np.result_type(np.int64, type(number)) for number in numbers]
    assert [t.dtype for t in lifted] == [*wanted, *wanted]
    assert [np.signbit(t.item()) for t in lifted[:2] + lifted[6:8]] == [False, True] * 2


def test_writing_to_a_lifted_number_leaves_the_next_one_alone() -> None:
    x = Tensor(1.0)
    first = lift((x, 2.5))[1]
    with first.storage_mut() as a:
        a[...] = 9.0
    assert lift((x, 2.5))[1].item() == 2.5


@pytest.mark.parametrize("operand", [None, "one", {}, object()], ids=lambda x: type(x).__name__)
def test_other_operands_are_refused(operand: object) -> None:
    with pytest.raises(DTypeError, match=f"got {type(operand).__name__}"):
        apply(ADD, Tensor(1.0), operand)


# -- recording -------------------------------------------------------------------------------------


def test_history_holds_the_node_and_no_tensor() -> None:
    x = Tensor(2.0, requires_grad=True)
    y = apply(OPS["exp"], x)
    history = y._meta.history
    assert history.node.op is OPS["exp"]
    assert history.node.inputs == (x,)
    assert history.cells == (y._cell,)


def test_outputs_are_kept_only_where_the_rule_reads_them() -> None:
    y = apply(ADD, Tensor(2.0, requires_grad=True), 1.0)
    assert y._meta.history.cells == ()


def test_row_without_a_rule_records_nothing() -> None:
    x = Tensor([1.5], requires_grad=True)
    op = Op("floor", lambda xp, x: xp.floor(x))
    assert not apply(op, x).requires_grad


def test_result_of_another_dtype_than_the_differentiable_ones_does_not_require_grad() -> None:
    y = Tensor(1.5, requires_grad=True).astype(np.int64)
    assert not y.requires_grad
    assert y.is_leaf


def test_several_outputs_are_one_execution() -> None:
    runs = []
    op = Op(
        "both",
        lambda xp, x: runs.append(1) or (x + 1.0, x * 2.0, x * 3.0),
        lambda gs, outs, inputs: (None,),
        outputs=2,
        reads_outputs=True,
    )
    outs = apply(op, Tensor(1.0, requires_grad=True))
    assert [t.item() for t in outs] == [2.0, 2.0]
    assert outs[0]._meta.history is outs[1]._meta.history
    assert len(outs[0]._meta.history.cells) == 3
    assert len(runs) == 1


def test_result_that_is_an_operand_gets_memory_of_its_own() -> None:
    x = Tensor([1.0])
    y = apply(Op("same", lambda xp, x: x), x)
    assert not np.shares_memory(x.numpy(), y.numpy())


def test_forward_cannot_write_to_its_operands() -> None:
    def forward(xp: object, x: np.ndarray) -> np.ndarray:
        x[0] = 9.0
        return x

    x = Tensor([1.0])
    with pytest.raises(ValueError, match="read-only"):
        apply(Op("careless", forward), x)
    assert x.tolist() == [1.0]


# -- tracing ---------------------------------------------------------------------------------------


def test_abstract_operand_is_traced_with_shape_and_dtype() -> None:
    x = placeholder((2, 1), F32)
    y = apply(OPS["multiply"], x, Tensor(np.ones(3), dtype=F64))
    assert (y.shape, y.dtype) == ((2, 3), F64)
    assert y._cell.state is State.ABSTRACT
    assert y._cell.node.op is OPS["multiply"]


def test_traced_op_is_recorded_too() -> None:
    w = Tensor(2.0, requires_grad=True)
    assert apply(OPS["multiply"], placeholder((), F64), w).requires_grad
    with no_grad():
        assert not apply(OPS["multiply"], placeholder((), F64), w).requires_grad


def test_row_without_a_shape_rule_cannot_be_traced() -> None:
    op = Op("opaque", lambda xp, x: x)
    with pytest.raises(TraceError, match="shape rule, got 'opaque'"):
        apply(op, placeholder((), F64))


# -- what an op costs ------------------------------------------------------------------------------


def blocks_per_op(count: int, requires_grad: bool) -> float:
    """Memory blocks that one op leaves while its result is held."""
    x, y = Tensor(1.5, requires_grad=requires_grad), Tensor(2.5)
    kept = [x * y for _ in range(count)]
    kept.clear()
    gc.collect()
    gc.disable()
    try:
        before = sys.getallocatedblocks()
        kept = [x * y for _ in range(count)]
        after = sys.getallocatedblocks()
    finally:
        gc.enable()
    assert len(kept) == count
    return (after - before) / count


def test_allocations_of_a_recorded_and_of_a_plain_op() -> None:
    """Handle, cell, storage with its copies, metadata and array; Node and History if recorded."""
    assert blocks_per_op(1000, requires_grad=False) <= 9.5
    assert blocks_per_op(1000, requires_grad=True) <= 16.5


def test_large_result_is_made_once_and_not_copied() -> None:
    """Beside NumPy's own work an op on 10^5 elements costs what one on a single element does."""
    x = Tensor(np.linspace(0.1, 1.0, 10**5), requires_grad=True)
    tracemalloc.start()
    try:
        for op in (lambda: x.sin(), lambda: x * x, lambda: 2.0 * x, lambda: -x):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            made = op()
            assert tracemalloc.get_traced_memory()[1] - before < 1.01 * 8 * 10**5
            del made
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("operand", "number"),
    [([1], 2**70), (np.uint8([1]), 300), ([1.0], 10**400), (np.uint8([1]), -1)],
)
def test_number_that_does_not_fit_is_refused(operand: object, number: int) -> None:
    with pytest.raises(DTypeError, match="numbers that fit its operands' dtype"):
        Tensor(operand) + number


def test_float_beyond_single_precision_is_infinite() -> None:
    assert (Tensor([1.0], dtype=F32) + 1e300).tolist() == [np.inf]
