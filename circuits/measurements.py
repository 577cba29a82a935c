"""Which qubit each classical bit reads, and what that forbids."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from circuits.errors import MeasurementError
from circuits.instruction import Instruction, checked_qubits


class Measurements:
    """The map from classical bits to the qubits that they read; two bits may read one qubit.

    Attributes:
        qubits: qubit by classical bit, in the order of the measurements.
    """

    def __init__(self, qubits: Mapping[int, int] | None = None) -> None:
        self.qubits = dict(qubits or {})

    def add(self, qubits: Sequence[Any], clbits: Sequence[Any], num_qubits: int) -> None:
        """Measure qubits, all or none; Any, since they are checked here.

        Raises:
            QubitError: bad qubits.
            MeasurementError: a bit that is taken, or not one bit a qubit.
        """
        if len(qubits) != len(clbits):
            raise MeasurementError(
                f"measure needs one classical bit a qubit, got {len(clbits)} for {len(qubits)}. "
                "Give lists of one length."
            )
        made = dict(self.qubits)
        for qubit, clbit in zip(qubits, clbits, strict=True):  # a qubit may stand here twice
            (checked,) = checked_qubits("measure", [qubit], num_qubits)
            made[_checked_clbit(clbit, made)] = checked
        self.qubits = made

    def joined(
        self, others: Mapping[int, int], places: Sequence[int], num_qubits: int
    ) -> Measurements:
        """Return these and those of a circuit whose qubit k stands at ``places[k]``."""
        made = Measurements(self.qubits)
        made.add([places[q] for q in others.values()], list(others), num_qubits)
        return made

    def refuse_measured(self, instructions: Iterable[Instruction]) -> None:
        """Refuse gates on measured qubits.

        Raises:
            MeasurementError: mid-circuit measurement.
        """
        measured = set(self.qubits.values())
        for instruction in instructions if measured else ():
            touched = measured.intersection(instruction.qubits)
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
        if self.qubits:
            raise MeasurementError(
                f"{what} needs a circuit without measurements, got measured qubits "
                f"{sorted(set(self.qubits.values()))}. Measure after {what}."
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
