"""Blocks as steps again, so that dense matrices can be built of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from circuits.plan.blocks import (
    Block,
    Constant,
    Cx,
    Exchange,
    Fused,
    Given,
    Made,
    Matrix,
    Phase,
    Slot,
    Source,
    Table,
    Turn,
    Word,
    split_unitaries,
)
from circuits.plan.stages import bits_of
from circuits.plan.steps import MatrixFunction, Plan, Step, Structure

PAULIS = {(1, 0): "X", (1, 1): "Y", (0, 1): "Z"}


@dataclass(frozen=True)
class Special:
    """What a function makes, without its phase, or its phase alone as a diagonal of one entry."""

    function: MatrixFunction
    phase: bool

    def __call__(self, angles: NDArray[np.float64]) -> NDArray[np.complex128]:
        values = self.function(angles)
        if values.shape[-1] == 1:
            return values
        if values.shape[-2:] != (2, 2):
            values = np.diag(values)
        _, phase = split_unitaries(values)
        return np.exp(1j * phase)[None] if self.phase else values * np.exp(-1j * phase)


def quaternion_matrix(values: Sequence[float]) -> NDArray[np.complex128]:
    """Matrix w - i (x X + y Y + z Z)."""
    w, x, y, z = values
    return np.array([[w - 1j * z, -y - 1j * x], [y - 1j * x, w + 1j * z]])


def _complex(values: Sequence[float]) -> NDArray[np.complex128]:
    return np.array(values[0::2]) + 1j * np.array(values[1::2])


def block_steps(block: Block, fused: Fused) -> list[Step]:
    """Steps on wires that do the same as a block."""
    if isinstance(block, Cx):
        return [
            Step(
                Structure.PERMUTATION,
                (block.target,),
                (block.control,),
                1,
                permutation=np.array([1, 0]),
            )
        ]
    controls: dict[str, Any] = {
        "controls": tuple(wire for wire, _ in block.controls),
        "control_state": sum(bit << k for k, (_, bit) in enumerate(block.controls)),
    }
    if isinstance(block, Turn):
        return [_factor(block.wire, f, fused, controls) for f in block.factors]
    if isinstance(block, (Word, Phase)):
        x, sign = (block.x_mask, 1 - 2 * block.negative) if isinstance(block, Word) else (0, 1)
        return [_pair(x, block.z_mask, block.source, sign, fused, controls)]
    if isinstance(block, Exchange):
        images = np.arange(1 << len(block.wires))
        images[[block.first, block.second]] = block.second, block.first
        return [Step(Structure.PERMUTATION, block.wires, permutation=images, **controls)]
    return [_local(block, fused, controls)]


def _factor(wire: int, factor: Source, fused: Fused, controls: dict[str, Any]) -> Step:
    if isinstance(factor, Slot):
        word = "XYZ"[factor.axis]
        return Step(Structure.ROTATION, (wire,), slots=(factor.column,), word=word, **controls)
    if isinstance(factor, Constant):
        matrix = quaternion_matrix(factor.values)
        return Step(Structure.DENSE, (wire,), matrix=matrix, **controls)
    assert isinstance(factor, Made)
    made = fused.functions[factor.group]
    function = Special(made.function, phase=False)
    slots = made.slots[factor.member]
    return Step(Structure.DENSE, (wire,), function=function, slots=slots, **controls)


def _pair(
    x: int, z: int, source: Source, sign: int, fused: Fused, controls: dict[str, Any]
) -> Step:
    wires = bits_of(x | z)
    word = "".join(PAULIS[(x >> w) & 1, (z >> w) & 1] for w in wires)
    if isinstance(source, Slot):
        assert sign == 1
        fields: dict[str, Any] = {"slots": (source.column,), "word": word}
        return Step(Structure.ROTATION, wires, **fields, **controls)
    if isinstance(source, Constant):
        angle = 2 * np.arctan2(source.values[1], source.values[0])
        if x == 0 and z == 0:
            phase = np.exp(0.5j * np.array([angle]))
            return Step(Structure.DIAGONAL, (), matrix=phase, **controls)
        angle = sign * (angle if x else -angle)
        return Step(Structure.ROTATION, wires, angle=angle, word=word, **controls)
    assert isinstance(source, Made)
    made = fused.functions[source.group]
    function, slots = Special(made.function, phase=True), made.slots[source.member]
    return Step(Structure.DIAGONAL, (), function=function, slots=slots, **controls)


def _local(block: Table | Matrix, fused: Fused, controls: dict[str, Any]) -> Step:
    structure = Structure.DIAGONAL if isinstance(block, Table) else Structure.DENSE
    source, size = block.source, 1 << len(block.wires)
    if isinstance(source, Given):
        return Step(structure, block.wires, source=source.source, **controls)
    if isinstance(source, Made):
        made = fused.functions[source.group]
        fields: dict[str, Any] = {"function": made.function, "slots": made.slots[source.member]}
        return Step(structure, block.wires, **fields, **controls)
    assert isinstance(source, Constant)
    matrix = _complex(source.values)
    matrix = matrix if isinstance(block, Table) else matrix.reshape(size, size)
    return Step(structure, block.wires, matrix=matrix, **controls)


def blocks_plan(fused: Fused, blocks: Iterable[Block]) -> Plan:
    """A plan on wires."""
    steps = tuple(step for block in blocks for step in block_steps(block, fused))
    return Plan(fused.num_qubits, steps, fused.num_slots, num_matrices=len(fused.matrices))


def rename(wires: Sequence[int]) -> NDArray[np.int64]:
    """Basis state of the qubits for every basis state of the wires."""
    basis = np.arange(1 << len(wires))
    return sum(((basis >> w) & 1) << q for q, w in enumerate(wires)) + 0 * basis


def global_phase(fused: Fused, angles: NDArray[np.float64]) -> float:
    """The whole phase, in radians."""
    phase = fused.phase - 0.5 * angles[list(fused.phase_slots)].sum()
    for made in fused.functions:
        for slots, controlled in zip(made.slots, made.controlled, strict=True):
            if made.size <= 2 and not controlled:
                phase += np.angle(Special(made.function, phase=True)(angles[list(slots)])).item()
    return float(phase)
