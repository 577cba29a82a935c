from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import qml
from qml.errors import StateDictError
from qml.resuming import named_generators

GENERATOR = np.random.default_rng(0)
X, Y = GENERATOR.normal(size=(20, 3)), GENERATOR.normal(size=(20, 1))


class Run:
    """A training with everything that has a state, one Generator shared by most of it."""

    def __init__(self, seed: int = 0, fixed: float = 0.2) -> None:
        generator = np.random.default_rng(seed)
        circuit = qml.angle_encoding(2).rx(fixed, 0)
        circuit.compose(qml.two_local(2, 1, initial=qml.uniform_angles(seed=generator)))
        self.model = qml.Sequential(
            qml.Linear(3, 2, seed=generator),
            qml.Dropout(0.3, seed=generator),
            qml.QuantumLayer(circuit, [qml.Z(0)], engine="reference"),
        )
        self.optimizer = qml.Adam(self.model.parameters(), lr=0.05)
        self.schedule = qml.StepLR(self.optimizer, step_size=3)
        self.data = qml.DataLoader(X, Y, batch_size=3, shuffle=True, seed=generator)
        self.losses = self.loop()

    @property
    def parts(self) -> dict[str, object]:
        return {"optimizer": self.optimizer, "schedule": self.schedule, "data": self.data}

    def state(self) -> dict[str, object]:
        return qml.training_state(self.model, **self.parts)

    def load(self, state: dict[str, object]) -> None:
        qml.load_training_state(state, self.model, **self.parts)

        self.losses = self.loop()

    def steps(self, count: int) -> list[float]:
        return list(islice(self.losses, count))

    def loop(self) -> Iterator[float]:
        while True:
            for x, y in self.data:
                self.optimizer.zero_grad()
                loss = qml.mse_loss(self.model(x), y)
                loss.backward()
                self.optimizer.step()
                if self.data.state_dict()["position"] == 0:
                    self.schedule.step()
                yield loss.item()


@pytest.mark.parametrize("steps", [0, 1, 6, 7, 8, 20])
def test_another_process_would_go_on_bit_for_bit(steps: int, tmp_path: Path) -> None:
    run, other = Run(), Run(seed=5)
    run.steps(steps)
    other.steps(3)
    path = qml.save(run.state(), tmp_path / "a")
    other.load(qml.load(path))
    assert other.steps(15) == run.steps(15)
    for mine, yours in zip(run.model.parameters(), other.model.parameters(), strict=True):
        np.testing.assert_array_equal(mine.numpy(), yours.numpy())


def test_freeze_mask_comes_back() -> None:
    run, other = Run(), Run()
    run.model.freeze("0.*")
    run.model[0].bias.requires_grad_(False)
    other.model.freeze("2.*")
    other.load(run.state())
    for mine, yours in zip(run.model.parameters(), other.model.parameters(), strict=True):
        assert (mine.trainable, mine.requires_grad) == (yours.trainable, yours.requires_grad)


def test_generators_are_found_by_name() -> None:
    run = Run()
    assert named_generators(run.model) == [("1.generator", run.model[1].generator)]


def test_state_of_another_model_is_refused() -> None:
    run = Run()
    before = run.state()
    with pytest.raises(StateDictError, match=r"differs in circuit 2\.circuit\. Build the model as"):
        run.load(Run(fixed=0.3).state())
    assert str(run.state()) == str(before)


def test_parts_must_be_those_that_were_saved() -> None:
    run = Run()
    with pytest.raises(StateDictError, match=r"'parts' needs \['data', 'optimizer', 'sch"):
        run.load(qml.training_state(run.model, optimizer=run.optimizer))
    with pytest.raises(StateDictError, match=r"model.load_state_dict\(state\['model'\]\)"):
        qml.load_training_state(run.state(), run.model)


BAD = [
    ("optimizer", {"optimizer": "SGD"}, StateDictError, "Adam needs the state_dict of a Adam"),
    ("schedule", {"schedule": "X"}, StateDictError, "StepLR needs a state_dict"),
    ("data", {"batch_size": 5}, StateDictError, "DataLoader needs the state of a loader with"),
    ("trainable", {"0.weigth": True}, StateDictError, "the state's 'trainable' needs"),
    ("generators", {"1.generator": {"bit_generator": "MT19937"}}, StateDictError, "PCG64|entries"),
]


@pytest.mark.parametrize(("part", "change", "error", "match"), BAD)
def test_all_or_nothing_is_loaded(
    part: str, change: dict, error: type[Exception], match: str
) -> None:
    run, other = Run(), Run(seed=1)
    other.steps(4)
    state, before = other.state(), run.state()
    inside = state["parts"] if part in run.parts else state
    inside[part] = {**inside[part], **change}
    with pytest.raises(error, match=match):
        run.load(state)
    assert str(run.state()) == str(before)
