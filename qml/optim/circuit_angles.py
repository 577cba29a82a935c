"""How Parameters enter a circuit's angles, for optimizers that look inside the circuit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from autodiff import Parameter, ParameterError
from circuits import Circuit
from circuits.angles import Angle
from circuits.occurrences import symbolic_angles
from circuits.run_methods import Run
from qml.errors import SettingError


@dataclass(frozen=True)
class Slot:
    """One symbolic angle of a circuit: column k of its angle table is slot k.

    Attributes:
        gate: the gate's name.
        angle: the expression.
        spectrum: all w for which e^{i w a} occurs in the matrix's entries, controls included.
    """

    gate: str
    angle: Angle
    spectrum: tuple[float, ...]

    @property
    def frequencies(self) -> tuple[float, ...]:
        """With which expectation values vary with the angle, ascending."""
        return tuple(sorted({a - b for a in self.spectrum for b in self.spectrum if a > b}))


def slots_of(circuit: Circuit) -> list[Slot]:
    """Return the circuit's slots in order.

    >>> slots_of(Circuit(1).rx(Parameter(0.1), 0))[0].frequencies
    (1.0,)
    """
    slots = []
    for found in symbolic_angles(circuit.instructions):
        held = (0.0,) if found.instruction.controls else ()
        spectrum = tuple({*found.instruction.gate.spectra[found.slot], *held})
        slots.append(Slot(found.instruction.name, found.angle, spectrum))
    return slots


def checked_circuit(owner: str, circuit: Circuit, params: Iterable[Parameter]) -> None:
    """Refuse what is no circuit, and Parameters that are not the circuit's.

    Raises:
        SettingError: no circuit.
        ParameterError: a Parameter that the circuit does not have.
    """
    if not isinstance(circuit, Circuit):
        raise SettingError(
            f"{owner} needs a Circuit, got {type(circuit).__name__}. Pass the circuit that the "
            "Parameters belong to."
        )
    known = {id(p._meta) for p in circuit.parameters()}
    for parameter in params:
        if id(parameter._meta) not in known:
            raise ParameterError(
                f"{owner} needs Parameters of its circuit, got {parameter._label()}. It has "
                f"{circuit.parameter_names()}; train others with another optimizer."
            )


def refuse_batch(owner: str, run: Run) -> None:
    """Refuse inputs with a batch axis.

    Raises:
        SettingError: there is one.
    """
    if run.angles.ndim == 2:
        raise SettingError(
            f"{owner} needs inputs of a single sample, got a batch of {run.angles.shape[0]}. "
            "Give arrays of shape (size,)."
        )
