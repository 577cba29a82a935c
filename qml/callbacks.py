"""What training tells about itself, and what may stop it.

A callback is a plain function of a record; if it returns True, training stops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

from numpy.typing import NDArray

from qml.errors import SettingError, StateDictError
from qml.optim.base import StepCounts
from qml.settings import choice, flag, number, real, whole
from qml.state_forms import check_mapping, is_same


@dataclass(frozen=True)
class StepRecord:
    """One step.

    Attributes:
        step: its number, from 1 on.
        epoch: the number of its epoch, from 1 on.
        lr: the learning rate that it used.
        values: ``loss`` and metrics of its batch, before the update.
        counts: what the optimizer did.
    """

    step: int
    epoch: int
    lr: float
    values: Mapping[str, float]
    counts: StepCounts


@dataclass(frozen=True)
class EpochRecord:
    """One epoch.

    Attributes:
        epoch: its number, from 1 on.
        step: how many steps there have been.
        lr: the learning rate of its last step.
        seconds: that it took, since the training was resumed.
        values: means over its samples of ``loss`` and metrics, before each update; those after the
            epoch on the validation data under ``validation_loss`` and so on.
    """

    epoch: int
    step: int
    lr: float
    seconds: float
    values: Mapping[str, float]


StepCallback = Callable[[StepRecord], object]
EpochCallback = Callable[[EpochRecord], object]


@dataclass
class History:
    """A training so far.

    Attributes:
        losses: the loss of each step, before its update.
        epochs: a record for each finished epoch.
        stopped: why it ended: ``"finished"``, ``"early stopping"``, ``"callback"`` or
            ``"interrupted"``; empty while it runs.
    """

    losses: list[float] = field(default_factory=list)
    epochs: list[EpochRecord] = field(default_factory=list)
    stopped: str = ""

    def values(self, name: str) -> list[float]:
        """Return one value a finished epoch, such as ``values("validation_loss")``.

        Raises:
            SettingError: there is no such value.
        """
        known = list(self.epochs[0].values) if self.epochs else []
        if name not in known:
            raise SettingError(
                f"a history's value needs one of {known}, got {name!r}. Choose one of them."
            )
        return [record.values[name] for record in self.epochs]


class EarlyStopping:
    """Stops training when a value has not become better for some epochs.

    Args:
        patience: epochs without improvement after which training stops, at least 1.
        monitor: a name among the epoch's values.
        mode: ``"min"`` or ``"max"``: what is better.
        min_delta: by how much it has to be better, at least 0.
        restore_best: at the end, give the model the values of its best epoch.

    Raises:
        SettingError: a setting outside its range.

    Example:
        >>> stopping = EarlyStopping(1, monitor="loss")
        >>> [stopping(EpochRecord(1, 1, 0.1, 0.0, {"loss": x})) for x in (0.5, 0.4, 0.6)]
        [False, False, True]
    """

    def __init__(
        self,
        patience: int,
        *,
        monitor: str = "validation_loss",
        mode: str = "min",
        min_delta: float = 0.0,
        restore_best: bool = False,
    ) -> None:
        self.patience = whole(1)("EarlyStopping: patience", patience)
        self.monitor = monitor
        self.mode = choice("min", "max")("EarlyStopping: mode", mode)
        self.min_delta = real(0.0)("EarlyStopping: min_delta", min_delta)
        self.restore_best = flag("EarlyStopping: restore_best", restore_best)
        self.best = inf
        self.bad_epochs = 0
        self.best_values: dict[str, NDArray[Any]] | None = None  # Any: every dtype

    def __call__(self, record: EpochRecord) -> bool:
        """Return whether to stop.

        Raises:
            SettingError: the monitored value is not among the record's.
        """
        if self.monitor not in record.values:
            raise SettingError(
                f"EarlyStopping: monitor needs one of {list(record.values)}, got {self.monitor!r}. "
                "Give fit(..., validation=data), or another name."
            )
        cost = record.values[self.monitor] * (1.0 if self.mode == "min" else -1.0)
        if cost < self.best - self.min_delta:
            self.best, self.bad_epochs = cost, 0
        else:
            self.bad_epochs += 1
        return self.bad_epochs >= self.patience

    def state_dict(self) -> dict[str, Any]:  # Any: plain values and arrays
        """Return settings and state."""
        return dict(vars(self))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where another one with the same settings stood.

        Raises:
            StateDictError: the state of another one.
        """
        what, changing = "EarlyStopping: the state", ("best", "bad_epochs", "best_values")
        check_mapping(what, state)
        wanted = {key: value for key, value in vars(self).items() if key not in changing}
        found = {key: value for key, value in state.items() if key not in changing}
        if not is_same(found, wanted) or not state.keys() >= set(changing):
            raise StateDictError(
                f"EarlyStopping needs the state of one with {wanted}, got {found!r:.200}. Give the "
                "settings that were saved."
            )
        number(f"{what}['best']", state["best"])
        whole(0)(f"{what}['bad_epochs']", state["bad_epochs"])
        if state["best_values"] is not None:
            check_mapping(f"{what}['best_values']", state["best_values"])
        for key in changing:
            setattr(self, key, state[key])
