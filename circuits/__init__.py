"""Parametrised quantum circuits, observables, and their differentiable simulation."""

from autodiff import Parameter, Tensor
from circuits.angles import Angle, Input
from circuits.circuit import Circuit
from circuits.errors import (
    AngleError,
    BindingError,
    CapacityError,
    CircuitError,
    ConversionError,
    EngineError,
    GateError,
    MeasurementError,
    ObservableError,
    QubitError,
    StateError,
)
from circuits.functions import (
    bloch_vector,
    counts,
    density_matrix,
    entropy,
    expectation,
    probabilities,
    purity,
    sample,
    statevector,
)
from circuits.gate_methods import install_gates
from circuits.gates import GATES
from circuits.interop import from_qiskit, install_interop, to_qiskit
from circuits.observables import Hermitian, Projector, SparseHermitian
from circuits.pauli import I, PauliSum, PauliWord, X, Y, Z
from circuits.simulator import Simulator
from circuits.state import fidelity, overlap

install_gates(Circuit)
install_interop(Circuit, PauliSum)

__all__ = [
    "GATES",
    "Angle",
    "AngleError",
    "BindingError",
    "CapacityError",
    "Circuit",
    "CircuitError",
    "ConversionError",
    "EngineError",
    "GateError",
    "Hermitian",
    "I",
    "Input",
    "MeasurementError",
    "ObservableError",
    "Parameter",
    "PauliSum",
    "PauliWord",
    "Projector",
    "QubitError",
    "Simulator",
    "SparseHermitian",
    "StateError",
    "Tensor",
    "X",
    "Y",
    "Z",
    "bloch_vector",
    "counts",
    "density_matrix",
    "entropy",
    "expectation",
    "fidelity",
    "from_qiskit",
    "overlap",
    "probabilities",
    "purity",
    "sample",
    "statevector",
    "to_qiskit",
]
