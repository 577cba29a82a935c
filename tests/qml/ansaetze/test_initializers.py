from __future__ import annotations

from math import pi, sqrt

import numpy as np
import pytest

import qml
from qml.errors import SettingError

COUNT = 20_000


def test_uniform_angles_fill_their_interval() -> None:
    drawn = qml.uniform_angles(seed=0)(COUNT)
    assert -pi <= drawn.min() < -0.99 * pi
    assert 0.99 * pi < drawn.max() < pi
    assert abs(drawn.mean()) < 0.05
    narrow = qml.uniform_angles(1.0, 2.0, seed=0)(COUNT)
    assert 1.0 <= narrow.min() < narrow.max() < 2.0


@pytest.mark.parametrize(
    ("initializer", "mean", "deviation"),
    [
        (qml.normal_angles(0.3, 1.0, seed=0), 1.0, 0.3),
        (qml.small_angles(layers=4, locality=2, seed=0), 0.0, 1 / sqrt(4 * 2 * 6)),
    ],
    ids=["normal", "small"],
)
def test_normal_angles(initializer: object, mean: float, deviation: float) -> None:
    drawn = initializer(COUNT)
    assert drawn.mean() == pytest.approx(mean, abs=4 * deviation / sqrt(COUNT))
    assert drawn.std() == pytest.approx(deviation, rel=0.03)


@pytest.mark.parametrize("make", [qml.uniform_angles, qml.normal_angles, qml.small_angles])
def test_seed_decides(make: object) -> None:
    one, same, other = (make(seed=s)(5).tolist() for s in (0, 0, 1))
    assert one == same != other
    generator = np.random.default_rng(0)
    assert make(seed=generator)(5).tolist() == one != make(seed=generator)(5).tolist()
    assert make(seed=0, dtype=qml.F32)(5).dtype == qml.F32
    with pytest.raises(SettingError, match="dtype needs float32 or float64"):
        make(seed=0, dtype="int64")


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: qml.uniform_angles(2.0, 1.0, seed=0), "high - low needs a finite number of at"),
        (lambda: qml.normal_angles(-0.1, seed=0), "normal_angles: deviation"),
        (lambda: qml.small_angles(0, seed=0), "small_angles: layers needs an integer"),
        (lambda: qml.small_angles(1, 0, seed=0), "small_angles: locality"),
    ],
)
def test_bad_settings_are_refused(make: object, match: str) -> None:
    with pytest.raises(SettingError, match=match):
        make()


# -- identity blocks -------------------------------------------------------------------------------


def test_identity_blocks_start_as_the_identity_and_leave_it() -> None:
    half = qml.hardware_efficient(3, 2, initial=0.0)
    circuit = qml.identity_blocks(half, 2, initial=qml.uniform_angles(seed=0))
    np.testing.assert_allclose(circuit.unitary().numpy(), np.eye(8), atol=1e-14)
    assert len(circuit.parameters()) == 2 * 2 * 12
    assert circuit.parameter_names()[-1] == "theta[47]"
    values = np.array([p.item() for p in circuit.parameters()]).reshape(2, 2, 12)
    np.testing.assert_array_equal(values[:, 0], values[:, 1])
    assert not np.array_equal(values[0], values[1])
    assert [p.item() for p in half.parameters()] == [0.0] * 12
    circuit.expectation(qml.X(0) + qml.Z(2)).backward()
    assert max(abs(p.grad.item()) for p in circuit.parameters()) > 0.1
    circuit.parameters()[0].set_(2.0)
    assert np.abs(circuit.unitary().numpy() - np.eye(8)).max() > 0.1


@pytest.mark.parametrize(
    ("ansatz", "blocks", "match"),
    [
        (qml.Circuit(1).h(0), 1, "needs a circuit with scalar Parameters"),
        (qml.data_reuploading(1, 1, initial=0.1), 1, "no Inputs"),
        (qml.Circuit(1).rx(qml.Parameter([0.1, 0.2])[0], 0), 1, "scalar Parameters"),
        (qml.two_local(1, 1, initial=0.1), 0, "identity_blocks: blocks needs an integer"),
    ],
)
def test_bad_blocks_are_refused(ansatz: qml.Circuit, blocks: int, match: str) -> None:
    with pytest.raises(SettingError, match=match):
        qml.identity_blocks(ansatz, blocks, initial=qml.uniform_angles(seed=0))
