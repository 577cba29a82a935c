"""Random circuits with their exact dense values and gradients, which share no code with circuits.

Every gate is a local matrix from the gate table, embedded by Kronecker products; angles are plain
NumPy functions of parameters and inputs. The one approximation is a sixth-order central difference
of local matrices and of angle functions, whose frequencies are of order one: with step h it is
exact to h**6 / 140 + eps / h < 1e-12.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import dense
import numpy as np
from numpy.typing import NDArray
from programs import random_hermitian, random_unitary

import autodiff as ad
from autodiff import Parameter, Tensor
from circuits import Circuit, Hermitian, Input, PauliSum, Projector
from circuits.gate_row import Gate, Payload
from circuits.gates import GATES
from circuits.observable_base import Observable
from circuits.plan.steps import Structure

Array = NDArray[Any]
SIZE, WIDTH = 5, 3
"""Number of elements of all Parameters (a, b, and w of three), and of the Input."""

# An expression of (module, a, b, w, x): module is numpy or autodiff, a and b are scalars, w and x
# have three elements.
Expression = Callable[..., Any]

WITHOUT_INPUT: list[Expression] = [
    lambda m, a, b, w, x: a,
    lambda m, a, b, w, x: w[1],
    lambda m, a, b, w, x: 2 * a - b / 2 + 0.3,
    lambda m, a, b, w, x: -(w[2] + w[0]) * 0.5,
    lambda m, a, b, w, x: a * b,
    lambda m, a, b, w, x: m.sin(a) * b + w[0],
    lambda m, a, b, w, x: a**2 - m.exp(-b * b),
    lambda m, a, b, w, x: (2 * w)[1] * a,
    lambda m, a, b, w, x: (w * w).sum() / (1.5 + b * b),
    lambda m, a, b, w, x: m.tanh(w[::-1] * a)[0],
]
WITH_INPUT: list[Expression] = [
    lambda m, a, b, w, x: x[0],
    lambda m, a, b, w, x: 1 - 0.5 * x[2] + a,
    lambda m, a, b, w, x: x[1] * a,
    lambda m, a, b, w, x: (x[0] * w)[2],
    lambda m, a, b, w, x: (x * w).sum(),
    lambda m, a, b, w, x: m.cos(x)[1] * b,
    lambda m, a, b, w, x: (x.reshape(3, 1) * w).sum(axis=0)[1] * 0.3,
    lambda m, a, b, w, x: (np.pi - x[0]) * (np.pi - x[1]),
]


@dataclass
class Placed:
    """A gate of a circuit: the row, its qubits, angles as functions or numbers, and a payload."""

    row: Gate
    targets: list[int]
    controls: list[int]
    state: int
    angles: list[Expression | float]
    payload: Any

    def values(self, point: Array) -> Array:
        """Angles at ``point``: a, b, w0, w1, w2, x0, x1, x2."""
        a, b, w, x = point[0], point[1], point[2:5], point[5:]
        return np.array([f(np, a, b, w, x) if callable(f) else f for f in self.angles])


@dataclass
class Case:
    """A random circuit with everything for one call."""

    circuit: Circuit
    gates: list[Placed]
    parameters: tuple[Parameter, Parameter, Parameter]
    point: Array
    inputs: Array | None
    observables: list[Observable]
    matrices: list[Array]
    weights: Array

    def points(self) -> Array:
        """``(B or 1, 8)``: parameters and inputs of every sample."""
        rows = np.zeros((1, WIDTH)) if self.inputs is None else np.atleast_2d(self.inputs)
        return np.concatenate([np.broadcast_to(self.point, (len(rows), SIZE)), rows], axis=1)


def local_matrix(gate: Placed, angles: Array) -> Array:
    """The base matrix of a gate on its targets."""
    row, payload = gate.row, gate.payload
    if row.payload is Payload.PATTERN:
        basis = np.arange(1 << len(payload))
        moved = sum(((basis >> source) & 1) << j for j, source in enumerate(payload))
        return _permutation(moved)
    if row.payload is Payload.LABEL and not row.params:
        return dense.kron([dense.PAULI[letter] for letter in payload[::-1]])
    if row.structure is Structure.ROTATION:
        word = payload[::-1] if row.word is None else row.word
        matrix = dense.kron([dense.PAULI[letter] for letter in word])
        half = angles[0] / 2
        return np.cos(half) * np.eye(len(matrix)) - 1j * np.sin(half) * matrix
    if row.structure is Structure.PERMUTATION:
        return _permutation(payload if row.permutation is None else row.permutation)
    action = payload if row.payload is not None else row.matrix
    if row.function is not None:
        action = row.function(np.asarray(angles, float))
    return np.diag(action) if row.structure is Structure.DIAGONAL else np.asarray(action)


def _permutation(images: Any) -> Array:
    """Matrix that moves basis state j to images[j]."""
    return np.eye(len(images))[:, images]


def derivative(function: Callable[[float], Array], step: float = 0.01) -> Array:
    """Derivative of function(t) at t = 0, by sixth-order central differences."""
    weights = {1: 45, 2: -9, 3: 1}
    total = sum(c * (function(k * step) - function(-k * step)) for k, c in weights.items())
    return np.asarray(total / (60 * step))


def embedded(case_width: int, gate: Placed, local: Array, outside: float = 1.0) -> Array:
    """A local matrix under the gate's controls, on all qubits."""
    return dense.embed(local, gate.targets, case_width, gate.controls, gate.state, outside=outside)


def exact(case: Case) -> tuple[Array, Array, Array, Array]:
    """States, values, and gradients of sum(weights * values) by parameters and inputs.

    Returns:
        ``(B, 2**n)``, ``(B, K)``, ``(5,)`` and ``(B, 3)``.
    """
    points, n = case.points(), case.circuit.num_qubits
    states, values, gradients = [], [], []
    for sample, point in enumerate(points):
        psi = np.zeros(1 << n, complex)
        psi[0] = 1
        trail = [psi]
        for gate in case.gates:
            matrix = embedded(n, gate, local_matrix(gate, gate.values(point)))
            trail.append(matrix @ trail[-1])
        final = trail[-1]
        states.append(final)
        values.append([np.vdot(final, matrix @ final).real for matrix in case.matrices])
        cotangent = sum(
            w * (matrix @ final)
            for w, matrix in zip(case.weights[sample], case.matrices, strict=True)
        )
        gradients.append(_gradient(case, point, trail, cotangent))
    total = np.array(gradients)
    return np.array(states), np.array(values), total[:, :SIZE].sum(axis=0), total[:, SIZE:]


def _gradient(case: Case, point: Array, trail: list[Array], cotangent: Array) -> Array:
    """2 Re <cotangent| dU/dt |psi> through every angle, for one sample."""
    n, total = case.circuit.num_qubits, np.zeros(len(point))
    for gate, before in zip(reversed(case.gates), reversed(trail[:-1]), strict=True):
        angles = gate.values(point)
        for k, angle in enumerate(gate.angles):
            if not callable(angle):
                continue
            unit = np.eye(len(angles))[k]
            local = derivative(lambda t, u=unit, g=gate, v=angles: local_matrix(g, v + t * u))
            slope = 2 * np.vdot(cotangent, embedded(n, gate, local, outside=0.0) @ before).real
            for j, direction in enumerate(np.eye(len(point))):
                rate = derivative(lambda t, d=direction, g=gate, k=k: g.values(point + t * d)[k])
                total[j] += slope * rate
        whole = embedded(n, gate, local_matrix(gate, angles))
        cotangent = whole.conj().T @ cotangent
    return total


# -- making them -----------------------------------------------------------------------------------


def random_case(seed: int, rows: list[Gate] | None = None) -> Case:
    """A circuit of 1 to 6 qubits; batches of none, 1, 3 and 17; ``rows`` must each occur once."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    batch = [None, 1, 3, 17][seed % 4]
    with_input = batch is not None or rng.random() < 0.3
    point = rng.uniform(-1.5, 1.5, SIZE)
    a, b, w = Parameter(point[0], name="a"), Parameter(point[1:2], name="b"), Parameter(point[2:])
    x = Input("x", WIDTH)
    circuit = Circuit(n)
    circuit.register(a, b, w)
    expressions = WITHOUT_INPUT + (WITH_INPUT if with_input else [])
    gates = [gate for row in _rows(rng, n, rows) for gate in [_placed(rng, row, n, expressions)]]
    for gate in gates:
        add_gate(circuit, gate, [f(ad, a, b, w, x) if callable(f) else f for f in gate.angles])
    if with_input and not circuit.inputs:
        gates.append(Placed(GATES["rx"], [0], [], 0, [WITH_INPUT[0]], None))
        circuit.rx(x[0], 0)
    observables, matrices = _observables(rng, n)
    inputs = None
    if with_input:
        inputs = rng.uniform(-1.5, 1.5, (WIDTH,) if batch is None else (batch, WIDTH))
    weights = rng.normal(size=(batch or 1, len(observables)))
    return Case(circuit, gates, (a, b, w), point, inputs, observables, matrices, weights)


def _rows(rng: np.random.Generator, n: int, rows: list[Gate] | None) -> list[Gate]:
    """Rows that fit on n qubits."""
    if rows is not None:
        return rows
    fitting = [row for row in GATES.values() if least_width(row) <= n]
    return [fitting[k] for k in rng.integers(0, len(fitting), int(rng.integers(4, 16)))]


def least_width(row: Gate) -> int:
    controls = 1 if row.num_controls is None else row.num_controls
    return (1 if row.num_qubits is None else row.num_qubits) + controls


def add_gate(circuit: Circuit, gate: Placed, angles: Sequence[Any]) -> None:
    """Append a gate with these angles."""
    extra = _extra(gate)
    circuit.append(
        gate.row,
        [*gate.controls[extra:], *gate.targets],
        angles,
        payload=gate.payload,
        controls=gate.controls[:extra],
        ctrl_state=gate.state,
    )


def _extra(gate: Placed) -> int:
    own = gate.row.num_controls
    return 0 if own is None else len(gate.controls) - own


def _placed(rng: np.random.Generator, row: Gate, n: int, expressions: list[Expression]) -> Placed:
    qubits = rng.permutation(n).tolist()
    own = row.num_controls
    size = row.num_qubits
    if size is None:
        size = int(rng.integers(1, min(n, 3) + 1))
    free = n - size - (own or 0)
    extra = int(rng.integers(0, min(free, 2) + 1)) if rng.random() < 0.4 else 0
    controls = (own or 0) + extra
    if own is None:
        controls = max(1, extra)
    angles: list[Expression | float] = [
        float(rng.normal())
        if rng.random() < 0.2
        else expressions[int(rng.integers(len(expressions)))]
        for _ in row.params
    ]
    return Placed(
        row,
        qubits[:size],
        qubits[size : size + controls],
        int(rng.integers(0, 1 << controls)),
        angles,
        random_payload(rng, row, size),
    )


def random_payload(rng: np.random.Generator, row: Gate, size: int) -> Any:
    makers: dict[Payload | None, Callable[[], Any]] = {
        None: lambda: None,
        Payload.MATRIX: lambda: random_unitary(rng, 1 << size),
        Payload.DIAGONAL: lambda: np.exp(1j * rng.normal(size=1 << size)),
        Payload.IMAGES: lambda: rng.permutation(1 << size),
        Payload.PATTERN: lambda: rng.permutation(size),
        Payload.LABEL: lambda: "".join(rng.choice(list("IXYZ"), size)),
    }
    return makers[row.payload]()


def _observables(rng: np.random.Generator, n: int) -> tuple[list[Observable], list[Array]]:
    """One of each kind, and their matrices from definitions."""
    labels = ["".join(rng.choice(list("IXYZ"), n)) for _ in range(4)]
    coefficients = rng.normal(size=4)
    pauli = sum(
        c * dense.kron([dense.PAULI[letter] for letter in label[::-1]])
        for c, label in zip(coefficients, labels, strict=True)
    )
    bits = int(rng.integers(0, 1 << n))
    projector = np.zeros((1 << n, 1 << n))
    projector[bits, bits] = 1
    size = int(rng.integers(1, min(n, 2) + 1))
    targets = rng.permutation(n)[:size].tolist()
    hermitian = random_hermitian(rng, 1 << size)
    block = dense.embed(hermitian, targets, n)
    observables: list[Observable] = [
        PauliSum.from_list(list(zip(labels, coefficients.tolist(), strict=True))),
        Projector(format(bits, f"0{n}b")),
        Hermitian(hermitian, targets),
        0.5 * Projector(format(bits, f"0{n}b")) - Hermitian(hermitian, targets),
    ]
    return observables, [pauli, projector, block, 0.5 * projector - block]


def gradient(parameters: tuple[Parameter, ...]) -> Array:
    """The gradients of all Parameters in one row, zeros where nothing arrived."""
    parts = [np.zeros(p.shape) if p.grad is None else p.grad.numpy() for p in parameters]
    return np.concatenate([np.ravel(part) for part in parts])


def loss(case: Case, engine: Any, dtype: Any = None) -> tuple[Tensor, Tensor, Tensor | None]:
    """Values ``(B or none, K)``, their weighted sum, and the inputs as a Tensor."""
    given = None if case.inputs is None else Tensor(case.inputs, requires_grad=True)
    inputs = None if given is None else {"x": given}
    values = case.circuit.expectation(case.observables, inputs=inputs, engine=engine, dtype=dtype)
    weights = case.weights if values.ndim == 2 else case.weights[0]
    return values, (values * weights.astype(values.dtype)).sum(), given
