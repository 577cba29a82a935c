"""The methods that Circuit has for every gate."""

from __future__ import annotations

import doctest
import inspect
from typing import Any

import numpy as np
import pytest
from gate_rows import angles_of, controls_of, every_row, payload_of, size_of

from autodiff import Parameter
from circuits import GATES, Circuit, GateError, QubitError
from circuits.gate_methods import GateMethods, argument_names
from circuits.gate_row import Gate

OWN = {"unitary"}
"""Methods that Circuit defines itself, with more than the table's meaning."""


def arguments_of(row: Gate) -> tuple[list[Any], list[int]]:
    """Arguments for the method, and the qubits for append."""
    controls, size = controls_of(row), size_of(row)
    qubits = list(range(controls + size))[::-1]
    given: list[Any] = angles_of(row)
    if row.payload is not None:
        given.append(payload_of(row))
    if row.num_qubits is None:
        return [*given, qubits], qubits
    if row.num_controls is None:
        return [*given, qubits[:controls], *qubits[controls:]], qubits
    return [*given, *qubits], qubits


@every_row
def test_method_appends_the_row(row: Gate) -> None:
    given, qubits = arguments_of(row)
    expected = Circuit(8).append(row, qubits, angles_of(row), payload=payload_of(row))
    for name in (row.name, *row.aliases):
        assert getattr(Circuit(8), name)(*given) == expected


@every_row
def test_arguments_may_be_named(row: Gate) -> None:
    given, _ = arguments_of(row)
    named = dict(zip(argument_names(row), given, strict=True))
    assert getattr(Circuit(8), row.name)(**named) == getattr(Circuit(8), row.name)(*given)


@every_row
def test_more_controls(row: Gate) -> None:
    given, qubits = arguments_of(row)
    method = getattr(Circuit(10), row.name)
    expected = Circuit(10).append(
        row, qubits, angles_of(row), payload=payload_of(row), controls=[9, 8], ctrl_state=1
    )
    assert method(*given, controls=[9, 8], ctrl_state=1) == expected


@every_row
def test_method_explains_itself(row: Gate) -> None:
    method = getattr(Circuit, row.name)
    if row.name not in OWN:
        assert row.doc in (method.__doc__ or "")
        assert method.__name__ == row.name
        names = list(inspect.signature(method).parameters)
        assert names == ["self", *argument_names(row), "controls", "ctrl_state"]


@every_row
def test_wrong_numbers_of_arguments_are_refused(row: Gate) -> None:
    given, _ = arguments_of(row)
    circuit = Circuit(8)
    if row.name in OWN:
        return
    for wrong in ([*given, 0], given[:-1]):
        if len(wrong) == len(given) - 1 and not given:
            continue
        with pytest.raises(GateError, match=rf"{row.name} needs \(.*Angles come first"):
            getattr(circuit, row.name)(*wrong)
    with pytest.raises(GateError, match="unexpected keyword argument 'frequency'"):
        getattr(circuit, row.name)(*given, frequency=1)
    assert circuit == Circuit(8)


def test_lists_append_one_gate_for_each_entry() -> None:
    p = Parameter(0.1)
    assert Circuit(3).h([0, 2]) == Circuit(3).h(0).h(2)
    assert Circuit(3).rx(p, range(3)).size() == 3
    assert Circuit(3).cx([0, 1], [1, 2]) == Circuit(3).cx(0, 1).cx(1, 2)
    assert Circuit(3).cx(0, [1, 2]) == Circuit(3).cx(0, 1).cx(0, 2)
    assert Circuit(3).h(np.array([1, 0])) == Circuit(3).h(1).h(0)
    assert Circuit(3).h(np.array(1)) == Circuit(3).h(1)
    assert Circuit(3).h([]) == Circuit(3)
    assert Circuit(3).h([1]) == Circuit(3).h(1)


def test_lists_of_several_lengths_are_refused() -> None:
    with pytest.raises(GateError, match=r"cx needs lists of qubits of one length, got \[1, 2\]"):
        Circuit(3).cx([0], [1, 2])


def test_a_bad_entry_appends_nothing() -> None:
    circuit = Circuit(3)
    with pytest.raises(QubitError, match="below 3, got 3"):
        circuit.h([0, 1, 3])
    assert circuit == Circuit(3)


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="foo"):
        Circuit(1).foo(0)


def test_own_methods_come_first() -> None:
    assert {name for name in GATES if name in vars(Circuit)} == set(GATES)
    assert "unitary" in Circuit.unitary.__qualname__
    assert not [name for name in vars(GateMethods) if not name.startswith("__")]


@pytest.mark.parametrize(
    "row", [row for row in GATES.values() if row.name not in OWN], ids=lambda row: row.name
)
def test_docstrings_have_arguments_errors_and_an_example_that_runs(row: Gate) -> None:
    text = getattr(Circuit, row.name).__doc__
    names = argument_names(row)
    assert [name for name in names if f"    {name}: " not in text] == []
    assert "Raises:\n" in text
    found = doctest.DocTestParser().get_doctest(text, {}, row.name, None, None)
    assert doctest.DocTestRunner(verbose=False).run(found).failed == 0
