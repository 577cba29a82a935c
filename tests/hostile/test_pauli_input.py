"""Whatever is given for a Pauli sum: an observable or the project's own error, bounded."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limits import limited
from strategies import JSON, NUMBERS

from circuits import (
    Circuit,
    CircuitError,
    ObservableError,
    Parameter,
    PauliSum,
    PauliWord,
    Projector,
    QubitError,
    Z,
)
from circuits.observable_base import Observable

LABELS = st.one_of(
    st.text("IXYZ", max_size=4), st.text("IXYZ", min_size=3, max_size=3), st.text(max_size=4), JSON
)
COEFFICIENTS = st.one_of(NUMBERS, st.complex_numbers(), JSON)
QUBITS = st.one_of(st.integers(0, 3), NUMBERS, JSON)


def check(make: Callable[[], Observable]) -> None:
    """What is made can be used, and prints in bounded length."""
    with limited(), suppress(CircuitError):
        made = make()
        assert len(repr(made)) < 4000
        assert (made - made).simplify().num_terms == 0
        width = made.width or 3
        if width <= 6:
            with suppress(CircuitError):
                value = Circuit(width).expectation(made, engine="reference").item()
                assert math.isfinite(value)


@settings(max_examples=200)
@given(st.lists(st.tuples(LABELS, COEFFICIENTS), max_size=4))
def test_pairs(pairs: list[tuple[Any, Any]]) -> None:
    check(lambda: PauliSum.from_list(pairs))


@settings(max_examples=100)
@given(JSON)
def test_anything_in_the_place_of_terms(terms: Any) -> None:
    check(lambda: PauliSum(terms))
    check(lambda: PauliSum.from_list(terms))


@settings(max_examples=200)
@given(st.dictionaries(st.one_of(st.integers(0, 3), NUMBERS, st.text()), LABELS, max_size=3))
def test_letters_by_qubit(letters: dict[Any, Any]) -> None:
    check(lambda: PauliWord(letters))


@settings(max_examples=200)
@given(LABELS, QUBITS)
def test_projectors(bits: Any, qubits: Any) -> None:
    check(lambda: Projector(bits, qubits))


@settings(max_examples=200)
@given(COEFFICIENTS)
def test_factors(factor: Any) -> None:
    check(lambda: factor * Z(0))


@pytest.mark.parametrize("qubit", [10**9, 2**63, 10**30])
def test_absurd_qubit_is_refused_at_once(qubit: int) -> None:
    with limited(1 << 26, seconds=0.5), pytest.raises(QubitError, match="qubit"):
        Z(qubit)


@pytest.mark.parametrize("value", [10**400, Fraction(10**400), -(10**400)])
def test_number_beyond_the_floats_is_refused(value: Any) -> None:
    with pytest.raises(ObservableError, match="a coefficient needs a finite number"):
        PauliSum({"Z": value})


@pytest.mark.parametrize("value", [math.nan, math.inf, complex(0, math.nan), np.float32("inf")])
def test_coefficient_that_is_not_finite_is_refused(value: Any) -> None:
    with pytest.raises(ObservableError, match="a coefficient needs a finite number"):
        PauliSum({"Z": value})


def test_smallest_number_is_a_coefficient() -> None:
    observable = PauliSum({"Z": 5e-324})
    assert Circuit(1).expectation(observable).item() == 5e-324
    assert Circuit(1).expectation(Parameter(5e-324) * Z(0)).item() == 5e-324


def test_label_as_long_as_memory_is_printed_short() -> None:
    with limited(seconds=5.0):
        observable = PauliSum({"Z" * 100_000: 1.0})
        assert len(repr(observable)) < 200_000
        with pytest.raises(ObservableError, match="qubits"):
            Circuit(2).expectation(observable)
