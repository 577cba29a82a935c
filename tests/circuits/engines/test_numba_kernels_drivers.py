"""What the drivers compile, and that samples do not see each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import conformance
import numpy as np
import pytest
from programs import Case, random_program, rotations
from programs import Program as Operands

from circuits.engines import numba_kernels_drivers as drivers
from circuits.engines import numba_program
from circuits.engines import numba_threads as threads
from circuits.engines.base import Engine
from circuits.engines.numba_cpu import NumbaEngine
from circuits.engines.reference import ReferenceEngine

ENGINE, REFERENCE = NumbaEngine(), ReferenceEngine()
BATCHES, DTYPES = (1, 7, 8, 9, 128), (np.complex128, np.complex64)


def results(engine: Engine, program: Operands) -> list[np.ndarray[Any, Any]]:
    """Final state, values, and all gradients of the values."""
    final, values = conformance.run_forward(engine, program)
    gradients = conformance.run_reverse(engine, program, final, measured=True)
    return [final, values, *conformance.parts(gradients)]


def test_nothing_is_compiled_for_another_circuit_or_kind_of_array() -> None:
    results(ENGINE, random_program(Case(3, 2, np.complex128)))
    used = (drivers.forward, drivers.reverse)
    before = [len(driver.signatures) for driver in used]
    program = random_program(Case(5, 3, np.complex128, seed=1))
    for array in (program.state, program.angles, program.coefficients, program.cotangent):
        array.flags.writeable = False
    results(ENGINE, program)
    final, _ = conformance.run_forward(ENGINE, program)
    final.flags.writeable = False
    conformance.run_reverse(ENGINE, program, final[:, ::-1])
    assert [len(driver.signatures) for driver in used] == before


@pytest.mark.parametrize("num_qubits", [3, 11])
def test_a_sample_does_not_depend_on_the_others(num_qubits: int) -> None:
    program = random_program(Case(num_qubits, 7, np.complex128, num_steps=12))
    order = np.array([3, 6, 0, 2, 5, 1, 4])
    names = ("state", "angles", "coefficients", "weights", "cotangent")
    other = replace(
        program,
        matrices=tuple(m[order] for m in program.matrices),
        **{name: getattr(program, name)[order] for name in names},
    )
    for first, second in zip(results(ENGINE, program), results(ENGINE, other), strict=True):
        np.testing.assert_array_equal(first[order], second)


Numbers = np.ndarray[Any, Any]


def all_alike(angles: Numbers) -> Numbers:
    """All samples have the angles of the first."""
    return np.repeat(angles[:1], len(angles), axis=0)


def last_differs(angles: Numbers) -> Numbers:
    """Every third slot differs, in the last sample alone."""
    out = all_alike(angles)
    out[-1, ::3] = angles[-1, ::3]
    return out


def one_differs(angles: Numbers) -> Numbers:
    """Slot s differs in sample s alone, every fourth nowhere."""
    out = all_alike(angles)
    for slot in range(angles.shape[1]):
        sample = slot % len(angles)
        out[sample, slot] += slot % 4 * 0.1
    return out


def half_differs(angles: Numbers) -> Numbers:
    """Every second slot differs between all samples."""
    out = all_alike(angles)
    out[:, ::2] = angles[:, ::2]
    return out


MIXTURES = (all_alike, last_differs, one_differs, half_differs)


def mixed_program(case: Case, mixture: Any, *, general: bool = False) -> Operands:
    """A program whose samples share some of the angles; without ``general`` of rotations only."""
    plan = None if general else rotations(case.num_qubits, 18)
    program = random_program(case, plan)
    return replace(program, angles=mixture(program.angles))


@pytest.mark.parametrize("mixture", MIXTURES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("general", [False, True])
def test_samples_that_share_angles(batch: int, dtype: Any, mixture: Any, general: bool) -> None:
    case = Case(3, batch, dtype, seed=batch)
    program = mixed_program(case, mixture, general=general)
    pairs = zip(results(ENGINE, program), results(REFERENCE, program), strict=True)
    for found, expected in pairs:
        conformance.assert_close(found, expected, case.tolerance)


@pytest.mark.parametrize("mixture", MIXTURES)
@pytest.mark.parametrize(("num_qubits", "widest"), [(1, 10), (6, 10), (6, 5)])
def test_all_samples_of_a_call_are_seen(
    num_qubits: int, widest: int, mixture: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In whatever order they come, with samples in the lanes or qubits."""
    monkeypatch.setattr(numba_program, "WIDE_QUBITS", widest)
    program = mixed_program(Case(num_qubits, 9, np.complex128, num_steps=12), mixture)
    names = ("state", "angles", "weights", "cotangent")
    coefficients = program.coefficients[:1]
    whole = results(ENGINE, replace(program, coefficients=coefficients))
    for order in (np.arange(9)[::-1], np.roll(np.arange(9), 4)):
        other = {name: getattr(program, name)[order] for name in names}
        turned = results(ENGINE, replace(program, coefficients=coefficients, **other))
        for first, second in zip(whole, turned, strict=True):
            np.testing.assert_array_equal(first[order], second)


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [np.nan, np.inf, 1e5])
def test_strange_angles_stay_in_their_samples(number: float, dtype: Any, everywhere: bool) -> None:
    case = Case(3, 19, dtype)
    program = mixed_program(case, half_differs)
    for slot in (0, 1):  # one that differs between samples, one that does not
        bad = np.arange(19) if everywhere else np.array([0, 11, 18])
        good = np.setdiff1d(np.arange(19), bad)
        angles = program.angles.copy()
        angles[bad, slot] = number
        strange = replace(program, angles=angles)
        before, after = results(ENGINE, program), results(ENGINE, strange)
        for plain, found in zip(before, after, strict=True):
            np.testing.assert_array_equal(found[good], plain[good])
        if np.isfinite(number):
            for found, expected in zip(after, results(REFERENCE, strange), strict=True):
                conformance.assert_close(found, expected, case.tolerance)
        else:  # all amplitudes, values and gradients by angle
            assert np.isnan(np.concatenate([part[bad] for part in after[:4]], axis=1)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mixture", MIXTURES)
@pytest.mark.parametrize("widest", [10, 5])
def test_threads_do_not_change_a_bit(
    widest: int, mixture: Any, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba_program, "WIDE_QUBITS", widest)
    monkeypatch.setattr(threads, "SHARED_WORK", 0)
    monkeypatch.setattr(threads, "_limit", [1])
    program = mixed_program(Case(6, 128, dtype), mixture)
    if mixture is half_differs:  # zeros of both signs are equal, but not the same bits
        program.angles[::3, 1::2], program.angles[1::3, 1::2] = 0.0, -0.0
    alone = [array.tobytes() for array in results(ENGINE, program)]
    for count in (2, 4):
        threads._limit[0] = count
        assert [array.tobytes() for array in results(ENGINE, program)] == alone
