"""Where Parameters live: a move in place, and equal values on several devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from autodiff.device import canonical_device
from autodiff.errors import ShapeError
from autodiff.tensors import Tensor


def relocate(tensor: Tensor, device: str) -> None:
    """Make a device the home of a tensor and of its gradient, in place: every handle follows.

    Unlike ``to`` it records nothing. It raises the version: a graph that was recorded before
    belongs to the old device and cannot be differentiated.

    Args:
        tensor: a tensor that is no view of a part.
        device: ``"cpu"``, ``"emulated"``, ``"emulated:1"``, ...

    Raises:
        DeviceUnavailable: this version or machine has no such device.
        ShapeError: a view; it stays where its storage is.

    >>> p = Tensor([1.0, 2.0], requires_grad=True)
    >>> relocate(p, "emulated")
    >>> p.device, p.residency
    ('emulated', ('cpu', 'emulated'))
    """
    place, cell = canonical_device(device), tensor._cell
    storage = cell.require_storage()
    if cell.strides is not None:
        raise ShapeError(
            f"a move in place needs a whole storage, got {tensor._label()}, a view. "
            "Use t.to(device)."
        )
    if cell.device != place:
        grad = tensor.grad
        storage.rehome(place)
        cell.device = place
        if grad is not None:
            tensor.grad = grad.detach().to(place)


@runtime_checkable
class Model(Protocol):
    """Anything with Parameters and buffers, as a ``qml.Module``."""

    def parameters(self) -> Sequence[Tensor]:
        """Return the Parameters, always in the same order."""

    def buffers(self) -> Sequence[Tensor]:
        """Return the other values that belong to the model."""


Weights: TypeAlias = Model | Sequence[Tensor]


def sync_weights(source: Weights, replicas: Sequence[Weights]) -> None:
    """Give replicas of a model, on any devices, its values. Nothing is set unless all fit.

    Args:
        source: a Module, or a list of Parameters.
        replicas: Modules or lists like it, of the same shapes and dtypes in the same order.

    Raises:
        ShapeError: another number, shape or dtype of values than the source's.

    >>> first, second = Tensor([1.0]), Tensor([0.0], device="emulated")
    >>> sync_weights([first], [[second]])
    >>> second.tolist()
    [1.0]
    """
    values, copies = _values_of(source), [_values_of(replica) for replica in replicas]
    wanted = [(x.shape, x.dtype) for x in values]
    for number, replica in enumerate(copies):
        found = [(x.shape, x.dtype) for x in replica]
        if found != wanted:
            raise ShapeError(
                f"replica {number} needs values of (shape, dtype) {wanted}, got {found}. "
                "Make it like the source."
            )
    for replica in copies:
        for value, copy in zip(values, replica, strict=True):
            copy.set_(value)


def _values_of(weights: Weights) -> list[Tensor]:
    if isinstance(weights, Model):
        return [*weights.parameters(), *weights.buffers()]
    return list(weights)
