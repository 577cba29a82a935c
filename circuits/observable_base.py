"""Observable: a linear combination of Hermitian operators, an immutable value.

Operators are the keys of one dictionary, coefficients its values, so that what is added twice is
merged at once, before anything can be dropped for being small. A kind of observable is an operator
class and a constructor; arithmetic, comparison, matrices and compilation are here, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import index
from typing import Any, ClassVar, Protocol, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from autodiff import Tensor
from circuits.coefficients import (
    Affine,
    Coefficient,
    Factor,
    Number,
    as_coefficient,
    coefficient_value,
    number_text,
)
from circuits.errors import ObservableError, QubitError
from circuits.plan.memory import require_memory
from circuits.plan.terms import Term
from circuits.term_matrices import add_term

MAX_QUBIT = (1 << 16) - 1
"""Highest qubit that can be named; masks are integers of as many bits."""

SHOWN_TERMS = 8
"""How many terms a repr lists."""


class Operator(Protocol):
    """What an observable is a sum of: Hermitian, hashable, immutable."""

    @property
    def support(self) -> int:
        """Bit mask of the qubits that it acts on."""

    def term(self) -> Term:
        """Return what an engine sees."""

    def text(self, width: int | None) -> str:
        """Return Python code that makes it, for circuits of one width or of any (None)."""

    def __hash__(self) -> int: ...


OperatorT = TypeVar("OperatorT", bound=Operator)


class Observable:
    """A linear combination of Pauli words, projectors and matrices. Immutable.

    Made by arithmetic (``+ - * /``) from ``PauliSum``, ``X(q)``, ``Projector``, ``Hermitian``,
    ``SparseHermitian``. Coefficients are numbers, complex on the way, or real Tensors of one
    element, which get gradients. Equality is exact, and includes the width.

    A coefficient that is a Parameter has its present value at each run. One that was computed, as
    in ``(2 * theta) * Z(0)``, is an ordinary result: compute it again after each update, or write
    ``2 * (theta * Z(0))``.

    Attributes:
        width: the number of qubits of circuits that it fits, or None where it fits any.
        memo: what has been derived and is kept; no part of the value.
    """

    # NumPy's operators leave the work to this class: np.float64(2) * Z(0) is an Observable.
    __array_ufunc__: ClassVar[None] = None
    # What sums and multiples of this kind are; other mixtures are plain Observables.
    _sum_class: ClassVar[type[Observable]]

    width: int | None
    memo: dict[Any, Any]  # Any: whoever derives something chooses key and type
    _terms: Mapping[Any, Coefficient]  # Any: Operator; PauliSum narrows it
    _extent: int

    def __init__(self) -> None:
        raise ObservableError(
            "an observable needs a kind, got Observable(). Use PauliSum, Projector, Hermitian or "
            "SparseHermitian, and add them."
        )

    def _set(
        self,
        terms: Mapping[OperatorT, Coefficient],
        width: int | None,
        extent: int | None = None,
    ) -> None:
        """Install the value; ``extent`` is one above the highest qubit, where that is known."""
        if extent is None:
            extent = max([key.support.bit_length() for key in terms], default=0)
        if width is not None and extent > width:
            raise QubitError(
                f"an observable of {width} qubits needs qubits below {width}, got qubit "
                f"{extent - 1}. Use longer labels, or Z(0) @ Z(1), which fits any width."
            )
        self.width = width
        self.memo = {}
        self._terms = terms
        self._extent = extent

    @classmethod
    def _of(
        cls,
        terms: Mapping[OperatorT, Coefficient],
        width: int | None,
        extent: int | None = None,
    ) -> Self:
        made = object.__new__(cls)
        made._set(terms, width, extent)
        return made

    # -- queries ---------------------------------------------------------------------------------

    @property
    def num_terms(self) -> int:
        """The number of different operators."""
        return len(self._terms)

    def matrix(self, num_qubits: int | None = None) -> NDArray[np.complex128]:
        """Return the dense matrix, with the present values of Tensor coefficients.

        Args:
            num_qubits: width; by default the observable's own, or the smallest that fits.

        Returns:
            ``(2**n, 2**n)`` complex128.

        Raises:
            ObservableError: the observable has another fixed width.
            QubitError: a qubit lies outside the width.
            CapacityError: the matrix needs more memory than there is.
        """
        n = num_qubits if num_qubits is not None else self.width or max(self._extent, 1)
        self.check_width(n)
        require_memory(np.dtype(np.complex128).itemsize << 2 * n, f"a matrix of {n} qubits")
        total = np.zeros((1 << n, 1 << n), np.complex128)
        for operator, coefficient in self._terms.items():
            add_term(total, operator.term(), coefficient_value(coefficient))
        return total

    def check_width(self, num_qubits: int) -> None:
        """Refuse a circuit that the observable does not fit.

        Raises:
            ObservableError: the observable has another fixed width.
            QubitError: a qubit lies outside the circuit.
        """
        if self.width is not None and self.width != num_qubits:
            text = next(iter(self._terms)).text(self.width) if self._terms else repr(self)
            raise ObservableError(
                f"an observable on {num_qubits} qubits needs width {num_qubits}, got {text} of "
                f"width {self.width}. Give one letter a qubit, or write Z(0) @ Z(1), which fits "
                "any width."
            )
        if self._extent > num_qubits:
            outside = (key for key in self._terms if key.support >> num_qubits)
            raise QubitError(
                f"an observable on {num_qubits} qubits needs qubits below {num_qubits}, got "
                f"{next(outside).text(None)}. Use a wider circuit, or a lower qubit."
            )

    # -- arithmetic ------------------------------------------------------------------------------

    def __add__(self, other: Observable) -> Observable:
        if not isinstance(other, Observable):
            raise ObservableError(
                f"a sum needs observables, got {type(other).__name__} {other!r:.60}. "
                "Write a number as a multiple of I(0)."
            )
        terms = dict(self._terms)
        for operator, coefficient in other._terms.items():
            known = terms.get(operator)
            terms[operator] = coefficient if known is None else known + coefficient
        same = self._sum_class is other._sum_class
        made = self._sum_class if same else Observable
        extent = max(self._extent, other._extent)
        return made._of(terms, common_width(self, other), extent)

    def __radd__(self, other: object) -> Observable:
        """Let ``sum`` start from its 0."""
        if isinstance(other, int) and other == 0:
            return self
        return self + other  # type: ignore[operator]  # refused there, with a message

    def __sub__(self, other: Observable) -> Observable:
        return self + -other if isinstance(other, Observable) else self + other

    def __rsub__(self, other: object) -> Observable:
        return -self + other if isinstance(other, Observable) else (-self).__radd__(other)

    def __mul__(self, factor: Factor) -> Observable:
        value = as_coefficient(factor)
        terms = {operator: c * value for operator, c in self._terms.items()}
        return self._sum_class._of(terms, self.width, self._extent)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Number | Tensor) -> Observable:
        if isinstance(divisor, Tensor):
            return self * (1.0 / divisor)
        value = cast("Number", as_coefficient(divisor))
        # a number is divided, not multiplied by a rounded reciprocal
        terms = {
            operator: c * (1.0 / value) if isinstance(c, Affine) else c / value
            for operator, c in self._terms.items()
        }
        return self._sum_class._of(terms, self.width, self._extent)

    def __neg__(self) -> Observable:
        return self * -1.0

    def __pos__(self) -> Observable:
        return self

    def __matmul__(self, other: Observable) -> Observable:
        raise ObservableError(
            f"a product needs two Pauli sums, got {self!r:.60} and {other!r:.60}. "
            "Give the product's matrix as Hermitian."
        )

    def adjoint(self) -> Observable:
        """Return the Hermitian adjoint: every coefficient conjugated."""
        terms = {operator: c.conjugate() for operator, c in self._terms.items()}
        return self._sum_class._of(terms, self.width, self._extent)

    def simplify(self, tolerance: float = 1e-12) -> Observable:
        """Return the sum without the terms of magnitude ``tolerance`` or less.

        Equal operators have been added up before; a Tensor coefficient is never dropped.
        """
        terms = {
            operator: c
            for operator, c in self._terms.items()
            if isinstance(c, Affine) or abs(c) > tolerance
        }
        return self._sum_class._of(terms, self.width)

    # -- values ----------------------------------------------------------------------------------

    def _nonzero(self) -> dict[Any, Coefficient]:
        return {operator: c for operator, c in self._terms.items() if c != 0}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Observable):
            return NotImplemented
        return self.width == other.width and self._nonzero() == other._nonzero()

    def __hash__(self) -> int:
        return hash((self.width, frozenset(self._nonzero().items())))

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "memo": {}}

    def __repr__(self) -> str:
        parts = []
        for operator, coefficient in list(self._terms.items())[:SHOWN_TERMS]:
            text = operator.text(self.width)
            parts.append(text if coefficient == 1 else f"{coefficient_text(coefficient)} * {text}")
        if len(self._terms) > SHOWN_TERMS:
            parts.append(f"... ({len(self._terms)} terms)")
        return " + ".join(parts).replace("+ -", "- ") or "0.0 * I(0)"


Observable._sum_class = Observable


def coefficient_text(coefficient: Coefficient) -> str:
    """Return a coefficient for a repr or a message."""
    return str(coefficient) if isinstance(coefficient, Affine) else number_text(coefficient)


def common_width(a: Observable, b: Observable) -> int | None:
    """Return the width that both fit, None where that is any, or refuse."""
    if a.width is not None and b.width is not None and a.width != b.width:
        raise ObservableError(
            f"observables that are combined need one width, got {a.width} and {b.width}. "
            "Use labels of one length, or Z(0) @ Z(1), which fits any width."
        )
    return a.width if a.width is not None else b.width


def qubit_tuple(qubits: Any) -> tuple[int, ...]:  # Any: whatever the user gave
    """Return one qubit, or a sequence of them, as distinct non-negative integers.

    Raises:
        QubitError: no qubits, repeated or negative ones, or no integers.

    >>> qubit_tuple(3)
    (3,)
    """
    try:
        found = tuple(map(index, qubits if isinstance(qubits, Iterable) else (qubits,)))
    except TypeError as error:
        raise QubitError(
            f"an observable needs integer qubits, got {qubits!r}. Give 0, or (0, 1)."
        ) from error
    if not found or min(found) < 0 or max(found) > MAX_QUBIT or len(set(found)) < len(found):
        raise QubitError(
            f"an observable needs one or more different qubits from 0 to {MAX_QUBIT}, got "
            f"{qubits!r:.60}. Name every qubit once."
        )
    return found
