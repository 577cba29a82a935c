"""Parameters of one dtype in flat buffers, so that a formula runs once, however many there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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


#: Returns the new values, and leaves the new state in ``work.state``.
Formula = Callable[[Work], Array]


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
        size = int(self.ends[-1])
        self.state = {
            name: self.backend.from_host(np.zeros(size, dtype)) for name, dtype in dtypes.items()
        }

    def part(self, position: int) -> slice:
        """Return where the elements of one parameter stand."""
        end = int(self.ends[position])
        return slice(end - int(self.sizes[position]), end)

    def operands(self, chosen: NDArray[np.bool_]) -> list[Array]:
        """Return the values, then the gradients, of parameters that have one; changes nothing."""
        picked = self._picked(chosen)
        grads = [g for p in picked if (g := p.grad) is not None]  # all, before the first is read
        return [x._cell.read() for x in (*picked, *grads)]

    def update(self, chosen: NDArray[np.bool_], operands: Sequence[Array], rule: Formula) -> None:
        """Run a formula as one launch where the values live, and install what it gives."""
        picked, backend = self._picked(chosen), self.backend
        operands = [*operands, *self.state.values()]
        run, kind = self._launched(chosen, rule), backend.storage_classes[0]
        made = backend.launch(run, operands, {}, "optimizer_step", kind)
        for parameter, value in zip(picked, made, strict=False):
            _write(parameter, value)
        for name, buffer in zip(self.state, made[len(picked) :], strict=True):
            self.state[name] = backend.own(buffer)
        self.steps[chosen] += 1

    def _launched(self, chosen: NDArray[np.bool_], rule: Formula) -> Callable[..., Any]:
        """Return what a launch runs: values, gradients and state to new values and new state."""
        picked, where = self._picked(chosen), self._elements(chosen)
        sizes, steps = self.sizes[chosen], self.steps[chosen] + 1
        count, names = len(picked), list(self.state)

        def run(xp: Any, *arrays: Array) -> tuple[Array, ...]:
            flat = [a.reshape(-1) for a in arrays[: 2 * count]]
            values, grads = xp.concatenate(flat[:count]), xp.concatenate(flat[count:])
            state = dict(zip(names, arrays[2 * count :], strict=True))
            chosen_state = {k: v[where] for k, v in state.items()}
            work = Work(xp, values, grads, chosen_state, steps, sizes)
            updated = rule(work)
            cuts = np.cumsum([0, *sizes]).tolist()
            ends = zip(picked, cuts, cuts[1:], strict=False)
            return (
                *[updated[start:end].reshape(p.shape) for p, start, end in ends],
                *[_replaced(xp, state[k], where, work.state[k]) for k in names],
            )

        return run

    def forget(self, chosen: NDArray[np.bool_]) -> None:
        """Reset the state of some parameters."""
        if self.steps[chosen].any():
            where = self._elements(chosen)
            for name, buffer in self.state.items():
                copy = self.backend.writable_copy(buffer)
                copy[where] = 0
                self.state[name] = self.backend.own(copy)
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

    def _picked(self, chosen: NDArray[np.bool_]) -> list[Parameter]:
        return [p for p, wanted in zip(self.parameters, chosen, strict=True) if wanted]

    def _elements(self, chosen: NDArray[np.bool_]) -> slice | NDArray[np.bool_]:
        return slice(None) if chosen.all() else np.repeat(chosen, self.sizes)


def _replaced(xp: Any, whole: Array, where: slice | NDArray[np.bool_], part: Array) -> Array:
    """Return a buffer with some elements replaced; its dtype stays."""
    if isinstance(where, slice):
        return part.astype(whole.dtype, copy=False)
    result = xp.array(whole)
    result[where] = part
    return result


def _write(parameter: Parameter, value: Array) -> None:
    """Install a value; a parameter may be a view of a larger storage."""
    cell = parameter._cell
    storage = cell.require_storage()
    if cell.strides is None:
        storage.write(value, cell.device)
        return
    base = storage.read_for_update(cell.device)
    cell.view_on(base)[...] = value
    storage.write(base, cell.device)


def group_parameters(parameters: Sequence[Parameter], slots: Mapping[str, bool]) -> list[Group]:
    """Return groups by dtype and device, in order of first occurrence."""
    found: dict[tuple[object, str], list[Parameter]] = {}
    for parameter in parameters:
        found.setdefault((parameter.dtype, parameter.device), []).append(parameter)
    return [Group(members, slots) for members in found.values()]
