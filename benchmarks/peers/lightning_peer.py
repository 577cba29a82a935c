"""PennyLane's lightning.qubit with the adjoint method."""

from __future__ import annotations

import numpy as np
import pennylane as qml

from benchmarks.cases import Case
from benchmarks.peers.pennylane_circuit import QNodeEvaluation


def build(case: Case) -> QNodeEvaluation:
    """Build a case."""
    dtype = np.complex64 if case.single else np.complex128
    device = qml.device("lightning.qubit", wires=case.num_qubits, c_dtype=dtype)
    return QNodeEvaluation(case, device, "adjoint")
