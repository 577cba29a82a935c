"""What is measured: circuits, observables and values as plain data, the same for every library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

RealArray = NDArray[np.floating[Any]]

LAYERS, BATCH_LAYERS, BATCH = 4, 3, 128
MIXED_GATES = 100


@dataclass(frozen=True, eq=False)
class Step:
    """One gate.

    Attributes:
        gate: Qiskit's name.
        qubits: controls first, then targets, least significant first.
        slot: which parameter is its angle in radians; None for a gate without one.
        feature: which column of the data is its angle, in place of a parameter.
        matrix: ``(4, 4)`` of a ``unitary``, the first qubit least significant.
    """

    gate: str
    qubits: tuple[int, ...]
    slot: int | None = None
    feature: int | None = None
    matrix: NDArray[np.complex128] | None = None


Term = tuple[float, tuple[tuple[str, int], ...]]
"""A coefficient and the letters of a Pauli word by qubit."""


@dataclass(frozen=True, eq=False)
class Case:
    """A loss of a circuit: <H>, or with data the mean over the samples of <H>^2.

    Attributes:
        family: a key of ``FAMILIES``.
        num_qubits: width.
        steps: the gates in order.
        terms: the observable H.
        num_parameters: length of the parameter vector.
        batch: number of samples; 0 for a single circuit without data.
        single: complex64 in place of complex128.
    """

    family: str
    num_qubits: int
    steps: tuple[Step, ...]
    terms: tuple[Term, ...]
    num_parameters: int
    batch: int = 0
    single: bool = False

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"{self.family} n={self.num_qubits} {'single' if self.single else 'double'}"

    @property
    def real_dtype(self) -> type[np.floating[Any]]:
        """The dtype of parameters and data."""
        return np.float32 if self.single else np.float64

    def parameters(self, draw: int) -> RealArray:
        """Return the ``draw``-th parameter vector ``(P,)``, in radians."""
        generator = np.random.default_rng([draw, self.num_parameters])
        return generator.uniform(-np.pi, np.pi, self.num_parameters).astype(self.real_dtype)

    def data(self) -> RealArray:
        """Return the features ``(B, n)``, in radians."""
        generator = np.random.default_rng(1)
        return generator.uniform(-1, 1, (self.batch, self.num_qubits)).astype(self.real_dtype)


def layered(num_qubits: int, layers: int = LAYERS) -> Case:
    """RY and RZ on every qubit and a ring of CX, in layers; H = sum Z_i Z_i+1 + sum X_i."""
    steps, count = layer_steps(num_qubits, layers)
    fields = [(1.0, (("X", i),)) for i in range(num_qubits)]
    return Case("layered", num_qubits, steps, (*ring_terms(num_qubits), *fields), count)


def layer_steps(num_qubits: int, layers: int) -> tuple[tuple[Step, ...], int]:
    """Return the gates of ``layered`` and the number of parameters, one a rotation."""
    steps: list[Step] = []
    for layer in range(layers):
        for i in range(num_qubits):
            slot = 2 * (layer * num_qubits + i)
            steps += [Step("ry", (i,), slot), Step("rz", (i,), slot + 1)]
        steps += [Step("cx", (i, (i + 1) % num_qubits)) for i in range(num_qubits)]
    return tuple(steps), 2 * layers * num_qubits


def ring_terms(num_qubits: int) -> tuple[Term, ...]:
    """Return sum Z_i Z_i+1 around the ring; two qubits have two edges."""
    return tuple([(1.0, (("Z", i), ("Z", (i + 1) % num_qubits))) for i in range(num_qubits)])


def qaoa(num_qubits: int, layers: int = LAYERS) -> Case:
    """QAOA on a ring with an angle of its own for every RZZ and RX (multi-angle QAOA)."""
    steps = [Step("h", (i,)) for i in range(num_qubits)]
    for layer in range(layers):
        first = 2 * layer * num_qubits
        edges = [(i, (i + 1) % num_qubits) for i in range(num_qubits)]
        steps += [Step("rzz", edge, first + k) for k, edge in enumerate(edges)]
        steps += [Step("rx", (i,), first + num_qubits + i) for i in range(num_qubits)]
    terms = ring_terms(num_qubits)
    return Case("qaoa", num_qubits, tuple(steps), terms, 2 * layers * num_qubits)


MIXED = ("cz", "rxx", "rzz", "crx", "swap", "t", "h", "cx", "unitary", "ry", "rz", "rx")
TRAINED = {"rxx", "rzz", "crx", "ry", "rz", "rx"}
ONE_QUBIT = {"t", "h", "ry", "rz", "rx"}


def mixed(num_qubits: int, gates: int = MIXED_GATES) -> Case:
    """Random gates at random places, some on a shared parameter; Pauli words with all letters."""
    generator = np.random.default_rng(num_qubits)
    steps: list[Step] = []
    count = 1
    for gate in generator.choice(MIXED, gates):
        qubits = generator.choice(num_qubits, 1 if gate in ONE_QUBIT else 2, replace=False)
        slot = None
        if gate in TRAINED:
            shared = generator.random() < 0.2
            slot = 0 if shared else count
            count += not shared
        matrix = random_unitary(generator) if gate == "unitary" else None
        steps.append(Step(str(gate), tuple(map(int, qubits)), slot, matrix=matrix))
    terms: list[Term] = [(0.7, (("Z", i),)) for i in range(num_qubits)]
    for _ in range(6):
        qubits = generator.choice(num_qubits, min(num_qubits, 3), replace=False)
        letters = generator.choice(list("XYZ"), len(qubits))
        word = tuple(zip(map(str, letters), map(int, qubits), strict=True))
        terms.append((float(generator.normal()), word))
    return Case("mixed", num_qubits, tuple(steps), tuple(terms), count)


def random_unitary(generator: np.random.Generator) -> NDArray[np.complex128]:
    """Return a ``(4, 4)`` unitary matrix."""
    real, imaginary = generator.normal(size=(2, 4, 4))
    return np.linalg.qr(real + 1j * imaginary)[0]


def batch(num_qubits: int) -> Case:
    """RX data encoding, then three layers as in ``layered``; the loss is the mean of <Z_0>^2."""
    encoding = [Step("rx", (i,), feature=i) for i in range(num_qubits)]
    steps, count = layer_steps(num_qubits, BATCH_LAYERS)
    terms: tuple[Term, ...] = ((1.0, (("Z", 0),)),)
    return Case("batch", num_qubits, (*encoding, *steps), terms, count, BATCH)


FAMILIES: Mapping[str, tuple[Callable[[int], Case], tuple[int, ...]]] = MappingProxyType(
    {
        "layered": (layered, (4, 8, 12, 16, 18, 20)),
        "qaoa": (qaoa, (4, 8, 12, 16)),
        "mixed": (mixed, (4, 8, 12, 16)),
        "batch": (batch, (4, 8, 10)),
    }
)
"""Every family's maker, and the numbers of qubits that are measured by default."""


def select(
    families: tuple[str, ...], sizes: tuple[int, ...] | None, precisions: tuple[str, ...]
) -> Iterator[Case]:
    """Yield the cases asked for; ``sizes`` None stands for each family's own."""
    for family in families:
        make, usual = FAMILIES[family]
        for size in usual if sizes is None else sizes:
            for precision in precisions:
                yield replace(make(size), single=precision == "single")
