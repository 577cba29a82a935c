"""Which pairs of qubits a layer entangles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from types import MappingProxyType

from qml.errors import SettingError

Pairs = list[tuple[int, int]]


def _linear(n: int) -> Pairs:
    return [(q, q + 1) for q in range(n - 1)]


def _ring(n: int) -> Pairs:
    closing = [(n - 1, 0)] if n > 2 else []  # two qubits are neighbours already
    return _linear(n) + closing


def _full(n: int) -> Pairs:
    return list(combinations(range(n), 2))


def _pairwise(n: int) -> Pairs:
    return _linear(n)[0::2] + _linear(n)[1::2]


PATTERNS: Mapping[str, Callable[[int], Pairs]] = MappingProxyType(
    {"linear": _linear, "ring": _ring, "full": _full, "pairwise": _pairwise}
)
"""Pairs by pattern, from the number of qubits: neighbours in order; the same and the last with the
first; every pair; neighbours from even qubits first, then those from odd ones."""


def entangled_pairs(what: str, pattern: str, num_qubits: int) -> Pairs:
    """Return the pairs of a pattern in order.

    Args:
        what: the setting, for messages.
        pattern: a key of ``PATTERNS``.
        num_qubits: how many there are.

    Raises:
        SettingError: an unknown pattern.

    >>> entangled_pairs("entanglement", "ring", 4)
    [(0, 1), (1, 2), (2, 3), (3, 0)]
    """
    if pattern not in PATTERNS:
        raise SettingError(
            f"{what} needs one of {', '.join(PATTERNS)}, got {pattern!r}. Choose one of them."
        )
    return PATTERNS[pattern](num_qubits)
