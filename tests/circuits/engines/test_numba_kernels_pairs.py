"""Two rotations in one pass: every pair of qubits, relabelled rows, tiles, slots left out."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import conformance
import numpy as np
import pytest
from programs import Case, random_program

from circuits.engines import instructions as gates
from circuits.engines import numba_program, numba_stages
from circuits.engines.base import Wanted
from circuits.engines.numba_cpu import NumbaEngine
from circuits.engines.numba_program import Program
from circuits.engines.reference import ReferenceEngine
from circuits.plan.steps import Plan, Step, Structure

ENGINE, REFERENCE = NumbaEngine(), ReferenceEngine()
FLIP = np.array([1, 0])


def ring(num_qubits: int, seed: int) -> list[Step]:
    """CX in a random ring, after which flips and masks have several bits."""
    order = [int(q) for q in np.random.default_rng(seed).permutation(num_qubits)]
    pairs = zip(order, order[1:] + order[:1], strict=True)
    return [Step(Structure.PERMUTATION, (t,), (c,), 1, permutation=FLIP) for c, t in pairs]


def rotations(qubits: tuple[int, ...], letters: str, first: int = 0) -> list[Step]:
    return [
        Step(Structure.ROTATION, (q,), slots=(first + k,), word=a)
        for k, (q, a) in enumerate(zip(qubits, letters, strict=True))
    ]


def pairs(plan: Plan, batch: int) -> int:
    ops = Program(plan).shape(batch, np.dtype(np.float64), None).layout.schedule.ops
    words = ops[ops[:, gates.KIND] == gates.WORD, gates.SIZE].tolist()
    assert words.count(gates.BEFORE) == words.count(gates.BEHIND)
    return words.count(gates.BEHIND)


def assert_agree(
    plan: Plan, batch: int, wanted: Wanted | None = None, dtype: Any = np.complex128
) -> None:
    program = random_program(Case(plan.num_qubits, batch, dtype), plan=plan)
    results = []
    for engine in (ENGINE, REFERENCE):
        final, values = conformance.run_forward(engine, program)
        some = {} if wanted is None else {"wanted": wanted}
        gradients = conformance.run_reverse(engine, program, final, **some)
        results.append([final, values, *conformance.parts(gradients)])
    for found, expected in zip(*results, strict=True):
        conformance.assert_close(found, expected, 1e-13 if dtype is np.complex128 else 1e-5)


@pytest.mark.parametrize("relabelled", [False, True])
@pytest.mark.parametrize("letters", ["XX", "YY"])
def test_every_pair_of_qubits(letters: str, relabelled: bool) -> None:
    for seed, qubits in enumerate(permutations(range(4), 2)):
        steps = [*(ring(4, seed) if relabelled else []), *rotations(qubits, letters)]
        plan = Plan(4, tuple(steps), 2)
        assert pairs(plan, 3) == 1
        assert_agree(plan, 3)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("letters", ["XXXXX", "YYYYY", "XYYXX", "YXXYY"])
@pytest.mark.parametrize(("num_qubits", "batch"), [(5, 9), (9, 1)])
def test_layers(num_qubits: int, batch: int, letters: str, dtype: Any) -> None:
    steps: list[Step] = []
    for layer in range(3):
        qubits = tuple(range(num_qubits - 5, num_qubits))
        steps += [*ring(num_qubits, layer), *rotations(qubits, letters, 5 * layer)]
    plan = Plan(num_qubits, tuple(steps), 15)
    assert pairs(plan, batch) >= 3
    assert_agree(plan, batch, dtype=dtype)


@pytest.mark.parametrize("letters", ["XX", "YY"])
@pytest.mark.parametrize("live", [(True, False), (False, True), (False, False)])
def test_environments_of_one_only(letters: str, live: tuple[bool, bool]) -> None:
    """The pass goes both back for the rotations before it."""
    before = rotations((0, 2, 3), "YXY", 2)
    plan = Plan(4, (*before, *ring(4, 1), *rotations((1, 3), letters)), 5)
    assert pairs(plan, 2) >= 1
    for state in (False, True):
        assert_agree(plan, 2, Wanted(angles=(*live, True, True, True), state=state))
        assert_agree(plan, 2, Wanted(angles=(*live, False, False, False), state=state))


@pytest.mark.parametrize("letters", ["XXXXXXX", "YYYYYYY"])
def test_signs_of_tiles(letters: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words with Z on a qubit that tells tiles apart: half of the tiles turn the other way."""
    for module in (numba_stages, numba_program):
        monkeypatch.setattr(module, "TILE_ROWS_LOG", 4)
    monkeypatch.setattr(numba_stages, "LOW_ROWS", 1)
    monkeypatch.setattr(numba_program, "WIDE_QUBITS", 0)
    words = [(q, q + 1) for q in range(3, 8)]
    steps = [
        replace(step, targets=(*pair, 0), word=f"{letters[0]}{letters[0]}{other}")
        for other in "IZ"
        for pair, step in zip(words, rotations(tuple(range(5)), letters[:5]), strict=True)
    ]
    steps += rotations((3, 4, 5, 6, 7, 8, 2), letters, 5)
    far = [
        Step(Structure.ROTATION, (q, 8), slots=(12 + q,), word=letters[0] + "Z") for q in range(8)
    ]
    assert_agree(Plan(9, (*steps, *ring(9, 0), *far, *steps), 20), 2)
