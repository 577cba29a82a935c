"""Tensors in lists keep their history wherever a run takes lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff import DeviceMismatch, Tensor
from circuits import BindingError, Circuit, GateError, Input, Parameter, StateError, Z
from circuits.stacking import stacked


def test_what_holds_no_tensors_comes_back_as_it_is() -> None:
    for given in ([1.0, [2.0]], (), np.eye(2), 3, "text"):
        assert stacked(given) is given


def test_nested_lists_become_one_tensor() -> None:
    a = Tensor(0.5, requires_grad=True)
    made = stacked([[a, 1.0], (2.0, a)])
    assert made.tolist() == [[0.5, 1.0], [2.0, 0.5]]
    made.sum().backward()
    assert a.grad is not None
    assert a.grad.item() == 2


def options_of(kind: str, a: Tensor) -> dict[str, Any]:
    given: dict[str, Any] = {
        "values": {"values": [a], "inputs": {"x": [0.0]}},
        "batch": {"values": [[a], [a]], "inputs": {"x": [0.0]}},
        "name": {"values": {"t": a}, "inputs": {"x": [0.0]}},
        "input": {"values": [0.0], "inputs": {"x": [a]}},
    }
    return given[kind]


@pytest.mark.parametrize("kind", ["values", "batch", "name", "input"])
def test_gradients_reach_tensors_in_lists(kind: str) -> None:
    circuit = Circuit(1).rx(Parameter(0.0, name="t") + Input("x", 1)[0], 0)
    a = Tensor(0.5, requires_grad=True)
    value = circuit.expectation(Z(0), engine="reference", **options_of(kind, a))
    value.sum().backward()
    assert a.grad is not None
    assert a.grad.item() == pytest.approx(-np.sin(0.5) * value.numel())


def test_gradients_reach_amplitudes_in_a_list() -> None:
    a = Tensor(0.6, requires_grad=True)
    Circuit(1).expectation(Z(0), initial_state=[a, 0.8], engine="reference").backward()
    assert a.grad is not None
    assert a.grad.item() == pytest.approx(1.2)


def test_gradients_reach_entries_of_a_matrix() -> None:
    one = Tensor(1 + 0j, requires_grad=True)
    Circuit(1).unitary([[0, one], [one, 0]], 0).expectation(Z(0), engine="reference").backward()
    assert one.grad is not None
    assert abs(one.grad.item()) == pytest.approx(2)


def test_parts_that_do_not_fit_are_refused() -> None:
    a, b = Tensor(0.5), Tensor([0.5, 0.5])
    circuit = Circuit(1).rx(Parameter(0.0, name="t"), 0)
    with pytest.raises(BindingError, match="Tensors of one shape"):
        circuit.expectation(Z(0), values=[a, b])
    with pytest.raises(StateError, match="an initial state needs amplitudes"):
        circuit.expectation(Z(0), initial_state=[a, b])
    with pytest.raises(GateError, match="a matrix of one shape"):
        circuit.unitary([[a, b], [b, b]], 0)
    with pytest.raises(DeviceMismatch):
        stacked([a, Tensor(0.5, device="emulated")])
