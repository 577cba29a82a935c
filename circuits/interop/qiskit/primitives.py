"""Qiskit's primitives on our engines: Qiskit code runs on them as it stands."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from qiskit.primitives import (
    BaseEstimatorV2,
    BaseSamplerV2,
    BitArray,
    DataBin,
    PrimitiveJob,
    PrimitiveResult,
    PubResult,
    SamplerPubResult,
)
from qiskit.primitives.containers.bindings_array import BindingsArray
from qiskit.primitives.containers.estimator_pub import EstimatorPub
from qiskit.primitives.containers.sampler_pub import SamplerPub
from qiskit.quantum_info import SparseObservable, SparsePauliOp

import autodiff as ad
from circuits.circuit import Circuit
from circuits.engines.base import Engine
from circuits.interop.qiskit.importing import import_circuit
from circuits.interop.qiskit.observables import observable_from_qiskit
from circuits.sampling import Seed, draw, generator_of

_PAULI_LETTERS = frozenset("IXYZ")
_IN_ZERO = {"I": 1.0, "Z": 1.0, "0": 1.0, **dict.fromkeys("XY1", 0.0), **dict.fromkeys("+-rl", 0.5)}
"""Expectation values of the letters in |0>."""

# Any in this file: pubs in all the forms that Qiskit takes, and its untyped jobs.


class _OnEngine:
    """Where the circuits of a primitive run."""

    def __init__(self, seed: Seed, engine: str | Engine | None, dtype: DTypeLike | None) -> None:
        generator_of(seed)
        self.seed = seed
        self._options = {"engine": engine, "dtype": dtype}

    def _given(self, circuit: Circuit, bindings: BindingsArray) -> dict[str, Any]:
        """Return the run methods' options: all sets of values as one batch ``(B, P)``."""
        names = circuit.parameter_names()
        if not names:
            return self._options
        return {"values": bindings.as_array(names).reshape(-1, len(names)), **self._options}


class KetgradEstimator(_OnEngine, BaseEstimatorV2):
    """Qiskit's EstimatorV2 with exact expectation values, one batched run a pub.

    Observables and parameter values broadcast by Qiskit's rules: observables ``(3, 1)`` with values
    ``(5, P)`` give ``evs (3, 5)``. Observables may hold the projectors 0 1 + - r l.

    Args:
        default_precision: standard deviation of the normal noise that is added, where ``run`` and
            the pub name none.
        seed: integer or Generator for the noise; as in StatevectorEstimator, an integer starts
            again with every pub.
        engine: see ``Circuit``'s run methods.
        dtype: complex64 or complex128.

    Example:
        >>> from qiskit import QuantumCircuit
        >>> qc = QuantumCircuit(1)
        >>> _ = qc.x(0)
        >>> KetgradEstimator().run([(qc, ["Z", "X"])]).result()[0].data.evs.tolist()
        [-1.0, 0.0]
    """

    def __init__(
        self,
        *,
        default_precision: float = 0.0,
        seed: Seed = None,
        engine: str | Engine | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(seed, engine, dtype)
        self.default_precision = default_precision

    def run(self, pubs: Iterable[Any], *, precision: float | None = None) -> Any:
        """Start a job for pubs ``(circuit, observables, values)``.

        Args:
            pubs: EstimatorPubs, or tuples that make one.
            precision: of pubs that name none.

        Returns:
            A job whose ``result()[k].data`` has ``evs`` and ``stds``, the noise's deviation.

        Raises:
            ConversionError: (by ``result``) a circuit or an observable that is not supported.
        """
        chosen = self.default_precision if precision is None else precision
        return _job(self._run_pub, [EstimatorPub.coerce(pub, chosen) for pub in pubs])

    def _run_pub(self, pub: EstimatorPub) -> PubResult:
        whole = import_circuit(pub.circuit)
        circuit, used = whole.without_idle_qubits(), whole.used_qubits()
        asked = np.asarray(pub.observables)  # of dictionaries, label to coefficient
        shape = np.broadcast_shapes(asked.shape, pub.parameter_values.shape)
        columns, different = _distinct(asked)
        observables = [observable_from_qiskit(_observable(terms, used)) for terms in different]
        with ad.no_grad():
            found = circuit.expectation(observables, **self._given(circuit, pub.parameter_values))
        table = found.numpy().reshape(-1, len(observables))
        rows = np.arange(pub.parameter_values.size).reshape(pub.parameter_values.shape)
        if not circuit.parameter_names():
            rows = np.zeros_like(rows)  # nothing to bind: one state serves all
        evs = np.broadcast_to(table[rows, columns], shape).astype(np.float64)
        if pub.precision:
            evs = np.asarray(generator_of(self.seed).normal(evs, pub.precision))
        data = DataBin(evs=evs, stds=np.full(shape, float(pub.precision)), shape=shape)
        described = {"circuit_metadata": pub.circuit.metadata}
        return PubResult(data, metadata={"target_precision": pub.precision, **described})


class KetgradSampler(_OnEngine, BaseSamplerV2):
    """Qiskit's SamplerV2: shots of the final measurements, one batched run a pub.

    Args:
        default_shots: where ``run`` and the pub name none.
        seed: integer or Generator; an integer starts again with every pub.
        engine: see ``Circuit``'s run methods.
        dtype: complex64 or complex128.

    Example:
        >>> from qiskit import QuantumCircuit
        >>> qc = QuantumCircuit(1)
        >>> _ = qc.x(0)
        >>> qc.measure_all()
        >>> KetgradSampler(seed=0).run([qc], shots=8).result()[0].data.meas.get_counts()
        {'1': 8}
    """

    def __init__(
        self,
        *,
        default_shots: int = 1024,
        seed: Seed = None,
        engine: str | Engine | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(seed, engine, dtype)
        self.default_shots = default_shots

    def run(self, pubs: Iterable[Any], *, shots: int | None = None) -> Any:
        """Start a job for pubs ``(circuit, values)``.

        Args:
            pubs: SamplerPubs, circuits, or tuples that make a pub.
            shots: of pubs that name none.

        Returns:
            A job whose ``result()[k].data`` has a BitArray for each classical register, by its
            name. Classical bits that nothing is measured to are 0.

        Raises:
            ConversionError: (by ``result``) a circuit that is not supported.
        """
        chosen = self.default_shots if shots is None else shots
        coerced = [SamplerPub.coerce(pub, chosen) for pub in pubs]
        if any(not pub.circuit.cregs for pub in coerced):
            warnings.warn(
                "KetgradSampler gives an empty result for a circuit without classical registers. "
                "Add measurements, such as measure_all().",
                UserWarning,
                stacklevel=2,
            )
        return _job(self._run_pub, coerced)

    def _run_pub(self, pub: SamplerPub) -> SamplerPubResult:
        circuit = import_circuit(pub.circuit).without_idle_qubits()
        options = self._given(circuit, pub.parameter_values)
        with ad.no_grad():
            found = circuit.probabilities(**options).numpy().reshape(-1, 1 << circuit.num_qubits)
        if len(found) != pub.parameter_values.size:  # nothing to bind: one state serves all
            found = np.broadcast_to(found, (pub.parameter_values.size, found.shape[1]))
        drawn = draw(found, pub.shots, self.seed).reshape(*pub.shape, pub.shots)
        arrays = {
            name: BitArray.from_bool_array(_bits(drawn, clbits, circuit.measured), order="little")
            for name, clbits in circuit.import_report.classical_registers.items()
        }
        described = {"circuit_metadata": pub.circuit.metadata}
        data = DataBin(**arrays, shape=pub.shape)
        return SamplerPubResult(data, metadata={"shots": pub.shots, **described})


def _job(run_pub: Any, pubs: Sequence[Any]) -> Any:
    """Return a running job; Qiskit's own primitives start theirs by this method, too."""
    job = PrimitiveJob(
        lambda: PrimitiveResult([run_pub(pub) for pub in pubs], metadata={"version": 2})
    )
    job._submit()
    return job


def _distinct(asked: NDArray[np.object_]) -> tuple[NDArray[np.int64], list[dict[str, float]]]:
    """Return which of the different observables stands at each place, and these."""
    known: dict[tuple[tuple[str, float], ...], int] = {}
    different: list[dict[str, float]] = []
    places = []
    for terms in asked.ravel():
        place = known.setdefault(tuple(sorted(terms.items())), len(known))
        if place == len(different):
            different.append(terms)
        places.append(place)
    return np.array(places, np.int64).reshape(asked.shape), different


def _observable(terms: dict[str, float], used: Sequence[int]) -> SparsePauliOp | SparseObservable:
    """Return the observable on the used qubits; the others are in |0>."""
    places = set(used)
    pairs = []
    for label, coefficient in terms.items():
        letters = label[::-1]
        idle = prod([_IN_ZERO[x] for q, x in enumerate(letters) if q not in places])
        pairs.append(("".join([letters[q] for q in reversed(used)]), coefficient * idle))
    words = all(_PAULI_LETTERS.issuperset(label) for label, _ in pairs)
    return (SparsePauliOp if words else SparseObservable).from_list(pairs, num_qubits=len(used))


def _bits(
    drawn: NDArray[np.int64], clbits: Sequence[int], qubit_of: dict[int, int]
) -> NDArray[np.bool_]:
    """Return what each classical bit of a register reads, the bits on the last axis."""
    bits = np.zeros((*drawn.shape, len(clbits)), bool)
    for place, clbit in enumerate(clbits):
        if clbit in qubit_of:
            bits[..., place] = drawn >> qubit_of[clbit] & 1
    return bits
