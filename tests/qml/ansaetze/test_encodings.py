from __future__ import annotations

import numpy as np
import pytest
from qiskit.circuit.library import zz_feature_map as qiskits
from qiskit.quantum_info import Statevector

import qml
from qml.errors import SettingError

NAMES = {"ring": "circular", "linear": "linear", "full": "full", "pairwise": "pairwise"}


@pytest.mark.parametrize("entanglement", NAMES)
@pytest.mark.parametrize(("num_qubits", "reps"), [(2, 1), (4, 2), (3, 3)])
def test_zz_feature_map_is_qiskits(num_qubits: int, reps: int, entanglement: str) -> None:
    ours = qml.zz_feature_map(num_qubits, reps, entanglement=entanglement)
    theirs = qiskits(num_qubits, reps, NAMES[entanglement])
    x = np.random.default_rng(0).uniform(-2, 2, (3, num_qubits))
    states = ours.statevector(inputs={"x": x}).numpy()
    for row, state in zip(x, states, strict=True):
        wanted = Statevector(theirs.assign_parameters(row)).data
        np.testing.assert_allclose(state, wanted, atol=1e-13)


@pytest.mark.parametrize("rotation", ["rx", "ry", "rz", "p"])
def test_angles_are_the_features(rotation: str) -> None:
    x = np.array([0.3, -1.2])
    found = qml.angle_encoding(2, rotation=rotation).unitary(inputs={"x": x}).numpy()
    fixed = qml.Circuit(2).append(rotation, [0], [0.3]).append(rotation, [1], [-1.2])
    np.testing.assert_allclose(found, fixed.unitary().numpy(), atol=1e-15)


def test_basis_states_are_the_bits() -> None:
    bits = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 1], [1, 1, 1]])
    states = qml.basis_encoding(3).statevector(inputs={"x": bits}).numpy()
    np.testing.assert_allclose(states, np.eye(8)[[0, 1, 6, 7]], atol=1e-15)


def test_two_encodings_have_inputs_of_their_own() -> None:
    circuit = qml.angle_encoding(2, inputs="a").compose(qml.basis_encoding(2, inputs="b"))
    assert [x.name for x in circuit.inputs] == ["a", "b"]


# -- amplitudes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "width"), [((5,), 8), ((1,), 2), ((3, 4), 4), ((1, 2), 2)])
def test_amplitudes_are_normalised_features(shape: tuple[int, ...], width: int) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    state = qml.amplitude_encoding(x).numpy()
    assert state.shape == (*shape[:-1], width)
    lengths = np.linalg.norm(x, axis=-1, keepdims=True)
    np.testing.assert_allclose(state[..., : shape[-1]], x / lengths, atol=1e-15)
    assert (state[..., shape[-1] :] == 0).all()


def test_width_may_be_given() -> None:
    assert qml.amplitude_encoding([1.0, 2.0], 3).shape == (8,)
    with pytest.raises(qml.ShapeError, match=r"size at most 2, got shape \(3,\)"):
        qml.amplitude_encoding([1.0, 2.0, 3.0], 1)


@pytest.mark.parametrize(("dtype", "wanted"), [("f4", "c8"), ("f8", "c16"), ("c8", "c8")])
def test_precision_stays(dtype: str, wanted: str) -> None:
    assert qml.amplitude_encoding(np.ones(4, dtype)).dtype == np.dtype(wanted)
    assert qml.amplitude_encoding([1, 2]).dtype == qml.C128


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_gradients_reach_the_features(dtype: str) -> None:
    circuit = qml.hardware_efficient(2, 1, initial=0.3)
    x = np.random.default_rng(0).normal(size=(2, 3)).astype(dtype)
    x = x * (1 + 0.5j) if dtype == "c16" else x

    def value(features: qml.Tensor) -> qml.Tensor:
        state = qml.amplitude_encoding(features)
        return circuit.expectation(qml.Z(1), initial_state=state, engine="reference")

    assert qml.gradcheck(value, qml.Tensor(x, requires_grad=True))


BAD = [
    (0.0, qml.ShapeError, r"got shape \(\)"),
    ([], qml.ShapeError, r"got shape \(0,\)"),
    (np.ones((2, 2, 2)), qml.ShapeError, r"got shape \(2, 2, 2\)"),
    ([[1.0, 0.0], [0.0, 0.0]], SettingError, "not all of a sample 0"),
    ([1.0, float("inf")], SettingError, "needs finite features"),
]


@pytest.mark.parametrize(("features", "error", "match"), BAD)
def test_bad_features_are_refused(features: object, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        qml.amplitude_encoding(features)


@pytest.mark.parametrize(
    ("build", "match"),
    [
        (lambda: qml.angle_encoding(0), "angle_encoding: num_qubits needs an integer"),
        (
            lambda: qml.angle_encoding(2, rotation="u"),
            "a gate with one angle, got 'u', which has 3",
        ),
        (lambda: qml.angle_encoding(2, rotation="cx"), "needs gates on 1 qubit"),
        (lambda: qml.basis_encoding(-1), "basis_encoding: num_qubits"),
        (lambda: qml.zz_feature_map(2, 0), "zz_feature_map: reps needs an integer"),
        (lambda: qml.zz_feature_map(2, entanglement="x"), "zz_feature_map: entanglement needs"),
    ],
)
def test_bad_settings_are_refused(build: object, match: str) -> None:
    with pytest.raises(SettingError, match=match):
        build()
