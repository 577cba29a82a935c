"""The Numba engine: the conformance suite, the reference engine on larger plans, and threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import conformance
import numpy as np
import programs
import pytest
from imports import imports
from programs import Case, random_program
from programs import Program as Operands
from sources import ROOT, sources
from structures import ACTIONS, structure_program

from circuits.engines.base import Engine, Wanted
from circuits.engines.numba_cpu import NumbaEngine
from circuits.engines.numba_program import Program
from circuits.engines.reference import ReferenceEngine
from circuits.plan.steps import Plan, Step, Structure

ENGINE, REFERENCE = NumbaEngine(), ReferenceEngine()


@pytest.mark.parametrize("case", conformance.CASES, ids=str)
@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
def test_conformance(check: Callable[[Engine, Case], None], case: Case) -> None:
    check(ENGINE, case)


def results(engine: Engine, program: Operands) -> list[np.ndarray[Any, Any]]:
    """Final state, values, and all gradients from either start."""
    final, values = conformance.run_forward(engine, program)
    gradients = [
        array
        for measured in (False, True)
        for array in conformance.parts(
            conformance.run_reverse(engine, program, final, measured=measured)
        )
    ]
    return [final, values, *gradients]


def assert_agree(program: Operands) -> None:
    """The engines agree to 1e-12 in values and 1e-11 in gradients, or 1e-5 in single precision."""
    single = program.state.dtype == np.complex64
    actual, expected = results(ENGINE, program), results(REFERENCE, program)
    assert len(actual) == len(expected)
    for k, (got, want) in enumerate(zip(actual, expected, strict=True)):
        assert got.dtype == want.dtype
        conformance.assert_close(got, want, 1e-5 if single else 1e-12 if k < 2 else 1e-11)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("batch", [1, 3, 17])
@pytest.mark.parametrize("num_qubits", [1, 2, 3, 4, 5, 6])
def test_agrees_with_reference(
    num_qubits: int, batch: int, dtype: type[np.complexfloating]
) -> None:
    assert_agree(random_program(Case(num_qubits, batch, dtype, seed=7, num_steps=60)))


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("seed", range(4))
def test_any_step_between_cx_on_the_lowest_qubits(
    seed: int, dtype: type[np.complexfloating]
) -> None:
    rng, steps = np.random.default_rng(seed), []
    plan = programs.random_plan(rng, 8, 40)
    for step in plan.steps:
        control, target = (int(q) for q in rng.permutation(5)[:2])
        flip = np.array([1, 0])
        cx = Step(Structure.PERMUTATION, (target,), (control,), 1, permutation=flip)
        steps += [cx, step]
    assert_agree(random_program(Case(8, 1, dtype), plan=replace(plan, steps=tuple(steps))))


@pytest.mark.parametrize("num_controls", [0, 1, 2])
@pytest.mark.parametrize("num_targets", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("structure", Structure)
def test_every_structure_has_a_kernel(
    structure: Structure, num_targets: int, num_controls: int
) -> None:
    rng, case = np.random.default_rng(num_targets), Case(6, 2, np.complex128)
    for action in ACTIONS[structure](rng, num_targets):
        assert_agree(structure_program(structure, action, rng, case, num_targets, num_controls))


def test_compiled_code_uses_nothing_of_the_reference_engine() -> None:
    files = [s for s in sources(ROOT) if s.path.match("circuits/engines/numba_*.py")]
    assert len(files) > 10
    targets = [found.target for source in files for found in imports(source)]
    assert "circuits.plan.steps.Plan" in targets
    assert [target for target in targets if "reference" in target] == []


def five_steps() -> Plan:
    """A fixed, a free, a given, a free and a fixed step."""
    rng = np.random.default_rng(5)
    steps = (
        Step(Structure.DENSE, (0,), matrix=programs.random_unitary(rng, 2)),
        Step(Structure.ROTATION, (1,), slots=(0,), word="X"),
        Step(Structure.DENSE, (0,), source=0),
        Step(Structure.ROTATION, (0, 2), slots=(1,), word="YZ"),
        Step(Structure.PERMUTATION, (2,), (0,), 1, permutation=np.array([1, 0])),
    )
    return Plan(3, steps, 2, num_matrices=1)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Wanted(state=True, angles=False), 4),
        (Wanted(angles=True), 2),
        (Wanted(angles=(False, True)), 2),
        (Wanted(angles=(True, False)), 1),
        (Wanted(angles=False, matrices=True), 3),
        (Wanted(angles=False, coefficients=True), 0),
    ],
)
def test_sweep_stops_at_the_earliest_wanted_gradient(wanted: Wanted, expected: int) -> None:
    program = Program(five_steps())
    shape = program.shape(2, np.dtype(np.float64), None)
    ops, stop = program.variant(shape.layout, wanted)
    # One a step, but CX costs nothing. The X rotation waits: no other step is on its qubit.
    assert len(ops) == 4
    assert len(ops) - stop == expected


def test_one_call_of_a_function_serves_all_its_steps() -> None:
    rng = np.random.default_rng(3)
    counted = {"function": 0, "derivative": 0}
    spectral = programs.SpectralMatrix(rng, 2, 1)

    def function(angles: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        counted["function"] += 1
        return spectral(angles)

    def derivative(angles: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        counted["derivative"] += 1
        return spectral.derivative(angles)

    steps = tuple(
        Step(Structure.DENSE, (q,), slots=(q,), function=function, derivative=derivative)
        for q in range(3)
    )
    program = random_program(Case(3, 4, np.complex128), plan=Plan(3, steps, 3))
    final, _ = ENGINE.forward(program.plan, program.state, program.angles)
    assert counted == {"function": 1, "derivative": 0}
    conformance.run_reverse(ENGINE, program, final)
    assert counted == {"function": 2, "derivative": 1}


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_equal_calls_give_equal_bits(dtype: type[np.complexfloating]) -> None:
    program = random_program(Case(5, 7, dtype))
    for first, second in zip(results(ENGINE, program), results(ENGINE, program), strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("structure", [Structure.DIAGONAL, Structure.DENSE])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_nan_in_a_matrix_function_gives_nan(structure: Structure, size: int) -> None:
    action = ACTIONS[structure](np.random.default_rng(1), size)[0]
    plan = Plan(3, (Step(structure, tuple(range(size)), **action),), 3)
    program = random_program(Case(3, 2, np.complex128), plan=plan)
    program.angles[0] = np.nan
    final, values, *_ = results(ENGINE, program)
    assert np.isnan(final[0]).all()
    assert np.isnan(values[0]).any()
    gradients = conformance.run_reverse(ENGINE, program, final)
    assert gradients.angles is not None
    assert np.isnan(gradients.angles[0, list(action["slots"])]).all()
    assert np.isfinite(gradients.angles[1]).all()


def test_calls_from_several_threads_equal_sequential_ones() -> None:
    plan = programs.random_plan(np.random.default_rng(0), 6, 60)
    cases = [Case(6, 17, np.complex128, seed=seed) for seed in range(4)]
    several = [random_program(case, plan=plan) for case in cases]
    expected = [results(ENGINE, program) for program in several]
    unpacked = replace(plan, memo={})
    shared = [replace(program, plan=unpacked) for program in several]
    with ThreadPoolExecutor(4) as pool:
        rounds = list(pool.map(lambda program: results(ENGINE, program), shared * 10))
    for actual, wanted in zip(rounds, expected * 10, strict=True):
        for got, want in zip(actual, wanted, strict=True):
            np.testing.assert_array_equal(got, want)


def test_prepared_calls_look_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    program = random_program(Case(4, 3, np.complex128))
    plan, dtype, terms = program.plan, program.state.dtype, program.terms
    wanted = Wanted(angles=True)
    run = ENGINE.prepared_forward(plan, 3, dtype, terms)
    undo = ENGINE.prepared_reverse(plan, 3, dtype, terms, wanted)
    monkeypatch.setattr(Program, "call", None)
    operands = (program.angles, program.matrices)
    final, values = run(plan, program.state, *operands, terms, program.coefficients)
    start = {"terms": terms, "coefficients": program.coefficients, "weights": program.weights}
    assert undo(plan, final, *operands, wanted, **start).angles is not None
    assert values is not None


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_samples_that_differ_in_signs_only(dtype: type[np.complexfloating]) -> None:
    """As those of the parameter-shift rule do around 0."""
    program = random_program(Case(3, 4, dtype), plan=programs.rotations(3, 40))
    signs = np.array([1.0, -1.0, 1.0, -1.0])[:, None]
    assert_agree(
        replace(program, angles=(np.full((4, 40), 0.3) * signs).astype(program.angles.dtype))
    )


def test_a_plan_without_angles_has_none_to_want() -> None:
    program = random_program(Case(2, 3, np.complex128), plan=Plan(2, (), 0))
    wanted = Wanted(state=True, angles=())
    for measured in (False, True):
        found = conformance.run_reverse(ENGINE, program, program.state, wanted, measured=measured)
        right = conformance.run_reverse(
            REFERENCE, program, program.state, wanted, measured=measured
        )
        conformance.assert_close(found.state, right.state, 1e-12)
