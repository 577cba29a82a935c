"""Ansaetze in layers of rotations and entangling gates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autodiff import Parameter
from circuits import Circuit, Input
from qml.ansaetze.building import (
    Initial,
    angle_count,
    apply_gates,
    layer_gates,
    new_parameters,
    numbered,
)
from qml.ansaetze.entanglement import entangled_pairs
from qml.settings import whole


def hardware_efficient(
    num_qubits: int,
    layers: int,
    *,
    initial: Initial,
    rotations: Sequence[str] = ("ry", "rz"),
    entangler: str = "cx",
    entanglement: str = "ring",
    name: str = "theta",
) -> Circuit:
    """Build layers of rotations on every qubit, each followed by entangling gates.

    Angles are numbered layer by layer, qubit by qubit, rotation by rotation.

    Args:
        num_qubits: width, at least 1.
        layers: at least 1.
        initial: starting values (P,) in radians, one for all, or an initializer.
        rotations: one-qubit gates, in order.
        entangler: a two-qubit gate.
        entanglement: ``"linear"``, ``"ring"``, ``"full"`` or ``"pairwise"``.
        name: the Parameters are ``name[0]``, ``name[1]``, ...

    Raises:
        SettingError: a setting outside its range. GateError: an unknown gate.

    Example:
        >>> import qml
        >>> circuit = qml.hardware_efficient(4, 2, initial=qml.small_angles(layers=2, seed=0))
        >>> circuit.count_ops()
        {'ry': 8, 'rz': 8, 'cx': 8}

    Reference:
        Kandala et al. (2017), arXiv:1704.05018.
    """
    n, depth = _sizes("hardware_efficient", num_qubits, layers)
    turns = layer_gates("hardware_efficient: rotations", rotations, 1)
    joins = layer_gates("hardware_efficient: entangler", entangler, 2)
    pairs = entangled_pairs("hardware_efficient: entanglement", entanglement, n)
    count = depth * (n * angle_count(turns) + len(pairs) * angle_count(joins))
    angles = iter(new_parameters("hardware_efficient", numbered(name, count), initial))
    circuit = Circuit(n)
    for _ in range(depth):
        apply_gates(circuit, turns, _each(n), angles)
        apply_gates(circuit, joins, pairs, angles)
    return circuit


def two_local(
    num_qubits: int,
    layers: int,
    *,
    initial: Initial,
    rotations: str | Sequence[str] = "ry",
    entanglers: str | Sequence[str] = "cx",
    entanglement: str = "linear",
    final_rotation: bool = True,
    name: str = "theta",
) -> Circuit:
    """Build rotations, then entangling gates and rotations alternately, like Qiskit's ``n_local``.

    Angles are numbered as Qiskit numbers them: a rotation on all qubits, then the next rotation.

    Args:
        num_qubits: width, at least 1.
        layers: of entangling gates, at least 1; Qiskit's ``reps``.
        initial: starting values (P,) in radians, one for all, or an initializer.
        rotations: one-qubit gates, in order.
        entanglers: two-qubit gates, in order; they may have angles.
        entanglement: ``"linear"``, ``"ring"``, ``"full"`` or ``"pairwise"``.
        final_rotation: end with rotations.
        name: the Parameters are ``name[0]``, ``name[1]``, ...

    Raises:
        SettingError: a setting outside its range. GateError: an unknown gate.

    Example:
        >>> import qml
        >>> qml.two_local(3, 1, initial=0.1, entanglers="rzz").count_ops()
        {'ry': 6, 'rzz': 2}

    Reference:
        Cerezo et al. (2021), arXiv:2012.09265, section II.B.
    """
    n, depth = _sizes("two_local", num_qubits, layers)
    turns = layer_gates("two_local: rotations", rotations, 1)
    joins = layer_gates("two_local: entanglers", entanglers, 2)
    pairs = entangled_pairs("two_local: entanglement", entanglement, n)
    rounds = depth + bool(final_rotation)
    count = rounds * n * angle_count(turns) + depth * len(pairs) * angle_count(joins)
    angles = iter(new_parameters("two_local", numbered(name, count), initial))
    circuit = Circuit(n)
    for layer in range(rounds):
        for row in turns:
            apply_gates(circuit, [row], _each(n), angles)
        for row in joins if layer < depth else []:
            apply_gates(circuit, [row], pairs, angles)
    return circuit


def strongly_entangling(
    num_qubits: int, layers: int, *, initial: Initial, name: str = "theta"
) -> Circuit:
    """Build layers of any one-qubit rotation, RZ RY RZ, and CX gates of growing range.

    In layer l a CX leads from every qubit q to qubit q + r, with r = 1 + l mod (num_qubits - 1).

    Args:
        num_qubits: width, at least 1.
        layers: at least 1.
        initial: starting values (P,) in radians, one for all, or an initializer.
        name: the Parameters are ``name[0]``, ``name[1]``, ...

    Raises:
        SettingError: a setting outside its range.

    Example:
        >>> import qml
        >>> circuit = qml.strongly_entangling(3, 2, initial=qml.uniform_angles(seed=0))
        >>> [gate.qubits for gate in circuit if gate.name == "cx"]
        [(0, 1), (1, 2), (2, 0), (0, 2), (1, 0), (2, 1)]

    Reference:
        Schuld, Bocharov, Svore, Wiebe (2020), arXiv:1804.00633.
    """
    n, depth = _sizes("strongly_entangling", num_qubits, layers)
    turns = layer_gates("strongly_entangling", ("rz", "ry", "rz"), 1)
    angles = iter(new_parameters("strongly_entangling", numbered(name, 3 * n * depth), initial))
    circuit = Circuit(n)
    for layer in range(depth):
        apply_gates(circuit, turns, _each(n), angles)
        reach = 1 + layer % (n - 1) if n > 1 else 0
        for q in range(n) if reach else ():
            circuit.cx(q, (q + reach) % n)
    return circuit


def data_reuploading(
    num_qubits: int,
    layers: int,
    *,
    initial: Initial,
    entanglement: str = "ring",
    inputs: str = "x",
    name: str = "theta",
) -> Circuit:
    """Build layers that enter the features again and again, each time scaled and shifted.

    A layer is RY(scale x[q] + shift) and RZ(angle) on every qubit q, and CX gates. Scales, named
    ``name_scale[k]``, start at 1; shifts and angles at ``initial``.

    Args:
        num_qubits: width, and the number of features; at least 1.
        layers: at least 1.
        initial: starting values (2 * num_qubits * layers,) of shift and angle, qubit by qubit, in
            radians; one for all, or an initializer.
        entanglement: ``"linear"``, ``"ring"``, ``"full"`` or ``"pairwise"``.
        inputs: name of the Input.
        name: of the Parameters.

    Raises:
        SettingError: a setting outside its range.

    Example:
        >>> import numpy as np
        >>> import qml
        >>> circuit = qml.data_reuploading(2, 3, initial=qml.small_angles(layers=3, seed=0))
        >>> circuit.expectation(qml.Z(0), inputs={"x": np.zeros((5, 2))}).shape
        (5,)

    Reference:
        Pérez-Salinas, Cervera-Lierta, Gil-Fuster, Latorre (2020), arXiv:1907.02085.
    """
    n, depth = _sizes("data_reuploading", num_qubits, layers)
    pairs = entangled_pairs("data_reuploading: entanglement", entanglement, n)
    angles = iter(new_parameters("data_reuploading", numbered(name, 2 * n * depth), initial))
    x, circuit = Input(inputs, n), Circuit(n)
    for layer in range(depth):
        for q in range(n):
            shift, angle = next(angles), next(angles)
            one = np.ones((), shift.dtype)
            scale = Parameter(one, name=f"{name}_scale[{layer * n + q}]")
            circuit.ry(scale * x[q] + shift, q).rz(angle, q)
        for control, target in pairs:
            circuit.cx(control, target)
    return circuit


def _sizes(what: str, num_qubits: int, layers: int) -> tuple[int, int]:
    return whole(1)(f"{what}: num_qubits", num_qubits), whole(1)(f"{what}: layers", layers)


def _each(num_qubits: int) -> list[tuple[int]]:
    return [(q,) for q in range(num_qubits)]
