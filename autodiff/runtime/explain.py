"""What a prepared program will do, as a table that a person can read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from autodiff.runtime.location import bytes_of
from autodiff.runtime.schedule import Schedule, ScheduledLaunch, ScheduledTransfer

_SHOWN = 4  # op names a row


class Step(NamedTuple):
    """A row of the table.

    Attributes:
        what: ``"transfer"`` or ``"launch"``.
        where: the location, or the two ends of a transfer.
        detail: the ops, or the value with its shape and dtype.
        nbytes: how much is moved; 0 for a launch.
        live: copies of values alive after the step, inputs and outputs too.
        live_bytes: their bytes.
    """

    what: str
    where: str
    detail: str
    nbytes: int
    live: int
    live_bytes: int


@dataclass(frozen=True, eq=False)
class Explanation:
    """Transfers, launches and live copies of a program, known before anything runs.

    Attributes:
        schedule: what is explained.
        steps: one a transfer and one a launch, in order.
    """

    schedule: Schedule
    steps: tuple[Step, ...]

    @property
    def transfers(self) -> tuple[ScheduledTransfer, ...]:
        """The transfers of every run, in order."""
        return self.schedule.transfers

    @property
    def launches(self) -> dict[str, int]:
        """How many launches every run has, by location."""
        return dict(Counter(str(launch.at) for launch in self.schedule.launches))

    @property
    def transfer_bytes(self) -> int:
        """How much every run moves."""
        return sum(transfer.nbytes for transfer in self.transfers)

    def __str__(self) -> str:
        counts = Counter(dict.fromkeys(map(str, self.schedule.homes.values()), 0))
        for launch in self.schedule.launches:
            counts[str(launch.at)] += len(launch.ops)
        locations = [
            (where, str(ops), str(self.launches.get(where, 0))) for where, ops in counts.items()
        ]
        rows = [
            (
                str(number),
                step.what,
                step.where,
                step.detail,
                str(step.nbytes or ""),
                str(step.live),
                str(step.live_bytes),
            )
            for number, step in enumerate(self.steps)
        ]
        parts = [
            _table(("location", "instructions", "launches"), locations),
            _table(("step", "what", "where", "detail", "bytes", "live copies", "live bytes"), rows),
            f"{len(self.transfers)} transfers of {self.transfer_bytes} bytes in every run",
        ]
        if self.schedule.placed:
            nbytes = sum(transfer.nbytes for transfer in self.schedule.placed)
            parts.append(f"{len(self.schedule.placed)} constants of {nbytes} bytes moved once")
        return "\n\n".join(parts)


def explanation(schedule: Schedule) -> Explanation:
    """Walk through a schedule without running it."""
    listing = schedule.listing
    copies = Counter({v: 1 for v in schedule.homes if v in listing.slots})
    steps = []
    for step in schedule.steps:
        if isinstance(step, ScheduledTransfer):
            copies[step.value] += 1
            where = f"{step.source} -> {step.destination}"
            row = ("transfer", where, _value(step), step.nbytes)
        else:
            for op in step.ops:
                copies.update(op.line.results)
                for value in op.drops:
                    copies.pop(value, None)
            row = ("launch", str(step.at), _ops(step), 0)
        held = sum(count * bytes_of(listing.metas[v]) for v, count in copies.items())
        steps.append(Step(*row, live=copies.total(), live_bytes=held))
    return Explanation(schedule, tuple(steps))


def _value(step: ScheduledTransfer) -> str:
    shape, dtype = step.meta
    return f"value {step.value} {shape} {dtype}, for instruction {step.before}"


def _ops(launch: ScheduledLaunch) -> str:
    names = [op.line.op.name for op in launch.ops]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    numbers = f"{launch.ops[0].index}"
    if len(names) > 1:
        numbers += f" to {launch.ops[-1].index}"
    return f"{numbers}: {', '.join(names[:_SHOWN])}{more}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Align columns: numbers to the right, words to the left."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    numeric = [all(x.isdecimal() or not x for x in column) for column in zip(*rows, strict=True)]
    lines = []
    for row in (head, ["-" * width for width in widths], *rows):
        cells = [
            x.rjust(width) if right else x.ljust(width)
            for x, width, right in zip(row, widths, numeric or [False] * len(row), strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
