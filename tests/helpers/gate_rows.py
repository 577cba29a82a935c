"""The rows of the gate table with operands for each, for tests that walk the table."""

from __future__ import annotations

from typing import Any

import dense
import numpy as np
import pytest
from numpy.typing import NDArray

from circuits.gate_row import Gate, Payload
from circuits.gates import GATES
from circuits.lowering import lower
from circuits.plan.steps import Plan

ROWS = list(GATES.values())
every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
every_function_row = pytest.mark.parametrize(
    "row", [row for row in ROWS if row.function is not None], ids=lambda row: row.name
)


def rng_of(row: Gate) -> np.random.Generator:
    """A generator that depends on the row only."""
    return np.random.default_rng(ROWS.index(row))


def size_of(row: Gate) -> int:
    """Number of targets: the row's, or 3 where any number goes."""
    return 3 if row.num_qubits is None else row.num_qubits


def controls_of(row: Gate) -> int:
    """Number of controls: the row's, or 3 where any number goes."""
    return 3 if row.num_controls is None else row.num_controls


def angles_of(row: Gate) -> list[float]:
    """Random angles in radians."""
    angles: list[float] = rng_of(row).uniform(-3, 3, len(row.params)).tolist()
    return angles


def payload_of(row: Gate) -> Any:
    """A random payload, where the row takes one."""
    rng, size = rng_of(row), size_of(row)
    dim = 1 << size
    gaussian = rng.normal(size=(dim, dim)) + 1j * rng.normal(size=(dim, dim))
    return {
        None: None,
        Payload.MATRIX: np.linalg.qr(gaussian)[0],
        Payload.DIAGONAL: np.exp(1j * rng.normal(size=dim)),
        Payload.IMAGES: rng.permutation(dim),
        Payload.PATTERN: np.array([2, 0, 1]),
        Payload.LABEL: "ZIY",
    }[row.payload]


def base_matrix(row: Gate, angles: Any, payload: Any = None) -> NDArray[np.complex128]:
    """Matrix of a gate on its targets, without controls."""
    size = payload_size(payload) if row.num_qubits is None else size_of(row)
    steps = lower(row, range(size), angles=angles, payload=payload)
    return dense.plan_matrix(Plan(size, steps, 0), np.zeros(0))


def payload_size(payload: Any) -> int:
    """Number of targets of the payloads of ``payload_of``, and of their adjoints."""
    return len(payload) if len(payload) == 3 else len(payload).bit_length() - 1
