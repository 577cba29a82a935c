"""Derivatives of functions: value_and_grad, vjp, jacobian, hessian, hvp.

All of them differentiate by every *differentiable argument*: Tensors, NumPy arrays and numbers of
dtype float32, float64, complex64 or complex128. Any other argument is passed on as it is. With one
differentiable argument the result is one thing, with several a tuple in the order of the arguments.
No ``grad`` is touched, and results carry no history. Gradients follow dL/dRe + i dL/dIm.

A Tensor that requires grad, such as a Parameter, counts wherever the function meets it: a circuit
may know it. Any other Tensor, one that is given twice, and the arguments of a traced function count
where they come in as arguments, as in PyTorch's functional transforms; there what a function closes
over is a constant. ``x.detach()`` is one everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autodiff.backward import grad
from autodiff.dtypes import DIFFERENTIABLE, is_complex
from autodiff.errors import GradientError, ShapeError, TraceError
from autodiff.modes import enable_grad
from autodiff.program import Program, placeholder
from autodiff.runtime.listing import list_values
from autodiff.tensors import Tensor

# Any in this file: arguments are whatever the user's function takes.
Tensors = Tensor | tuple[Tensor, ...]


def value_and_grad(fn: Callable[..., Tensor]) -> Callable[..., tuple[Tensor, Tensors]]:
    """Return the function that gives ``fn``'s value and its gradients.

    Args:
        fn: gives a real tensor of shape ().

    Returns:
        ``g(*args) -> (value, gradients)``; a gradient has its argument's shape and dtype.

    Raises:
        GradientError: (on a call) no differentiable argument, or a value that is not a real scalar.

    >>> value, gradient = value_and_grad(lambda x: (x * x).sum())(Tensor([1.0, 2.0]))
    >>> value.item(), gradient.tolist()
    (5.0, [2.0, 4.0])
    """

    def both(*args: Any) -> tuple[Tensor, Tensors]:
        call = _call(fn, args, "value_and_grad")
        value = _real_scalar(call.output, "value_and_grad")
        return value.detach(), call.give(grad(value, call.variables))

    return both


def vjp(
    fn: Callable[..., Tensor | Sequence[Tensor]], *args: Any
) -> tuple[Tensors, Callable[..., Tensors]]:
    """Return ``fn(*args)`` and its pullback, the vector-Jacobian product.

    Args:
        fn: gives one tensor or a sequence of tensors.
        args: its arguments.

    Returns:
        ``(out, pullback)``. ``pullback(*cotangents)`` takes one cotangent an output, of the
        output's shape and dtype, and gives one gradient a differentiable argument, on every call.

    Raises:
        GradientError: no differentiable argument; (on a call of pullback) a cotangent that does
            not fit.

    >>> out, pullback = vjp(lambda x: x * x, Tensor([1.0, 2.0]))
    >>> pullback(Tensor([1.0, 10.0])).tolist()
    [2.0, 40.0]
    """
    call = _call(fn, args, "vjp")
    outs = call.outputs

    def pullback(*cotangents: Tensor) -> Tensors:
        return call.give(grad(outs, call.variables, cotangents, retain_graph=True))

    values = tuple([out.detach() for out in outs])
    return (values[0] if isinstance(call.output, Tensor) else values), pullback


def jacobian(fn: Callable[..., Tensor], *args: Any) -> Tensors:
    """Return all first derivatives of a real tensor.

    One backward pass carries a cotangent for each of its elements (many of them: a part at a time),
    through a circuit as well: one forward and one reverse engine call. Where an op on the way has
    no meaning per sample, as may an op of the user's own, it is one backward pass an element.

    Args:
        fn: gives one real tensor, of shape S.
        args: its arguments.

    Returns:
        By a differentiable argument of shape A a tensor of shape ``S + A``; for a complex one
        dout/dRe + i dout/dIm.

    Raises:
        GradientError: no differentiable argument, or a complex result.

    >>> jacobian(lambda x: x * x, Tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    call = _call(fn, args, "jacobian")
    out = _one_output(call.output, "jacobian")
    if is_complex(out.dtype):
        raise GradientError(
            f"jacobian needs a real result, got {out._label()}. "
            "Differentiate .real and .imag apart."
        )
    return call.give(_rows(out, call.variables))


def hessian(fn: Callable[..., Tensor], *args: Any) -> Tensor | tuple[tuple[Tensor, ...], ...]:
    """Return all second derivatives of a real scalar by real arguments.

    Args:
        fn: gives a real tensor of shape ().
        args: its arguments.

    Returns:
        For one differentiable argument of shape A a tensor of shape ``A + A``; for several a tuple
        of tuples, ``result[i][j]`` of shape ``A_i + A_j``.

    Raises:
        GradientError: no differentiable argument, a complex one, or a value that is not a real
            scalar.

    >>> hessian(lambda x: (x * x * x).sum(), Tensor([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    call = _call(fn, args, "hessian")
    value = _real_scalar(call.output, "hessian")
    for x in call.variables:
        if is_complex(x.dtype):
            raise GradientError(
                f"hessian needs real arguments, got {x._label()}. Pass real and imaginary part as "
                "two arguments, or use hvp."
            )
    first = grad(value, call.variables, create_graph=True)
    rows = tuple([_rows(g, call.variables) for g in first])
    return rows[0][0] if call.single else rows


def hvp(fn: Callable[..., Tensor], args: Any, vectors: Any) -> Tensors:
    """Return the Hessian times a vector, in two backward passes.

    Args:
        fn: gives a real tensor of shape ().
        args: its argument, or a tuple of its arguments.
        vectors: one vector a differentiable argument, of its shape and dtype.

    Returns:
        d/de gradient(args + e vectors) at e = 0, for complex arguments too.

    Raises:
        GradientError: no differentiable argument, or a value that is not a real scalar.
        ShapeError: not one vector an argument.

    >>> hvp(lambda x: (x * x * x).sum(), Tensor([1.0, 2.0]), Tensor([1.0, 1.0])).tolist()
    [6.0, 12.0]
    """
    call = _call(fn, args if isinstance(args, tuple) else (args,), "hvp")
    value = _real_scalar(call.output, "hvp")
    given = vectors if isinstance(vectors, tuple) else (vectors,)
    if len(given) != len(call.variables):
        raise ShapeError(
            f"hvp needs one vector a differentiable argument, got {len(given)} for "
            f"{len(call.variables)}. Give a tuple for several arguments."
        )
    first = grad(value, call.variables, create_graph=True)
    return call.give(grad(first, call.variables, given))


class _Call(NamedTuple):
    """One evaluation of a function, with what to differentiate it by."""

    output: Any  # Any: what the function returned is checked by each transform
    variables: tuple[Tensor, ...]

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        return (self.output,) if isinstance(self.output, Tensor) else tuple(self.output)

    @property
    def single(self) -> bool:
        return len(self.variables) == 1

    def give(self, gradients: tuple[Tensor, ...]) -> Tensors:
        """One thing for one argument, a tuple for several; without history."""
        found = tuple([g.detach() for g in gradients])
        return found[0] if self.single else found


def _call(fn: Callable[..., Any], args: Sequence[Any], what: str) -> _Call:
    """Evaluate ``fn`` on leaves in place of its differentiable arguments."""
    uses = Counter([id(arg._meta) for arg in args if isinstance(arg, Tensor)])
    values = [_variable(arg, uses) for arg in args]
    variables = tuple([v for v in values if v is not None])
    if not variables:
        raise GradientError(
            f"{what} needs an argument of dtype float32, float64, complex64 or complex128, got "
            f"{', '.join(type(arg).__name__ for arg in args) or 'none'}. Write numbers as floats."
        )
    with enable_grad():
        output = fn(*[a if v is None else v for v, a in zip(values, args, strict=True)])
    return _Call(output, variables)


def _variable(arg: Any, uses: Counter[int]) -> Tensor | None:
    """Return what to differentiate by: what requires grad itself, else a leaf on its value.

    A Parameter stays the object that a circuit or a layer knows; given twice it is two leaves, as
    each argument has its own gradient.
    """
    if isinstance(arg, np.ndarray | np.generic | float | complex):
        arg = Tensor(arg)
    if not isinstance(arg, Tensor) or arg.dtype not in DIFFERENTIABLE:
        return None
    return arg if arg.requires_grad and uses[id(arg._meta)] == 1 else arg._variable()


def _one_output(out: Any, what: str) -> Tensor:
    if not isinstance(out, Tensor):
        raise GradientError(
            f"{what} needs a function that returns one Tensor, got {type(out).__name__}. "
            "Return one, or use vjp."
        )
    return out


def _real_scalar(out: Any, what: str) -> Tensor:
    value = _one_output(out, what)
    if value.shape or is_complex(value.dtype):
        raise GradientError(
            f"{what} needs a function with a real result of shape (), got {value._label()}. "
            "Sum it, or take .real; jacobian takes any shape."
        )
    return value


_ROWS_BYTES = 1 << 26
"""What all rows that are pulled back at once may take, intermediate values included."""


def _rows(out: Tensor, variables: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return the derivatives of every element of a real tensor, ``out.shape + variable.shape``."""
    size = out.numel()

    def seeds(start: int, stop: int) -> NDArray[Any]:
        return np.eye(stop - start, size, start, out.dtype).reshape((-1, *out.shape))

    found = pull_back(out, variables, size, seeds)
    return tuple([g.reshape(out.shape + x.shape) for g, x in zip(found, variables, strict=True)])


def pull_back(
    out: Tensor,
    variables: Sequence[Tensor],
    count: int,
    cotangents: Callable[[int, int], NDArray[Any]],
) -> tuple[Tensor, ...]:
    """Return the gradients of many cotangents of a recorded tensor; no ``grad`` is touched.

    Args:
        out: has been recorded, and stays so.
        variables: require grad.
        count: number of cotangents.
        cotangents: ``(start, stop)`` to these cotangents, ``(stop - start, *out.shape)``.

    Returns:
        By variable ``(count, *variable.shape)``.
    """
    found = [np.empty((count, *x.shape), x.dtype) for x in variables]
    program = _pullback(out, variables) if count > 1 else None
    at_once = 1 if program is None else max(1, _ROWS_BYTES // _row_bytes(program, out))
    for start in range(0, count, at_once):
        stop = min(start + at_once, count)
        seeds = Tensor(cotangents(start, stop), device=out.device)
        if program is None:
            gradients = grad(out, variables, seeds[0], retain_graph=True)
        else:
            given = [seeds] if program.slots else []
            gradients = program.run(given, [True] * len(given))
        for rows, g in zip(found, gradients, strict=True):
            rows[start:stop] = g.numpy()
    return tuple([Tensor(rows, device=x.device) for rows, x in zip(found, variables, strict=True)])


def _pullback(out: Tensor, variables: Sequence[Tensor]) -> Program | None:
    """Return the program from a cotangent of ``out`` to the gradients, if many may go at once.

    The backward pass is linear in the cotangent, so it can be traced with a placeholder there and
    evaluated as if per sample, a cotangent a sample. A gradient that is always 0 depends on none.
    None: a rule reads values, or an op has no shape rule or no meaning per sample, as many of a
    user's own.
    """
    seed = placeholder(out.shape, out.dtype, device=out.device)
    try:
        gradients = grad(out, variables, seed, retain_graph=True)
    except TraceError:
        return None
    program = Program.capture(gradients, lambda x: x._cell is seed._cell, None)
    known = all(i.op.per_sample is not None for i in program.instructions)
    return program if known else None


def _row_bytes(program: Program, out: Tensor) -> int:
    """Return what one row takes: the cotangent, and every value on the way."""
    listing = list_values(program, [(out.shape, out.dtype)] * len(program.slots))
    made = [listing.metas[value] for line in listing.lines for value in line.results]
    return sum(prod(shape) * dtype.itemsize for shape, dtype in [(out.shape, out.dtype), *made])
