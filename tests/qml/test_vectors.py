from __future__ import annotations

import numpy as np
import pytest

import qml
from autodiff import F32, DTypeError, Parameter, ParameterError, ShapeError


def some() -> list[Parameter]:
    return [Parameter(1.0), Parameter([[2.0, 3.0]], dtype=F32), Parameter(np.zeros(0))]


def test_vector_holds_all_elements_and_has_history() -> None:
    parameters = some()
    vector = qml.parameters_to_vector(parameters)
    assert vector.tolist() == [1.0, 2.0, 3.0]
    (vector * vector).sum().backward()
    assert parameters[0].grad.item() == 2.0
    assert parameters[1].grad.tolist() == [[4.0, 6.0]]
    assert parameters[1].grad.dtype == F32


def test_way_back_sets_values() -> None:
    parameters = some()
    qml.vector_to_parameters(-qml.parameters_to_vector(parameters), iter(parameters))
    assert parameters[0].item() == -1.0
    assert parameters[1].tolist() == [[-2.0, -3.0]]
    assert parameters[1].dtype == F32


@pytest.mark.parametrize("vector", [[1.0, 2.0], [[1.0, 2.0, 3.0]], 1.0])
def test_another_size_is_refused(vector: object) -> None:
    with pytest.raises(ShapeError, match=r"needs a vector of shape \(3,\)"):
        qml.vector_to_parameters(vector, some())


def test_complex_values_for_real_parameters_are_refused_before_any_is_set() -> None:
    parameters = [Parameter(1j), Parameter(1.0, name="b")]
    with pytest.raises(DTypeError, match="cast to float64, got complex128 for Parameter 'b'"):
        qml.vector_to_parameters([5j, 6j], parameters)
    assert parameters[0].item() == 1j


@pytest.mark.parametrize("parameters", [[], [1.0], [Parameter(1.0), qml.Tensor(1.0)]])
def test_other_things_are_refused(parameters: list) -> None:
    with pytest.raises(ParameterError, match="needs a list of Parameters"):
        qml.parameters_to_vector(parameters)
    with pytest.raises(ParameterError, match="needs a list of Parameters"):
        qml.vector_to_parameters([1.0], parameters)
