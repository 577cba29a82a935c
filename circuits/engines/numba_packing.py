"""Plans and observables as the compiled drivers read them: arrays, made once, without angles.

Of a call's tables, all half-angles are made by one cosine and one sine, and the matrices of all
steps with the same function by one call of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from circuits.engines import numba_kernels as kernels
from circuits.engines.base import Wanted, check_batch
from circuits.plan.steps import ComplexArray, MatrixFunction, Plan, RealArray, Step, Structure
from circuits.plan.terms import MatrixTerm, PauliTerm, ProjectorTerm, Terms

Integers = NDArray[np.int64]
Complex = np.dtype[np.complexfloating[Any, Any]]


@dataclass(frozen=True, eq=False)
class MatrixGroup:
    """Steps whose matrices one function makes.

    Attributes:
        function: of the steps.
        derivative: of the steps.
        slots: ``(G, p)``, the columns of the angle table of each.
        start: first column in the table ``BOUND``.
        derivative_start: first column in the table ``DERIVATIVES``.
    """

    function: MatrixFunction
    derivative: MatrixFunction
    slots: Integers
    start: int
    derivative_start: int


@dataclass(frozen=True, eq=False)
class PackedPlan:
    """A plan as the drivers read it, and how to fill its tables.

    Attributes:
        code: instructions ``(S, COLUMNS)``, and the integers that they point into.
        fixed: the table ``FIXED``, ``(1, F)``, by precision.
        rotation_slots: columns of the angle table of the rotations, the first columns of ``BOUND``.
        groups: what makes the other columns.
        bound: columns of ``BOUND``.
        derivatives: columns of ``DERIVATIVES``.
        given: first column in ``GIVEN`` and number of rows of the matrices given for a call.
        given_width: columns of ``GIVEN``.
        num_slots: columns of the angle table.
        widths: the most rows of a matrix and the most entries of an environment.
        first_angle: first instruction with a slot, or S.
        first_matrix: first instruction with a matrix given for the call, or S.
    """

    code: tuple[Integers, Integers]
    fixed: dict[Complex, ComplexArray]
    rotation_slots: Integers
    groups: tuple[MatrixGroup, ...]
    bound: int
    derivatives: int
    given: dict[int, tuple[int, int]]
    given_width: int
    num_slots: int
    widths: tuple[int, int]
    first_angle: int
    first_matrix: int

    def stop(self, wanted: Wanted) -> int:
        """Return the first instruction that the reverse sweep has to undo."""
        if wanted.state:
            return 0
        ends = [len(self.code[0])]
        ends += [self.first_angle] if wanted.angles else []
        ends += [self.first_matrix] if wanted.matrices else []
        return min(ends)

    def tables(
        self,
        angles: RealArray,
        matrices: Sequence[ComplexArray],
        dtype: Complex,
        *,
        derive: bool = False,
    ) -> kernels.Tables:
        """Return the tables of a call, with the derivatives filled in where ``derive``."""
        if dtype not in self.fixed:
            self.fixed[dtype] = self.fixed[np.dtype(np.complex128)].astype(dtype)
        bound = np.empty((len(angles), self.bound), dtype)
        derivatives = np.empty((len(angles), self.derivatives if derive else 0), dtype)
        count = len(self.rotation_slots)
        if count:
            half = 0.5 * angles[:, self.rotation_slots]
            bound.real[:, :count] = np.cos(half)
            bound.imag[:, :count] = np.sin(half)
        for group in self.groups:
            values = angles[:, group.slots]
            _fill(bound, group.start, group.function(values))
            if derive:
                _fill(derivatives, group.derivative_start, group.derivative(values))
        given = np.empty((check_batch(matrices), self.given_width), dtype)
        for source, (start, _) in self.given.items():
            _fill(given, start, matrices[source])
        return self.fixed[dtype], bound, given, derivatives

    def split(
        self, gradients: ComplexArray, matrices: Sequence[ComplexArray], dtype: Complex
    ) -> tuple[ComplexArray, ...]:
        """Return the gradient ``(B, d, d)`` of every matrix, cut from those of ``GIVEN``."""
        out = [np.zeros((len(gradients), *matrix.shape[1:]), dtype) for matrix in matrices]
        for source, (start, rows) in self.given.items():
            block = gradients[:, start : start + rows * rows]
            out[source][...] = block.reshape(-1, rows, rows)
        return tuple(out)


def _fill(table: ComplexArray, start: int, blocks: ComplexArray) -> None:
    """Write ``blocks`` ``(B or 1, ...)`` into the columns from ``start``."""
    flat = blocks.reshape(len(blocks), -1)
    table[:, start : start + flat.shape[1]] = flat


@dataclass
class _Packer:
    """Collects the arrays of a :class:`PackedPlan` step by step."""

    rows: list[list[int]] = field(default_factory=list)
    integers: list[int] = field(default_factory=list)
    fixed: list[NDArray[Any]] = field(default_factory=list)
    rotation_slots: list[int] = field(default_factory=list)
    alike: dict[tuple[Any, ...], list[int]] = field(default_factory=dict)
    given: dict[int, tuple[int, int]] = field(default_factory=dict)
    fixed_size: int = 0
    given_size: int = 0

    def add(self, step: Step) -> None:
        """Append the instruction of a step."""
        row = [0] * kernels.COLUMNS
        row[kernels.PINNED] = step.control_mask
        row[kernels.VALUE] = step.control_value
        row[kernels.SLOT], row[kernels.SLOTS] = len(self.integers), len(step.slots)
        self.integers += step.slots
        if step.structure is Structure.ROTATION:
            self._add_rotation(row, step)
        else:
            self._add_local(row, step)
        self.rows.append(row)

    def _add_rotation(self, row: list[int], step: Step) -> None:
        x, z = step.x_mask, step.z_mask
        row[kernels.KIND] = kernels.ROTATION if x else kernels.PARITY
        row[kernels.X_MASK], row[kernels.Z_MASK] = x, z
        row[kernels.QUARTERS] = (x & z).bit_count() % 4
        if step.angle is not None:
            self._add_fixed(row, np.exp(np.array([0.5j * step.angle])))
        else:
            row[kernels.TABLE], row[kernels.ENTRY] = kernels.BOUND, len(self.rotation_slots)
            self.rotation_slots += step.slots

    def _add_local(self, row: list[int], step: Step) -> None:
        places = np.zeros(1, np.int64)
        for qubit in step.targets:
            row[kernels.PINNED] |= 1 << qubit
            places = np.concatenate([places, places | (1 << qubit)])
        if step.structure is Structure.PERMUTATION:
            row[kernels.KIND] = kernels.EXCHANGE
            places = places[transpositions(cast(Integers, step.permutation))]
        else:
            diagonal = step.structure is Structure.DIAGONAL
            row[kernels.KIND] = kernels.DIAGONAL if diagonal else kernels.DENSE
            self._add_numbers(row, step, len(places))
        row[kernels.LOCAL], row[kernels.SIZE] = len(self.integers), len(places)
        self.integers += places.tolist()

    def _add_numbers(self, row: list[int], step: Step, size: int) -> None:
        if step.source is not None:
            if step.source not in self.given:
                self.given[step.source] = (self.given_size, size)
                self.given_size += size * size
            row[kernels.TABLE], row[kernels.ENTRY] = kernels.GIVEN, self.given[step.source][0]
        elif step.function is not None:
            row[kernels.TABLE] = kernels.BOUND
            key = (step.function, step.derivative, len(step.slots))
            self.alike.setdefault(key, []).append(len(self.rows))
        else:
            self._add_fixed(row, cast(ComplexArray, step.matrix).ravel())

    def _add_fixed(self, row: list[int], numbers: NDArray[Any]) -> None:
        row[kernels.TABLE], row[kernels.ENTRY] = kernels.FIXED, self.fixed_size
        self.fixed.append(numbers)
        self.fixed_size += len(numbers)

    def finish(self, num_slots: int) -> PackedPlan:
        """Place the columns that functions make, and turn lists into arrays."""
        ops = np.array(self.rows, np.int64).reshape(-1, kernels.COLUMNS)
        integers = np.array(self.integers, np.int64)
        entries = np.where(ops[:, kernels.KIND] == kernels.DENSE, 2, 1)
        entries = ops[:, kernels.SIZE] ** entries
        bound, derivatives, groups = len(self.rotation_slots), 0, []
        for (function, derivative, count), members in self.alike.items():
            size = int(entries[members[0]])
            order = np.arange(len(members))
            ops[members, kernels.ENTRY] = bound + size * order
            ops[members, kernels.DERIVATIVE] = derivatives + size * count * order
            slots = integers[ops[members, kernels.SLOT, None] + np.arange(count)]
            groups.append(MatrixGroup(function, derivative, slots, bound, derivatives))
            bound += size * len(members)
            derivatives += size * count * len(members)
        dense = ops[ops[:, kernels.KIND] == kernels.DENSE, kernels.SIZE]
        fixed = np.concatenate([np.zeros(0), *self.fixed]).astype(np.complex128)
        return PackedPlan(
            code=(ops, integers),
            fixed={np.dtype(np.complex128): fixed[None]},
            rotation_slots=np.array(self.rotation_slots, np.int64),
            groups=tuple(groups),
            bound=bound,
            derivatives=derivatives,
            given=self.given,
            given_width=self.given_size,
            num_slots=num_slots,
            widths=(int(dense.max(initial=1)), int(entries.max(initial=1))),
            first_angle=_first(ops[:, kernels.SLOTS] > 0),
            first_matrix=_first(ops[:, kernels.TABLE] == kernels.GIVEN),
        )


def _first(flags: NDArray[np.bool_]) -> int:
    """Return the position of the first true flag, or their number."""
    return int(flags.argmax()) if flags.any() else len(flags)


def transpositions(permutation: Integers) -> list[int]:
    """Return local states a0, b0, a1, b1, ... that, swapped pair by pair, move j to permutation[j].

    >>> transpositions(np.array([1, 2, 0, 3]))
    [0, 1, 0, 2]
    """
    out: list[int] = []
    seen: set[int] = set()
    for start in range(len(permutation)):
        if start in seen:
            continue
        state = int(permutation[start])
        while state != start:
            seen.add(state)
            out += [start, state]
            state = int(permutation[state])
    return out


def pack_plan(plan: Plan) -> PackedPlan:
    """Return the packed form of a plan."""
    packer = _Packer()
    for step in plan.steps:
        packer.add(step)
    return packer.finish(plan.num_slots)


@dataclass(frozen=True, eq=False)
class PackedTerms:
    """Observables as the drivers read them.

    Attributes:
        paulis: groups of words, words and projectors; the kernels name their columns.
        rows: ``(T,)``, the observable of each term.
        others: position and operator of every other term: a plan of one step, or a sparse matrix
            (Any: SciPy's classes are known only where it is installed).
    """

    paulis: tuple[Integers, Integers, Integers]
    rows: Integers
    others: tuple[tuple[int, Any], ...] = ()


def pack_terms(terms: Terms) -> PackedTerms:
    """Return the packed form of observables."""
    words: list[tuple[int, PauliTerm]] = []
    projectors: list[tuple[int, int, int]] = []
    others: list[tuple[int, Any]] = []
    for position, term in enumerate(terms.terms):
        if isinstance(term, PauliTerm):
            words.append((position, term))
        elif isinstance(term, ProjectorTerm):
            projectors.append((term.mask, term.value, position))
        elif isinstance(term, MatrixTerm):
            step = Step(Structure.DENSE, term.targets, matrix=term.matrix)
            others.append((position, pack_plan(Plan(terms.num_qubits, (step,), 0))))
        else:
            from scipy.sparse import csr_array

            size = 1 << terms.num_qubits
            data = (term.data, term.indices, term.indptr)
            others.append((position, csr_array(data, shape=(size, size))))
    return PackedTerms(
        paulis=(*_pack_words(words), np.array(projectors, np.int64).reshape(-1, 3)),
        rows=np.array(terms.rows, np.int64),
        others=tuple(others),
    )


def _pack_words(words: Sequence[tuple[int, PauliTerm]]) -> tuple[Integers, Integers]:
    """Return groups, by x mask and parity of the power of i, and the words in their order.

    A word's value is the real part of i**q times a sum, so +-1 times its real or imaginary part.
    """
    alike: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for position, term in words:
        quarters = (term.x_mask & term.z_mask).bit_count() % 4
        sign = -1 if quarters in (1, 2) else 1
        group = alike.setdefault((term.x_mask, quarters % 2), [])
        group.append((term.z_mask, sign, position))
    rows: list[tuple[int, ...]] = []
    ordered: list[tuple[int, int, int]] = []
    for (flip, odd), group in alike.items():
        low = int(np.bitwise_or.reduce([z for z, _, _ in group])) % kernels.BLOCK
        highest = 1 << flip.bit_length() >> 1
        half = highest if highest >= kernels.BLOCK else 0
        rows.append((flip, odd, low, half, len(ordered), len(ordered) + len(group)))
        ordered += group
    return np.array(rows, np.int64).reshape(-1, 6), np.array(ordered, np.int64).reshape(-1, 3)
