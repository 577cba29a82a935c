"""Moves between devices: an op whose gradient is the move back."""

from __future__ import annotations

from autodiff.device import canonical_device
from autodiff.dispatch import apply, lift
from autodiff.node import Op
from autodiff.ops.declare import per_input, public, register, unchanged
from autodiff.tensors import Operand, Tensor

_TO: Op = register(
    Op(
        "to",
        # Where a traced program runs, its placement decides; elsewhere the dispatch point moves.
        lambda xp, x, device: x,
        per_input(lambda g, outs, x, device: apply(_TO, g, device=x.device)),
        lambda x, device: (x,),
        moves=True,
        per_sample=unchanged,
        samples=lambda draw: [
            ((draw(2, 3),), {"device": "cpu"}),
            ((draw(0, 2),), {"device": "cpu"}),
        ],
        doc="Return x on a device.",
    )
)


@public()
def to(x: Operand, device: str) -> Tensor:
    """Return x on a device; where it is already, x itself. Its gradient comes back to x's device.

    A move is counted (``stats``) and recorded. x keeps the copy, so that the next move of the same
    value to the same device costs nothing; the result has a storage and a version of its own.

    Args:
        x: any tensor; of a view only its own elements are moved.
        device: ``"cpu"``, ``"emulated"``, ``"emulated:1"``, ...

    Raises:
        DeviceUnavailable: this version or machine has no such device.

    >>> x = Tensor([1.0, 2.0], requires_grad=True)
    >>> to(x, "emulated").sum().backward()
    >>> x.grad
    Tensor([1., 1.], dtype=float64)
    """
    (tensor,) = lift((x,))
    place = canonical_device(device)
    return tensor if place == tensor.device else apply(_TO, tensor, device=place)
