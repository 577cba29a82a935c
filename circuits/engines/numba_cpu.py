"""The CPU engine: one compiled call for all gates of all samples, in either direction."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from circuits.engines import numba_kernels_drivers as drivers
from circuits.engines import numba_kernels_stages as stages
from circuits.engines.base import Engine, Gradients, Wanted, check_batch, real_dtype
from circuits.engines.numba_outline import outline
from circuits.engines.numba_pieces import Pieces
from circuits.engines.numba_program import Call, Program, Shape, sparse_product, words_of
from circuits.engines.numba_threads import block_team, run_team, stage_team, workspace_shape
from circuits.plan.forecast import Outline
from circuits.plan.memory import require_memory
from circuits.plan.steps import ComplexArray, Plan, RealArray
from circuits.plan.terms import Terms
from circuits.plan.wide import pieces

_NONE = {np.dtype(kind): np.zeros((1, 0), kind) for kind in (np.float32, np.float64)}
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

    def forward(
        self,
        plan: Plan,
        state: ComplexArray,
        angles: RealArray,
        matrices: Sequence[ComplexArray] = (),
        terms: Terms | None = None,
        coefficients: RealArray | None = None,
    ) -> tuple[ComplexArray, RealArray | None]:
        """Apply the plan to every sample, then measure."""
        program, real = self._program(plan), real_dtype(state.dtype)
        if isinstance(program, Pieces):
            return program.forward(state, angles, matrices, terms, coefficients)
        batch = check_batch([state, angles, *matrices, coefficients])
        require_memory(batch * state.dtype.itemsize * state.shape[1], "a run's final states")
        shape = program.shape(batch, real, terms)
        call = program.call(shape, batch, None)
        columns, _ = program.make_columns(angles, matrices, real)
        final = np.empty((batch, state.shape[1]), state.dtype)
        values = np.zeros((batch, 0 if terms is None else terms.num_rows), real)
        operands = (
            *call.tables,
            _input(angles, real),
            _input(columns, real),
            _states(state, real),
            _input(coefficients, real),
            final.view(real),
            values,
            np.empty((batch, 0), real),
        )
        if call.passes:
            self._run_stages(stages.forward_stages, shape, call, operands, batch)
        else:
            self._run_blocks(drivers.forward, call, operands, real)
        if terms is None or coefficients is None:
            return final, None
        for position, term in words_of(terms).sparse:
            products = np.vecdot(final, sparse_product(term, final)).real
            values[:, terms.rows[position]] += coefficients[:, position] * products
        return final, values

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
    ) -> Gradients:
        """Undo the plan as far as a gradient is wanted."""
        program, real, batch = self._program(plan), real_dtype(final.dtype), len(final)
        if isinstance(program, Pieces):
            start = (cotangent, terms, coefficients, weights)
            return program.reverse(final, angles, matrices, wanted, *start)
        shape = program.shape(batch, real, terms)
        call = program.call(shape, batch, wanted)
        columns, made = program.make_columns(angles, matrices, real)
        asked = len(terms.terms) if terms is not None and wanted.coefficients else 0
        by_term = np.zeros((batch, asked), real)
        if terms is not None and words_of(terms).sparse:
            cotangent = _sparse_cotangent(terms, final, coefficients, weights)
        results = np.empty((batch, 1 + plan.num_slots + program.columns.out_width), real)
        by_state = np.empty((batch if wanted.state else 0, final.shape[1]), final.dtype)
        operands = (
            *call.tables,
            _input(angles, real),
            _input(columns, real),
            _states(final, real),
            _states(final[:0] if cotangent is None else cotangent, real),
            _input(coefficients, real),
            _input(weights, real),
            results,
            by_term,
            by_state.view(real),
            np.empty((batch, 0), real),
        )
        if call.passes:
            self._run_stages(stages.reverse_stages, shape, call, operands, batch)
        else:
            self._run_blocks(drivers.reverse, call, operands, real)
        _finish_terms(terms, final, weights, by_term)
        by_angle = program.angle_gradients(results, angles, made, wanted) if wanted.angles else None
        return Gradients(
            state=by_state if wanted.state else None,
            angles=by_angle,
            matrices=program.matrix_gradients(results, matrices, final.dtype)
            if wanted.matrices
            else None,
            coefficients=by_term if wanted.coefficients else None,
        )

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

    def _run_blocks(
        self, driver: Any, call: Call, operands: tuple[Any, ...], real: np.dtype[Any]
    ) -> None:
        """Run a driver of whole programs: threads share the blocks."""
        team = block_team(call.blocks, call.work)
        room = self._workspace(team, call.size, real)
        run_team(driver, (*operands, room, np.zeros(drivers.COUNTERS, np.int64)), team)

    def _run_stages(
        self, driver: Any, shape: Shape, call: Call, operands: tuple[Any, ...], batch: int
    ) -> None:
        """Run a driver of staged programs: threads share the tiles."""
        lanes, real = shape.layout.lanes, shape.layout.schedule.fixed.dtype
        team = stage_team(call.blocks, len(shape.layout.schedule.places))
        room = self._workspace(team + 1, call.size, real)
        parts = [np.empty((call.blocks, (shape.atoms + 1) * lanes), real)]
        if driver is stages.reverse_stages:
            size = 2 << len(shape.layout.schedule.places)
            operands = (*operands, self._states_between(size, real))
            width = shape.layout.schedule.sizes[1] * lanes
            parts.append(np.empty((call.blocks, width), real))
        control = np.zeros(stages.COUNTERS + 2 * batch * (call.passes + 2), np.int64)
        run_team(driver, (*operands, room[team], *parts, room, control), team)

    def _workspace(self, count: int, size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return room that only this call's threads use, kept from call to call."""
        count, size = workspace_shape(count, size)
        work: NDArray[Any] | None = getattr(self._local, dtype.char, None)
        if work is None or work.shape[0] < count or work.shape[1] < size:
            if work is not None:
                count, size = max(count, work.shape[0]), max(size, work.shape[1])
            work = np.empty((count, size), dtype)
            setattr(self._local, dtype.char, work)
        return work

    def _states_between(self, size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return room for psi and lambda between the passes of a reverse call."""
        name = "states_" + dtype.char
        found: NDArray[Any] | None = getattr(self._local, name, None)
        if found is None or found.shape[1] != size:
            require_memory(2 * size * dtype.itemsize, "the reverse sweep of one sample")
            found = np.empty((2, size), dtype)
            setattr(self._local, name, found)
        return found

    def _program(self, plan: Plan) -> Program | Pieces:
        program = plan.memo.get(self.name)
        if not isinstance(program, Program | Pieces):
            parts = pieces(plan)
            whole = parts == (plan,)
            program = Program(plan) if whole else Pieces.build(self, plan, parts)
            plan.memo[self.name] = program
        return program


def _input(array: NDArray[Any] | None, real: np.dtype[Any]) -> NDArray[Any]:
    """Return a contiguous read-only view or copy: for a writable array Numba would compile anew."""
    if array is None:
        return _NONE[real]
    view = np.ascontiguousarray(array, real).view()
    view.flags.writeable = False
    return view


def _states(states: ComplexArray, real: np.dtype[Any]) -> NDArray[Any]:
    """Return states as real numbers; one that is shown to all samples, once."""
    if len(states) > 1 and states.strides[0] == 0:
        states = states[:1]
    view = np.ascontiguousarray(states).view(real)
    view.flags.writeable = False
    return view


def _sparse_cotangent(
    terms: Terms,
    final: ComplexArray,
    coefficients: RealArray | None,
    weights: RealArray | None,
) -> ComplexArray:
    """What sparse terms add to lambda."""
    assert coefficients is not None
    assert weights is not None
    out = np.zeros_like(final)
    for position, term in words_of(terms).sparse:
        factors = 2 * weights[:, terms.rows[position]] * coefficients[:, position]
        out += factors[:, None] * sparse_product(term, final)
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
        by_term[:, position] = np.vecdot(final, sparse_product(term, final)).real
    by_term *= weights[:, terms.rows]
