"""The training loop."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autodiff import Parameter, Tensor, is_grad_enabled, no_grad
from qml.callbacks import (
    EarlyStopping,
    EpochCallback,
    EpochRecord,
    History,
    StepCallback,
    StepRecord,
)
from qml.checkpoint import load, save
from qml.data_loader import DataLoader
from qml.errors import CheckpointError, SettingError
from qml.interruption import Interruption
from qml.module import Module
from qml.optim.base import Optimizer
from qml.optim.plateau import ReduceLROnPlateau
from qml.optim.schedules import ClosedForm
from qml.progress import progress_bar
from qml.resuming import load_training_state, training_state
from qml.settings import choice, optional, whole
from qml.training_progress import TrainingProgress

if TYPE_CHECKING:
    from collections.abc import Iterator

# Any in this file: batches are arrays of every dtype, and models take what they take.
Batch = Sequence[Any]
Data = DataLoader | Sequence[Batch]
Metric = Callable[[Any, Any], float]


def _check_fit_together(model: Module, optimizer: Optimizer, loss: object) -> None:
    """Refuse a loss that is no function, and an optimizer that would leave the model as it is."""
    if loss is not None and not callable(loss):
        raise SettingError(
            f"Trainer: loss needs a function of predictions and targets, got {loss!r:.60}. "
            "Give one, such as qml.mse_loss."
        )
    trained = {id(p._meta) for p in optimizer.parameters}
    if not any(id(p._meta) in trained for p in model.parameters()):
        raise SettingError(
            f"Trainer: optimizer needs Parameters of the model, got {len(trained)} of others. "
            "Make it of model.parameters(), again after making the model again."
        )


class Trainer:
    """Trains a model: batches, validation, schedule, early stopping, progress, checkpoints.

    A batch ``(*inputs, targets)`` gives ``loss(model(*inputs), targets)``. Without ``loss`` the
    model's output is the loss, as for an energy: ``fit([()] * 100, epochs=1)`` makes 100 steps
    without data.

    Args:
        model: the model.
        optimizer: of its Parameters; its step gets a closure.
        loss: a function of predictions and targets, such as ``mse_loss``.
        metrics: functions of predictions and targets by name.
        schedule: of the learning rate; a ``ReduceLROnPlateau`` gets the validation loss, or the
            training loss where there is none.
        schedule_each: ``"epoch"`` or ``"step"``: when the schedule steps.
        early_stopping: what decides after each epoch whether to go on.
        clip: called with the Parameters after backward, such as
            ``lambda ps: qml.clip_grad_norm_(ps, 1.0)``.
        on_step: functions of each ``StepRecord``; True stops the training.
        on_epoch: functions of each ``EpochRecord``; True stops the training.
        checkpoint: a file to save to, after every epoch and at the end.
        checkpoint_every: save after so many steps instead of after every epoch.
        quiet: no progress bar.

    Raises:
        SettingError: a setting outside its range.

    Example:
        >>> import numpy as np, qml
        >>> x, y = np.eye(2), np.array([[1.0], [2.0]])
        >>> model = qml.Linear(2, 1, bias=False, seed=0)
        >>> trainer = qml.Trainer(model, qml.SGD(model.parameters(), 0.5), qml.mse_loss, quiet=True)
        >>> round(trainer.fit(qml.DataLoader(x, y, batch_size=2), epochs=50).losses[-1], 6)
        0.0
    """

    def __init__(
        self,
        model: Module,
        optimizer: Optimizer,
        loss: Callable[[Any, Any], Tensor] | None = None,
        *,
        metrics: Mapping[str, Metric] | None = None,
        schedule: ClosedForm | ReduceLROnPlateau | None = None,
        schedule_each: str = "epoch",
        early_stopping: EarlyStopping | None = None,
        clip: Callable[[list[Parameter]], object] | None = None,
        on_step: Sequence[StepCallback] = (),
        on_epoch: Sequence[EpochCallback] = (),
        checkpoint: str | Path | None = None,
        checkpoint_every: int | None = None,
        quiet: bool = False,
    ) -> None:
        _check_fit_together(model, optimizer, loss)
        self.model, self.optimizer, self.loss = model, optimizer, loss
        self.metrics = dict(metrics or {})
        if self.metrics and loss is None:
            raise SettingError(
                "Trainer: metrics need a loss of predictions and targets, got None. Give loss."
            )
        self.schedule = schedule
        self.schedule_each = choice("epoch", "step")("Trainer: schedule_each", schedule_each)
        self.early_stopping, self.clip = early_stopping, clip
        self.on_step, self.on_epoch = list(on_step), list(on_epoch)
        self.checkpoint = None if checkpoint is None else Path(checkpoint)
        check = optional(whole(1))
        self.checkpoint_every = check("Trainer: checkpoint_every", checkpoint_every)
        if checkpoint is None and checkpoint_every is not None:
            raise SettingError(
                "Trainer: checkpoint_every needs checkpoint, a path, got None. Give both."
            )
        self.quiet = quiet

    # -- training --------------------------------------------------------------------------------

    def fit(
        self,
        data: Data,
        epochs: int,
        *,
        validation: Data | None = None,
        resume: bool = False,
    ) -> History:
        """Train.

        Ctrl-C ends it after the present step, saves a checkpoint and says so; a second Ctrl-C
        interrupts at once.

        Args:
            data: a DataLoader, or a sequence of batches.
            epochs: how often to go through the data, at least 1, finished ones included.
            validation: data for the values after each epoch.
            resume: continue from the checkpoint file, if there is one.

        Returns:
            Losses and values so far, and why the training ended.

        Raises:
            SettingError: no epochs or batches, or ``resume`` without a checkpoint path.
            CheckpointError: the file is no checkpoint of a Trainer.
            StateDictError: the checkpoint of another model, optimizer or data.
        """
        total = whole(1)("Trainer.fit: epochs", epochs) * len(data)
        if validation is not None and len(validation) == 0:
            raise SettingError(
                "Trainer.fit: validation needs at least one batch, got none. Leave it out."
            )
        if total == 0 or (resume and self.checkpoint is None):
            raise SettingError(
                f"Trainer.fit needs at least one batch, and a checkpoint path to resume from, got "
                f"{len(data)} batches and {self.checkpoint}. Check the loader, and give checkpoint."
            )
        progress = self._restored(data) if resume else TrainingProgress()
        history = progress.history
        if history.stopped not in ("early stopping", "callback"):
            history.stopped = ""
        with (
            Interruption() as interruption,
            progress_bar(total, done=progress.step, quiet=self.quiet) as bar,
        ):
            self.model.train()
            while progress.epoch < epochs and not history.stopped:
                for record in self._epoch(progress, data, validation):
                    bar.set_postfix_str(_text(record.values), refresh=False)
                    bar.update()
                    if interruption.asked and not history.stopped:
                        history.stopped = "interrupted"
                    if history.stopped:
                        break
        self._end(progress, data)
        return history

    def _epoch(
        self, progress: TrainingProgress, data: Data, validation: Data | None
    ) -> Iterator[StepRecord]:
        """Make the steps that are left of an epoch, and what is due after them."""
        started = time.perf_counter()
        # A loader that is resumed starts at its own position.
        skipped = 0 if isinstance(data, DataLoader) else progress.batch
        for batch in islice(iter(data), skipped, None):
            record = self._step(progress, batch)
            stop = [bool(callback(record)) for callback in self.on_step]
            if self.schedule is not None and self.schedule_each == "step":
                self._advance(record.values["loss"])
            ended = progress.batch == len(data)
            if ended:
                self._end_epoch(progress, record.lr, validation, time.perf_counter() - started)
            if any(stop):
                progress.history.stopped = "callback"
            every = self.checkpoint_every
            if (ended if every is None else progress.step % every == 0) and self.checkpoint:
                self._save(progress, data)
            yield record

    def _step(self, progress: TrainingProgress, batch: Batch) -> StepRecord:
        inputs, targets = (batch, None) if self.loss is None else (batch[:-1], batch[-1])
        seen: list[tuple[Any, Tensor]] = []

        def closure() -> Tensor:
            self.optimizer.zero_grad()
            outputs = self.model(*inputs)
            loss = outputs if self.loss is None else self.loss(outputs, targets)
            seen.append((outputs, loss.detach()))
            if is_grad_enabled():
                loss.backward()
                if self.clip is not None:
                    self.clip(self.optimizer.parameters)
            return loss

        lr = self.optimizer.lr
        counts = self.optimizer.step(closure)
        outputs, loss = seen[0]  # before the update; some optimizers call the closure again
        values = self._values(outputs, loss if counts.loss is None else counts.loss, targets)
        size = len(batch[0]) if batch else 1
        progress.step += 1
        progress.batch += 1
        progress.samples += size
        for name, value in values.items():
            progress.sums[name] = progress.sums.get(name, 0.0) + size * value
        progress.history.losses.append(values["loss"])
        return StepRecord(progress.step, progress.epoch + 1, lr, values, counts)

    def _values(self, outputs: Any, loss: Tensor, targets: Any) -> dict[str, float]:
        values = {"loss": float(loss.item())}
        with no_grad():
            for name, metric in self.metrics.items():
                values[name] = float(metric(outputs, targets))
        return values

    def _end_epoch(
        self, progress: TrainingProgress, lr: float, validation: Data | None, seconds: float
    ) -> None:
        values = {name: total / progress.samples for name, total in progress.sums.items()}
        if validation is not None:
            found = self.evaluate(validation)
            values |= {f"validation_{name}": value for name, value in found.items()}
        progress.epoch, progress.batch = progress.epoch + 1, 0
        progress.samples, progress.sums = 0, {}
        record = EpochRecord(progress.epoch, progress.step, lr, seconds, values)
        progress.history.epochs.append(record)
        if self.schedule is not None and self.schedule_each == "epoch":
            self._advance(values.get("validation_loss", values["loss"]))
        stopping = self.early_stopping
        stop = [bool(callback(record)) for callback in self.on_epoch]
        if any(stop):
            progress.history.stopped = "callback"
        if stopping is not None:
            if stopping(record):
                progress.history.stopped = "early stopping"
            if stopping.restore_best and stopping.bad_epochs == 0:
                stopping.best_values = self.model.state_dict()

    def _advance(self, loss: float) -> None:
        if isinstance(self.schedule, ReduceLROnPlateau):
            self.schedule.step(loss)
        elif isinstance(self.schedule, ClosedForm):
            self.schedule.step()

    def _end(self, progress: TrainingProgress, data: Data) -> None:
        """Save the last state, and say what an interruption left."""
        history, stopping = progress.history, self.early_stopping
        history.stopped = history.stopped or "finished"
        interrupted = history.stopped == "interrupted"
        if stopping is not None and stopping.best_values is not None and not interrupted:
            self.model.load_state_dict(stopping.best_values)
        if self.checkpoint is not None:
            self._save(progress, data)
        if interrupted:
            left = "The model has the values of that step; give checkpoint=path to keep them."
            if self.checkpoint is not None:
                left = f"Saved to {self.checkpoint}; fit(..., resume=True) continues."
            print(f"Interrupted after step {progress.step}. {left}", file=sys.stderr)

    # -- evaluation ------------------------------------------------------------------------------

    def evaluate(self, data: Data) -> dict[str, float]:
        """Return the means over samples of loss and metrics, in evaluation mode.

        Args:
            data: a DataLoader, or a sequence of batches.

        Raises:
            SettingError: no batches.
        """
        if len(data) == 0:
            raise SettingError(
                "Trainer.evaluate needs at least one batch, got none. Check the loader."
            )
        sums: dict[str, float] = {}
        samples = 0
        with no_grad(), _evaluating(self.model):
            for batch in data:
                inputs, targets = (batch, None) if self.loss is None else (batch[:-1], batch[-1])
                outputs = self.model(*inputs)
                loss = outputs if self.loss is None else self.loss(outputs, targets)
                size = len(batch[0]) if batch else 1
                samples += size
                for name, value in self._values(outputs, loss, targets).items():
                    sums[name] = sums.get(name, 0.0) + size * value
        return {name: total / samples for name, total in sums.items()}

    # -- checkpoints -----------------------------------------------------------------------------

    def _parts(self, data: Data) -> dict[str, Any]:
        return {
            "optimizer": self.optimizer,
            "schedule": self.schedule,
            "data": data if isinstance(data, DataLoader) else None,
            "early_stopping": self.early_stopping,
        }

    def _save(self, progress: TrainingProgress, data: Data) -> None:
        assert self.checkpoint is not None
        training = training_state(self.model, **self._parts(data))
        save({"training": training, "progress": progress.state_dict()}, self.checkpoint)

    def _restored(self, data: Data) -> TrainingProgress:
        assert self.checkpoint is not None
        if not self.checkpoint.exists():
            return TrainingProgress()
        state = load(self.checkpoint)
        if not isinstance(state, dict) or state.keys() != {"training", "progress"}:
            raise CheckpointError(
                f"{self.checkpoint} needs a checkpoint that a Trainer wrote, got another state. "
                "Load it with qml.load."
            )
        progress = TrainingProgress.of(state["progress"], len(data))
        self._check_best_values(state["training"])
        load_training_state(state["training"], self.model, **self._parts(data))
        return progress

    def _check_best_values(self, training: Any) -> None:
        """Refuse values to go back to at the end that do not fit the model."""
        if self.early_stopping is None:
            return
        part: Any = training
        for name in ("parts", "early_stopping"):
            part = part.get(name) if isinstance(part, Mapping) else None
        best = part.get("best_values") if isinstance(part, Mapping) else None
        if best is not None:
            self.model._checked_state(best)


@contextmanager
def _evaluating(model: Module) -> Iterator[None]:
    """Evaluation mode; afterwards every module is in the mode in which it was."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def _text(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in values.items())
