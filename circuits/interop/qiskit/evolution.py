"""exp(-i t H): Pauli evolution by its product formula, or exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from qiskit.quantum_info import SparsePauliOp
from qiskit.synthesis import LieTrotter, SuzukiTrotter

from circuits.angles import Angle
from circuits.gates import GATES
from circuits.interop.qiskit.refusal import Refusal
from circuits.interop.qiskit.walker import Walker, Wires, asked

# Any in this file: Qiskit's operations.

_WIDEST = 8
"""Qubits of an exact evolution with a symbolic time: it takes 2**k rotations."""

_ROTATIONS = {row.word: row for row in GATES.values() if row.word and not row.base}


def evolve(walker: Walker, operation: Any, wires: Wires) -> None:
    """Import a Pauli evolution gate as ``evolution`` says.

    Its definition is a product formula, as hardware runs it; the rotations are taken as they are,
    not as chains of CX. A synthesis of another kind gives the definition.
    """
    if walker.evolution == "exact":
        _evolve_exactly(walker, operation, wires)
        return
    rotations = _product(operation)
    if rotations is None:
        walker.definition(operation, wires)
        return
    walker.report.decomposed[operation.name] += 1
    for word, places, angle in rotations:
        _rotate(walker, word, places, walker.symbols.angle(angle), wires)


def _product(operation: Any) -> list[tuple[str, list[int], Any]] | None:
    """Return (word, qubits, angle) of each rotation, ``word[k]`` on ``qubits[k]``, or None."""
    synthesis = operation.synthesis
    if type(synthesis) not in (LieTrotter, SuzukiTrotter) or synthesis.settings["wrap"]:
        return None
    if synthesis.atomic_evolution is not None:
        return None
    rotations: list[tuple[str, list[int], Any]] = asked(lambda: synthesis.expand(operation))
    return rotations if all(set(word) <= set("IXYZ") for word, _, _ in rotations) else None


def _rotate(
    walker: Walker, word: str, places: list[int], angle: float | Angle, wires: Wires
) -> None:
    """Append exp(-i angle/2 P) of the letters other than I."""
    pairs = [(p, letter) for letter, p in zip(word, places, strict=True) if letter != "I"]
    if not pairs:
        walker.add_phase(angle * -0.5, wires)
        return
    letters = "".join([letter for _, letter in pairs])
    on = wires._replace(qubits=tuple([wires.qubits[p] for p, _ in pairs]))
    row = _ROTATIONS.get(letters)
    if row is not None:
        walker.gate(row, on, (angle,))
    else:
        walker.gate(GATES["pauli_rotation"], on, (angle,), letters[::-1])


def _evolve_exactly(walker: Walker, operation: Any, wires: Wires) -> None:
    parts = operation.operator
    total = SparsePauliOp.sum(parts) if isinstance(parts, list) else parts
    if not isinstance(total, SparsePauliOp):
        total = SparsePauliOp.from_sparse_observable(total)
    time = walker.symbols.angle(operation.time)
    if len(total.paulis.group_commuting()) == 1:
        for word, places, coefficient in total.to_sparse_list():
            _rotate(walker, word, places, time * (2.0 * complex(coefficient).real), wires)
    else:
        evolve_matrix(walker, total.to_matrix(), time, wires)


def evolve_matrix(walker: Walker, matrix: ArrayLike, time: float | Angle, wires: Wires) -> None:
    """Append exp(-i t H) by H = V D V^dagger.

    For a symbolic time, exp(-i t D) is a product of rotations: D = sum_S c_S Z_S with the
    Walsh-Hadamard transform c_S = 2^-k sum_j (-1)^{|S & j|} D_j.
    """
    values, vectors = np.linalg.eigh(np.asarray(matrix, np.complex128))
    if isinstance(time, float):
        evolved = (vectors * np.exp(-1j * time * values)) @ vectors.conj().T
        walker.gate(GATES["unitary"], wires, payload=evolved)
        return
    size = len(wires.qubits)
    if size > _WIDEST:
        raise Refusal(
            f"exact evolutions with a symbolic time on at most {_WIDEST} qubits",
            'Import with evolution="definition", or give the time as a number.',
            f"on {size} qubits",
        )
    walker.gate(GATES["unitary"], wires, payload=vectors.conj().T)
    for subset, coefficient in enumerate(_walsh(values)):
        places = [k for k in range(size) if subset >> k & 1]
        if abs(coefficient) > 1e-15 * np.abs(values).max():
            _rotate(walker, "Z" * len(places), places, time * (2.0 * float(coefficient)), wires)
    walker.gate(GATES["unitary"], wires, payload=vectors)


def _walsh(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return c_S of a diagonal."""
    index = np.arange(len(values))
    signs = 1 - 2 * (np.bitwise_count(index[:, None] & index) & 1).astype(np.float64)
    return signs @ values / len(values)
