"""einsum: sums of products over named indices. Its rule is einsum again.

The public function brings any subscripts to what the row knows: every operand has one letter an
axis and none of them twice (diagonals are taken first), no axis broadcasts (axes of length 1 are
dropped where another operand is longer), and the output is explicit.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from string import ascii_letters
from typing import Any

import numpy as np

from autodiff.dispatch import apply, lift
from autodiff.errors import ShapeError
from autodiff.node import Attrs, Cotangents, Meta, Op, Shape
from autodiff.ops.declare import conj_of, public, register
from autodiff.ops.diagonals import diagonal
from autodiff.ops.shape import broadcast_to, reshape, squeeze
from autodiff.tensors import Operand, Tensor

# Any in this file: a backend's module and arrays.
Terms = tuple[str, ...]

#: From this number of multiplications on, BLAS gains more than planning the contraction costs.
_BLAS_PAYS = 30_000


def _extents(terms: Terms, shapes: Sequence[Shape]) -> dict[str, int]:
    return {
        letter: extent
        for term, shape in zip(terms, shapes, strict=True)
        for letter, extent in zip(term, shape, strict=True)
    }


def _per_sample(attrs: Attrs, ranks: Sequence[int]) -> Attrs:
    return {**attrs, "rank": max(ranks)}


def _with_batch(
    operands: Sequence[Any], terms: Terms, out: str, rank: int | None
) -> tuple[list[Any], Terms, str]:
    """Name the batch axis of the operands that have one, and drop the axes that pad it.

    Such an operand has one axis more than the highest per-sample ``rank``.
    """
    if rank is None:
        return list(operands), terms, out
    letter = next(c for c in ascii_letters if all(c not in term for term in (*terms, out)))
    batched = [x.ndim == rank + 1 for x in operands]
    return (
        [
            x.reshape((x.shape[0], *x.shape[rank + 1 - len(term) :])) if flag else x
            for x, term, flag in zip(operands, terms, batched, strict=True)
        ],
        tuple([letter + term if flag else term for term, flag in zip(terms, batched, strict=True)]),
        letter + out,
    )


def _einsum(xp: Any, *arrays: Any, terms: Terms, out: str, rank: int | None = None) -> Any:
    operands, terms, out = _with_batch(arrays, terms, out, rank)
    cost = prod(_extents(terms, [x.shape for x in operands]).values())
    optimize = len(operands) > 2 or (len(operands) == 2 and cost > _BLAS_PAYS)
    return xp.einsum(f"{','.join(terms)}->{out}", *operands, optimize=optimize)


def _einsum_meta(*metas: Meta, terms: Terms, out: str, rank: int | None = None) -> tuple[Meta, ...]:
    views = [np.broadcast_to(np.empty((), dtype), shape) for shape, dtype in metas]
    operands, terms, out = _with_batch(views, terms, out, rank)
    extents = _extents(terms, [x.shape for x in operands])
    return ((tuple([extents[c] for c in out]), np.result_type(*[dtype for _, dtype in metas])),)


def _einsum_vjp(
    gs: Sequence[Tensor],
    outs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    terms: Terms,
    out: str,
    rank: int | None = None,
) -> Cotangents:
    """Contract the cotangent with the conjugates of the other operands."""
    operands, terms, out = _with_batch(inputs, terms, out, rank)
    cotangents: list[Tensor | None] = []
    for k, (x, term) in enumerate(zip(operands, terms, strict=True)):
        if not inputs[k].requires_grad:
            cotangents.append(None)
            continue
        others = [j for j in range(len(operands)) if j != k]
        names = (out, *[terms[j] for j in others])
        found = [c for c in term if any(c in name for name in names)]
        g = apply(
            _EINSUM, gs[0], *[conj_of(operands[j]) for j in others], terms=names, out="".join(found)
        )
        if len(found) < len(term):  # summed in this operand alone: the same for all its elements
            lengths = [n if c in found else 1 for c, n in zip(term, x.shape, strict=True)]
            g = broadcast_to(reshape(g, lengths), x.shape)
        cotangents.append(reshape(g, inputs[k].shape) if rank is not None else g)
    return cotangents


_EINSUM: Op = register(
    Op(
        "einsum",
        _einsum,
        _einsum_vjp,
        _einsum_meta,
        per_sample=_per_sample,
        samples=lambda draw: [
            ((draw(2, 3), draw(3, 2)), {"terms": ("ij", "jk"), "out": "ki"}),
            ((draw(2, 3), draw(3)), {"terms": ("ij", "j"), "out": "ij"}),
            ((draw(2, 3), draw(2)), {"terms": ("ij", "k"), "out": "j"}),
            ((draw(2, 2, 2),), {"terms": ("ijk",), "out": "ji"}),
            ((draw(2), draw(2, 3), draw(3)), {"terms": ("i", "ij", "j"), "out": ""}),
            ((draw(0, 2), draw(0)), {"terms": ("ij", "i"), "out": "j"}),
        ],
        doc="Return the sum of products over named indices.",
    )
)


@public(method=False)
def einsum(subscripts: str, *operands: Operand) -> Tensor:
    """Return the sum of products over named indices, by NumPy's rules.

    Args:
        subscripts: one letter an axis, a comma between operands, ``...`` for axes that broadcast.
            An index that does not stand behind ``->`` is summed over; without ``->`` the output has
            the indices that occur once, in alphabetical order.
        operands: one tensor a term.

    Raises:
        ShapeError: subscripts that do not fit the operands.

    >>> einsum("ii->i", [[1.0, 2.0], [3.0, 4.0]]).tolist()
    [1.0, 4.0]
    """
    tensors = list(lift(operands))
    terms, out = _explicit(subscripts, [x.shape for x in tensors])
    for k, term in enumerate(terms):
        for letter in sorted(set(term)):
            while term.count(letter) > 1:
                tensors[k], term = _take_diagonal(subscripts, tensors[k], term, letter)
        terms[k] = term
    longest: dict[str, int] = {}
    for x, term in zip(tensors, terms, strict=True):
        for letter, extent in zip(term, x.shape, strict=True):
            known = longest.setdefault(letter, extent)
            if known != extent and 1 not in (known, extent):
                raise _misfit(subscripts, tensors, f"{letter!r} has extents {known}, {extent}")
            longest[letter] = extent if known == 1 else known
    for k, (x, term) in enumerate(zip(tensors, terms, strict=True)):
        short = [a for a, c in enumerate(term) if x.shape[a] != longest[c]]
        if short:
            tensors[k] = squeeze(x, short)
            terms[k] = "".join(c for a, c in enumerate(term) if a not in short)
    result: Tensor = apply(_EINSUM, *tensors, terms=tuple(terms), out=out)
    return result


def _misfit(subscripts: str, operands: Sequence[Any], reason: str) -> ShapeError:
    shapes = ", ".join(str(x.shape if isinstance(x, Tensor) else x) for x in operands)
    return ShapeError(
        f"einsum needs subscripts that fit its operands, got {subscripts!r} for shapes {shapes}: "
        f"{reason}. Write one letter an axis and one term an operand, as in 'ij,jk->ik'."
    )


def _take_diagonal(subscripts: str, x: Tensor, term: str, letter: str) -> tuple[Tensor, str]:
    """Merge the first two axes named ``letter`` into one, which becomes the last."""
    first = term.index(letter)
    second = term.index(letter, first + 1)
    if x.shape[first] != x.shape[second]:
        raise _misfit(subscripts, [x], f"index {letter!r} has two extents")
    rest = term[:first] + term[first + 1 : second] + term[second + 1 :]
    return diagonal(x, 0, first, second), rest + letter


def _explicit(subscripts: str, shapes: Sequence[Shape]) -> tuple[list[str], str]:
    """Return one letter an axis for every operand, and for the output."""
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise _misfit(subscripts, shapes, f"{len(terms)} terms for {len(shapes)} operands")
    for text in (*terms, right):
        named = text.replace("...", "", 1)
        if not all(c in ascii_letters for c in named):
            raise _misfit(subscripts, shapes, f"{text!r} holds something else than letters")
    unused = [c for c in ascii_letters if c not in subscripts]
    lengths = [_ellipsis_length(subscripts, t, shapes, k) for k, t in enumerate(terms)]
    if max(lengths) > len(unused):
        raise _misfit(subscripts, shapes, "there are not enough letters for all axes")
    fresh = "".join(unused[: max(lengths)])
    full = [
        term.replace("...", fresh[len(fresh) - length :])
        for term, length in zip(terms, lengths, strict=True)
    ]
    if not arrow:
        named = left.replace("...", "").replace(",", "")
        return full, fresh + "".join(sorted(c for c in set(named) if named.count(c) == 1))
    if "..." not in right and fresh:
        raise _misfit(subscripts, shapes, "the output leaves out the axes of '...'")
    out = right.replace("...", fresh)
    if len(set(out)) < len(out) or not set(out) <= set("".join(full)):
        raise _misfit(subscripts, shapes, "an output index occurs twice, or in no operand")
    return full, out


def _ellipsis_length(subscripts: str, term: str, shapes: Sequence[Shape], k: int) -> int:
    """Return how many axes the ``...`` of a term stands for, 0 where it has none."""
    length = len(shapes[k]) - len(term.replace("...", ""))
    if length < 0 or (length > 0 and "..." not in term):
        raise _misfit(subscripts, shapes, f"{term!r} for shape {shapes[k]}")
    return length
