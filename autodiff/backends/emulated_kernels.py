"""Raw modules of the emulated device: built by g++, counted, recorded, captured as graphs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np

from autodiff.backends.host_modules import HostLibrary, Schedule
from autodiff.backends.interface import Stats
from autodiff.backends.launch_records import Memory, RecordedLaunch
from autodiff.backends.raw_modules import (
    Argument,
    DeviceLimits,
    Extents,
    KernelGraph,
    RawModule,
    Source,
    check_argument,
    refuse_capture,
)


class Device(Protocol):
    """What kernels need of their device."""

    @property
    def limits(self) -> DeviceLimits:
        """What kernels have at hand."""

    stats: Stats

    def count_kernel(self, instance: str, nbytes: int) -> None:
        """Count a launch and the bytes of its arrays; fail if a test wants that."""


class EmulatedKernels:
    """The kernels of one emulated device.

    Attributes:
        device: whose they are.
        schedule: in which order threads run, for the launches from now on.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.schedule = Schedule()
        self.records: list[RecordedLaunch] | None = None
        self._modules: dict[tuple[Source, tuple[str, ...]], EmulatedModule] = {}
        self._captures = threading.local()

    def module(self, source: Source, instances: tuple[str, ...]) -> EmulatedModule:
        """Return the module of a source, built once."""
        key = (source, instances)
        if key not in self._modules:
            self._modules[key] = EmulatedModule(self, source, instances)
        return self._modules[key]

    @contextmanager
    def record(self) -> Iterator[list[RecordedLaunch]]:
        """Record the launches inside the block."""
        before, self.records = self.records, []
        try:
            yield self.records
        finally:
            self.records = before

    @property
    def capturing(self) -> EmulatedGraph | None:
        """The graph that this thread's launches go to instead of running."""
        graph: EmulatedGraph | None = getattr(self._captures, "graph", None)
        return graph

    @contextmanager
    def capture(self) -> Iterator[KernelGraph]:
        """Collect the launches inside the block."""
        refuse_capture(self.capturing, "another capture")
        graph = self._captures.graph = EmulatedGraph(self.device)
        try:
            yield graph
        finally:
            self._captures.graph = None


class EmulatedModule(RawModule):
    """Kernels built by g++."""

    def __init__(
        self, kernels: EmulatedKernels, source: Source, instances: tuple[str, ...]
    ) -> None:
        super().__init__(source, instances)
        self.kernels = kernels
        self.library = HostLibrary(source, instances)

    def launch(
        self,
        instance: str,
        grid: Extents,
        block: Extents,
        arguments: Sequence[Argument],
        shared_bytes: int = 0,
    ) -> None:
        """Run a kernel, or collect it where a graph is captured."""
        self.check_shape(instance, grid, block, shared_bytes, self.kernels.device.limits)
        for position, argument in enumerate(arguments):
            check_argument(instance, position, argument, type(argument) is np.ndarray)
        packed = self.library.pack(instance, arguments)
        node = _Node(self, instance, grid, block, tuple(arguments), packed, shared_bytes)
        graph = self.kernels.capturing
        if graph is None:
            node.run()
        else:
            graph.nodes.append(node)


class _Node(NamedTuple):
    """A launch whose arguments are packed: numbers as they were, arrays as they will be."""

    module: EmulatedModule
    instance: str
    grid: Extents
    block: Extents
    arguments: tuple[Argument, ...]
    packed: list[Any]
    shared_bytes: int

    def run(self) -> None:
        kernels = self.module.kernels
        arrays = [x for x in self.arguments if type(x) is np.ndarray]
        kernels.device.count_kernel(self.instance, sum(x.nbytes for x in arrays))
        if kernels.records is None:
            self._execute()
            return
        memory = Memory(self.arguments)
        record = RecordedLaunch(
            self.module.source,
            self.module.instances,
            self.instance,
            self.grid,
            self.block,
            self.shared_bytes,
            memory.pointers(),
            memory.contents(),
        )
        kernels.records.append(record)
        self._execute()
        record.after.extend(memory.contents())

    def _execute(self) -> None:
        kernels = self.module.kernels
        self.module.library.launch(
            self.instance,
            self.grid,
            self.block,
            self.packed,
            self.shared_bytes,
            kernels.device.limits.shared_bytes_optin,
            kernels.schedule,
        )


class EmulatedGraph(KernelGraph):
    """Launches as CUDA keeps them: numbers frozen at the capture, buffers by address."""

    def __init__(self, device: Device) -> None:
        self.nodes: list[_Node] = []
        self._device = device

    def launch(self) -> None:
        """Run all of them in order."""
        self._device.stats.add(graphs=1)
        for node in self.nodes:
            node.run()
