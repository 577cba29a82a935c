"""PennyLane's default.qubit with backpropagation: a batch is one array there."""

from __future__ import annotations

import pennylane as qml

from benchmarks.cases import Case
from benchmarks.peers.pennylane_circuit import QNodeEvaluation


def build(case: Case) -> QNodeEvaluation:
    """Build a case."""
    return QNodeEvaluation(case, qml.device("default.qubit", wires=case.num_qubits), "backprop")
