"""What all schedules share: the optimizer, settings, and saved state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from qml.errors import SettingError, StateDictError
from qml.optim.base import Optimizer
from qml.settings import Check
from qml.state_forms import check_mapping, is_same

# Any in this file: settings and state are plain values; each schedule's checks say which.


class Schedule(ABC):
    """Sets ``optimizer.lr``.

    Args:
        optimizer: whose learning rate is set.
        settings: values by name, one for each entry of ``checks``.

    Raises:
        SettingError: no optimizer, or a setting outside its range.
    """

    checks: ClassVar[Mapping[str, Check]] = {}
    """What each setting must be."""

    state_checks: ClassVar[Mapping[str, Check]]
    """The attributes that a state consists of, and what each must be."""

    def __init__(self, optimizer: Optimizer, settings: Mapping[str, Any]) -> None:
        own = type(self).__name__
        if not isinstance(optimizer, Optimizer):
            raise SettingError(
                f"{own} needs an optimizer, got {type(optimizer).__name__}. Pass the optimizer "
                "whose learning rate it sets."
            )
        self.optimizer = optimizer
        self._settings = {
            name: check(f"{own}: {name}", settings[name]) for name, check in self.checks.items()
        }

    def state_dict(self) -> dict[str, Any]:
        """Return kind, settings and state as plain values."""
        return {
            "schedule": type(self).__name__,
            "settings": dict(self._settings),
            "state": {name: getattr(self, name) for name in self.state_checks},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where another schedule of the same kind and settings stood; sets the rate too.

        Raises:
            StateDictError: another kind, or other settings; nothing is changed.
            SettingError: a state out of range; nothing is changed.
        """
        own, name = self.state_dict(), type(self).__name__
        what = f"{name}: the state_dict"
        check_mapping(what, state)
        for key in ("schedule", "settings"):
            if not is_same(state.get(key), own[key]):
                raise StateDictError(
                    f"{name} needs a state_dict with {key} {own[key]!r}, got "
                    f"{state.get(key)!r:.200}. Make the schedule that was saved."
                )
        check_mapping(f"{what}['state']", state.get("state"))
        if state["state"].keys() != own["state"].keys():
            raise StateDictError(
                f"{name} needs a state of {sorted(own['state'])}, got "
                f"{sorted(state['state'])}. Save it with state_dict()."
            )
        self._take_over(
            {x: check(f"{name}: {x}", state["state"][x]) for x, check in self.state_checks.items()}
        )

    def _take_over(self, saved: Mapping[str, Any]) -> None:
        """Set attributes and rate, or change nothing."""
        before = {name: getattr(self, name) for name in self.state_checks}
        vars(self).update(saved)
        finished = False
        try:
            self._set()
            finished = True
        except OverflowError as error:
            raise StateDictError(
                f"{type(self).__name__} needs a state with a finite rate, got {saved!r:.200}. "
                "Save it with state_dict()."
            ) from error
        finally:
            if not finished:
                vars(self).update(before)

    @abstractmethod
    def _set(self) -> None:
        """Set the learning rate that belongs to the present state."""
