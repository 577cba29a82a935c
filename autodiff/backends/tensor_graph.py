"""A plan on a device: its launches, captured once and replayed as one graph.

Buffers that the graph reads and writes never move. What changes from run to run are the leaves:
one table says where they lie now, which is one upload, and the graph's first kernel fetches them.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from autodiff.backends import tensor_kernels as kernels
from autodiff.backends.interface import Array, Backend, HostArray
from autodiff.backends.raw_modules import KernelGraph, Source
from autodiff.backends.tensor_plan import Slot, TensorPlan

LEAF_BLOCKS = 64


class TensorGraph:
    """A plan, ready to run on a device; a forward of as many arrays as the plan has leaves.

    Args:
        backend: the device's.
        plan: what runs.
        source: the kernels.
    """

    def __init__(
        self, backend: Backend, plan: TensorPlan, source: Source = kernels.KERNELS.source
    ) -> None:
        self.plan = plan
        self._backend = backend
        self._source = source
        self._graph: KernelGraph | None = None
        self._running = threading.Lock()
        # CuPy has no structured dtypes: on the device the table is bytes.
        self._table = np.zeros(len(plan.leaves), kernels.LEAF)
        for row, slot in zip(self._table, plan.leaves, strict=True):
            row["offset"], row["bytes"] = slot.offset, slot.size * slot.dtype.itemsize

    def __call__(
        self, xp: Any, *leaves: Array, numbers: Mapping[int, HostArray] = MappingProxyType({})
    ) -> tuple[Array, ...]:
        """Run everything, and return copies of the outputs.

        Args:
            xp: the device's array module.
            leaves: arrays of the device.
            numbers: leaves of the host of shape (), by position among all; they go along in the
                table.
        """
        given = [xp.ascontiguousarray(leaf) for leaf in leaves]
        with self._running:
            if self._graph is None:
                self._capture()
            assert self._graph is not None
            if len(self._table):
                self._fill_table(given, numbers)
                self._backend.overwrite(self._device_table, self._table.view(np.uint8))
            self._graph.launch()
            return tuple(
                [xp.array(self._slot(x.slot).reshape(x.sample.shape)) for x in self.plan.outputs]
            )

    def _fill_table(self, given: Sequence[Array], numbers: Mapping[int, HostArray]) -> None:
        arrays = iter(given)
        for position, (row, slot) in enumerate(zip(self._table, self.plan.leaves, strict=True)):
            if position in numbers:
                value = np.asarray(numbers[position], slot.dtype).tobytes()
                row["address"], row["number"] = 0, np.frombuffer(value.ljust(8, b"\0"), np.uint8)
            else:
                row["address"] = self._backend.address(next(arrays))

    def _capture(self) -> None:
        """Compile and allocate; then collect the launches."""
        backend = self._backend
        module = backend.raw_module(self._source, kernels.KERNELS.instances)
        self._workspace = backend.empty((max(self.plan.nbytes, 1),), np.dtype(np.uint8))
        if self.plan.leaves:
            self._device_table = backend.send(self._table.view(np.uint8))
        with backend.capture() as graph:
            if self.plan.leaves:
                grid = (LEAF_BLOCKS, len(self.plan.leaves), 1)
                block = (kernels.THREADS, 1, 1)
                module.launch("take_leaves", grid, block, (self._device_table, self._workspace))
            for launch in self.plan.launches:
                arguments = [self._slot(x) if isinstance(x, Slot) else x for x in launch.arguments]
                module.launch(launch.instance, launch.grid, launch.block, arguments)
        self._graph = graph

    def _slot(self, slot: Slot) -> Array:
        end = slot.offset + slot.size * slot.dtype.itemsize
        return self._workspace[slot.offset : end].view(slot.dtype)
