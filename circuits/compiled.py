"""The snapshot of a circuit that runs use: a plan for the engines and a table for the angles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from autodiff import Tensor
from autodiff.dtypes import C64, C128, F32, DType
from circuits.angle_table import AngleTable
from circuits.angles import Angle
from circuits.binding import Binding
from circuits.instruction import Instruction, TrainableMatrix
from circuits.lowering import Slot, Source, lower
from circuits.plan.steps import Plan, Step


@dataclass(frozen=True, eq=False)
class Compiled:
    """What never changes between runs of one circuit.

    Attributes:
        plan: steps in order.
        table: angles from leaf elements.
        matrices: what the plan's matrix sources read at each run.
        dtype: complex64 if all Parameters and Inputs are float32, else complex128.
        runs: what run methods keep, by the engine asked for.
    """

    plan: Plan
    table: AngleTable
    matrices: tuple[TrainableMatrix, ...]
    dtype: DType
    runs: dict[str | None, object] = field(default_factory=dict, repr=False)

    @cached_property
    def stored(self) -> Binding:
        """The Parameters with the values that they hold; for circuits without Inputs."""
        leaves = self.table.leaves
        return Binding(self.table, leaves, (False,) * len(leaves), 0, False, None)

    @classmethod
    def build(
        cls, num_qubits: int, instructions: Sequence[Instruction], leaves: Sequence[Tensor]
    ) -> Compiled:
        """Lower instructions: every symbolic angle gets a slot, every matrix Tensor a source."""
        steps: list[Step] = []
        angles: list[Angle] = []
        matrices: list[TrainableMatrix] = []
        for position, instruction in enumerate(instructions):
            operands: list[float | Slot] = []
            for angle in instruction.angles:
                if isinstance(angle, Angle):
                    operands.append(Slot(len(angles)))
                    angles.append(angle)
                else:
                    operands.append(angle)
            payload = instruction.payload
            if isinstance(payload, TrainableMatrix):
                matrices.append(payload)
                payload = Source(len(matrices) - 1)
            steps.extend(
                lower(
                    instruction.gate,
                    instruction.targets,
                    instruction.controls,
                    instruction.ctrl_state,
                    operands,
                    payload,
                    position,
                )
            )
        plan = Plan(num_qubits, tuple(steps), len(angles), len(matrices))
        single = bool(leaves) and all(leaf.dtype == F32 for leaf in leaves)
        dtype = np.dtype(C64 if single else C128)
        return cls(plan, AngleTable.build(angles, leaves), tuple(matrices), dtype)
