"""OpenQASM 3 out: symbols as ``input``, affine angles exactly, every global phase.

Qiskit's own writer drops the global phase of a circuit and of the definitions that it writes, so
the program is written here, gate by gate of our table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from qiskit.circuit import Parameter as QiskitParameter

from autodiff import Tensor
from circuits.angles import Angle
from circuits.circuit import Circuit
from circuits.errors import ConversionError
from circuits.gates import GATES
from circuits.instruction import Instruction
from circuits.interop.qiskit.definitions import base_of, definition, spelled_out
from circuits.interop.qiskit.values import element_names, saved_values

NOTE = "// ketgrad "
"""What the comment with names, values and Inputs begins with."""

_NATIVE = {
    **{name: name for name in ("p", "x", "y", "z", "h", "s", "sdg", "t", "tdg", "sx")},
    **{name: name for name in ("rx", "ry", "rz", "id", "swap", "u1", "u2", "u3")},
    "u": "u3",
    "sxdg": "inv @ sx",
    "global_phase": "gphase",
}
"""Rows that ``stdgates.inc`` or the language has."""

_CONTROLLED = {"cx", "cy", "cz", "cp", "crx", "cry", "crz", "ch", "cswap", "ccx"}

_KEYWORDS = re.findall(
    r"\w+",
    """OPENQASM include defcalgrammar def cal defcal gate extern box let break continue if else end
    return for while in switch case default pragma input output const readonly mutable qreg qubit
    creg bool bit int uint float angle complex array void duration stretch gphase inv pow ctrl
    negctrl U CX phase cphase durationof delay reset measure barrier nop true false pi tau euler
    sizeof arccos arcsin arctan ceiling cos exp floor log mod popcount real imag rotl rotr sin sqrt
    tan q c""",
)

_Atom = tuple[int, int]


def write_openqasm3(circuit: Circuit) -> str:
    """Return the program; ``circuits.to_qasm`` documents it."""
    return _Writer(circuit).program()


class _Writer:
    """One export: the names so far, and the gates that had to be defined.

    Attributes:
        symbols: the identifier of each element of a leaf.
        names: the name of what an identifier stands for.
    """

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self.taken = {*_KEYWORDS, *GATES, *[a for row in GATES.values() for a in row.aliases]}
        self.symbols: dict[_Atom, str] = {}
        self.names: dict[str, str] = {}
        self.definitions: list[str] = []
        self._defined: dict[Any, str] = {}  # Any: by row, and by word for Pauli rotations
        for leaf, elements in _elements(circuit):
            for k, name in enumerate(elements):
                identifier = self._fresh(name)
                self.symbols[id(leaf._meta), k] = identifier
                self.names[identifier] = name

    def program(self) -> str:
        circuit = self.circuit
        qubits = [f"q[{k}]" for k in range(circuit.num_qubits)]
        body = [line for step in circuit.instructions for line in self._step(step, qubits)]
        width = max(circuit.measured, default=-1) + 1
        lines = ["OPENQASM 3.0;", 'include "stdgates.inc";', NOTE + json.dumps(self._note())]
        lines += [f"input float[64] {identifier};" for identifier in self.names]
        lines += self.definitions
        lines += [f"qubit[{circuit.num_qubits}] q;"] if circuit.num_qubits else []
        lines += [f"bit[{width}] c;"] if width else []
        lines += body
        lines += [f"c[{clbit}] = measure q[{q}];" for clbit, q in circuit.measured.items()]
        return "\n".join(lines) + "\n"

    def _note(self) -> dict[str, Any]:  # Any: what JSON writes
        renamed = {i: name for i, name in self.names.items() if i != name}
        return {"names": renamed, **saved_values(self.circuit)}

    def _fresh(self, name: str) -> str:
        """Return an identifier that is not taken, as close to the name as can be."""
        made = name
        if not name.isidentifier() or name in self.taken:
            made = "_" + re.sub(r"\W", "_", name)
        while made in self.taken:
            made += "_"
        self.taken.add(made)
        return made

    def _step(self, step: Instruction, qubits: Sequence[str]) -> list[str]:
        if step.gate.payload is not None and not step.gate.params:
            return [line for part in spelled_out(step) for line in self._call(part, qubits)]
        return self._call(step, qubits)

    def _call(self, step: Instruction, qubits: Sequence[str]) -> list[str]:
        """Return the statement of a gate, with modifiers for its controls."""
        base = base_of(step)
        every = (1 << len(step.controls)) - 1
        own = len(step.controls) == step.gate.num_controls and step.ctrl_state == every
        name, controls = step.name, ""
        if not (own and step.name in _CONTROLLED):
            name = _NATIVE.get(base.name) or self._define(base)
            controls = _modifiers(step)
        given = ", ".join([self._angle(angle) for angle in step.angles])
        operands = ", ".join([qubits[q] for q in step.qubits])
        call = f"{controls}{name}{f'({given})' if given else ''}"
        return [f"{call} {operands};" if operands else f"{call};"]

    def _define(self, base: Instruction) -> str:
        """Write a gate's definition, once, and return its name."""
        key = (base.gate, base.payload if base.gate.payload else None)
        if key not in self._defined:
            # Qiskit's importer binds the arguments to the parameters in order of their names.
            params = [f"_p{k}" for k in range(len(base.gate.params))]
            made = definition(base, [QiskitParameter(name) for name in params])
            known = {(id(p._meta), 0): str(p.name) for p in made.parameters()}
            qubits = [f"_q{k}" for k in range(made.num_qubits)]
            outside, self.symbols = self.symbols, known
            body = [line for step in made.instructions for line in self._step(step, qubits)]
            self.symbols = outside
            name = self._fresh(f"{base.name}_")
            given = f"({', '.join(params)})" if params else ""
            block = " ".join(["{", *body, "}"])
            self.definitions.append(f"gate {name}{given} {', '.join(qubits)} {block}")
            self._defined[key] = name
        return self._defined[key]

    def _angle(self, angle: float | Angle) -> str:
        if not isinstance(angle, Angle):
            return repr(float(angle))
        if angle.program is not None:
            raise ConversionError(
                f"to_qasm needs affine angles such as 2*a + b, got another function of "
                f"{[leaf.name for leaf in angle.leaves]}. Use save_qpy, which keeps every function."
            )
        terms = [
            _term(coefficient, self.symbols[id(leaf._meta), k])
            for (leaf, k), coefficient in zip(angle.atoms, angle.coefficients, strict=True)
        ]
        if angle.offset or not terms:
            terms.append(repr(angle.offset))
        return " + ".join(terms).replace("+ -", "- ")


def _term(coefficient: float, name: str) -> str:
    short: Mapping[float, str] = {1.0: name, -1.0: f"-{name}"}
    return short.get(coefficient, f"{coefficient!r}*{name}")


def _modifiers(step: Instruction) -> str:
    """Return ``ctrl(2) @ negctrl @``, in the order of the controls."""
    bits = [step.ctrl_state >> k & 1 for k in range(len(step.controls))]
    words = []
    for bit, run in groupby(bits):
        count = len(list(run))
        words.append(("ctrl" if bit else "negctrl") + (f"({count})" if count > 1 else "") + " @ ")
    return "".join(words)


def _elements(circuit: Circuit) -> list[tuple[Tensor, list[str]]]:
    """Return the leaves with the names of their elements."""
    pairs = zip(circuit.parameters(), circuit.parameter_names(), strict=True)
    found: list[tuple[Tensor, list[str]]] = [
        (p, [element for element, _ in element_names(name, p)]) for p, name in pairs
    ]
    found += [(x, [f"{x.name}[{k}]" for k in range(x.shape[0])]) for x in circuit.inputs]
    return found
