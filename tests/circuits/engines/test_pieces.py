"""Plans with wide steps: everything agrees with the reference engine, and takes little memory."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import conformance
import numpy as np
import programs
import pytest
from programs import Case, random_program

from circuits import Circuit, Parameter, Z
from circuits.engines.base import Wanted
from circuits.engines.numba_cpu import NumbaEngine
from circuits.engines.pieces import Pieces
from circuits.engines.reference import ReferenceEngine
from circuits.plan import wide
from circuits.plan.steps import Plan


@pytest.fixture
def everything_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps on two qubits are wide, so that random programs have many pieces."""
    monkeypatch.setattr(wide, "WIDE_MATRIX", 2)
    monkeypatch.setattr(wide, "WIDE_TABLE", 2)


@pytest.mark.usefixtures("everything_wide")
@pytest.mark.parametrize("case", conformance.CASES[::5], ids=str)
@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
def test_conformance(check: object, case: Case) -> None:
    assert callable(check)
    check(NumbaEngine(), case)


@pytest.mark.usefixtures("everything_wide")
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("batch", [1, 5])
def test_gradients_agree_with_the_reference(
    dtype: type[np.complexfloating], batch: int, shared: bool
) -> None:
    program = random_program(Case(5, batch, dtype, seed=batch), shared=shared)
    engine = NumbaEngine()
    for measured in (False, True):
        final, values = conformance.run_forward(engine, program)
        wanted, expected = conformance.run_forward(ReferenceEngine(), program)
        found = conformance.run_reverse(engine, program, final, measured=measured)
        right = conformance.run_reverse(ReferenceEngine(), program, wanted, measured=measured)
        tolerance = 1e-11 if dtype is np.complex128 else 1e-4
        conformance.assert_close(final, wanted, tolerance)
        conformance.assert_close(values, expected, tolerance)
        for got, want in zip(conformance.parts(found), conformance.parts(right), strict=True):
            assert got.dtype == want.dtype
            conformance.assert_close(got, want, tolerance)
    assert isinstance(program.plan.memo["numba"], Pieces)


@pytest.mark.usefixtures("everything_wide")
def test_only_what_is_wanted_comes_back() -> None:
    program = random_program(Case(4, 2, np.complex128))
    engine = NumbaEngine()
    final, _ = conformance.run_forward(engine, program)
    found = engine.reverse(
        program.plan,
        final,
        program.angles,
        program.matrices,
        Wanted(angles=False, matrices=True),
        cotangent=program.cotangent,
    )
    assert found.state is None
    assert found.angles is None
    assert found.coefficients is None
    assert found.matrices is not None


@pytest.mark.usefixtures("everything_wide")
def test_outline_names_the_pieces() -> None:
    rng = np.random.default_rng(0)
    plan: Plan = replace(programs.random_plan(rng, 5, 14))
    found = NumbaEngine().outline(plan, 3, np.dtype(np.complex128))
    assert found.layout == "pieces"
    assert found.blocks["wide"] == sum(wide.is_wide(step) for step in plan.steps)
    assert found.reverse_bytes > found.forward_bytes - 1


@pytest.mark.parametrize("kind", ["unitary", "basis_permutation", "diagonal"])
def test_very_wide_gates_take_little_memory_and_few_blocks(kind: str) -> None:
    rng = np.random.default_rng(0)
    payload, size = {
        "unitary": lambda: (programs.random_unitary(rng, 1 << 10), 10),
        "basis_permutation": lambda: (rng.permutation(1 << 12), 12),
        "diagonal": lambda: (np.exp(1j * rng.normal(size=1 << 14)), 14),
    }[kind]()
    theta = Parameter(0.3)
    circuit = Circuit(14).ry(theta, 0).h(3)
    circuit.append(kind, list(range(size)), payload=payload).ry(theta, 2)
    tracemalloc.start()
    value = circuit.expectation(Z(2))
    value.backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 << 20  # a matrix on 10 qubits has 16 MiB
    assert sum(circuit.plan(Z(2)).blocks.values()) <= 4
    assert theta.grad is not None
    step = 1e-6
    ends = [circuit.expectation(Z(2), values=[0.3 + s]).item() for s in (step, -step)]
    assert theta.grad.item() == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-7)
