"""Where a training stands, as checkpoints keep it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from qml.callbacks import EpochRecord, History
from qml.errors import StateDictError
from qml.settings import number, whole
from qml.state_forms import check_form, check_list, check_mapping

# Any in this file: what a checkpoint holds, until it is checked.

_WHAT = "the progress of a training"
_RECORD = {"epoch": 0, "step": 0, "lr": 0.0, "seconds": 0.0}


@dataclass
class TrainingProgress:
    """Where a training stands; everything here goes into checkpoints.

    Attributes:
        epoch: finished epochs.
        batch: finished batches of the present epoch.
        step: finished steps.
        samples: of the present epoch so far.
        sums: of its values, weighted by samples.
        history: what is returned.
    """

    epoch: int = 0
    batch: int = 0
    step: int = 0
    samples: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    history: History = field(default_factory=History)

    def state_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def of(cls, state: Any, num_batches: int) -> TrainingProgress:
        """Return what ``state_dict`` was taken from.

        Args:
            state: plain values.
            num_batches: of an epoch of the data that is trained with now.

        Raises:
            StateDictError: other data, or one that contradicts itself or has other batches.
            SettingError: a number out of range.
        """
        own = cls().state_dict()
        check_mapping(_WHAT, state)
        check_form(_WHAT, state, {**own, **{x: state.get(x) for x in ("sums", "history")}})
        counts = {x: whole(0)(f"{_WHAT}: {x}", state[x]) for x in own if own[x] == 0}
        sums = _numbers(f"{_WHAT}['sums']", state["sums"])
        history = _history(state["history"])
        expected = (counts["step"], counts["epoch"])
        if counts["batch"] >= num_batches or expected != (len(history.losses), len(history.epochs)):
            raise StateDictError(
                f"{_WHAT} needs data with more than {counts['batch']} batches, and a loss for each "
                f"of {counts['step']} steps and a record for each of {counts['epoch']} epochs, got "
                f"{num_batches} batches, {len(history.losses)} losses and {len(history.epochs)} "
                "records. Give the data that the training began with."
            )
        return cls(**counts, sums=sums, history=history)


def _numbers(what: str, given: Any) -> dict[str, float]:
    check_mapping(what, given)
    return {name: number(f"{what}[{name!r}]", value) for name, value in given.items()}


def _history(given: Any) -> History:
    what = f"{_WHAT}['history']"
    check_mapping(what, given)
    check_form(what, given, {x: given.get(x) for x in ("losses", "epochs")} | {"stopped": ""})
    for name in ("losses", "epochs"):
        check_list(f"{what}[{name!r}]", given[name])
    losses = [number(f"{what}['losses']", x) for x in given["losses"]]
    records = [_record(f"{what}['epochs'][{k}]", x) for k, x in enumerate(given["epochs"])]
    return History(losses, records, given["stopped"])


def _record(what: str, given: Any) -> EpochRecord:
    check_mapping(what, given)
    check_form(what, given, {**_RECORD, "values": given.get("values")})
    values = _numbers(f"{what}['values']", given["values"])
    epoch, step = [whole(0)(f"{what}[{x!r}]", given[x]) for x in ("epoch", "step")]
    rate, seconds = [number(f"{what}[{x!r}]", given[x]) for x in ("lr", "seconds")]
    return EpochRecord(epoch, step, rate, seconds, values)
