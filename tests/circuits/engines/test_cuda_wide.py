"""Steps that no tile holds: everything agrees with the reference engine, and counts are right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import conformance
import fake_cupy
import numpy as np
import programs
import pytest
from agreement import assert_agree
from programs import Case, random_program
from wide_steps import wide_case, wide_steps

from autodiff import Parameter, Tensor, reset_stats, stats
from autodiff.backends.emulated_backend import EmulatedBackend
from autodiff.device import backend_of, canonical_device
from circuits import Circuit, Z
from circuits.engines import cuda_wide
from circuits.engines.base import Engine, Wanted
from circuits.engines.cuda import CudaEngine
from circuits.engines.cuda_wide import placed
from circuits.engines.pieces import Pieces
from circuits.errors import CapacityError
from circuits.plan.steps import Plan, Step, Structure
from circuits.plan.wide import mixes_more

BACKEND = EmulatedBackend()
CASES = [
    Case(5, 3, np.complex128, seed=3, num_steps=14),
    Case(6, 2, np.complex64, seed=4, num_steps=14),
]


def test_places_are_indices() -> None:
    assert placed([3, 1]).tolist() == [0, 8, 2, 10]
    assert placed([]).tolist() == [0]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
def test_conformance(
    check: Callable[[Engine, Case], None], case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Matrices on two qubits are wide, and permutations, so that programs have many pieces."""
    monkeypatch.setattr(cuda_wide, "mixes_more", partial(everything, mixes_more))
    check(CudaEngine(BACKEND, tile=4), case)


def everything(found: Callable[..., bool], step: Step, **_: int) -> bool:
    """Whether a step is wide where tiles hold one qubit."""
    return found(step, 1, 1)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize(("tile", "size"), [(3, 4), (4, 6), (5, 6)])
def test_any_wires_batches_and_precisions(
    tile: int, size: int, batch: int, shared: bool, dtype: type[np.complexfloating]
) -> None:
    case = Case(7, batch, dtype, seed=10 * tile + batch)
    program, engine = wide_case(case, size, shared=shared), CudaEngine(BACKEND, tile)
    assert isinstance(engine._pieces(program.plan, np.dtype(dtype)), Pieces)
    assert_agree(program, engine)


@pytest.mark.parametrize("pattern", ["W", "PW", "WP", "WW", "PWPPWP"])
@pytest.mark.parametrize("batch", [1, 3])
def test_launches_and_traffic_are_as_the_outline_says(batch: int, pattern: str) -> None:
    rng, dtype = np.random.default_rng(0), np.dtype(np.complex128)
    turn = Step(Structure.ROTATION, (2,), slots=(0,), word="Y")
    permutation, matrix, *_ = wide_steps(rng, 6, 5)
    wide = iter([permutation, matrix])
    steps = [turn if letter == "P" else next(wide) for letter in pattern]
    program = random_program(Case(6, batch, np.complex128), plan=Plan(6, tuple(steps), 1))
    program = replace(program, state=program.state[:1])
    engine, backend = CudaEngine(BACKEND, tile=4), BACKEND
    outline = engine.outline(program.plan, batch, dtype)
    assert outline.device is not None
    assert outline.blocks["wide"] == pattern.count("W")
    counted, moved = [], []
    for call in range(2):
        backend.reset()
        with backend.kernels.record() as records:
            if call == 0:
                final, _ = engine.forward(program.plan, program.state, program.angles)
            else:
                conformance.run_reverse(engine, program, final, Wanted())
        counted.append(backend.stats.kernels)
        moved.append(state_bytes(records))
    assert tuple(counted) == outline.device.launches
    assert tuple(moved) == outline.device.traffic


def state_bytes(records: Sequence[Any]) -> int:
    """Bytes of states that recorded kernels were handed; not matrices, nor a scratch of one."""
    pointers = [
        argument
        for record in records
        if record.instance.startswith(("forward", "reverse", "permute", "multiply"))
        for argument in record.arguments
        if not isinstance(argument, np.generic) and argument.dtype.kind == "c"
    ]
    return sum(p.nbytes for p in pointers if p.shape != (1, 1) and len(p.shape) < 3)


def modular(qubits: int, factor: int) -> Any:
    """Images of x under multiplication, modulo an odd number close to the size."""
    size = 1 << qubits
    x = np.arange(size)
    return np.where(x < size - 1, factor * x % (size - 1), x)


@pytest.mark.parametrize("trained", [False, True])
def test_gates_on_many_qubits_run_on_a_gpus_arrays(
    trained: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a stand-in for CuPy; a repeated call sends nothing."""
    fake_cupy.install(monkeypatch)
    engine = CudaEngine(backend_of(canonical_device("cuda")), tile=4)
    unitary, found = programs.random_unitary(np.random.default_rng(0), 32), []
    for device in ("cpu", "cuda"):
        theta, matrix = (Parameter(Tensor(x, device=device)) for x in (0.3, unitary))
        circuit = Circuit(7).ry(theta, 0).h(3).unitary(matrix if trained else unitary, range(5))
        circuit.append("basis_permutation", range(1, 7), payload=modular(6, 5)).rx(theta, 2)
        for _ in range(2):
            theta.zero_grad(), matrix.zero_grad()
            reset_stats()
            value = circuit.expectation([Z(2), Z(0)], engine=None if device == "cpu" else engine)
            value.sum().backward()
        assert (stats("cuda").uploads, stats("cuda").kernels > 0) == (0, device == "cuda")
        leaves = (value, theta.grad, *([matrix.grad] if trained else []))
        found.append([leaf.numpy() for leaf in leaves])
    for got, want in zip(*found, strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)


def test_what_the_device_has_no_room_for_is_refused_before_anything_is_allocated() -> None:
    backend = EmulatedBackend(1)
    backend.device_limits = replace(backend.device_limits, total_bytes=1 << 27)
    engine = CudaEngine(backend, tile=4)
    step = Step(Structure.PERMUTATION, tuple(range(5)), permutation=modular(5, 3))
    plan, state = Plan(22, (step,), 0), np.zeros((1, 1 << 22), complex)
    states = np.broadcast_to(state, (2, 1 << 22))
    with pytest.raises(CapacityError, match=r"needs 256 MiB.* got 128 MiB available"):
        engine.forward(plan, states, np.zeros((1, 0)))
    with pytest.raises(CapacityError, match=r"needs 768 MiB.* got 128 MiB available"):
        engine.reverse(plan, states, np.zeros((1, 0)), (), Wanted(), cotangent=states)
    assert backend.stats.allocations == 0
