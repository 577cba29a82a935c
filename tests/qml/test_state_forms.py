"""Saved data of another form is named and refused; equal forms pass whatever their values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qml.errors import StateDictError
from qml.state_forms import (
    check_array,
    check_form,
    check_list,
    check_mapping,
    checked_generator,
    is_same,
)

OWN = {"step": 1, "lr": 0.5, "on": True, "name": "a", "none": None, "x": np.zeros(2), "l": [1, 2]}


def test_other_values_of_the_same_form_pass() -> None:
    given = {**OWN, "step": np.int64(7), "lr": 3, "x": np.ones(2, np.float32), "l": (3, 4)}
    check_form("the state", given, OWN)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"step": 1.0}, r"\['step'\] needs an integer, got 1.0"),
        ({"step": True}, "an integer, got True"),
        ({"lr": "0.5"}, "a number, got '0.5'"),
        ({"lr": 1j}, "a number, got 1j"),
        ({"on": 1}, "a bool, got 1"),
        ({"name": None}, "a str, got None"),
        ({"none": 0}, "None, got 0"),
        ({"x": [0.0, 0.0]}, r"an array of shape \(2,\) and dtype float64"),
        ({"x": np.zeros((2, 1))}, r"got shape \(2, 1\), dtype float64"),
        ({"x": np.zeros(2, complex)}, "dtype complex128"),
        ({"l": [1]}, "a list of 2"),
        ({"l": {"0": 1, "1": 2}}, "a list of 2"),
        ({"l": [1, "x"]}, r"\['l'\]\[1\] needs an integer"),
        ({"more": 1}, "the entries"),
    ],
)
def test_other_form_is_named(change: dict[str, Any], match: str) -> None:
    with pytest.raises(StateDictError, match=f"the state.*{match}"):
        check_form("the state", {**OWN, **change}, OWN)


@pytest.mark.parametrize(
    ("check", "given", "match"),
    [
        (check_mapping, [], "a mapping with text keys"),
        (check_mapping, {1: 2}, "a mapping with text keys"),
        (check_list, {}, "a list"),
        (lambda what, x: check_array(what, x, (), np.float64), 1.0, "an array"),
    ],
)
def test_kinds(check: Any, given: Any, match: str) -> None:
    with pytest.raises(StateDictError, match=f"the part needs {match}"):
        check("the part", given)


def test_same_values_have_the_same_form() -> None:
    assert is_same({"a": [1, 2.0]}, {"a": [1, 2.0]})
    for other in ({"a": [1, 3.0]}, {"a": [1]}, {"b": 1}, np.zeros(3), None):
        assert not is_same(other, {"a": [1, 2.0]})


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937, np.random.Philox])
def test_generator_is_a_new_one_in_the_saved_state(kind: Any) -> None:
    saved, own = np.random.Generator(kind(1)), np.random.Generator(kind(2))
    before = repr(own.bit_generator.state)
    found = checked_generator("the state", saved.bit_generator.state, own)
    assert found.random(3).tolist() == saved.random(3).tolist()
    assert repr(own.bit_generator.state) == before
    for state in (None, {}, np.random.SFC64(0).state, {**own.bit_generator.state, "state": -1}):
        with pytest.raises(StateDictError, match="the state"):
            checked_generator("the state", state, own)
    assert repr(own.bit_generator.state) == before


def test_numbers_that_a_generator_cannot_hold_are_refused() -> None:
    own = np.random.default_rng(0)
    state = own.bit_generator.state
    state["state"]["inc"] = -1
    with pytest.raises(StateDictError, match="needs the state of a PCG64"):
        checked_generator("the state", state, own)
