"""First pass: steps to blocks.

Runs of one-qubit gates become one block in SU(2), however many angles they have; what remains of
them is a global phase, of which controlled gates make a phase on their controls. Linear maps of
basis states become CX, exchanges of qubits rename wires, other permutations become exchanges of two
basis states.
"""

from __future__ import annotations

from math import atan2, cos, fsum, pi, sin
from typing import cast

import numpy as np
from numpy.typing import NDArray

from circuits.plan.blocks import (
    Block,
    Constant,
    Controls,
    Cx,
    Exchange,
    Function,
    Fused,
    Given,
    Made,
    Matrix,
    Phase,
    Quaternion,
    Slot,
    Source,
    Table,
    Turn,
    Word,
    quaternion_product,
    split_unitaries,
    step_controls,
)
from circuits.plan.linear import affine_part, cx_circuit
from circuits.plan.steps import ComplexArray, Plan, Step, Structure

_LETTERS = {"X": 0, "Y": 1, "Z": 2}
_X = Constant((0.0, 1.0, 0.0, 0.0))
_IDENTITY: Quaternion = (1.0, 0.0, 0.0, 0.0)


def fuse(plan: Plan) -> Fused:
    """Return the plan as blocks.

    >>> steps = [Step(Structure.ROTATION, (0,), slots=(s,), word=w) for s, w in enumerate("YZ")]
    >>> fuse(Plan(1, tuple(steps), 2)).blocks
    (Turn(wire=0, factors=(Slot(column=0, axis=1), Slot(column=1, axis=2)), controls=()),)
    """
    fuser = _Fuser(plan)
    for step in plan.steps:
        fuser.add(step)
    return fuser.finish()


class _Fuser:
    """Blocks so far, and the factors that wait on every wire."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.blocks: list[Block] = []
        self.wires = list(range(plan.num_qubits))
        self.waiting: list[list[Source]] = [[] for _ in self.wires]
        self.groups: dict[object, int] = {}
        self.functions: list[Function] = []
        # Added up exactly at the end: a running sum over many gates would round by its own size.
        self.phases: list[float] = []
        self.phase_slots: list[int] = []
        self.matrices: dict[int, int] = {}

    def add(self, step: Step) -> None:
        """Add a step."""
        wires = tuple([self.wires[q] for q in step.targets])
        controls = step_controls(step, self.wires)
        if step.structure is Structure.ROTATION:
            self._add_rotation(step, wires, controls)
        elif step.structure is Structure.PERMUTATION:
            images = cast(NDArray[np.int64], step.permutation)
            self._add_permutation(images, step.targets, wires, controls)
        elif step.source is not None:
            self.matrices[step.source] = 1 << len(wires)
            self._emit(Matrix(wires, Given(step.source), controls), wires, controls)
        elif len(wires) > 1:
            source = self._source(step, 1 << len(wires), controls)
            kind = Table if step.structure is Structure.DIAGONAL else Matrix
            self._emit(kind(wires, source, controls), wires, controls)
        elif step.function is not None:
            self._add_function(step, wires, controls)
        else:
            self._add_fixed(cast(ComplexArray, step.matrix), wires, controls)

    def finish(self) -> Fused:
        """Flush what waits."""
        for wire in range(self.plan.num_qubits):
            self._flush(wire)
        return Fused(
            self.plan.num_qubits,
            self.plan.num_slots,
            tuple(self.blocks),
            tuple(self.wires),
            tuple(self.functions),
            fsum(self.phases),
            tuple(self.phase_slots),
            self.matrices,
        )

    # -- steps by structure

    def _add_rotation(self, step: Step, wires: tuple[int, ...], controls: Controls) -> None:
        letters = [(w, a) for w, a in zip(wires, step.word or "", strict=True) if a != "I"]
        half = 0.0 if step.angle is None else 0.5 * step.angle
        if len(letters) == 1 and not controls:
            ((wire, letter),) = letters
            axis = _LETTERS[letter]
            if step.angle is None:
                self.waiting[wire].append(Slot(step.slots[0], axis))
                return
            number = [cos(half), 0.0, 0.0, 0.0]
            number[1 + axis] = sin(half)
            self._wait(wire, Constant(tuple(number)))
            return
        x = sum(1 << w for w, letter in letters if letter != "Z")
        z = sum(1 << w for w, letter in letters if letter != "X")
        fixed = Constant((cos(half), sin(half) if x else -sin(half)))
        source = Slot(step.slots[0]) if step.angle is None else fixed
        touched = tuple([w for w, _ in letters])
        if x:
            self._emit(Word(x, z, source, controls), touched, controls)
        elif z or controls:
            self._emit(Phase(z, source, controls), touched, controls)
        elif step.angle is None:
            self.phase_slots.append(step.slots[0])
        else:
            self.phases.append(-half)

    def _add_permutation(
        self,
        images: NDArray[np.int64],
        targets: tuple[int, ...],
        wires: tuple[int, ...],
        controls: Controls,
    ) -> None:
        if len(controls) == 1 and len(wires) == 1:
            if images[0] == 1:
                self._cx(controls[0][0], wires[0])
                if controls[0][1] == 0:
                    self._flip(wires[0])
            return
        affine = None if controls else affine_part(images)
        if affine is None:
            for first, second in transpositions(images):
                self._emit(Exchange(wires, first, second, controls), wires, controls)
            return
        order, pairs = cx_circuit(affine[0])
        for k, origin in enumerate(order):
            self.wires[targets[k]] = wires[origin]
        for control, target in pairs:
            self._cx(self.wires[targets[control]], self.wires[targets[target]])
        for k, q in enumerate(targets):
            if (affine[1] >> k) & 1:
                self._flip(self.wires[q])

    def _cx(self, control: int, target: int) -> None:
        self._emit(Cx(control, target), (control, target), ())

    def _flip(self, wire: int) -> None:
        """X = i (-i X)."""
        self._wait(wire, _X)
        self.phases.append(pi / 2)

    def _source(self, step: Step, size: int, controls: Controls) -> Source:
        if step.function is not None:
            return self._member(step, size, bool(controls))
        flat = np.asarray(step.matrix, np.complex128).ravel().view(np.float64)
        return Constant(tuple(flat.tolist()))

    def _member(self, step: Step, size: int, controlled: bool) -> Made:
        diagonal = step.structure is Structure.DIAGONAL
        key = (step.function, step.derivative, step.spectra, len(step.slots), size, diagonal)
        group = self.groups.setdefault(key, len(self.functions))
        if group == len(self.functions):
            assert step.function is not None
            assert step.derivative is not None
            what = (step.function, step.derivative, size, diagonal, step.spectra)
            self.functions.append(Function(*what))
        found = self.functions[group]
        found.slots.append(step.slots)
        found.controlled.append(controlled)
        return Made(group, len(found.slots) - 1)

    def _add_function(self, step: Step, wires: tuple[int, ...], controls: Controls) -> None:
        source = self._member(step, 1 << len(wires), bool(controls))
        if controls:
            self._emit(Phase(0, source, controls), (), controls)
        if not wires:
            return
        if controls:
            self._emit(Turn(wires[0], (source,), controls), wires, controls)
        else:
            self.waiting[wires[0]].append(source)

    def _add_fixed(self, matrix: ComplexArray, wires: tuple[int, ...], controls: Controls) -> None:
        if not wires:
            self._add_phase(float(np.angle(matrix.ravel()[0])), controls)
            return
        if matrix.ndim == 1 and controls:
            for bit in (0, 1):
                self._add_phase(float(np.angle(matrix[bit])), (*controls, (wires[0], bit)))
            return
        quaternion, angle = split_unitaries(np.diag(matrix) if matrix.ndim == 1 else matrix)
        constant = Constant(tuple(quaternion.tolist()))
        self._add_phase(float(angle), controls)
        if controls:
            self._emit(Turn(wires[0], (constant,), controls), wires, controls)
        else:
            self._wait(wires[0], constant)

    def _add_phase(self, angle: float, controls: Controls) -> None:
        """Add a fixed phase, global or on what the controls select."""
        if not controls:
            self.phases.append(angle)
        elif angle:
            self._emit(Phase(0, Constant((cos(angle), sin(angle))), controls), (), controls)

    # -- waiting factors

    def _wait(self, wire: int, constant: Constant) -> None:
        """Let a constant factor wait, merged with one before it."""
        waiting = self.waiting[wire]
        if waiting and isinstance(waiting[-1], Constant):
            before = cast(Constant, waiting.pop())
            product = quaternion_product(
                cast(Quaternion, constant.values), cast(Quaternion, before.values)
            )
            constant = Constant(product)
        waiting.append(constant)

    def _emit(self, block: Block, wires: tuple[int, ...], controls: Controls) -> None:
        """Append a block after what waits on its wires."""
        for wire in wires:
            self._flush(wire)
        for wire, _ in controls:
            self._flush(wire)
        self.blocks.append(block)

    def _flush(self, wire: int) -> None:
        """Make a block of what waits on a wire; of a single factor, the cheapest one."""
        factors = self.waiting[wire]
        if not factors:
            return
        self.waiting[wire] = []
        if len(factors) > 1 or isinstance(factors[0], Made):
            self.blocks.append(Turn(wire, tuple(factors)))
            return
        (factor,) = factors
        if isinstance(factor, Slot):
            x, z = int(factor.axis != 2) << wire, int(factor.axis != 0) << wire
            slot = Slot(factor.column)
            self.blocks.append(Word(x, z, slot) if x else Phase(z, slot))
            return
        quaternion = cast(Quaternion, cast(Constant, factor).values)
        if quaternion[1] == 0 and quaternion[2] == 0:
            angle = 2 * atan2(quaternion[3], quaternion[0])
            self.phases.append(-angle / 2)
            if angle:
                constant = Constant((cos(angle), sin(angle)))
                self.blocks.append(Phase(0, constant, ((wire, 1),)))
            return
        self.blocks.append(Turn(wire, (factor,)))


def transpositions(images: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return pairs of local states that, exchanged one pair after the other, move j to images[j].

    >>> transpositions(np.array([1, 2, 0, 3]))
    [(0, 1), (0, 2)]
    """
    pairs: list[tuple[int, int]] = []
    seen: set[int] = set()
    for start in range(len(images)):
        if start in seen:
            continue
        state = int(images[start])
        while state != start:
            seen.add(state)
            pairs.append((start, state))
            state = int(images[state])
    return pairs
