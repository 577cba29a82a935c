"""A first look at an OpenQASM program: its version, and whether its size can be sane.

Parsers allocate what a program declares, and recurse as deep as it nests. So sizes, nesting and the
number of gates after expansion are bounded here, in one pass over the words, before any parser sees
the text. Everything else is left to the parser.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import NamedTuple

from circuits.errors import ConversionError

MAX_CHARACTERS = 1 << 24
MAX_BITS = 1 << 12
"""Bound of all qubits, and of all classical bits; of each size and number of controls too."""
MAX_GATES = 1 << 20
"""Bound of the gates that definitions, loops, powers and registers expand to."""
MAX_DEFINITIONS = 1 << 12
"""Bound of the gates that a program defines: the time of Qiskit's parser grows as their square."""
MAX_DEPTH = 64
MAX_DIGITS = 18
"""Bound of the digits of an index, and of a version."""
MAX_OPERATORS = 1000
"""Bound of the operators of one statement: parsers recurse along them."""

UNCHECKED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    TypeError,
    ValueError,
)
"""What the parsers of others let out for faults that they do not check."""

_WORDS = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*(?:.*?\*/|.*)|"[^"\n]*"|'[^'\n]*')
    |(?P<number>(?:0[xXbBoO][\da-fA-F_]+)|(?:\d[\d_]*\.?[\d_]*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>[^\W\d]\w*)
    |(?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
# Most statements are such calls, and need no second look: name(angles) q[0], q[1];
_CALL = re.compile(
    r"\s*(?P<name>[^\W\d]\w*)(?:\s*\([^();{}@/]{0,200}\)\s*|\s+)"
    r"[^\W\d]\w*\[\d{1,18}\](?:\s*,\s*[^\W\d]\w*\[\d{1,18}\]){0,9}\s*;"
)
_DECIMAL = re.compile(r"\d{1,12}|(?=[\d.])\d*\.?\d*(?:[eE][+-]?\d+)?")
_PREFIXED = re.compile(r"0[xXbBoO][\da-fA-F]{1,12}")
_SIZES = {"qreg": 0, "qubit": 0, "creg": 1, "bit": 1}
_OPERATORS = frozenset("+-*/%^~!<>&|@")
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")


class Word(NamedTuple):
    """A number, a name or a mark of the program, and where it starts."""

    text: str
    start: int


@dataclass
class _Block:
    """What stands in braces: a gate's definition, or statements that are repeated."""

    gate: str | None
    times: int
    weight: int = 0


def refused(version: str, line: int, column: int, why: str, remedy: str) -> ConversionError:
    """Return the error for a place in a program; line and column count from 1."""
    return ConversionError(
        f"from_qasm needs a valid OpenQASM {version} program, got line {line}, column {column}: "
        f"{why.removesuffix('.')}. {remedy}"
    )


def scan_program(text: str) -> int:
    """Return the version of a program, 2 or 3.

    Raises:
        ConversionError: no version, or a program that is too large, with line and column.

    Example:
        >>> scan_program("OPENQASM 3.0; qubit[2] q;")
        3
    """
    if not isinstance(text, str) or len(text) > MAX_CHARACTERS:
        raise ConversionError(
            f"from_qasm needs a program of at most {MAX_CHARACTERS} characters, got "
            f"{len(text) if isinstance(text, str) else type(text).__name__}. "
            "Give text, or the path of a file."
        )
    return _Scan(text).run()


def _starts_set(statement: Sequence[Word]) -> bool:
    """Whether the brace at the end opens a set or an array literal, not a block."""
    return statement[-1].text == "{" and len(statement) > 1 and statement[-2].text in ("in", "=")


class _Scan:
    def __init__(self, text: str) -> None:
        self.text = text
        self.version = ""
        self.totals = [0, 0]
        self.registers: dict[str, int] = {}
        self.weights: dict[str, int] = {}
        self.blocks = [_Block(None, 1)]

    def run(self) -> int:
        statement: list[Word] = []
        depth, operators, sets = 0, 0, 0
        position = 0
        while match := _WORDS.match(self.text, position):
            call = None if statement else _CALL.match(self.text, position)
            if call and call["name"] not in _SIZES:
                self._add(self.weights.get(call["name"], 1), call.start("name"))
                position = call.end()
                continue
            position = match.end()
            kind = match.lastgroup
            if kind == "space":
                continue
            word = Word(match[0], match.start())
            statement.append(word)
            if kind != "mark":
                self._check_digits(statement)
                continue
            mark = word.text
            if mark in _OPEN or mark in _CLOSE:
                depth += 1 if mark in _OPEN else -1
            operators += mark in _OPERATORS
            if depth > MAX_DEPTH or operators > MAX_OPERATORS:
                most = f"{MAX_DEPTH} levels and {MAX_OPERATORS} operators a statement"
                raise self._refused(word.start, f"more than {most}", "Write it with less nesting.")
            if mark in "{}" and (sets or _starts_set(statement)):
                sets += 1 if mark == "{" else -1
            elif mark in ";{}":
                self._statement(statement[:-1], word)
                statement, operators = [], 0
        if self.version not in ("2", "3"):
            raise ConversionError(
                f"from_qasm needs OpenQASM 2 or 3, got version {self.version or 'none'!r}. "
                "Begin the program with 'OPENQASM 3.0;'; of a file, pass its text."
            )
        return int(self.version)

    def _check_digits(self, statement: Sequence[Word]) -> None:
        """Refuse an index or a version that no integer holds: Qiskit's parser ends the program."""
        *_, before, word = ("", "", *[w.text for w in statement[-2:]])
        index = before == "[" and statement[0].text not in _SIZES
        if len(word) > MAX_DIGITS and (index or before == "OPENQASM"):
            why = f"a number of more than {MAX_DIGITS} digits"
            raise self._refused(statement[-1].start, why, "Write a small literal.")

    def _statement(self, words: Sequence[Word], end: Word) -> None:
        if end.text == "}":
            self._close()
        if not words:
            if end.text == "{":
                self.blocks.append(_Block(None, 1))
            return
        first = words[0].text
        if first == "OPENQASM" and len(words) > 1:
            self.version = words[1].text.partition(".")[0]
        elif end.text == "{":
            gate = words[1].text if first == "gate" and len(words) > 1 else None
            if gate is not None and len(self.weights) == MAX_DEFINITIONS:
                why = f"more than {MAX_DEFINITIONS} gate definitions"
                raise self._refused(words[0].start, why, "Define what is used.")
            times = self._iterations(words) if first == "for" else 1
            self.blocks.append(_Block(gate, times))
        elif first in _SIZES:
            self._declare(words)
        else:
            self._count(words)

    def _close(self) -> None:
        if len(self.blocks) == 1:
            return  # one brace too many: the parser says so
        block = self.blocks.pop()
        weight = min(block.times * block.weight, MAX_GATES + 1)
        if block.gate is None:
            self.blocks[-1].weight += weight
        else:
            self.weights[block.gate] = weight

    def _declare(self, words: Sequence[Word]) -> None:
        """Add the size of ``qreg q[2]``, ``qubit[2] q`` or ``qubit q`` to those before."""
        sizes = self._bracketed(words)
        size = self._integer(sizes, "a register's size") if sizes else 1
        names = [word.text for word in words[1:] if word.text.isidentifier()]
        kind = _SIZES[words[0].text]
        self.totals[kind] += size
        if self.totals[kind] > MAX_BITS:
            raise self._refused(
                words[0].start, f"more than {MAX_BITS} bits in registers", "Declare what is used."
            )
        if names:
            self.registers[names[0]] = size

    def _count(self, words: Sequence[Word]) -> None:
        """Add the gates that a statement stands for."""
        at = max([k for k, word in enumerate(words) if word.text == "@"], default=-1)
        times = self._modifiers(words[: at + 1])
        call = words[at + 1 :]
        if not call:
            return
        if call[0].text == "for":  # without braces: one statement is repeated
            times *= self._iterations(words)
        weight = times
        weight *= max([self.weights.get(word.text, 1) for word in call])
        weight *= max([self._broadcast(call, k) for k in range(len(call))])
        self._add(weight, words[0].start)

    def _add(self, weight: int, start: int) -> None:
        """Add to the gates of the innermost block, or refuse when they are too many."""
        block = self.blocks[-1]
        block.weight = min(block.weight + weight, MAX_GATES + 1)
        in_gate = any(b.gate is not None for b in self.blocks)
        if not in_gate and block.weight * prod([b.times for b in self.blocks]) > MAX_GATES:
            raise self._refused(
                start, f"more than {MAX_GATES} gates after expansion", "Take a part of it."
            )

    def _broadcast(self, call: Sequence[Word], k: int) -> int:
        """Return the size of a register that stands without an index, else 1."""
        size = self.registers.get(call[k].text, 1)
        indexed = k + 1 < len(call) and call[k + 1].text == "["
        return 1 if indexed else size

    def _modifiers(self, words: Sequence[Word]) -> int:
        """Return how often the modifiers repeat a gate; refuse absurd numbers of controls."""
        times = 1
        for k, word in enumerate(words):
            if word.text not in ("pow", "ctrl", "negctrl") or words[k + 1].text != "(":
                continue
            closing = next((j for j in range(k, len(words)) if words[j].text == ")"), len(words))
            given = [w for w in words[k + 2 : closing] if w.text != "-"] or [word]
            if word.text == "pow":
                times *= max(1, self._integer(given, "a power", MAX_GATES))
            else:
                self._integer(given, "a number of controls")
        return times

    def _iterations(self, words: Sequence[Word]) -> int:
        """Return how often a loop runs: over [start:end], [start:step:end] or {a, b, c}."""
        texts = [word.text for word in words]
        start = texts.index("in") + 1 if "in" in texts else len(texts)
        if texts[start : start + 1] == ["{"]:
            return 1 + texts[start:].count(",")
        inside = self._bracketed(words[start:]) if texts[start : start + 1] == ["["] else []
        if not inside:
            return 1  # over a register or an alias, whose size is bounded
        parts: list[list[Word]] = [[]]
        for word in inside:
            if word.text == ":":
                parts.append([])
            else:
                parts[-1].append(word)
        numbers = [self._signed(part, words[0]) for part in parts]
        step = numbers[1] if len(numbers) == 3 and numbers[1] else 1
        return max((numbers[-1] - numbers[0]) // step + 1, 1)

    def _bracketed(self, words: Sequence[Word]) -> list[Word]:
        """Return what stands in the first square brackets."""
        texts = [word.text for word in words]
        if "[" not in texts:
            return []
        start = texts.index("[") + 1
        end = texts.index("]", start) if "]" in texts[start:] else len(texts)
        return list(words[start:end])

    def _signed(self, part: Sequence[Word], near: Word) -> int:
        minus = bool(part) and part[0].text == "-"
        if not part[minus:]:
            raise self._refused(near.start, "a range without numbers", "Give integers.")
        size = self._integer(part[minus:], "a range's bound", MAX_GATES)
        return -size if minus else size

    def _integer(self, words: Sequence[Word], what: str, most: int = MAX_BITS) -> int:
        """Return a literal, rounded up to an integer, or refuse."""
        text = words[0].text.replace("_", "") if len(words) == 1 else ""
        number = float(most + 1)
        if _DECIMAL.fullmatch(text):
            number = float(text)
        elif _PREFIXED.fullmatch(text):
            number = int(text, 0)
        if number > most:
            raise self._refused(
                words[0].start, f"{what} that is no number up to {most}", "Write a small literal."
            )
        return ceil(number)

    def _refused(self, start: int, why: str, remedy: str) -> ConversionError:
        line = self.text.count("\n", 0, start) + 1
        column = start - self.text.rfind("\n", 0, start)
        return refused(self.version or "2 or 3", line, column, why, remedy)
