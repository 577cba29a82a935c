from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import qml
from qml.fingerprints import model_fingerprint


def model(
    fixed: float = 0.3, coefficient: float = 1.0, width: int = 3, gate: str = "cx"
) -> qml.Module:
    x = qml.Input("x", 2)
    circuit = qml.Circuit(2).ry(x[0], 0).rx(2 * qml.Parameter(0.1, name="t"), 1).rz(fixed, 0)
    circuit.append(gate, [0, 1]).unitary(np.eye(2), 0)
    layer = qml.QuantumLayer(circuit, [qml.PauliSum({"ZZ": coefficient}), qml.Projector("01")])
    return qml.Sequential(qml.Linear(width, 2, seed=0), layer)


def test_values_do_not_count() -> None:
    first, second = model(), model()
    for parameter in second.parameters():
        parameter.set_(np.full(parameter.shape, 7.0))
    assert model_fingerprint(first) == model_fingerprint(second)
    assert list(model_fingerprint(first)) == [
        "modules",
        "circuit 1.circuit",
        "observable 1.observables.0",
        "observable 1.observables.1",
    ]


CHANGES: list[tuple[Callable[[], qml.Module], list[str]]] = [
    (lambda: model(fixed=0.4), ["circuit 1.circuit"]),
    (lambda: model(gate="cz"), ["circuit 1.circuit"]),
    (lambda: model(coefficient=2.0), ["observable 1.observables.0"]),
    (lambda: model(width=4), ["modules"]),
]


@pytest.mark.parametrize(("change", "parts"), CHANGES)
def test_changes_are_found_where_they_are(
    change: Callable[[], qml.Module], parts: list[str]
) -> None:
    one, other = model_fingerprint(model()), model_fingerprint(change())
    assert [name for name in one if one[name] != other[name]] == parts


def test_many_terms_all_count() -> None:
    labels = [format(k, "05b").translate(str.maketrans("01", "IZ")) for k in range(20)]

    def layer(last: float) -> qml.Module:
        sums = qml.PauliSum.from_list([(label, 1.0) for label in labels[:-1]])
        sums = sums + qml.PauliSum({labels[-1]: last})
        return qml.QuantumLayer(qml.Circuit(5), sums)

    assert model_fingerprint(layer(1.0)) != model_fingerprint(layer(2.0))
