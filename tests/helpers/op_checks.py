"""Checks of a row of the op table on its own samples: values, gradients, dtypes, views, batches.

Each is a function of a row, so that planted rows can show that it finds what it is for.
"""

from __future__ import annotations

import doctest
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from autodiff import Program, Tensor, grad, gradcheck
from autodiff.dispatch import apply, lift
from autodiff.dtypes import DIFFERENTIABLE
from autodiff.node import Op
from autodiff.table import FUNCTIONS

DOUBLE = [np.dtype(np.float64), np.dtype(np.complex128)]
SINGLE = [np.dtype(np.float32), np.dtype(np.complex64)]

# Any in this file: arrays of every dtype, and attrs, which are whatever a row says.
Reference = Callable[..., Any]

#: The definition of what NumPy does not have under the row's name, or with the row's attrs.
REFERENCES: dict[str, Reference] = {
    "astype": lambda x, dtype: x.astype(dtype),
    "broadcast_to": lambda x, shape, kept=None: np.broadcast_to(
        x if kept is None else x.reshape(kept), shape
    ),
    "concatenate": lambda *arrays, axis: np.concatenate(arrays, axis),
    "einsum": lambda *arrays, terms, out: np.einsum(",".join(terms) + "->" + out, *arrays),
    "flat_index": lambda *indices, dims: np.ravel_multi_index(indices, dims, mode="wrap"),
    "getitem": lambda x, index: x[index],
    "log_softmax": lambda x, axis: x - np.log(np.exp(x).sum(axis, keepdims=True)),
    "logsumexp": lambda x, axis, keepdims: np.log(np.exp(x).sum(axis, keepdims=keepdims)),
    "make_complex": lambda re, im: re + 1j * im,
    "part": lambda x, start, shape: x[start : start + prod(shape)].reshape(shape),
    "relu": lambda x: x * (x > 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softmax": lambda x, axis: np.exp(x) / np.exp(x).sum(axis, keepdims=True),
    "spread": lambda x, shape, kept, parts: np.broadcast_to(x.reshape(kept), shape) / parts,
    "to": lambda x, device: x,
    "softplus": lambda x: np.log(1 + np.exp(x)),
}

#: Rows that no one-line definition gives; the tests of their own modules do.
TESTED_ELSEWHERE = {
    "adjugate", "diagonal_embed", "eigh", "expm", "same_for_all_bases", "scatter", "segment_sum",
}  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """Operands and attrs; ``moving`` says which operands are drawn in the dtype under test."""

    args: tuple[Any, ...]
    attrs: dict[str, Any]

    @property
    def moving(self) -> list[int]:
        return [k for k, x in enumerate(self.args) if _kind(x) in "fc"]


def _kind(x: Any) -> str:
    return x.dtype.kind if isinstance(x, np.ndarray | np.generic) else "python"


def samples_of(op: Op, dtype: np.dtype[Any], seed: int = 0) -> list[Sample]:
    """Draw the row's samples; the same every time for one seed."""
    rng = np.random.default_rng([zlib.crc32(op.name.encode()), seed])
    low, high = op.domain

    def draw(*shape: int) -> Any:
        value = rng.uniform(low, high, shape)
        if dtype.kind == "c":
            value = value + 1j * rng.uniform(low, high, shape)
        return np.asarray(value).astype(dtype)

    assert op.samples is not None, f"{op.name} has no samples"
    found = [Sample(tuple(map(_array, args)), dict(attrs)) for args, attrs in op.samples(draw)]
    assert found, f"{op.name} has no samples"
    return found


def _array(x: Any) -> Any:
    """Arithmetic on 0-d arrays gives scalars; all else stays."""
    return np.asarray(x) if isinstance(x, np.generic) else x


def dtypes_of(op: Op, dtypes: Sequence[np.dtype[Any]]) -> list[np.dtype[Any]]:
    return [d for d in dtypes if op.takes_complex or d.kind != "c"]


def cases(op: Op, dtypes: Sequence[np.dtype[Any]] = DOUBLE) -> Iterator[Sample]:
    for dtype in dtypes_of(op, dtypes):
        yield from samples_of(op, dtype)


def bound(op: Op, sample: Sample) -> Callable[..., Any]:
    """Return the op as a function of its moving operands."""

    def function(*values: Any) -> Any:
        args = list(sample.args)
        for k, value in zip(sample.moving, values, strict=True):
            args[k] = value
        return apply(op, *args, **sample.attrs)

    return function


def outputs(made: Any) -> tuple[Tensor, ...]:
    return made if isinstance(made, tuple) else (made,)


def leaves_of(sample: Sample) -> list[Tensor]:
    return [Tensor(sample.args[k], requires_grad=True) for k in sample.moving]


def gradients(op: Op, sample: Sample, leaves: Sequence[Tensor]) -> list[Tensor]:
    """Gradients of Re <c, out> for c = 1 + 0.3 times the position (and i where complex)."""
    outs = [out for out in outputs(bound(op, sample)(*leaves)) if out.requires_grad]
    seeds = []
    for out in outs:
        value = 1 + 0.3 * np.arange(out.numel()).reshape(out.shape)
        seeds.append(Tensor((value * (1 + 1j if out.dtype.kind == "c" else 1)).astype(out.dtype)))
    return list(grad(outs, leaves, seeds)) if outs else []


# -- checks --------------------------------------------------------------------------------------


def check_samples(op: Op) -> None:
    """There are samples, and in one of them an operand or the result has no elements."""
    sizes = [np.size(x) for sample in cases(op) for x in sample.args]
    sizes += [out.numel() for sample in cases(op) for out in results(op, sample)]
    assert 0 in sizes, f"{op.name} has no sample of size 0"


def check_forward(op: Op) -> None:
    """The value is what NumPy, or the definition above, says."""
    reference = reference_of(op)
    if reference is None:
        return
    for sample in cases(op):
        wanted = reference(*sample.args, **sample.attrs)
        several = isinstance(wanted, tuple)
        for given, value in zip(results(op, sample), wanted if several else (wanted,), strict=True):
            assert given.dtype == np.asarray(value).dtype
            np.testing.assert_allclose(given.numpy(), value, rtol=1e-12, atol=1e-14)


def reference_of(op: Op) -> Reference | None:
    if op.name in TESTED_ELSEWHERE:
        return None
    if op.name in REFERENCES:
        return REFERENCES[op.name]
    found: Reference | None = getattr(np.linalg, op.name, getattr(np, op.name, None))
    assert found is not None, f"{op.name} needs a definition in REFERENCES"
    return found


def results(op: Op, sample: Sample) -> tuple[Tensor, ...]:
    return outputs(apply(op, *sample.args, **sample.attrs))


def check_gradients(op: Op) -> None:
    """First and second derivatives agree with differences; an op without a rule records nothing."""
    for sample in cases(op):
        if op.vjp is None:
            outs = outputs(bound(op, sample)(*leaves_of(sample)))
            assert not any(out.dtype in DIFFERENTIABLE for out in outs), f"{op.name} needs a rule"
        elif sample.moving:
            arrays = [sample.args[k] for k in sample.moving]
            gradcheck(bound(op, sample), *arrays, order=2)


def check_precision(op: Op) -> None:
    """Single precision stays single, in results and in gradients."""
    for sample in cases(op, SINGLE):
        leaves = leaves_of(sample)
        if "dtype" not in sample.attrs:  # an op that is asked for another dtype
            for out in outputs(bound(op, sample)(*leaves)):
                assert out.dtype in SINGLE or out.dtype.kind in "bi"
        for g, x in zip(gradients(op, sample, leaves), leaves, strict=False):
            assert (g.dtype, g.shape) == (x.dtype, x.shape)


def check_meta(op: Op) -> None:
    """The shape rule says what the forward gives."""
    if op.meta is None:
        return
    for sample in cases(op, [*DOUBLE, *SINGLE]):
        tensors = lift(sample.args)
        metas = op.meta(*[(x.shape, x.dtype) for x in tensors], **sample.attrs)
        made = op.forward(np, *[x.numpy() for x in tensors], **sample.attrs)
        results = made if isinstance(made, tuple) else (made,)
        assert [(tuple(s), d) for s, d in metas] == [(np.shape(r), r.dtype) for r in results]


def check_strided(op: Op) -> None:
    """Operands that are views with gaps give the same values and gradients."""
    for sample in cases(op):
        plain = leaves_of(sample)
        wide = [_widened(x) for x in plain]
        views = [base[..., ::2] if x.shape else base for base, x in zip(wide, plain, strict=True)]
        wanted, given = (outputs(bound(op, sample)(*xs)) for xs in (plain, views))
        for a, b in zip(wanted, given, strict=True):
            np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-12, atol=1e-14)
        for a, b in zip(gradients(op, sample, plain), gradients(op, sample, views), strict=True):
            np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-12, atol=1e-14)


def _widened(x: Tensor) -> Tensor:
    value = np.repeat(x.numpy(), 2, axis=-1) if x.shape else x.numpy()
    return Tensor(value, requires_grad=True)


def check_batch(op: Op) -> None:
    """A batched replay gives what a loop over samples gives, and so do its gradients."""
    if op.per_sample is None:
        return
    for dtype in dtypes_of(op, DOUBLE):
        for drawn in zip(*[samples_of(op, dtype, seed) for seed in range(3)], strict=True):
            arrays = [k for k, x in enumerate(drawn[0].args) if _kind(x) in "bfc"]
            for chosen in {tuple(arrays), tuple(arrays[:1])} - {()}:
                _compare_batch(op, drawn, chosen)


def _compare_batch(op: Op, drawn: Sequence[Sample], batched: tuple[int, ...]) -> None:
    first = drawn[0]
    slots = [k for k, x in enumerate(first.args) if isinstance(x, np.ndarray)]

    def function(*values: Tensor) -> Any:
        args = list(first.args)
        for k, value in zip(slots, values, strict=True):
            args[k] = value
        return apply(op, *args, **first.attrs)

    specs = [(first.args[k].shape, first.args[k].dtype) for k in slots]
    program = Program.trace(function, *specs)
    single = [[(s if k in batched else first).args[k] for k in slots] for s in drawn]
    stacked = [
        np.stack([row[i] for row in single]) if k in batched else single[0][i]
        for i, k in enumerate(slots)
    ]
    leaves = [Tensor(x, requires_grad=x.dtype.kind in "fc") for x in stacked]
    given = program.run(leaves, [k in batched for k in slots])
    rows = [[Tensor(x, requires_grad=x.dtype.kind in "fc") for x in row] for row in single]
    wanted = [outputs(function(*row)) for row in rows]
    for index, out in enumerate(given):
        by_loop = np.stack([made[index].numpy() for made in wanted])
        np.testing.assert_allclose(out.numpy(), by_loop, rtol=1e-12, atol=1e-14)
    if given[0].requires_grad:
        _compare_batch_gradients(leaves, given[0], rows, [made[0] for made in wanted])


def _compare_batch_gradients(
    leaves: Sequence[Tensor], out: Tensor, rows: Sequence[Sequence[Tensor]], outs: Sequence[Tensor]
) -> None:
    moving = [i for i, x in enumerate(leaves) if x.requires_grad]
    seed = Tensor(np.ones(out.shape, out.dtype))
    batched = grad(out, [leaves[i] for i in moving], seed)
    loops = [
        grad(o, [row[i] for i in moving], Tensor(np.ones(o.shape, o.dtype)))
        for o, row in zip(outs, rows, strict=True)
    ]
    for j, g in enumerate(batched):
        parts = np.stack([loop[j].numpy() for loop in loops])
        wanted = parts if parts.shape == g.shape else parts.sum(axis=0)
        np.testing.assert_allclose(g.numpy(), wanted, rtol=1e-12, atol=1e-14)


def check_docs(op: Op) -> None:
    """The public function has an example that runs; a row without one says what it computes."""
    function = FUNCTIONS.get(op.name)
    assert op.doc.strip()
    if function is None:
        return
    names = {**FUNCTIONS, "np": np, "Tensor": Tensor}
    test = doctest.DocTestParser().get_doctest(function.__doc__ or "", names, op.name, None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.tries > 0, f"{op.name} has no example"
    assert runner.failures == 0


CHECKS = {
    check.__name__.removeprefix("check_"): check
    for check in (
        check_samples,
        check_forward,
        check_gradients,
        check_precision,
        check_meta,
        check_strided,
        check_batch,
        check_docs,
    )
}
