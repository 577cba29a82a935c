"""Replays: ops that all have kernels of ``tensor.cu`` run as one captured graph."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from functools import partial
from itertools import groupby

import numpy as np

from autodiff.backends.interface import Array
from autodiff.backends.tensor_graph import TensorGraph
from autodiff.backends.tensor_launches import make_plan
from autodiff.backends.tensor_plan import Step, TensorPlan, ValueMeta
from autodiff.node import Op
from autodiff.runtime.listing import Line, Listing
from autodiff.runtime.schedule import ScheduledLaunch
from autodiff.table import OPS


class Replay:
    """A launch as a graph: captured at the first run, replayed at every further one.

    Args:
        launch: what runs.
        listing: the program that it is part of.
        plan: the kernels.
        inputs: the values that the graph reads.
        outputs: the values that it leaves.
        views: the lines that look at them in another way, for values that are wanted.
    """

    def __init__(
        self,
        launch: ScheduledLaunch,
        listing: Listing,
        plan: TensorPlan,
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
        views: tuple[Line, ...],
    ) -> None:
        self.launch = launch
        self.inputs = inputs
        self.outputs = outputs
        self.views = views
        self._executor = launch.at.executor
        self._storage_class = launch.at.location.storage_class
        self._graph = TensorGraph(self._executor.backend, plan)
        self._numbers = {k: v for k, v in enumerate(inputs) if v in listing.numbers}

    def run(self, here: MutableMapping[int, Array]) -> None:
        """Add the results to the values that are there."""
        numbers = {k: np.asarray(here[value]) for k, value in self._numbers.items()}
        arrays = [here[v] for k, v in enumerate(self.inputs) if k not in numbers]
        row = Op("replay", partial(self._graph, numbers=numbers))
        made = self._executor.run(row, arrays, {}, self._storage_class)
        here.update(zip(self.outputs, map(self._executor.finish, made), strict=True))
        for line in self.views:
            (source,), (result,) = line.operands, line.results
            (here[result],) = self._executor.run(
                line.op, [here[source]], line.attrs, self._storage_class
            )


def parts_of(launch: ScheduledLaunch, listing: Listing) -> tuple[Replay | ScheduledLaunch, ...]:
    """Divide a launch into what runs as graphs and what runs op by op.

    A graph is a stretch of ops that all have kernels, of which it needs two: a lone op is launched
    as quickly as a graph.
    """
    parts: list[Replay | ScheduledLaunch] = []
    stretches = groupby(launch.ops, lambda op: _has_kernel(op.line, listing))
    for has_kernels, ops in stretches:
        part = ScheduledLaunch(launch.at, tuple(ops))
        lone = sum(not op.line.op.view for op in part.ops) < 2
        replay = None if lone or not has_kernels else _replay_of(part, listing)
        parts.append(part if replay is None else replay)
    return tuple(parts)


def _replay_of(launch: ScheduledLaunch, listing: Listing) -> Replay | None:
    """Return the replay of a launch, or None if its ops do not fit together."""
    lines = [op.line for op in launch.ops]
    results = {line.results[0]: line for line in lines}
    dropped = {value for op in launch.ops for value in op.drops}
    needed = {value for value in results if value not in dropped}
    views: list[Line] = []
    for line in reversed(lines):
        if line.op.view and line.results[0] in needed:
            views.insert(0, line)
            needed.add(line.operands[0])
    read = tuple(dict.fromkeys(x for line in lines for x in line.operands if x not in results))
    outputs = tuple([v for v, line in results.items() if v in needed and not line.op.view])
    plan = make_plan(list(map(_step, lines)), _metas(listing, (*read, *results)), read, outputs)
    return None if plan is None else Replay(launch, listing, plan, read, outputs, tuple(views))


def _has_kernel(line: Line, listing: Listing) -> bool:
    """Whether an op has a kernel for its operands; a custom op may have the name of a row."""
    if OPS.get(line.op.name) is not line.op or len(line.results) != 1:
        return False
    metas = _metas(listing, (*line.operands, *line.results))
    return line.op.view or make_plan([_step(line)], metas, line.operands, line.results) is not None


def _step(line: Line) -> Step:
    view = line.op.forward if line.op.view else None
    return Step(line.op.name, line.attrs, line.operands, line.results[0], view)


def _metas(listing: Listing, values: Iterable[int]) -> dict[int, ValueMeta]:
    return {value: (tuple(listing.metas[value][0]), listing.metas[value][1]) for value in values}
