"""The CPU engine: one compiled call for all gates of all samples, in either direction."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff.dtypes import real_dtype
from circuits.engines import numba_kernels_drivers as drivers
from circuits.engines import numba_kernels_stages as stages
from circuits.engines.base import (
    Engine,
    Gradients,
    Wanted,
    own_states,
    swept_samples,
)
from circuits.engines.numba_buffers import SMALLEST, ResultBuffers, aligned
from circuits.engines.numba_outline import outline
from circuits.engines.numba_program import Call, Program, sparse_product
from circuits.engines.numba_threads import block_team, run_team, stage_team, workspace_shape
from circuits.engines.pieces import Pieces
from circuits.plan.forecast import Outline
from circuits.plan.memory import require_memory
from circuits.plan.steps import ComplexArray, Plan, RealArray
from circuits.plan.terms import Terms
from circuits.plan.wide import pieces
from circuits.plan.words import words_of

_REALS = (np.dtype(np.float32), np.dtype(np.float64))
_NOTHING = {real: np.zeros((0, 0), real) for real in _REALS}
"""Results that nobody wants; all calls may write to them, as they have no elements."""

_FORWARD = drivers.forward, stages.forward_stages
_REVERSE = drivers.reverse, stages.reverse_stages
"""A driver of whole programs, and one of staged ones."""

_NO_FUNCTIONS: list[ComplexArray] = []

_NONE = {real: np.zeros((0, 0), real) for real in _REALS}
"""Operands that are not given."""
for _array in _NONE.values():
    _array.flags.writeable = False


class NumbaEngine(Engine):
    """Runs plans on the CPU by kernels that Numba compiles once a precision; the default engine.

    Calls from several threads run side by side: each has a workspace of its own.

    Reference:
        T. Jones and J. Gacon (2020), arXiv:2009.02823.
    """

    name = "numba"

    def __init__(self) -> None:
        self._local = threading.local()
        self._results = ResultBuffers()

    def forward(
        self,
        plan: Plan,
        state: ComplexArray,
        angles: RealArray,
        matrices: Sequence[ComplexArray] = (),
        terms: Terms | None = None,
        coefficients: RealArray | None = None,
        *,
        call: Call | None = None,
    ) -> tuple[ComplexArray, RealArray | None]:
        """Apply the plan to every sample, then measure; ``call``: what was prepared for it."""
        program = self._program(plan)
        if isinstance(program, Pieces):
            return program.forward(state, angles, matrices, terms, coefficients)
        if call is None:
            batch = _samples(state, angles, matrices, coefficients)
            call = program.call(batch, real_dtype(state.dtype), terms, None)
        batch, real, size = call.batch, call.real, state.shape[1]
        columns = call.columns
        if columns is None:
            columns, _ = program.make_columns(angles, matrices, real)
        final = self._new_states(batch, size, state.dtype)
        values = _NOTHING[real] if terms is None else np.zeros((batch, terms.num_rows), real)
        operands = (
            *call.tables,
            _input(angles, real),
            columns,
            _states(state, real),
            _NONE[real] if coefficients is None else _input(coefficients, real),
            final.view(real),
            values,
        )
        self._run(_FORWARD, call, operands)
        if terms is None or coefficients is None:
            return final, None
        for position, term in call.shape.sparse:
            products = np.vecdot(final, sparse_product(term, final)).real
            values[:, terms.rows[position]] += coefficients[:, position] * products
        return final, values

    def prepared_forward(
        self, plan: Plan, batch: int, dtype: np.dtype[Any], terms: Terms | None
    ) -> Callable[..., tuple[ComplexArray, RealArray | None]]:
        """Return ``forward`` for calls of one kind."""
        program = self._program(plan)
        if isinstance(program, Pieces):
            return self.forward
        return partial(self.forward, call=program.call(batch, real_dtype(dtype), terms, None))

    def reverse(
        self,
        plan: Plan,
        final: ComplexArray,
        angles: RealArray,
        matrices: Sequence[ComplexArray],
        wanted: Wanted,
        *,
        cotangent: ComplexArray | None = None,
        terms: Terms | None = None,
        coefficients: RealArray | None = None,
        weights: RealArray | None = None,
        call: Call | None = None,
    ) -> Gradients:
        """Undo the plan as far as a gradient is wanted; ``call`` as in ``forward``."""
        program = self._program(plan)
        if isinstance(program, Pieces):
            start = cotangent, terms, coefficients, weights
            return program.reverse(final, angles, matrices, wanted, *start)
        batch = swept_samples(cotangent, weights)
        if call is None:
            call = program.call(batch, real_dtype(final.dtype), terms, wanted)
        real, columns, made = call.real, call.columns, _NO_FUNCTIONS
        if columns is None:
            columns, made = program.make_columns(angles, matrices, real)
        by_term = by_state = _NOTHING[real]
        if wanted.coefficients:
            by_term = np.zeros((batch, 0 if terms is None else len(terms.terms)), real)
        if wanted.state:
            by_state = self._new_states(batch, final.shape[1], final.dtype)
        if call.shape.sparse:
            cotangent = _sparse_cotangent(terms, final, coefficients, weights)
        results = np.empty((batch, program.num_results), real)
        operands = (
            *call.tables,
            _input(angles, real),
            columns,
            _states(final, real),
            _NONE[real] if cotangent is None else _states(cotangent, real),
            *[_NONE[real] if x is None else _input(x, real) for x in (coefficients, weights)],
            results,
            by_term,
            by_state.view(real),
        )
        self._run(_REVERSE, call, operands)
        if wanted.coefficients:
            _finish_terms(terms, final, weights, by_term)
        return Gradients(
            by_state if wanted.state else None,
            program.angle_gradients(results, angles, made, wanted) if wanted.angles else None,
            program.matrix_gradients(results, matrices, final.dtype) if wanted.matrices else None,
            by_term if wanted.coefficients else None,
        )

    def prepared_reverse(
        self,
        plan: Plan,
        batch: int,
        dtype: np.dtype[Any],
        terms: Terms | None,
        wanted: Wanted,
    ) -> Callable[..., Gradients]:
        """Return ``reverse`` for calls of one kind."""
        program = self._program(plan)
        if isinstance(program, Pieces):
            return self.reverse
        return partial(self.reverse, call=program.call(batch, real_dtype(dtype), terms, wanted))

    def outline(
        self,
        plan: Plan,
        batch: int,
        dtype: np.dtype[np.complexfloating[Any]],
        terms: Terms | None = None,
    ) -> Outline:
        """Say how the plan would run."""
        program = self._program(plan)
        if isinstance(program, Pieces):
            return program.outline(batch, dtype, terms)
        return outline(program, batch, dtype, terms)

    def _run(self, pair: tuple[Any, Any], call: Call, operands: tuple[Any, ...]) -> None:
        """Run a program whole, or in stages."""
        whole, staged = pair
        if call.passes:
            self._run_stages(staged, call, operands)
        else:
            self._run_blocks(whole, call, operands)

    def _run_blocks(self, driver: Any, call: Call, operands: tuple[Any, ...]) -> None:
        """Run a driver of whole programs: threads share the blocks."""
        team = block_team(call.blocks, call.work)
        room = self._workspace(team, call.size, call.real)
        run_team(driver, (*operands, room, np.zeros(drivers.COUNTERS, np.int64)), team)

    def _run_stages(self, driver: Any, call: Call, operands: tuple[Any, ...]) -> None:
        """Run a driver of staged programs: threads share the tiles."""
        shape, real = call.shape, call.real
        lanes = shape.layout.lanes
        team = stage_team(call.blocks)
        room = self._workspace(team + 1, call.size, real)
        parts = [np.empty((call.blocks, (shape.atoms + 1) * lanes), real)]
        if driver is stages.reverse_stages:
            size = 2 << len(shape.layout.schedule.places)
            operands = (*operands, self._states_between(size, real))
            width = shape.layout.schedule.sizes[1] * lanes
            parts.append(np.empty((call.blocks, width), real))
        control = np.zeros(stages.COUNTERS + 2 * call.batch * (call.passes + 2), np.int64)
        run_team(driver, (*operands, room[team], *parts, room, control), team)

    def _new_states(self, batch: int, size: int, dtype: np.dtype[Any]) -> ComplexArray:
        """Return room for states ``(batch, size)``."""
        count = batch * size * dtype.itemsize
        if count < SMALLEST:
            return np.empty((batch, size), dtype)
        require_memory(count, "a run's final states")
        return self._results.empty((batch, size), dtype)

    def _workspace(self, count: int, size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return room that only this call's threads use, kept from call to call."""
        work: NDArray[Any] | None = getattr(self._local, dtype.char, None)
        if work is None or len(work) < count or work.shape[1] < size:
            count, size = workspace_shape(count, size)
            if work is not None:
                count, size = max(count, work.shape[0]), max(size, work.shape[1])
            work = aligned((count, size), dtype)
            setattr(self._local, dtype.char, work)
        return work

    def _states_between(self, size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return room for psi and lambda between the passes of a reverse call."""
        name = "states_" + dtype.char
        found: NDArray[Any] | None = getattr(self._local, name, None)
        if found is None or found.shape[1] != size:
            require_memory(2 * size * dtype.itemsize, "the reverse sweep of one sample")
            found = aligned((2, size), dtype)
            setattr(self._local, name, found)
        return found

    def _program(self, plan: Plan) -> Program | Pieces:
        found: Any = plan.memo.get("numba")  # Any: a memo's values are of its owners' types
        if found is None:
            parts = pieces(plan)
            whole = parts == (plan,)
            found = Program(plan) if whole else Pieces.build(self, plan, parts)
            plan.memo["numba"] = found
        return found


def _samples(
    state: ComplexArray,
    angles: RealArray,
    matrices: Sequence[ComplexArray],
    coefficients: RealArray | None,
) -> int:
    """Return the batch size of a forward call: ``check_batch`` of its operands."""
    batch = max(len(state), len(angles), 1 if coefficients is None else len(coefficients))
    return max(batch, *map(len, matrices)) if matrices else batch


def _input(array: NDArray[Any], real: np.dtype[Any]) -> NDArray[Any]:
    """Return a contiguous read-only view or copy: for a writable array Numba would compile anew."""
    flags = array.flags
    if flags.c_contiguous and not flags.writeable and array.dtype is real:
        return array
    view = np.ascontiguousarray(array, real).view()
    view.flags.writeable = False
    return view


def _states(states: ComplexArray, real: np.dtype[Any]) -> NDArray[Any]:
    """Return states as real numbers; one that is shown to all samples, once."""
    if len(states) > 1 and states.strides[0] == 0:
        states = states[:1]
    if not states.flags.c_contiguous:
        states = np.ascontiguousarray(states)
    view = states.view(real)
    if view.flags.writeable:
        view.flags.writeable = False
    return view


def _sparse_cotangent(
    terms: Terms | None,
    final: ComplexArray,
    coefficients: RealArray | None,
    weights: RealArray | None,
) -> ComplexArray:
    """What sparse terms add to lambda."""
    assert terms is not None
    assert coefficients is not None
    assert weights is not None
    out = np.zeros((len(weights), final.shape[1]), final.dtype)
    for position, term in words_of(terms).sparse:
        factors = 2 * weights[:, terms.rows[position]] * coefficients[:, position]
        out += factors[:, None] * own_states(sparse_product(term, final), len(out))
    return out


def _finish_terms(
    terms: Terms | None, final: ComplexArray, weights: RealArray | None, by_term: RealArray
) -> None:
    """Turn the values of terms ``(B, T)`` into the gradients of their coefficients, if any."""
    if by_term.shape[1] == 0:
        return
    assert terms is not None
    assert weights is not None
    for position, term in words_of(terms).sparse:
        values = np.vecdot(final, sparse_product(term, final)).real
        by_term[:, position] = np.resize(values, len(by_term))  # samples take states in turn
    by_term *= weights[:, terms.rows]
