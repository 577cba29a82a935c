"""OpenQASM 3 in, through Qiskit's importer, with the names that our writer noted."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from math import isfinite
from types import ModuleType
from typing import Any

from qiskit import QuantumCircuit
from qiskit.circuit import Parameter as QiskitParameter
from qiskit.circuit import ParameterExpression, ParameterVector
from qiskit.exceptions import QiskitError

from circuits.circuit import Circuit
from circuits.errors import ConversionError
from circuits.interop.openqasm_scan import UNCHECKED, refused
from circuits.interop.qiskit.openqasm3_writer import NOTE
from circuits.interop.qiskit.values import import_saved, is_saved

_NOTE = re.compile(rf"^{NOTE}(\{{.*\}})$", re.MULTILINE)
_PLACE = re.compile(r"(\d+),(\d+): (.*)", re.DOTALL)
_ELEMENT = re.compile(r"(.+)\[(\d{1,5})\]")

# Any in this file: values and inputs, which the import checks; what JSON gives until it is checked.


def read_openqasm3(text: str, inputs: Mapping[str, Any] | None, values: Any) -> Circuit:
    """Return the circuit of a program; ``circuits.from_qasm`` documents it."""
    found = _NOTE.search(text)
    note = _checked_note(found[1] if found else "{}")
    qc = _parsed(text)
    _drop_idle_symbols(qc)
    qc = _renamed(qc, note.get("names", {}))
    qc.name = "program"
    return import_saved(qc, note, inputs, values)


def _parsed(text: str) -> QuantumCircuit:
    try:
        from openqasm3.parser import QASM3ParsingError, parse
        from qiskit_qasm3_import import converter
    except ImportError as error:
        raise ConversionError(
            "from_qasm needs a parser for OpenQASM 3, got an environment without one. "
            "Install it: pip install qiskit-qasm3-import."
        ) from error
    try:
        program = parse(text)
        _order_parameters(program)
        with warnings.catch_warnings():
            # The importer does not say what kind of control it wants; both kinds are read here.
            warnings.filterwarnings("ignore", ".*annotated", DeprecationWarning)
            return _converted(program, converter)
    except QASM3ParsingError as error:
        line, column = _place(error)
        raise refused("3", line, column + 1, "not expected here", "Correct the program.") from error
    except RecursionError as error:
        raise ConversionError(
            "from_qasm needs expressions that nest less, got one too deep to parse. "
            "Write it in several statements."
        ) from error
    except ConversionError:
        raise
    except UNCHECKED as error:  # the parser's own: a literal of more digits than Python reads
        raise ConversionError(
            f"from_qasm needs a valid OpenQASM 3 program, got: {error}. Correct the program."
        ) from error


def _converted(program: Any, converter: ModuleType) -> QuantumCircuit:
    """Return the importer's circuit; a fault that it does not place is in the present statement.

    Version 0.6 lets out Qiskit's errors, for cx on one qubit, and Python's: for q[5] of two
    qubits, for 1/0, for a literal too large.
    """
    from openqasm3 import ast

    class Placing(converter.ConvertVisitor):  # type: ignore[name-defined]
        line, column = 1, 0

        def visit(self, node: ast.QASMNode, context: Any = None) -> Any:
            if isinstance(node, ast.Statement) and node.span is not None:
                self.line, self.column = node.span.start_line, node.span.start_column
            return super().visit(node, context)

        def _resolve_angle(self, node: Any, context: Any) -> Any:
            angle = super()._resolve_angle(node, context)
            if isinstance(angle, int | float) and not isfinite(angle):
                raise ValueError(f"an angle needs a finite number, got {angle}")
            return angle

    importer = Placing()
    try:
        return importer.convert(program).circuit
    except (converter.ConversionError, QiskitError) as error:
        here = (importer.line, importer.column, error.message)
        placed = _PLACE.match(error.message)
        line, column, why = placed.groups() if placed else here
        remedy = "Correct the program, or write it with gates, input, and constant numbers."
        raise refused("3", int(line), int(column) + 1, why, remedy) from error
    except UNCHECKED as error:
        why = f"{type(error).__name__}: {error}"
        raise refused(
            "3", importer.line, importer.column + 1, why, "Correct this statement."
        ) from error


def _order_parameters(program: Any) -> None:
    """Rename the parameters of gate definitions so that their order is that of their names.

    Version 0.6 of the importer binds a call's arguments to the parameters sorted by name: after
    ``gate g(b, a) ...`` it takes ``g(1, 2)`` for b = 2, a = 1.
    """
    from openqasm3 import ast
    from openqasm3.visitor import QASMVisitor

    class Renamer(QASMVisitor[dict[str, str]]):
        def visit_Identifier(self, node: ast.Identifier, names: dict[str, str]) -> None:
            node.name = names.get(node.name, node.name)

    for statement in program.statements:
        if isinstance(statement, ast.QuantumGateDefinition) and len(statement.arguments) > 1:
            names = {x.name: f"_{k:06}_{x.name}" for k, x in enumerate(statement.arguments)}
            Renamer().visit(statement, names)


def _drop_idle_symbols(qc: QuantumCircuit) -> None:
    """Remove what the importer adds to the phase for an ``input`` without use: 0 times it."""
    phase = qc.global_phase
    if isinstance(phase, ParameterExpression):
        idle = {p: 0.0 for p in phase.parameters if phase.gradient(p) == 0}
        if idle:
            rest = phase.bind(idle)
            qc.global_phase = rest if rest.parameters else rest.numeric()


def _place(error: BaseException) -> tuple[int, int]:
    """Return where the parser stopped: it says so in the message, or in what it caught."""
    written = re.match(r"L(\d+):C(\d+)", str(error))
    if written:
        return int(written[1]), int(written[2])
    cause = error.__cause__
    while cause is not None:
        for fault in (cause, *cause.args):
            token = getattr(fault, "offendingToken", None)
            if token is not None:
                return token.line, token.column
        cause = cause.__cause__ or cause.__context__
    return 1, 0


def _checked_note(text: str) -> dict[str, Any]:
    """Return the note of our writer, or refuse what it cannot have written."""
    try:
        note = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConversionError(
            f"from_qasm needs the note that to_qasm wrote, got one that is no JSON: {error}. "
            f"Remove the line that begins with {NOTE!r}."
        ) from error
    names = note.get("names", {})
    named = isinstance(names, dict) and all(isinstance(name, str) for name in names.values())
    if not (named and is_saved(note)):
        raise ConversionError(
            f"from_qasm needs the note that to_qasm wrote, got {text!r:.80}. "
            f"Remove the line that begins with {NOTE!r}."
        )
    return dict(note)


def _renamed(qc: QuantumCircuit, names: Mapping[str, str]) -> QuantumCircuit:
    """Give symbols their names again; w[0], w[1], ... become the elements of one vector."""
    sizes: dict[str, int] = {}
    for name in names.values():
        element = _ELEMENT.fullmatch(name)
        if element:
            sizes[element[1]] = max(sizes.get(element[1], 0), int(element[2]) + 1)
    vectors = {stem: ParameterVector(stem, size) for stem, size in sizes.items()}
    fresh = {}
    for symbol in qc.parameters:
        name = names.get(symbol.name, symbol.name)
        element = _ELEMENT.fullmatch(name)
        if element:
            fresh[symbol] = vectors[element[1]][int(element[2])]
        elif name != symbol.name:
            fresh[symbol] = QiskitParameter(name)
    return qc.assign_parameters(fresh) if fresh else qc
