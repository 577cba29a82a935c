"""Qubits that nothing acts on, and a circuit without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from circuits.measurements import Measurements

if TYPE_CHECKING:
    from circuits.circuit import Circuit


def used_qubits(circuit: Circuit) -> tuple[int, ...]:
    """Return the qubits that a gate acts on or that are measured, in order.

    >>> from circuits import Circuit
    >>> Circuit(100).h(7).cx(7, 90).used_qubits()
    (7, 90)
    """
    used = {q for step in circuit.instructions for q in step.qubits}
    return tuple(sorted(used.union(circuit.measured.values())))


def without_idle_qubits(circuit: Circuit) -> Circuit:
    """Return the circuit on its used qubits alone, with the same Parameters.

    The others stay in |0>, and take part in nothing. Transpiled circuits have many of them: as
    many qubits as the device. Qubit k of the result is ``used_qubits()[k]`` here; measurements
    keep their classical bits. For a circuit from Qiskit, ``import_report`` of the result lists
    what was left out, and its ``layout`` and ``places`` say where observables are now:
    ``apply_layout`` takes both.

    >>> from circuits import Circuit
    >>> small = Circuit(100).h(7).cx(7, 90).measure(90, 0).without_idle_qubits()
    >>> small.num_qubits, small.measured
    (2, {0: 1})
    """
    place = {qubit: k for k, qubit in enumerate(used_qubits(circuit))}
    moved = [step.on(place.__getitem__) for step in circuit.instructions]
    made = circuit._like(moved, len(place) - circuit.num_qubits)
    made._measurements = Measurements({bit: place[q] for bit, q in circuit.measured.items()})
    if circuit.import_report is not None:
        made.import_report = circuit.import_report.on_qubits(place)
    return made
