"""Circuits as JSON text, and circuits made again from their descriptions.

Reading runs nothing that the text says: every gate, op, dtype and size is looked up, or checked by
the code that checks a user's calls, and what is unknown is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from math import prod
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from autodiff import AutodiffError, Parameter, Program, Tensor
from autodiff.dispatch import apply, constant
from autodiff.errors import reason
from autodiff.node import State
from autodiff.program import Instruction as Step
from autodiff.program import Place, Ref, placeholder
from autodiff.table import OPS
from circuits.angles import Angle, Input, program_angle
from circuits.description import (
    DTYPES,
    REPAIR,
    Data,
    Packed,
    attribute_value,
    describe,
    matrices_of,
    number,
    real,
)
from circuits.errors import CircuitError, ConversionError
from circuits.gates import gate as find_gate
from circuits.instruction import Instruction, TrainableMatrix, checked_instruction

if TYPE_CHECKING:
    from circuits.circuit import Circuit

FORMAT, VERSION = "ketgrad circuit", 1
MAX_CHARACTERS, MAX_QUBITS, MAX_ELEMENTS = 1 << 27, 1 << 12, 1 << 24
"""Bounds of what is read: the text, the width, and each value that an angle's expression makes."""

# Any in this file: data is what JSON gives until it has been checked.


def to_text(circuit: Circuit) -> str:
    """Return a circuit as JSON. ``Circuit.to_json`` documents it."""
    data = {
        "format": FORMAT,
        "version": VERSION,
        "name": circuit.name,
        "parameters": [leaf_data(p) for p in circuit.parameters()],
        "matrices": [leaf_data(x) for x in matrices_of(circuit)],
        **describe(circuit),
    }
    return json.dumps(data, default=_plain, allow_nan=False)


def from_text(circuit_class: type[Circuit], text: str) -> Circuit:
    """Return the circuit of a JSON text. ``Circuit.from_json`` documents it."""
    if not isinstance(text, str) or len(text) > MAX_CHARACTERS:
        raise ConversionError(
            f"from_json needs text of at most {MAX_CHARACTERS} characters, got "
            f"{type(text).__name__}. Give what to_json returned."
        )
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConversionError(
            f"from_json needs JSON, got a text that is none: {error}. {REPAIR}"
        ) from error
    header = ("format", "version", "name", "parameters", "matrices")
    body = ("num_qubits", "inputs", "instructions", "measured")
    form, version, name, parameters, matrices, *_ = fields(data, (*header, *body))
    if form != FORMAT or version != VERSION or not isinstance(name, str | None):
        raise ConversionError(
            f"from_json needs format {FORMAT!r}, version {VERSION}, got {form!r:.60}, {version!r}. "
            "Write the circuit again with this version."
        )
    description = {key: data[key] for key in body}
    try:
        leaves = [[_leaf(entry) for entry in _list(part)] for part in (parameters, matrices)]
        return rebuild(circuit_class, name, description, *leaves)
    except CircuitError:
        raise
    except (AutodiffError, LookupError, OverflowError, TypeError, ValueError) as error:
        raise ConversionError(
            f"from_json needs a consistent circuit, got: {reason(error)}. {REPAIR}"
        ) from error


def _plain(part: Any) -> Any:
    """Return what JSON cannot write in a form that it can."""
    if not isinstance(part, Packed):
        raise ConversionError(
            f"to_json needs gates, ops and attributes of the tables, got {part!r:.80}. "
            "Build it from standard ones, or keep the code that makes the circuit."
        )
    array = part.array()
    flat = array.view(array.real.dtype).ravel() if array.dtype.kind == "c" else array.ravel()
    values = [number(x) if array.dtype.kind in "fc" else x for x in flat.tolist()]
    return {"dtype": part.dtype, "shape": list(part.shape), "values": values}


def _array(data: Any) -> np.ndarray[Any, Any]:
    """Undo ``_plain``."""
    if isinstance(data, Packed):
        return data.array()
    name, extents, values = fields(data, ("dtype", "shape", "values"))
    shape = tuple([_integer(extent) for extent in _list(extents)])
    known = name in DTYPES and min(shape, default=0) >= 0
    if len(_list(values)) != prod(shape) * (1 + str(name).startswith("complex")) or not known:
        raise ConversionError(
            f"a circuit's data need an array, got {len(values)} values for dtype {name!r:.40} and "
            f"shape {shape}. {REPAIR}"
        )
    dtype = np.dtype(name)
    read = real if dtype.kind in "fc" else _integer
    numbers = [read(x) for x in values]
    try:
        with np.errstate(over="raise"):
            flat = np.array(numbers, np.finfo(dtype).dtype if dtype.kind == "c" else dtype)
    except (OverflowError, FloatingPointError) as error:
        raise ConversionError(
            f"a circuit's data need numbers of {name}, got larger ones: {error}. {REPAIR}"
        ) from error
    return flat.view(dtype).reshape(shape)


# -- leaves ----------------------------------------------------------------------------------------


def leaf_data(tensor: Tensor) -> Data:
    """Return a Parameter, or a matrix Tensor, as data.

    Raises:
        ConversionError: a computed Tensor, whose history has no text.
    """
    check_leaf(tensor)
    return {
        "uuid": tensor._meta.uuid,
        "name": tensor.name,
        "value": Packed.of(tensor.numpy()),
        "trainable": tensor._meta.trainable,
        "requires_grad": tensor.requires_grad,
    }


def check_leaf(tensor: Tensor) -> None:
    """Refuse a Tensor that was computed from others.

    Raises:
        ConversionError: it was.
    """
    if not tensor.is_leaf:
        raise ConversionError(
            f"serialising a circuit needs matrices that are leaves, got {tensor._label()}, the "
            "result of a recorded op. Use detach(), or keep the code that computes it."
        )


def _leaf(data: Any) -> Tensor:
    keys = ("uuid", "name", "value", "trainable", "requires_grad")
    uuid, name, value, trainable, requires_grad = fields(data, keys)
    flags = (trainable, requires_grad)
    if not isinstance(name, str | None) or not all(isinstance(flag, bool) for flag in flags):
        raise ConversionError(f"a circuit's data need a Parameter, got {data!r:.80}. {REPAIR}")
    array = _array(value)
    if uuid is None:
        return Tensor(array, requires_grad=requires_grad, name=name)
    try:
        identity = str(UUID(uuid))
    except (ValueError, AttributeError, TypeError) as error:
        raise ConversionError(
            f"a Parameter's data need a uuid, got {uuid!r:.60}. {REPAIR}"
        ) from error
    made = Parameter(array, name=name)
    made._meta.uuid = identity
    made._meta.trainable = trainable
    made._meta.requires_grad = requires_grad
    return made


def pickled(circuit: Circuit) -> tuple[Any, ...]:
    """Return what pickle stores: a description, Parameters, matrix Tensors, the import report."""
    matrices = matrices_of(circuit)
    for matrix in matrices:
        check_leaf(matrix)
    content = (circuit.name, describe(circuit), circuit.parameters(), matrices)
    return rebuild, (type(circuit), *content), {"import_report": circuit.import_report}


def clone(circuit: Circuit, memo: dict[int, Any]) -> Circuit:
    """Return a copy with leaves of its own, which keep their uuids; ``memo`` is deepcopy's."""
    matrices = matrices_of(circuit)
    for matrix in matrices:
        check_leaf(matrix)
    leaves = [*circuit.parameters(), *circuit.inputs]
    clones = {id(x._meta): deepcopy(x, memo) for x in (*leaves, *matrices)}
    for x in (*leaves, *matrices):
        clones[id(x._meta)]._meta.uuid = x._meta.uuid
    made = type(circuit)(circuit.num_qubits, circuit.name)
    made.leaves.register([clones[id(x._meta)] for x in leaves])
    made.extend([i.substitute(lambda x: clones[id(x._meta)]) for i in circuit.instructions])
    made.import_report = deepcopy(circuit.import_report, memo)
    return made.measure(list(circuit.measured.values()), list(circuit.measured))


# -- circuits --------------------------------------------------------------------------------------


def rebuild(
    circuit_class: type[Circuit],
    name: str | None,
    description: Data,
    parameters: Sequence[Tensor],
    matrices: Sequence[Tensor],
) -> Circuit:
    """Return the circuit of a description, over given leaves.

    Raises:
        CircuitError: its subclass for what is wrong with the description.
    """
    keys = ("num_qubits", "inputs", "instructions", "measured")
    num_qubits, inputs, instructions, measured = fields(description, keys)
    if _integer(num_qubits) > MAX_QUBITS:
        raise ConversionError(
            f"a circuit's data need up to {MAX_QUBITS} qubits, got {num_qubits}. {REPAIR}"
        )
    circuit = circuit_class(num_qubits, name)
    made = [_input(entry) for entry in _list(inputs)]
    circuit.leaves.register([*parameters, *made])
    table: dict[Any, Tensor] = {("parameter", k): p for k, p in enumerate(parameters)}
    table |= {("input", x.name): x for x in made}
    reader = _Reader(table, matrices, num_qubits)
    circuit.extend([reader.instruction(entry) for entry in _list(instructions)])
    pairs = [[_integer(part) for part in _list(pair, 2)] for pair in _list(measured)]
    return circuit.measure([qubit for qubit, _ in pairs], [clbit for _, clbit in pairs])


def _input(data: Any) -> Input:
    name, size, dtype = _list(data, 3)
    if _integer(size) > MAX_ELEMENTS or dtype not in DTYPES:
        raise ConversionError(f"a circuit's data need an Input, got {data!r:.80}. {REPAIR}")
    return Input(name, size, dtype)


class _Reader:
    """Makes instructions of their data, over given leaves."""

    def __init__(
        self, leaves: Mapping[Any, Tensor], matrices: Sequence[Tensor], num_qubits: int
    ) -> None:
        self.leaves = leaves
        self.matrices = matrices
        self.num_qubits = num_qubits

    def instruction(self, data: Any) -> Instruction:
        keys = ("gate", "targets", "controls", "ctrl_state", "angles", "payload")
        name, targets, controls, state, angles, payload = fields(data, keys)
        row = find_gate(name)
        held = _list(controls)
        # The row's own controls stand last among them; a row for any number takes them all.
        own = len(held) if row.num_controls is None else row.num_controls
        extra = len(held) - own
        if extra < 0:
            raise ConversionError(f"{row.name} needs {own} controls, got {held!r:.60}. {REPAIR}")
        return checked_instruction(
            row,
            [*held[extra:], *_list(targets)],
            [self.angle(angle, row.name) for angle in _list(angles)],
            self.payload(payload),
            held[:extra],
            _integer(state),
            self.num_qubits,
        )

    def payload(self, data: Any) -> Any:
        if data is None or isinstance(data, str):
            return data
        if not isinstance(data, dict) or "matrix" not in data:
            return _array(data)
        index, conjugated, transposed = fields(data, ("matrix", "conjugated", "transposed"))
        return TrainableMatrix(
            self.matrices[_integer(index)], conjugated is True, transposed is True
        )

    def leaf(self, data: Any) -> Tensor:
        kind, key = _list(data, 2)
        if not isinstance(key, str | int) or (kind, key) not in self.leaves:
            raise ConversionError(f"a circuit's data need a known leaf, got {data!r:.80}. {REPAIR}")
        return self.leaves[kind, key]

    def angle(self, data: Any, where: str) -> float | Angle:
        if not isinstance(data, dict):
            return real(data)
        entries, offset, scale, program = fields(data, ("atoms", "offset", "scale", "program"))
        angle = Angle()
        if program is not None:
            angle = program_angle(self.program(program), where) * real(scale)
        atoms, coefficients = list(angle.atoms), list(angle.coefficients)
        for entry in _list(entries):
            reference, element, coefficient = _list(entry, 3)
            leaf = self.leaf(reference)
            if not 0 <= _integer(element) < leaf.numel():
                raise ConversionError(
                    f"an angle's data need an element, got {entry!r:.80}. {REPAIR}"
                )
            atoms.append((leaf, element))
            coefficients.append(real(coefficient))
        leaves = (*angle.leaves, *[leaf for leaf, _ in atoms])
        terms = tuple(atoms), tuple(coefficients)
        return Angle(*terms, angle.offset + real(offset), angle.program, real(scale), leaves)

    def program(self, data: Any) -> Program:
        """Trace the ops once more, so that shapes fit and nothing is larger than allowed."""
        slots, constants, steps, output = fields(data, ("slots", "constants", "steps", "output"))
        leaves = tuple([self.leaf(slot) for slot in _list(slots)])
        fixed = tuple([constant(_array(value)) for value in _list(constants)])
        values: dict[tuple[str, int, int], Tensor] = {
            ("slot", k, 0): placeholder(x.shape, x.dtype) for k, x in enumerate(leaves)
        }
        values |= {("constant", k, 0): x for k, x in enumerate(fixed)}
        made = []
        for position, entry in enumerate(_list(steps)):
            step, outs = _step(entry, values)
            made.append(step)
            values |= {("result", position, k): out for k, out in enumerate(outs)}
        (result,) = _list(output, 1)
        ref, value = _operand(result, values)
        if value.numel() != 1:
            raise ConversionError(
                f"an angle's data need one element, got shape {value.shape}. {REPAIR}"
            )
        return Program(leaves, fixed, tuple(made), (ref,))


def _step(data: Any, values: Mapping[tuple[str, int, int], Tensor]) -> tuple[Step, list[Tensor]]:
    """Return one op of an expression, and placeholders for what it makes."""
    name, operands, attrs = fields(data, ("op", "operands", "attrs"))
    if not isinstance(name, str) or name not in OPS or not isinstance(attrs, dict):
        raise ConversionError(
            f"an angle's data need an op of the table, got {name!r:.60}. {REPAIR}"
        )
    pairs = [_operand(operand, values) for operand in _list(operands)]
    tensors = [value for _, value in pairs]
    if not any(x._cell.state is State.ABSTRACT for x in tensors):
        raise ConversionError(
            f"an angle's data need ops of leaves, got {name} of constants only. {REPAIR}"
        )
    known = {key: attribute_value(value) for key, value in attrs.items()}
    result = apply(OPS[name], *tensors, **known)
    outs = list(result) if isinstance(result, tuple) else [result]
    if max([out.numel() for out in outs], default=0) > MAX_ELEMENTS:
        raise ConversionError(
            f"an angle's data need up to {MAX_ELEMENTS} elements in {name}. {REPAIR}"
        )
    refs, ranks = tuple([ref for ref, _ in pairs]), tuple([x.ndim for x in tensors])
    return Step(OPS[name], refs, known, ranks), outs


def _operand(data: Any, values: Mapping[tuple[str, int, int], Tensor]) -> tuple[Ref, Tensor]:
    place, index, output = _list(data, 3)
    key = (str(place), _integer(index), _integer(output))
    if key not in values:
        raise ConversionError(f"an angle's data need an earlier value, got {data!r:.80}. {REPAIR}")
    return Ref(Place(key[0]), key[1], key[2]), values[key]


# -- checks ----------------------------------------------------------------------------------------


def fields(data: Any, keys: Sequence[str]) -> list[Any]:
    """Return the values of exactly these keys, or refuse.

    Raises:
        ConversionError: no object, or other keys.
    """
    if not isinstance(data, dict) or data.keys() != set(keys):
        found = sorted(data) if isinstance(data, dict) else data
        raise ConversionError(f"a circuit's data need {list(keys)}, got {found!r:.120}. {REPAIR}")
    return [data[key] for key in keys]


def _list(data: Any, length: int | None = None) -> list[Any]:
    if not isinstance(data, list) or (length is not None and len(data) != length):
        raise ConversionError(f"a circuit's data need a list, got {data!r:.80}. {REPAIR}")
    return data


def _integer(data: Any) -> int:
    if not isinstance(data, int):
        raise ConversionError(f"a circuit's data need an integer, got {data!r:.80}. {REPAIR}")
    return data
