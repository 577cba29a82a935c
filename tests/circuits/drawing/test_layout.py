from __future__ import annotations

import numpy as np
import pytest
from gate_rows import controls_of, every_row, payload_of, size_of

from circuits import Circuit, Input, Parameter
from circuits.drawing.layout import CROSS, Box, Element, Source, folded, layout_of
from circuits.gate_row import Gate

THETA = Parameter(0.3, name="theta")


def element(circuit: Circuit) -> Element:
    """The only element of a circuit's drawing."""
    ((found,),) = layout_of(circuit).columns
    return found


def appended(row: Gate, *, more: int = 0) -> Circuit:
    """A circuit with one gate, on wires from the last one down, and ``more`` controls."""
    own = controls_of(row) + size_of(row)
    wires = list(range(own + more))[::-1]
    names = [Parameter(0.1, name=name) for name in row.params]
    return Circuit(own + more).append(
        row.name, wires[more:], names, payload=payload_of(row), controls=wires[:more]
    )


@every_row
@pytest.mark.parametrize("more", [0, 2])
def test_every_gate_shows_its_wires_symbol_and_angles(row: Gate, more: int) -> None:
    if size_of(row) + controls_of(row) + more == 0:
        assert layout_of(appended(row)).heading == ["global phase: theta"]
        return
    circuit = appended(row, more=more)
    found = element(circuit)
    (instruction,) = circuit
    assert found.controls == tuple((q, True) for q in instruction.controls)
    boxed = [q for box in found.boxes for q in range(box.low, box.high + 1)]
    assert sorted([*boxed, *found.flips, *found.crosses]) == sorted(instruction.targets)
    texts = [box.label for box in found.boxes] or [found.note or row.symbol]
    for text in texts:
        assert text.startswith(row.symbol)
        assert all(name in text for name in row.params)
    assert (row.symbol == CROSS) == bool(found.crosses)


def test_gates_stand_in_the_first_free_column() -> None:
    circuit = Circuit(4).h(0).h(3).cx(1, 2).x(0).cx(0, 3).z(1)
    columns = [[e.wires for e in column] for column in layout_of(circuit).columns]
    assert columns == [[(0, 0), (3, 3), (1, 2)], [(0, 0)], [(0, 3)], [(1, 1)]]


def test_controls_show_what_they_must_hold() -> None:
    found = element(Circuit(4).append("x", [0], controls=[1, 3, 2], ctrl_state="011"))
    assert found == Element(controls=((1, True), (3, True), (2, False)), flips=(0,))


def test_flip_without_controls_is_a_box() -> None:
    assert element(Circuit(1).x(0)).boxes == (Box(0, 0, "X", marks=("",)),)


@pytest.mark.parametrize(
    ("circuit", "marks"),
    [
        (Circuit(2).rxx(0.1, 0, 1), [("", "")]),
        (Circuit(2).rzx(0.1, 0, 1), [("Z", "X")]),
        (Circuit(2).rzx(0.1, 1, 0), [("X", "Z")]),
        (Circuit(3).iswap(2, 0), [("1",), ("0",)]),
        (Circuit(4).pauli_rotation(0.1, "XYZ", [0, 1, 3]), [("Z", "Y"), ("X",)]),
        (Circuit(1).pauli("Y", [0]), [("Y",)]),
        (Circuit(3).unitary(np.eye(8), [2, 0, 1]), [("1", "2", "0")]),
    ],
)
def test_marks_tell_targets_apart(circuit: Circuit, marks: list[tuple[str, ...]]) -> None:
    assert [box.marks for box in element(circuit).boxes] == marks


def test_source_says_what_the_angles_are_made_of() -> None:
    x = Input("x", 1)
    circuit = Circuit(1).rx(0.1, 0).rx(x[0], 0).rx(THETA * x[0], 0).rx(2 * THETA, 0).h(0)
    sources = [e.source for column in layout_of(circuit).columns for e in column]
    expected = [Source.FIXED, Source.INPUTS, Source.PARAMETERS, Source.PARAMETERS, Source.FIXED]
    assert sources == expected


def test_global_phases_are_listed_in_the_heading() -> None:
    circuit = Circuit(1, name="name").global_phase(0.5).global_phase(-THETA)
    assert layout_of(circuit).heading == ["name", "global phase: 0.5 + -theta"]


@pytest.mark.parametrize(
    ("widths", "room", "rows"),
    [
        ([], 5, [slice(0, 0)]),
        ([2, 2, 2], 0, [slice(0, 3)]),
        ([2, 2, 2], 4, [slice(0, 2), slice(2, 3)]),
        ([9, 1], 4, [slice(0, 1), slice(1, 2)]),
    ],
)
def test_folded(widths: list[int], room: int, rows: list[slice]) -> None:
    assert folded(widths, room) == rows
