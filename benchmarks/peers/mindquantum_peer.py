"""MindQuantum: its state vector simulator with ``get_expectation_with_grad``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from mindquantum.core.circuit import Circuit
from mindquantum.core.gates import RX, RY, RZ, SWAP, H, Rxx, Rzz, T, UnivMathGate, X, Z
from mindquantum.core.operators import Hamiltonian, QubitOperator
from mindquantum.dtype import complex64, complex128
from mindquantum.simulator import Simulator

from benchmarks.cases import Case, RealArray, Step
from benchmarks.libraries import Evaluation

# Any in this file: MindQuantum's objects, which have no types.
FIXED: Mapping[str, Any] = {"h": H, "t": T, "swap": SWAP}
ROTATIONS: Mapping[str, Callable[[str], Any]] = {
    "rx": RX,
    "ry": RY,
    "rz": RZ,
    "rxx": Rxx,
    "rzz": Rzz,
}


class MindQuantum(Evaluation):
    """Value and gradient of a case's loss."""

    def __init__(self, case: Case) -> None:
        dtype = complex64 if case.single else complex128
        self.data = case.data() if case.batch else None
        encoder, ansatz = Circuit(), Circuit()
        for step in case.steps:
            part = ansatz if step.feature is None else encoder
            part += gate_of(step)
        circuit = encoder.as_encoder() + ansatz if case.batch else ansatz
        operator = QubitOperator()
        for coefficient, word in case.terms:
            operator += QubitOperator(" ".join(f"{p}{q}" for p, q in word), coefficient)
        simulator = Simulator("mqvector", case.num_qubits, dtype=dtype)
        workers = {"parallel_worker": os.cpu_count()} if case.batch else {}
        self.function = simulator.get_expectation_with_grad(
            Hamiltonian(operator, dtype), circuit, **workers
        )
        # It orders parameters by first use; a slot that no gate uses has no place in its vector.
        names = circuit.ansatz_params_name
        self.slots = np.array([int(name.removeprefix("p")) for name in names])
        self.num_parameters = case.num_parameters

    def __call__(self, parameters: RealArray) -> tuple[float, RealArray]:
        gradient = np.zeros(self.num_parameters, parameters.dtype)
        if self.data is None:
            value, slopes = self.function(parameters[self.slots])
            gradient[self.slots] = slopes[0, 0].real
            return value[0, 0].real, gradient
        values, _, slopes = self.function(self.data, parameters[self.slots])
        values = values[:, 0].real
        gradient[self.slots] = 2 * values @ slopes[:, 0].real / len(values)
        return np.mean(values**2), gradient


def build(case: Case) -> MindQuantum:
    """Build a case."""
    return MindQuantum(case)


def gate_of(step: Step) -> Any:
    """Return MindQuantum's gate on its qubits."""
    qubits = list(step.qubits)
    if step.matrix is not None:
        return UnivMathGate("u", step.matrix).on(qubits)
    if step.gate in FIXED:
        return FIXED[step.gate].on(qubits if len(qubits) > 1 else qubits[0])
    if step.gate in ("cx", "cz"):
        return {"cx": X, "cz": Z}[step.gate].on(qubits[1], qubits[0])
    name = f"p{step.slot}" if step.feature is None else f"x{step.feature}"
    if step.gate == "crx":
        return RX(name).on(qubits[1], qubits[0])
    return ROTATIONS[step.gate](name).on(qubits if len(qubits) > 1 else qubits[0])
