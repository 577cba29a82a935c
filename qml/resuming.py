"""The whole state of a training, so that it goes on bit for bit where it was left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from qml.errors import StateDictError
from qml.fingerprints import model_fingerprint
from qml.module import Module
from qml.state_forms import check_form, check_mapping, checked_generator, is_same

# Any in this file: states are nested plain values and arrays.
State = dict[str, Any]


class Stateful(Protocol):
    """What has a state: optimizers, schedules, loaders, early stopping, and the user's own."""

    def state_dict(self) -> State:
        """Return the state as plain values and arrays."""

    def load_state_dict(self, state: Any) -> None:
        """Take a state over, or raise and change nothing."""


def training_state(model: Module, **parts: Stateful | None) -> State:
    """Return everything that the next step depends on, for ``save``.

    That is: all values of the model, which Parameters are frozen, the states of all random
    generators in the model, what the model is made of, and the states of what else is named.

    Args:
        model: the model.
        parts: what has a state of its own, by names of your choice: the optimizer, the schedule,
            the DataLoader (between epochs or in the midst of one). None is left out.

    Example:
        >>> import qml
        >>> model = qml.Linear(2, 1, seed=0)
        >>> sorted(qml.training_state(model, optimizer=qml.Adam(model.parameters())))
        ['fingerprint', 'generators', 'model', 'parts', 'requires_grad', 'trainable']
    """
    named = model.named_parameters()
    return {
        "fingerprint": model_fingerprint(model),
        "model": model.state_dict(),
        "trainable": {name: p.trainable for name, p in named},
        "requires_grad": {name: p.requires_grad for name, p in named},
        "generators": {
            name: generator.bit_generator.state for name, generator in named_generators(model)
        },
        "parts": {name: part.state_dict() for name, part in parts.items() if part is not None},
    }


def load_training_state(state: Mapping[str, Any], model: Module, **parts: Stateful | None) -> None:
    """Continue where ``training_state`` was taken. All or nothing is loaded.

    Args:
        state: what ``training_state`` gave, from objects like these.
        model: the model.
        parts: under the names under which they were saved.

    Raises:
        StateDictError: a state of another model, or not of just these parts. What a part raises.

    Example:
        >>> import qml
        >>> first, second = qml.Linear(2, 1, seed=0), qml.Linear(2, 1, seed=1)
        >>> qml.load_training_state(qml.training_state(first), second)
        >>> first.weight.tolist() == second.weight.tolist()
        True
    """
    before = training_state(model, **parts)
    _check_names("the state", state, before)
    _check_fingerprint(state["fingerprint"], before["fingerprint"])
    for name in ("trainable", "requires_grad", "generators", "parts"):
        _check_names(f"the state's {name!r}", state[name], before[name])
    for name in ("trainable", "requires_grad"):
        check_form(f"the state's {name!r}", state[name], before[name])
    for name, generator in named_generators(model):
        checked_generator(f"the state of generator {name}", state["generators"][name], generator)
    finished = False
    try:
        _install(state, model, parts)
        finished = True
    finally:
        if not finished:
            _install(before, model, parts)


def named_generators(model: Module) -> list[tuple[str, np.random.Generator]]:
    """Return all random generators in a model, such as those of Dropout, with dotted names."""
    return [
        (f"{name}.{key}" if name else key, value)
        for name, module in model.named_modules()
        for key, value in module._members()
        if isinstance(value, np.random.Generator)
    ]


def _check_names(what: str, given: Any, own: State) -> None:
    check_mapping(what, given)
    if given.keys() != own.keys():
        raise StateDictError(
            f"{what} needs {sorted(own)}, got {sorted(given)}. Name what was saved; for the values "
            "alone use model.load_state_dict(state['model'])."
        )


def _check_fingerprint(saved: Any, own: Mapping[str, str]) -> None:
    check_mapping("the state's 'fingerprint'", saved)
    differing = [k for k in {**own, **saved} if not is_same(saved.get(k), own.get(k))]
    if differing:
        raise StateDictError(
            f"resuming needs the model that was saved, got one that differs in "
            f"{', '.join(differing)}. Build the model as it was."
        )


def _install(state: Mapping[str, Any], model: Module, parts: Mapping[str, Stateful | None]) -> None:
    model.load_state_dict(state["model"])
    for name, parameter in model.named_parameters():
        if state["trainable"][name]:
            parameter.unfreeze()
        else:
            parameter.freeze()
        parameter.requires_grad_(state["requires_grad"][name])
    for name, generator in named_generators(model):
        generator.bit_generator.state = state["generators"][name]
    for name, part in parts.items():
        if part is not None:
            part.load_state_dict(state["parts"][name])
