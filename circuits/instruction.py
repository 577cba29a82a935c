"""One entry of a circuit: a row of the gate table with qubits, angles and what it carries."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autodiff import Tensor
from circuits.angles import Angle
from circuits.errors import GateError, QubitError
from circuits.gate_row import Gate, Payload
from circuits.gates import inverted
from circuits.payloads import checked_payload


@dataclass(frozen=True)
class TrainableMatrix:
    """A matrix Tensor that is read at each run, or its conjugate, transpose or adjoint."""

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
        checked_payload(_UNITARY, self.tensor.numpy(), size)
        matrix = self.tensor.T if self.transposed else self.tensor
        return matrix.conj() if self.conjugated else matrix


_UNITARY = Gate("unitary", "checked at each run", None, None, payload=Payload.MATRIX)  # type: ignore[arg-type]


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
        """Return the same gate with other leaves in its angles."""
        angles = tuple([a.substitute(leaf_of) if isinstance(a, Angle) else a for a in self.angles])
        return replace(self, angles=angles)


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
        except TypeError:
            index = -1
        if isinstance(qubit, bool) or not 0 <= index < num_qubits:
            raise QubitError(
                f"{name} needs qubits from 0 to {num_qubits - 1}, got {qubit!r}. "
                f"The circuit has {num_qubits} qubits, counted from 0."
            )
        found.append(index)
    if len(set(found)) != len(found):
        raise QubitError(f"{name} needs distinct qubits, got {tuple(found)}. Name each qubit once.")
    return tuple(found)


def checked_ctrl_state(name: str, ctrl_state: int | str | None, num_controls: int) -> int:
    """Return the control state as bits; None means all ones, text is q[k-1]...q[0]."""
    top = (1 << num_controls) - 1
    if ctrl_state is None:
        return top
    value = -1
    if isinstance(ctrl_state, str):
        if len(ctrl_state) == num_controls and set(ctrl_state) <= set("01"):
            value = int(ctrl_state, 2)
    elif isinstance(ctrl_state, int):
        value = ctrl_state
    if not 0 <= value <= top:
        raise GateError(
            f"{name} needs a ctrl_state from 0 to {top} or {num_controls} characters 0 and 1, "
            f"got {ctrl_state!r}. Bit k belongs to control k."
        )
    return value
