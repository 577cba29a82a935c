"""Pass: phases that commute to one place stand there together, as a run.

A run is applied, or undone with the gradients of all its angles, in one pass over the state. CX
takes a phase by the parity of z to one by the parity of another mask, so phases pass all CX.
"""

from __future__ import annotations

from collections.abc import Iterable

from circuits.plan.blocks import Block, Cx, Phase, Word
from circuits.plan.stages import moved_wires


def gathered(blocks: Iterable[Block]) -> list[Block]:
    """Return blocks of the same product, with phases together as far as they commute.

    A phase waits until a block does not commute with it; then all that wait stand before that
    block. One that commutes back to the run before joins it.

    >>> from circuits.plan.blocks import Slot
    >>> turn = Word(0b10, 0b10, Slot(1))
    >>> run = gathered([Phase(0b01, Slot(0)), turn, Phase(0b10, Slot(2)), Cx(0, 1)])
    >>> [type(block).__name__ for block in run], run[-1].z_mask
    (['Word', 'Cx', 'Phase', 'Phase'], 3)
    """
    out: list[Block] = []
    waiting: list[Phase] = []
    end = None  # of the last run in ``out``
    for block in blocks:
        if isinstance(block, Phase):
            joined = None if end is None else _moved(block, reversed(out[end:]))
            if joined is None:
                waiting.append(block)
            else:
                assert end is not None
                out.insert(end, joined)
                end += 1
            continue
        passed = [across(phase, block) for phase in waiting]
        if None in passed:
            out += waiting
            end, waiting = len(out), []
        else:
            waiting = [phase for phase in passed if phase is not None]
        out.append(block)
    return [*out, *waiting]


def across(phase: Phase, block: Block) -> Phase | None:
    """Return the phase that does the same on the other side of a block, or None."""
    controls = [wire for wire, _ in phase.controls] if phase.controls else []
    z = phase.z_mask
    if isinstance(block, Cx):
        signs = (z >> block.target) & 1
        if block.target in controls or (signs and block.control in controls):
            return None
        return phase._replace(z_mask=z ^ 1 << block.control) if signs else phase
    if isinstance(block, Word):
        even = (z & block.x_mask).bit_count() % 2 == 0
        return phase if even and not any((block.x_mask >> w) & 1 for w in controls) else None
    moved = moved_wires(block)
    return None if any((z >> w) & 1 or w in controls for w in moved) else phase


def _moved(phase: Phase, blocks: Iterable[Block]) -> Phase | None:
    """Return the phase beyond all of some blocks, or None."""
    found: Phase | None = phase
    for block in blocks:
        found = across(found, block) if found is not None else None
        if found is None:
            return None
    return found
