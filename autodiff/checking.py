"""gradcheck: a rule against finite differences, in every direction that an operand can move.

With the inner product <a, b> = Re sum conj(a) b and a random cotangent c, phi(x) = <c, fn(x)> is
one real number, and backward from c has to give its gradient dphi/dRe x + i dphi/dIm x. Every real
and imaginary part is moved in turn and phi differenced by the five-point formula
phi' = (8 (phi(+h) - phi(-h)) - (phi(+2h) - phi(-2h))) / 12h + O(h^4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autodiff.backward import grad
from autodiff.dtypes import C64, DIFFERENTIABLE, F32, is_complex, real_dtype
from autodiff.errors import GradcheckError, GradientError, ShapeError
from autodiff.modes import enable_grad
from autodiff.tensors import Tensor

Function = Callable[..., Tensor | Sequence[Tensor]]


class Tolerance(NamedTuple):
    """Step and tolerances: |backward - differences| <= atol + rtol * |differences|."""

    eps: float
    atol: float
    rtol: float


# Steps are powers of two, so that x + h - x is h for numbers of moderate size. Error of the
# differences: about eps**4 from the formula plus unit roundoff / eps.
DOUBLE = Tolerance(eps=2.0**-10, atol=1e-8, rtol=1e-7)
SINGLE = Tolerance(eps=2.0**-5, atol=1e-3, rtol=1e-3)


def gradcheck(
    fn: Function,
    *args: Tensor | ArrayLike,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    order: int = 1,
    seed: int = 0,
) -> bool:
    """Compare the gradients of ``fn`` with finite differences; returns True or raises.

    A leaf that requires grad is passed to ``fn`` itself, so that a Parameter is found by what holds
    it; of any other argument a leaf that shares its storage. The values are moved through the
    storage, so whatever reads it sees them, and are restored exactly, on an error too. Its version
    rises, so a graph that was recorded before can't be differentiated afterwards.

    Args:
        fn: a deterministic function of tensors that returns a tensor or a tuple of tensors.
        args: tensors, arrays or numbers of dtype float32, float64, complex64 or complex128.
        eps: step; 2**-10 in double precision, 2**-5 if an argument or an output is single.
        atol: absolute tolerance, in |backward - differences| <= atol + rtol |differences|; 1e-8 in
            double, 1e-3 in single precision.
        rtol: relative tolerance; 1e-7 in double, 1e-3 in single precision, which then finds only
            errors of more than about 0.2 %: check rules in double precision.
        order: 2 checks the derivatives of the gradients as well, by arguments and by cotangents.
        seed: of the random cotangents.

    Raises:
        GradcheckError: a gradient of the wrong value, shape or dtype.
        GradientError: an argument that has no gradient, or an unknown order.

    >>> x = Tensor([0.3, -1.2])
    >>> gradcheck(lambda x: x * x * x, x, order=2)
    True
    """
    if order not in (1, 2):
        raise GradientError(
            f"gradcheck needs order 1 or 2, got {order!r}. Check lower orders first."
        )
    leaves = [_leaf(arg, k) for k, arg in enumerate(args)]
    _refuse_overlap(leaves)
    rng = np.random.default_rng(seed)
    with enable_grad():
        outs = _outputs(fn(*leaves))
        chosen = _tolerance([*leaves, *outs], eps, atol, rtol)
        cotangents = [_random_like(out, rng) for out in outs]
        _check(fn, leaves, cotangents, chosen, "")
        if order == 2:
            moved = [c for c in cotangents if c.dtype in DIFFERENTIABLE]
            gradients = _gradient_of(fn, len(leaves))
            seeds = [_random_like(x, rng) for x in leaves]
            _check(gradients, [*leaves, *moved], seeds, chosen, "second-order ")
    return True


def _leaf(arg: Tensor | ArrayLike, position: int) -> Tensor:
    """Return a leaf that requires grad and shares the argument's storage."""
    tensor = arg if isinstance(arg, Tensor) else Tensor(arg)
    if tensor.dtype not in DIFFERENTIABLE:
        raise GradientError(
            "gradcheck needs arguments of dtype float32, float64, complex64 or complex128, got "
            f"{tensor._label()} at position {position}. Bind it inside fn, or convert it."
        )
    return tensor if tensor.is_leaf and tensor.requires_grad else tensor._variable()


def _refuse_overlap(leaves: Sequence[Tensor]) -> None:
    """Moving one argument must not move another one."""
    metas = {id(x._meta): x for x in leaves}
    if len({id(x._cell.storage) for x in metas.values()}) < len(metas):
        raise GradientError(
            "gradcheck needs arguments with storages of their own, got two that share one. "
            "Pass x.deep_clone() for one of them."
        )


def _outputs(made: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    return (made,) if isinstance(made, Tensor) else tuple(made)


def _tolerance(
    tensors: Sequence[Tensor], eps: float | None, atol: float | None, rtol: float | None
) -> Tolerance:
    default = SINGLE if any(x.dtype in (F32, C64) for x in tensors) else DOUBLE
    given = Tolerance(
        *[d if g is None else g for g, d in zip((eps, atol, rtol), default, strict=True)]
    )
    if not (given.eps > 0 and given.atol >= 0 and given.rtol >= 0):
        raise GradientError(
            f"gradcheck needs a positive eps and tolerances >= 0, got {given}. "
            "Leave them out for the defaults of the dtype."
        )
    return given


def _random_like(x: Tensor, rng: np.random.Generator) -> Tensor:
    """Return a random cotangent of x's shape, dtype and device."""
    value: NDArray[Any] = rng.standard_normal(x.shape)
    if is_complex(x.dtype):
        value = value + 1j * rng.standard_normal(x.shape)
    return Tensor(value.astype(x.dtype), device=x.device, requires_grad=x.dtype in DIFFERENTIABLE)


def _gradient_of(fn: Function, count: int) -> Function:
    """Return the function of arguments and cotangents that gives the gradients by arguments."""

    def gradients(*values: Tensor) -> tuple[Tensor, ...]:
        leaves, cotangents = values[:count], values[count:]
        outs = [out for out in _outputs(fn(*leaves)) if out.dtype in DIFFERENTIABLE]
        return _backward(outs, leaves, cotangents, create_graph=True)

    return gradients


def _backward(
    outs: Sequence[Tensor],
    leaves: Sequence[Tensor],
    cotangents: Sequence[Tensor],
    create_graph: bool = False,
) -> tuple[Tensor, ...]:
    """Return the gradients by ``leaves``; a cotangent that fits no operand is a wrong rule."""
    pairs = [(o, c) for o, c in zip(outs, cotangents, strict=True) if o.requires_grad]
    kept = [o for o, _ in pairs], tuple(leaves), [c for _, c in pairs]
    try:
        return tuple(grad(*kept, create_graph=create_graph))
    except ShapeError as error:
        raise GradcheckError(str(error)) from error


def _check(
    fn: Function,
    leaves: Sequence[Tensor],
    cotangents: Sequence[Tensor],
    tolerance: Tolerance,
    what: str,
) -> None:
    """Compare backward from ``cotangents`` with differences, element by element."""
    found = _backward(_outputs(fn(*leaves)), leaves, cotangents)
    weights = [c.numpy() for c in cotangents]

    def phi() -> float:
        outs = [out.numpy() for out in _outputs(fn(*leaves))]
        return float(sum(np.vdot(c, out).real for c, out in zip(weights, outs, strict=True)))

    for position, (x, g) in enumerate(zip(leaves, found, strict=True)):
        label = f"{what}gradient by argument {position} ({x._label()})"
        if (g.shape, g.dtype) != (x.shape, x.dtype):
            raise GradcheckError(
                f"the {label} needs its argument's shape and dtype, got {g._label()}. "
                "Correct the rule of the op."
            )
        value = g.numpy()
        for index, part, slope in _slopes(x, phi, tolerance.eps):
            given = float(getattr(value[index], part))
            allowed = tolerance.atol + tolerance.rtol * abs(slope)
            if not abs(given - slope) <= allowed:  # a NaN fails too
                raise GradcheckError(
                    f"the {label} needs to agree with finite differences within {allowed:.3g}, got "
                    f"{given!r} from backward and {slope!r} from differences in the {part} part of "
                    f"element {index}. Correct the rule of the op, or the domain of the test."
                )


def _slopes(
    x: Tensor, phi: Callable[[], float], eps: float
) -> Iterator[tuple[tuple[int, ...], str, float]]:
    """Yield the difference quotient of ``phi`` by every part of every element; restores x."""
    original = x.numpy()
    step = float(real_dtype(x.dtype).type(eps))
    parts = {"real": step, "imag": 1j * step} if is_complex(x.dtype) else {"real": step}

    def moved(index: tuple[int, ...], by: complex) -> float:
        value = original.copy()
        value[index] += by
        x.set_(value)
        return phi()

    try:
        for index in np.ndindex(x.shape):
            for part, h in parts.items():
                near = moved(index, h) - moved(index, -h)
                far = moved(index, 2 * h) - moved(index, -2 * h)
                yield index, part, (8 * near - far) / (12 * step)
    finally:
        x.set_(original)
