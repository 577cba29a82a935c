"""custom_op: rows of the user's own."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import F64, GradientError, Program, Tensor, custom_op, gradcheck
from autodiff.node import Op
from autodiff.table import FUNCTIONS, OPS


def cube(**flags: object) -> object:
    return custom_op(
        "cube",
        lambda xp, x: x**3,
        lambda gs, outs, ins: gs[0] * (3 * ins[0] ** 2).conj(),
        lambda x: (x,),
        **flags,
    )


def test_op_is_differentiable() -> None:
    assert gradcheck(cube(), Tensor([0.5, 1.5]), order=2)
    assert gradcheck(cube(), Tensor([0.5 + 1j, 1.5]), order=2)


def test_row_is_an_op_that_stands_in_no_table() -> None:
    for _ in range(2):  # a notebook cell that is run again
        y = cube()(Tensor(2.0, requires_grad=True))
        assert type(y._meta.history.node.op) is Op
    assert "cube" not in OPS
    assert "cube" not in FUNCTIONS


def test_function_has_name_and_docstring() -> None:
    assert cube().__name__ == "cube"
    assert cube().__doc__ == "Run the custom op cube."
    assert cube(doc="Return x**3.").__doc__ == "Return x**3."


def test_op_can_be_traced() -> None:
    program = Program.trace(cube(), ((2,), F64))
    assert program.run([Tensor([1.0, 2.0])])[0].tolist() == [1.0, 8.0]


def test_attrs_reach_forward_and_rule() -> None:
    scale = custom_op("scale", lambda xp, x, by: x * by, lambda gs, outs, ins, by: gs[0] * by)
    x = Tensor(2.0, requires_grad=True)
    y = scale(x, by=3.0)
    y.backward()
    assert (y.item(), x.grad.item()) == (6.0, 3.0)


def test_numbers_and_arrays_are_lifted() -> None:
    assert cube()(2.0).item() == 8.0
    assert cube()(np.array([2.0])).tolist() == [8.0]


MEMORY = np.array([1.0, 2.0])


@pytest.mark.parametrize(
    "forward",
    [lambda xp, x: MEMORY, lambda xp, x: MEMORY[:], lambda xp, x: (MEMORY, x)],
    ids=["array", "view", "tuple"],
)
def test_result_shares_no_memory_with_the_user(forward: object) -> None:
    x = Tensor([5.0, 6.0])
    made = custom_op("mine", forward, None, outputs=1)(x)
    for array in (MEMORY, x.numpy()):
        assert not np.shares_memory(made.numpy(), array)
    assert MEMORY.flags.writeable


def test_several_outputs_and_saved_ones() -> None:
    def forward(xp: object, x: np.ndarray) -> tuple[np.ndarray, ...]:
        return np.sin(x), np.cos(x), np.array(7.0)

    def rule(gs: object, outs: object, ins: object) -> Tensor:
        assert outs[2].item() == 7.0
        parts = [gs[0] * outs[1] if gs[0] is not None else 0, gs[1] * -outs[0] if gs[1] else 0]
        return parts[0] + parts[1]

    op = custom_op("sincos", forward, rule, outputs=2, reads_outputs=True)
    assert len(op(0.3)) == 2
    assert gradcheck(lambda x: op(x), Tensor(0.3), order=2)


def test_outputs_are_empty_unless_asked_for() -> None:
    seen = []

    def rule(gs: object, outs: object, ins: object) -> Tensor:
        seen.append(len(outs))
        return gs[0]

    for flag in (False, True):
        op = custom_op("same", lambda xp, x: x, rule, reads_outputs=flag)
        op(Tensor(1.0, requires_grad=True)).backward()
    assert seen == [0, 1]


def test_op_without_a_rule_gives_results_without_gradients() -> None:
    op = custom_op("floor", lambda xp, x: xp.floor(x), None)
    assert not op(Tensor(1.5, requires_grad=True)).requires_grad


@pytest.mark.parametrize("answer", [1.0, np.ones(()), [1.0], (np.ones(()),), None])
def test_rule_that_gives_no_tensors_is_named(answer: object) -> None:
    op = custom_op("raw", lambda xp, x: x, lambda gs, outs, ins: answer)
    x = Tensor(1.0, requires_grad=True)
    with pytest.raises(GradientError, match="the rule of raw needs to give one Tensor"):
        op(x).backward()
    assert x.grad is None


def test_rule_may_answer_none_for_zero() -> None:
    op = custom_op("first", lambda xp, x, y: x + 0 * y, lambda gs, outs, ins: [gs[0], None])
    x, y = Tensor(1.0, requires_grad=True), Tensor(2.0, requires_grad=True)
    op(x, y).backward()
    assert (x.grad.item(), y.grad) == (1.0, None)


def test_unknown_flag_is_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        cube(colour="red")
