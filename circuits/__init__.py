"""Parametrised quantum circuits, observables, and their differentiable simulation."""

from autodiff import Parameter, Tensor
from autodiff.sites import register_library
from circuits.angles import Angle, Input
from circuits.audit import audit_gradients
from circuits.circuit import Circuit
from circuits.drawing.states import (
    bloch_plot,
    probability_plot,
    save_bloch_plot,
    save_probability_plot,
)
from circuits.engines.numba_threads import get_num_threads, set_num_threads
from circuits.errors import (
    AngleError,
    BindingError,
    CapacityError,
    CircuitError,
    ConversionError,
    DrawingError,
    EngineError,
    GateError,
    MeasurementError,
    ObservableError,
    QubitError,
    SeedError,
    StateError,
)
from circuits.functions import (
    bloch_vector,
    counts,
    density_matrix,
    entropy,
    expectation,
    marginal,
    probabilities,
    purity,
    sample,
    statevector,
    unitary,
    variance,
)
from circuits.gate_methods import install_gates
from circuits.gates import GATES
from circuits.interop import from_qiskit, install_interop, to_qiskit
from circuits.interop.openqasm import from_qasm, to_qasm
from circuits.observables import Hermitian, Projector, SparseHermitian
from circuits.pauli import I, PauliSum, PauliWord, X, Y, Z
from circuits.simulator import Simulator
from circuits.state import fidelity, overlap

register_library(__file__)
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
    "DrawingError",
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
    "SeedError",
    "Simulator",
    "SparseHermitian",
    "StateError",
    "Tensor",
    "X",
    "Y",
    "Z",
    "audit_gradients",
    "bloch_plot",
    "bloch_vector",
    "counts",
    "density_matrix",
    "entropy",
    "expectation",
    "fidelity",
    "from_qasm",
    "from_qiskit",
    "get_num_threads",
    "marginal",
    "overlap",
    "probabilities",
    "probability_plot",
    "purity",
    "sample",
    "save_bloch_plot",
    "save_probability_plot",
    "set_num_threads",
    "statevector",
    "to_qasm",
    "to_qiskit",
    "unitary",
    "variance",
]
