"""What a gate table refuses, and that one row is enough for a new gate."""

from __future__ import annotations

from dataclasses import replace

import dense
import numpy as np
import pytest
from gate_rows import ROWS

from circuits import gate_matrices as gm
from circuits.errors import GateError
from circuits.gate_row import Gate, build_table
from circuits.gates import gate
from circuits.lowering import Slot, lower
from circuits.plan.steps import Plan, Structure

GOOD = Gate("mine", "a test", Structure.ROTATION, 2, ("theta",), word="XY", aliases=("my",))


def test_one_row_adds_a_gate() -> None:
    table, names = build_table([*ROWS, GOOD])
    assert names["my"] == "mine"
    (step,) = lower(table["mine"], [1, 0], angles=[Slot(0)])
    actual = dense.plan_matrix(Plan(2, (step,), 1), np.array([0.7]))
    word = np.kron(gm.X, gm.Y)
    expected = np.cos(0.35) * np.eye(4) - 1j * np.sin(0.35) * word
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-15)
    assert table["mine"].frequencies(0, controlled=True) == (0.5, 1.0)


TURN = replace(gate("u"), name="mine", inverse="", aliases=())
H = replace(gate("h"), name="mine", inverse="", aliases=())


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (replace(GOOD, name="rx"), "names of its own, got 'rx', which is 'rx' already"),
        (replace(GOOD, aliases=("cnot",)), "names of its own, got 'cnot', which is 'cx' already"),
        (replace(GOOD, base="nothing"), "needs a base in the table"),
        (replace(GOOD, inverse="nothing"), "needs an inverse in the table"),
        (replace(GOOD, inverse=None), "needs an inverse, as it has angles or a payload"),
        (replace(GOOD, word=None), "needs exactly one of word"),
        (replace(GOOD, matrix=gm.H), "needs exactly one of word"),
        (replace(GOOD, num_qubits=None), "needs either a payload or a number of qubits"),
        (replace(GOOD, word="XYZ"), "needs one letter a qubit"),
        (replace(TURN, spectra=TURN.spectra[:2]), "needs one spectrum an angle"),
        (
            replace(TURN, derivative=None, spectra=((0.5, 1.0), *TURN.spectra[1:])),
            "needs spectra of the form -w, 0, w",
        ),
        (replace(H, num_qubits=2), r"needs an array of shape \(4, 4\)"),
        (replace(H, structure=Structure.DIAGONAL), r"needs an array of shape \(2,\)"),
    ],
)
def test_inconsistent_rows_are_refused(row: Gate, problem: str) -> None:
    with pytest.raises(GateError, match=problem):
        build_table([*ROWS, row])
