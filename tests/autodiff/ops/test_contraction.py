"""einsum against NumPy's: every form of subscripts, gradients, batches, dtypes, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import Parameter, Program, Tensor, gradcheck
from autodiff.errors import ShapeError
from autodiff.ops import contraction
from autodiff.ops.contraction import einsum

RNG = np.random.default_rng(9)

CALLS: list[tuple[str, tuple[tuple[int, ...], ...]]] = [
    ("ij,jk->ik", ((2, 3), (3, 4))),
    ("ij,jk", ((2, 3), (3, 4))),
    ("ba,cb", ((2, 3), (4, 2))),
    ("i,i", ((3,), (3,))),
    ("i,j->ji", ((2,), (3,))),
    ("ij->ji", ((2, 3),)),
    ("ij->", ((2, 3),)),
    ("ij->j", ((2, 3),)),
    ("ij,ij->ij", ((2, 3), (2, 3))),
    ("ij,k->j", ((2, 3), (2,))),
    (",i->i", ((), (3,))),
    ("->", ((),)),
    ("ii", ((3, 3),)),
    ("ii->i", ((3, 3),)),
    ("iji->j", ((2, 3, 2),)),
    ("iijj->ij", ((2, 2, 3, 3),)),
    ("iii->i", ((2, 2, 2),)),
    ("ii,ij->j", ((2, 2), (2, 3))),
    ("...ij,...jk->...ik", ((5, 2, 3), (5, 3, 2))),
    ("...ij,...jk->...ik", ((2, 3), (5, 3, 2))),
    ("...ij,...jk", ((4, 1, 2, 3), (5, 3, 2))),
    ("...i,i...->...", ((2, 3), (3, 2))),
    ("i...->...i", ((2, 3, 4),)),
    ("...ii->...", ((4, 2, 2),)),
    ("...,...", ((2, 1), (3,))),
    ("ij,jk->ik", ((2, 1), (3, 2))),
    ("i,ij,j->", ((2,), (2, 3), (3,))),
    ("a,ab,bc,c->b", ((2,), (2, 3), (3, 2), (2,))),
    (" ij , jk -> ik ", ((2, 3), (3, 2))),
    ("Ab,bA->bA", ((2, 3), (3, 2))),
    ("ij,j->i", ((0, 2), (2,))),
    ("ij,j->i", ((2, 0), (0,))),
]


@pytest.mark.parametrize(("subscripts", "shapes"), CALLS)
def test_value_and_gradient(subscripts: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    values = [RNG.normal(size=s) + 1j * RNG.normal(size=s) for s in shapes]
    for operands in (values, [values[0].real, *values[1:]]):
        out = einsum(subscripts, *operands)
        expected = np.asarray(np.einsum(subscripts, *operands))
        assert (out.shape, out.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-13, atol=1e-14)
        assert gradcheck(lambda *xs: einsum(subscripts, *xs), *operands, order=2)


def test_one_tensor_twice() -> None:
    x = Parameter(RNG.normal(size=(2, 3)))
    einsum("ij,ij->", x, x).backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.numpy(), rtol=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int64", "int8"])
@pytest.mark.parametrize("size", [2, 64])
def test_dtype_is_kept(dtype: str, size: int) -> None:
    """On both sides of the bound from which BLAS is used."""
    assert (size**3 > contraction._BLAS_PAYS) == (size == 64)
    ones = np.ones((size, size), dtype)
    out = einsum("ij,jk->ki", ones, ones)
    assert out.dtype == dtype
    assert out[0, 0].item() == size or dtype == "int8"


@pytest.mark.parametrize("batched", [(True, True), (True, False), (False, True)])
def test_replay_per_sample(batched: tuple[bool, bool]) -> None:
    """Operands of different rank, with and without the batch axis."""
    values = [RNG.normal(size=(4, 2, 3)), RNG.normal(size=(4, 3))]
    specs = [(v.shape[1:], v.dtype) for v in values]
    program = Program.trace(lambda x, y: einsum("ij,j->i", x, y), *specs)
    given = [Parameter(v if b else v[0]) for v, b in zip(values, batched, strict=True)]
    (out,) = program.run(given, batched)
    full = [v if b else v[:1] for v, b in zip(values, batched, strict=True)]
    np.testing.assert_allclose(out.numpy(), np.einsum("...ij,...j->...i", *full), rtol=1e-14)
    out.sum().backward()
    plain = [Parameter(v) for v in full]
    einsum("...ij,...j->...i", *plain).sum().backward()
    for a, b in zip(given, plain, strict=True):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy().reshape(a.shape), rtol=1e-14)


@pytest.mark.parametrize(
    ("subscripts", "shapes", "reason"),
    [
        ("ij,jk->ik", ((2, 3),), "2 terms for 1 operands"),
        ("ij->i", ((2, 3), (3,)), "1 terms for 2 operands"),
        ("ij->i", ((2,),), r"'ij' for shape \(2,\)"),
        ("i->i", ((2, 3),), r"'i' for shape \(2, 3\)"),
        ("i...->", ((2, 3),), "the output leaves out the axes of '...'"),
        ("ij,jk->ik", ((2, 3), (2, 3)), "'j' has extents 3, 2"),
        ("ii->i", ((2, 3),), "'i' has two extents"),
        ("i->ii", ((2,),), "an output index occurs twice"),
        ("i->j", ((2,),), "in no operand"),
        ("i1->i", ((2, 3),), "'i1' holds something else than letters"),
        ("i..->i", ((2, 3),), "something else than letters"),
        ("...i...->i", ((2, 3),), "something else than letters"),
        ("i->i->i", ((2,),), "something else than letters"),
    ],
)
def test_refusal(subscripts: str, shapes: tuple[tuple[int, ...], ...], reason: str) -> None:
    operands = [np.ones(shape) for shape in shapes]
    with pytest.raises(ShapeError, match=f"einsum needs subscripts that fit .*{reason}"):
        einsum(subscripts, *operands)


def test_too_many_axes_for_the_alphabet_are_refused() -> None:
    x = Tensor(np.ones((1,) * 60))
    with pytest.raises(ShapeError, match="not enough letters"):
        einsum("...", x)
