"""Observables from and to Qiskit's operators, and onto the qubits of a transpiled circuit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from qiskit.quantum_info import Operator, Pauli, SparseObservable, SparsePauliOp

from circuits.coefficients import coefficient_value
from circuits.errors import ConversionError, ObservableError, QubitError
from circuits.instruction import checked_count
from circuits.observable_base import Observable
from circuits.observables import Hermitian, Outcome, Projector
from circuits.pauli import PauliSum, PauliWord, Word

_IMAGINARY = 1e-12
"""Imaginary part that counts as rounding, relative to the largest coefficient."""

# Any in this file: Qiskit's operators.


def pauli_sum(operator: Any) -> PauliSum:
    """Return a PauliSum; ``PauliSum.from_qiskit`` documents it."""
    if isinstance(operator, Pauli):
        operator = SparsePauliOp(operator)
    elif isinstance(operator, SparseObservable):
        operator = SparsePauliOp.from_sparse_observable(operator.as_paulis())
    elif isinstance(operator, Operator):
        operator = SparsePauliOp.from_operator(_on_qubits(operator))
    if not isinstance(operator, SparsePauliOp):
        raise ConversionError(
            "PauliSum.from_qiskit needs a SparsePauliOp, Pauli, SparseObservable or Operator, got "
            f"{type(operator).__name__}. Convert it to a SparsePauliOp first."
        )
    return PauliSum._of(dict(_words(operator)), operator.num_qubits)


def _on_qubits(operator: Operator) -> Operator:
    if operator.num_qubits is None:
        raise ConversionError(
            "an Operator of Qiskit needs to act on qubits, got one from dimensions "
            f"{operator.input_dims()} to {operator.output_dims()}. Take a square matrix of size "
            "2**n."
        )
    return operator


def _words(operator: SparsePauliOp) -> list[tuple[Word, float]]:
    """Return words with real coefficients, equal words added up, or refuse."""
    if operator.coeffs.dtype == object:
        raise ConversionError(
            "PauliSum.from_qiskit needs numbers as coefficients, got a SparsePauliOp with symbols. "
            "Bind them with assign_parameters, or multiply PauliWords with our Parameters."
        )
    if not np.isfinite(operator.coeffs).all():
        raise ObservableError(
            "PauliSum.from_qiskit needs finite coefficients, got NaN or infinity. "
            "Check how the operator was computed."
        )
    merged = operator.simplify(atol=0, rtol=0)
    coefficients = merged.coeffs
    largest = np.abs(coefficients).max(initial=0.0)
    imaginary = np.abs(coefficients.imag).max(initial=0.0)
    if imaginary > _IMAGINARY * largest:
        raise ConversionError(
            f"PauliSum.from_qiskit needs real coefficients, got imaginary parts up to {imaginary}. "
            "An observable is Hermitian: take real and imaginary part as two of them."
        )
    paulis = merged.paulis
    return [
        (Word(_mask(x), _mask(z)), float(c.real))
        for x, z, c in zip(paulis.x, paulis.z, coefficients, strict=True)
    ]


def _mask(bits: Any) -> int:
    """Return the bits as one integer of any size, element q being bit q."""
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


def observable_from_qiskit(operator: Any) -> Observable:
    """Return the observable of a SparsePauliOp, Pauli, SparseObservable or Operator.

    Terms of a SparseObservable that consist of projectors on 0 and 1 stay projectors; others with
    projectors are written out in Pauli words. An Operator becomes a Hermitian matrix.

    Raises:
        ConversionError: another class, symbolic or complex coefficients.
        ObservableError: an Operator that is not Hermitian.

    >>> observable_from_qiskit(SparseObservable.from_list([("0I1", 0.5)]))
    0.5 * Projector('01', (0, 2))
    """
    if isinstance(operator, Operator):
        return Hermitian(_on_qubits(operator).data, range(operator.num_qubits))
    if not isinstance(operator, SparseObservable):
        return pauli_sum(operator)
    total: Observable | None = None
    for term in operator:
        single = term.to_observable()
        ((letters, qubits, _),) = single.to_sparse_list()
        if letters and set(letters) <= {"0", "1"} and term.coeff.imag == 0:
            part: Observable = term.coeff.real * Projector(list(map(int, letters)), qubits)
        else:
            part = pauli_sum(single)
        total = part if total is None else total + part
    return pauli_sum(operator) if total is None else total


def observable_to_qiskit(observable: Observable, num_qubits: int | None = None) -> Any:
    """Return Qiskit's operator; ``circuits.to_qiskit`` documents it."""
    if num_qubits is not None:
        checked_count(num_qubits, 1, "to_qiskit needs num_qubits as an integer", QubitError)
    width = num_qubits or observable.width or max(observable._extent, 1)
    observable.check_width(width)
    terms = {key: coefficient_value(c) for key, c in observable._terms.items()}
    if all(isinstance(key, Word) for key in terms):
        pairs = [(key.label(width), c) for key, c in terms.items()]
        return SparsePauliOp.from_list(pairs, num_qubits=width)
    if all(isinstance(key, Word | Outcome) for key in terms):
        pairs = [(_letters(key, width), c) for key, c in terms.items()]
        return SparseObservable.from_list(pairs, num_qubits=width)
    return Operator(observable.matrix(width))


def _letters(key: Word | Outcome, width: int) -> str:
    if isinstance(key, Word):
        return key.label(width)
    bits = [str(key.value >> q & 1) if key.mask >> q & 1 else "I" for q in range(width)]
    return "".join(reversed(bits))


def apply_layout(observable: PauliSum, layout: Any, num_qubits: int | None = None) -> PauliSum:
    """Return the observable on the physical qubits of a transpiled circuit.

    Args:
        observable: Pauli words on the virtual qubits.
        layout: Qiskit's ``circuit.layout``, or the new place of each qubit, as in
            ``import_report.layout`` and ``import_report.places``; None where nothing moved. A place
            None is an idle qubit that was left out, in |0>: Z is 1 there, X and Y are 0.
        num_qubits: width of the transpiled circuit; by default the result fits any.

    Raises:
        ObservableError: another kind of observable, or a qubit without a place in the layout, or
            with one that another has too.
        QubitError: a place that is no integer from 0 on.

    >>> from circuits import X, Z
    >>> apply_layout(Z(0) @ X(1), [3, 1])
    X(1) @ Z(3)
    """
    if not isinstance(observable, PauliSum):
        raise ObservableError(
            f"apply_layout needs a PauliSum, got {type(observable).__name__}. "
            "Build the observable on the physical qubits."
        )
    places = _places(layout, observable._extent)
    if observable._extent > len(places):
        raise ObservableError(
            f"apply_layout needs a place for every qubit, got {len(places)} places for qubit "
            f"{observable._extent - 1}. Use the layout of the circuit that the observable is for."
        )
    terms: dict[Word, Any] = {}
    for word, coefficient in observable._terms.items():
        letters = word.letters()
        if any(places[q] is None and letter != "Z" for q, letter in letters.items()):
            continue
        placed = [(places[q], letter) for q, letter in letters.items()]
        (key,) = PauliWord({q: letter for q, letter in placed if q is not None})._terms
        terms[key] = terms[key] + coefficient if key in terms else coefficient
    return PauliSum._of(terms, num_qubits)


def _places(layout: Any, extent: int) -> list[int | None]:
    """Return where each qubit goes, None for one that is left out."""
    if layout is None:
        return list(range(extent))
    given = layout.final_index_layout() if hasattr(layout, "final_index_layout") else layout
    if not isinstance(given, Iterable):
        raise ObservableError(
            f"apply_layout needs Qiskit's layout or a list of qubits, got {given!r:.60}. "
            "Write apply_layout(observable, circuit.layout)."
        )
    needs = "apply_layout needs the places of qubits as integers"
    places = [None if x is None else checked_count(x, 0, needs, QubitError) for x in given]
    kept = [place for place in places if place is not None]
    if len(set(kept)) < len(kept):
        raise ObservableError(
            f"apply_layout needs a place of its own for every qubit, got {places}. "
            "Use the layout of the circuit that the observable is for."
        )
    return places
