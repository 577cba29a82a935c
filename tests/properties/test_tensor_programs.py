"""Random programs of tensor ops: NumPy's values, and the gradients of central differences."""

from __future__ import annotations

import numpy as np
import pytest
from differences import central
from hypothesis import given, settings
from strategies import BINARY, UNARY, TensorProgram, tensor_programs

import autodiff as ad
from autodiff import Tensor, grad


def check(program: TensorProgram) -> None:
    leaves = [Tensor(value, requires_grad=True) for value in program.leaves]
    loss = program.run(ad, leaves)
    expected = program.run(np, program.leaves)
    assert loss.dtype == np.float64
    np.testing.assert_allclose(loss.numpy(), expected, rtol=1e-12, atol=1e-13)
    if not loss.requires_grad:
        return
    for k, found in enumerate(grad(loss, leaves)):

        def moved(value: np.ndarray, k: int = k) -> float:
            return float(program.run(np, [*program.leaves[:k], value, *program.leaves[k + 1 :]]))

        assert found.dtype == program.leaves[k].dtype
        # The step is 0.01: the differences' own error is some 1e-12 times a seventh derivative.
        expected = central(moved, program.leaves[k])
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6, atol=1e-7)


@settings(max_examples=250)
@given(tensor_programs())
def test_values_and_gradients(program: TensorProgram) -> None:
    check(program)


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_every_step(name: str) -> None:
    """Each step occurs, on real and complex values of one and two axes."""
    rng = np.random.default_rng(3)
    places = (0,) if name in UNARY else (0, 1)
    for shapes in [((3,), (2, 3)), ((3, 3), (3, 3)), ((2, 3), (1, 3))]:
        for unit in (0, 1j):
            leaves = [rng.uniform(-1, 1, s) + unit * rng.uniform(-1, 1, s) for s in shapes]
            check(TensorProgram(leaves, [(name, places), ("sin", (2,))]))


@settings(max_examples=60)
@given(tensor_programs())
def test_replayed_program_gives_the_same_bits(program: TensorProgram) -> None:
    specs = [(value.shape, value.dtype) for value in program.leaves]
    traced = ad.Program.trace(lambda *leaves: program.run(ad, leaves), *specs)
    leaves = [Tensor(value) for value in program.leaves]
    (replayed,) = traced.run(leaves)
    assert replayed.numpy() == program.run(ad, leaves).numpy()
