"""What all optimizers share: Parameters, settings, the learning rate, and saved state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from autodiff import Parameter, ParameterError, Tensor, enable_grad
from qml.errors import SettingError, StateDictError
from qml.settings import Check, real

# Any in this file: settings are numbers, pairs and flags; each optimizer's checks say which. State
# is made of plain values, NumPy arrays, lists and dictionaries; each optimizer says which.

Closure = Callable[[], Tensor]
"""Computes the loss and returns it; it may be called more than once a step."""


@dataclass(frozen=True)
class StepCounts:
    """What one step did.

    Attributes:
        updated: Parameters that the step moved.
        skipped_frozen: Parameters that are frozen, with or without a gradient.
        skipped_no_grad: trainable Parameters without a gradient.
        loss: before the update, where the step computed one. Each optimizer says what it is.
    """

    updated: int
    skipped_frozen: int
    skipped_no_grad: int
    loss: Tensor | None = field(default=None, compare=False)


class Optimizer(ABC):
    """Moves Parameters downhill. Frozen ones stay exactly what they are.

    A frozen Parameter (``p.freeze()``) is not updated, not decayed, and forgets its momentum: when
    it is unfrozen, it starts like a new one.

    Args:
        params: Parameters, such as ``module.parameters()`` or ``circuit.parameters()``.
        settings: values by name, one for each entry of ``checks``.

    Attributes:
        parameters: the Parameters, as a list.
        initial_lr: the learning rate that was given last, which schedules start from.

    Raises:
        ParameterError: no Parameters, something else among them, or one of them twice.
        SettingError: a setting outside its range.
    """

    checks: ClassVar[Mapping[str, Check]] = {"lr": real(0.0)}
    """What each setting must be."""

    def __init__(self, params: Iterable[Parameter], settings: Mapping[str, Any]) -> None:
        self.parameters = checked_parameters(type(self).__name__, params)
        self._settings = self._checked_settings(settings)
        self.initial_lr: float = self._settings["lr"]

    @property
    def lr(self) -> float:
        """The learning rate; set it to change it."""
        return self._settings["lr"]

    @lr.setter
    def lr(self, value: float) -> None:
        self.set_scheduled_lr(value)
        self.initial_lr = self.lr

    def set_scheduled_lr(self, value: float) -> None:
        """Set ``lr``, but not ``initial_lr``: for schedules."""
        self._settings = self._checked_settings({**self._settings, "lr": value})

    @abstractmethod
    def step(self, closure: Closure | None = None) -> StepCounts:
        """Update the trainable Parameters.

        Args:
            closure: computes the loss; each optimizer says whether and how it is used.

        Returns:
            How many Parameters were updated and skipped, and the loss.
        """

    def zero_grad(self) -> None:
        """Forget the gradients of all Parameters, frozen ones too."""
        for parameter in self.parameters:
            parameter.zero_grad()

    # -- saved state -----------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return kind, settings and state: plain values and NumPy arrays that stay as they are."""
        return {
            "optimizer": type(self).__name__,
            "settings": dict(self._settings),
            "initial_lr": self.initial_lr,
            "state": self._state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where another optimizer of the same kind stood. All or nothing is loaded.

        Args:
            state: what ``state_dict`` gave, for Parameters of the same shapes in the same order.

        Raises:
            StateDictError: another kind of optimizer, or other Parameters.
            SettingError: settings out of range.
        """
        own = type(self).__name__
        if not isinstance(state, Mapping):
            raise StateDictError(
                f"{own} needs a state_dict, a mapping, got {type(state).__name__} {state!r:.60}. "
                "Give what state_dict() returned."
            )
        kind = state.get("optimizer")
        known = isinstance(kind, str) and kind == own
        if not known or not {"settings", "state"} <= state.keys():
            raise StateDictError(
                f"{own} needs the state_dict of a {own}, got that of {kind!r:.40} with keys "
                f"{list(state)}. Make the optimizer that was saved."
            )
        settings = self._checked_settings(state["settings"])
        given = state.get("initial_lr", settings["lr"])  # older states lack it
        initial_lr = self.checks["lr"](f"{own}: initial_lr", given)
        self._set_state(state["state"])
        self._settings, self.initial_lr = settings, initial_lr

    def _state(self) -> Any:
        """Return a copy of what the next step depends on, beside settings and values: nothing."""
        return {}

    def _set_state(self, saved: Any) -> None:
        """Take over what ``_state`` gave, or raise StateDictError and change nothing."""
        if not isinstance(saved, dict) or saved:
            raise StateDictError(
                f"{type(self).__name__} needs an empty state, got {saved!r:.80}. It has none."
            )

    def _checked_settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        own = type(self).__name__
        if not isinstance(settings, Mapping) or settings.keys() != self.checks.keys():
            found = list(settings) if isinstance(settings, Mapping) else settings
            raise StateDictError(
                f"{own} needs the settings {sorted(self.checks)}, got {found!r:.200}. "
                "Give what state_dict() returned."
            )
        return {
            name: check(f"{own}: {name}", settings[name]) for name, check in self.checks.items()
        }

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self._settings.items())
        return f"{type(self).__name__}({len(self.parameters)} Parameters, {settings})"


def checked_parameters(owner: str, params: Any) -> list[Parameter]:
    """Return the Parameters as a list, or refuse."""
    whole = isinstance(params, Tensor | Mapping) or hasattr(params, "parameters")
    if whole or not isinstance(params, Iterable):
        raise ParameterError(
            f"{owner} needs a list of Parameters, got {type(params).__name__}. "
            "Write [p], or pass module.parameters() or circuit.parameters()."
        )
    parameters = list(params)
    if not parameters:
        raise ParameterError(
            f"{owner} needs at least one Parameter, got none. "
            "Make the circuit or module before its optimizer."
        )
    seen: dict[int, int] = {}
    for position, parameter in enumerate(parameters):
        if not isinstance(parameter, Parameter):
            raise ParameterError(
                f"{owner} needs Parameters, got {type(parameter).__name__} at position {position}. "
                "Wrap it: Parameter(x)."
            )
        first = seen.setdefault(id(parameter._meta), position)
        if first != position:
            raise ParameterError(
                f"{owner} needs each Parameter once, got {parameter._label()} at positions {first} "
                f"and {position}. Leave one out."
            )
    return parameters


def loss_of(closure: Closure | None) -> Tensor | None:
    """Call a closure, if there is one, with recording on."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


def required_closure(owner: str, closure: Closure | None) -> Closure:
    """Return the closure, or refuse that there is none."""
    if closure is None:
        raise SettingError(
            f"{owner} needs a closure that computes the loss, got none. Write step(closure)."
        )
    return closure


def refuse_closure(owner: str, closure: Closure | None) -> None:
    """Refuse a closure where a step would not call it."""
    if closure is not None:
        raise SettingError(
            f"{owner} needs no closure, since it evaluates its own circuit, got {closure!r:.60}. "
            "Write step()."
        )
