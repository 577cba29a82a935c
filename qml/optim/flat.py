"""Parameters of one dtype in flat buffers, so that a formula runs once, however many there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autodiff import Parameter
from autodiff.backends.constants import Constants
from autodiff.backends.interface import Array
from autodiff.device import backend_of
from autodiff.dtypes import real_dtype
from autodiff.flat_gradients import gradient_pieces
from autodiff.flat_parameters import FlatParameters, flat_groups
from autodiff.ops.join import flat_elements


@dataclass
class Work:
    """The elements that one formula updates, those of all its parameters one after the other.

    Attributes:
        xp: NumPy, or a module with its names.
        values: ``(N,)``, the parameters' values.
        grads: ``(N,)``, of the same dtype.
        state: ``(N,)`` arrays by name; a formula replaces them.
        steps: ``(P,)``, the number of this step for each parameter, from 1 on.
        sizes: ``(P,)``, how many of the N elements each parameter has.
        send: copies numbers of the host to where the values live, and counts that.
    """

    xp: Any  # Any: a module
    values: Array
    grads: Array
    state: dict[str, Array]
    steps: NDArray[np.int64]
    sizes: NDArray[np.int64]
    send: Callable[[NDArray[Any]], Array]

    def spread(self, numbers: NDArray[np.float64]) -> float | Array:
        """Return one number a parameter as a factor of the elements."""
        if (numbers == numbers[0]).all():
            return float(numbers[0])  # a Python number never widens float32
        elements = np.repeat(numbers, self.sizes)
        return self.send(elements.astype(real_dtype(self.values.dtype)))


#: Returns the new values, and leaves the new state in ``work.state``.
Formula = Callable[[Work], Array]


class Operands(NamedTuple):
    """What a step reads.

    Attributes:
        values: one array a parameter.
        grads: their gradients' elements, in few arrays.
        cuts: which of each array's, in flat order.
    """

    values: list[Array]
    grads: list[Array]
    cuts: list[slice]


class Choice(Constants):
    """Parameters that a step updates.

    Args:
        group: whose they are.
        chosen: ``(P,)``, which of them.

    Attributes:
        flat: the chosen ones.
        where: their elements of the group's state.
    """

    def __init__(self, group: Group, chosen: NDArray[np.bool_]) -> None:
        self.flat = FlatParameters(list(compress(group.parameters, chosen.tolist())))
        self.where: slice | NDArray[np.int64] = slice(None)
        if not chosen.all():
            self.where = np.flatnonzero(np.repeat(chosen, group.sizes))

    @property
    def arrays_read(self) -> Sequence[str]:
        """What a step and ``forget`` need."""
        return ("flat",) if isinstance(self.where, slice) else ("flat", "where")


class Group:
    """Parameters of one dtype and device, and what an optimizer remembers of them.

    Args:
        parameters: at least one, all of the same dtype and device.
        slots: names of the state's buffers, and whether each is real for complex parameters too.
    """

    def __init__(self, parameters: Sequence[Parameter], slots: Mapping[str, bool]) -> None:
        first = parameters[0]
        self.parameters = list(parameters)
        self.device = first.device
        self.backend = backend_of(first.device)
        self.sizes = np.array([p.numel() for p in parameters], np.int64)
        self.ends = np.cumsum(self.sizes)
        self._choices: dict[bytes, Choice] = {}
        self.steps = np.zeros(len(parameters), np.int64)
        dtypes = {
            name: real_dtype(first.dtype) if real else first.dtype for name, real in slots.items()
        }
        size = int(self.ends[-1])
        self.state = {
            name: self.backend.from_host(np.zeros(size, dtype)) for name, dtype in dtypes.items()
        }

    def part(self, position: int) -> slice:
        """Return where the elements of one parameter stand."""
        end = int(self.ends[position])
        return slice(end - int(self.sizes[position]), end)

    def operands(self, chosen: NDArray[np.bool_]) -> Operands:
        """Return what a step of parameters that have a gradient reads; changes nothing."""
        if not chosen.any():
            return Operands([], [], [])
        picked = self._choice(chosen).flat
        pieces = gradient_pieces(picked.parameters)
        return Operands(
            picked.read(),
            [piece.tensor._cell.read() for piece in pieces],
            [slice(piece.start, piece.stop) for piece in pieces],
        )

    def update(self, chosen: NDArray[np.bool_], operands: Operands, rule: Formula) -> None:
        """Run a formula as one launch where the values live, and install what it gives."""
        backend = self.backend
        arrays = [*self.state.values(), *operands.grads, *operands.values]
        run, kind = self._launched(chosen, operands.cuts, rule), backend.storage_classes[0]
        choice = self._choice(chosen)
        made = backend.launch(run, arrays, {"choice": choice}, "optimizer_step", kind)
        count = len(self.state)
        choice.flat.write(made[count:])
        for name, buffer in zip(self.state, made, strict=False):
            self.state[name] = backend.own(buffer)
        self.steps[chosen] += 1

    def _launched(
        self, chosen: NDArray[np.bool_], cuts: Sequence[slice], rule: Formula
    ) -> Callable[..., Any]:
        """Return what a launch runs: state, gradients and values to new state and new values."""
        names, steps, sizes = list(self.state), self.steps[chosen] + 1, self.sizes[chosen]
        count, end = len(names), len(names) + len(cuts)

        def run(xp: Any, *arrays: Array, choice: Choice) -> tuple[Array, ...]:
            where = choice.where
            state = dict(zip(names, arrays[:count], strict=True))
            pieces = zip(arrays[count:end], cuts, strict=True)
            grads = flat_elements(xp, [a.reshape(-1)[cut] for a, cut in pieces])
            values = choice.flat.join(xp, arrays[end:])
            chosen_state = {k: v[where] for k, v in state.items()}
            work = Work(xp, values, grads, chosen_state, steps, sizes, self.backend.send)
            updated = rule(work)
            replaced = [_replaced(xp, state[k], where, work.state[k]) for k in names]
            return (*replaced, *choice.flat.split(updated))

        return run

    def forget(self, chosen: NDArray[np.bool_]) -> None:
        """Reset the state of some parameters."""
        if self.steps[chosen].any():
            backend, attrs = self.backend, {"choice": self._choice(chosen)}
            for name, buffer in self.state.items():
                kind = backend.storage_class(buffer)
                self.state[name] = backend.own(
                    backend.launch(_cleared, [buffer], attrs, "forget_state", kind)
                )
            self.steps[chosen] = 0

    def saved(self, position: int) -> dict[str, NDArray[Any]]:
        """Return the state of one parameter on the host, in the parameter's shape."""
        shape, part = self.parameters[position].shape, self.part(position)
        return {
            name: np.array(self.backend.to_host(buffer)[part]).reshape(shape)
            for name, buffer in self.state.items()
        }

    def restore(self, saved: Sequence[Mapping[str, Any]]) -> None:
        """Set the state of all parameters, and how many steps each has made."""
        self.steps[:] = [entry["step"] for entry in saved]
        for name, buffer in self.state.items():
            parts = [np.asarray(entry[name]).reshape(-1) for entry in saved]
            flat = np.concatenate(parts).astype(buffer.dtype)
            self.state[name] = self.backend.from_host(flat)

    def _choice(self, chosen: NDArray[np.bool_]) -> Choice:
        """Return the chosen parameters; most steps choose those of the step before."""
        key = chosen.tobytes()
        if key not in self._choices:
            self._choices = {key: Choice(self, chosen)}
        return self._choices[key]


def _cleared(xp: Any, whole: Array, choice: Choice) -> Array:
    result = xp.array(whole)
    result[choice.where] = 0
    return result


def _replaced(xp: Any, whole: Array, where: slice | NDArray[np.int64], part: Array) -> Array:
    """Return a buffer with some elements replaced; its dtype stays."""
    if isinstance(where, slice):
        return part.astype(whole.dtype, copy=False)
    result = xp.array(whole)
    result[where] = part
    return result


def group_parameters(parameters: Sequence[Parameter], slots: Mapping[str, bool]) -> list[Group]:
    """Return groups by dtype and device, in order of first occurrence."""
    return [Group(flat.parameters, slots) for flat, _ in flat_groups(parameters)]
