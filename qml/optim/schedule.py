"""What all schedules share: the optimizer, settings, and saved state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from qml.errors import SettingError, StateDictError
from qml.optim.base import Optimizer
from qml.settings import Check

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

    state_names: ClassVar[tuple[str, ...]]
    """The attributes that a state consists of."""

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
            "state": {name: getattr(self, name) for name in self.state_names},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where another schedule of the same kind and settings stood; sets the rate too.

        Raises:
            StateDictError: another kind, or other settings; nothing is changed.
        """
        own = self.state_dict()
        for key in ("schedule", "settings"):
            if state.get(key) != own[key]:
                raise StateDictError(
                    f"{type(self).__name__} needs a state_dict with {key} {own[key]!r}, got "
                    f"{state.get(key)!r}. Make the schedule that was saved."
                )
        saved = state.get("state", {})
        if saved.keys() != own["state"].keys():
            raise StateDictError(
                f"{type(self).__name__} needs a state of {sorted(own['state'])}, got "
                f"{sorted(saved)}. Save it with state_dict()."
            )
        for name, value in saved.items():
            setattr(self, name, value)
        self._set()

    @abstractmethod
    def _set(self) -> None:
        """Set the learning rate that belongs to the present state."""
