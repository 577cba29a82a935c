"""Trained values into the user's own Qiskit circuit, and circuits into QPY files."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from qiskit import QuantumCircuit, qpy
from qiskit.exceptions import QiskitError

from autodiff import Parameter
from circuits.circuit import Circuit
from circuits.errors import BindingError, ConversionError
from circuits.interop.qiskit.exporting import export_circuit
from circuits.interop.qiskit.importing import import_circuit
from circuits.interop.qiskit.symbol_inputs import identity

_KEY = "ketgrad"


def element_names(name: str, parameter: Parameter) -> Iterator[tuple[str, float]]:
    """Yield the name in Qiskit and the value of each element: w, or w[0], w[1], ...

    >>> list(element_names("w", Parameter([0.5, 1.5])))
    [('w[0]', 0.5), ('w[1]', 1.5)]
    """
    if parameter.numel() == 1:
        yield name, parameter.item()
    else:
        flat = parameter.detach().reshape(-1).tolist()
        yield from ((f"{name}[{k}]", value) for k, value in enumerate(flat))


def write_back(circuit: Circuit, qc: QuantumCircuit) -> QuantumCircuit:
    """Return the user's Qiskit circuit with the present values of our Parameters.

    Symbols are found by identity, then by name. Symbols that are features (Inputs) stay symbols.

    Args:
        circuit: what was imported from ``qc``, or exported to it.
        qc: not changed.

    Raises:
        ConversionError: something else than a Circuit and a QuantumCircuit.
        BindingError: a symbol of ``qc`` that the circuit does not know.

    >>> from circuits import from_qiskit
    >>> from qiskit.circuit import Parameter as Symbol
    >>> qc = QuantumCircuit(1)
    >>> _ = qc.rx(Symbol("theta"), 0)
    >>> write_back(from_qiskit(qc, values=[0.5]), qc).data[0].params
    [0.5]
    """
    if not (isinstance(circuit, Circuit) and isinstance(qc, QuantumCircuit)):
        raise ConversionError(
            "write_back needs our Circuit and Qiskit's QuantumCircuit, got "
            f"{type(circuit).__name__} and {type(qc).__name__}. Write write_back(circuit, qc)."
        )
    known: dict[str, float] = {}
    for name, parameter in zip(circuit.parameter_names(), circuit.parameters(), strict=True):
        known |= dict(element_names(name, parameter))
        if parameter.numel() == 1:
            known[parameter.uuid] = parameter.item()
    features = _feature_names(circuit)
    values = {}
    for symbol in qc.parameters:
        key = identity(symbol) if identity(symbol) in known else symbol.name
        if key in known:
            values[symbol] = known[key]
        elif symbol.name not in features:
            raise BindingError(
                f"write_back needs the circuit that was imported, got one without {symbol.name!r}. "
                f"It has {circuit.parameter_names()}."
            )
    return qc.assign_parameters(values)


def _feature_names(circuit: Circuit) -> set[str]:
    names = {f"{x.name}[{k}]" for x in circuit.inputs for k in range(x.shape[0])}
    report = circuit.import_report
    return names if report is None else names.union(*report.inputs.values())


def saved_values(circuit: Circuit) -> dict[str, Any]:  # Any: names and numbers, for JSON
    """Return the present values and the Inputs, by the names that they have in Qiskit."""
    values: dict[str, float] = {}
    for name, parameter in zip(circuit.parameter_names(), circuit.parameters(), strict=True):
        values |= dict(element_names(name, parameter))
    inputs = {x.name: [f"{x.name}[{k}]" for k in range(x.shape[0])] for x in circuit.inputs}
    return {"values": values, "inputs": inputs}


def is_saved(note: Any) -> bool:  # Any: what JSON gave
    """Whether something has the form of what ``saved_values`` returns; both parts may be missing.

    >>> is_saved({"values": {"a": 0.5}}), is_saved({"inputs": {"x": "a"}})
    (True, False)
    """
    if not isinstance(note, dict):
        return False
    values, inputs = note.get("values", {}), note.get("inputs", {})
    return (
        all(isinstance(part, dict) for part in (values, inputs))
        and all(isinstance(x, int | float) for x in values.values())
        and all(isinstance(x, list) and all(isinstance(y, str) for y in x) for x in inputs.values())
    )


def import_saved(
    qc: QuantumCircuit, saved: Mapping[str, Any], inputs: Any = None, values: Any = None
) -> Circuit:
    """Import a circuit with what ``saved_values`` kept, where the user gave nothing else."""
    used = {p.name for p in qc.parameters}
    kept = {name: x for name, x in saved.get("values", {}).items() if name in used}
    made = import_circuit(qc, _vectors(qc, saved.get("inputs", {})) if inputs is None else inputs)
    known = set(made.parameter_names())
    made.assign({name: x for name, x in kept.items() if name in known})
    return made if values is None else made.assign(values)


def save_circuit(circuit: Circuit, path: str | Path) -> None:
    """Write a QPY file; ``Circuit.save_qpy`` documents it."""
    qc = export_circuit(circuit)
    qc.metadata = {_KEY: saved_values(circuit)}
    with open(path, "wb") as file:
        qpy.dump(qc, file)


def load_circuit(path: str | Path) -> Circuit:
    """Read a QPY file; ``Circuit.load_qpy`` documents it."""
    try:
        with open(path, "rb") as file:
            circuits = qpy.load(file)
    except (QiskitError, struct.error, ValueError) as error:
        raise ConversionError(
            f"load_qpy needs a QPY file, got {str(path)!r}: {error}. Write it with save_qpy."
        ) from error
    if len(circuits) != 1:
        raise ConversionError(
            f"load_qpy needs a file with one circuit, got {len(circuits)}. Use qiskit.qpy.load and "
            "from_qiskit."
        )
    (qc,) = circuits
    note = (qc.metadata or {}).get(_KEY, {})
    if not is_saved(note):
        raise ConversionError(
            f"load_qpy needs the metadata that save_qpy wrote, got {note!r:.80}. "
            f"Remove {_KEY!r} from the circuit's metadata."
        )
    return import_saved(qc, note)


def _vectors(qc: QuantumCircuit, inputs: dict[str, list[str]]) -> dict[str, Any]:
    """Return the vectors that stand for the Inputs, also where some elements are not used."""
    by_name = {p.vector.name: p.vector for p in qc.parameters if hasattr(p, "vector")}
    return {name: by_name.get(name, elements) for name, elements in inputs.items()}
