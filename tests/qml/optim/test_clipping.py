from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

import qml
from autodiff import C64, F32, GradientError, Parameter, ParameterError, Tensor
from autodiff.slices import Slice
from qml.errors import SettingError


def parameters() -> list[Parameter]:
    made = [Parameter([0.0, 0.0]), Parameter(0j), Parameter(0.0, dtype=F32), Parameter(0.0)]
    made[0].grad = Tensor([3.0, -4.0])
    made[1].grad = Tensor(6 - 8j)
    made[2].grad = Tensor(1.0, dtype=F32)
    return made


NORMS = [
    (2.0, np.sqrt(9 + 16 + 100 + 1)),
    (1.0, 3 + 4 + 10 + 1),
    (3.0, (27 + 64 + 1000 + 1) ** (1 / 3)),
    (inf, 10.0),
]


@pytest.mark.parametrize(("norm_type", "wanted"), NORMS)
def test_gradients_are_scaled_to_the_norm_together(norm_type: float, wanted: float) -> None:
    moved = parameters()
    before = [p.grad.numpy() for p in moved[:3]]
    assert qml.clip_grad_norm_(moved, 2.0, norm_type) == pytest.approx(wanted)
    for p, g in zip(moved, before, strict=False):
        np.testing.assert_allclose(p.grad.numpy(), g * 2.0 / (wanted + 1e-6), rtol=1e-6)
        assert p.grad.dtype == p.dtype
    assert moved[3].grad is None


def test_small_gradients_stay_as_they_are() -> None:
    moved = parameters()
    qml.clip_grad_norm_(moved, 100.0)
    assert moved[0].grad.tolist() == [3.0, -4.0]


def test_no_gradients_have_norm_zero() -> None:
    assert qml.clip_grad_norm_([Parameter(1.0)], 1.0) == 0.0


def test_frozen_parameters_neither_count_nor_change() -> None:
    moved = parameters()
    moved[1].freeze()
    assert qml.clip_grad_norm_(moved, 1.0) == pytest.approx(np.sqrt(26))
    qml.clip_grad_value_(moved, 0.1)
    assert moved[1].grad.item() == 6 - 8j


def test_gradient_handed_out_before_stays_what_it_was() -> None:
    (moved, *_) = parameters()
    seen = moved.grad
    qml.clip_grad_norm_([moved], 1.0)
    qml.clip_grad_value_([moved], 0.1)
    assert seen.tolist() == [3.0, -4.0]


def test_values_are_clipped_real_and_imaginary_part_alone() -> None:
    moved = parameters()
    moved.append(Parameter([0j], dtype=C64))
    moved[-1].grad = Tensor([0.5 - 9j], dtype=C64)
    qml.clip_grad_value_(moved, 3.5)
    assert [p.grad.tolist() for p in moved if p.grad is not None] == [
        [3.0, -3.5],
        3.5 - 3.5j,
        1.0,
        [0.5 - 3.5j],
    ]
    assert all(p.grad.dtype == p.dtype for p in moved if p.grad is not None)


@pytest.mark.parametrize("bad", [inf, nan])
def test_norm_that_is_not_finite_is_refused_if_asked_for(bad: float) -> None:
    p = Parameter([0.0, 0.0])
    p.grad = Tensor([1.0, bad])
    with pytest.raises(GradientError, match="clip_grad_norm_ needs gradients of a finite norm"):
        qml.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)
    assert p.grad.tolist()[0] == 1.0


def test_norm_that_is_not_a_number_spoils_the_gradients_visibly() -> None:
    p = Parameter([0.0, 0.0])
    p.grad = Tensor([1.0, nan])
    assert np.isnan(qml.clip_grad_norm_([p], 1.0))
    assert np.isnan(p.grad.numpy()).all()


BAD = [
    (lambda p: qml.clip_grad_norm_(p, -1.0), "max_norm needs a finite number of at least 0"),
    (lambda p: qml.clip_grad_norm_(p, 1.0, 0.0), "norm_type needs a number above 0"),
    (lambda p: qml.clip_grad_value_(p, 0.0), "clip_value needs a number above 0"),
]


@pytest.mark.parametrize(("call", "match"), BAD)
def test_bad_bounds_are_refused(call: object, match: str) -> None:
    with pytest.raises(SettingError, match=match):
        call(parameters())


def test_whatever_is_no_parameter_is_refused() -> None:
    with pytest.raises(ParameterError, match="clip_grad_norm_ needs Parameters, got float"):
        qml.clip_grad_norm_([0.5], 1.0)


def test_slices_of_a_circuits_gradient_are_clipped_together() -> None:
    angles = [Parameter(0.1 * k) for k in range(6)]
    circuit = qml.Circuit(1)
    for k, angle in enumerate(angles):
        (circuit.ry if k % 2 else circuit.rx)(angle, 0)
    angles[2].freeze()

    def gradients() -> np.ndarray:
        return np.array([p.grad.item() for p in angles])

    def backward() -> None:
        for p in angles:
            p.zero_grad()
        circuit.expectation(qml.Z(0)).backward()

    backward()
    plain = gradients()
    moved = np.arange(6) != 2
    norm = np.linalg.norm(plain[moved])
    backward()
    assert qml.clip_grad_norm_(angles, 0.1) == pytest.approx(norm)
    assert isinstance(angles[0]._meta.raw_grad, Slice)
    np.testing.assert_allclose(gradients()[moved], plain[moved] * 0.1 / (norm + 1e-6))
    assert gradients()[2] == plain[2]
    backward()
    qml.clip_grad_value_(angles, 0.2)
    np.testing.assert_array_equal(gradients()[moved], np.clip(plain, -0.2, 0.2)[moved])
    assert abs(gradients()[2]) == abs(plain[2]) > 0.2
