"""What the CPU engine says of a run before it happens."""

from __future__ import annotations

from collections import Counter
from math import prod

import numpy as np

from autodiff.dtypes import real_dtype
from circuits.engines.base import Wanted
from circuits.engines.numba_program import Kind, Program, Shape
from circuits.engines.numba_stages import StagedLayout
from circuits.engines.numba_threads import block_team, stage_team, workspace_shape
from circuits.plan.forecast import Outline
from circuits.plan.terms import Terms
from circuits.plan.words import words_of

_REASONS = {
    Kind.SAMPLES: "small circuits, the samples of a batch fill the vectors",
    Kind.QUBITS: "the state fits the cache, the lowest qubits fill the vectors",
    Kind.STAGES: "the state does not fit the cache, it is passed over once a stage",
}
_LAYOUTS = {
    Kind.SAMPLES: "one tile, lanes are samples",
    Kind.QUBITS: "one tile",
    Kind.STAGES: "stages",
}
_SPARSE_STATES = 4
"""Batches of states that a product with a sparse matrix has beside the final ones."""

_ANGLE_ARRAYS = 3
"""Arrays of the size of all angles at a time: the angles, an engine's results, and gradients."""


def outline(
    program: Program, batch: int, dtype: np.dtype[np.complexfloating], terms: Terms | None
) -> Outline:
    """Return layout, stages, threads and memory of a run."""
    real = real_dtype(dtype)
    call = program.call(batch, real, terms, Wanted())
    final = batch * dtype.itemsize << program.plan.num_qubits
    threads = stage_team(call.blocks) if call.passes else block_team(call.blocks, call.work)
    room = prod(workspace_shape(threads + bool(call.passes), call.size)) * real.itemsize
    angles = program.plan.num_slots + program.columns.width + program.columns.out_width
    per_array = batch * angles * real.itemsize
    small = _ANGLE_ARRAYS * per_array
    sparse = _SPARSE_STATES * final if terms is not None and words_of(terms).sparse else 0
    between = 2 * final // batch if call.passes else 0
    kind = program.kind(batch, real)
    return Outline(
        layout=_LAYOUTS[kind],
        reason=_REASONS[kind],
        blocks=dict(Counter(type(b).__name__ for b in program.fused.blocks).most_common()),
        stages=_stages(call.shape),
        threads=threads,
        forward_bytes=final + room + small,
        reverse_bytes=final + room + small + between + sparse,
        angle_bytes=per_array,
    )


def _stages(shape: Shape) -> tuple[int, ...]:
    if not isinstance(shape.layout, StagedLayout):
        return (len(shape.layout.schedule.ops),)
    return tuple(np.diff(shape.layout.ends, prepend=0).tolist())
