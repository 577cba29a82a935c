"""Every question to a circuit, on ``"cuda"`` as on the CPU; here on a stand-in for CuPy, by g++."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fake_cupy
import fake_cupy_arrays
import numpy as np
import pytest
from fake_cupy import FakeCupy, OutOfMemory, RuntimeFailure

from autodiff import Parameter, Tensor, stats
from autodiff.backends.cupy_backend import CupyBackend
from autodiff.backends.raw_modules import OutOfDeviceMemory
from autodiff.device import backend_of
from circuits import Circuit, Hermitian, Projector, X, Y, Z, fidelity
from circuits.gate_row import Gate, build_table
from circuits.plan.steps import Structure

# Any in this file: Tensors, or arrays of samples.

HERMITIAN = Hermitian(np.array([[1, 1j], [-1j, 2]]), [1])


@pytest.fixture(autouse=True)
def cupy(monkeypatch: pytest.MonkeyPatch) -> FakeCupy:
    return fake_cupy.install(monkeypatch)


def circuit() -> Circuit:
    t = Parameter(0.3, name="t")
    return Circuit(3).h(0).ry(2 * t, 0).cx(0, 1).rz(t + 0.1, 1).crx(0.4, 0, 2).rx(t * t, 2)


QUESTIONS: dict[str, Callable[[Circuit, dict[str, str]], Any]] = {
    "state": lambda c, on: c.statevector(**on),
    "probabilities": lambda c, on: c.probabilities(**on),
    "marginal": lambda c, on: c.probabilities([2, 0], **on),
    "samples": lambda c, on: c.sample(50, seed=1, **on),
    "expectations": lambda c, on: c.expectation([Z(0), X(1) @ Y(2)], **on),
    "estimate": lambda c, on: c.expectation(Z(0), shots=100, seed=1, **on),
    "Hermitian matrix": lambda c, on: c.expectation(HERMITIAN, **on),
    "projector": lambda c, on: c.expectation(Projector("01", [0, 1]), **on),
    "variance": lambda c, on: c.variance(Z(0) @ X(1), **on),
    "batch": lambda c, on: c.expectation(Z(0), values=np.array([[0.1], [0.2]]), **on),
    "fidelity": lambda c, on: fidelity(c.statevector(**on), c.inverse().statevector(**on)),
    "entropy": lambda c, on: c.entropy([0], **on),
    "unitary": lambda c, on: c.unitary(**on),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_answer_is_that_of_the_cpu(name: str) -> None:
    made = QUESTIONS[name](circuit(), {"device": "cuda"})
    expected = QUESTIONS[name](circuit(), {})
    assert stats("cuda").kernels > 0
    made, expected = (x if isinstance(x, np.ndarray) else x.numpy() for x in (made, expected))
    np.testing.assert_allclose(made, expected, rtol=0, atol=1e-12)


LOSSES: dict[str, Callable[[Circuit, dict[str, str]], Any]] = {
    "expectation": lambda c, on: c.expectation(Z(0) @ X(1), **on),
    "state": lambda c, on: (c.statevector(**on).imag ** 2).sum(),
    "coefficient": lambda c, on: c.expectation(Parameter(0.5, name="c") * Z(2), **on) ** 2,
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_is_that_of_the_cpu(name: str) -> None:
    gradients = []
    for on in ({"device": "cuda"}, {}):
        asked = circuit()
        LOSSES[name](asked, on).backward()
        (parameter,) = asked.parameters()
        assert parameter.grad is not None
        gradients.append(parameter.grad.numpy())
    np.testing.assert_allclose(*gradients, rtol=1e-11)


def test_large_start_is_made_on_the_device() -> None:
    assert Circuit(15).h(0).expectation(Z(1), device="cuda").item() == 1.0
    assert stats("cuda").upload_bytes < (16 << 15) / 8


def exchange(angles: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """exp(-i theta (XX + YY) / 2) as a user would write it: for arrays of NumPy alone."""
    theta = np.asarray(angles)[..., 0]
    matrix = np.zeros((*theta.shape, 4, 4), complex)
    matrix[..., 0, 0] = matrix[..., 3, 3] = 1
    matrix[..., 1, 1] = matrix[..., 2, 2] = np.cos(theta)
    matrix[..., 1, 2] = matrix[..., 2, 1] = -1j * np.sin(theta)
    return matrix


def functions_circuit() -> Circuit:
    """Gates whose matrices Python functions make, those of the table and a user's own."""
    fields: dict[str, Any] = {"params": ("theta",), "spectra": ((-1.0, 0.0, 1.0),)}
    row = Gate("exchange", "a row", Structure.DENSE, 2, function=exchange, symbol="E", **fields)
    a, b, c = (Parameter(0.3 * k - 0.4, name=name) for k, name in enumerate("abc"))
    circuit = Circuit(3).h(0).h(2).u(a, b, c, 0).p(a, 1).cp(b, 0, 2).cu(a, b, 0.7, c, 1, 2)
    circuit.r(b, c, 1).xx_plus_yy(c, a, 0, 1).global_phase(b).u2(c, a, 2)
    return circuit.append(build_table([row])[0]["exchange"], [1, 2], [a])


FUNCTION_LOSSES: dict[str, Callable[[Circuit, Any], Any]] = {
    "expectation": lambda c, v: c.expectation(Z(0) @ X(1) + Y(2), values=v).sum(),
    "state": lambda c, v: (c.statevector(values=v).imag ** 2).sum(),
}


@pytest.mark.parametrize("name", FUNCTION_LOSSES)
def test_gates_of_functions_stay_on_the_device(name: str) -> None:
    given, gradients = np.random.default_rng(0).normal(size=(2, 3)), []
    circuit = functions_circuit()
    for device in ("cuda", "cpu"):
        values = Tensor(given).to(device).requires_grad_()
        for _ in range(2):  # tables are sent once
            before = stats("cuda").uploads, stats("cuda").downloads
            FUNCTION_LOSSES[name](circuit, values).backward()
            moved = stats("cuda").uploads - before[0], stats("cuda").downloads - before[1]
        assert moved == (0, 0)
        gradients.append(values.grad.numpy())
    assert stats("cuda").kernels > 0
    np.testing.assert_allclose(*gradients, rtol=0, atol=1e-11)


# -- what a call leaves behind ---------------------------------------------------------------------


class Pool:
    """A user's memory pool, which lists what it is asked for."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def __getattr__(self, name: str) -> Callable[..., int]:
        self.asked.add(name)
        return lambda *_: 1000


@pytest.fixture
def pool(cupy: FakeCupy) -> Pool:
    made = Pool()
    cupy.get_default_memory_pool = lambda: made
    cupy.cuda.set_allocator = lambda *_: made.asked.add("set_allocator")
    return made


def run_with_cotangent(device: str) -> list[np.ndarray[Any, Any]]:
    """State of a batch, and gradients of angles and initial states for a cotangent."""
    rng = np.random.default_rng(3)
    start, cotangent = rng.normal(size=(2, 2, 8)) + 1j * rng.normal(size=(2, 2, 8))
    leaves = [Tensor(x).to(device).requires_grad_() for x in (rng.normal(size=(2, 3)), start)]
    state = functions_circuit().statevector(values=leaves[0], initial_state=leaves[1])
    state.backward(Tensor(cotangent).to(device))
    return [state.numpy(), *[leaf.grad.numpy() for leaf in leaves]]


def assert_nothing_open(device: str, users: int, pool: Pool) -> None:
    """The user's device is the current one, its pool was left alone, and no block is open."""
    backend = backend_of(device)
    assert fake_cupy_arrays.current == [0, users]
    assert fake_cupy.Stream.capturing is None
    assert isinstance(backend, CupyBackend)
    assert backend.capturing is None
    assert not getattr(backend._scope._threads, "open", False)
    assert pool.asked <= {"free_bytes"}


@pytest.mark.parametrize("users", [0, 1])
@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_any_device_takes_a_cotangent_and_leaves_the_users_device_and_pool(
    device: str, users: int, cupy: FakeCupy, pool: Pool
) -> None:
    with cupy.cuda.Device(users):
        found = run_with_cotangent(device)
        assert_nothing_open(device, users, pool)
    for made, expected in zip(found, run_with_cotangent("cpu"), strict=True):
        np.testing.assert_allclose(made, expected, rtol=0, atol=1e-12)


FAILURES = {
    "launch": (fake_cupy.Kernel, "__call__", RuntimeFailure(700, "illegal address"), RuntimeError),
    "allocation": (FakeCupy, "empty", OutOfMemory("Out of memory"), OutOfDeviceMemory),
}


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("name", FAILURES)
def test_failure_within_a_call_leaves_nothing_open(
    name: str, last: bool, cupy: FakeCupy, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the first call of its kind or the last one, which is one of the reverse sweep's."""
    owner, method, failure, expected = FAILURES[name]
    original, calls = getattr(owner, method), [0]
    right = run_with_cotangent("cuda:1")
    assert backend_of("cuda:1").kernel_launches == {"forward<double>": 1, "reverse<double>": 1}

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls[0] += 1
        if calls[0] == failing:
            raise failure
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, method, counted)
    failing = 0
    run_with_cotangent("cuda:1")
    failing, calls[0] = calls[0] if last else 1, 0
    with cupy.cuda.Device(0):
        with pytest.raises(expected):
            run_with_cotangent("cuda:1")
        assert calls[0] == failing
        assert_nothing_open("cuda:1", 0, pool)
        found = run_with_cotangent("cuda:1")
    for made, before in zip(found, right, strict=True):
        np.testing.assert_array_equal(made, before)
