"""Observables compiled for one width: what an engine sees, and the Tensor of coefficients.

What is compiled is kept with the observable. Of a small one made of words and projectors it is also
found by value, so that a training step may write ``Z(0)`` anew; and what engines derive of its
operators is found whatever the coefficients are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import is_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff import Tensor
from autodiff.device import CPU
from autodiff.dispatch import constant
from autodiff.keys import Key, Recent
from autodiff.node import CONCRETE
from circuits.angle_layout import Entries
from circuits.angle_table import AngleTable
from circuits.coefficients import Affine
from circuits.errors import ObservableError
from circuits.observable_base import Observable, Operator
from circuits.plan.terms import PauliTerm, ProjectorTerm, Terms

_IMAGINARY = 1e-12
"""Imaginary part that counts as rounding, relative to the largest coefficient."""

_SMALL = 64
"""Number of terms up to which observables are found by value: the search costs less than them."""


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
    _table: AngleTable | None

    @cached_property
    def _fixed(self) -> Tensor:
        """The constants; one Tensor, so that a device gets it once."""
        return constant(self.constants.copy())

    def coefficients(self) -> Tensor:
        """Return the coefficients ``(T,)`` with present values, recorded for the Tensors.

        The dtype is float64, or that of the Tensors where there are any. Values that a device
        holds, or that are not computed yet, are not read: NaN among them gives NaN.

        Raises:
            ObservableError: a Tensor on the CPU that makes a coefficient NaN or infinite.
        """
        if self._table is None:
            return self._fixed
        single = (False,) * len(self.tensors)
        found = self._table.evaluate(self.tensors, single)
        if found.device == CPU and found._cell.state is CONCRETE:
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


_known: Recent[CompiledObservables] = Recent(128)
_structures: Recent[Terms] = Recent(128)


@dataclass(frozen=True, eq=False)
class _Row:
    """One observable, checked; entries are (position, tensor, factor)."""

    operators: list[Operator]
    constants: NDArray[np.float64]
    entries: list[tuple[int, Tensor, float]]


def observable_list(observable: Any) -> list[Observable]:  # Any: whatever the user gave
    """Return one observable, or several, as a list; ``compile_observables`` checks its elements.

    Raises:
        ObservableError: neither an observable nor several of something.
    """
    if isinstance(observable, Observable):
        return [observable]
    known = isinstance(observable, str | Mapping) or type(observable).__module__.startswith(
        "qiskit"
    )
    if known or not isinstance(observable, Iterable):
        raise _no_observable(observable)
    return list(observable)


def _no_observable(given: Any) -> ObservableError:
    remedy = "Write Z(0), or PauliSum({'ZZ': 1.0})."
    if isinstance(given, Mapping):
        remedy = "Wrap it: PauliSum({'ZZ': 1.0})."
    elif type(given).__module__.startswith("qiskit"):
        remedy = f"Convert it: PauliSum.from_qiskit({type(given).__name__}(...))."
    return ObservableError(
        f"expectation needs an observable or a sequence of them, got {given!r:.60}. {remedy}"
    )


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
    first, others = observables[0] if observables else None, tuple(observables[1:])
    key = ("compiled", num_qubits, len(others))
    if isinstance(first, Observable):
        known: tuple[tuple[Observable, ...], CompiledObservables] | None = first.memo.get(key)
        if known is not None and (not others or all(map(is_, known[0], others))):
            return known[1]
    for position, observable in enumerate(observables):
        if not isinstance(observable, Observable):
            raise ObservableError(
                f"expectation needs observables, got {type(observable).__name__} "
                f"{observable!r:.60} at position {position}. "
                "Write Z(0), or PauliSum({'ZZ': 1.0})."
            )
    if not observables:
        raise ObservableError("expectation needs one or more observables, got none. Give Z(0).")
    compiled = _of_value(observables, num_qubits)
    observables[0].memo[key] = (others, compiled)
    return compiled


def _of_value(observables: Sequence[Observable], num_qubits: int) -> CompiledObservables:
    """Compile observables; of small ones, what depends on their values alone is found again."""
    if sum([len(observable._terms) for observable in observables]) > _SMALL:
        return _compile(observables, num_qubits)
    value, tensors = _value(observables)
    found = _known.get((num_qubits, value))
    if found is not None:
        return replace(found, tensors=tensors) if tensors else found
    made = _compile(observables, num_qubits)
    if _is_light(made.terms):
        _known.put((num_qubits, value), replace(made, tensors=()) if tensors else made)
    return made


def _is_light(terms: Terms) -> bool:
    """Whether operators are masks; matrices are not kept for longer than their observables."""
    return all(isinstance(term, PauliTerm | ProjectorTerm) for term in terms.terms)


def _value(observables: Sequence[Observable]) -> tuple[Key, tuple[Tensor, ...]]:
    """Return a stand-in for observables that names Tensors by number, and these Tensors."""
    found: dict[int, tuple[int, Tensor]] = {}

    def parts(coefficient: Affine) -> Key:
        pairs = [
            (found.setdefault(id(x._meta), (len(found), x))[0], factor)
            for x, factor in coefficient.parts
        ]
        return coefficient.number, tuple(pairs)

    rows = [
        (
            observable.width,
            tuple(
                [
                    (operator, parts(c) if isinstance(c, Affine) else c)
                    for operator, c in observable._terms.items()
                ]
            ),
        )
        for observable in observables
    ]
    return tuple(rows), tuple([x for _, x in found.values()])


def _compile(observables: Sequence[Observable], num_qubits: int) -> CompiledObservables:
    return _assemble([_check(observable, num_qubits) for observable in observables], num_qubits)


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
    table = None
    if tensors:
        by_term = Entries.sort(len(constants), places, columns, factors)
        by_tensor = Entries.sort(len(tensors), columns, places, factors)
        table = AngleTable(by_term, by_tensor, constants, ())
    return CompiledObservables(
        _terms([row.operators for row in rows], num_qubits),
        constants,
        tuple([x for _, x in tensors.values()]),
        (places, columns, factors),
        table,
    )


def _terms(rows: Sequence[Sequence[Operator]], num_qubits: int) -> Terms:
    """Return what engines see; that of a few masks is found again, with all that they derived."""
    sizes = [len(row) for row in rows]
    key = (num_qubits, tuple(map(tuple, rows))) if sum(sizes) <= _SMALL else None
    found = None if key is None else _structures.get(key)
    if found is not None:
        return found
    made = Terms(
        num_qubits,
        tuple([operator.term() for row in rows for operator in row]),
        np.repeat(np.arange(len(rows), dtype=np.int64), sizes),
        len(rows),
    )
    if key is not None and _is_light(made):
        _structures.put(key, made)
    return made
