from __future__ import annotations

import numpy as np
import pytest

import qml
from circuits import GateError
from qml.ansaetze.building import layer_gates, new_parameters, numbered, rotate_about
from qml.errors import SettingError

GIVEN = [
    (0.5, [0.5, 0.5, 0.5]),
    (1, [1.0, 1.0, 1.0]),
    ([0, 1, 2], [0.0, 1.0, 2.0]),
    (lambda count: np.arange(count) / 2, [0.0, 0.5, 1.0]),
]


@pytest.mark.parametrize(("initial", "values"), GIVEN)
def test_initial_values(initial: object, values: list[float]) -> None:
    made = new_parameters("f", numbered("t", 3), initial)
    assert [p.item() for p in made] == values
    assert [p.name for p in made] == ["t[0]", "t[1]", "t[2]"]
    assert {p.dtype for p in made} == {qml.F64}
    assert all(p.trainable for p in made)


def test_float32_stays() -> None:
    assert new_parameters("f", ["t"], np.float32([0.1]))[0].dtype == qml.F32


BAD = [[0.1, 0.2], [[0.1, 0.2, 0.3]], "abc", [0.1, 0.2, float("nan")], [1j, 0, 0], None, [True] * 3]


@pytest.mark.parametrize("initial", BAD)
def test_bad_initial_values_are_refused(initial: object) -> None:
    with pytest.raises(SettingError, match="f: initial needs 3 finite real numbers, or one"):
        new_parameters("f", numbered("t", 3), initial)


def test_gates_of_a_layer_have_its_size() -> None:
    assert [row.name for row in layer_gates("f", ("ry", "rz"), 1)] == ["ry", "rz"]
    assert [row.name for row in layer_gates("f", "cnot", 2)] == ["cx"]
    with pytest.raises(SettingError, match="f needs gates on 1 qubit, got 'cx'"):
        layer_gates("f", "cx", 1)
    for name in ("h", "unitary", "mcx"):
        with pytest.raises(SettingError, match="f needs gates on 2 qubits"):
            layer_gates("f", name, 2)
    with pytest.raises(GateError, match="got 'rw'"):
        layer_gates("f", "rw", 1)


@pytest.mark.parametrize("label", ["XII", "IYI", "ZIZ", "YYI", "ZXI", "XZI", "XYZ", "ZYX"])
def test_rotation_about_any_word(label: str) -> None:
    circuit = qml.Circuit(3)
    rotate_about(circuit, label, 0.7)
    word = qml.PauliSum({label: 1.0}).matrix()
    wanted = np.cos(0.35) * np.eye(8) - 1j * np.sin(0.35) * word
    np.testing.assert_allclose(circuit.unitary(engine="reference").numpy(), wanted, atol=1e-14)
    assert circuit.size() == 1


def test_rotation_about_the_identity_appends_nothing() -> None:
    circuit = qml.Circuit(2)
    rotate_about(circuit, "II", 0.7)
    assert circuit.size() == 0
