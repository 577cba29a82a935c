"""How rows are declared, and what no rule has to do itself.

The inner product is <a, b> = Re sum conj(a) b, and a vector-Jacobian product is the adjoint under
it. So a holomorphic f has the cotangent g conj(f'(x)): conjugation is done here, once. A rule may
return a cotangent of the broadcast shape and of a complex dtype; ``fit`` sums over broadcast axes,
projects to real and restores the dtype, once, for every rule.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from autodiff.dispatch import apply, lift
from autodiff.dtypes import DType
from autodiff.errors import AutodiffError, DTypeError, ShapeError, reason
from autodiff.ieee import silent
from autodiff.node import Attrs, Meta, Op, Rule, Shape
from autodiff.table import FUNCTIONS, METHODS, OPS
from autodiff.tensors import Operand, Tensor

# Any in this file: forwards take a backend's arrays, attrs are whatever a row says.
F = TypeVar("F", bound=Callable[..., Any])
Function = Callable[..., Tensor]


def register(op: Op, operands: int | None = None) -> Op:
    """Put a row into the table, where its name stands once; floating-point errors stay silent.

    ``operands`` says how many arrays the forward takes if it takes nothing else.
    """
    if op.name in OPS:
        raise ValueError(f"an op needs a new name, got {op.name!r} twice. Choose another.")
    if not (op.view or op.moves):
        op.forward = silent(op.forward, operands)
    OPS[op.name] = op
    return op


def public(*aliases: str, method: bool = True) -> Callable[[F], F]:
    """Publish a function under its name and aliases; ``method`` makes it one of Tensor's too."""

    def publish(function: F) -> F:
        for name in (function.__name__, *aliases):
            if name in FUNCTIONS:
                raise ValueError(f"a function needs a new name, got {name!r} twice.")
            FUNCTIONS[name] = function
            if method:
                METHODS.append(name)
        return function

    return publish


def per_input(*rules: Callable[..., Tensor | None]) -> Rule:
    """Make a vjp of one ``rule(g, outs, *inputs, **attrs)`` an input, each run only if asked."""
    only, *others = rules

    def vjp_of_one(
        gs: Sequence[Tensor], outs: Sequence[Tensor], inputs: Sequence[Tensor], **attrs: Any
    ) -> tuple[Tensor | None]:
        (x,) = inputs
        return (only(gs[0], outs, x, **attrs) if x._meta.requires_grad else None,)

    def vjp(
        gs: Sequence[Tensor], outs: Sequence[Tensor], inputs: Sequence[Tensor], **attrs: Any
    ) -> list[Tensor | None]:
        return [
            rule(gs[0], outs, *inputs, **attrs) if x._meta.requires_grad else None
            for rule, x in zip(rules, inputs, strict=True)
        ]

    return vjp if others else vjp_of_one


def broadcasting(
    name: str,
    forward: Callable[..., Any],
    *partials: Function | None,
    doc: str,
    aliases: Sequence[str] = (),
    method: bool = True,
    **row: Any,
) -> Function:
    """Declare a broadcasting op of one or two operands and return its public function.

    Args:
        name: the function's name.
        forward: ``forward(xp, *arrays)``.
        partials: as for ``elementwise_op``.
        doc: the docstring, with an example.
        aliases: further names of the function.
        method: whether it is a method of Tensor too.
        row: as for ``elementwise_op``.
    """
    op = elementwise_op(name, forward, *partials, doc=doc, **row)
    plain = _unary(op) if _arity(forward) == 1 else _binary(op)
    function = plain if op.takes_complex else _for_real_operands(op, plain)
    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = op.doc
    return public(*aliases, method=method)(function)


def elementwise_op(
    name: str,
    forward: Callable[..., Any],
    *partials: Function | None,
    doc: str,
    rules: Sequence[Callable[..., Tensor | None]] | None = None,
    vjp: Rule | None = None,
    reads_outputs: bool = False,
    domain: tuple[float, float] = (-2.0, 2.0),
    takes_complex: bool = True,
    samples: Callable[..., Sequence[tuple[tuple[Any, ...], Attrs]]] | None = None,
) -> Op:
    """Declare the row of a broadcasting op.

    Args:
        name: the op's name.
        forward: ``forward(xp, *arrays)``.
        partials: the derivative by each operand, ``partial(outs, *inputs)``, for a holomorphic op.
        doc: what it computes.
        rules: for any other op, ``rule(g, outs, *inputs)`` by operand.
        vjp: or one rule for all operands, as in ``Op``; nothing of these: the op has no gradient.
        reads_outputs: whether a partial or a rule reads ``outs``.
        domain: where the table test draws real operands (and real and imaginary parts).
        takes_complex: whether the op is defined for complex operands.
        samples: operands for the table test; by default all of them are drawn.
    """
    if partials:
        rules = [_holomorphic(partial) for partial in partials]
    if rules:
        vjp = per_input(*rules)
    return register(
        Op(
            name,
            forward,
            vjp,
            elementwise_meta(forward),
            reads_outputs=reads_outputs,
            per_sample=unchanged,
            samples=samples or elementwise_samples(_arity(forward)),
            domain=domain,
            takes_complex=takes_complex,
            doc=doc,
        ),
        _arity(forward),
    )


def _arity(forward: Callable[..., Any]) -> int:
    return len(inspect.signature(forward).parameters) - 1


def _unary(op: Op) -> Function:
    def function(x: Operand, /) -> Tensor:
        try:
            return apply(op, x)
        except (TypeError, ValueError) as error:
            explain(op, (x,), error)
            raise

    return function


def _binary(op: Op) -> Function:
    def function(x: Operand, y: Operand, /) -> Tensor:
        try:
            return apply(op, x, y)
        except (TypeError, ValueError) as error:
            explain(op, (x, y), error)
            raise

    return function


def _for_real_operands(op: Op, plain: Function) -> Function:
    @functools.wraps(plain)
    def function(*args: Operand) -> Tensor:
        tensors = lift(args)
        require_real(op.name, *tensors)
        return plain(*tensors)

    return function


def explain(op: Op, args: tuple[Operand, ...], error: Exception) -> None:
    """Raise what a forward refused in this project's words, where they are not that already."""
    if isinstance(error, AutodiffError):
        return
    tensors = lift(args)
    broadcast_shape(*[x.shape for x in tensors])
    raise DTypeError(
        f"{op.name} needs operands that NumPy can compute it for, got dtypes "
        f"{', '.join(str(x.dtype) for x in tensors)}: {reason(error)}. Convert them with astype."
    ) from error


def require_real(name: str, *tensors: Tensor) -> None:
    """Refuse complex operands of an op that is not defined for them."""
    for x in tensors:
        if x.dtype.kind == "c":
            raise DTypeError(
                f"{name} needs real operands, got dtype {x.dtype} of shape {x.shape}. "
                "Take .real, .imag or abs() first."
            )


def _holomorphic(partial: Function | None) -> Callable[..., Tensor | None]:
    def rule(g: Tensor, outs: Sequence[Tensor], *inputs: Tensor) -> Tensor | None:
        return None if partial is None else g * conj_of(partial(outs, *inputs))

    return rule


def conj_of(x: Tensor | complex) -> Tensor | complex:
    """Return the conjugate; real values pass through unchanged, at no cost."""
    if isinstance(x, Tensor):
        return FUNCTIONS["conj"](x) if x._cell.dtype.kind == "c" else x
    return x.conjugate()


def elementwise_meta(forward: Callable[..., Any]) -> Callable[..., Sequence[Meta]]:
    """Shape rule of a broadcasting op: the dtype is what ``forward`` gives for empty operands."""
    dtypes: dict[tuple[DType, ...], DType] = {}

    def meta(*metas: Meta, **attrs: Any) -> Sequence[Meta]:
        key = tuple(dtype for _, dtype in metas)
        if key not in dtypes:
            dtypes[key] = forward(np, *[np.empty(0, dtype) for dtype in key], **attrs).dtype
        return ((broadcast_shape(*[shape for shape, _ in metas]), dtypes[key]),)

    return meta


def elementwise_samples(count: int) -> Callable[..., Sequence[tuple[tuple[Any, ...], Attrs]]]:
    """Operands that cover equal shapes, broadcasting in both directions and zero size."""

    def samples(draw: Callable[..., Any]) -> Sequence[tuple[tuple[Any, ...], Attrs]]:
        shapes: list[list[Shape]] = [[(2, 3)], [()], [(0, 3)]]
        if count > 1:
            shapes = [[(2, 3), (2, 3)], [(3,), (2, 1)], [(), (2,)], [(2, 1), (2, 0)]]
            shapes = [[*pair, *[pair[0]] * (count - 2)] for pair in shapes]
        return [(tuple(draw(*shape) for shape in case), {}) for case in shapes]

    return samples


def unchanged(attrs: Attrs, ranks: Sequence[int]) -> Attrs:
    """Attrs that mean the same with a batch axis in front."""
    return attrs


def broadcast_shape(*shapes: Shape) -> Shape:
    """Return the common shape, or refuse."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise ShapeError(
            f"operands need shapes that broadcast, got {', '.join(map(str, shapes))}. "
            "Reshape one of them."
        ) from error


def fit(g: Tensor, x: Tensor) -> Tensor:
    """Bring a cotangent to its input: sum over broadcast axes, project to real, cast."""
    cell, like = g._cell, x._cell
    if cell.shape != like.shape:
        g = unbroadcast(g, like.shape)
    if cell.dtype != like.dtype:
        if cell.dtype.kind == "c" and like.dtype.kind != "c":
            g = FUNCTIONS["real"](g)
        g = FUNCTIONS["astype"](g, like.dtype)
    return g


def unbroadcast(g: Tensor, shape: Shape) -> Tensor:
    """Adjoint of broadcasting: sum over axes that were added or stretched (also to length 0)."""
    given = g._cell.shape
    extra = len(given) - len(shape)
    if extra < 0 or any(n not in (1, m) for n, m in zip(shape, given[extra:], strict=True)):
        raise ShapeError(
            f"a cotangent needs a shape that {shape} broadcasts to, got {given}. "
            "Correct the rule of the op."
        )
    stretched = [extra + k for k, n in enumerate(shape) if n != given[extra + k]]
    axes = (*range(extra), *stretched)
    if not stretched:
        return FUNCTIONS["sum"](g, axis=axes) if axes else g
    summed = FUNCTIONS["sum"](g, axis=axes, keepdims=True)
    return FUNCTIONS["reshape"](summed, shape) if extra else summed
