"""Which of Qiskit's Parameters become elements of Inputs, and what stands for the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from qiskit import QuantumCircuit
from qiskit.circuit import Parameter as QiskitParameter
from qiskit.circuit import ParameterVector, ParameterVectorElement

from autodiff import Parameter, Tensor
from autodiff.program import placeholder
from circuits.angles import Atom, Input
from circuits.errors import ConversionError
from circuits.interop.qiskit.expressions import Symbols

# Any in this file: what the user gave as inputs.


def identity(parameter: QiskitParameter) -> str:
    """Return what identifies a Parameter: its uuid, or its vector's with the index.

    Qiskit counts the uuids of a vector's elements up from that of the vector.
    """
    if isinstance(parameter, ParameterVectorElement):
        return f"{UUID(int=parameter.uuid.int - parameter.index)}[{parameter.index}]"
    return str(parameter.uuid)


def select_inputs(
    circuit: QuantumCircuit, inputs: Mapping[str, Any] | None
) -> dict[str, list[QiskitParameter]]:
    """Return the Parameters of each Input in order, or refuse.

    Raises:
        ConversionError: no mapping, a symbol that the circuit lacks, none at all, or one that is
            used twice.
    """
    if not isinstance(inputs, Mapping | None):
        raise ConversionError(
            f"from_qiskit needs inputs as a mapping from Input names to symbols, got "
            f"{inputs!r:.80}. Write inputs={{'x': symbols}}."
        )
    by_name = {p.name: p for p in circuit.parameters}
    chosen: dict[str, list[QiskitParameter]] = {}
    taken: dict[str, str] = {}
    for name, given in (inputs or {}).items():
        elements = _elements(given, by_name, name)
        if not any(p.name in by_name for p in elements):
            raise ConversionError(
                f"input {name!r} needs symbols of the circuit, got {given!r:.80}. "
                f"It has {list(by_name)}."
            )
        for p in elements:
            if taken.setdefault(p.name, name) != name or elements.count(p) > 1:
                raise ConversionError(
                    f"input {name!r} needs symbols of its own, got {p.name!r} twice. "
                    "List every symbol once."
                )
        chosen[name] = elements
    return chosen


def _elements(given: Any, by_name: Mapping[str, QiskitParameter], name: str) -> list[Any]:
    """Return the Parameters that stand for the elements of one Input."""
    if isinstance(given, ParameterVector):  # the circuit may use some elements only
        return list(given)
    if isinstance(given, str):
        members = [p for p in by_name.values() if _vector_name(p) == given]
        return list(members[0].vector) if members else _elements([given], by_name, name)
    if isinstance(given, QiskitParameter) or not isinstance(given, Iterable):
        given = [given]
    found = []
    for symbol in given:
        wanted = symbol.name if isinstance(symbol, QiskitParameter) else symbol
        known = by_name.get(wanted)
        if known is None or (isinstance(symbol, QiskitParameter) and symbol != known):
            raise ConversionError(
                f"input {name!r} needs Parameters of the circuit or their names, got {symbol!r}. "
                f"It has {list(by_name)}."
            )
        found.append(known)
    return found


def _vector_name(parameter: QiskitParameter) -> str | None:
    return parameter.vector.name if isinstance(parameter, ParameterVectorElement) else None


def make_symbols(
    circuit: QuantumCircuit, chosen: Mapping[str, Sequence[QiskitParameter]]
) -> tuple[Symbols, list[Parameter]]:
    """Return the symbols, and our Parameters in the order of ``circuit.parameters``."""
    stand_ins: dict[QiskitParameter, Tensor] = {}
    atoms: dict[QiskitParameter, Atom] = {}
    for name, members in chosen.items():
        leaf = Input(name, len(members))
        for k, p in enumerate(members):
            stand_ins[p], atoms[p] = leaf[k], (leaf, k)
    made: dict[int, Parameter] = {}
    for p in circuit.parameters:
        if p not in stand_ins:
            stand_in = placeholder((), name=p.name)
            stand_ins[p], atoms[p] = stand_in, (stand_in, 0)
            made[id(stand_in._meta)] = _parameter(p)
    symbols = Symbols(stand_ins, atoms, lambda leaf: made.get(id(leaf._meta), leaf))
    return symbols, list(made.values())


def _parameter(symbol: QiskitParameter) -> Parameter:
    """Return a Parameter of the same name and identity, at 0."""
    value = Tensor(np.zeros(()))
    value._meta.uuid = identity(symbol)
    return Parameter(value, name=symbol.name)
