"""Programs with numbered values, shapes and last uses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from runtimes import SPLIT, chain

import autodiff as ad
from autodiff import F32, F64, Parameter, Program, Tensor, TraceError
from autodiff.program import Instruction
from autodiff.runtime.listing import Listing, list_values


def listed(program: Program) -> Listing:
    return list_values(program, [(slot.shape, slot.dtype) for slot in program.slots])


def test_values_are_slots_then_constants_then_results() -> None:
    program = Program.trace(lambda x, y: (x * np.ones(3) + 2.0, y), ((3,), F64), ((), F64))
    listing = listed(program)
    assert (listing.slots, listing.constants) == (range(2), range(2, 4))
    assert [line.operands for line in listing.lines] == [(0, 2), (4, 3)]
    assert [line.results for line in listing.lines] == [range(4, 5), range(5, 6)]
    assert listing.outputs == (5, 1)
    assert listing.metas[5] == ((3,), F64)


def test_shapes_follow_from_the_actual_inputs() -> None:
    listing = list_values(chain("sin", "exp"), [((3,), F32)])
    assert listing.metas == (((3,), F32),) * 3


def test_users_and_drops() -> None:
    listing = listed(SPLIT)  # 0 -sin-> 1 -cos-> 2, 1 + 2 -> 3
    assert [line.op.name for line in listing.lines] == ["sin", "cos", "add"]
    assert listing.users == ((0,), (1, 2), (2,), ())
    assert listing.drops == ((0,), (), (1, 2))


def test_output_is_never_dropped_and_an_unread_result_at_once() -> None:
    both = ad.custom_op(
        "both", lambda xp, x: (x + 1, x * 2), None, lambda meta: (meta, meta), outputs=2
    )
    program = Program.trace(lambda x: (lambda y: (y, y + 1))(both(x)[0]), ((2,), F64))
    assert listed(program).constants == range(1, 2)
    assert listed(program).drops == ((0, 3), (1,))


def test_numbers_travel_and_arrays_enter() -> None:
    program = Program.trace(lambda x, unused: x * 2.0 + np.ones(3), ((3,), F64), ((), F64))
    listing = listed(program)
    assert listing.numbers == {2}
    assert listing.entering == [0, 3]


def test_input_that_is_returned_enters() -> None:
    assert listed(Program.trace(lambda x, y: y, ((), F64), ((), F64))).entering == [1]


def test_root_is_the_users_last_instruction_before_the_first_output() -> None:
    program = chain("sin", "cos", "exp")
    *rest, last = program.instructions
    made = replace(program, instructions=(*rest, replace(last, compiler_made=True)))
    root = listed(made).root
    assert root is not None
    assert (root.index, root.op.name) == (1, "cos")
    everything = tuple(replace(i, compiler_made=True) for i in program.instructions)
    assert listed(replace(program, instructions=everything)).root is None
    assert listed(Program.trace(lambda x: x, ((), F64))).root is None


def test_op_without_a_shape_rule_is_refused() -> None:
    opaque = ad.custom_op("opaque", lambda xp, x: x, lambda gs, outs, ins: gs)
    program = Program.capture([opaque(Parameter(1.0))], lambda x: True, lambda x: ValueError())
    with pytest.raises(TraceError, match="shape rule, got 'opaque'"):
        listed(program)


def test_saved_output_of_an_op_is_a_value() -> None:
    saves = ad.custom_op(
        "saves",
        lambda xp, x: (x * x, 2 * x),
        lambda gs, outs, ins: gs[0] * outs[1],
        lambda meta: (meta, meta),
        outputs=1,
        reads_outputs=True,
    )
    program = Program.trace(lambda x: ad.value_and_grad(saves)(x), ((), F64))
    assert isinstance(program.instructions[0], Instruction)
    listing = listed(program)
    assert listing.lines[0].results == range(listing.constants.stop, listing.constants.stop + 2)
    assert [x.item() for x in program.run([Tensor(3.0)])] == [9.0, 6.0]
