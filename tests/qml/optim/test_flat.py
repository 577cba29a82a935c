from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autodiff import (
    C64,
    C128,
    F32,
    F64,
    Parameter,
    StorageBusy,
    Tensor,
    reset_stats,
    stats,
)
from autodiff.backends.interface import Array
from qml.optim.flat import Formula, Group, Work, group_parameters

SLOTS = {"moment": False, "square": True}


def with_gradient(data: object, dtype: object = None) -> Parameter:
    parameter = Parameter(data, dtype=dtype)
    parameter.grad = Tensor(2 * parameter.numpy())
    return parameter


def step(group: Group, chosen: np.ndarray, rule: Formula) -> Work:
    """Update the chosen by a formula and return what it was given."""
    seen: list[Work] = []

    def formula(work: Work) -> Array:
        seen.append(replace(work, state=dict(work.state)))
        return rule(work)

    group.update(chosen, group.operands(chosen), formula)
    return seen[0]


def unchanged(work: Work) -> Array:
    return work.values


def remember(work: Work) -> Array:
    """Keep the gradients as the moment, and change the sign."""
    work.state["moment"] = work.grads
    return -work.values


def all_of(group: Group) -> np.ndarray:
    return np.ones(len(group.parameters), bool)


def test_groups_are_those_of_one_dtype_in_order() -> None:
    parameters = [Parameter(1.0), Parameter(1.0, dtype=F32), Parameter([2.0]), Parameter(1j)]
    groups = group_parameters(parameters, SLOTS)
    assert [len(group.parameters) for group in groups] == [2, 1, 1]
    assert groups[0].parameters[1] is parameters[2]


@pytest.mark.parametrize(("dtype", "square"), [(F32, F32), (F64, F64), (C64, F32), (C128, F64)])
def test_state_has_the_parameters_dtype_or_its_real_one(dtype: object, square: object) -> None:
    (group,) = group_parameters([Parameter([1.0, 2.0], dtype=dtype)], SLOTS)
    assert group.state["moment"].dtype == dtype
    assert group.state["square"].dtype == square


def test_elements_stand_one_after_the_other() -> None:
    group = Group([with_gradient(1.0), with_gradient([[2.0, 3.0], [4.0, 5.0]])], SLOTS)
    work = step(group, all_of(group), unchanged)
    assert work.values.tolist() == [1, 2, 3, 4, 5]
    assert work.grads.tolist() == [2, 4, 6, 8, 10]
    assert work.steps.tolist() == [1, 1]
    assert work.sizes.tolist() == [1, 4]
    assert group.part(1) == slice(1, 5)


def test_update_sets_values_state_and_steps_of_the_chosen_only() -> None:
    first, second, third = with_gradient(1.0), with_gradient([2.0, 3.0]), with_gradient(4.0)
    group = Group([first, second, third], SLOTS)
    chosen = np.array([True, False, True])
    assert step(group, chosen, remember).state["moment"].tolist() == [0, 0]
    assert (first.item(), second.tolist(), third.item()) == (-1.0, [2.0, 3.0], -4.0)
    assert group.state["moment"].tolist() == [2, 0, 0, 8]
    assert group.steps.tolist() == [1, 0, 1]


def test_forget_resets_state_and_steps_of_the_chosen_only() -> None:
    group = Group([with_gradient(1.0), with_gradient([2.0, 3.0])], SLOTS)
    step(group, all_of(group), remember)
    group.forget(np.array([False, True]))
    assert group.state["moment"].tolist() == [2, 0, 0]
    assert group.steps.tolist() == [1, 0]


def test_parameter_on_a_view_writes_its_own_elements() -> None:
    base = Tensor([1.0, 2.0, 3.0, 4.0])
    odd = Parameter(base[1::2])
    odd.grad = Tensor([1.0, 1.0])
    group = Group([odd], {})
    step(group, all_of(group), lambda work: 10 * work.values)
    assert base.tolist() == [1.0, 20.0, 3.0, 40.0]


def test_array_handed_out_before_a_step_stays_what_it_was() -> None:
    parameter = with_gradient([1.0, 2.0])
    seen = parameter.numpy()
    group = Group([parameter], {})
    step(group, all_of(group), lambda work: np.array([5.0, 6.0]))
    assert seen.tolist() == [1.0, 2.0]
    assert parameter.tolist() == [5.0, 6.0]


def test_spread_gives_a_number_where_all_agree_and_elements_elsewhere() -> None:
    group = Group([with_gradient(1.0, F32), with_gradient([2.0, 3.0], F32)], {})
    work = step(group, all_of(group), unchanged)
    assert work.spread(np.array([0.5, 0.5])) == 0.5
    spread = work.spread(np.array([0.5, 0.25]))
    assert spread.tolist() == [0.5, 0.25, 0.25]
    assert spread.dtype == F32


def test_operands_of_an_open_storage_is_refused() -> None:
    parameter = with_gradient(1.0)
    group = Group([parameter], {})
    with parameter.storage_mut(), pytest.raises(StorageBusy, match="closed to read it"):
        group.operands(all_of(group))


def test_state_is_saved_and_restored_in_the_parameters_shapes() -> None:
    parameters = [with_gradient(1.0), with_gradient([[2.0, 3.0]])]
    group, other = Group(parameters, SLOTS), Group(parameters, SLOTS)
    step(group, all_of(group), remember)
    saved = [{"step": 4, **group.saved(k)} for k in range(2)]
    assert [entry["moment"].tolist() for entry in saved] == [2.0, [[4.0, 6.0]]]
    other.restore(saved)
    assert (other.state["moment"].tolist(), other.steps.tolist()) == ([2, 4, 6], [4, 4])


def test_update_on_a_device_is_one_launch() -> None:
    parameter = Parameter(Tensor([1.0, 2.0], device="emulated"))
    parameter.grad = Tensor([3.0, 4.0], device="emulated")
    group = Group([parameter], SLOTS)
    reset_stats("emulated")
    step(group, all_of(group), remember)
    assert (stats("emulated").launches, stats("emulated").downloads) == (1, 0)
    assert parameter.tolist() == [-1.0, -2.0]
