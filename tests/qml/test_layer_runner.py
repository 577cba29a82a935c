"""A QuantumLayer runs where its runner says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff import Parameter, Tensor
from circuits import BindingError, Circuit, Input, X, Z
from qml import QuantumLayer


class FakeRunner:
    """Answers as the circuit's own engine would, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def expectation(self, circuit: Circuit, observable: Any, *, inputs: Any) -> Tensor:
        self.asked.append(observable)
        return circuit.expectation(observable, inputs=inputs)


def test_runner_takes_the_engines_place() -> None:
    x, w = Input("x", 1), Parameter(0.3)
    circuit = Circuit(1).ry(x[0], 0).rx(w, 0)
    runner = FakeRunner()
    for observables in (Z(0), [Z(0), X(0)]):
        layer = QuantumLayer(circuit, observables, runner=runner)
        expected = QuantumLayer(circuit, observables)(np.ones((3, 1)))
        assert layer(np.ones((3, 1))).tolist() == expected.tolist()
        assert layer.parameters() == [w]
    assert runner.asked == [Z(0), [Z(0), X(0)]]


@pytest.mark.parametrize("option", [{"engine": "reference"}, {"dtype": "complex64"}])
def test_runner_stands_alone(option: dict[str, Any]) -> None:
    with pytest.raises(BindingError, match="with a runner needs no encoding, dtype, device"):
        QuantumLayer(Circuit(1).rx(Parameter(0.1), 0), Z(0), runner=FakeRunner(), **option)
