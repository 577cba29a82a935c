"""A circuit as plain data: what equality compares, and what pickle and JSON write.

Leaves are references: ``["parameter", k]`` is the k-th registered Parameter, ``["input", name]`` an
Input. Arrays are ``Packed``. Rows of the gate and op tables are names; rows that stand in no table
are themselves, equal to nothing else, and neither pickle nor JSON takes them. Everything else is a
list, a dictionary, text, a number or None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from autodiff import Program, Tensor
from autodiff.table import OPS
from circuits.angles import Angle
from circuits.errors import ConversionError
from circuits.gates import GATES
from circuits.instruction import Instruction, TrainableMatrix

if TYPE_CHECKING:
    from circuits.circuit import Circuit

# Any in this file: a description is nested data.
Data = dict[str, Any]


@dataclass(frozen=True)
class Packed:
    """An array by value: hashable, equal where dtype, shape and every bit are."""

    dtype: str
    shape: tuple[int, ...]
    content: bytes

    @classmethod
    def of(cls, array: NDArray[Any]) -> Packed:
        """Pack an array."""
        return cls(array.dtype.name, array.shape, np.ascontiguousarray(array).tobytes())

    def array(self) -> NDArray[Any]:
        """Return a copy as an array."""
        return np.frombuffer(self.content, self.dtype).reshape(self.shape).copy()


def describe(circuit: Circuit) -> Data:
    """Return the circuit without its name and without what its leaves hold."""
    leaves = circuit.leaves
    references: dict[int, Any] = {}
    for k, p in enumerate(leaves.parameters.values()):
        references[id(p._meta)] = ["parameter", k]
    for x in leaves.inputs.values():
        references[id(x._meta)] = ["input", x.name]
    for k, tensor in enumerate(matrices_of(circuit)):
        references[id(tensor._meta)] = k
    return {
        "num_qubits": circuit.num_qubits,
        "inputs": [[x.name, x.shape[0], x.dtype.name] for x in leaves.inputs.values()],
        "instructions": [_instruction(i, references) for i in circuit.instructions],
        "measured": sorted([qubit, clbit] for clbit, qubit in circuit.measured.items()),
    }


def matrices_of(circuit: Circuit) -> list[Tensor]:
    """Return every matrix Tensor once, in order of first use."""
    return list({id(tensor._meta): tensor for tensor in circuit.matrices}.values())


def identities(circuit: Circuit) -> list[Any]:
    """Return what makes leaves the same: uuids, or the value of matrices that have none."""
    tensors = [*circuit.parameters(), *matrices_of(circuit)]
    return [x._meta.uuid or Packed.of(x.numpy()) for x in tensors]


def _instruction(instruction: Instruction, references: Mapping[int, Any]) -> Data:
    row = instruction.gate
    return {
        "gate": row.name if GATES.get(row.name) is row else row,
        "targets": list(instruction.targets),
        "controls": list(instruction.controls),
        "ctrl_state": instruction.ctrl_state,
        "angles": [_angle(angle, references) for angle in instruction.angles],
        "payload": _payload(instruction.payload, references),
    }


def _payload(payload: Any, references: Mapping[int, Any]) -> Any:
    if isinstance(payload, TrainableMatrix):
        return {
            "matrix": references[id(payload.tensor._meta)],
            "conjugated": payload.conjugated,
            "transposed": payload.transposed,
        }
    return Packed.of(payload) if isinstance(payload, np.ndarray) else payload


def number(value: float) -> float | str:
    """Return a number as JSON can write it: text for NaN and infinities, which equal themselves.

    >>> number(0.5), number(float("nan"))
    (0.5, 'nan')
    """
    return value if isfinite(value) else repr(value)


def _angle(angle: float | Angle, references: Mapping[int, Any]) -> Any:
    if not isinstance(angle, Angle):
        return number(angle)
    atoms = [
        [references[id(leaf._meta)], element, number(c)]
        for (leaf, element), c in zip(angle.atoms, angle.coefficients, strict=True)
    ]
    return {
        "atoms": sorted(atoms, key=repr),
        "offset": number(angle.offset),
        "scale": number(angle.scale),
        "program": None if angle.program is None else _program(angle.program, references),
    }


def _program(program: Program, references: Mapping[int, Any]) -> Data:
    return {
        "slots": [references[id(leaf._meta)] for leaf in program.slots],
        "constants": [Packed.of(x.numpy()) for x in program.constants],
        "steps": [
            {
                "op": i.op.name if OPS.get(i.op.name) is i.op else i.op,
                "operands": [[ref.place.value, ref.index, ref.output] for ref in i.operands],
                "attrs": {name: attribute(value) for name, value in sorted(i.attrs.items())},
            }
            for i in program.instructions
        ],
        "output": [[ref.place.value, ref.index, ref.output] for ref in program.outputs],
    }


def attribute(value: Any) -> Any:
    """Return an op's attribute as plain data, its type said where JSON would lose it.

    What is none of the types that the op table uses stays as it is, and JSON refuses it.
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return {"float": number(value)}
        case tuple() | list():
            return {"tuple": [attribute(part) for part in value]}
        case slice():
            return {"slice": [value.start, value.stop, value.step]}
        case np.dtype():
            return {"dtype": value.name}
    return {"ellipsis": None} if value is Ellipsis else value


def attribute_value(data: Any) -> Any:
    """Undo ``attribute``.

    Raises:
        ConversionError: anything else.

    >>> attribute_value(attribute((slice(0, 2, None), ...)))
    (slice(0, 2, None), Ellipsis)
    """
    match data:
        case None | bool() | int() | str():
            return data
        case {"float": value, **rest} if not rest:
            return real(value)
        case {"tuple": list(parts), **rest} if not rest:
            return tuple([attribute_value(part) for part in parts])
        case {"slice": [start, stop, step], **rest} if not rest:
            return slice(*[attribute_value(bound) for bound in (start, stop, step)])
        case {"dtype": str(name), **rest} if not rest and name in DTYPES:
            return np.dtype(name)
        case {"ellipsis": None, **rest} if not rest:
            return Ellipsis
    raise ConversionError(f"a circuit's data need an op's attribute, got {data!r:.80}. {REPAIR}")


REPAIR = "Write the text again with to_json."
"""What to do about data that say nothing."""

DTYPES = ("bool", "int32", "int64", "float32", "float64", "complex64", "complex128")
"""What arrays in a description may consist of."""


def real(data: Any) -> float:
    """Undo ``number``.

    Raises:
        ConversionError: anything else.
    """
    if data in ("nan", "inf", "-inf") if isinstance(data, str) else _is_number(data):
        return float(data)
    raise ConversionError(f"a circuit's data need a number, got {data!r:.80}. {REPAIR}")


def _is_number(data: Any) -> bool:
    return isinstance(data, int | float) and not isinstance(data, bool)
