"""All Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

import autodiff as ad
from autodiff import Parameter, ParameterError, ShapeError, Tensor
from autodiff.flat_parameters import flat_groups


def parameters_to_vector(parameters: Iterable[Parameter]) -> Tensor:
    """Return the elements of all Parameters one after the other, with history.

    Args:
        parameters: at least one.

    Returns:
        A Tensor of shape ``(N,)``.

    >>> parameters_to_vector([Parameter([1.0, 2.0]), Parameter(3.0)]).tolist()
    [1.0, 2.0, 3.0]
    """
    return ad.concatenate([p.reshape(-1) for p in _listed("parameters_to_vector", parameters)])


def vector_to_parameters(vector: ArrayLike | Tensor, parameters: Iterable[Parameter]) -> None:
    """Set all Parameters from the elements of a vector. All or none are set.

    Args:
        vector: ``(N,)``, N elements in total.
        parameters: in the order of the vector.

    Raises:
        ShapeError: another shape.
        DTypeError: complex values for real Parameters.

    >>> p = Parameter([0.0, 0.0])
    >>> vector_to_parameters([1.0, 2.0], [p])
    >>> p.tolist()
    [1.0, 2.0]
    """
    listed = _listed("vector_to_parameters", parameters)
    values = vector.numpy() if isinstance(vector, Tensor) else np.asarray(vector)
    sizes = [p.numel() for p in listed]
    if values.shape != (sum(sizes),):
        raise ShapeError(
            f"vector_to_parameters needs a vector of shape ({sum(sizes)},), got shape "
            f"{values.shape}. Give one number for each element."
        )
    for p in listed:
        if not np.can_cast(values.dtype, p.dtype, "same_kind"):
            raise ad.DTypeError(
                f"vector_to_parameters needs values that cast to {p.dtype}, got {values.dtype} for "
                f"{p._label()}. Take .real."
            )
    for flat, inside in flat_groups(listed):
        flat.assign(Tensor(values[np.repeat(inside, sizes)]))


def _listed(name: str, parameters: Iterable[Parameter]) -> list[Parameter]:
    listed = list(parameters)
    if not listed or not all(isinstance(p, Parameter) for p in listed):
        kinds = [type(p).__name__ for p in listed]
        raise ParameterError(f"{name} needs a list of Parameters, got {kinds}. Write [p].")
    return listed
