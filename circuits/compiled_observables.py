"""Observables compiled for one width: what an engine sees, and the Tensor of coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff import Tensor
from autodiff.device import CPU
from autodiff.node import State
from circuits.angle_table import AngleTable, Entries
from circuits.coefficients import Affine
from circuits.errors import ObservableError
from circuits.observable_base import Observable, Operator
from circuits.plan.terms import Terms

_IMAGINARY = 1e-12
"""Imaginary part that counts as rounding, relative to the largest coefficient."""


@dataclass(frozen=True, eq=False)
class CompiledObservables:
    """Observables for one width, one row each.

    Attributes:
        terms: T terms without their coefficients, for the engine.
        constants: ``(T,)`` float64, the coefficients without what Tensors add.
        tensors: the K real Tensors of one element that coefficients are made of.
        entries: ``(E,)`` int64 term, int64 tensor and float64 factor of each product
            ``coefficient[term] += factor * tensor``.
    """

    terms: Terms
    constants: NDArray[np.float64]
    tensors: tuple[Tensor, ...]
    entries: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
    _table: AngleTable

    def coefficients(self) -> Tensor:
        """Return the coefficients ``(T,)`` with present values, recorded for the Tensors.

        The dtype is float64, or that of the Tensors where there are any. Values that a device
        holds, or that are not computed yet, are not read: NaN among them gives NaN.

        Raises:
            ObservableError: a Tensor on the CPU that makes a coefficient NaN or infinite.
        """
        pairs = {id(x._meta): (x, False) for x in self.tensors}
        found = self._table.evaluate(list(pairs.values()), lambda x: pairs[id(x._meta)])
        if pairs and found.device == CPU and found._cell.state is State.CONCRETE:
            self._refuse_not_finite(found)
        return found

    def _refuse_not_finite(self, found: Tensor) -> None:
        values = found.detach().numpy()
        bad = ~np.isfinite(values)
        if bad.any():
            k = int(np.argmax(bad))
            raise ObservableError(
                f"expectation needs finite coefficients, got {values[k]} for term {k}, "
                f"{self.terms.terms[k]}. Check the Tensors that it is made of."
            )


@dataclass(frozen=True, eq=False)
class _Row:
    """One observable, checked; entries are (position, tensor, factor)."""

    operators: list[Operator]
    constants: NDArray[np.float64]
    entries: list[tuple[int, Tensor, float]]


def compile_observables(observables: Sequence[Observable], num_qubits: int) -> CompiledObservables:
    """Compile observables for a width; a second call with the same ones costs nothing.

    Args:
        observables: one or more; row k of the result is ``observables[k]``.
        num_qubits: width of the circuit.

    Raises:
        ObservableError: no observables, something else, another fixed width, a coefficient that is
            not finite, or has an imaginary part above 1e-12 of the observable's largest.
        QubitError: a qubit outside the width.
    """
    for position, observable in enumerate(observables):
        if not isinstance(observable, Observable):
            raise ObservableError(
                f"expectation needs observables, got {type(observable).__name__} "
                f"{observable!r:.60} at position {position}. "
                "Write Z(0), or PauliSum({'ZZ': 1.0})."
            )
    if not observables:
        raise ObservableError("expectation needs one or more observables, got none. Give Z(0).")
    first, others = observables[0], tuple(observables[1:])
    key = ("compiled", num_qubits, len(others))
    known: tuple[tuple[Observable, ...], CompiledObservables] | None = first.memo.get(key)
    if known is not None and all(a is b for a, b in zip(known[0], others, strict=True)):
        return known[1]
    compiled = _assemble([_check(observable, num_qubits) for observable in observables], num_qubits)
    first.memo[key] = (others, compiled)
    return compiled


def _check(observable: Observable, num_qubits: int) -> _Row:
    """Refuse what has no real expectation on this width; drop terms that are exactly zero."""
    observable.check_width(num_qubits)
    operators, values = list(observable._terms), list(observable._terms.values())
    numbers = np.array([c.number if isinstance(c, Affine) else c for c in values], np.complex128)
    trained = [(k, c) for k, c in enumerate(values) if isinstance(c, Affine)]
    products = [(k, x, factor) for k, c in trained for x, factor in c.parts]
    factors = np.array([factor for _, _, factor in products], np.complex128)
    positions = np.array([k for k, _, _ in products], np.int64)

    amounts = np.concatenate([numbers, factors])
    places = np.concatenate([np.arange(len(numbers)), positions])
    _refuse(observable, places, amounts, ~np.isfinite(amounts), "finite coefficients")
    bound = _IMAGINARY * np.abs(amounts).max(initial=0.0)
    imaginary = np.abs(amounts.imag) > bound
    _refuse(observable, places, amounts, imaginary, "real coefficients")

    kept = numbers.real != 0
    kept[positions] = True
    moved = np.cumsum(kept) - 1
    return _Row(
        operators if kept.all() else [operators[k] for k in np.flatnonzero(kept)],
        numbers.real[kept],
        [(int(moved[k]), x, factor.real) for k, x, factor in products],
    )


def _refuse(
    observable: Observable,
    places: NDArray[np.int64],
    amounts: NDArray[np.complex128],
    bad: NDArray[np.bool_],
    wanted: str,
) -> None:
    """Raise for the first bad amount, naming its term."""
    if not bad.any():
        return
    k = int(np.argmax(bad))
    operator: Any = list(observable._terms)[places[k]]  # Any: Operator's methods only
    raise ObservableError(
        f"expectation needs a Hermitian observable with {wanted}, got {amounts[k]:.6g} for the "
        f"term {operator.text(observable.width)}. "
        "Correct it; (O + O.adjoint()) / 2 is the Hermitian part."
    )


def _assemble(rows: Sequence[_Row], num_qubits: int) -> CompiledObservables:
    """Put the rows one after the other."""
    sizes = [len(row.operators) for row in rows]
    starts = np.cumsum([0, *sizes])
    tensors: dict[int, tuple[int, Tensor]] = {}
    products: list[tuple[int, int, float]] = []
    for start, row in zip(starts, rows, strict=False):
        for position, x, factor in row.entries:
            column, _ = tensors.setdefault(id(x._meta), (len(tensors), x))
            products.append((int(start) + position, column, factor))
    places = np.array([place for place, _, _ in products], np.int64)
    columns = np.array([column for _, column, _ in products], np.int64)
    factors = np.array([factor for _, _, factor in products], np.float64)
    constants = np.concatenate([row.constants for row in rows])
    leaves = tuple([x for _, x in tensors.values()])
    return CompiledObservables(
        Terms(
            num_qubits,
            tuple([operator.term() for row in rows for operator in row.operators]),
            np.repeat(np.arange(len(rows), dtype=np.int64), sizes),
            len(rows),
        ),
        constants,
        leaves,
        (places, columns, factors),
        AngleTable(
            Entries.sort(places, columns, factors),
            Entries.sort(columns, places, factors),
            constants,
            leaves,
            (),
        ),
    )
