"""What every engine must satisfy: functions ``check(engine, case)`` over random programs.

A test file of an engine holds

    @pytest.mark.parametrize("case", conformance.CASES, ids=str)
    @pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
    def test_conformance(check, case):
        check(engine, case)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import dense
import numpy as np
from numpy.typing import NDArray
from programs import Case, Program, random_program

from autodiff.dtypes import real_dtype
from circuits.engines.base import Engine, Gradients, Wanted
from circuits.plan.steps import Plan, Step, Structure

ALL = Wanted(state=True, angles=True, matrices=True, coefficients=True)

CASES = [
    Case(n, batch, dtype, seed=100 * n + batch)
    for n in (1, 2, 3, 4, 5, 6)
    for batch in (1, 3, 17)
    for dtype in (np.complex128, np.complex64)
]


def _sample(array: NDArray[Any], b: int) -> NDArray[Any]:
    wide = np.complex128 if np.iscomplexobj(array) else np.float64
    return np.asarray(array[b if array.shape[0] > 1 else 0], wide)


def expected_final(program: Program) -> NDArray[np.complex128]:
    """Final states ``(B, N)`` by dense matrices."""
    rows = []
    for b in range(len(program.state)):
        matrices = [_sample(m, b) for m in program.matrices]
        unitary = dense.plan_matrix(program.plan, _sample(program.angles, b), matrices)
        rows.append(unitary @ _sample(program.state, b))
    return np.array(rows)


def expected_gradients(program: Program, *, measured: bool) -> Gradients:
    """Per-sample gradients by dense matrices; ``measured`` starts from terms and weights."""
    final = expected_final(program)
    state, angles, coefficients = [], [], []
    matrices: list[list[NDArray[Any]]] = [[] for _ in program.matrices]
    for b in range(len(final)):
        factors = _sample(program.coefficients, b)
        weights = _sample(program.weights, b)
        cotangent = _sample(program.cotangent, b)
        if measured:
            cotangent = dense.terms_cotangent(program.terms, final[b], factors, weights)
        one = dense.gradients(
            program.plan,
            _sample(program.state, b),
            _sample(program.angles, b),
            [_sample(m, b) for m in program.matrices],
            cotangent,
        )
        state.append(one.state)
        angles.append(one.angles)
        for collected, gradient in zip(matrices, one.matrices, strict=True):
            collected.append(gradient)
        values = dense.term_values(program.terms, final[b])
        coefficients.append(weights[program.terms.rows] * values)
    return Gradients(
        np.array(state),
        np.array(angles),
        tuple(np.array(m) for m in matrices),
        np.array(coefficients) if measured else None,
    )


def run_forward(engine: Engine, program: Program) -> tuple[NDArray[Any], NDArray[Any]]:
    """Final state and values."""
    final, values = engine.forward(
        program.plan,
        program.state,
        program.angles,
        program.matrices,
        program.terms,
        program.coefficients,
    )
    assert values is not None
    return final, values


def run_reverse(
    engine: Engine,
    program: Program,
    final: NDArray[Any],
    wanted: Wanted = ALL,
    *,
    measured: bool = False,
) -> Gradients:
    """Gradients of Re <cotangent|psi>, or of the weighted values where ``measured``."""
    if measured:
        return engine.reverse(
            program.plan,
            final,
            program.angles,
            program.matrices,
            wanted,
            terms=program.terms,
            coefficients=program.coefficients,
            weights=program.weights,
        )
    return engine.reverse(
        program.plan,
        final,
        program.angles,
        program.matrices,
        wanted._replace(coefficients=False),
        cotangent=program.cotangent,
    )


def parts(gradients: Gradients) -> list[NDArray[Any]]:
    """All arrays of a result, in a fixed order, without the absent ones."""
    arrays = [gradients.state, gradients.angles, gradients.coefficients]
    return [a for a in (*arrays, *(gradients.matrices or ())) if a is not None]


def assert_close(actual: NDArray[Any], expected: NDArray[Any], tolerance: float) -> None:
    """Same shape and every entry within ``tolerance`` of the larger of 1 and the largest entry."""
    assert actual.shape == expected.shape
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def assert_gradients(actual: Gradients, expected: Gradients, case: Case) -> None:
    """Every gradient has the precision of the case and the expected value."""
    assert len(parts(actual)) == len(parts(expected))
    complex_type = np.dtype(case.dtype)
    for name, dtype in (("state", complex_type), ("angles", real_dtype(complex_type))):
        assert getattr(actual, name).dtype == dtype, name
    for got, want in zip(parts(actual), parts(expected), strict=True):
        assert got.dtype in (complex_type, real_dtype(complex_type))
        assert_close(got, want, 10 * case.tolerance)


def check_final_state(engine: Engine, case: Case) -> None:
    """Without terms: the final state of every structure, and no values."""
    p = random_program(case)
    final, values = engine.forward(p.plan, p.state, p.angles, p.matrices)
    assert values is None
    assert final.dtype == case.dtype
    assert_close(final, expected_final(p), case.tolerance)


def check_values(engine: Engine, case: Case) -> None:
    """With terms: the same state, and the value of every observable."""
    p = random_program(case)
    final, values = run_forward(engine, p)
    expected = expected_final(p)
    rows = [
        dense.row_values(p.terms, psi, _sample(p.coefficients, b)) for b, psi in enumerate(expected)
    ]
    assert values.dtype == real_dtype(np.dtype(case.dtype))
    assert_close(final, expected, case.tolerance)
    assert_close(values, np.array(rows), case.tolerance)


def check_cotangent_gradients(engine: Engine, case: Case) -> None:
    """State, angle and matrix gradients for any cotangent of the final state."""
    p = random_program(case)
    final = expected_final(p).astype(case.dtype)
    actual = run_reverse(engine, p, final)
    assert actual.coefficients is None
    assert_gradients(actual, expected_gradients(p, measured=False), case)


def check_measured_gradients(engine: Engine, case: Case) -> None:
    """All gradients of a weighted sum of observables, coefficients included."""
    p = random_program(case)
    final = expected_final(p).astype(case.dtype)
    actual = run_reverse(engine, p, final, measured=True)
    assert actual.coefficients is not None
    assert_gradients(actual, expected_gradients(p, measured=True), case)


def check_shared_operands(engine: Engine, case: Case) -> None:
    """Operands of batch 1 act as if repeated; gradients stay per sample."""
    p = random_program(case, shared=True)
    final, _ = run_forward(engine, p)
    assert_close(final, expected_final(p), case.tolerance)
    for measured in (False, True):
        actual = run_reverse(engine, p, final, measured=measured)
        assert_gradients(actual, expected_gradients(p, measured=measured), case)


def check_shared_final_states(engine: Engine, case: Case) -> None:
    """Final states that samples take in turn act as if repeated, and stay as they are."""
    p = random_program(case)
    final, _ = run_forward(engine, p)
    # Of operands with samples, a shuffled copy: whoever took them in another order would differ.
    others = random_program(replace(case, seed=case.seed + 1), plan=p.plan)
    twice = replace(
        p,
        angles=np.concatenate([p.angles, p.angles[::-1]]),
        matrices=tuple(np.concatenate([m, m[::-1]]) for m in p.matrices),
        coefficients=np.concatenate([p.coefficients, others.coefficients]),
        weights=np.concatenate([p.weights, others.weights]),
        cotangent=np.concatenate([p.cotangent, others.cotangent]),
    )
    repeated = np.concatenate([final, final])
    for measured in (False, True):
        expected = parts(run_reverse(engine, twice, repeated, measured=measured))
        actual = parts(run_reverse(engine, twice, final, measured=measured))
        assert len(actual) == len(expected)
        for got, want in zip(actual, expected, strict=True):
            np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(final, repeated[: case.batch])


def check_wanted(engine: Engine, case: Case) -> None:
    """Each gradient asked for alone equals the one asked for with all others; the rest are None."""
    p = random_program(case)
    final, _ = run_forward(engine, p)
    everything = run_reverse(engine, p, final, measured=True)
    names = ("state", "angles", "matrices", "coefficients")
    for name in names:
        wanted = Wanted(**{other: other == name for other in names})
        alone = run_reverse(engine, p, final, wanted, measured=True)
        assert [other for other in names if getattr(alone, other) is not None] == [name]
        for got, want in zip(
            parts(alone), parts(Gradients(**{name: getattr(everything, name)})), strict=True
        ):
            assert_close(got, want, 10 * case.tolerance)


def check_inputs_unchanged(engine: Engine, case: Case) -> None:
    """No argument is written to, and no result shares memory with one."""
    p = random_program(case)
    final, _ = run_forward(engine, p)
    given = [p.state, p.angles, *p.matrices, p.coefficients, p.weights, p.cotangent, final]
    copies = [a.copy() for a in given]
    results = [run_forward(engine, p)[0]]
    results += parts(run_reverse(engine, p, final))
    results += parts(run_reverse(engine, p, final, measured=True))
    for array, copy in zip(given, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
        assert not any(np.shares_memory(array, result) for result in results)


def check_strided_inputs(engine: Engine, case: Case) -> None:
    """Arguments may have any strides."""
    p = random_program(case)

    def strided(array: NDArray[Any]) -> NDArray[Any]:
        wide = np.repeat(array, 2, axis=-1)
        return wide[..., ::2]

    q = replace(
        p,
        state=strided(p.state),
        angles=strided(p.angles),
        matrices=tuple(strided(m) for m in p.matrices),
        coefficients=strided(p.coefficients),
        weights=strided(p.weights),
    )
    final, values = run_forward(engine, p)
    again, same = run_forward(engine, q)
    assert_close(again, final, case.tolerance)
    assert_close(same, values, case.tolerance)
    expected = parts(run_reverse(engine, p, final, measured=True))
    actual = parts(run_reverse(engine, q, strided(final), measured=True))
    for got, want in zip(actual, expected, strict=True):
        assert_close(got, want, 10 * case.tolerance)


def check_read_only_inputs(engine: Engine, case: Case) -> None:
    """Arguments may be read-only, and one state may be shown to all samples without a copy."""
    p = random_program(case)
    p = replace(p, state=np.repeat(p.state[:1], case.batch, axis=0))
    q = replace(p, state=np.broadcast_to(p.state[:1], p.state.shape))
    final, values = run_forward(engine, p)
    for array in (p.angles, *p.matrices, p.coefficients, p.weights, p.cotangent):
        array.flags.writeable = False
    again, same = run_forward(engine, q)
    assert_close(again, final, case.tolerance)
    assert_close(same, values, case.tolerance)
    expected = [run_reverse(engine, p, final, measured=m) for m in (False, True)]
    final.flags.writeable = False
    actual = [run_reverse(engine, q, final, measured=m) for m in (False, True)]
    for got, want in zip(map(parts, actual), map(parts, expected), strict=True):
        for one, other in zip(got, want, strict=True):
            assert_close(one, other, 10 * case.tolerance)


def check_plan_is_reusable(engine: Engine, case: Case) -> None:
    """A plan serves new angles and both precisions; equal calls give equal bits."""
    p = random_program(case)
    first, _ = run_forward(engine, p)
    other = replace(p, angles=p.angles + 1)
    assert_close(run_forward(engine, other)[0], expected_final(other), case.tolerance)
    for dtype in (np.complex64, np.complex128):
        second = random_program(replace(case, dtype=dtype), plan=p.plan)
        loose = replace(case, dtype=dtype).tolerance
        assert_close(run_forward(engine, second)[0], expected_final(second), loose)
    np.testing.assert_array_equal(run_forward(engine, p)[0], first)


def check_no_steps(engine: Engine, case: Case) -> None:
    """The empty plan is the identity, with its gradients."""
    p = random_program(case, plan=Plan(case.num_qubits, (), 0))
    final, _ = run_forward(engine, p)
    np.testing.assert_array_equal(final, p.state)
    actual = run_reverse(engine, p, final, measured=True)
    assert_gradients(actual, expected_gradients(p, measured=True), case)


def check_identity_words(engine: Engine, case: Case) -> None:
    """A rotation about an empty word, or one of letters I, is the phase exp(-i t / 2)."""
    n = case.num_qubits
    steps = (
        Step(Structure.ROTATION, (), slots=(0,), word=""),
        Step(Structure.ROTATION, tuple(range(n)), slots=(1,), word="I" * n),
        Step(Structure.ROTATION, (), tuple(range(n)), control_state=1, slots=(2,), word=""),
    )
    p = random_program(case, plan=Plan(n, steps, 3))
    final, _ = run_forward(engine, p)
    assert_close(final, expected_final(p), case.tolerance)
    actual = run_reverse(engine, p, final)
    assert_gradients(actual, expected_gradients(p, measured=False), case)


def check_nan_angle(engine: Engine, case: Case) -> None:
    """NaN in one sample's angle gives NaN there, in values and gradients, and nowhere else."""
    steps = tuple(
        Step(Structure.ROTATION, (q,), slots=(0,), word=letter)
        for q in range(case.num_qubits)
        for letter in "XZ"
    )
    p = random_program(case, plan=Plan(case.num_qubits, steps, 1))
    p.angles[0, 0] = np.nan
    final, values = run_forward(engine, p)
    assert np.isnan(final[0]).all()
    assert np.isnan(values[0]).any()
    assert np.isfinite(final[1:]).all()
    assert np.isfinite(values[1:]).all()
    gradients = run_reverse(engine, p, final, measured=True)
    assert gradients.angles is not None
    assert np.isnan(gradients.angles[0]).all()
    assert np.isfinite(gradients.angles[1:]).all()


def check_prepared_calls(engine: Engine, case: Case) -> None:
    """What is prepared gives the same bits, also when it is called again."""
    program = random_program(case)
    plan, dtype, batch = program.plan, program.state.dtype, case.batch
    run = engine.prepared_forward(plan, batch, dtype, program.terms)
    operands = (plan, program.state, program.angles, program.matrices, program.terms)
    expected = run_forward(engine, program)
    for _ in range(2):
        for found, right in zip(run(*operands, program.coefficients), expected, strict=True):
            np.testing.assert_array_equal(found, right)
    undo = engine.prepared_reverse(plan, batch, dtype, program.terms, ALL)
    start: dict[str, Any] = {"terms": program.terms, "coefficients": program.coefficients}
    start |= {"cotangent": None, "weights": program.weights}
    right = parts(run_reverse(engine, program, expected[0], measured=True))
    for _ in range(2):
        found = parts(undo(plan, expected[0], program.angles, program.matrices, ALL, **start))
        assert len(found) == len(right) > 0
        for one, other in zip(found, right, strict=True):
            np.testing.assert_array_equal(one, other)


CHECKS: list[Callable[[Engine, Case], None]] = [
    check_final_state,
    check_values,
    check_cotangent_gradients,
    check_measured_gradients,
    check_shared_operands,
    check_shared_final_states,
    check_wanted,
    check_inputs_unchanged,
    check_strided_inputs,
    check_read_only_inputs,
    check_plan_is_reusable,
    check_no_steps,
    check_identity_words,
    check_nan_angle,
    check_prepared_calls,
]
