"""Our Parameters, Inputs and angles as Qiskit's parameter expressions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import numpy as np
from qiskit.circuit import Parameter as QiskitParameter
from qiskit.circuit import ParameterVector

from autodiff import Parameter, Program
from autodiff.program import Place, Ref
from circuits.angles import Angle
from circuits.circuit import Circuit
from circuits.errors import ConversionError

# Any in this file: Qiskit's expressions, object arrays of them, attributes of ops.

_IDENTITY = re.compile(r"(?P<root>[0-9a-f-]{36})\[(?P<index>\d+)\]")
_ELEMENT = re.compile(r"(?P<stem>.+)\[(?P<index>\d+)\]")

_MAX_SIZE = 10_000
"""Operations of an expression as a tree: a part that is used twice counts twice."""

_LONG_DIVISION = 16
"""From this size on, Qiskit's simplification of x / y takes minutes, that of x * y**-1 nothing."""

_TAKES_UUID = hasattr(ParameterVector, "uuid")

_SPECIAL: Mapping[str, Callable[[Any], Any]] = {
    "sign": np.vectorize(lambda x: x.sign(), otypes=[object]),
    "sqrt": lambda x: x**0.5,
    "square": lambda x: x**2,
    "real": lambda x: x,
}
"""What NumPy does not pass on to the elements of an object array."""


def _times_reciprocal(x: Any, y: Any) -> Any:
    return x * y**-1.0


class ExportedSymbols:
    """Qiskit's Parameters of a circuit, by our leaves.

    A Parameter keeps its name and identity, so that the symbols of an imported circuit are the
    user's own; an unnamed one has the name that ``parameter_names`` lists. A Parameter of several
    elements, and an Input, is a ParameterVector.

    Raises:
        ConversionError: two symbols of one name.
    """

    def __init__(self, circuit: Circuit) -> None:
        named = list(zip(circuit.parameter_names(), circuit.parameters(), strict=True))
        vectors = _common_vectors([(name, p) for name, p in named if p.numel() == 1])
        self._arrays: dict[int, Any] = {}
        for name, p in named:
            self._arrays[id(p._meta)] = _symbols_of(name, p, vectors)
        for x in circuit.inputs:
            self._arrays[id(x._meta)] = np.array(list(ParameterVector(x.name, x.shape[0])), object)
        every = [s for array in self._arrays.values() for s in array.flat]
        twice = [name for name, count in Counter(s.name for s in every).items() if count > 1]
        if twice:
            raise ConversionError(
                f"to_qiskit needs symbols of different names, got {twice} twice. "
                "Rename the Parameter or the Input."
            )

    def expression(self, angle: float | Angle) -> Any:
        """Return a number, a Parameter or an expression."""
        if not isinstance(angle, Angle):
            return angle
        total: Any = None
        for (leaf, element), factor in zip(angle.atoms, angle.coefficients, strict=True):
            symbol = self._arrays[id(leaf._meta)].flat[element]
            term = symbol if factor == 1.0 else factor * symbol
            total = term if total is None else total + term
        if angle.program is not None:
            value = self._run(angle.program)
            term = value if angle.scale == 1.0 else angle.scale * value
            total = term if total is None else total + term
        if total is None:
            return angle.offset
        return total if angle.offset == 0.0 else total + angle.offset

    def _run(self, program: Program) -> Any:
        """Run a program on object arrays of symbols; NumPy hands its functions on to them."""
        results: list[Any] = []
        sizes: list[int] = []

        def size(ref: Ref) -> int:
            return sizes[ref.index] if ref.place is Place.RESULT else 1

        def operand(ref: Ref) -> Any:
            if ref.place is Place.SLOT:
                return self._arrays[id(program.slots[ref.index]._meta)]
            if ref.place is Place.CONSTANT:
                return program.constants[ref.index].numpy()
            return results[ref.index]

        for step in program.instructions:
            operands = [operand(ref) for ref in step.operands]
            sizes.append(1 + sum(map(size, step.operands)))
            if sizes[-1] > _MAX_SIZE:
                raise ConversionError(
                    f"to_qiskit needs expressions of up to {_MAX_SIZE} operations once shared "
                    f"parts are written out, as Qiskit does, got more at {step.op.name!r}. "
                    "Give the number, or make the shared part a Parameter or an Input."
                )
            try:
                special: Callable[..., Any] | None = _SPECIAL.get(step.op.name)
                if step.op.name == "divide" and sizes[-1] > _LONG_DIVISION:
                    special = _times_reciprocal
                made = (
                    special(*operands) if special else step.op.forward(np, *operands, **step.attrs)
                )
            except (TypeError, AttributeError, ValueError) as error:
                raise ConversionError(
                    f"to_qiskit needs expressions that Qiskit has too, got {step.op.name!r}. "
                    "Write it with + - * / ** sin cos tan arcsin arccos arctan exp log abs sign, "
                    "or give the number."
                ) from error
            results.append(made)
        return np.asarray(operand(program.outputs[0]), object).item()


def _symbols_of(name: str, parameter: Parameter, vectors: Mapping[str, ParameterVector]) -> Any:
    """Return an object array of the Parameter's shape."""
    if parameter.numel() != 1:
        array = np.array(list(ParameterVector(name, parameter.numel())), object)
        return array.reshape(parameter.shape)
    element, root = _ELEMENT.fullmatch(name), _IDENTITY.fullmatch(parameter.uuid)
    if element and root:
        symbol = vectors[root["root"]][int(root["index"])]
    else:
        symbol = QiskitParameter(name, uuid=UUID(parameter.uuid))
    array = np.empty(parameter.shape, object)
    array[...] = symbol
    return array


def _common_vectors(named: list[tuple[str, Parameter]]) -> dict[str, ParameterVector]:
    """Return the vectors whose elements were imported, by their uuid."""
    lengths: dict[str, tuple[str, int]] = {}
    for name, p in named:
        element, root = _ELEMENT.fullmatch(name), _IDENTITY.fullmatch(p.uuid)
        if element and root:
            _, known = lengths.get(root["root"], ("", 0))
            lengths[root["root"]] = element["stem"], max(known, int(root["index"]) + 1)
    return {root: _vector(stem, length, root) for root, (stem, length) in lengths.items()}


def _vector(stem: str, length: int, root: str) -> ParameterVector:
    if _TAKES_UUID:
        return ParameterVector(stem, length, UUID(root))
    vector = ParameterVector(stem)  # Qiskit 1.x has no public way
    vector._root_uuid = UUID(root)
    vector.resize(length)
    return vector
