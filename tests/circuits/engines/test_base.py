"""Which gradients a call wants, precisions and batch sizes."""

from __future__ import annotations

import numpy as np
import pytest

from circuits.engines.base import Wanted, check_batch, own_states, swept_samples


@pytest.mark.parametrize(
    ("angles", "any_slot", "by_slot"),
    [
        (True, True, [True, True]),
        (False, False, [False, False]),
        ((False, True), True, [False, True]),
        ((False, False), False, [False, False]),
    ],
)
def test_wanted_slots(angles: bool | tuple[bool, ...], any_slot: bool, by_slot: list[bool]) -> None:
    wanted = Wanted(angles=angles)
    assert wanted.slots is any_slot
    assert [wanted.wants_slot(slot) for slot in range(2)] == by_slot


def test_batch_is_that_of_the_largest_operand() -> None:
    assert check_batch([np.zeros((1, 2)), None, np.zeros((5, 1))]) == 5
    assert check_batch([]) == 1


def test_samples_of_a_reverse_call_are_those_of_what_it_starts_from() -> None:
    assert swept_samples(np.zeros((3, 4), complex), None) == 3
    assert swept_samples(None, np.zeros((6, 2))) == 6


def test_samples_take_states_in_turn() -> None:
    states = np.array([[1.0, 2.0], [3.0, 4.0]]) + 0j
    assert own_states(states, 2) is states
    assert own_states(states, 6)[:, 1].tolist() == [2, 4, 2, 4, 2, 4]
