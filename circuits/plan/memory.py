"""How much memory there is, and the refusal of what needs more. Linux's figures."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from circuits.errors import CapacityError

UNCHECKED = 1 << 26
"""Bytes below which nobody asks: reading the figures costs some 100 microseconds."""

KEPT_PART = 4
"""Final states are kept for the reverse sweep up to this part of the free memory: a quarter."""

REMEDY = (
    "Use dtype='complex64', fewer samples at once, or fewer qubits. Where many are idle, as after "
    "a transpilation, circuit.without_idle_qubits() leaves them out."
)
"""What every refusal ends with."""

_ROOT = Path("/")


def available_memory(root: Path = _ROOT) -> int:
    """Return the bytes that this process may still use.

    That is MemAvailable, or less where control groups have a limit: the limit minus what is in use
    there, without the file cache that the kernel would give up.

    Args:
        root: where ``proc`` and ``sys`` are.

    >>> available_memory() > 0
    True
    """
    lines = (root / "proc/meminfo").read_text().splitlines()
    figures = dict(line.split(":") for line in lines)
    free = 1024 * int(figures["MemAvailable"].split()[0])
    return max(0, min([free, *_group_rooms(root)]))


def _group_rooms(root: Path) -> list[int]:
    """Return what the limits of this process's control groups, and of those above, leave."""
    listed = root / "proc/self/cgroup"
    rooms: list[int] = []
    for line in listed.read_text().splitlines() if listed.is_file() else ():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top = root / ("sys/fs/cgroup/memory" if controllers else "sys/fs/cgroup")
        here = top / path.lstrip("/")
        while here == top or top in here.parents:
            rooms += _room(here, second_version=not controllers)
            here = here.parent
    return rooms


def _room(group: Path, *, second_version: bool) -> list[int]:
    """Return what a group's limit leaves, if it has one."""
    names = (
        ("memory.max", "memory.current", "inactive_file")
        if second_version
        else ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    )
    limit, usage, statistics = group / names[0], group / names[1], group / "memory.stat"
    if not limit.is_file() or not usage.is_file():
        return []
    text = limit.read_text().strip()
    if text == "max":
        return []
    lines = statistics.read_text().splitlines() if statistics.is_file() else []
    cached = int(dict(line.split() for line in lines).get(names[2], 0))
    return [int(text) - int(usage.read_text()) + cached]


def size_text(count: int) -> str:
    """Return bytes for people.

    >>> size_text(3 << 19), size_text(17)
    ('1.5 MiB', '17 B')
    """
    if count >> 80:  # more than a float may hold
        return f"2^{count.bit_length() - 1} B"
    value, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"):
        if value < 1024 or unit == "EiB":
            break
        value /= 1024
    return f"{value:.3g} {unit}"


def require_memory(count: int, what: str, measure: Callable[[], int] | None = None) -> None:
    """Refuse what needs more memory than there is, before anything is allocated.

    Args:
        count: bytes.
        what: needs them; the message begins with it.
        measure: says what is free; None: the host's ``available_memory``.

    Raises:
        CapacityError: with both numbers and what to do.
    """
    if count < UNCHECKED:
        return
    available = (measure or available_memory)()
    if count > available:
        raise CapacityError(
            f"{what} needs {size_text(count)} of memory, got {size_text(available)} available. "
            f"{REMEDY}"
        )


def recomputed_blocks(batch: int, state_bytes: int, measure: Callable[[], int]) -> int:
    """Return in how many blocks of samples a run goes whose final states are not kept; 0: they are.

    A block's final states are at most a quarter of the free memory, as those that are kept, unless
    one sample's is more: the reverse sweep needs further copies.

    Args:
        batch: number of samples.
        state_bytes: of one sample's state.
        measure: says what is free where the states are; asked for large states only.

    >>> recomputed_blocks(1000, 1 << 20, lambda: 1 << 30)
    4
    """
    if batch * state_bytes < UNCHECKED:
        return 0
    room = measure() // KEPT_PART
    if batch * state_bytes <= room:
        return 0
    return -(-batch // max(1, room // state_bytes))


def block_slices(batch: int, blocks: int) -> list[slice]:
    """Return the samples of every block; sizes differ by one at most.

    >>> block_slices(5, 2)
    [slice(0, 2, None), slice(2, 5, None)]
    """
    ends = [k * batch // blocks for k in range(blocks + 1)]
    return [slice(start, end) for start, end in pairwise(ends)]
