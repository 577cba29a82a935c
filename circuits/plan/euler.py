"""Pass: turns that are a rotation about X or Y between rotations about Z, as these.

A turn of a pair of amplitudes takes 16 products, a rotation about X or Y takes 8, and all phases of
a layer are one pass over the state: for layers on many qubits, half the work. The first turn on a
wire stays: on |0...0> it costs next to nothing, and going back nobody has to undo it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from circuits.plan.blocks import Block, Phase, Slot, Turn, Word
from circuits.plan.stages import touched_wires


def split_turns(blocks: Iterable[Block]) -> list[Block]:
    """Return blocks of the same product, with words and phases for the turns that are these.

    >>> blocks = [Turn(0, (Slot(0, 1), Slot(1, 2))), Turn(0, (Slot(2, 1), Slot(3, 2)))]
    >>> [type(block).__name__ for block in split_turns(blocks)]
    ['Turn', 'Word', 'Phase']
    """
    out: list[Block] = []
    seen: set[int] = set()
    for block in blocks:
        if isinstance(block, Turn) and block.wire in seen and _is_split(block):
            out += _parts(block)
        else:
            out.append(block)
        seen.update(touched_wires(block))
    return out


def _is_split(block: Turn) -> bool:
    """Whether a turn has one rotation about X or Y, others about Z, and nothing else."""
    slots = [factor for factor in block.factors if isinstance(factor, Slot)]
    others = [slot for slot in slots if slot.axis != 2]
    return not block.controls and len(slots) == len(block.factors) and len(others) == 1


def _parts(block: Turn) -> Iterator[Block]:
    bit = 1 << block.wire
    for factor in block.factors:
        assert isinstance(factor, Slot)
        slot = Slot(factor.column)
        yield Phase(bit, slot) if factor.axis == 2 else Word(bit, bit * (factor.axis == 1), slot)
