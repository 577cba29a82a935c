"""Circuits from and to other packages. Those are imported when they are used, never before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from circuits.errors import ConversionError
from circuits.observable_base import Observable

if TYPE_CHECKING:
    from pathlib import Path

    from circuits.circuit import Circuit
    from circuits.pauli import PauliSum

# Any in this file: Qiskit's classes, which are not imported here.


def from_qiskit(
    qc: Any,
    *,
    inputs: Mapping[str, Any] | None = None,
    values: Any = None,
    evolution: str = "definition",
) -> Circuit:
    """Import a Qiskit circuit with its symbols; nothing is bound or transpiled.

    Every Parameter becomes a scalar Parameter of the same name and identity, in the order of
    ``qc.parameters``; every expression of them an angle. What has no effect on the state is listed
    in ``circuit.import_report``, what has one and is not supported is refused. Final measurements
    decide which classical bit ``counts`` writes to. Every qubit is kept; a circuit that was
    transpiled to a wide device runs after ``circuit.without_idle_qubits()``.

    Args:
        qc: a ``qiskit.QuantumCircuit``.
        inputs: symbols that are features, by Input name: a ParameterVector, its name, or a list of
            Qiskit's Parameters or of names, such as ``qc.parameters``.
        values: start values of the others, 0 by default: ``(P,)`` in order, or a mapping from
            Qiskit's Parameters, ParameterVectors or names. Angles such as a / b have no value at 0
            and give NaN; ``import_report`` names such Parameters.
        evolution: "definition" takes a PauliEvolutionGate's product formula, which hardware runs;
            "exact" takes its matrix exponential.

    Raises:
        ConversionError: an instruction that is not supported, with its name, position, qubits and
            a remedy; inputs that the circuit lacks.
        BindingError: values that do not fit.

    Example:
        >>> from qiskit.circuit import Parameter, QuantumCircuit
        >>> qc = QuantumCircuit(1)
        >>> _ = qc.rx(2 * Parameter("theta"), 0)
        >>> from_qiskit(qc, values={"theta": 0.1}).parameters()
        [Parameter(0.1, dtype=float64, name='theta')]
    """
    from circuits.interop.qiskit.importing import import_circuit

    return import_circuit(qc, inputs, values, evolution)


def to_qiskit(source: Circuit | Observable, num_qubits: int | None = None) -> Any:
    """Export a circuit with its symbols, or an observable.

    Importing the result of a circuit gives the same operations, but for ``cu`` under more controls,
    which becomes u and a phase under them. A Parameter keeps its name and identity; an Input, or a
    Parameter of several elements, becomes a ParameterVector. Expressions stay expressions; a
    trainable matrix enters with its present numbers. Qiskit lists the symbols sorted by name, not
    in our order.

    An observable's coefficients enter with their present values.

    Args:
        source: a Circuit, or any observable.
        num_qubits: width of an observable's operator; by default its own, or the smallest that
            fits.

    Returns:
        A ``qiskit.QuantumCircuit``; of an observable a ``SparsePauliOp``, with projectors a
        ``SparseObservable``, with matrices an ``Operator``.

    Raises:
        ConversionError: an expression that Qiskit does not have, or two symbols of one name.
        ObservableError: the observable has another fixed width.
        QubitError: a qubit of the observable lies outside the width.

    Example:
        >>> from circuits import Circuit, Parameter
        >>> theta = Parameter(0.1, name="theta")
        >>> to_qiskit(Circuit(1).rx(2 * theta, 0)).parameters
        ParameterView([Parameter(theta)])
    """
    if isinstance(source, Observable):
        from circuits.interop.qiskit.observables import observable_to_qiskit

        return observable_to_qiskit(source, num_qubits)
    if num_qubits is not None:
        raise ConversionError(
            f"to_qiskit needs num_qubits for observables only, got {num_qubits!r} for a "
            f"{type(source).__name__}. Leave it out."
        )
    from circuits.interop.qiskit.exporting import export_circuit

    return export_circuit(source)


def pauli_sum_from_qiskit(operator: Any) -> PauliSum:
    """Return the PauliSum of an operator of Qiskit.

    Args:
        operator: SparsePauliOp, Pauli, SparseObservable (projectors are written out in words) or
            Operator (4**n words).

    Raises:
        ConversionError: another class, symbolic coefficients, or an imaginary part.

    Example:
        >>> from qiskit.quantum_info import SparsePauliOp
        >>> pauli_sum_from_qiskit(SparsePauliOp(["ZZ", "IX"], [1.0, 0.5]))
        PauliSum({'ZZ': 1.0, 'IX': 0.5})
    """
    from circuits.interop.qiskit.observables import pauli_sum

    return pauli_sum(operator)


def save_qpy(circuit: Circuit, path: str | Path) -> None:
    """Write the circuit with its symbols, Inputs and present values to a QPY file.

    Raises:
        ConversionError: what ``to_qiskit`` refuses.
    """
    from circuits.interop.qiskit.values import save_circuit

    save_circuit(circuit, path)


def load_qpy(path: str | Path) -> Circuit:
    """Read a QPY file with one circuit; values and Inputs are those that ``save_qpy`` wrote.

    Parameters are scalars of dtype float64 afterwards, those of a vector too.

    Raises:
        ConversionError: no QPY file, several circuits, or what ``from_qiskit`` refuses.
    """
    from circuits.interop.qiskit.values import load_circuit

    return load_circuit(path)


def install_interop(circuit: type[Circuit], pauli_sum: type[PauliSum]) -> None:
    """Give the classes their methods from and to Qiskit; they cannot import this package."""
    methods = (
        (circuit, "save_qpy", save_qpy),
        (circuit, "load_qpy", staticmethod(load_qpy)),
        (pauli_sum, "from_qiskit", staticmethod(pauli_sum_from_qiskit)),
    )
    for cls, name, method in methods:
        setattr(cls, name, method)
