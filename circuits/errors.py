"""What circuits refuse, one class per kind. All of them are ValueErrors."""

from __future__ import annotations


class CircuitError(ValueError):
    """Base of everything that this package refuses."""


class GateError(CircuitError):
    """Unknown gate, or a gate with a wrong number of operands or an invalid matrix."""


class QubitError(CircuitError):
    """Qubits out of range, repeated, negative or not integers."""


class AngleError(CircuitError):
    """An angle that is no number, Parameter, Input element or expression of them."""


class BindingError(CircuitError):
    """Inputs or values that are missing, unknown or of the wrong shape."""


class ObservableError(CircuitError):
    """An observable that is not Hermitian, or does not fit the circuit."""


class StateError(CircuitError):
    """An initial state of the wrong size or dtype, or not normalised."""


class MeasurementError(CircuitError):
    """Reset, mid-circuit measurement, or a number of shots that is not positive."""


class SeedError(CircuitError):
    """A seed that is no non-negative integer and no Generator."""


class EngineError(CircuitError):
    """Unknown engine, or a request that an engine cannot serve."""


class CapacityError(CircuitError):
    """A run that would need more memory than there is."""


class ConversionError(CircuitError):
    """Something in a foreign circuit that has no counterpart here, by name and position."""


class DrawingError(CircuitError):
    """A kind of drawing that does not exist, or values that a plot cannot show."""
