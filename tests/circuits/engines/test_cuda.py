"""The CUDA engine on the emulated device: every kernel runs there, and counts are as predicted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import conformance
import fake_cupy
import numpy as np
import programs
import pytest
from agreement import assert_agree, results
from programs import Case, Program, random_program
from structures import ACTIONS, position_program, structure_program

import qml
from autodiff.backends.cupy_backend import CupyBackend
from autodiff.backends.emulated_backend import EmulatedBackend
from autodiff.backends.host_modules import ORDERS, Schedule
from autodiff.backends.interface import Backend
from autodiff.device import backend_of, canonical_device
from circuits.engines import instructions
from circuits.engines.base import Engine, Gradients, Wanted
from circuits.engines.cuda import CudaEngine
from circuits.engines.cuda_outline import (
    forward_launches,
    forward_traffic,
    reverse_launches,
    reverse_traffic,
)
from circuits.engines.cuda_table import Head
from circuits.engines.numba_cpu import NumbaEngine
from circuits.errors import CapacityError, EngineError
from circuits.plan.steps import Plan, Step, Structure

BACKEND = EmulatedBackend()
WHOLE = CudaEngine(BACKEND)
STAGED = CudaEngine(BACKEND, tile=4)

# A state is one tile, or four of them and more.
CASES = [case for case in conformance.CASES if case.num_qubits < 6 and case.batch < 17]
STAGED_CASES = [
    Case(6, 2, np.complex128, seed=3, num_steps=14),
    Case(6, 3, np.complex64, seed=4, num_steps=14),
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
def test_conformance(check: Callable[[Engine, Case], None], case: Case) -> None:
    check(WHOLE, case)


@pytest.mark.parametrize("case", STAGED_CASES, ids=str)
@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
def test_conformance_in_stages(check: Callable[[Engine, Case], None], case: Case) -> None:
    check(STAGED, case)


@pytest.mark.parametrize("engine", [WHOLE, STAGED], ids=["whole", "staged"])
@pytest.mark.parametrize("num_controls", [0, 1, 2])
@pytest.mark.parametrize("num_targets", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("structure", Structure)
def test_every_structure_has_a_kernel(
    structure: Structure, num_targets: int, num_controls: int, engine: Engine
) -> None:
    rng, case = np.random.default_rng(num_targets), Case(6, 2, np.complex128)
    for action in ACTIONS[structure](rng, num_targets):
        program = structure_program(structure, action, rng, case, num_targets, num_controls)
        assert_agree(program, engine)


def controls_outside(engine: CudaEngine, program: Program) -> set[bool]:
    """Whether instructions have controls that are the same for a whole tile."""
    host = engine._program(program.plan).host_table(np.dtype(float), None, Wanted())
    start, size = host.integers[Head.AT_OPS], host.integers[Head.OP_COUNT] * instructions.COLUMNS
    ops = host.integers[start : start + size].reshape(-1, instructions.COLUMNS)
    return set((ops[:, instructions.BASE_MASK] != 0).tolist())


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("tile", [None, 3, 5], ids=str)
@pytest.mark.parametrize("num_targets", [1, 2, 3, 4])
@pytest.mark.parametrize("structure", Structure)
def test_every_position_of_every_structure(
    structure: Structure, num_targets: int, tile: int | None, dtype: type[np.complexfloating]
) -> None:
    """Every qubit as every target, with up to three controls in any state, in and outside tiles."""
    case = Case(7, 1, dtype, seed=num_targets)
    engine = CudaEngine(BACKEND, None if tile is None else max(tile, num_targets))
    outside: set[bool] = set()
    for action in ACTIONS[structure](np.random.default_rng(num_targets), num_targets):
        program = position_program(structure, action, case, num_targets)
        assert_agree(program, engine)
        outside |= controls_outside(engine, program)
    assert outside == ({False} if tile is None else {False, True})


def entangling_plan(num_qubits: int) -> Plan:
    """Layers of rotations, CX, exchanges and long words, so that stages end in other frames."""
    flip, swap = np.array([1, 0]), np.array([0, 2, 1, 3])
    steps = []
    for layer in range(2):
        for q in range(num_qubits):
            steps.append(Step(Structure.ROTATION, (q,), slots=(2 * q + layer,), word="XY"[layer]))
            control, target = (q + 3) % num_qubits, q
            steps.append(Step(Structure.PERMUTATION, (target,), (control,), 1, permutation=flip))
        word = "XYZ" * num_qubits
        steps.append(
            Step(Structure.ROTATION, tuple(range(num_qubits)), slots=(0,), word=word[:num_qubits])
        )
        steps.append(Step(Structure.PERMUTATION, (layer, num_qubits - 1), permutation=swap))
    return Plan(num_qubits, tuple(steps), 2 * num_qubits)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("tile", [None, 4, 6], ids=str)
def test_agrees_with_the_cpu_engine(tile: int | None, dtype: type[np.complexfloating]) -> None:
    program = random_program(Case(8, 2, dtype, seed=5), plan=entangling_plan(8))
    assert_agree(program, CudaEngine(BACKEND, tile), NumbaEngine())


@pytest.mark.parametrize("engine", [WHOLE, STAGED], ids=["whole", "staged"])
def test_order_of_threads_changes_no_bit(engine: CudaEngine) -> None:
    program = random_program(Case(5, 2, np.complex128, seed=2))
    found = []
    for order in ORDERS:
        BACKEND.kernels.schedule = Schedule(order, seed=11)
        found.append(results(engine, program))
    BACKEND.kernels.schedule = Schedule()
    for other in found[1:]:
        for got, want in zip(other, found[0], strict=True):
            np.testing.assert_array_equal(got, want)


def launched() -> dict[str, int]:
    """How often every kernel was launched in single precision."""
    counts = BACKEND.kernel_launches.items()
    return {name.removesuffix("<float>"): count for name, count in counts}


def state_bytes(records: Sequence[Any]) -> int:
    """Bytes of the states that recorded passes were handed; a scratch tile is one amplitude."""
    pointers = [
        argument
        for record in records
        if record.instance.startswith(("forward", "reverse"))
        for argument in record.arguments
        if not isinstance(argument, np.generic) and argument.dtype.kind == "c"
    ]
    return sum(pointer.nbytes for pointer in pointers if pointer.shape != (1, 1))


@pytest.mark.parametrize("measured", [False, True])
@pytest.mark.parametrize("tile", [None, 5], ids=str)
@pytest.mark.parametrize("batch", [1, 3])
def test_launches_and_traffic_are_as_predicted(
    batch: int, tile: int | None, measured: bool
) -> None:
    engine, dtype = CudaEngine(BACKEND, tile), np.dtype(np.complex64)
    p = random_program(Case(8, batch, np.complex64, seed=5), plan=entangling_plan(8))
    program, terms, wanted = engine._program(p.plan), p.terms if measured else None, Wanted()
    hosts = [
        program.host_table(np.dtype(np.float32), terms, w) for w in (Wanted(angles=False), wanted)
    ]
    one = dtype.itemsize << 8
    BACKEND.reset()
    with BACKEND.kernels.record() as records:
        final, _ = engine.forward(p.plan, p.state, p.angles, (), terms, p.coefficients)
    assert launched() == forward_launches(hosts[0], terms)
    assert state_bytes(records) == forward_traffic(hosts[0], one, batch, batch)
    BACKEND.reset()
    with BACKEND.kernels.record() as records:
        conformance.run_reverse(engine, p, final, wanted, measured=measured)
    launches = {
        f"{name}<float>": n for name, n in reverse_launches(hosts[1], terms, wanted).items()
    }
    assert BACKEND.kernel_launches == launches
    # Sparse terms write lambda before the sweep, which reads it like a cotangent.
    assert state_bytes(records) == reverse_traffic(hosts[1], one, batch, cotangent=True)
    if tile is None:
        assert BACKEND.kernel_launches["reverse<float>"] == 1


def rotations(num_qubits: int) -> Plan:
    """A plan of rotations alone."""
    steps = [Step(Structure.ROTATION, (q,), slots=(q,), word="Y") for q in range(num_qubits)]
    return Plan(num_qubits, tuple(steps), num_qubits)


def test_a_repeated_call_moves_nothing_to_or_from_the_device() -> None:
    program = random_program(Case(4, 2, np.complex128), plan=rotations(4))
    results(WHOLE, program)
    BACKEND.reset()
    results(WHOLE, program)
    assert (BACKEND.stats.uploads, BACKEND.stats.downloads) == (0, 0)


@pytest.mark.parametrize("engine", [WHOLE, STAGED], ids=["whole", "staged"])
def test_functions_of_angles_move_nothing_either_and_take_no_launch(engine: CudaEngine) -> None:
    rng = np.random.default_rng(0)
    turns, tables = (programs.SpectralMatrix(rng, size, 2).fields for size in (2, 4))
    phases = programs.SpectralDiagonal(rng, 4, 1).fields
    steps = [
        *[Step(Structure.DENSE, (q,), slots=(0, 1), **turns) for q in range(6)],
        *[Step(Structure.DENSE, (q,), (q + 1,), 1, slots=(1, 2), **turns) for q in range(5)],
        *[Step(Structure.DENSE, (q, q + 1), slots=(2, 0), **tables) for q in range(5)],
        Step(Structure.DIAGONAL, (1, 4), slots=(2,), **phases),
    ]
    program = random_program(Case(6, 2, np.complex128), plan=Plan(6, tuple(steps), 3))
    assert_agree(program, engine)
    made, real, terms = engine._program(program.plan), np.dtype(np.float64), program.terms
    forward, reverse = (made.host_table(real, terms, w) for w in (Wanted(angles=False), Wanted()))
    for _ in range(2):  # tables are sent by the first calls
        BACKEND.reset()
        final, _ = conformance.run_forward(engine, program)
        conformance.run_reverse(engine, program, final, Wanted(), measured=True)
    assert (BACKEND.stats.uploads, BACKEND.stats.downloads) == (0, 0)
    launches = forward_launches(forward, terms) + reverse_launches(reverse, terms, Wanted())
    assert BACKEND.kernel_launches == {f"{name}<double>": n for name, n in launches.items()}


def test_every_sample_has_weights_of_its_own_where_one_row_is_shown_to_all() -> None:
    program = random_program(Case(4, 3, np.complex128), plan=rotations(4))
    shared = np.broadcast_to(program.weights[:1], program.weights.shape)
    assert_agree(replace(program, weights=shared), WHOLE)


@pytest.mark.parametrize("targets", [5, 8])
def test_wide_steps_run_where_a_tile_has_room(targets: int) -> None:
    rng = np.random.default_rng(targets)
    matrix, images = programs.random_unitary(rng, 1 << targets), rng.permutation(1 << targets)
    steps = (
        Step(Structure.DENSE, tuple(range(targets)), matrix=matrix),
        Step(Structure.PERMUTATION, tuple(range(targets)), permutation=images),
        Step(Structure.ROTATION, (0,), slots=(0,), word="X"),
    )
    program = random_program(Case(8, 1, np.complex128), plan=Plan(8, steps, 1))
    assert_agree(program, WHOLE)


def test_a_function_that_makes_a_matrix_for_no_tile_is_refused() -> None:
    fields = programs.SpectralMatrix(np.random.default_rng(0), 32, 1).fields
    step = Step(Structure.DENSE, tuple(range(5)), slots=(0,), **fields)
    program = random_program(Case(6, 1, np.complex128), plan=Plan(6, (step,), 1))
    with pytest.raises(EngineError, match=r"at most 4 qubits here, got .* on 5\..*device='cpu'"):
        conformance.run_forward(STAGED, program)


class OnDevice(Engine):
    """An engine of a device whose arrays are not NumPy's, for operands and results that are."""

    name = "on device"

    def __init__(self, backend: Backend) -> None:
        self.backend, self.engine = backend, CudaEngine(backend)

    def _up(self, x: Any) -> Any:
        return self.backend.from_host(np.asarray(x)) if isinstance(x, np.ndarray) else x

    def _down(self, x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(map(self._down, x))
        return None if x is None else self.backend.to_host(x)

    def forward(self, plan: Plan, state: Any, angles: Any, matrices: Any = (), *rest: Any) -> Any:
        given = [self._up(m) for m in matrices]
        rest = tuple(map(self._up, rest))
        return self._down(
            self.engine.forward(plan, self._up(state), self._up(angles), given, *rest)
        )

    def reverse(
        self, plan: Plan, final: Any, angles: Any, matrices: Any, wanted: Wanted, **start: Any
    ) -> Gradients:
        operands = (self._up(final), self._up(angles), [self._up(m) for m in matrices], wanted)
        start = {name: self._up(x) for name, x in start.items()}
        found = self.engine.reverse(plan, *operands, **start)
        parts = {field.name: self._down(getattr(found, field.name)) for field in fields(found)}
        return Gradients(**parts)


@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
def test_conformance_on_arrays_that_numpy_cannot_read(
    check: Callable[[Engine, Case], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_cupy.install(monkeypatch)
    check(OnDevice(CupyBackend()), Case(3, 2, np.complex128, seed=7))


def test_what_the_device_has_no_room_for_is_refused_before_anything_is_allocated() -> None:
    backend = EmulatedBackend(1)
    backend.device_limits = replace(backend.device_limits, total_bytes=1 << 27)
    engine, plan = CudaEngine(backend), rotations(22)
    state = np.broadcast_to(np.zeros((1, 1 << 22), np.complex128), (4, 1 << 22))
    with pytest.raises(CapacityError, match=r"needs 256 MiB.* got 128 MiB available"):
        engine.forward(plan, state, np.zeros((4, 22)))
    assert backend.stats.allocations == 0


def test_outline_says_what_a_run_does_on_the_device() -> None:
    outline = STAGED.outline(entangling_plan(8), 2, np.dtype(np.complex128))
    assert outline.layout == "stages"
    assert outline.device is not None
    assert outline.device.launches[0] == 1 + len(outline.stages)
    assert outline.device.traffic[0] == (4096 * (1 + 2 * (2 * len(outline.stages) - 1)))
    assert WHOLE.outline(rotations(8), 2, np.dtype(np.complex128)).layout == "one tile a sample"


HAMILTONIAN = qml.PauliSum({"ZZI": 1.0, "IXX": 0.5, "YYZ": 0.3})


def layered() -> tuple[qml.Circuit, list[qml.Parameter]]:
    """A small circuit of turns, CX and a gate that a function makes."""
    thetas = [qml.Parameter(0.1 * (k + 1), name=f"t{k}") for k in range(6)]
    circuit = qml.Circuit(3)
    for q in range(3):
        circuit.ry(thetas[q], q).rz(thetas[3 + q], q)
    return circuit.cx(0, 1).cx(1, 2).h(0).p(thetas[0], 2), thetas


def test_a_run_on_a_device_is_one_launch_and_its_gradient_another_one() -> None:
    found = []
    for options in ({}, {"device": "emulated", "engine": "cuda"}):
        circuit, thetas = layered()
        backend_of(canonical_device("emulated")).reset()
        value = circuit.expectation(HAMILTONIAN, **options)
        value.backward()
        found.append([value.item(), *[t.grad.item() for t in thetas if t.grad is not None]])
    assert backend_of("emulated").kernel_launches == {"forward<double>": 1, "reverse<double>": 1}
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-12)


def test_states_on_a_device_give_the_same_probabilities_variances_and_shots() -> None:
    circuit, _ = layered()
    device: dict[str, Any] = {"device": "emulated", "engine": "cuda"}
    for method in (circuit.probabilities, circuit.purity, circuit.marginal):
        np.testing.assert_allclose(method([0], **device).numpy(), method([0]).numpy(), atol=1e-12)
    variances = [circuit.variance(HAMILTONIAN, **options).item() for options in ({}, device)]
    np.testing.assert_allclose(variances[1], variances[0], rtol=0, atol=1e-12)
    shots = [circuit.sample(50, seed=1, **options) for options in ({}, device)]
    np.testing.assert_array_equal(shots[1], shots[0])


def test_plan_prints_launches_traffic_and_the_time_that_it_takes() -> None:
    circuit, _ = layered()
    forecast = circuit.plan(HAMILTONIAN, device="emulated", engine="cuda", bandwidth=1e6)
    assert "launches     1 forward, 1 in the reverse sweep" in str(forecast)
    assert "traffic      256 B forward, 128 B in the reverse sweep: 0.384 ms" in str(forecast)
    assert "launches" not in str(circuit.plan(HAMILTONIAN))


@pytest.mark.parametrize("size", [10.0, 1e3, 1e5])
def test_angles_of_any_size(size: float) -> None:
    program = random_program(Case(3, 3, np.complex128, seed=1), plan=rotations(3))
    program.angles[...] *= size
    assert_agree(program, WHOLE)


@pytest.mark.parametrize(
    ("dtype", "largest"), [(np.complex64, 1e7), (np.complex128, 5e15)], ids=["single", "double"]
)
def test_angles_without_a_digit_left_give_no_number(
    dtype: type[np.complexfloating], largest: float
) -> None:
    """No value that is only wrong: up to there they are right."""
    program = random_program(Case(3, 2, dtype, seed=1), plan=rotations(3))
    program.angles[...] = largest
    assert_agree(program, WHOLE)
    for size in (4 * largest, 1e20, 1e30, np.inf, np.nan):
        program.angles[1, 2] = size
        final, values = conformance.run_forward(WHOLE, program)
        assert np.isfinite(final[0]).all()
        assert np.isnan(final[1]).all(), size
        assert np.isnan(values[1]).any(), size
