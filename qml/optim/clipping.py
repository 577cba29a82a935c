"""Gradients kept within bounds, in place, between backward and step."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, isfinite

import autodiff as ad
from autodiff import GradientError, Parameter, Tensor, no_grad
from autodiff.flat_gradients import gradient_pieces, map_gradients
from qml.optim.base import checked_parameters
from qml.settings import above, real


def clip_grad_norm_(
    parameters: Iterable[Parameter],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> float:
    """Scale all gradients so that their common norm is at most ``max_norm``.

        norm = (sum |g|^norm_type)^(1 / norm_type),    g <- g min(1, max_norm / (norm + 1e-6))

    As in PyTorch, but frozen Parameters neither count nor change, and the norm is a float.

    Args:
        parameters: Parameters; those without a gradient are left out.
        max_norm: at least 0.
        norm_type: above 0; ``inf`` for the largest modulus.
        error_if_nonfinite: refuse a norm that is infinite or NaN, instead of scaling by it.

    Returns:
        The norm before.

    Raises:
        SettingError: bounds outside their range.
        GradientError: a norm that is not finite, if that was asked for; nothing is changed.

    >>> p = Parameter([0.0, 0.0])
    >>> p.grad = Tensor([3.0, 4.0])
    >>> clip_grad_norm_([p], 1.0), [round(g, 3) for g in p.grad.tolist()]
    (5.0, [0.6, 0.8])
    """
    bound = real(0.0)("clip_grad_norm_: max_norm", max_norm)
    if norm_type != inf:
        above(0.0)("clip_grad_norm_: norm_type", norm_type)
    moving = _moving("clip_grad_norm_", parameters)
    with no_grad():
        norm = _norm(moving, float(norm_type))
        if error_if_nonfinite and not isfinite(norm):
            raise GradientError(
                f"clip_grad_norm_ needs gradients of a finite norm, got {norm}. Look for what "
                "overflows, or leave error_if_nonfinite out."
            )
        scale = min(1.0, bound / (norm + 1e-6)) if norm == norm else norm
        map_gradients(lambda g: g * scale, moving)
    return norm


def clip_grad_value_(parameters: Iterable[Parameter], clip_value: float) -> None:
    """Keep every derivative within [-clip_value, clip_value].

    Of a complex gradient, real and imaginary part. As in PyTorch, but frozen Parameters' gradients
    do not change.

    Args:
        parameters: Parameters; those without a gradient are left out.
        clip_value: above 0.

    Raises:
        SettingError: a bound outside its range.

    >>> p = Parameter([0.0, 0.0])
    >>> p.grad = Tensor([3.0, -0.5])
    >>> clip_grad_value_([p], 1.0)
    >>> p.grad.tolist()
    [1.0, -0.5]
    """
    bound = above(0.0)("clip_grad_value_: clip_value", clip_value)
    with no_grad():
        map_gradients(lambda g: _clipped(g, bound), _moving("clip_grad_value_", parameters))


def _clipped(g: Tensor, bound: float) -> Tensor:
    if g.dtype.kind == "c":
        return ad.clip(g.real, -bound, bound) + 1j * ad.clip(g.imag, -bound, bound)
    return ad.clip(g, -bound, bound)


def _moving(owner: str, parameters: Iterable[Parameter]) -> list[Parameter]:
    """Return the trainable Parameters that have a gradient."""
    listed = checked_parameters(owner, parameters)
    return [p for p in listed if p.trainable and p._meta.raw_grad is not None]


def _norm(parameters: list[Parameter], order: float) -> float:
    """The vector norm of all gradients' elements together."""
    if not parameters:
        return 0.0
    pieces = gradient_pieces(parameters)
    moduli = ad.concatenate([abs(g).reshape(-1)[start:stop] for g, start, stop in pieces])
    if order == inf:
        return moduli.max().item()
    return (moduli**order).sum().item() ** (1 / order)
