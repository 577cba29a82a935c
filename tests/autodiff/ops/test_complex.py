"""Modulus, phase and parts of complex numbers, at and near zero."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import DTypeError, Tensor, grad, gradcheck
from autodiff.ops.complex import angle, make_complex, sign

# HIPS/autograd issue 100, PyTorch issue 96543: |z|**2 underflows long before |z| does.
TINY = {np.complex128: 1e-170, np.complex64: 1e-23}


@pytest.mark.parametrize("dtype", TINY)
def test_gradient_of_the_modulus_near_zero(dtype: type[np.complexfloating]) -> None:
    z = Tensor(np.array([0, -TINY[dtype], 3 + 4j], dtype), requires_grad=True)
    g = grad(abs(z).sum(), z)
    assert g.dtype == dtype
    np.testing.assert_allclose(g.numpy(), [0, -1, 0.6 + 0.8j], rtol=1e-6)


@pytest.mark.parametrize("dtype", TINY)
def test_phase_and_sign_near_zero(dtype: type[np.complexfloating]) -> None:
    tiny = TINY[dtype]
    z = Tensor(np.array([0, 1j * tiny], dtype), requires_grad=True)
    np.testing.assert_allclose(sign(z).numpy(), [0, 1j], rtol=1e-6)
    np.testing.assert_allclose(grad(angle(z).sum(), z).numpy(), [0, -1 / tiny], rtol=1e-6)
    np.testing.assert_allclose(grad(sign(z).real.sum(), z).numpy(), [0, 1 / tiny], rtol=1e-6)


def test_second_derivatives_at_zero_are_finite() -> None:
    z = Tensor(0j, requires_grad=True)
    for function in (abs, angle, lambda x: sign(x).real):
        first = grad(function(z), z, create_graph=True)
        assert grad(first.real + first.imag, z).item() == 0


def test_modulus_of_reals() -> None:
    x = Tensor([-2.0, 0.0, 3.0], requires_grad=True)
    assert grad(abs(x).sum(), x).tolist() == [-1.0, 0.0, 1.0]
    assert grad(sign(x).sum(), x).tolist() == [0.0, 0.0, 0.0]
    assert grad(angle(x).sum(), x).tolist() == [0.0, 0.0, 0.0]


def test_gradient_by_parts_of_a_squared_modulus() -> None:
    z = Tensor(3 + 4j, requires_grad=True)
    assert grad(z.real**2 + z.imag**2, z).item() == 6 + 8j
    assert grad((z * z.conj()).real, z).item() == 6 + 8j
    assert grad(abs(z) ** 2, z).item() == pytest.approx(6 + 8j)


def test_a_real_leaf_gets_a_real_gradient() -> None:
    x = Tensor(0.3, requires_grad=True)
    g = grad(abs((1j * x).exp() + 2), x)
    assert g.dtype == np.float64
    assert gradcheck(lambda x: abs((1j * x).exp() + 2), 0.3, order=2)


def test_parts_are_put_together_exactly() -> None:
    z = make_complex([np.inf, 1.0], [1.0, -np.inf])
    assert z.tolist() == [complex(np.inf, 1), complex(1, -np.inf)]
    assert make_complex(Tensor([1.0], dtype=np.float32), 2.0).dtype == np.complex64


def test_parts_need_reals() -> None:
    with pytest.raises(DTypeError, match="make_complex needs real operands, got dtype complex128"):
        make_complex(1.0, 2j)
