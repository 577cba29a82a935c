"""Library gates that carry a matrix, a diagonal, a pattern or a Pauli label."""

from __future__ import annotations

from typing import Any

from qiskit.circuit import library
from qiskit.quantum_info import Clifford

from circuits.gates import GATES
from circuits.interop.qiskit.evolution import evolve, evolve_matrix
from circuits.interop.qiskit.walker import Handler, Walker, Wires

# Any in this file: Qiskit's operations.


def unitary(walker: Walker, operation: Any, wires: Wires) -> None:
    """Import a matrix."""
    walker.gate(GATES["unitary"], wires, payload=operation.to_matrix())


def diagonal(walker: Walker, operation: Any, wires: Wires) -> None:
    """Import a diagonal."""
    walker.gate(GATES["diagonal"], wires, payload=operation.params)


def permutation(walker: Walker, operation: Any, wires: Wires) -> None:
    """Import a permutation of qubits, which has no definition in Qiskit."""
    walker.gate(GATES["permutation"], wires, payload=operation.pattern)


def pauli(walker: Walker, operation: Any, wires: Wires) -> None:
    """Import a Pauli word."""
    walker.gate(GATES["pauli"], wires, payload=operation.params[0])


def pauli_rotation(walker: Walker, operation: Any, wires: Wires) -> None:
    """Import exp(-i theta/2 P); the angle that Qiskit lists has P's sign in it."""
    label = operation.pauli().to_label().lstrip("-")
    angle = walker.symbols.angle(operation.params[0])
    walker.gate(GATES["pauli_rotation"], wires, (angle,), label)


def hamiltonian(walker: Walker, operation: Any, wires: Wires) -> None:
    """Import exp(-i t H) of a matrix H."""
    matrix, time = operation.params
    evolve_matrix(walker, matrix, walker.symbols.angle(time), wires)


def clifford(walker: Walker, operation: Clifford, wires: Wires) -> None:
    """Import a Clifford table by a circuit of it."""
    walker.report.decomposed[operation.name] += 1
    walker.inside(operation.name, operation.to_circuit(), wires)


PAYLOAD_GATES: dict[type, Handler] = {
    library.UnitaryGate: unitary,
    library.DiagonalGate: diagonal,
    library.PermutationGate: permutation,
    library.PauliGate: pauli,
    library.PauliEvolutionGate: evolve,
    library.HamiltonianGate: hamiltonian,
    Clifford: clifford,
}
"""Handlers by exact class: a user's subclass may mean something else."""

if hasattr(library, "PauliProductRotationGate"):  # Qiskit 2.3 and later
    PAYLOAD_GATES[library.PauliProductRotationGate] = pauli_rotation
