"""Ops of the user's own: the same kind of row as the built-in ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autodiff.backends.interface import Array
from autodiff.dispatch import apply
from autodiff.errors import GradientError
from autodiff.node import Cotangents, Meta, Op, Rule
from autodiff.tensors import Operand, Tensor

# Any in this file: forwards take a backend's arrays, attrs and flags are whatever a row says.


def custom_op(
    name: str,
    forward: Callable[..., Any],
    vjp: Callable[..., Any] | None,
    meta: Callable[..., Sequence[Meta]] | None = None,
    **flags: Any,
) -> Callable[..., Any]:
    """Make a differentiable function of a forward computation and its rule.

    The row is an ``autodiff.node.Op`` like any other, but stands in no table, so a notebook cell
    that defines it can be run again.

    Args:
        name: shown in error messages.
        forward: ``forward(xp, *arrays, **attrs)`` to an array or a tuple of arrays. ``xp`` is
            NumPy, or a module with its names. The arrays are read-only; results are copied.
        vjp: ``vjp(gs, outs, inputs, **attrs)`` to one cotangent an operand, or None for zero, in
            ops on Tensors. ``gs`` holds the cotangent of each output (None where nothing arrived),
            ``outs`` the outputs if ``reads_outputs=True``. The rule is the adjoint under
            <a, b> = Re sum conj(a) b: a holomorphic f gives ``g * f'(x).conj()``. None: no
            gradient.
        meta: ``meta(*metas, **attrs)`` to ``((shape, dtype), ...)`` of the outputs from those of
            the operands, without computing; without it the op can't be traced.
        flags: further fields of ``Op``: ``outputs``, ``reads_outputs``, ``reads_from``,
            ``per_sample``.

    Returns:
        ``function(*operands, **attrs)`` to a Tensor, or a tuple of ``outputs`` Tensors. Attrs are
        frozen values: numbers, strings, tuples.

    Raises:
        GradientError: (in backward) a rule that does not give one Tensor or None an operand.
        TypeError: an unknown flag.

    >>> cube = custom_op("cube", lambda xp, x: x**3, lambda gs, outs, ins: gs[0] * 3 * ins[0] ** 2)
    >>> x = Tensor(2.0, requires_grad=True)
    >>> cube(x).backward()
    >>> x.grad.item()
    12.0
    """
    rule = None if vjp is None else _checked(name, vjp)
    op = Op(name, _copied(forward), rule, meta, **flags)

    def function(*operands: Operand, **attrs: Any) -> Any:
        return apply(op, *operands, **attrs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = op.doc or f"Run the custom op {name}."
    return function


def _copied(forward: Callable[..., Any]) -> Callable[..., Any]:
    """The forward whose results share no memory with what the user may keep and change."""

    def copied(xp: Any, *arrays: Array, **attrs: Any) -> Any:
        result = forward(xp, *arrays, **attrs)
        if isinstance(result, tuple):
            return tuple([xp.array(value) for value in result])
        return xp.array(result)

    return copied


def _checked(name: str, vjp: Callable[..., Any]) -> Rule:
    """The rule, which may give a single Tensor for a single operand, with its answer checked."""

    def rule(
        gs: Cotangents, outs: Sequence[Tensor], inputs: Sequence[Tensor], **attrs: Any
    ) -> Cotangents:
        made = vjp(gs, outs, inputs, **attrs)
        found = (made,) if isinstance(made, Tensor) else made
        if not isinstance(found, list | tuple) or any(
            g is not None and not isinstance(g, Tensor) for g in found
        ):
            raise GradientError(
                f"the rule of {name} needs to give one Tensor (or None) an operand, got {made!r}. "
                "Compute it with ops on Tensors."
            )
        return found

    return rule
