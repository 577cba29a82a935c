"""Expectations in blocks: the bits of the kept path, calls and memory by block, every mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from counting import CountingEngine
from numpy.typing import NDArray
from peak_memory import memory_of
from programs import random_hermitian, random_state, random_unitary
from runtimes import emulated, values_of

import autodiff as ad
from autodiff import Parameter, Program, Runtime, Tensor, local_graph_mode, no_grad
from circuits import CapacityError, Circuit, Hermitian, Input, X, Z
from circuits.engines.registry import get_engine
from circuits.plan import memory

every_engine = pytest.mark.parametrize("engine", ["reference", "numba"])
Room = Callable[[int, int], None]
BATCH = 11


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Room:
    """Say for how many final states of a width a quarter of the memory has room."""

    def give(samples: int, num_qubits: int) -> None:
        monkeypatch.setattr(memory, "UNCHECKED", 0)
        free = memory.KEPT_PART * samples * 16 << num_qubits
        monkeypatch.setattr(memory, "available_memory", lambda: free)

    return give


class Model:
    """A circuit with something of every kind to differentiate by."""

    def __init__(self, *, batched_start: bool = True) -> None:
        rng = np.random.default_rng(3)
        self.p = Parameter(rng.normal(size=3), name="p")
        self.matrix = Tensor(random_unitary(rng, 4), requires_grad=True)
        self.c = Parameter(0.7, name="c")
        self.x = Tensor(rng.normal(size=(BATCH, 2)), requires_grad=True)
        start = random_state(rng, BATCH, 8)
        self.start = Tensor(start if batched_start else start[0], requires_grad=True)
        x = Input("x", 2)
        self.circuit = Circuit(3).ry(self.p[0], 0).crx(2 * self.p[1] + x[0], 0, 2)
        self.circuit.unitary(self.matrix, [2, 1]).u(self.p[2], x[1], 0.3, 1).cx(1, 0)
        hermitian = Hermitian(random_hermitian(rng, 4), [2, 0])
        self.observables = [self.c * Z(0) + X(2), hermitian, Z(1) @ Z(2)]

    def run(self, engine: Any, **options: Any) -> Tensor:
        return self.circuit.expectation(
            self.observables,
            inputs={"x": self.x},
            initial_state=self.start,
            engine=engine,
            **options,
        )

    def results(self, engine: Any) -> dict[str, NDArray[Any]]:
        values = self.run(engine)
        leaves = {"p": self.p, "matrix": self.matrix, "c": self.c, "x": self.x, "start": self.start}
        weights = np.random.default_rng(5).normal(size=values.shape)
        found = ad.grad(values, list(leaves.values()), Tensor(weights))
        gradients = dict(zip(leaves, [g.numpy() for g in found], strict=True))
        return {"values": values.numpy()} | gradients


@every_engine
@pytest.mark.parametrize("batched_start", [True, False])
@pytest.mark.parametrize("samples", [2, 3, 5, 10])
def test_the_same_bits_as_where_states_are_kept(
    samples: int, batched_start: bool, engine: str, room: Room
) -> None:
    model = Model(batched_start=batched_start)
    expected = model.results(engine)
    room(samples, 3)
    counting = CountingEngine(get_engine(engine))
    found = model.results(counting)
    for name, wanted in expected.items():
        np.testing.assert_array_equal(found[name], wanted, err_msg=name)
    blocks = -(-BATCH // samples)
    assert counting.calls == {"forward": 2 * blocks, "reverse": blocks}


@every_engine
def test_without_gradient_a_block_is_one_forward_call(engine: str, room: Room) -> None:
    model, counting = Model(), CountingEngine(get_engine(engine))
    expected = model.run(engine).numpy()
    room(4, 3)
    with no_grad():
        values = model.run(counting)
    np.testing.assert_array_equal(values.numpy(), expected)
    assert not values.requires_grad
    assert counting.calls == {"forward": 3}


@pytest.mark.parametrize("observable", [Z(0), [Z(0)], [Z(0), X(1)]])
def test_shapes_without_a_batch(observable: Any, room: Room) -> None:
    p = Parameter(0.3)
    circuit = Circuit(2).ry(p, 0).cx(0, 1)
    kept = circuit.expectation(observable, engine="reference")
    kept.sum().backward()
    assert p.grad is not None
    slope = p.grad.item()
    p.zero_grad()
    room(0, 2)  # not even one sample's final state has room: it is run again
    counting = CountingEngine(get_engine("reference"))
    values = circuit.expectation(observable, engine=counting)
    values.sum().backward()
    assert (values.tolist(), p.grad.item()) == (kept.tolist(), slope)
    assert counting.calls == {"forward": 2, "reverse": 1}


def test_states_that_fit_are_kept(room: Room) -> None:
    model, counting = Model(), CountingEngine(get_engine("reference"))
    room(BATCH, 3)
    model.run(counting).sum().backward()
    assert counting.calls == {"forward": 1, "reverse": 1}


def test_an_engine_says_what_is_free_where_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    class Small(CountingEngine):
        def available_memory(self) -> int:
            return memory.KEPT_PART * 5 * (16 << 3)

    monkeypatch.setattr(memory, "UNCHECKED", 0)
    counting = Small(get_engine("reference"))
    model = Model()
    model.run(counting)
    assert counting.calls == {"forward": 3}
    with pytest.raises(CapacityError, match=r"with its gradient needs .*, got 2\.5 KiB available"):
        model.circuit.plan(Z(0), batch=BATCH, engine=counting)


def test_memory_is_that_of_a_block() -> None:
    """Between forward and backward nothing of the states' size; then 3 copies of a block's."""
    n, batch, samples = 13, 24, 6
    state = 16 << n
    case = (n, batch, "numba", False, memory.KEPT_PART * samples * state)
    assert memory_of("forward", *case, workspace=False).kept < state
    assert memory_of("gradient", *case, workspace=False).peak < 3 * samples * state


@pytest.mark.parametrize("graph", [False, True])
def test_one_launch_each_way_on_a_device(graph: bool, room: Room) -> None:
    rows = np.linspace(-1.0, 1.0, 7)[:, None]

    def results(device: str) -> list[Any]:
        theta = Parameter(Tensor(0.3, device=device), name="t")
        circuit = Circuit(2).ry(theta, 0).rx(Input("x", 1)[0] * theta, 1).cx(0, 1)
        with local_graph_mode(graph):
            e = circuit.expectation([Z(0), X(1)], inputs={"x": rows}, engine="reference")
            (e * e).sum().backward()
            assert theta.grad is not None
            return [e.tolist(), theta.grad.item()]

    expected = results("cpu")
    room(2, 2)
    emulated().reset()
    assert results("emulated") == expected
    names = ("expectation_in_blocks", "expectation_in_blocks_vjp", "expectation")
    assert [emulated().executions[name] for name in names] == [1, 1, 0]


@pytest.mark.parametrize("batched_start", [True, False])
def test_traced_programs_keep_to_the_shape_rules(batched_start: bool, room: Room) -> None:
    """The runtime compares every result with its row's shape rule."""
    x = Input("x", 2)
    circuit = Circuit(2).ry(Parameter(0.0), 0).crx(Parameter(0.0) + x[0], 0, 1).u(0.1, x[1], 0.3, 0)

    def gradients(*leaves: Tensor) -> tuple[Tensor, ...]:
        def loss(start: Tensor, theta: Tensor, data: Tensor) -> Tensor:
            options: dict[str, Any] = {"initial_state": start, "engine": "reference"}
            values = circuit.expectation([Z(0), X(1)], inputs={"x": data}, values=theta, **options)
            return (values * values).sum()

        _, found = ad.value_and_grad(loss)(*leaves)
        assert isinstance(found, tuple)
        return found

    rng = np.random.default_rng(3)
    start = random_state(rng, 7, 4)
    values = [Tensor(start if batched_start else start[0]), Tensor([0.1, 0.2])]
    values.append(Tensor(rng.normal(size=(7, 2))))
    expected = values_of(gradients(*values))
    room(3, 2)
    program = Program.trace(gradients, *[(x.shape, x.dtype) for x in values])
    assert "expectation_in_blocks_vjp" in [i.op.name for i in program.instructions]
    assert values_of(Runtime().run(program, values)) == expected
