from __future__ import annotations

import numpy as np
import pytest
from qiskit.circuit.library import n_local
from qiskit.quantum_info import Operator

import qml
from qml.errors import SettingError

NAMES = {"ring": "circular", "linear": "linear", "full": "full", "pairwise": "pairwise"}


@pytest.mark.parametrize("entanglement", ["linear", "full", "pairwise"])
@pytest.mark.parametrize("entangler", ["cx", "rzz"])
def test_two_local_is_qiskits(entanglement: str, entangler: str) -> None:
    theirs = n_local(3, ["ry", "rz"], entangler, NAMES[entanglement], reps=2)
    values = np.random.default_rng(0).normal(size=theirs.num_parameters)
    ours = qml.two_local(
        3,
        2,
        initial=values,
        rotations=("ry", "rz"),
        entanglers=entangler,
        entanglement=entanglement,
    )
    bound = theirs.assign_parameters(values)
    np.testing.assert_allclose(ours.unitary().numpy(), Operator(bound).data, atol=1e-13)


def test_two_local_without_final_rotation() -> None:
    circuit = qml.two_local(2, 3, initial=0.0, final_rotation=False)
    assert circuit.count_ops() == {"ry": 6, "cx": 3}
    assert list(circuit)[-1].name == "cx"


def test_hardware_efficient_numbers_angles_qubit_by_qubit() -> None:
    circuit = qml.hardware_efficient(2, 2, initial=np.arange(8.0))
    found = [(i.name, i.qubits) for i in circuit]
    layer = [("ry", (0,)), ("rz", (0,)), ("ry", (1,)), ("rz", (1,)), ("cx", (0, 1))]
    assert found == layer * 2
    assert circuit.parameter_names()[:2] == ["theta[0]", "theta[1]"]
    assert [p.item() for p in circuit.parameters()] == list(np.arange(8.0))


def test_hardware_efficient_with_an_entangler_that_has_angles() -> None:
    circuit = qml.hardware_efficient(3, 2, initial=0.1, rotations=["rx"], entangler="crz")
    assert len(circuit.parameters()) == 2 * (3 + 3)


def test_two_ansaetze_of_different_names_stand_in_one_circuit() -> None:
    first = qml.hardware_efficient(2, 1, initial=0.1)
    second = qml.strongly_entangling(2, 1, initial=0.2, name="phi")
    assert len(first.compose(second).parameters()) == 4 + 6
    with pytest.raises(qml.BindingError, match="different names"):
        first.compose(qml.two_local(2, 1, initial=0.1))


def test_strongly_entangling_on_one_qubit_has_no_cx() -> None:
    assert qml.strongly_entangling(1, 2, initial=0.1).count_ops() == {"rz": 4, "ry": 2}


def test_reuploaded_features_are_scaled_and_shifted() -> None:
    circuit = qml.data_reuploading(1, 2, initial=[0.1, 0.0, 0.2, 0.0])
    circuit.assign({"theta_scale[0]": 2.0})
    x = np.array([[0.3], [0.5]])
    found = circuit.expectation(qml.Z(0), inputs={"x": x}).numpy()
    np.testing.assert_allclose(found, np.cos(2 * x[:, 0] + 0.1 + x[:, 0] + 0.2), atol=1e-14)


def test_float32_values_make_single_precision_circuits() -> None:
    circuit = qml.hardware_efficient(2, 1, initial=qml.small_angles(seed=0, dtype=qml.F32))
    assert circuit.expectation(qml.Z(0)).dtype == qml.F32


BAD = [
    (qml.hardware_efficient, (0, 1), {}, "hardware_efficient: num_qubits needs an integer of at"),
    (qml.two_local, (2, 0), {}, "two_local: layers needs an integer of at least 1, got 0"),
    (qml.two_local, (2, 1), {"entanglement": "star"}, "needs one of linear, ring, full, pairwise"),
    (qml.two_local, (2, 1), {"rotations": "cx"}, "two_local: rotations needs gates on 1 qubit"),
    (qml.strongly_entangling, (2, 1), {"initial": [0.1]}, r"needs 6 finite real numbers.*\(1,\)"),
    (qml.data_reuploading, (2.0, 1), {}, "data_reuploading: num_qubits needs an integer"),
]


@pytest.mark.parametrize(("function", "sizes", "options", "match"), BAD)
def test_bad_settings_are_refused(
    function: object, sizes: tuple, options: dict, match: str
) -> None:
    with pytest.raises(SettingError, match=match):
        function(*sizes, **({"initial": 0.1} | options))
