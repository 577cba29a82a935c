"""Pass: blocks into stages, each with the wires that must lie in one tile."""

from __future__ import annotations

from collections.abc import Sequence

from circuits.plan.blocks import Block, Cx, Exchange, Matrix, Phase, Turn, Word


def bits_of(mask: int) -> tuple[int, ...]:
    """Return the positions of the ones of a mask.

    >>> bits_of(0b1010)
    (1, 3)
    """
    return tuple([k for k in range(mask.bit_length()) if (mask >> k) & 1])


def moved_wires(block: Block) -> tuple[int, ...]:
    """Return the wires that a block mixes; a diagonal mixes none, and controls are not mixed."""
    if isinstance(block, Turn):
        return (block.wire,)
    if isinstance(block, Cx):
        return (block.control, block.target)
    if isinstance(block, Word):
        return bits_of(block.x_mask)
    if isinstance(block, (Matrix, Exchange)):
        return block.wires
    return ()


def touched_wires(block: Block) -> tuple[int, ...]:
    """Return all wires that a block acts on or is controlled by."""
    if isinstance(block, Cx):
        return (block.control, block.target)
    controls = tuple([wire for wire, _ in block.controls])
    if isinstance(block, Turn):
        return (block.wire, *controls)
    if isinstance(block, Word):
        return (*bits_of(block.x_mask | block.z_mask), *controls)
    if isinstance(block, Phase):
        return (*bits_of(block.z_mask), *controls)
    return (*block.wires, *controls)


def mixed_wires(block: Block) -> tuple[int, ...]:
    """Return the wires on which a block does not act by a diagonal."""
    return (block.target,) if isinstance(block, Cx) else moved_wires(block)


def widest(blocks: Sequence[Block]) -> int:
    """Return the most wires that a block needs in a tile; words are split, see ``narrowed``."""
    wide = [block for block in blocks if isinstance(block, Matrix | Exchange)]
    return max([len(moved_wires(block)) for block in wide], default=0)


def narrowed(blocks: Sequence[Block], limit: int) -> list[Block]:
    """Replace words that flip more than ``limit`` wires by ones that do not, between CX.

    CX from wire p to t turns X_p X_t into X_p and Z_t into Z_p Z_t. So i^m X^x Z^z, m = |x & z|,
    becomes i^m X^x' Z^z', which is the word of x' and z' but for i^(m - m') = +-1.
    """
    out: list[Block] = []
    for block in blocks:
        flips = bits_of(block.x_mask) if isinstance(block, Word) else ()
        if len(flips) <= limit or not isinstance(block, Word):
            out.append(block)
            continue
        around = [Cx(flips[0], wire) for wire in flips[limit:]]
        x_mask, z_mask = block.x_mask, block.z_mask
        for _, wire in around:
            x_mask ^= 1 << wire
            z_mask ^= ((z_mask >> wire) & 1) << flips[0]
        more = (block.x_mask & block.z_mask).bit_count() - (x_mask & z_mask).bit_count()
        word = block._replace(x_mask=x_mask, z_mask=z_mask, negative=more % 4 == 2)
        out += [*around, word, *around[::-1]]
    return out


def next_stage(
    blocks: Sequence[Block], local: Sequence[int], limit: int
) -> tuple[set[int], list[Block], list[Block]]:
    """Take as many blocks as fit ``limit`` wires, later ones past those that they commute with.

    Args:
        blocks: what is left, in order.
        local: wires that are in the tile in any case.
        limit: how many wires a tile has.

    Returns:
        The wires of the tile, the blocks of the stage, and the blocks that are left.

    Raises:
        ValueError: a block alone needs more wires than a tile has.
    """
    wires, done, left = set(local), [], []
    touched_before: set[int] = set()
    mixed_before: set[int] = set()
    for block in blocks:
        # Two blocks commute if both are diagonal on every wire that they share.
        touched, mixed = touched_wires(block), mixed_wires(block)
        free = touched_before.isdisjoint(mixed) and mixed_before.isdisjoint(touched)
        needed = wires.union(moved_wires(block)) if free else wires
        if free and len(needed) <= limit:
            wires = needed
            done.append(block)
        else:
            left.append(block)
            touched_before.update(touched)
            mixed_before.update(mixed)
    if not done and left:
        raise ValueError(f"a tile needs room for wires {moved_wires(left[0])}, got {limit} wires.")
    return wires, done, left
