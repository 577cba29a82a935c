"""What ``device_check`` runs and measures: circuits whose parameters live on the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff import Parameter, Tensor
from autodiff.placement import relocate
from circuits import Circuit, Input, PauliSum

# Any in this file: NumPy's dtypes.


def layers(n: int, depth: int, dtype: Any, device: str, *, features: bool = False) -> Circuit:
    """Rotations about Y and Z on every qubit and a ring of CX, ``depth`` times.

    Args:
        n: qubits.
        depth: layers.
        dtype: complex64 or complex128; parameters and features are real numbers to match.
        device: where the angles are, which are one vector.
        features: whether an Input ``x`` of n elements turns the qubits in the end.
    """
    real = np.finfo(dtype).dtype
    angles = Parameter(np.linspace(0.1, 3.0, 2 * n * depth).astype(real), name="angles")
    circuit, k = Circuit(n), 0
    for _ in range(depth):
        for q in range(n):
            circuit.ry(angles[k], q).rz(angles[k + 1], q)
            k += 2
        for q in range(n if n > 2 else n - 1):
            circuit.cx(q, (q + 1) % n)
    if features:
        x = Input("x", n, real)
        for q in range(n):
            circuit.rx(x[q], q)
    relocate(angles, device)
    return circuit


def rows(n: int, batch: int, dtype: Any, device: str) -> dict[str, Tensor]:
    """Features for a batch, on the device."""
    values = np.random.default_rng(0).normal(size=(batch, n))
    return {"x": Tensor(values, dtype=np.finfo(dtype).dtype, device=device)}


def ising(n: int) -> PauliSum:
    """The transverse-field Ising chain."""
    terms = {}
    for q in range(n):
        terms["".join("X" if k == q else "I" for k in range(n))] = -1.0
        if q + 1 < n:
            terms["".join("Z" if k in (q, q + 1) else "I" for k in range(n))] = -1.0
    return PauliSum(terms)
