from __future__ import annotations

import numpy as np
import pytest

from autodiff import C64, C128, F32, F64, Parameter, Tensor
from qml.optim.real_vector import RealVector


def mixed() -> list[Parameter]:
    return [
        Parameter([[1.0, 2.0]]),
        Parameter(3 + 4j),
        Parameter(0.5, dtype=F32),
        Parameter([5 + 6j], dtype=C64),
    ]


def test_values_stand_one_after_the_other_complex_ones_as_pairs() -> None:
    vector = RealVector(mixed())
    assert vector.size == 7
    assert vector.values().tolist() == [1, 2, 3, 4, 0.5, 5, 6]
    assert vector.values().dtype == F64


def test_set_values_keeps_shapes_and_dtypes() -> None:
    parameters = mixed()
    RealVector(parameters).set_values(np.arange(7.0) / 3)
    assert [p.dtype for p in parameters] == [F64, C128, F32, C64]
    assert parameters[0].tolist() == [[0.0, 1 / 3]]
    assert parameters[1].item() == 2 / 3 + 1j
    assert parameters[2].item() == np.float32(4 / 3)
    assert parameters[3].shape == (1,)


def test_gradients_are_real_derivatives_and_zero_where_there_are_none() -> None:
    """|z|^2 + 3 Im z: the derivatives by real and imaginary part are 2x and 2y + 3."""
    z, idle = Parameter(1 + 2j), Parameter([1.0, 1.0])
    (abs(z) ** 2 + 3 * z.imag).backward()
    assert RealVector([idle, z]).gradients().tolist() == pytest.approx([0, 0, 2, 7])


def test_view_and_strided_parameters_are_read_and_written() -> None:
    base = Tensor([1.0, 2.0, 3.0, 4.0])
    vector = RealVector([Parameter(base[1::2])])
    assert vector.values().tolist() == [2, 4]
    vector.set_values(np.array([20.0, 40.0]))
    assert base.tolist() == [1, 20, 3, 40]


def test_no_parameters_are_an_empty_vector() -> None:
    vector = RealVector([])
    assert vector.size == 0
    vector.set_values(vector.values())
    assert vector.gradients().shape == (0,)
