"""What ansaetze are built with: new Parameters, checked gates, rotations about Pauli words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from autodiff import F32, F64, Parameter
from circuits import GATES, Circuit
from circuits.gate_row import Gate
from circuits.gates import gate as find_gate
from qml.errors import SettingError

Initial = ArrayLike | Callable[[int], ArrayLike]
"""Starting values: P numbers, one number for all, or an initializer, which gets P."""

_ROTATIONS: Mapping[str, str] = MappingProxyType(
    {row.word: row.name for row in GATES.values() if row.word and row.params and not row.base}
)
"""Names of the table's Pauli rotations by word, the first letter on the first qubit."""


def numbered(name: str, count: int) -> list[str]:
    """Return ``name[0]``, ``name[1]``, ...: Qiskit's names of a vector's elements."""
    return [f"{name}[{k}]" for k in range(count)]


def new_parameters(what: str, names: Sequence[str], initial: Initial) -> list[Parameter]:
    """Return scalar Parameters.

    Args:
        what: the function they are for, for messages.
        names: one for each.
        initial: see ``Initial``; float32 values make float32 Parameters.

    Raises:
        SettingError: values that are no real numbers, or not one for each.

    >>> [p.name for p in new_parameters("two", numbered("theta", 2), 0.5)]
    ['theta[0]', 'theta[1]']
    """
    count = len(names)
    values = np.asarray(initial(count) if callable(initial) else initial)
    known = values.dtype.kind in "iuf" and values.shape in ((), (count,))
    if not known or not np.isfinite(values).all():
        raise SettingError(
            f"{what}: initial needs {count} finite real numbers, or one for all, got shape "
            f"{values.shape}, dtype {values.dtype}. Give an array ({count},), or "
            "small_angles(seed=0)."
        )
    dtype = F32 if values.dtype == F32 else F64
    filled = np.broadcast_to(values, (count,)).astype(dtype)
    return [Parameter(value, name=name) for value, name in zip(filled, names, strict=True)]


def layer_gates(what: str, names: str | Sequence[str], num_qubits: int) -> list[Gate]:
    """Return the rows of gates that a layer applies to each qubit, or to each pair.

    Raises:
        GateError: an unknown gate.
        SettingError: a gate of another size, or one that needs a matrix or label.
    """
    listed = [names] if isinstance(names, str) else list(names)
    rows = [find_gate(name) for name in listed]
    for row in rows:
        size = (row.num_qubits or 0) + (row.num_controls or 0)
        if size != num_qubits or row.payload is not None:
            raise SettingError(
                f"{what} needs gates on {num_qubits} qubit{'s' * (num_qubits > 1)}, got "
                f"{row.name!r}. Choose one such as {'rx' if num_qubits == 1 else 'cx'!r}."
            )
    return rows


def angle_count(rows: Iterable[Gate]) -> int:
    """Return how many angles one application of each gate takes."""
    return sum(len(row.params) for row in rows)


def apply_gates(
    circuit: Circuit,
    rows: Iterable[Gate],
    places: Iterable[Sequence[int]],
    angles: Iterator[Parameter],
) -> None:
    """Append every gate on each of the places, place by place, taking its angles in order."""
    gates = list(rows)
    for place in places:
        for row in gates:
            circuit.append(row, place, [next(angles) for _ in row.params])


def rotate_about(circuit: Circuit, label: str, angle: Any) -> None:  # Any: number or expression
    """Append exp(-i angle/2 P), as the table's own rotation where there is one.

    Args:
        circuit: to append to.
        label: Pauli letters, qubit 0 on the right; the identity appends nothing.
        angle: in radians.
    """
    qubits = [q for q, letter in enumerate(reversed(label)) if letter != "I"]
    word = "".join([label[-1 - q] for q in qubits])
    if word in _ROTATIONS:
        circuit.append(_ROTATIONS[word], qubits, [angle])
    elif word:
        circuit.append("pauli_rotation", qubits, [angle], payload=word[::-1])
