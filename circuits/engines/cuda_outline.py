"""What the GPU engine says of a run before it happens: launches, traffic, memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from autodiff.dtypes import real_dtype
from circuits.engines import instructions as stages
from circuits.engines.base import Wanted
from circuits.engines.cuda_program import WAVES, DeviceProgram, blocks_of
from circuits.engines.cuda_table import HostTable
from circuits.plan.forecast import DeviceWork, Outline
from circuits.plan.steps import Plan, Step
from circuits.plan.terms import Terms
from circuits.plan.words import words_of

Complex = np.dtype[np.complexfloating]
Launches = Counter[str]


def forward_launches(host: HostTable, terms: Terms | None) -> Launches:
    """Return how often a forward call launches every kernel."""
    launches = Counter({"forward": len(host.forward)})
    if not host.whole:
        launches["prepare_samples"] = 1
        if terms is not None:
            launches.update(("collect", "finish_samples"))
    sparse = 0 if terms is None else len(words_of(terms).sparse)
    launches.update({"sparse_product": sparse, "collect": sparse})
    return +launches


def reverse_launches(host: HostTable, terms: Terms | None, wanted: Wanted) -> Launches:
    """Return how often a reverse call launches every kernel."""
    launches = Counter({"reverse": len(host.reverse)})
    if not host.whole:
        launches.update(("prepare_samples", "collect", "finish_samples"))
    sparse = 0 if terms is None else len(words_of(terms).sparse)
    launches.update({"sparse_product": sparse * (1 + wanted.coefficients)})
    launches.update({"collect": sparse * wanted.coefficients})
    return +launches


def forward_traffic(host: HostTable, state_bytes: int, batch: int, start_rows: int) -> int:
    """Return the bytes of states that the passes of a forward call read and write.

    Args:
        host: the table.
        state_bytes: of one state.
        batch: samples.
        start_rows: initial states, one that all samples share or one each.
    """
    reads = start_rows + batch * (len(host.forward) - 1)
    writes = batch * int((host.forward[:, stages.WRITE_PSI] != 0).sum())
    return state_bytes * (reads + writes)


def reverse_traffic(host: HostTable, state_bytes: int, batch: int, *, cotangent: bool) -> int:
    """Return the same of a reverse call; lambda is read first only where a cotangent is given."""
    passes = host.reverse
    columns = [stages.WRITE_PSI, stages.WRITE_LAMBDA]
    written = int((passes[:, columns] != 0).sum())
    lambda_reads = cotangent + int((passes[:-1, stages.WRITE_LAMBDA] != 0).sum())
    return state_bytes * batch * (len(passes) + lambda_reads + written)


def pieces_work(
    program_of: Callable[[Plan], DeviceProgram],
    parts: Sequence[Plan | Step],
    batch: int,
    dtype: Complex,
    terms: Terms | None,
) -> DeviceWork:
    """Return what a run in pieces and its gradient do, see ``Pieces``; matrices are not trained."""
    last = parts[-1]
    assert isinstance(last, Plan)
    real, one = real_dtype(dtype), dtype.itemsize << last.num_qubits
    rows, launches, traffic = 1, [0, 0], [0, 0]
    for k, part in enumerate(parts):
        if isinstance(part, Step):
            # One kernel; going back, one for psi and one for lambda.
            launches[0], traffic[0] = launches[0] + 1, traffic[0] + 2 * rows * one
            launches[1] += 2 * (k > 0)
            traffic[1] += 4 * batch * one * (k > 0)
            continue
        program, measured = program_of(part), terms if k == len(parts) - 1 else None
        host = program.host_table(real, measured, Wanted(angles=False))
        launches[0] += forward_launches(host, measured).total()
        traffic[0] += forward_traffic(host, one, batch, rows)
        rows = batch
        for wanted, found in _sweeps(k, measured):
            host = program.host_table(real, found, wanted)
            launches[1] += reverse_launches(host, found, wanted).total()
            given = found is None or bool(words_of(found).sparse)
            traffic[1] += reverse_traffic(host, one, batch, cotangent=given)
    return DeviceWork((launches[0], launches[1]), (traffic[0], traffic[1]))


def _sweeps(k: int, terms: Terms | None) -> list[tuple[Wanted, Terms | None]]:
    """Return the reverse calls of the k-th piece: its own, and, if others follow, one for psi."""
    own = (Wanted(state=k > 0), terms)
    return [own, (Wanted(state=True, angles=False), None)] if k else [own]


def outline(program: DeviceProgram, batch: int, dtype: Complex, terms: Terms | None) -> Outline:
    """Return layout, launches, traffic and memory of a run and its gradient."""
    real, wanted = real_dtype(dtype), Wanted()
    forward = program.host_table(real, terms, Wanted(angles=False))
    reverse = program.host_table(real, terms, wanted)
    one = dtype.itemsize << program.plan.num_qubits
    states, processors = batch * one, program.backend.limits.multiprocessors
    blocks = blocks_of(reverse, real, batch, processors)
    grid = min(batch, WAVES * processors) if reverse.whole else batch * blocks
    rooms = grid if reverse.whole else batch
    room = rooms * reverse.room + (0 if reverse.whole else grid * reverse.sums)
    tables = reverse.integers.nbytes + reverse.numbers.nbytes
    work = tables + room * real.itemsize + program.scratch * grid * reverse.tile * dtype.itemsize
    angles = batch * (program.plan.num_slots + reverse.columns) * real.itemsize
    launches = (
        forward_launches(forward, terms).total(),
        reverse_launches(reverse, terms, wanted).total(),
    )
    # Sparse terms write lambda before the sweep, which reads it like a cotangent.
    given = terms is None or bool(words_of(terms).sparse)
    traffic = (
        forward_traffic(forward, one, batch, 1),
        reverse_traffic(reverse, one, batch, cotangent=given),
    )
    layout = program.layout(real, program.bits(real))
    return Outline(
        layout="one tile a sample" if forward.whole else "stages",
        reason="a sample's psi and lambda fit a block's shared memory"
        if forward.whole
        else "states do not fit shared memory, they are passed over once a stage",
        blocks=dict(Counter(type(b).__name__ for b in program.fused.blocks).most_common()),
        stages=tuple(np.diff(layout.ends, prepend=0).tolist()),
        threads=grid * reverse.threads,
        forward_bytes=states + work + 3 * angles,
        reverse_bytes=states * (1 if reverse.whole else 3) + work + 3 * angles,
        angle_bytes=angles,
        device=DeviceWork(launches, traffic),
    )
