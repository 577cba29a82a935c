"""OpenQASM 2 in and out, through Qiskit's own parser and writer."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
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
from circuits.interop.qiskit.refusal import RefusedInstruction

_MARKS = re.compile(r'//[^\n]*|"[^"\n]*"|[;{}]')
_GAP = re.compile(r"(?:\s|//[^\n]*)*")
_PLACE = re.compile(r"<input>:(\d+),(\d+): (.*)", re.DOTALL)
_STRICT: Mapping[str, Any] = {"include_path": ()}
_LEGACY: Mapping[str, Any] = {  # Any: Qiskit's descriptions of gates and functions
    "include_path": (),
    "custom_instructions": qasm2.LEGACY_CUSTOM_INSTRUCTIONS,
    "custom_classical": qasm2.LEGACY_CUSTOM_CLASSICAL,
}

# Any in this file: values and inputs, which the import checks.


def read_openqasm2(text: str, inputs: Mapping[str, Any] | None, values: Any) -> Circuit:
    """Return the circuit of a program; ``circuits.from_qasm`` documents it."""
    qc, options = _parsed(text)
    try:
        return import_circuit(qc, inputs, values)
    except RefusedInstruction as error:
        if error.position < 0:
            raise
        count = error.position
        line, column = _first(text, lambda part: len(qasm2.loads(part, **options).data) > count)
        message = f"{error} Look at line {line}, column {column}."
        raise ConversionError(message) from error


def _parsed(text: str) -> tuple[QuantumCircuit, Mapping[str, Any]]:
    """Parse strictly, then with legacy gates; of two errors the later place tells more."""
    faults = []
    for options in (_STRICT, _LEGACY):
        try:
            made = qasm2.loads(text, **options)
        except QiskitError as error:
            found = _PLACE.search(error.message)
            line, column, why = found.groups() if found else (1, 0, error.message)
            faults.append((int(line), int(column), why))
        except UNCHECKED as error:  # a gate of the library with too few angles
            line, column = _first(text, partial(_is_unchecked, options=options))
            raise refused("2", line, column, str(error), "Give every gate its angles.") from error
        else:
            made.name = "program"
            return made, options
    line, column, why = max(faults, key=lambda fault: fault[:2])
    raise refused("2", line, column + 1, why, "Correct the program.")


def _is_unchecked(text: str, options: Mapping[str, Any]) -> bool:
    """Whether Qiskit's parser fails without telling where."""
    try:
        qasm2.loads(text, **options)
    except UNCHECKED:
        return True
    return False


def _first(text: str, is_in: Callable[[str], bool]) -> tuple[int, int]:
    """Return line and column of the first statement with which the program has a property."""
    ends, depth = [0], 0
    for mark in _MARKS.finditer(text):
        depth += (mark[0] == "{") - (mark[0] == "}")
        if mark[0] in ";}" and depth == 0:  # a part may not end inside a definition
            ends.append(mark.end())
    before = text[: ends[bisect_left(ends, True, key=lambda end: is_in(text[:end])) - 1]]
    rest = _GAP.match(text, len(before))
    start = len(before) if rest is None else rest.end()
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
    plain.measure(list(circuit.measured.values()), list(circuit.measured))
    return str(qasm2.dumps(export_circuit(plain)))
