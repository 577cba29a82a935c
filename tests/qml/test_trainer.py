from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest

import qml
from qml.errors import CheckpointError, SettingError, StateDictError

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(24, 3))
Y = X @ [[1.0], [-2.0], [0.5]] + 0.3


def loader(seed: int = 1) -> qml.DataLoader:
    return qml.DataLoader(X, Y, batch_size=5, shuffle=True, seed=seed)


def trainer(**options: object) -> qml.Trainer:
    model = qml.Sequential(
        qml.Linear(3, 4, seed=0), qml.Dropout(0.1, seed=1), qml.Linear(4, 1, seed=2)
    )
    optimizer = qml.Adam(model.parameters(), lr=0.05)
    given = {"model": model, "optimizer": optimizer, "loss": qml.mse_loss, "quiet": True}
    return qml.Trainer(**(given | options))


def mean_error(outputs: qml.Tensor, targets: np.ndarray) -> float:
    return float(np.abs(outputs.numpy() - targets).mean())


def test_training_is_the_loop_that_one_would_write() -> None:
    made, other = trainer(), trainer()
    history = made.fit(loader(), epochs=3)
    losses, data = [], loader()
    for _ in range(3):
        for x, y in data:
            other.optimizer.zero_grad()
            loss = qml.mse_loss(other.model(x), y)
            loss.backward()
            other.optimizer.step()
            losses.append(loss.item())
    assert history.losses == losses
    assert history.stopped == "finished"
    for mine, theirs in zip(made.model.parameters(), other.model.parameters(), strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


def test_values_are_means_over_samples() -> None:
    made = trainer(metrics={"error": mean_error})
    records: list[qml.StepRecord] = []
    made.on_step.append(records.append)
    history = made.fit(loader(), epochs=2, validation=[(X[:4], Y[:4]), (X[4:5], Y[4:5])])
    sizes = [5, 5, 5, 5, 4]
    for name in ("loss", "error"):
        steps = [record.values[name] for record in records[5:]]
        assert history.values(name)[1] == pytest.approx(np.dot(sizes, steps) / 24)
    made.model.eval()
    outputs = made.model(X[:5])
    assert history.values("validation_loss")[1] == pytest.approx(
        ((outputs.numpy() - Y[:5]) ** 2).mean()
    )
    assert history.values("validation_error")[1] == pytest.approx(mean_error(outputs, Y[:5]))
    assert [record.step for record in records] == list(range(1, 11))
    assert [record.epoch for record in records] == [1] * 5 + [2] * 5
    assert records[0].counts.updated == 4
    assert [(r.epoch, r.step, r.lr) for r in history.epochs] == [(1, 5, 0.05), (2, 10, 0.05)]


def test_evaluation_leaves_modes_and_gradients_alone() -> None:
    made = trainer()
    made.model[1].eval()
    made.evaluate(loader())
    assert [module.training for module in made.model] == [True, False, True]
    assert all(p.grad is None for p in made.model.parameters())


def test_energies_need_no_data() -> None:
    h2 = qml.load_h2()
    layer = qml.QuantumLayer(qml.particle_conserving(4, 2, initial=0.0), h2.hamiltonian)
    made = qml.Trainer(layer, qml.Adam(layer.parameters(), lr=0.05), quiet=True)
    history = made.fit([()] * 100, epochs=1)
    assert history.losses[0] == pytest.approx(h2.hartree_fock_energy)
    assert abs(made.evaluate([()])["loss"] - h2.exact_energy) < 1e-5


@pytest.mark.parametrize("make", [qml.LBFGS, qml.SPSA])
def test_optimizers_that_call_the_closure_again(make: object) -> None:
    model = qml.Linear(3, 1, seed=0)
    options = {"seed": 0, "lr": 0.05} if make is qml.SPSA else {}
    made = qml.Trainer(model, make(model.parameters(), **options), qml.mse_loss, quiet=True)
    first = made.evaluate([(X, Y)])["loss"]
    history = made.fit([(X, Y)] * 20, epochs=1)
    assert len(history.losses) == 20
    assert made.evaluate([(X, Y)])["loss"] < first
    if make is qml.LBFGS:
        assert history.losses[0] == pytest.approx(first)
        assert history.losses[-1] < 1e-10


# -- schedules, clipping, stopping -----------------------------------------------------------------


@pytest.mark.parametrize(("each", "rates"), [("epoch", [0.1, 0.01]), ("step", [1e-5, 1e-10])])
def test_schedule_steps_after_each_epoch_or_step(each: str, rates: list[float]) -> None:
    made = trainer(schedule_each=each)
    made.optimizer.lr = 0.1
    made.schedule = qml.ExponentialLR(made.optimizer, gamma=0.1)
    history = made.fit(loader(), epochs=2)
    assert [record.lr for record in history.epochs] == pytest.approx(
        rates if each == "epoch" else [1e-5, 1e-10]
    )


@pytest.mark.parametrize("validation", [None, [(X, Y)]])
def test_plateau_schedule_gets_the_loss(validation: list | None) -> None:
    made = trainer()
    made.schedule = qml.ReduceLROnPlateau(made.optimizer, patience=0, factor=0.5, threshold=0.99)
    history = made.fit(loader(), epochs=3, validation=validation)
    name = "loss" if validation is None else "validation_loss"
    assert made.schedule.best == history.values(name)[0]
    assert [record.lr for record in history.epochs] == [0.05, 0.05, 0.025]


def test_clip_is_called_between_backward_and_step() -> None:
    made = trainer(clip=lambda ps: qml.clip_grad_norm_(ps, 0.0))
    before = made.model.state_dict()
    made.fit(loader(), epochs=1)
    for name, value in made.model.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


def test_callbacks_stop_training() -> None:
    steps = trainer(on_step=[lambda record: record.step == 7]).fit(loader(), epochs=3)
    assert (len(steps.losses), len(steps.epochs), steps.stopped) == (7, 1, "callback")
    epochs = trainer(on_epoch=[lambda record: record.epoch == 2]).fit(loader(), epochs=3)
    assert (len(epochs.losses), len(epochs.epochs), epochs.stopped) == (10, 2, "callback")


def test_every_callback_is_called_before_training_stops() -> None:
    called: list[str] = []

    def first(record: object) -> bool:
        called.append("first")
        return True

    trainer(on_step=[first, lambda record: called.append("second")]).fit(loader(), epochs=1)
    assert called == ["first", "second"]


def test_early_stopping_restores_the_best_epoch() -> None:
    stopping = qml.EarlyStopping(2, restore_best=True)
    made = trainer(early_stopping=stopping)
    made.optimizer.lr = 3.0  # far too much: the loss grows after a while
    history = made.fit(loader(), epochs=50, validation=[(X, Y)])
    losses = history.values("validation_loss")
    assert history.stopped == "early stopping"
    assert len(losses) == 2 + 1 + int(np.argmin(losses)) < 50
    assert made.evaluate([(X, Y)])["loss"] == min(losses)


# -- progress --------------------------------------------------------------------------------------


def test_progress_is_shown_with_loss_and_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    trainer(quiet=False, metrics={"error": mean_error}).fit(loader(), epochs=2)
    out, err = capsys.readouterr()
    assert out == ""
    assert "Training: 100%" in err
    assert "10/10" in err
    assert "loss " in err
    assert "error " in err


def test_quiet_training_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    trainer().fit(loader(), epochs=1)
    assert capsys.readouterr() == ("", "")


# -- checkpoints -----------------------------------------------------------------------------------


def same(a: qml.Trainer, b: qml.Trainer) -> None:
    assert str(a.optimizer.state_dict()) == str(b.optimizer.state_dict())
    for mine, theirs in zip(a.model.parameters(), b.model.parameters(), strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


@pytest.mark.parametrize("stop", [1, 4, 5, 6, 14])
def test_interrupted_training_goes_on_where_it_was(
    stop: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = trainer()
    wanted = whole.fit(loader(), epochs=3, validation=[(X, Y)])

    def interrupt(record: qml.StepRecord) -> None:
        if record.step == stop:
            signal.raise_signal(signal.SIGINT)

    path = tmp_path / "run.ket"
    left = trainer(checkpoint=path, on_step=[interrupt])
    history = left.fit(loader(), epochs=3, validation=[(X, Y)])
    assert (history.stopped, len(history.losses)) == ("interrupted", stop)
    assert capsys.readouterr() == (
        "",
        f"Interrupted after step {stop}. Saved to {path}; fit(..., resume=True) continues.\n",
    )
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    resumed = trainer(checkpoint=path)
    found = resumed.fit(loader(seed=9), epochs=3, validation=[(X, Y)], resume=True)
    assert found.losses == wanted.losses
    assert [r.values for r in found.epochs] == [r.values for r in wanted.epochs]
    assert found.stopped == "finished"
    same(resumed, whole)


def test_interruption_without_a_checkpoint_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(record: qml.StepRecord) -> None:
        signal.raise_signal(signal.SIGINT)

    trainer(on_step=[interrupt]).fit(loader(), epochs=1)
    assert "Interrupted after step 1. The model has the values" in capsys.readouterr().err


@pytest.mark.parametrize(("every", "position"), [(None, 10), (3, 9)])
def test_checkpoints_are_written_on_the_way(
    every: int | None, position: int, tmp_path: Path
) -> None:
    """What is there when a callback of step 12 fails."""

    def fail(record: qml.StepRecord) -> None:
        if record.step == 12:
            raise RuntimeError("the power went")

    path = tmp_path / "run.ket"
    made = trainer(checkpoint=path, checkpoint_every=every, on_step=[fail])
    with pytest.raises(RuntimeError, match="power"):
        made.fit(loader(), epochs=3)
    assert qml.load(path)["progress"]["step"] == position
    resumed, whole = trainer(checkpoint=path), trainer()
    assert (
        resumed.fit(loader(9), epochs=3, resume=True).losses == whole.fit(loader(), epochs=3).losses
    )
    same(resumed, whole)


def test_batches_in_a_sequence_resume_too(tmp_path: Path) -> None:
    batches = [(X[k : k + 6], Y[k : k + 6]) for k in range(0, 24, 6)]
    path = tmp_path / "run.ket"
    left = trainer(checkpoint=path, on_step=[lambda r: r.step == 6 and signal.raise_signal(2)])
    left.fit(batches, epochs=3)
    resumed, whole = trainer(checkpoint=path), trainer()
    losses = resumed.fit(batches, epochs=3, resume=True).losses
    assert losses == whole.fit(batches, epochs=3).losses
    same(resumed, whole)


def test_finished_training_is_not_repeated_but_may_go_on(tmp_path: Path) -> None:
    path = tmp_path / "run.ket"
    first = trainer(checkpoint=path, early_stopping=qml.EarlyStopping(9, monitor="loss"))
    first.fit(loader(), epochs=2)
    again = trainer(checkpoint=path, early_stopping=qml.EarlyStopping(9, monitor="loss"))
    assert len(again.fit(loader(9), epochs=2, resume=True).losses) == 10
    same(again, first)
    assert again.early_stopping.best == first.early_stopping.best
    assert len(again.fit(loader(9), epochs=3, resume=True).losses) == 15


def test_resuming_without_a_file_starts(tmp_path: Path) -> None:
    path = tmp_path / "run.ket"
    assert len(trainer(checkpoint=path).fit(loader(), epochs=1, resume=True).losses) == 5
    assert path.is_file()


def test_checkpoint_of_something_else_is_refused(tmp_path: Path) -> None:
    path = qml.save({"a": 1}, tmp_path / "other.ket")
    with pytest.raises(CheckpointError, match="a checkpoint that a Trainer wrote"):
        trainer(checkpoint=path).fit(loader(), epochs=1, resume=True)
    trainer(checkpoint=path).fit(loader(), epochs=1)
    with pytest.raises(StateDictError, match=r"'parts' needs \['data', 'early_stopping', 'opt"):
        trainer(checkpoint=path, early_stopping=qml.EarlyStopping(1, monitor="loss")).fit(
            loader(), epochs=1, resume=True
        )
    with pytest.raises(StateDictError, match="DataLoader needs the state"):
        trainer(checkpoint=path).fit(qml.DataLoader(X, Y, batch_size=4), epochs=1, resume=True)
    assert qml.load(path)["progress"]["step"] == 5


BAD = [
    ({"schedule_each": "batch"}, "schedule_each needs one of 'epoch', 'step'"),
    ({"checkpoint_every": 5}, "checkpoint_every needs checkpoint"),
    ({"loss": "mse"}, "loss needs a function of predictions and targets, got 'mse'"),
    (
        {"model": qml.Linear(3, 1, seed=0)},
        "Parameters of the model, got 4 of others.* again",
    ),
    ({"checkpoint": "a", "checkpoint_every": 0}, "checkpoint_every needs an integer of at least 1"),
]


@pytest.mark.parametrize(("options", "match"), BAD)
def test_bad_settings_are_refused(options: dict, match: str) -> None:
    with pytest.raises(SettingError, match=match):
        trainer(**options)


def test_bad_calls_are_refused() -> None:
    with pytest.raises(SettingError, match="epochs needs an integer of at least 1"):
        trainer().fit(loader(), epochs=0)
    for data, resume in (([], False), (loader(), True)):
        with pytest.raises(SettingError, match="at least one batch, and a checkpoint path"):
            trainer().fit(data, epochs=1, resume=resume)
    for call in (
        lambda: trainer().evaluate([]),
        lambda: trainer().fit(loader(), epochs=1, validation=[]),
    ):
        with pytest.raises(SettingError, match="needs at least one batch, got none"):
            call()
    model = qml.Linear(1, 1, seed=0)
    with pytest.raises(SettingError, match="metrics need a loss"):
        qml.Trainer(model, qml.SGD(model.parameters()), metrics={"a": mean_error})
