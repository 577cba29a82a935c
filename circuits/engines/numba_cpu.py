"""The CPU engine: one compiled call for all gates of all samples, in either direction."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from circuits.engines import numba_kernels as kernels
from circuits.engines.base import Engine, Gradients, Wanted, check_batch, real_dtype
from circuits.engines.numba_packing import PackedPlan, PackedTerms, pack_plan, pack_terms
from circuits.plan.steps import ComplexArray, Plan, RealArray
from circuits.plan.terms import Terms

NO_TERMS = PackedTerms(
    paulis=(np.zeros((0, 6), np.int64), np.zeros((0, 3), np.int64), np.zeros((0, 3), np.int64)),
    rows=np.zeros(0, np.int64),
)


@dataclass(frozen=True, eq=False)
class Start:
    """What lambda starts from: an array, and a weighted sum of the words' and projectors' actions.

    Attributes:
        cotangent: ``(B, 2**n)``, or ``(0, 2**n)`` for none.
        terms: whose ``paulis`` act on the final state.
        weights: ``(B, T)`` float64.
    """

    cotangent: ComplexArray
    terms: PackedTerms
    weights: NDArray[np.float64]


class NumbaEngine(Engine):
    """Runs plans on the CPU by kernels that Numba compiles once a precision; the default engine.

    The kernels wait for nothing and hold no lock, so calls from several threads run side by side.

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
        packed = self._packed_plan(plan)
        batch = check_batch([state, angles, *matrices, coefficients])
        states = np.empty((batch, state.shape[1]), state.dtype)
        states[...] = state
        tables = packed.tables(angles, matrices, states.dtype)
        kernels.forward(states, packed.code, tables, packed.widths)
        if terms is None or coefficients is None:
            return states, None
        _, values = _measure(self._packed_terms(terms), states, coefficients, terms.num_rows)
        return states, values.astype(real_dtype(state.dtype), copy=False)

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
        """Undo the plan as far as a gradient is wanted, one sample after the other."""
        packed = self._packed_plan(plan)
        if terms is None or coefficients is None or weights is None:
            assert cotangent is not None
            start = Start(cotangent, NO_TERMS, np.zeros((len(final), 0)))
            return self._sweep(packed, final, angles, matrices, wanted, start)
        observables = self._packed_terms(terms)
        start = _start(observables, final, coefficients, weights)
        gradients = self._sweep(packed, final, angles, matrices, wanted, start)
        if not wanted.coefficients:
            return gradients
        values, _ = _measure(observables, final, coefficients, terms.num_rows)
        products = weights[:, terms.rows] * values
        return replace(gradients, coefficients=products.astype(real_dtype(final.dtype)))

    def _sweep(
        self,
        packed: PackedPlan,
        final: ComplexArray,
        angles: RealArray,
        matrices: Sequence[ComplexArray],
        wanted: Wanted,
        start: Start,
    ) -> Gradients:
        """Run the compiled reverse driver and cut its results to what is wanted."""
        batch, size = final.shape
        stop = packed.stop(wanted)
        by_angle = np.zeros((batch, packed.num_slots))
        by_matrix = np.zeros((batch, packed.given_width), np.complex128)
        by_state = np.empty((batch if wanted.state else 0, size), final.dtype)
        if stop < len(packed.code[0]) or wanted.state:
            kernels.reverse(
                _read_only(final),
                _read_only(start.cotangent),
                start.terms.paulis,
                start.weights,
                packed.code,
                packed.tables(angles, matrices, final.dtype, derive=wanted.angles),
                packed.widths,
                stop,
                (wanted.angles, wanted.matrices),
                self._workspace(size, final.dtype),
                (by_angle, by_matrix, by_state),
            )
        return Gradients(
            state=by_state if wanted.state else None,
            angles=by_angle.astype(real_dtype(final.dtype)) if wanted.angles else None,
            matrices=packed.split(by_matrix, matrices, final.dtype) if wanted.matrices else None,
        )

    def _workspace(self, size: int, dtype: np.dtype[Any]) -> ComplexArray:
        """Return room for psi and lambda that only this thread uses, kept from call to call."""
        work: ComplexArray | None = getattr(self._local, dtype.char, None)
        if work is None or work.shape[1] != size:
            work = np.empty((2, size), dtype)
            setattr(self._local, dtype.char, work)
        return work

    def _packed_plan(self, plan: Plan) -> PackedPlan:
        packed = plan.memo.get(self.name)
        if not isinstance(packed, PackedPlan):
            packed = plan.memo[self.name] = pack_plan(plan)
        return packed

    def _packed_terms(self, terms: Terms) -> PackedTerms:
        packed = terms.memo.get(self.name)
        if not isinstance(packed, PackedTerms):
            packed = terms.memo[self.name] = pack_terms(terms)
        return packed


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous read-only view or copy: for a writable array Numba would compile anew."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _action(operator: Any, states: ComplexArray) -> ComplexArray:
    """Apply a packed plan of one step, or a sparse matrix (Any: SciPy's), to every state."""
    if not isinstance(operator, PackedPlan):
        return (operator @ states.T).T.astype(states.dtype)
    out = states.copy(order="C")
    tables = operator.tables(np.zeros((1, 0)), (), out.dtype)
    kernels.forward(out, operator.code, tables, operator.widths)
    return out


def _measure(
    terms: PackedTerms, states: ComplexArray, coefficients: RealArray, num_rows: int
) -> tuple[RealArray, RealArray]:
    """Return the values of all terms ``(B, T)`` and of all observables ``(B, K)`` in float64."""
    by_term = np.zeros((len(states), len(terms.rows)))
    values = np.zeros((len(states), num_rows))
    for position, operator in terms.others:
        by_term[:, position] = np.vecdot(states, _action(operator, states)).real
    factors = _read_only(coefficients.astype(np.float64, copy=False))
    kernels.measure(_read_only(states), terms.paulis, factors, terms.rows, by_term, values)
    return by_term, values


def _start(
    terms: PackedTerms, final: ComplexArray, coefficients: RealArray, weights: RealArray
) -> Start:
    """Return lambda = sum_t 2 w[rows[t]] c_t O_t psi, words and projectors left to the driver."""
    factors = np.multiply(2 * weights[:, terms.rows], coefficients, dtype=np.float64)
    cotangent = np.zeros((len(final) if terms.others else 0, final.shape[1]), final.dtype)
    for position, operator in terms.others:
        cotangent += factors[:, position, None] * _action(operator, final)
    return Start(cotangent, terms, factors)
