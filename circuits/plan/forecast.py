"""What a run will be: the blocks and stages that an engine makes of a plan, and the memory."""

from __future__ import annotations

from dataclasses import dataclass

from circuits.plan.memory import size_text


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
    """

    layout: str
    reason: str
    blocks: dict[str, int]
    stages: tuple[int, ...]
    threads: int
    forward_bytes: int
    reverse_bytes: int


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
            ("memory", f"{memory}; available {size_text(self.available_bytes)}"),
        ]
        return "\n".join(f"{name:<13}{text}" for name, text in rows)
