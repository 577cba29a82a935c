"""Initializers: starting values of angles, from an explicit seed."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt

import numpy as np
from numpy.typing import DTypeLike, NDArray

from autodiff import F32, F64
from autodiff.dtypes import DType
from circuits import Circuit
from circuits.sampling import Seed, generator_of
from qml.ansaetze.building import new_parameters, numbered
from qml.errors import SettingError
from qml.settings import floating, real, whole

Initializer = Callable[[int], NDArray[np.floating]]
"""``initializer(P)`` gives P angles in radians."""


def uniform_angles(
    low: float = -pi, high: float = pi, *, seed: Seed, dtype: DTypeLike = F64
) -> Initializer:
    """Make an initializer that draws uniformly from [low, high).

    Args:
        low: in radians.
        high: in radians, above ``low``.
        seed: integer or ``numpy.random.Generator``. Circuits of one model share one Generator.
        dtype: float32 or float64.

    Raises:
        SettingError: an empty interval, or another dtype.

    Example:
        >>> import qml
        >>> qml.uniform_angles(0.0, 1.0, seed=0)(2).round(3).tolist()
        [0.637, 0.27]
    """
    start = real()("uniform_angles: low", low)
    width = real(0.0)("uniform_angles: high - low", high - low)
    generator, kind = generator_of(seed), _checked_dtype("uniform_angles", dtype)
    return lambda count: (start + width * generator.random(count)).astype(kind)


def normal_angles(
    deviation: float = 0.1, mean: float = 0.0, *, seed: Seed, dtype: DTypeLike = F64
) -> Initializer:
    """Make an initializer that draws from a normal distribution.

    Args:
        deviation: standard deviation in radians, at least 0.
        mean: in radians.
        seed: integer or ``numpy.random.Generator``. Circuits of one model share one Generator.
        dtype: float32 or float64.

    Raises:
        SettingError: a negative deviation, or another dtype.

    Example:
        >>> import qml
        >>> qml.normal_angles(0.1, seed=0)(2).round(3).tolist()
        [0.013, -0.013]
    """
    spread = real(0.0)("normal_angles: deviation", deviation)
    middle = real()("normal_angles: mean", mean)
    generator, kind = generator_of(seed), _checked_dtype("normal_angles", dtype)
    return lambda count: (middle + spread * generator.standard_normal(count)).astype(kind)


def small_angles(
    layers: int = 1, locality: int = 1, *, seed: Seed, dtype: DTypeLike = F64
) -> Initializer:
    """Make an initializer of normal angles that are small enough for gradients not to vanish.

    Their variance is 1 / (4 S (L + 2)), for L layers and an observable on S qubits.

    Args:
        layers: L, at least 1.
        locality: S, on how many qubits a term of the observable acts; at least 1.
        seed: integer or ``numpy.random.Generator``. Circuits of one model share one Generator.
        dtype: float32 or float64.

    Raises:
        SettingError: a setting outside its range.

    Example:
        >>> import qml
        >>> qml.small_angles(layers=2, seed=0)(2).round(3).tolist()
        [0.031, -0.033]

    Reference:
        Zhang, Liu, Hsieh, Tao (2022), arXiv:2203.09376.
    """
    depth = whole(1)("small_angles: layers", layers)
    size = whole(1)("small_angles: locality", locality)
    return normal_angles(1.0 / sqrt(4 * size * (depth + 2)), seed=seed, dtype=dtype)


def identity_blocks(
    ansatz: Circuit, blocks: int = 1, *, initial: Initializer, name: str = "theta"
) -> Circuit:
    """Return an ansatz that is the identity at first, however many angles it has.

    A block is the ansatz and then its inverse, with Parameters of their own that start equal.

    Args:
        ansatz: a circuit with scalar Parameters and without Inputs, which stays as it is.
        blocks: how many, at least 1.
        initial: draws the starting values of each block's first half.
        name: the Parameters are ``name[0]``, ``name[1]``, ...

    Raises:
        SettingError: fewer than one block, a circuit with Inputs, or without scalar Parameters.

    Example:
        >>> import qml
        >>> half = qml.hardware_efficient(2, 1, initial=0.0)
        >>> circuit = qml.identity_blocks(half, 3, initial=qml.uniform_angles(seed=0))
        >>> circuit.counts(10, seed=0, engine="reference"), len(circuit.parameters())
        ({'00': 10}, 24)

    Reference:
        Grant, Wossnig, Ostaszewski, Benedetti (2019), arXiv:1903.05076.
    """
    count = whole(1)("identity_blocks: blocks", blocks)
    old = ansatz.parameters()
    if not old or ansatz.inputs or any(p.shape for p in old):
        raise SettingError(
            "identity_blocks needs a circuit with scalar Parameters and no Inputs, got "
            f"{ansatz!r}. "
            "Encode the features in another circuit."
        )
    made, every = Circuit(ansatz.num_qubits), numbered(name, 2 * count * len(old))
    for block in range(count):
        values = initial(len(old))
        for half, part in enumerate((ansatz, ansatz.inverse())):
            names = every[(2 * block + half) * len(old) :][: len(old)]
            new = new_parameters("identity_blocks", names, values)
            made.compose(part, bindings=dict(zip(old, new, strict=True)))
    return made


def _checked_dtype(what: str, dtype: DTypeLike) -> DType:
    found: DType = floating(F32, F64)(f"{what}: dtype", dtype)
    return found
