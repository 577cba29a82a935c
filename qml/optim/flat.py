"""Parameters of one dtype in flat buffers, so that a formula runs once, however many there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff import Parameter
from autodiff.backends.interface import Array
from autodiff.device import backend_of
from autodiff.dtypes import real_dtype


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
    """

    xp: Any  # Any: a module
    values: Array
    grads: Array
    state: dict[str, Array]
    steps: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def spread(self, numbers: NDArray[np.float64]) -> float | Array:
        """Return one number a parameter as a factor of the elements."""
        if (numbers == numbers[0]).all():
            return float(numbers[0])  # a Python number never widens float32
        elements = np.repeat(numbers, self.sizes)
        return self.xp.asarray(elements, dtype=real_dtype(self.values.dtype))


class Group:
    """Parameters of one dtype and device, and what an optimizer remembers of them.

    Args:
        parameters: at least one, all of the same dtype and device.
        slots: names of the state's buffers, and whether each is real for complex parameters too.
    """

    def __init__(self, parameters: Sequence[Parameter], slots: Mapping[str, bool]) -> None:
        first = parameters[0]
        self.parameters = list(parameters)
        self.backend = backend_of(first.device)
        self.sizes = np.array([p.numel() for p in parameters], np.int64)
        self.ends = np.cumsum(self.sizes)
        self.steps = np.zeros(len(parameters), np.int64)
        dtypes = {
            name: real_dtype(first.dtype) if real else first.dtype for name, real in slots.items()
        }
        self.state = {
            name: self.backend.xp.zeros(int(self.ends[-1]), dtype) for name, dtype in dtypes.items()
        }

    def part(self, position: int) -> slice:
        """Return where the elements of one parameter stand."""
        end = int(self.ends[position])
        return slice(end - int(self.sizes[position]), end)

    def gather(self, chosen: NDArray[np.bool_]) -> Work:
        """Return the values, gradients and state of some parameters; changes nothing."""
        picked = [p for p, wanted in zip(self.parameters, chosen, strict=True) if wanted]
        xp = self.backend.xp
        values = xp.concatenate([p._cell.read().reshape(-1) for p in picked])
        grads = xp.concatenate(
            [g._cell.read().reshape(-1) for p in picked if (g := p.grad) is not None]
        )
        where = self._elements(chosen)
        state = {name: buffer[where] for name, buffer in self.state.items()}
        return Work(xp, values, grads, state, self.steps[chosen] + 1, self.sizes[chosen])

    def install(self, chosen: NDArray[np.bool_], work: Work, values: Array) -> None:
        """Set the values that a formula gave, and keep its state."""
        where = self._elements(chosen)
        for name, buffer in work.state.items():
            self.state[name][where] = buffer
        self.steps[chosen] = work.steps
        picked = [p for p, wanted in zip(self.parameters, chosen, strict=True) if wanted]
        start = 0
        for parameter, size in zip(picked, work.sizes.tolist(), strict=True):
            _write(parameter, values[start : start + size])
            start += size

    def forget(self, chosen: NDArray[np.bool_]) -> None:
        """Reset the state of some parameters."""
        if self.steps[chosen].any():
            where = self._elements(chosen)
            for buffer in self.state.values():
                buffer[where] = 0
            self.steps[chosen] = 0

    def _elements(self, chosen: NDArray[np.bool_]) -> slice | NDArray[np.bool_]:
        return slice(None) if chosen.all() else np.repeat(chosen, self.sizes)


def _write(parameter: Parameter, value: Array) -> None:
    """Install a flat value; a parameter may be a view of a larger storage."""
    cell = parameter._cell
    storage = cell.require_storage()
    base = storage.read_for_update(cell.device)
    cell.view_on(base)[...] = value.reshape(cell.shape)
    storage.write(base, cell.device)


def group_parameters(parameters: Sequence[Parameter], slots: Mapping[str, bool]) -> list[Group]:
    """Return groups by dtype and device, in order of first occurrence."""
    found: dict[tuple[object, str], list[Parameter]] = {}
    for parameter in parameters:
        found.setdefault((parameter.dtype, parameter.device), []).append(parameter)
    return [Group(members, slots) for members in found.values()]
