"""Layers on one location and a circuit on another, forward and backward in one program."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from runtimes import DEVICES, Recorder, emulated, values_of

import autodiff as ad
from autodiff import C128, F32, F64, Parameter, Program, Runtime, Tensor
from autodiff.runtime.executor import Executor
from circuits import Circuit, Input, X, Z
from circuits.engines.numba_cpu import NumbaEngine

PLACES = {"expectation": "emulated", "expectation_vjp": "emulated"}
SHAPES = ((3, 2), (2,), (5, 3))


@pytest.fixture(autouse=True)
def fresh_devices() -> None:
    for device in DEVICES:
        emulated(device).reset()


def circuit() -> Circuit:
    x = Input("x", 2)
    made = Circuit(2).rx(x[0], 0).ry(x[1], 1).cx(0, 1)
    return made.rz(Parameter(0.1, name="a"), 1).ry(Parameter(0.2, name="b"), 0)


QC = circuit()


def step(weights: Tensor, theta: Tensor, data: Tensor) -> tuple[Tensor, ...]:
    """The loss of a layer and a circuit behind it, and its gradients."""

    def loss(weights: Tensor, theta: Tensor) -> Tensor:
        features = ad.tanh(data @ weights)
        values = QC.expectation(
            [Z(0), X(1) @ Z(0)], inputs={"x": features}, values=theta, engine="reference"
        )
        return ad.square(values.sum(axis=1) - 1.0).mean()

    value, gradients = ad.value_and_grad(loss)(weights, theta)
    return (value, *gradients)


PROGRAM = Program.trace(step, *[(shape, F64) for shape in SHAPES])


def inputs() -> list[Tensor]:
    draw = np.random.default_rng(0)
    return [Tensor(draw.normal(size=shape)) for shape in SHAPES]


def test_one_transfer_each_way_forward_and_two_more_backward() -> None:
    runtime = Runtime(["cpu", "emulated"])
    explained = runtime.explain(PROGRAM, inputs(), PLACES)
    there, back = ("cpu (host)", "emulated (device)"), ("emulated (device)", "cpu (host)")
    ways = [(str(t.source), str(t.destination)) for t in explained.transfers]
    assert ways == [there, back, there, back]
    # Angles (5, 4), values (5, 2), their cotangent and the angles' gradient, all float64.
    assert [t.nbytes for t in explained.transfers] == [160, 80, 80, 160]
    assert explained.launches["emulated (device)"] == 2
    for word in ("expectation_vjp", "cpu (host) -> emulated (device)", "4 transfers of 480 bytes"):
        assert word in str(explained)


def test_run_does_exactly_what_was_printed_and_equals_eager_mode() -> None:
    runtime = Runtime(["cpu", "emulated"])
    prepared = runtime.prepare(PROGRAM, inputs(), PLACES)
    runtime.run_prepared(prepared, inputs())  # moves the initial state and the coefficients, once
    stats = emulated().stats
    stats.reset()
    outs = runtime.run_prepared(prepared, inputs())
    assert (stats.launches, stats.uploads, stats.downloads) == (2, 2, 2)
    assert (stats.upload_bytes, stats.download_bytes) == (240, 240)
    assert values_of(outs) == values_of(step(*inputs()))
    assert runtime.planned == 1


def test_circuit_may_be_the_only_thing_an_executor_has() -> None:
    log: list[tuple[str, ...]] = []
    simulator = Recorder("emulated", log, name="simulator", ops=list(PLACES))
    runtime = Runtime([simulator, Executor("cpu")])
    outs = runtime.run(PROGRAM, inputs())
    assert log == [("run", "simulator", name) for name in PLACES]
    assert values_of(outs) == values_of(step(*inputs()))


# -- shape rules of the circuit's ops --------------------------------------------------------------


def evolved(state: Tensor, theta: Tensor, x: Tensor) -> Tensor:
    final = QC.statevector(inputs={"x": x}, values=theta, initial_state=state, engine="reference")
    return final.abs().sum()


def measured(state: Tensor, theta: Tensor, x: Tensor) -> Tensor:
    values = QC.expectation(
        [Z(0), X(1)], inputs={"x": x}, values=theta, initial_state=state, engine="reference"
    )
    return values.sum()


@pytest.mark.parametrize("function", [evolved, measured])
@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("by", [(0,), (1,), (0, 1), (0, 1, 2)])
def test_traced_gradients_have_the_shapes_and_values_of_eager_ones(
    function: Callable[..., Tensor], batch: tuple[int, ...], by: tuple[int, ...]
) -> None:
    draw = np.random.default_rng(1)
    state = draw.normal(size=4) + 1j * draw.normal(size=4)
    values = [Tensor(state), Tensor(draw.normal(size=2)), Tensor(draw.normal(size=(*batch, 2)))]

    def gradients(*leaves: Tensor) -> tuple[Tensor, ...]:
        used = list(leaves)

        def of_some(*some: Tensor) -> Tensor:
            for k, x in zip(by, some, strict=True):
                used[k] = x
            return function(*used)

        found = ad.value_and_grad(of_some)(*[leaves[k] for k in by])[1]
        return found if isinstance(found, tuple) else (found,)

    program = Program.trace(gradients, *[(x.shape, x.dtype) for x in values])
    assert [x.dtype for x in values] == [C128, F64, F64]
    # The runtime compares every result with its row's shape rule.
    assert values_of(Runtime().run(program, values)) == values_of(gradients(*values))


def test_single_precision_keeps_to_its_shape_rules() -> None:
    qc = Circuit(1).ry(Parameter(0.1, dtype=F32), 0)

    def both(theta: Tensor) -> tuple[Tensor, ...]:
        return ad.value_and_grad(lambda t: qc.expectation(Z(0), values=t, engine="reference"))(
            theta
        )

    values = [Tensor([0.3], dtype=F32)]
    found = Runtime().run(Program.trace(both, ((1,), F32)), values)
    assert [x.dtype for x in found] == [F32, F32]
    assert values_of(found) == values_of(both(*values))


def test_prepared_program_asks_its_engine_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a rule reads the final states, which the traced row hands out."""
    circuit, observable = Circuit(2).ry(Parameter(0.3), 0).cx(0, 1).rx(Parameter(0.4), 1), Z(1)

    def step(theta: Tensor) -> tuple[Tensor, ...]:
        return ad.value_and_grad(lambda t: circuit.expectation(observable, values=t))(theta)

    runtime, given = Runtime(["cpu"]), [Tensor([0.5, 0.7])]
    expected = step(given[0])
    prepared = runtime.prepare(Program.trace(step, ((2,), F64)), given)
    runtime.run_prepared(prepared, given)
    for name in ("forward", "reverse"):
        monkeypatch.setattr(NumbaEngine, name, None)
    for found, right in zip(runtime.run_prepared(prepared, given), expected, strict=True):
        np.testing.assert_array_equal(found.numpy(), right.numpy())
