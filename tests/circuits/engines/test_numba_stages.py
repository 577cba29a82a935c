"""States of many tiles: small tiles against the reference engine, and any number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import conformance
import numpy as np
import programs
import pytest
from programs import Case, random_program

import autodiff as ad
from autodiff import Parameter
from circuits import Circuit, X, Z
from circuits.engines import instructions as gates
from circuits.engines import numba_program, numba_stages
from circuits.engines.numba_cpu import NumbaEngine
from circuits.engines.numba_program import Kind
from circuits.engines.numba_threads import get_num_threads, set_num_threads
from circuits.engines.reference import ReferenceEngine
from circuits.plan.linear import reduced
from circuits.plan.steps import Plan, Step, Structure


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tiles of 16 rows, for which threads work together."""
    before = get_num_threads()
    for module in (numba_stages, numba_program):
        monkeypatch.setattr(module, "TILE_ROWS_LOG", 4)
    monkeypatch.setattr(numba_stages, "LOW_ROWS", 1)
    monkeypatch.setattr(numba_program, "WIDE_QUBITS", 0)
    yield
    set_num_threads(before)


def results(engine: Any, program: programs.Program) -> list[np.ndarray[Any, Any]]:
    """Final state, values, and all gradients from either start."""
    final, values = conformance.run_forward(engine, program)
    found = [final, values]
    for measured in (False, True):
        gradients = conformance.run_reverse(engine, program, final, measured=measured)
        found += conformance.parts(gradients)
    return found


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("seed", range(4))
def test_small_tiles_agree_with_the_reference(seed: int, dtype: type[np.complexfloating]) -> None:
    program = random_program(Case(8, 2, dtype, seed=seed, num_steps=40))
    tolerance = 1e-12 if dtype is np.complex128 else 3e-5
    expected = results(ReferenceEngine(), program)
    for found, wanted in zip(results(NumbaEngine(), program), expected, strict=True):
        conformance.assert_close(found, wanted, tolerance)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_the_same_bits_for_any_number_of_threads(dtype: type[np.complexfloating]) -> None:
    program = random_program(Case(9, 2, dtype, num_steps=40))
    found = []
    for count in (1, 2, 4, 2):
        set_num_threads(count)
        found.append(results(NumbaEngine(), program))
    for other in found[1:]:
        for first, second in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(first, second)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("batch", [1, 3])
def test_samples_share_final_states(batch: int) -> None:
    conformance.check_shared_final_states(NumbaEngine(), Case(8, batch, np.complex128))


@pytest.mark.usefixtures("small_tiles")
def test_wanted_gradients_alone_equal_those_with_others() -> None:
    case = Case(8, 1, np.complex128, num_steps=40)
    conformance.check_wanted(NumbaEngine(), case)


@pytest.mark.usefixtures("small_tiles")
def test_words_that_flip_more_rows_than_a_tile_has() -> None:
    steps = (
        Step(Structure.ROTATION, tuple(range(8)), slots=(0,), word="XYXXYXYX"),
        Step(Structure.PERMUTATION, (0, 7), permutation=np.array([0, 2, 1, 3])),
        Step(Structure.ROTATION, tuple(range(8)), slots=(1,), word="YYYXYXXX"),
    )
    program = random_program(Case(8, 1, np.complex128), plan=Plan(8, steps, 2))
    expected = results(ReferenceEngine(), program)
    for found, wanted in zip(results(NumbaEngine(), program), expected, strict=True):
        conformance.assert_close(found, wanted, 1e-12)


@pytest.mark.parametrize(("num_qubits", "wide"), [(15, 9), (16, 10)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_permutations_almost_as_wide_as_a_tile(
    num_qubits: int, wide: int, dtype: type[np.floating]
) -> None:
    """Above the low rows, and no linear map."""
    theta = Parameter(np.linspace(0.1, 2.0, num_qubits, dtype=dtype))
    images = np.arange(1 << wide)
    images[:3] = [1, 2, 0]
    circuit = Circuit(num_qubits)
    for q in range(num_qubits):
        circuit.ry(theta[q], q)
    circuit.basis_permutation(images, list(range(num_qubits - wide, num_qubits)))
    circuit.ry(theta[0], num_qubits - 1)
    found = []
    for engine in ("numba", "reference"):
        value = circuit.expectation(Z(num_qubits - 1) + X(num_qubits - 2), engine=engine)
        found.append(np.append(ad.grad(value, theta).numpy(), value.item()))
    tolerance = 1e-12 if dtype is np.float64 else 3e-5
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=tolerance)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_stages_end_where_all_lanes_change(dtype: type[np.floating]) -> None:
    """Wires that go to the lanes need room in the last stage's tile beside the low rows."""
    swap = np.array([0, 2, 1, 3])
    steps = [Step(Structure.PERMUTATION, (q, 9 - q), permutation=swap) for q in range(4)]
    program = numba_program.Program(Plan(10, tuple(steps), 0))
    layout = program.shape(1, np.dtype(dtype), None).layout
    assert isinstance(layout, numba_stages.StagedLayout)


@pytest.mark.usefixtures("small_tiles")
def test_matrices_wider_than_a_tile_take_the_whole_state() -> None:
    matrix = programs.random_unitary(np.random.default_rng(0), 32)
    plan = Plan(8, (Step(Structure.DENSE, (0, 2, 3, 5, 6), matrix=matrix),), 0)
    program = random_program(Case(8, 1, np.complex128), plan=plan)
    assert numba_program.Program(program.plan).kind(1, np.dtype(np.float64)) is Kind.QUBITS
    expected = results(ReferenceEngine(), program)
    for found, wanted in zip(results(NumbaEngine(), program), expected, strict=True):
        conformance.assert_close(found, wanted, 1e-12)


@pytest.mark.usefixtures("small_tiles")
def test_lanes_go_home_in_the_last_stage_only() -> None:
    """Three CX among the lanes a layer relabel them; to undo that would take passes over tiles."""
    cx = np.array([0, 3, 2, 1])  # the control is the first qubit
    layer = [Step(Structure.PERMUTATION, (q, q + 1), permutation=cx) for q in range(7)]
    turns = [Step(Structure.ROTATION, (q,), slots=(q,), word="Y") for q in range(8)]
    program = numba_program.Program(Plan(8, (*turns, *layer, *turns, *layer, *turns, *layer), 8))
    layout = program.shape(1, np.dtype(np.float64), None).layout
    assert isinstance(layout, numba_stages.StagedLayout)
    assert len(layout.ends) > 3
    ops = layout.schedule.ops[: layout.ends[-2]]
    within_rows = (ops[:, gates.KIND] == gates.EXCHANGE) & (ops[:, gates.FLIP] == 0)
    assert not (within_rows & (ops[:, gates.COUNT] == 0)).any()
    lane_qubits = layout.lanes.bit_length() - 1
    homes = [place.signs for place in layout.schedule.places[:lane_qubits]]
    assert homes == [1 << q for q in range(lane_qubits)]


@pytest.mark.parametrize("seed", range(5))
def test_places_in_spanned_tiles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    masks = [(int(m), 0) for m in rng.integers(1, 64, 3)]
    vectors = numba_stages._filled([(p, m) for p, m, _ in reduced(masks) if p], 4, 6)
    places = numba_stages.basis_places(vectors, 0, 6)
    order = numba_stages.tile_order([m for _, m in vectors])
    base = sum(1 << q for q, place in enumerate(places) if place.base and rng.random() < 0.5)
    for row in range(1 << len(vectors)):
        state = base ^ int(order[row])
        for q, place in enumerate(places):
            parity = (row & place.mask).bit_count() + (base & place.base).bit_count()
            assert parity % 2 == (state >> q) & 1
