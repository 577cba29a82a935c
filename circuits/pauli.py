"""Pauli words and their sums, with exact phases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from circuits.coefficients import Coefficient, Factor, Number, as_coefficient
from circuits.errors import ObservableError
from circuits.observable_base import (
    SHOWN_TERMS,
    Observable,
    coefficient_text,
    common_width,
    qubit_tuple,
)
from circuits.plan.terms import PauliTerm

_PHASES: tuple[Number, ...] = (1.0, 1j, -1.0, -1j)
"""i**k from k mod 4: exact for any number of letters Y."""

_LETTERS = {("1", "0"): "X", ("1", "1"): "Y", ("0", "1"): "Z"}
_X_BITS = str.maketrans("IXYZ", "0110")
_Z_BITS = str.maketrans("IXYZ", "0011")


class Word(NamedTuple):
    """A Pauli word as bit masks: i^{|x & z|} X^x Z^z, so that the letters are exact."""

    x_mask: int
    z_mask: int

    @property
    def support(self) -> int:
        """Bit mask of the qubits with a letter other than I."""
        return self.x_mask | self.z_mask

    def term(self) -> PauliTerm:
        """Return what an engine sees."""
        return PauliTerm(self.x_mask, self.z_mask)

    def text(self, width: int | None) -> str:
        """Return a label, or a product of letters for any width."""
        if width is not None:
            return f"PauliWord({self.label(width)!r})"
        letters = self.letters()
        return " @ ".join([f"{letter}({q})" for q, letter in letters.items()]) or "I(0)"

    def letters(self) -> dict[int, str]:
        """Return the letters other than I by qubit."""
        # Text, whose bits are read in one pass: shifting a long mask costs its length a qubit.
        size = self.support.bit_length()
        x_bits, z_bits = [format(mask, f"0{size}b") for mask in self]
        pairs = zip(reversed(x_bits), reversed(z_bits), strict=True)
        return {q: _LETTERS[pair] for q, pair in enumerate(pairs) if pair in _LETTERS}

    def label(self, width: int) -> str:
        """Return the label of ``width`` letters, qubit 0 on the right."""
        letters = self.letters()
        return "".join([letters.get(q, "I") for q in reversed(range(width))])


def multiply_words(a: Word, b: Word) -> tuple[Word, Number]:
    """Return the word and the phase of a product.

    X^x Z^z X^u Z^w = (-1)^{|z & u|} X^(x ^ u) Z^(z ^ w); a word with |x & z| letters Y carries
    i^{|x & z|}.

    >>> multiply_words(Word(1, 0), Word(1, 1))  # X Y = i Z
    (Word(x_mask=0, z_mask=1), 1j)
    """
    x, z = a.x_mask ^ b.x_mask, a.z_mask ^ b.z_mask
    power = (a.x_mask & a.z_mask).bit_count() + (b.x_mask & b.z_mask).bit_count()
    power += 2 * (a.z_mask & b.x_mask).bit_count() - (x & z).bit_count()
    return Word(x, z), _PHASES[power % 4]


class PauliSum(Observable):
    """A linear combination of Pauli words.

    Labels are as long as the circuit is wide; the rightmost letter acts on qubit 0. Words made by
    ``X(q)``, ``Y(q)``, ``Z(q)``, ``I(q)`` fit any width. ``@`` multiplies with exact phases.

    Args:
        terms: coefficients by label; none give the zero observable.

    Raises:
        ObservableError: a label with another letter than I, X, Y, Z, labels of several lengths, a
            coefficient that is neither a number nor a real Tensor of one element.

    >>> PauliSum({"ZZ": 1.0, "IX": 0.5})
    PauliSum({'ZZ': 1.0, 'IX': 0.5})
    >>> 0.5 * Z(0) @ Z(1) + X(0)
    0.5 * Z(0) @ Z(1) + X(0)
    """

    _terms: Mapping[Word, Coefficient]
    _sum_class: ClassVar[type[Observable]]
    if TYPE_CHECKING:  # circuits.interop gives it

        @staticmethod
        def from_qiskit(operator: Any) -> PauliSum:  # Any: Qiskit is not imported here
            """Return the PauliSum of a SparsePauliOp, Pauli, SparseObservable or Operator."""

    def __init__(self, terms: Mapping[str, Factor] | None = None) -> None:
        if terms is not None and not isinstance(terms, Mapping):
            raise ObservableError(
                f"PauliSum needs a mapping of labels to coefficients, got {type(terms).__name__} "
                f"{terms!r:.60}. Write PauliSum({{'ZZ': 1.0}}), or use PauliSum.from_list."
            )
        self._set(*_parse((terms or {}).items()))

    @classmethod
    def from_list(cls, terms: Iterable[tuple[str, Factor]]) -> PauliSum:
        """Return the sum of (label, coefficient) pairs; equal labels are added up.

        >>> PauliSum.from_list([("Z", 0.5), ("Z", 0.25)])
        PauliSum({'Z': 0.75})
        """
        if not isinstance(terms, Iterable):
            raise ObservableError(
                f"PauliSum.from_list needs (label, coefficient) pairs, got {terms!r:.60}. "
                "Write [('ZZ', 1.0), ('IX', 0.5)]."
            )
        return PauliSum._of(*_parse(terms))

    def to_list(self, num_qubits: int | None = None) -> list[tuple[str, Coefficient]]:
        """Return (label, coefficient) pairs.

        Args:
            num_qubits: length of the labels; by default the sum's own width, or the smallest.

        Raises:
            ObservableError: the sum has another width.
            QubitError: a qubit lies outside the width.
        """
        n = num_qubits if num_qubits is not None else self.width or max(self._extent, 1)
        self.check_width(n)
        return [(word.label(n), coefficient) for word, coefficient in self._terms.items()]

    def __matmul__(self, other: Observable) -> PauliSum:
        if not isinstance(other, PauliSum):
            return cast("PauliSum", super().__matmul__(other))
        terms: dict[Word, Coefficient] = {}
        for a, c in self._terms.items():
            for b, d in other._terms.items():
                word, phase = multiply_words(a, b)
                product = c * d * phase
                known = terms.get(word)
                terms[word] = product if known is None else known + product
        return PauliSum._of(terms, common_width(self, other))

    def __repr__(self) -> str:
        if self._terms and self.width is None:
            return super().__repr__()
        shown = [
            f"{word.label(self.width or 0)!r}: {coefficient_text(coefficient)}"
            for word, coefficient in list(self._terms.items())[:SHOWN_TERMS]
        ]
        more = f", ... ({self.num_terms} terms)" if self.num_terms > len(shown) else ""
        return f"PauliSum({{{', '.join(shown)}{more}}})" if shown else "PauliSum()"


PauliSum._sum_class = PauliSum


class PauliWord(PauliSum):
    """One Pauli word with coefficient 1; arithmetic gives a ``PauliSum``.

    Args:
        letters: a label (rightmost letter on qubit 0), of the circuit's width; or letters by qubit,
            which fit any width.

    Raises:
        ObservableError: letters other than I, X, Y, Z.
        QubitError: a qubit that is no non-negative integer.

    >>> PauliWord("XZ"), PauliWord({0: "Z", 4: "X"})
    (PauliWord('XZ'), Z(0) @ X(4))
    """

    def __init__(self, letters: str | Mapping[int, str]) -> None:
        if isinstance(letters, str):
            self._set({parse_label(letters): 1.0}, len(letters))
            return
        if not isinstance(letters, Mapping):
            raise ObservableError(
                f"PauliWord needs a label or letters by qubit, got {type(letters).__name__} "
                f"{letters!r:.60}. Write PauliWord('XZ') or PauliWord({{0: 'Z', 1: 'X'}})."
            )
        x_mask = z_mask = 0
        for qubit, letter in letters.items():
            (q,) = qubit_tuple(qubit)
            single = parse_label(letter)
            if len(letter) != 1:
                raise ObservableError(
                    f"PauliWord needs one letter a qubit, got {letter!r} for qubit {q}. Split it."
                )
            x_mask, z_mask = x_mask | single.x_mask << q, z_mask | single.z_mask << q
        self._set({Word(x_mask, z_mask): 1.0}, None)

    @property
    def letters(self) -> dict[int, str]:
        """The letters other than I, by qubit."""
        (word,) = self._terms
        return word.letters()

    def __repr__(self) -> str:
        return Observable.__repr__(self)


def I(qubit: int) -> PauliWord:  # noqa: E743 - the field's name
    """Return the identity, whatever the qubit. It fits any width."""
    return PauliWord({qubit: "I"})


def X(qubit: int) -> PauliWord:
    """Return Pauli X on a qubit; it fits any width."""
    return PauliWord({qubit: "X"})


def Y(qubit: int) -> PauliWord:
    """Return Pauli Y on a qubit; it fits any width."""
    return PauliWord({qubit: "Y"})


def Z(qubit: int) -> PauliWord:
    """Return Pauli Z on a qubit; it fits any width."""
    return PauliWord({qubit: "Z"})


def commutator(a: PauliSum, b: PauliSum) -> Observable:
    """Return a b - b a, without the terms that cancel.

    >>> commutator(X(0), Y(0))
    2j * Z(0)
    """
    return (a @ b - b @ a).simplify(0.0)


def parse_label(label: Any) -> Word:  # Any: whatever the user gave
    """Return the word of a label, or refuse.

    Raises:
        ObservableError: no text, no letters, or letters other than I, X, Y, Z.

    >>> parse_label("YX")
    Word(x_mask=3, z_mask=2)
    """
    if not isinstance(label, str) or not label or label.strip("IXYZ"):
        raise ObservableError(
            f"a Pauli label needs letters I, X, Y, Z, got {label!r:.60}. "
            "Write one capital letter a qubit, qubit 0 on the right."
        )
    return Word(int(label.translate(_X_BITS), 2), int(label.translate(_Z_BITS), 2))


def _parse(pairs: Iterable[Any]) -> tuple[dict[Word, Coefficient], int | None]:
    """Return the terms and the width of (label, coefficient) pairs."""
    terms: dict[Word, Coefficient] = {}
    width = None
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ObservableError(
                f"PauliSum needs (label, coefficient) pairs, got {pair!r:.60}. "
                "Write [('ZZ', 1.0), ('IX', 0.5)]."
            )
        label, value = pair
        word = parse_label(label)
        if width is None:
            width = len(label)
        elif len(label) != width:
            raise ObservableError(
                f"PauliSum needs labels of one length, got {label!r} after labels of {width} "
                "letters. Give one letter a qubit."
            )
        coefficient = as_coefficient(value)
        known = terms.get(word)
        terms[word] = coefficient if known is None else known + coefficient
    return terms, width
