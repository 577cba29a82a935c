"""eigh and expm: values, gauge, gradients, equal eigenvalues, SciPy as oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

from autodiff import Parameter, Tensor, gradcheck
from autodiff.errors import GradientError, ShapeError
from autodiff.ops.algebra import adjoint
from autodiff.ops.spectral import eigh, eigvalsh, expm

RNG = np.random.default_rng(12)


def draw(*shape: int) -> Any:  # Any: an array
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


def hermitian(*shape: int) -> Any:  # Any: an array
    x = draw(*shape)
    return x + x.conj().swapaxes(-1, -2)


# -- eigh ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (3, 2, 2), (0, 0), (0, 2, 2)])
@pytest.mark.parametrize("dtype", ["complex128", "float64"])
def test_eigh_diagonalises(shape: tuple[int, ...], dtype: str) -> None:
    x = hermitian(*shape)
    x = x if dtype == "complex128" else x.real
    values, vectors = (out.numpy() for out in eigh(x))
    assert (values.dtype, vectors.dtype) == (np.float64, dtype)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(x), atol=1e-13)
    np.testing.assert_allclose(x @ vectors, vectors * values[..., None, :], atol=1e-13)
    identity = np.broadcast_to(np.eye(shape[-1]), shape)
    np.testing.assert_allclose(vectors.conj().swapaxes(-1, -2) @ vectors, identity, atol=1e-13)
    assert gradcheck(eigh, x, order=2)


def test_only_the_hermitian_part_counts() -> None:
    x = draw(3, 3)
    np.testing.assert_array_equal(eigvalsh(x).numpy(), eigvalsh((x + x.conj().T) / 2).numpy())
    p = Parameter(x)
    (eigh(p)[1].real ** 2).sum().backward()
    np.testing.assert_allclose(p.grad.numpy(), p.grad.numpy().conj().T)


def test_gauge_makes_one_element_of_each_vector_real_and_positive() -> None:
    """The first of at least half the largest modulus; so runs and machines agree."""
    _, vectors = eigh(hermitian(4, 4))
    v = vectors.numpy()
    large = np.abs(v) >= np.abs(v).max(axis=0) / 2
    anchors = v[large.argmax(axis=0), np.arange(4)]
    assert np.all(anchors.real > 0)
    np.testing.assert_allclose(anchors.imag, 0, atol=1e-15)


def test_eigenvalue_gradient_is_the_projector() -> None:
    x = hermitian(3, 3)
    p = Parameter(x)
    eigvalsh(p)[0].backward()
    ground = np.linalg.eigh(x)[1][:, :1]
    np.testing.assert_allclose(p.grad.numpy(), ground @ ground.conj().T, atol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_equal_eigenvalues_give_finite_gradients(dtype: str) -> None:
    """Their sum is the trace of the matrix, so its gradient is the identity."""
    p = Parameter(np.eye(3, dtype=dtype))
    eigvalsh(p).sum().backward()
    np.testing.assert_allclose(p.grad.numpy(), np.eye(3), atol=1e-6)
    assert p.grad.dtype == dtype
    p.zero_grad()
    values, vectors = eigh(p)
    (values.sum() + vectors.real.sum()).backward()
    assert np.isfinite(p.grad.numpy()).all()


def test_equal_eigenvalues_and_a_function_of_the_eigenspace() -> None:
    """The projector on a twofold ground space has a gradient, whatever basis is chosen in it."""
    basis = np.linalg.qr(draw(4, 4))[0]
    x = (basis * [1.0, 1.0, 2.0, 5.0]) @ basis.conj().T
    w = hermitian(4, 4)

    def weight(x: Tensor) -> Tensor:
        ground = eigh(x)[1][:, :2]
        return (Tensor(w) * (ground @ adjoint(ground)).conj()).real.sum()

    assert gradcheck(weight, x)


@pytest.mark.parametrize("complex_", [False, True])
def test_loss_of_single_vectors_of_an_eigenspace_is_refused(complex_: bool) -> None:
    basis = np.linalg.qr(draw(3, 3) if complex_ else draw(3, 3).real)[0]
    p = Parameter((basis * [1.0, 1.0, 2.0]) @ basis.conj().T)
    vectors = eigh(p)[1]
    with pytest.raises(GradientError, match=r"eigh needs distinct eigenvalues.*projector V V\^H"):
        (abs(vectors) ** 2)[0, 0].backward()
    (abs(eigh(p)[1]) ** 2)[0, 2].backward()  # of a vector whose eigenvalue is its own
    assert p.grad.numpy().any()


def test_refusal_of_single_vectors_does_not_depend_on_the_scale() -> None:
    p = Parameter(1e6 * np.eye(2))
    weights = Tensor([[0.0, 1.0], [0.0, 0.0]])
    with pytest.raises(GradientError, match="distinct eigenvalues"):
        (eigh(p)[1] * weights).sum().backward()


def test_eigh_keeps_single_precision() -> None:
    values, vectors = eigh(hermitian(3, 3).astype(np.complex64))
    assert (values.dtype, vectors.dtype) == (np.float32, np.complex64)


def test_eigh_of_what_is_not_finite_is_nan() -> None:
    values, vectors = eigh(np.full((2, 2), np.nan))
    assert np.isnan(values.numpy()).all()
    assert np.isnan(vectors.numpy()).all()


# -- expm ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.0, 1e-8, 0.3, 5.0, 40.0])
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (3, 2, 2), (0, 0), (0, 2, 2)])
def test_expm_against_scipy(shape: tuple[int, ...], scale: float) -> None:
    for x in (scale * draw(*shape), 1j * scale * hermitian(*shape), scale * draw(*shape).real):
        expected = scipy.linalg.expm(x) if x.size else x
        tolerance = 1e-12 * max(1.0, np.abs(expected).max(initial=0))
        np.testing.assert_allclose(expm(x).numpy(), expected, rtol=1e-11, atol=tolerance)


@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_expm_gradient(scale: float) -> None:
    assert gradcheck(expm, 1j * scale * hermitian(3, 3), order=2)
    assert gradcheck(expm, scale * draw(2, 2, 2).real / 2, order=2)


def test_expm_of_zero_is_exact() -> None:
    assert expm(np.zeros((2, 2))).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_time_evolution_is_unitary() -> None:
    u = expm(-1j * 50.0 * hermitian(8, 8)).numpy()
    np.testing.assert_allclose(u.conj().T @ u, np.eye(8), atol=1e-11)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_expm_keeps_single_precision(dtype: str) -> None:
    x = Parameter((10 * draw(3, 3).real / 3).astype(dtype))
    out = expm(x)
    assert out.dtype == dtype
    expected = scipy.linalg.expm(x.numpy().astype(np.complex128))
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
    out.real.sum().backward()
    assert x.grad.dtype == dtype


def test_expm_of_what_is_not_finite_is_nan() -> None:
    assert np.isnan(expm(np.full((2, 2), np.nan)).numpy()).all()


@pytest.mark.parametrize("function", [eigh, eigvalsh, expm])
@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_other_shapes_are_refused(function: Any, shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="needs square matrices over the last two axes"):
        function(np.ones(shape))
