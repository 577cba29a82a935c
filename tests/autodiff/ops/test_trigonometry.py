"""Angles: conventions at the origin, branches, and the ends of the domains."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import DTypeError, Tensor, grad
from autodiff.ops.trigonometry import arccos, arccosh, arcsin, arctan2, arctanh, cos, sin


def test_arctan2_at_the_origin_and_near_it() -> None:
    y, x = Tensor([0.0, 3e-170], requires_grad=True), Tensor([0.0, 4e-170], requires_grad=True)
    by_y, by_x = grad(arctan2(y, x).sum(), (y, x))
    np.testing.assert_allclose(by_y.numpy(), [0, 0.8 / 5e-170], rtol=1e-14)
    np.testing.assert_allclose(by_x.numpy(), [0, -0.6 / 5e-170], rtol=1e-14)


def test_arctan2_takes_y_first_and_knows_all_quadrants() -> None:
    assert arctan2([1.0, 1.0, -1.0, -1.0], [1.0, -1.0, -1.0, 1.0]).tolist() == pytest.approx(
        [np.pi / 4, 3 * np.pi / 4, -3 * np.pi / 4, -np.pi / 4]
    )
    with pytest.raises(DTypeError, match="arctan2 needs real operands"):
        arctan2(1j, 1.0)


@pytest.mark.parametrize(
    ("op", "end"), [(arcsin, 1.0), (arccos, -1.0), (arccosh, 1.0), (arctanh, 1.0)]
)
def test_gradient_is_infinite_at_the_end_of_the_domain(op: type[arcsin], end: float) -> None:
    x = Tensor(end, requires_grad=True)
    assert abs(grad(op(x), x).item()) == np.inf


@pytest.mark.parametrize("op", [arcsin, arccosh])
def test_precision_near_the_end_of_the_domain(op: type[arcsin]) -> None:
    """1 - x**2 would lose half of the digits."""
    step = 2.0**-50
    x = Tensor(1 - step if op is arcsin else 1 + step, requires_grad=True)
    np.testing.assert_allclose(grad(op(x), x).item(), 1 / np.sqrt(2 * step), rtol=1e-14)


def test_four_derivatives_of_sine() -> None:
    x = Tensor(0.4, requires_grad=True)
    y = sin(x)
    for wanted in (cos(0.4), -sin(0.4), -cos(0.4), sin(0.4)):
        y = grad(y, x, create_graph=True)
        assert y.item() == wanted.item()
