"""Optimizers whose formula treats every element of every Parameter alike."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any, ClassVar

import numpy as np

from autodiff import Parameter
from autodiff.backends.interface import Array
from qml.errors import StateDictError
from qml.optim.base import Closure, Optimizer, StepCounts, loss_of
from qml.optim.flat import Group, Operands, Work, group_parameters
from qml.settings import whole
from qml.state_forms import check_form

# Any in this file: settings and state, as in ``base``.


class ElementwiseOptimizer(Optimizer):
    """A formula for one element, applied to all of them at once; a subclass is that formula.

    Args:
        params: Parameters; see ``Optimizer``.
        settings: values by name, one for each entry of ``checks``.

    Raises:
        ParameterError: no Parameters, something else among them, or one of them twice.
        SettingError: a setting outside its range.
    """

    slots: ClassVar[Mapping[str, bool]] = {}
    """The state's buffers by name; True: real for complex Parameters too."""

    def __init__(self, params: Iterable[Parameter], settings: Mapping[str, Any]) -> None:
        super().__init__(params, settings)
        self._groups = group_parameters(self.parameters, self.slots)

    def step(self, closure: Closure | None = None) -> StepCounts:
        """Update every trainable Parameter that has a gradient.

        Args:
            closure: clears the gradients, computes the loss, calls backward and returns the loss;
                called once, before the update.

        Returns:
            How many Parameters were updated and skipped, and the closure's loss.
        """
        loss = loss_of(closure)
        self._follow_parameters()
        updated = frozen = 0
        prepared = [self._prepared(group) for group in self._groups]
        with ExitStack() as launches:
            for backend in {g.backend for g, _, chosen, _ in prepared if chosen.any()}:
                launches.enter_context(backend.graph())  # one for all dtypes
            for group, still, chosen, operands in prepared:
                group.forget(still)
                if chosen.any():
                    group.update(chosen, operands, self._update)
                updated += int(chosen.sum())
                frozen += int(still.sum())
        return StepCounts(updated, frozen, len(self.parameters) - updated - frozen, loss)

    def _follow_parameters(self) -> None:
        """Bring the state to where the Parameters live, after ``module.to(device)``."""
        if any(p._cell.device != g.device for g in self._groups for p in g.parameters):
            state = self._state()
            self._groups = group_parameters(self.parameters, self.slots)
            self._restore(state)

    @staticmethod
    def _prepared(group: Group) -> tuple[Group, Any, Any, Operands]:
        """Read what a step needs, so that a value that cannot be read stops it before it starts."""
        metas = [p._meta for p in group.parameters]
        still = np.array([not meta.trainable for meta in metas])
        chosen = ~still & np.array([meta.raw_grad is not None for meta in metas])
        return group, still, chosen, group.operands(chosen)

    @abstractmethod
    def _update(self, work: Work) -> Array:
        """Return the new values, and leave the new state in ``work.state``."""

    # -- saved state -----------------------------------------------------------------------------

    def _state(self) -> list[dict[str, Any]]:
        """One dictionary a Parameter: the number of its steps, and its part of each buffer."""
        states = {
            id(p._meta): {"step": int(group.steps[k])} | group.saved(k)
            for group in self._groups
            for k, p in enumerate(group.parameters)
        }
        return [states[id(p._meta)] for p in self.parameters]

    def _set_state(self, saved: Any) -> None:
        self._check_state(saved)
        self._restore(saved)

    def _restore(self, saved: Any) -> None:
        entries = {id(p._meta): entry for p, entry in zip(self.parameters, saved, strict=True)}
        for group in self._groups:
            group.restore([entries[id(p._meta)] for p in group.parameters])

    def _check_state(self, saved: Any) -> None:
        own = self._state()
        if not isinstance(saved, list | tuple) or len(saved) != len(own):
            raise StateDictError(
                f"{type(self).__name__} needs the state of {len(own)} Parameters, got "
                f"{saved!r:.80}. Load it into an optimizer of the same Parameters."
            )
        for k, (entry, present) in enumerate(zip(saved, own, strict=True)):
            what = f"the state of Parameter {k}"
            check_form(what, entry, present)
            whole(0)(f"{what}['step']", entry["step"])
