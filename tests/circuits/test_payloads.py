"""What payloads are accepted, and what the refusals say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gate_rows import every_row, payload_of, size_of

from circuits.errors import GateError
from circuits.gate_row import Gate
from circuits.gates import gate
from circuits.payloads import checked_payload


@every_row
def test_good_payload_is_copied_and_read_only(row: Gate) -> None:
    payload = payload_of(row)
    checked = checked_payload(row, payload, size_of(row))
    np.testing.assert_array_equal(checked, payload)
    if isinstance(payload, np.ndarray):
        assert not np.shares_memory(checked, payload)
        assert not checked.flags.writeable


def test_single_precision_unitaries_are_accepted() -> None:
    matrix = np.array([[1, 1], [1, -1]], np.float32) / np.float32(np.sqrt(2))
    assert checked_payload(gate("unitary"), matrix, 1).dtype == np.complex128


@pytest.mark.parametrize(
    ("name", "payload", "size", "problem"),
    [
        ("h", [[1, 0], [0, 1]], 1, "h needs no matrix or label"),
        ("unitary", np.eye(2), 2, r"shape \(4, 4\) with finite numbers, got shape \(2, 2\)"),
        ("unitary", [[1, 0], [0, 2]], 1, "needs a unitary matrix, got one with .* up to 3.0e"),
        ("unitary", [[1, 0], [0, np.nan]], 1, "with finite numbers"),
        ("unitary", [["a", "b"], ["c", "d"]], 1, "with finite numbers, got shape .* dtype <U1"),
        ("unitary", None, 1, r"unitary needs a matrix of shape \(2, 2\)"),
        ("diagonal", [1, 1, 1], 1, r"a diagonal of shape \(2,\)"),
        ("diagonal", [1, 0.5], 1, "needs entries of modulus 1, got a modulus that is off by 5.0e"),
        ("permutation", [0, 0], 2, r"every integer from 0 to 1 once, got \[0, 0\]"),
        ("permutation", [0, 1.0], 2, "every integer from 0 to 1 once"),
        ("permutation", [0, 1, 2, 3], 2, r"a qubit pattern of shape \(2,\)"),
        ("basis_permutation", [1, 0], 2, r"images of shape \(4,\)"),
        ("pauli", "XQ", 2, "a label of 2 letters I, X, Y or Z, one a qubit, got 'XQ'"),
        ("pauli_rotation", "X", 2, "a label of 2 letters"),
        ("pauli", 3, 1, "a label of 1 letters .* got 3"),
    ],
)
def test_bad_payload_is_refused(name: str, payload: Any, size: int, problem: str) -> None:
    with pytest.raises(GateError, match=problem):
        checked_payload(gate(name), payload, size)
