"""One entry of a circuit: a row of the gate table with qubits, angles and what it carries."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autodiff import ShapeError, Tensor
from autodiff.dtypes import C64, C128
from circuits.angles import Angle, capture_angle
from circuits.errors import CircuitError, GateError, QubitError
from circuits.gate_row import Gate, Payload
from circuits.gates import GATES, inverted
from circuits.payloads import checked_payload
from circuits.stacking import stacked


@dataclass(frozen=True, eq=False)
class TrainableMatrix:
    """A matrix Tensor that is read at each run, or its conjugate, transpose or adjoint.

    Attributes:
        tensor: complex ``(2**k, 2**k)``.
        conjugated: whether its conjugate is meant.
        transposed: whether its transpose is meant.
    """

    tensor: Tensor
    conjugated: bool = False
    transposed: bool = False

    def conj(self) -> TrainableMatrix:
        """Return the conjugate, still read at each run."""
        return replace(self, conjugated=not self.conjugated)

    @property
    def T(self) -> TrainableMatrix:
        """The transpose, still read at each run."""
        return replace(self, transposed=not self.transposed)

    def value(self) -> Tensor:
        """Return the matrix now, or refuse one that is not unitary."""
        size = self.tensor.shape[0].bit_length() - 1
        checked_payload(GATES["unitary"], self.tensor.numpy(), size)
        matrix = self.tensor.T if self.transposed else self.tensor
        return matrix.conj() if self.conjugated else matrix


@dataclass(frozen=True, eq=False)
class Instruction:
    """A gate in a circuit.

    Attributes:
        gate: the row.
        targets: qubits that the base matrix acts on, least significant first.
        controls: all control qubits.
        ctrl_state: bit k is what ``controls[k]`` must hold.
        angles: numbers in radians or captured expressions, one for each of the row's parameters.
        payload: what the row's kind of payload says, or a TrainableMatrix.
    """

    gate: Gate
    targets: tuple[int, ...]
    controls: tuple[int, ...] = ()
    ctrl_state: int = 0
    angles: tuple[float | Angle, ...] = ()
    payload: Any = None  # Any: see circuits.gate_row.Payload

    @property
    def name(self) -> str:
        """The gate's name."""
        return self.gate.name

    @property
    def qubits(self) -> tuple[int, ...]:
        """Controls, then targets."""
        return self.controls + self.targets

    def inverse(self) -> Instruction:
        """Return what undoes this instruction."""
        gate, angles, payload = inverted(self.gate, self.angles, self.payload)
        return replace(self, gate=gate, angles=angles, payload=payload)

    def on(self, qubit_of: Callable[[int], int]) -> Instruction:
        """Return the same gate on other qubits."""
        return replace(
            self,
            targets=tuple([qubit_of(q) for q in self.targets]),
            controls=tuple([qubit_of(q) for q in self.controls]),
        )

    def controlled(self, controls: Sequence[int], ctrl_state: int) -> Instruction:
        """Return the gate under more controls, which stand first."""
        state = ctrl_state | (self.ctrl_state << len(controls))
        return replace(self, controls=(*controls, *self.controls), ctrl_state=state)

    def substitute(self, leaf_of: Callable[[Tensor], Tensor]) -> Instruction:
        """Return the same gate with other leaves in its angles, and another matrix Tensor."""
        angles = tuple([a.substitute(leaf_of) if isinstance(a, Angle) else a for a in self.angles])
        payload = self.payload
        if isinstance(payload, TrainableMatrix):
            payload = replace(payload, tensor=leaf_of(payload.tensor))
        return replace(self, angles=angles, payload=payload)


def checked_instruction(
    row: Gate,
    qubits: Sequence[Any],
    angles: Sequence[Any],
    payload: Any,
    controls: Sequence[Any],
    ctrl_state: int | str | None,
    num_qubits: int,
) -> Instruction:
    """Make an instruction of what the user gave, or refuse it; ``Circuit.append`` documents it.

    Args:
        row: the gate.
        qubits: the row's own controls, then its targets. Any here: all of it is checked.
        angles: one for each of the row's parameters.
        payload: what the row's kind of payload says.
        controls: more controls, which stand first.
        ctrl_state: what all controls must hold.
        num_qubits: the circuit's width.
    """
    every = checked_qubits(row.name, (*controls, *qubits), num_qubits)
    own = row.num_controls
    if own is None:
        own = max(len(qubits) - (row.num_qubits or 1), 1)
    count = own + len(controls)
    held, targets = every[:count], every[count:]
    if len(qubits) < own or (row.num_qubits is not None and len(targets) != row.num_qubits):
        wanted = "one qubit or more" if row.num_qubits is None else own + row.num_qubits
        raise GateError(
            f"{row.name} needs {wanted} qubits, got {len(qubits)}: {tuple(qubits)}. "
            "Controls come first, then targets."
        )
    if len(angles) != len(row.params):
        names = ", ".join(row.params) or "no angles"
        raise GateError(f"{row.name} needs {names}, got {len(angles)} angles. Angles come first.")
    state = checked_ctrl_state(row.name, ctrl_state, count)
    where = f"{row.name} on qubits {every}"
    captured = tuple([capture_angle(angle, where) for angle in angles])
    carried = _carried(row, payload, len(targets))
    return Instruction(row, targets, held, state, captured, carried)


def _carried(row: Gate, payload: Any, size: int) -> Any:  # Any: see circuits.gate_row.Payload
    """Return the payload in its frozen form; a matrix Tensor stays one."""
    if isinstance(payload, TrainableMatrix):
        return _checked_matrix(row, payload, size)
    try:
        payload = stacked(payload)
    except ShapeError as error:
        raise GateError(
            f"{row.name} needs a matrix of one shape in a list, got others. {error}"
        ) from error
    if not isinstance(payload, Tensor):
        return checked_payload(row, payload, size)
    if row.payload is Payload.MATRIX:
        matrix = _checked_matrix(row, TrainableMatrix(payload), size)
        matrix.value()
        return matrix
    if payload.requires_grad:
        raise GateError(
            f"{row.name} needs fixed numbers, got {payload._label()} that requires grad. "
            "Detach it, or write the gate as a unitary(matrix), which is differentiated."
        )
    return checked_payload(row, payload.numpy(), size)


def _checked_matrix(row: Gate, matrix: TrainableMatrix, size: int) -> TrainableMatrix:
    """Refuse a matrix that cannot fit; whether it is unitary is checked at each run."""
    shape, given = (1 << size, 1 << size), matrix.tensor
    if row.payload is not Payload.MATRIX or given.shape != shape or given.dtype not in (C64, C128):
        raise GateError(
            f"{row.name} needs a complex matrix of shape {shape}, got {given._label()}. "
            "Convert it with astype('complex128')."
        )
    return matrix


def checked_qubits(name: str, qubits: Sequence[Any], num_qubits: int) -> tuple[int, ...]:
    """Return qubits as ints, or refuse them with the gate named.

    Args:
        name: the gate, for messages.
        qubits: what the user gave; Any, since it is checked here.
        num_qubits: the circuit's width.

    Raises:
        QubitError: not integers, out of range, or repeated.
    """
    found = []
    for qubit in qubits:
        try:
            index = operator.index(qubit)
        except (TypeError, ShapeError):  # the latter from Tensors of several integers
            index = -1
        if isinstance(qubit, bool) or not 0 <= index < num_qubits:
            raise QubitError(
                f"{name} needs integer qubits from 0 on, below {num_qubits}, got {qubit!r:.60}. "
                "Count the circuit's qubits from 0; angles come before qubits."
            )
        found.append(index)
    if len(set(found)) != len(found):
        raise QubitError(f"{name} needs distinct qubits, got {tuple(found)}. Name each qubit once.")
    return tuple(found)


def listed(given: Any) -> list[Any]:
    """Return one thing, or several, as a list; Any: numbers, text, what has shape () are one.

    >>> listed(3), listed((0, 1)), listed("01")
    ([3], [0, 1], ['01'])
    """
    single = isinstance(given, str) or getattr(given, "shape", None) == ()
    if single or not isinstance(given, Iterable):
        return [given]
    return list(given)


def checked_count(given: Any, least: int | None, needs: str, error: type[CircuitError]) -> int:
    """Return an integer, Python's or NumPy's, or refuse; Any: whatever the user gave."""
    try:
        number = None if isinstance(given, bool) else operator.index(given)
    except TypeError:
        number = None
    if number is None or (least is not None and number < least):
        bound = "" if least is None else f" from {least} on"
        raise error(f"{needs}{bound}, got {given!r:.60}. Give a Python integer.")
    return number


def checked_name(name: Any) -> str | None:
    """Return a circuit's name, or refuse; Any: where Qiskit has a number of classical bits."""
    if name is not None and not isinstance(name, str):
        raise CircuitError(
            f"a circuit's name needs text, got {name!r:.60}. "
            "Classical bits are not declared: measure(qubit, bit)."
        )
    return name


def checked_ctrl_state(name: str, ctrl_state: int | str | None, num_controls: int) -> int:
    """Return the control state as bits; None means all ones, text is q[k-1]...q[0]."""
    top = (1 << num_controls) - 1
    if ctrl_state is None:
        return top
    value = -1
    if isinstance(ctrl_state, str):
        if len(ctrl_state) == num_controls and set(ctrl_state) <= set("01"):
            value = int(ctrl_state, 2)
    elif isinstance(ctrl_state, int | np.integer) and not isinstance(ctrl_state, bool):
        value = int(ctrl_state)
    if not 0 <= value <= top:
        raise GateError(
            f"{name} needs a ctrl_state from 0 to {top} or {num_controls} characters 0 and 1, "
            f"got {ctrl_state!r}. Bit k belongs to control k."
        )
    return value
