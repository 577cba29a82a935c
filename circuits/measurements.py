"""Which classical bit each measured qubit goes to, and what that forbids."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from circuits.errors import MeasurementError
from circuits.instruction import Instruction, checked_qubits


class Measurements:
    """The map from measured qubits to classical bits.

    Attributes:
        clbits: classical bit by qubit.
    """

    def __init__(self, clbits: dict[int, int] | None = None) -> None:
        self.clbits = dict(clbits or {})

    def add(self, qubits: Sequence[Any], clbits: Sequence[Any], num_qubits: int) -> None:
        """Measure qubits, all or none; Any, since they are checked here.

        Raises:
            QubitError: bad qubits.
            MeasurementError: a qubit or a bit that is taken, or not one bit a qubit.
        """
        if len(qubits) != len(clbits):
            raise MeasurementError(
                f"measure needs one classical bit a qubit, got {len(clbits)} for {len(qubits)}. "
                "Give lists of one length."
            )
        made = dict(self.clbits)
        for qubit, clbit in zip(checked_qubits("measure", qubits, num_qubits), clbits, strict=True):
            if qubit in made:
                raise MeasurementError(
                    f"measure needs a qubit once, got qubit {qubit} again. Read its bit twice."
                )
            made[qubit] = _checked_clbit(clbit, made.values())
        self.clbits = made

    def joined(
        self, others: Mapping[int, int], places: Sequence[int], num_qubits: int
    ) -> Measurements:
        """Return these and those of a circuit whose qubit k stands at ``places[k]``."""
        made = Measurements(self.clbits)
        made.add([places[q] for q in others], list(others.values()), num_qubits)
        return made

    def refuse_measured(self, instructions: Iterable[Instruction]) -> None:
        """Refuse gates on measured qubits.

        Raises:
            MeasurementError: mid-circuit measurement.
        """
        for instruction in instructions if self.clbits else ():
            touched = set(instruction.qubits) & set(self.clbits)
            if touched:
                raise MeasurementError(
                    f"{instruction.name} needs qubits without a measurement, got "
                    f"{sorted(touched)}. Put all gates before the measurements; mid-circuit "
                    "measurement is not supported."
                )

    def refuse_any(self, what: str) -> None:
        """Refuse what has no meaning for a circuit with measurements.

        Raises:
            MeasurementError: there are measurements.
        """
        if self.clbits:
            raise MeasurementError(
                f"{what} needs a circuit without measurements, got measured qubits "
                f"{sorted(self.clbits)}. Measure after {what}."
            )


def _checked_clbit(clbit: Any, taken: Iterable[int]) -> int:
    try:
        bit = operator.index(clbit)
    except TypeError:
        bit = -1
    if isinstance(clbit, bool) or bit < 0 or bit in taken:
        raise MeasurementError(
            f"measure needs a free classical bit from 0 on, got {clbit!r}. Use each bit once."
        )
    return bit
