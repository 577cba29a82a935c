"""Steps that no tile of a device holds: a matrix or a permutation on many qubits, one kernel each.

Between them the pieces of the plan run tile by tile, see ``pieces``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff.backends.interface import Array, Backend
from autodiff.backends.raw_modules import RawModule
from circuits.engines.base import Engine
from circuits.engines.cuda_calls import REVERSE, contiguous, suffix_of
from circuits.engines.cuda_program import WAVES
from circuits.engines.cuda_table import THREADS
from circuits.engines.pieces import Pieces, WideSteps
from circuits.plan.steps import Plan, Step
from circuits.plan.wide import mixes_more, pieces

# Any in this file: arrays are a device's, with NumPy's methods.


STATES = 4
"""States that a wide step, or a piece beside it, has beside those of a plan without pieces: psi and
lambda, before and after."""


@dataclass(frozen=True, eq=False)
class Parted:
    """What is kept of a plan for one device and size of tiles.

    Attributes:
        parts: see ``Pieces``; none where tiles hold all steps.
        sent: what kernels read of a wide step, by name.
    """

    parts: tuple[Plan | Step, ...]
    sent: dict[tuple[Step, str], Array] = field(default_factory=dict)


def device_pieces(
    engine: Engine, backend: Backend, module: Callable[[], RawModule], plan: Plan, bits: int
) -> Pieces | None:
    """Return a plan in pieces around the steps that tiles of 2**bits amplitudes do not hold.

    None where it has no such steps.
    """
    name = f"{engine.name} on {backend.device}, pieces, {bits}"
    known = plan.memo.get(name)
    if not isinstance(known, Parted):
        found = pieces(plan, partial(mixes_more, matrix=bits, permutation=bits))
        parts = () if found == (plan,) else Pieces.build(engine, plan, found).parts
        known = plan.memo[name] = Parted(parts)
    if not known.parts:
        return None
    kernels = WideKernels(backend, module, known.sent)
    how = "by kernels of their own"
    return Pieces(engine, known.parts, WideSteps(kernels.apply, kernels.gradient, how, STATES))


@dataclass(frozen=True, eq=False)
class WideKernels:
    """Runs wide steps on a device; what kernels read of a step is sent once.

    Attributes:
        backend: the device.
        module: gives the kernels.
        sent: see ``Parted``.
    """

    backend: Backend
    module: Callable[[], RawModule]
    sent: dict[tuple[Step, str], Array] = field(default_factory=dict)

    def apply(
        self, step: Step, states: Array, matrices: Sequence[Array], *, adjoint: bool = False
    ) -> Array:
        """Return a step, or its adjoint, applied to ``(B or 1, 2**n)``; see ``apply_wide``."""
        dtype, batch, operands = states.dtype, states.shape[0], self._rows(states, states.dtype)
        if step.permutation is None:
            matrix = self._matrix(step, dtype, matrices)
            operands = [np.uint32(REVERSE * adjoint), *self._rows(matrix, dtype), *operands]
            places, batch = self._places(step), max(batch, matrix.shape[0])
        else:
            places = self._sources(step, adjoint=adjoint)
        out = self.backend.empty((batch, states.shape[1]), dtype)
        qubits = self._kept(step, "qubits", lambda: np.array(step.targets, np.int64))
        masks = (sum(1 << q for q in step.targets), step.control_mask, step.control_value)
        where = (qubits, np.uint32(len(step.targets)), *map(np.uint64, masks), places)
        kernel = "permute" if step.permutation is not None else "multiply"
        shape = map(np.uint64, (states.shape[1], batch))
        self._launch(kernel, (*where, *shape, *operands, out))
        return out

    def gradient(self, step: Step, before: Array, cotangent: Array) -> Array:
        """Return the gradients of a step's matrix, ``(B, d, d)``; see ``wide_gradient``."""
        (batch, size), width = cotangent.shape, 1 << len(step.targets)
        out = self.backend.empty((batch, width, width), cotangent.dtype)
        taken = (*step.targets, *step.controls)
        left = [q for q in range(size.bit_length() - 1) if q not in taken]
        others = self._kept(step, "others", lambda: placed(left) | step.control_value)
        states = [*self._rows(before, out.dtype), *self._rows(cotangent, out.dtype)]
        counts = map(np.uint64, (1 << len(left), size, batch))
        where = (self._places(step), np.uint64(width), others)
        self._launch("matrix_gradient", (*where, *counts, *states, out))
        return out

    def _places(self, step: Step) -> Array:
        return self._kept(step, "places", lambda: placed(step.targets))

    def _sources(self, step: Step, *, adjoint: bool) -> Array:
        """Return where what a local state takes lies."""

        def sources() -> NDArray[np.int64]:
            assert step.permutation is not None
            order = step.permutation if adjoint else np.argsort(step.permutation)
            return placed(step.targets)[order]

        return self._kept(step, f"sources, {adjoint}", sources)

    def _matrix(self, step: Step, dtype: np.dtype[Any], matrices: Sequence[Array]) -> Array:
        """Return a step's matrix, ``(B or 1, d, d)``."""
        if step.source is not None:
            return matrices[step.source]
        return self._kept(step, dtype.char, lambda: np.asarray(step.matrix, dtype)[None])

    def _kept(self, step: Step, name: str, make: Callable[[], NDArray[Any]]) -> Array:
        """Return what was made for a step, sent once."""
        if (step, name) not in self.sent:
            self.sent[step, name] = self.backend.send(make())
        return self.sent[step, name]

    def _rows(self, array: Array, dtype: np.dtype[Any]) -> list[Any]:
        """Return an operand as kernels take it, and how many rows it has."""
        array = contiguous(self.backend.xp, array, dtype)
        return [array, np.uint64(array.shape[0])]

    def _launch(self, kernel: str, arguments: Sequence[Any]) -> None:
        """Launch a kernel that makes the last argument, a thread for an element or for some."""
        out = arguments[-1]
        most = WAVES * self.backend.limits.multiprocessors
        grid = (min(most, -(-out.size // THREADS)), 1, 1)
        self.module().launch(kernel + suffix_of(out.dtype), grid, (THREADS, 1, 1), arguments, 0)


def placed(qubits: Sequence[int]) -> NDArray[np.int64]:
    """Return the indices of the basis states of some qubits, where all others are 0.

    >>> placed([2, 0]).tolist()
    [0, 4, 1, 5]
    """
    local = np.arange(1 << len(qubits))
    return sum([((local >> k) & 1) << q for k, q in enumerate(qubits)], 0 * local)
