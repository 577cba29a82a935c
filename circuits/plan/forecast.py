"""What a run will be: the blocks and stages that an engine makes of a plan, and the memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

from circuits.plan.memory import size_text


@dataclass(frozen=True)
class DeviceWork:
    """What a run and its gradient do on a device.

    Attributes:
        launches: of kernels, forward and in the reverse sweep.
        traffic: bytes of states that these read and write, likewise.
        bandwidth: bytes that the device moves in a second; None: not known.
    """

    launches: tuple[int, int]
    traffic: tuple[int, int]
    bandwidth: float | None = None

    @property
    def seconds(self) -> float | None:
        """The time that the traffic takes at the given bandwidth, launches not counted.

        >>> DeviceWork((1, 1), (2_000, 4_000), bandwidth=6e3).seconds
        1.0
        """
        return None if self.bandwidth is None else sum(self.traffic) / self.bandwidth

    def rows(self) -> list[tuple[str, str]]:
        """Return rows of a table."""
        forward, reverse = map(size_text, self.traffic)
        moved = f"{forward} forward, {reverse} in the reverse sweep"
        if self.bandwidth is not None and self.seconds is not None:
            moved += f": {1e3 * self.seconds:.3g} ms at {self.bandwidth / 1e12:.3g} TB/s"
        launches = f"{self.launches[0]} forward, {self.launches[1]} in the reverse sweep"
        return [("launches", launches), ("traffic", moved)]


@dataclass(frozen=True)
class Outline:
    """What an engine says of a run.

    Attributes:
        layout: how the state lies in memory, in words.
        reason: why.
        blocks: number of blocks by kind.
        stages: instructions of every pass over the state.
        threads: that share the run.
        forward_bytes: what a forward call allocates, with the final states.
        reverse_bytes: what is allocated besides the start when a reverse call works: final states,
            workspace and results.
        angle_bytes: of one array of all angles; both figures have three of them.
        device: what a run on a device does there; None where kernels are not launched one by one.
    """

    layout: str
    reason: str
    blocks: dict[str, int]
    stages: tuple[int, ...]
    threads: int
    forward_bytes: int
    reverse_bytes: int
    angle_bytes: int = 0
    device: DeviceWork | None = None

    def at(self, bandwidth: float | None) -> Outline:
        """Return the outline with a bandwidth of the device, where it has one."""
        if self.device is None or bandwidth is None:
            return self
        return replace(self, device=replace(self.device, bandwidth=bandwidth))


@dataclass(frozen=True, repr=False)
class Forecast:
    """What ``Circuit.plan`` returns; it prints as a table.

    Attributes:
        num_qubits: width.
        batch: samples.
        dtype: complex64 or complex128.
        engine: its name.
        why: who chose it.
        outline: what the engine says.
        forward_bytes: peak memory of a run without gradient.
        peak_bytes: peak memory of a run with its gradient.
        available_bytes: what there is.
        sample_blocks: 0 if the final states are kept between forward and backward; else in how
            many blocks of samples both go, and backward runs each forward again.
    """

    num_qubits: int
    batch: int
    dtype: str
    engine: str
    why: str
    outline: Outline
    forward_bytes: int
    peak_bytes: int
    available_bytes: int
    sample_blocks: int = 0

    @property
    def final_states(self) -> str:
        """``"kept"``, or ``"recomputed in k blocks"``."""
        if not self.sample_blocks:
            return "kept"
        return f"recomputed in {self.sample_blocks} block{'s' * (self.sample_blocks > 1)}"

    @property
    def layout(self) -> str:
        """How the state lies in memory."""
        return self.outline.layout

    @property
    def stages(self) -> tuple[int, ...]:
        """Instructions of every pass over the state."""
        return self.outline.stages

    @property
    def blocks(self) -> dict[str, int]:
        """Number of fused blocks by kind."""
        return self.outline.blocks

    @property
    def threads(self) -> int:
        """Threads that share the run."""
        return self.outline.threads

    def __repr__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.blocks.items())
        sizes = ", ".join(map(str, self.stages[:8])) + (", ..." if len(self.stages) > 8 else "")
        samples = "1 sample" if self.batch == 1 else f"{self.batch} samples"
        memory = f"{size_text(self.forward_bytes)}, with gradient {size_text(self.peak_bytes)}"
        rows = [
            ("run", f"{self.num_qubits} qubits, {self.dtype}, {samples}"),
            ("engine", f"{self.engine!r}, {self.why}"),
            ("layout", f"{self.layout}: {self.outline.reason}"),
            ("blocks", f"{sum(self.blocks.values())}" + (f": {kinds}" if kinds else "")),
            ("stages", f"{len(self.stages)}, of {sizes} instructions"),
            ("threads", str(self.threads)),
            ("final states", f"{self.final_states} between forward and backward"),
            *(self.outline.device.rows() if self.outline.device else ()),
            ("memory", f"{memory}; available {size_text(self.available_bytes)}"),
        ]
        return "\n".join(f"{name:<13}{text}" for name, text in rows)
