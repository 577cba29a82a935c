"""Changed states of a training: resumed, or the project's own error and nothing changed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from limits import limited
from strategies import STATES, mutated_data, places

import qml
from autodiff import AutodiffError

X = np.random.default_rng(0).normal(size=(12, 3))
Y = X[:, :1]
OPTIMIZERS: dict[str, Callable[..., qml.Optimizer]] = {
    "Adam": lambda ps: qml.Adam(ps, lr=0.05),
    "LBFGS": lambda ps: qml.LBFGS(ps, max_iter=3),
    "SPSA": lambda ps: qml.SPSA(ps, seed=0),
}
# The one that grows overflows for a large number of steps.
SCHEDULES: list[Callable[..., Any]] = [
    lambda o: qml.ExponentialLR(o, gamma=1.5),
    lambda o: qml.ReduceLROnPlateau(o, patience=1),
    lambda o: qml.SequentialLR(o, [qml.LinearLR(o), qml.StepLR(o, 3)], [2]),
]


class Training:
    """A Trainer with everything that has a state."""

    def __init__(self, name: str, kind: int, path: Path) -> None:
        generator = np.random.default_rng(0)
        circuit = qml.angle_encoding(2)
        circuit.compose(qml.two_local(2, 1, initial=qml.uniform_angles(seed=generator)))
        self.model = qml.Sequential(
            qml.Linear(3, 2, seed=generator),
            qml.Dropout(0.1, seed=generator),
            qml.QuantumLayer(circuit, [qml.Z(0)], engine="reference"),
        )
        optimizer = OPTIMIZERS[name](self.model.parameters())
        self.trainer = qml.Trainer(
            self.model,
            optimizer,
            qml.mse_loss,
            schedule=SCHEDULES[kind](optimizer),
            early_stopping=qml.EarlyStopping(5, monitor="loss", restore_best=True),
            checkpoint=path,
            quiet=True,
        )
        self.data = qml.DataLoader(X, Y, batch_size=4, shuffle=True, seed=1)

    def everything(self) -> str:
        """All that a resumption may change."""
        state = qml.training_state(self.model, **self.trainer._parts(self.data))
        optimizer = self.trainer.optimizer
        return repr((state, optimizer.lr, optimizer.initial_lr, vars(self.trainer.schedule)))


@st.composite
def replaced(draw: st.DrawFn, valid: Callable[[], Any]) -> Any:
    """A state in which one value is another one, arrays of all shapes and dtypes among them."""
    data = {"data": valid()}
    spots = list(places(data))
    held, key = spots[draw(st.integers(0, len(spots) - 1))]
    held[key] = draw(st.one_of(STATES, st.sampled_from([-1, 10**400, float("nan")])))
    return data["data"]


@pytest.fixture(scope="module", params=[(n, k) for k, n in enumerate(OPTIMIZERS)], ids=str)
def saved(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, int, Path, Any]:
    """The state in the midst of the second epoch, and what it is of."""
    name, kind = request.param
    path = tmp_path_factory.mktemp("training") / "training.ket"
    training = Training(name, kind, path)
    training.trainer.on_step.append(lambda record: record.step == 4)
    training.trainer.fit(training.data, epochs=3)
    return name, kind, path, qml.load(path)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_changed_states_are_refused_as_a_whole(
    saved: tuple[str, int, Path, Any], data: st.DataObject
) -> None:
    name, kind, path, state = saved
    valid = partial(copy.deepcopy, state)
    changed = data.draw(st.one_of(mutated_data(valid), replaced(valid)))
    training = Training(name, kind, path)
    before = training.everything()
    accepted = False
    with pytest.MonkeyPatch.context() as patch, limited(), suppress(AutodiffError):
        patch.setattr("qml.trainer.load", lambda path: changed)
        training.trainer._restored(training.data)
        accepted = True
    if not accepted:
        assert training.everything() == before


def test_unchanged_state_is_resumed(saved: tuple[str, int, Path, Any]) -> None:
    name, kind, path, state = saved
    training = Training(name, kind, path)
    progress = training.trainer._restored(training.data)
    assert progress.state_dict() == state["progress"]
    assert (progress.epoch, progress.batch, progress.step) == (1, 1, 4)
