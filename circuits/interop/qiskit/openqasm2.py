"""OpenQASM 2 in and out, through Qiskit's own parser and writer."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from qiskit import QuantumCircuit, qasm2
from qiskit.exceptions import QiskitError

from circuits.angles import Angle
from circuits.binding import bind
from circuits.circuit import Circuit
from circuits.errors import ConversionError
from circuits.interop.openqasm_scan import UNCHECKED, refused
from circuits.interop.qiskit.definitions import spelled_out
from circuits.interop.qiskit.exporting import export_circuit
from circuits.interop.qiskit.importing import import_circuit

_PLACE = re.compile(r"<input>:(\d+),(\d+): (.*)", re.DOTALL)
_LEGACY: Mapping[str, Any] = {  # Any: Qiskit's descriptions of gates and functions
    "custom_instructions": qasm2.LEGACY_CUSTOM_INSTRUCTIONS,
    "custom_classical": qasm2.LEGACY_CUSTOM_CLASSICAL,
}

# Any in this file: values and inputs, which the import checks.


def read_openqasm2(text: str, inputs: Mapping[str, Any] | None, values: Any) -> Circuit:
    """Return the circuit of a program; ``circuits.from_qasm`` documents it."""
    return import_circuit(_parsed(text), inputs, values)


def _parsed(text: str) -> QuantumCircuit:
    """Parse strictly, then with legacy gates; of two errors the later place tells more."""
    faults = []
    for options in ({}, _LEGACY):
        try:
            made = qasm2.loads(text, include_path=(), **options)
        except QiskitError as error:
            found = _PLACE.search(error.message)
            line, column, why = found.groups() if found else (1, 0, error.message)
            faults.append((int(line), int(column), why))
        except UNCHECKED as error:  # a gate of the library with too few angles
            line, column = _first_unchecked(text, options)
            raise refused("2", line, column, str(error), "Give every gate its angles.") from error
        else:
            made.name = "program"
            return made
    line, column, why = max(faults, key=lambda fault: fault[:2])
    raise refused("2", line, column + 1, why, "Correct the program.")


def _first_unchecked(text: str, options: Mapping[str, Any]) -> tuple[int, int]:
    """Return line and column of the first statement that Qiskit fails on without telling where."""
    ends = [0, *[match.end() for match in re.finditer(";", text)]]

    def fails(end: int) -> bool:
        try:
            qasm2.loads(text[:end], include_path=(), **options)
        except QiskitError:  # cut inside a definition
            return False
        except UNCHECKED:
            return True
        return False

    before = text[: ends[bisect_left(ends, True, key=fails) - 1]]
    start = len(before) + len(text[len(before) :]) - len(text[len(before) :].lstrip())
    return text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)


def write_openqasm2(circuit: Circuit) -> str:
    """Return the program with the present values; ``circuits.to_qasm`` documents it."""
    if circuit.inputs:
        raise ConversionError(
            f"to_qasm in version 2 needs a circuit without Inputs, got "
            f"{[x.name for x in circuit.inputs]}. Use version 3, which has symbols."
        )
    angles = iter(bind(circuit, None, None).angles().tolist())
    plain = Circuit(circuit.num_qubits, circuit.name)
    for step in circuit.instructions:
        numbers = tuple([next(angles) if isinstance(a, Angle) else a for a in step.angles])
        parts = spelled_out(replace(step, angles=numbers))
        # A phase of the whole state has no statement, and no effect.
        plain.extend([part for part in parts if part.qubits])
    plain.measure(list(circuit.measured), list(circuit.measured.values()))
    return str(qasm2.dumps(export_circuit(plain)))
