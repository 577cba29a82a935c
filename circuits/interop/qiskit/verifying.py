"""One call that compares an import with Qiskit: states, phases, bit order and gradients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import qiskit.circuit
from numpy.typing import NDArray
from qiskit import QuantumCircuit
from qiskit.circuit import Barrier, Delay, ForLoopOp, Measure
from qiskit.circuit import Parameter as QiskitParameter
from qiskit.exceptions import QiskitError
from qiskit.quantum_info import SparsePauliOp, Statevector

from autodiff import Tensor
from circuits.binding import bind
from circuits.circuit import Circuit
from circuits.errors import ConversionError
from circuits.interop.qiskit.expressions import points_of
from circuits.interop.qiskit.importing import import_circuit
from circuits.interop.qiskit.observables import pauli_sum

_DIRECTIONS = 4
_STEPS = (1e-3, 1e-4, 1e-5)
"""Of differences, the next where one does not agree: angles may be fast functions of a symbol."""
_SLOPES = 1e-7
"""What slopes may differ by, relative to 1 or to the largest one."""
_DEEPEST = 10
_WITHOUT_EFFECT = (Barrier, Delay, Measure)
_BOX = getattr(qiskit.circuit, "BoxOp", ())  # from 2.0 on

# Any in this file: what ``from_qiskit`` takes as inputs.

Point = dict[QiskitParameter, float]


@dataclass(frozen=True)
class Verification:
    """Largest differences between an import and Qiskit.

    Attributes:
        state: of the amplitudes at a random point, global phase included.
        reversed_state: the same for the circuit with its qubits in the opposite order.
        gradient: of the slopes of an expectation value in random directions.
    """

    state: float
    reversed_state: float
    gradient: float


def verify_import(
    qc: QuantumCircuit,
    *,
    inputs: Mapping[str, Any] | None = None,
    evolution: str = "definition",
    seed: int = 0,
    tolerance: float = 1e-9,
) -> Verification:
    """Compare ``from_qiskit(qc)`` with Qiskit's Statevector at a random point.

    Args:
        qc: any circuit that the import accepts and Qiskit's Statevector can run.
        inputs: see ``from_qiskit``.
        evolution: see ``from_qiskit``.
        seed: of the point, the observable and the directions.
        tolerance: for amplitudes; slopes, from finite differences of fourth order, may differ by
            1e-7 of the largest one.

    Returns:
        The largest differences.

    Raises:
        ConversionError: a difference above the tolerance, or a circuit that cannot be compared.

    >>> qc = QuantumCircuit(1)
    >>> _ = qc.rx(QiskitParameter("theta"), 0)
    >>> verify_import(qc).state < 1e-15
    True
    """
    imported = import_circuit(qc, inputs, None, evolution)
    reference = _opened(qc)
    if imported.import_report.decomposed and evolution == "definition":
        # Statevector takes the exact exponential of an evolution gate; its definition is meant
        reference = reference.decompose(reps=_DEEPEST)
    rng = np.random.default_rng(seed)
    point = _point(imported, qc, rng)
    found_state = _our_state(imported, point)  # first: it knows what fits into memory
    expected = _state_of(reference, point)
    mirrored = import_circuit(reference.reverse_bits(), inputs, None, evolution)
    found = Verification(
        _largest(found_state - expected.data),
        _largest(_our_state(mirrored, point) - expected.reverse_qargs().data),
        _gradient_error(imported, reference, point, rng),
    )
    states = np.maximum(found.state, found.reversed_state)
    if not (states < tolerance and found.gradient < _SLOPES):
        raise ConversionError(
            f"verify_import needs states within {tolerance} and gradients within 1e-7 of Qiskit's, "
            f"got {found} for {qc.name!r}. Report the circuit with qiskit.qpy.dump."
        )
    return found


def _point(circuit: Circuit, qc: QuantumCircuit, rng: np.random.Generator) -> Point:
    """Return a random point at which every angle is a real number."""
    for point in points_of(qc.parameters, rng):
        inputs, values = _operands(circuit, point)
        if np.isfinite(bind(circuit, inputs, values).angles().numpy()).all():
            return point
    raise ConversionError(
        f"verify_import needs angles that are real numbers at one point, got {qc.name!r} without. "
        "Compare parts of it."
    )


def _opened(qc: QuantumCircuit) -> QuantumCircuit:
    """Return what Statevector runs: boxes and loops written out, measurements and delays left out.

    Qiskit's ``remove_final_measurements`` goes by names, and so removes a user's gate "measure".
    """
    made = qc.copy_empty_like()
    for item in qc.data:
        operation = item.operation
        if isinstance(operation, _WITHOUT_EFFECT):
            continue
        if isinstance(operation, ForLoopOp):
            values, parameter, body = operation.params
            bindings = [{} if parameter is None else {parameter: value} for value in values]
            parts = [body.assign_parameters(b, strict=False) for b in bindings]
        elif isinstance(operation, _BOX):
            parts = list(operation.blocks)
        else:
            made.append(item)
            continue
        for part in parts:
            made.compose(_opened(part), item.qubits, item.clbits, inplace=True)
    return made


def _state_of(reference: QuantumCircuit, point: Point) -> Statevector:
    values = {p: x for p, x in point.items() if p in reference.parameters}
    try:
        return Statevector(reference.assign_parameters(values))
    except (QiskitError, RuntimeError) as error:  # the latter: an angle that is NaN near the point
        why = str(error).strip("'").removesuffix(".")
        raise ConversionError(
            f"verify_import needs a circuit that Qiskit's Statevector can run, got "
            f"{reference.name!r}: {why}. Compare a part of it."
        ) from error


def _largest(difference: NDArray[np.complex128]) -> float:
    return float(np.abs(difference).max(initial=0.0))


def _operands(circuit: Circuit, point: Point) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return inputs and values as Tensors that receive gradients."""
    by_name = {p.name: x for p, x in point.items()}
    inputs = {
        name: Tensor([by_name.get(n, 0.0) for n in names], requires_grad=True)
        for name, names in circuit.import_report.inputs.items()
    }
    values = {n: Tensor(by_name[n], requires_grad=True) for n in circuit.parameter_names()}
    return inputs, values


def _our_state(circuit: Circuit, point: Point) -> NDArray[np.complex128]:
    inputs, values = _operands(circuit, point)
    return circuit.statevector(inputs=inputs, values=values).numpy()


def _gradient_error(
    circuit: Circuit, reference: QuantumCircuit, point: Point, rng: np.random.Generator
) -> float:
    """Return the largest error of slopes, relative to 1 or to the largest slope."""
    if not point or not circuit.num_qubits:
        return 0.0
    observable = _random_observable(circuit.num_qubits, rng)
    inputs, values = _operands(circuit, point)
    circuit.expectation(pauli_sum(observable), inputs=inputs, values=values).backward()
    slopes = {name: _slope(x) for name, x in values.items()}
    for name, names in circuit.import_report.inputs.items():
        slopes |= dict(zip(names, np.atleast_1d(_slope(inputs[name])), strict=True))
    worst, largest = 0.0, 1.0
    for _ in range(_DIRECTIONS):
        direction = {p: float(rng.choice([-1.0, 1.0])) for p in point}
        found = sum(float(slopes[p.name]) * d for p, d in direction.items())
        for step in _STEPS:
            numeric = _difference(reference, observable, point, direction, step)
            error, largest = abs(found - numeric), max(largest, abs(found))
            if error < _SLOPES * largest:
                break
        worst = float(np.maximum(worst, error))  # keeps NaN, which max() drops
    return worst / largest


def _slope(tensor: Tensor) -> Any:  # Any: an array of the tensor's shape
    return np.zeros(tensor.shape) if tensor.grad is None else tensor.grad.numpy()


def _random_observable(num_qubits: int, rng: np.random.Generator) -> SparsePauliOp:
    labels = ["".join(rng.choice(list("IXYZ"), num_qubits)) for _ in range(8)]
    return SparsePauliOp(labels, rng.uniform(-1, 1, 8)).simplify()


def _difference(
    reference: QuantumCircuit,
    observable: SparsePauliOp,
    point: Point,
    direction: Point,
    step: float,
) -> float:
    """Return the slope by a difference of fourth order."""
    values = []
    for k in (-2, -1, 1, 2):
        moved = {p: x + k * step * direction[p] for p, x in point.items()}
        state = _state_of(reference, moved)
        values.append(float(state.expectation_value(observable).real))
    return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
