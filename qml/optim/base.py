"""What optimizers share: which Parameters a step updates, settings, and saved state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from autodiff import Parameter, ParameterError, Tensor, enable_grad
from autodiff.backends.interface import Array
from qml.errors import StateDictError
from qml.optim.flat import Group, Work, group_parameters
from qml.settings import Check, real

# Any in this file: settings are numbers, pairs and flags; each optimizer's checks say which.


@dataclass(frozen=True)
class StepCounts:
    """What one step did.

    Attributes:
        updated: Parameters that the step moved.
        skipped_frozen: Parameters that are frozen, with or without a gradient.
        skipped_no_grad: trainable Parameters without a gradient.
        loss: what the closure returned, if there was one.
    """

    updated: int
    skipped_frozen: int
    skipped_no_grad: int
    loss: Tensor | None = field(default=None, compare=False)


class Optimizer(ABC):
    """Updates Parameters from their gradients. Frozen ones stay exactly what they are.

    A frozen Parameter (``p.freeze()``) is not updated, not decayed, and forgets its momentum: when
    it is unfrozen, it starts like a new one.

    Args:
        params: Parameters, such as ``module.parameters()`` or ``circuit.parameters()``.
        settings: values by name, one for each entry of ``checks``.

    Raises:
        ParameterError: no Parameters, something else among them, or one of them twice.
        SettingError: a setting outside its range.
    """

    checks: ClassVar[Mapping[str, Check]] = {"lr": real(0.0)}
    """What each setting must be."""

    slots: ClassVar[Mapping[str, bool]] = {}
    """The state's buffers by name; True: real for complex Parameters too."""

    def __init__(self, params: Iterable[Parameter], settings: Mapping[str, Any]) -> None:
        self.parameters = _checked_parameters(type(self).__name__, params)
        self._settings = self._checked_settings(settings)
        self._groups = group_parameters(self.parameters, self.slots)

    @property
    def lr(self) -> float:
        """The learning rate; set it to change it."""
        return self._settings["lr"]

    @lr.setter
    def lr(self, value: float) -> None:
        self._settings = self._checked_settings({**self._settings, "lr": value})

    def step(self, closure: Callable[[], Tensor] | None = None) -> StepCounts:
        """Update every trainable Parameter that has a gradient.

        Args:
            closure: clears the gradients, computes the loss, calls backward and returns the loss;
                called once, before the update.

        Returns:
            How many Parameters were updated and skipped, and the closure's loss.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        updated = frozen = 0
        for group, still, chosen, work in [self._prepared(group) for group in self._groups]:
            group.forget(still)
            if work is not None:
                group.install(chosen, work, self._update(work))
            updated += int(chosen.sum())
            frozen += int(still.sum())
        return StepCounts(updated, frozen, len(self.parameters) - updated - frozen, loss)

    @staticmethod
    def _prepared(group: Group) -> tuple[Group, Any, Any, Work | None]:
        """Read what a step needs, so that a value that cannot be read stops it before it starts."""
        still = np.array([not p.trainable for p in group.parameters])
        chosen = np.array([p.trainable and p.grad is not None for p in group.parameters])
        return group, still, chosen, group.gather(chosen) if chosen.any() else None

    @abstractmethod
    def _update(self, work: Work) -> Array:
        """Return the new values, and leave the new state in ``work.state``."""

    def zero_grad(self) -> None:
        """Forget the gradients of all Parameters, frozen ones too."""
        for parameter in self.parameters:
            parameter.zero_grad()

    # -- saved state -----------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return kind, settings and state: plain values and NumPy arrays that stay as they are."""
        states = self._states()
        return {
            "optimizer": type(self).__name__,
            "settings": dict(self._settings),
            "state": [states[id(p._meta)] for p in self.parameters],
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
        kind = state.get("optimizer")
        if kind != own or not {"settings", "state"} <= state.keys():
            raise StateDictError(
                f"{own} needs the state_dict of a {own}, got that of {kind!r} with keys "
                f"{sorted(state)}. Make the optimizer that was saved."
            )
        settings = self._checked_settings(state["settings"])
        saved = self._checked_states(state["state"])
        self._settings = settings
        for group in self._groups:
            for k, parameter in enumerate(group.parameters):
                entry = saved[id(parameter._meta)]
                group.steps[k] = entry["step"]
                for name, buffer in group.state.items():
                    flat = np.asarray(entry[name]).reshape(-1).astype(buffer.dtype)
                    buffer[group.part(k)] = group.backend.from_host(flat)

    def _states(self) -> dict[int, dict[str, Any]]:
        """The state of each Parameter, by the identity of its metadata."""
        return {
            id(p._meta): {"step": int(group.steps[k])}
            | {
                name: group.backend.to_host(buffer[group.part(k)].copy()).reshape(p.shape)
                for name, buffer in group.state.items()
            }
            for group in self._groups
            for k, p in enumerate(group.parameters)
        }

    def _checked_states(self, saved: Any) -> dict[int, Mapping[str, Any]]:
        own = self.state_dict()["state"]
        if len(saved) != len(own):
            raise StateDictError(
                f"{type(self).__name__} needs the state of {len(own)} Parameters, got that of "
                f"{len(saved)}. Load it into an optimizer of the same Parameters."
            )
        for k, (entry, present) in enumerate(zip(saved, own, strict=True)):
            shapes = {name: np.shape(value) for name, value in entry.items()}
            wanted = {name: np.shape(value) for name, value in present.items()}
            if shapes != wanted:
                raise StateDictError(
                    f"the state of Parameter {k} needs the shapes {wanted}, got {shapes}. "
                    "Load it into an optimizer of the same Parameters."
                )
        return {id(p._meta): entry for p, entry in zip(self.parameters, saved, strict=True)}

    def _checked_settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        own = type(self).__name__
        if settings.keys() != self.checks.keys():
            raise StateDictError(
                f"{own} needs the settings {sorted(self.checks)}, got {sorted(settings)}."
            )
        return {
            name: check(f"{own}: {name}", settings[name]) for name, check in self.checks.items()
        }

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self._settings.items())
        return f"{type(self).__name__}({len(self.parameters)} Parameters, {settings})"


def _checked_parameters(owner: str, params: Any) -> list[Parameter]:
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
            "Does the circuit or module have Parameters yet?"
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
