"""Encodings: how features enter a circuit, as angles or as the state that it starts from."""

from __future__ import annotations

from math import pi

import numpy as np

import autodiff as ad
from autodiff import F64, ShapeError, Tensor
from autodiff.dtypes import DIFFERENTIABLE, is_complex
from autodiff.tensors import Operand
from circuits import Circuit, Input
from qml.ansaetze.building import layer_gates
from qml.ansaetze.entanglement import entangled_pairs
from qml.errors import SettingError
from qml.settings import whole


def angle_encoding(num_qubits: int, *, rotation: str = "ry", inputs: str = "x") -> Circuit:
    """Turn qubit q by the angle x[q], in radians.

    Args:
        num_qubits: width, and the number of features; at least 1.
        rotation: ``"rx"``, ``"ry"``, ``"rz"`` or another one-qubit gate with one angle.
        inputs: name of the Input.

    Raises:
        SettingError: a setting outside its range. GateError: an unknown gate.

    Example:
        >>> import qml
        >>> circuit = qml.angle_encoding(2).compose(qml.hardware_efficient(2, 1, initial=0.1))
        >>> circuit.expectation(qml.Z(0), inputs={"x": [[0.1, 0.2]]}).shape
        (1,)

    Reference:
        Schuld, Petruccione (2018), "Supervised Learning with Quantum Computers", section 5.
    """
    n = whole(1)("angle_encoding: num_qubits", num_qubits)
    (row,) = layer_gates("angle_encoding: rotation", rotation, 1)
    if len(row.params) != 1:
        raise SettingError(
            f"angle_encoding: rotation needs a gate with one angle, got {rotation!r}, which has "
            f"{len(row.params)}. Choose 'rx', 'ry' or 'rz'."
        )
    x, circuit = Input(inputs, n), Circuit(n)
    for q in range(n):
        circuit.append(row, [q], [x[q]])
    return circuit


def basis_encoding(num_qubits: int, *, inputs: str = "x") -> Circuit:
    """Prepare the basis state whose qubit q is x[q], 0 or 1, by RY(pi x[q]).

    Args:
        num_qubits: width, and the number of features; at least 1.
        inputs: name of the Input.

    Raises:
        SettingError: a width below 1.

    Example:
        >>> import qml
        >>> qml.basis_encoding(2).sample(1, seed=0, inputs={"x": [0, 1]}).tolist()
        [2]

    Reference:
        Schuld, Petruccione (2018), "Supervised Learning with Quantum Computers", section 5.
    """
    n = whole(1)("basis_encoding: num_qubits", num_qubits)
    x, circuit = Input(inputs, n), Circuit(n)
    for q in range(n):
        circuit.ry(pi * x[q], q)
    return circuit


def zz_feature_map(
    num_qubits: int, reps: int = 2, *, entanglement: str = "full", inputs: str = "x"
) -> Circuit:
    """Build Qiskit's feature map of the same name: H, P(2 x[q]), and phases of pairs.

    A pair (i, j) gets CX P(2 (pi - x[i]) (pi - x[j])) CX.

    Args:
        num_qubits: width, and the number of features; at least 1.
        reps: how often everything is repeated, at least 1.
        entanglement: ``"linear"``, ``"ring"`` (Qiskit: circular), ``"full"`` or ``"pairwise"``.
        inputs: name of the Input.

    Raises:
        SettingError: a setting outside its range.

    Example:
        >>> import qml
        >>> qml.zz_feature_map(3, reps=1).count_ops()
        {'p': 6, 'cx': 6, 'h': 3}

    Reference:
        Havlíček et al. (2019), arXiv:1804.11326.
    """
    n = whole(1)("zz_feature_map: num_qubits", num_qubits)
    times = whole(1)("zz_feature_map: reps", reps)
    pairs = entangled_pairs("zz_feature_map: entanglement", entanglement, n)
    x, circuit = Input(inputs, n), Circuit(n)
    for _ in range(times):
        circuit.h(range(n))
        for q in range(n):
            circuit.p(2.0 * x[q], q)
        for i, j in pairs:
            circuit.cx(i, j).p(2.0 * (pi - x[i]) * (pi - x[j]), j).cx(i, j)
    return circuit


def amplitude_encoding(features: Operand, num_qubits: int | None = None) -> Tensor:
    """Return the state whose amplitudes are the features, normalised and filled up with zeros.

    It is a circuit's ``initial_state``, and an ``encoding`` of ``QuantumLayer``; gradients flow
    back into the features.

    Args:
        features: real or complex ``(size,)`` or ``(B, size)``, not all of a sample 0.
        num_qubits: width; by default the smallest that holds them.

    Returns:
        Complex ``(2**n,)`` or ``(B, 2**n)``, complex64 for float32 and complex64 features.

    Raises:
        ShapeError: another shape, or more features than amplitudes.
        SettingError: a sample without a feature that differs from 0, or one that is not finite.

    Example:
        >>> import qml
        >>> qml.amplitude_encoding([3.0, 0.0, 4.0]).real.tolist()
        [0.6, 0.0, 0.8, 0.0]

    Reference:
        Schuld, Petruccione (2018), "Supervised Learning with Quantum Computers", section 5.
    """
    x = features if isinstance(features, Tensor) else Tensor(features)
    x = x if x.dtype in DIFFERENTIABLE else x.astype(F64)
    size = x.shape[-1] if x.ndim in (1, 2) else 0
    smallest = max(size - 1, 1).bit_length()
    n = smallest if num_qubits is None else whole(1)("amplitude_encoding: num_qubits", num_qubits)
    if not size or size > 1 << n:
        raise ShapeError(
            f"amplitude_encoding needs features of shape (size,) or (B, size) with size at most "
            f"{1 << n}, got shape {x.shape}. Give the features, or more qubits."
        )
    squares = (x * x.conj()).real if is_complex(x.dtype) else x * x
    lengths = ad.sqrt(squares.sum(axis=-1, keepdims=True))
    known = lengths.numpy()
    if not (np.isfinite(known) & (known > 0)).all():
        raise SettingError(
            "amplitude_encoding needs finite features, not all of a sample 0, got a sample of "
            "length 0, inf or nan. Leave it out, or add a constant feature."
        )
    scaled = x / lengths
    if size < 1 << n:
        rest = Tensor(np.zeros((*x.shape[:-1], (1 << n) - size), x.dtype), device=x.device)
        scaled = ad.concatenate([scaled, rest], axis=-1)
    return scaled.astype(np.result_type(x.dtype, np.complex64))
