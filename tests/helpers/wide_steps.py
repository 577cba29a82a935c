"""Programs of steps on many qubits, for tiles that do not hold them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from programs import Case, Program, random_program, random_state, random_unitary
from statevector_large import QUBITS, SparseBackend, sparse_zeros

from autodiff.backends.emulated_backend import LIMITS, EmulatedBackend
from autodiff.backends.raw_modules import KernelSet, RawModule, Source
from circuits.engines.cuda_table import THREADS
from circuits.engines.cuda_wide import WideKernels
from circuits.plan.steps import Plan, Step, Structure
from circuits.plan.wide import apply_wide, wide_gradient

# Any in this file: the fields of a step.


def wide_steps(rng: np.random.Generator, num_qubits: int, size: int) -> list[Step]:
    """A permutation, a fixed matrix, and a given one twice, on some qubits, with controls."""
    steps = []
    for kind in range(4):
        qubits = [int(q) for q in rng.permutation(num_qubits)]
        count = (kind + 1) % (num_qubits - size + 1)
        where: dict[str, Any] = {"targets": tuple(qubits[:size])}
        where["controls"] = tuple(qubits[size : size + count])
        where["control_state"] = int(rng.integers(0, 1 << count))
        if kind == 0:
            images = rng.permutation(1 << size)
            steps.append(Step(Structure.PERMUTATION, permutation=images, **where))
        elif kind == 1:
            matrix = random_unitary(rng, 1 << size)
            steps.append(Step(Structure.DENSE, matrix=matrix, **where))
        else:
            steps.append(Step(Structure.DENSE, source=0, **where))
    return steps


def wide_case(case: Case, size: int, *, shared: bool = False) -> Program:
    """Rotations between wide steps, and operands; for an even batch a wide step comes first."""
    rng, steps, n = np.random.default_rng(case.seed), list[Step](), case.num_qubits
    for k, step in enumerate(wide_steps(rng, n, size)):
        words = [(q, (q + k) % 3) for q in range(n) if k or case.batch % 2]
        steps += [Step(Structure.ROTATION, (q,), slots=(s,), word="XYZ"[s]) for q, s in words]
        steps.append(step)
    program = random_program(case, plan=Plan(n, tuple(steps), 3), shared=shared)
    samples = 1 if shared else case.batch
    matrices = np.array([random_unitary(rng, 1 << size) for _ in range(samples)])
    plan = replace(program.plan, num_matrices=1)
    return replace(program, plan=plan, matrices=[matrices.astype(case.dtype)])


def run_wide_steps(
    backend: EmulatedBackend, module: RawModule, num_qubits: int = 5, size: int = 3
) -> None:
    """The kernels of double precision agree with NumPy, both ways, and in gradients."""
    rng = np.random.default_rng(size)
    wide = WideKernels(backend, lambda: module)
    states, cotangent = (random_state(rng, 2, 1 << num_qubits) for _ in range(2))
    given = [np.array([random_unitary(rng, 1 << size) for _ in range(2)])]
    for step in wide_steps(rng, num_qubits, size):
        for adjoint in (False, True):
            expected = apply_wide(step, states, given, adjoint=adjoint)
            found = wide.apply(step, states, given, adjoint=adjoint)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)
        if step.source is not None:
            expected = wide_gradient(step, states, cotangent)
            found = wide.gradient(step, states, cotangent)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def check_wide_steps(kernels: KernelSet, source: Source) -> None:
    """Threads have several elements each."""
    backend = EmulatedBackend()
    backend.device_limits = replace(LIMITS, multiprocessors=1)
    run_wide_steps(backend, backend.raw_module(source, kernels.instances), 13, 7)


def check_large_steps(kernels: KernelSet, source: Source) -> None:
    """The last amplitudes of two states of 34 qubits, by the last of as many blocks as there are.

    They are taken from the half where the highest qubit holds 0. Of the gradient all but two qubits
    are controls.
    """
    backend = SparseBackend()
    module = backend.raw_module(source, kernels.instances)
    wide, rng = WideKernels(backend, lambda: module), np.random.default_rng(0)
    last = np.arange((1 << QUBITS) - THREADS, 1 << QUBITS)
    state = sparse_zeros(2 << QUBITS, np.dtype(np.complex64)).reshape(2, -1)
    state[1, last ^ 1 << QUBITS - 1] = values = random_state(rng, 1, THREADS)[0]
    flip = {"targets": (0, QUBITS - 1), "controls": (QUBITS - 2,), "control_state": 1}
    matrix = np.eye(4)[[3, 2, 1, 0]]
    swapped = values.reshape(-1, 2)[:, ::-1].ravel()
    for step in (
        Step(Structure.PERMUTATION, permutation=np.array([3, 2, 1, 0]), **flip),
        Step(Structure.DENSE, matrix=matrix, **flip),
    ):
        found = wide.apply(step, state, [])
        np.testing.assert_allclose(found[1, last], swapped, rtol=0, atol=1e-6)
    controls = tuple(range(1, QUBITS - 1))
    step = Step(Structure.DENSE, (QUBITS - 1, 0), controls, (1 << len(controls)) - 1, source=0)
    (found,) = wide.gradient(step, state[1:], state[1:])
    rows = np.zeros(4, complex)
    rows[[0, 2]] = values[-2:]
    np.testing.assert_allclose(found, np.outer(rows, rows.conj()), rtol=0, atol=1e-6)
