"""What instructions point into: vectors, conditions, sources and constraints."""

from __future__ import annotations

import pytest

from circuits.engines import instructions as gates
from circuits.engines import numba_kernels_tables as tables
from circuits.engines.numba_columns import Columns
from circuits.engines.numba_instructions import Place, Writer
from circuits.plan.blocks import Constant, Slot
from circuits.plan.fusion import fuse
from circuits.plan.steps import Plan


@pytest.fixture
def writer() -> Writer:
    fused = fuse(Plan(4, (), 2))
    places = [Place(1, 1), Place(flip=1, mask=0b01), Place(flip=2, mask=0b10), Place(base=4)]
    return Writer(fused, Columns.place(fused), places, 2)


def test_conditions_are_of_rows_lanes_and_base(writer: Writer) -> None:
    rows, lanes, mask, value = writer._conditions(((0, 1), (2, 0), (3, 1)))
    assert (rows, lanes, mask, value) == ([(0b10, 0)], [0.0, 1.0], 4, 4)


def test_masks_of_wires_are_joined(writer: Writer) -> None:
    found = writer._joined(0b1111)
    assert (found.lanes, found.signs) == (1, 1)
    assert (found.flip, found.mask, found.base) == (0b11, 0b11, 4)


def test_signs_of_lanes(writer: Writer) -> None:
    assert writer._lane_signs(1) == [1.0, -1.0]
    assert writer._lane_signs(1, shift=1) == [-1.0, 1.0]


def test_sources_are_angles_or_numbers(writer: Writer) -> None:
    assert writer._source(Slot(1, 0)) == (tables.ABOUT_X, 1, 0)
    assert writer._source(Constant((0.6, 0.8))) == (tables.CONSTANT, 0, 0)
    assert writer.numbers == [0.6, 0.8]


def test_constraints_are_reduced_and_fields_named(writer: Writer) -> None:
    writer._write(gates.PHASE, [(0b11, 0), (0b10, 1)], 3, 1, (Slot(1),), SIGN=5)
    (op,) = writer.ops
    assert writer.items == [1, 1, 1, 2, 2, 1]
    assert (op[gates.COUNT], op[gates.SIGN], op[gates.LIVE]) == (2, 5, 0)
    assert (writer.coefficients, writer.environments, writer.slots) == (3, 1, [(1,)])
