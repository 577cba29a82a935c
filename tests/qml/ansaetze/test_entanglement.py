from __future__ import annotations

import pytest

from qml.ansaetze.entanglement import PATTERNS, entangled_pairs
from qml.errors import SettingError

WANTED = {
    ("linear", 4): [(0, 1), (1, 2), (2, 3)],
    ("ring", 4): [(0, 1), (1, 2), (2, 3), (3, 0)],
    ("ring", 2): [(0, 1)],
    ("full", 4): [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
    ("pairwise", 4): [(0, 1), (2, 3), (1, 2)],
    ("pairwise", 5): [(0, 1), (2, 3), (1, 2), (3, 4)],
}


@pytest.mark.parametrize(("pattern", "num_qubits"), WANTED)
def test_pairs_in_order(pattern: str, num_qubits: int) -> None:
    assert entangled_pairs("x", pattern, num_qubits) == WANTED[pattern, num_qubits]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_one_qubit_has_no_pairs(pattern: str) -> None:
    assert entangled_pairs("x", pattern, 1) == []


def test_unknown_pattern_is_refused() -> None:
    with pytest.raises(SettingError, match="x needs one of linear, ring, full, pairwise, got 'a'"):
        entangled_pairs("x", "a", 3)
