"""One row of the gate table, and what makes a table consistent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from circuits.errors import GateError
from circuits.gate_matrices import ShiftDerivative
from circuits.plan.steps import ComplexArray, MatrixFunction, Structure

# Angles of a gate, numbers or symbolic; a map may only negate, reorder and add numbers.
# Any: a symbolic angle is a class of a module above this one.
Angles = tuple[Any, ...]
AngleMap = Callable[[Angles], Angles]


class Payload(Enum):
    """What an instruction itself carries, for gates whose row holds no matrix."""

    MATRIX = "matrix"
    """Unitary ``(2**k, 2**k)`` on k targets."""
    DIAGONAL = "diagonal"
    """``(2**k,)`` numbers of modulus 1."""
    IMAGES = "images"
    """``(2**k,)`` integers: local basis state j moves to ``images[j]``."""
    PATTERN = "pattern"
    """``(k,)`` integers: target j then holds what target ``pattern[j]`` held (Qiskit)."""
    LABEL = "label"
    """k Pauli letters, the rightmost one on the first target (Qiskit)."""


def negated(angles: Angles) -> Angles:
    """Every angle with the opposite sign."""
    return tuple(-angle for angle in angles)


@dataclass(frozen=True, eq=False)
class Gate:
    """One row. Equal to itself only; copied and pickled by name.

    Attributes:
        name: Qiskit's name.
        doc: what the gate does, one line.
        structure: how the base matrix acts on the targets.
        num_qubits: targets, without controls; None where the payload decides.
        params: names of the angles, in order.
        word: Pauli letters of a rotation, ``word[k]`` on target k.
        permutation: local basis state j moves to ``permutation[j]``, ``(d,)`` int64.
        matrix: constant ``(d, d)``, or ``(d,)`` for DIAGONAL.
        function: the same from angles ``(..., p)``, vectorised.
        payload: what the instruction carries instead of the four above.
        spectra: for each angle a, all w for which e^{i w a} occurs in the base matrix's entries.
            The derivative and the parameter-shift rule follow; a rotation's are +-1/2.
        derivative: of ``function``; made from ``spectra`` where not given.
        num_controls: control qubits, listed before the targets; None for any number from one.
        base: name of the gate that is controlled, where it has a name.
        inverse: name of the gate that undoes this one on the same controls and targets; "" is the
            gate itself, None the adjoint of the constant matrix.
        inverse_angles: angles of the inverse from those of the gate.
        aliases: other accepted names.
        qiskit: class in ``qiskit.circuit.library``, if there is one.
        symbol: text on the target in a drawing.
    """

    name: str
    doc: str
    structure: Structure
    num_qubits: int | None = 1
    params: tuple[str, ...] = ()
    word: str | None = None
    permutation: NDArray[np.int64] | None = None
    matrix: ComplexArray | None = None
    function: MatrixFunction | None = None
    payload: Payload | None = None
    spectra: tuple[tuple[float, ...], ...] = ()
    derivative: MatrixFunction | None = None
    num_controls: int | None = 0
    base: str | None = None
    inverse: str | None = ""
    inverse_angles: AngleMap = negated
    aliases: tuple[str, ...] = ()
    qiskit: str = ""
    symbol: str = ""

    def frequencies(self, index: int, *, controlled: bool) -> tuple[float, ...]:
        """Frequencies with which expectation values vary with angle ``index``, ascending.

        They are the positive differences of the matrix's own; a control adds the identity, so 0.

        Args:
            index: position of the angle in ``params``.
            controlled: whether the instruction has control qubits.

        Reference:
            Wierichs et al. (2022), arXiv:2107.12390, section 2.
        """
        spectrum = {*self.spectra[index], *((0.0,) if controlled else ())}
        return tuple(sorted({a - b for a in spectrum for b in spectrum if a > b}))


def _completed(row: Gate) -> Gate:
    """The row with everything that its other fields imply."""
    spectra, derivative = row.spectra, row.derivative
    if row.structure is Structure.ROTATION and row.params:
        spectra = ((-0.5, 0.5),)
    if row.function is not None and derivative is None:
        rates = tuple(max(map(abs, spectrum)) for spectrum in spectra)
        derivative = ShiftDerivative(row.function, rates, row.structure is Structure.DIAGONAL)
    return replace(
        row,
        spectra=spectra,
        derivative=derivative,
        inverse=row.name if row.inverse == "" else row.inverse,
        symbol=row.symbol or row.name.upper(),
    )


def _check_row(row: Gate, names: Mapping[str, str]) -> None:
    """Refuse a row that contradicts itself or names a gate that is not there."""
    actions = (row.word, row.permutation, row.matrix, row.function, row.payload)
    size = row.num_qubits or 0
    shape = (1 << size, 1 << size) if row.structure is Structure.DENSE else (1 << size,)
    array = row.matrix if row.permutation is None else row.permutation
    requirements = {
        "a base in the table": row.base is None or row.base in names,
        "an inverse in the table": row.inverse is None or row.inverse in names,
        "an inverse, as it has angles or a payload": row.inverse is not None
        or not (row.params or row.payload),
        "exactly one of word, permutation, matrix, function and payload": sum(
            action is not None for action in actions
        )
        == 1,
        "either a payload or a number of qubits": (row.num_qubits is None)
        is (row.payload is not None),
        "one spectrum an angle": len(row.spectra) == len(row.params),
        "spectra of the form -w, 0, w, or a derivative of its own": all(
            abs(w) in (0, max(map(abs, spectrum))) for spectrum in row.spectra for w in spectrum
        )
        or not isinstance(row.derivative, ShiftDerivative),
        "one letter a qubit": row.word is None or len(row.word) == size,
        f"an array of shape {shape}": array is None or array.shape == shape,
    }
    for needed, holds in requirements.items():
        if not holds:
            raise GateError(
                f"gate table row {row.name!r} needs {needed}, got {row}. Correct the row."
            )


def build_table(rows: Iterable[Gate]) -> tuple[dict[str, Gate], dict[str, str]]:
    """Complete and check the rows.

    Returns:
        Rows by name, and the name of the row by every accepted name, aliases included.

    Raises:
        GateError: two rows share a name, or a row contradicts itself.
    """
    table: dict[str, Gate] = {}
    names: dict[str, str] = {}
    for row in map(_completed, rows):
        for name in (row.name, *row.aliases):
            if name in names:
                raise GateError(
                    f"gate table row {row.name!r} needs names of its own, got {name!r}, "
                    f"which is {names[name]!r} already. Rename it."
                )
            names[name] = row.name
        table[row.name] = row
    for row in table.values():
        _check_row(row, names)
    return table, names
