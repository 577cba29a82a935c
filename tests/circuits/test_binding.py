"""Values and inputs of one run: what is accepted, and what is refused with the list."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import autodiff as ad
from autodiff import Parameter, Tensor
from circuits import BindingError, Circuit, Input, Z
from circuits.binding import bind

ENGINE = "reference"


def three() -> tuple[Circuit, Parameter, Parameter]:
    """Angles a, w0 and a * w1: the first two affine, the last a program."""
    a, w = Parameter(0.1, name="a"), Parameter([0.2, 0.3], name="w")
    return Circuit(3).rx(a, 0).rx(w[0], 1).rx(a * w[1], 2), a, w


def cosines(circuit: Circuit, **options: Any) -> Any:
    return circuit.expectation([Z(k) for k in range(3)], engine=ENGINE, **options).numpy()


def expected(a: Any, w0: Any, w1: Any) -> Any:
    a, w0, w1 = np.broadcast_arrays(a, w0, w1)
    return np.cos(np.stack([a, w0, a * w1], axis=-1))


def close(actual: Any, wanted: Any) -> None:
    assert actual.shape == wanted.shape
    np.testing.assert_allclose(actual, wanted, rtol=0, atol=1e-14)


def test_stored_values_are_bound_once() -> None:
    circuit, *_ = three()
    first = bind(circuit, None, None)
    assert bind(circuit, None, None) is first
    circuit.rx(Parameter(0.5), 0)
    second = bind(circuit, None, None)
    assert len(second.operands) == len(first.operands) + 1
    circuit.rx(Input("x", 1)[0], 0)
    with pytest.raises(BindingError, match="missing"):
        bind(circuit, None, None)


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values", [[1.0, 2.0, 0.5], (1, 2, 0.5), np.array([1, 2, 0.5]), Tensor([1.0, 2.0, 0.5])]
)
def test_values_of_one_row_replace_all(values: Any) -> None:
    circuit, a, _ = three()
    close(cosines(circuit, values=values), expected(1.0, 2.0, 0.5))
    assert a.item() == 0.1
    close(cosines(circuit), expected(0.1, 0.2, 0.3))


@pytest.mark.parametrize("batch", [1, 2, 5])
def test_values_of_many_rows(batch: int) -> None:
    circuit, *_ = three()
    rows = np.random.default_rng(0).normal(size=(batch, 3))
    close(cosines(circuit, values=rows), expected(*rows.T))


def test_mappings_by_parameter_name_and_uuid() -> None:
    circuit, a, w = three()
    for key in (a, "a", a.uuid, a.clone()):
        close(cosines(circuit, values={key: 1.0}), expected(1.0, 0.2, 0.3))
    close(cosines(circuit, values={w: [1.0, 2.0]}), expected(0.1, 1.0, 2.0))
    close(cosines(circuit, values={"w": [1.0, 2.0], a: 3.0}), expected(3.0, 1.0, 2.0))
    close(cosines(circuit, values={}), expected(0.1, 0.2, 0.3))


def test_mapping_with_one_batched_value() -> None:
    circuit, a, w = three()
    column = np.array([0.5, 1.0, 1.5])
    close(cosines(circuit, values={a: column}), expected(column, 0.2, 0.3))
    pairs = np.arange(6.0).reshape(3, 2)
    close(cosines(circuit, values={w: pairs, a: column}), expected(column, *pairs.T))


def test_unnamed_parameters_go_by_their_listed_names() -> None:
    circuit = Circuit(1).rx(Parameter(0.1), 0)
    e = circuit.expectation(Z(0), values={"p0": 1.0}, engine=ENGINE)
    assert e.item() == np.cos(1.0)


@pytest.mark.parametrize("batch", [None, 1, 4])
@pytest.mark.parametrize("mapping", [False, True])
def test_tensor_given_as_value_receives_the_gradient(batch: int | None, mapping: bool) -> None:
    circuit, a, w = three()
    shape = (3,) if batch is None else (batch, 3)
    given = Tensor(np.random.default_rng(0).normal(size=shape), requires_grad=True)
    values = {a: given[..., 0], w: given[..., 1:]} if mapping else given
    circuit.expectation([Z(0), Z(1), Z(2)], values=values, engine=ENGINE).sum().backward()
    other = Tensor(given.numpy(), requires_grad=True)
    x, y, z = other[..., 0], other[..., 1], other[..., 2]
    (ad.cos(x) + ad.cos(y) + ad.cos(x * z)).sum().backward()
    assert given.grad is not None
    assert other.grad is not None
    close(given.grad.numpy(), other.grad.numpy())
    assert a.grad is None
    assert w.grad is None


def test_values_take_the_parameters_dtype() -> None:
    p = Parameter(np.float32(0.1))
    circuit = Circuit(1).rx(p, 0)
    e = circuit.expectation(Z(0), values=[1.0], engine=ENGINE)
    assert e.dtype == np.float32
    given = Tensor([1.0], requires_grad=True)
    circuit.expectation(Z(0), values=given, engine=ENGINE).backward()
    assert given.grad is not None
    assert given.grad.dtype == np.float64


BAD_VALUES: list[tuple[Any, str]] = [
    ([1.0, 2.0], r"values needs shape \(3,\) or \(B, 3\), got \(2,\)"),
    (1.0, r"values needs shape \(3,\) or \(B, 3\), got \(\)"),
    (np.zeros((2, 2)), r"values needs shape \(3,\) or \(B, 3\), got \(2, 2\)"),
    (np.zeros((2, 3, 1)), r"values needs shape"),
    (np.zeros((0, 3)), "a batch of at least one sample, got an empty batch"),
    (np.zeros(3, complex), "values needs real numbers, got dtype complex128"),
    (np.array(["a", "b", "c"]), "values needs real numbers"),
    (Tensor([1j, 0, 0]), "values needs a float32 or float64 Tensor"),
    (Tensor([1, 2, 3]), "values needs a float32 or float64 Tensor"),
    ({"b": 1.0}, r"values need Parameters of the circuit or their names, got 'b'. It has \['a'"),
    ({Parameter(0.0, name="a"): 1.0}, "values need Parameters of the circuit"),
    ({3: 1.0}, "values need Parameters of the circuit"),
    ({"a": 1.0, "w": [1.0]}, r"needs shape \(2,\) or \(B, 2\), got \(1,\)"),
    ({"a": np.zeros(2), "w": np.zeros((3, 2))}, r"one batch size, got \[2, 3\]"),
]


@pytest.mark.parametrize(("values", "match"), BAD_VALUES)
def test_bad_values_are_refused(values: Any, match: str) -> None:
    circuit, *_ = three()
    with pytest.raises(BindingError, match=match):
        cosines(circuit, values=values)


def test_one_parameter_given_twice_is_refused() -> None:
    circuit, a, _ = three()
    with pytest.raises(BindingError, match="each Parameter once, got 'a' twice"):
        cosines(circuit, values={a: 1.0, "a": 2.0})


# -- assign ----------------------------------------------------------------------------------------


def test_assign_sets_all_or_some_and_returns_the_circuit() -> None:
    circuit, a, w = three()
    assert circuit.assign([1.0, 2.0, 3.0]) is circuit
    assert (a.item(), w.tolist()) == (1.0, [2.0, 3.0])
    circuit.assign({"w": [0.5, 0.6]})
    assert (a.item(), w.tolist()) == (1.0, [0.5, 0.6])


@pytest.mark.parametrize(
    "values", [value for value, _ in BAD_VALUES if not isinstance(value, dict)]
)
def test_bad_assignments_change_nothing(values: Any) -> None:
    circuit, a, w = three()
    with pytest.raises(BindingError, match="needs"):
        circuit.assign(values)
    assert (a.item(), w.tolist()) == (0.1, [0.2, 0.3])


@pytest.mark.parametrize("values", [{"a": 1.0, "w": [1.0]}, {"a": [1.0, 2.0]}, {"a": 5.0, "b": 1}])
def test_assignments_are_all_or_none(values: Any) -> None:
    circuit, a, w = three()
    with pytest.raises(BindingError, match="need"):
        circuit.assign(values)
    assert (a.item(), w.tolist()) == (0.1, [0.2, 0.3])


def test_single_numbers_of_one_kind_are_assigned_together() -> None:
    base = Tensor([0.1, 0.2])
    near = [Parameter(0.1), Parameter([0.2, 0.3]), Parameter(np.float32(0.4)), Parameter(base[1])]
    far = [Parameter(Tensor(0.1 * k, device="emulated")) for k in range(5)]
    circuit = Circuit(1).register(*far[:3], *near, *far[3:])
    ad.reset_stats()
    circuit.assign(np.arange(10.0) / 4)
    assert ad.stats("emulated").uploads == 1
    assert [p.item() for p in far] == [0.0, 0.25, 0.5, 2.0, 2.25]
    assert [p.tolist() for p in near] == [0.75, [1.0, 1.25], 1.5, 1.75]
    assert [p._cell.version for p in (*near, *far)] == [1] * 9
    assert near[2].dtype == np.float32
    assert base.tolist() == [0.1, 1.75]


def test_numbers_of_a_mapping_are_assigned_together() -> None:
    near = [Parameter(0.1, name="a"), Parameter([0.2, 0.3], name="b"), Parameter(0.4, name="c")]
    far = [Parameter(Tensor(0.1 * k, device="emulated"), name=f"f{k}") for k in range(3)]
    circuit = Circuit(1).register(*far, *near)
    there = Tensor(4.0, device="emulated")
    ad.reset_stats()
    circuit.assign({"f2": 1.0, near[0]: 2, "c": 3.0, "f0": there, "f1": np.float32(5.0)})
    assert ad.stats("emulated").uploads == 1
    assert [p.item() for p in far] == [4.0, 5.0, 1.0]
    assert [p.tolist() for p in near] == [2.0, [0.2, 0.3], 3.0]
    assert [p._cell.version for p in (*near, *far)] == [1, 0, 1, 1, 1, 1]


def test_empty_mapping_assigns_nothing() -> None:
    circuit, a, w = three()
    assert circuit.assign({}) is circuit
    assert (a.item(), w.tolist()) == (0.1, [0.2, 0.3])


def test_assigned_array_and_tensor_stay_apart_from_the_parameters() -> None:
    first, second = Parameter(0.1), Parameter(0.2)
    circuit = Circuit(1).register(first, second)
    array = np.array([1.0, 2.0])
    circuit.assign(array)
    array[:] = 0.0
    assert [first.item(), second.item()] == [1.0, 2.0]
    given = Tensor([3.0, 4.0], requires_grad=True)
    circuit.assign(given)
    first.set_(5.0)
    assert given.tolist() == [3.0, 4.0]
    assert (second.item(), second.requires_grad, second.grad) == (4.0, True, None)


def mapped(circuit: Circuit, vector: Any) -> dict[Any, Any]:
    """A vector of ones as a mapping."""
    return {p: np.ones(p.shape) for p in circuit.parameters()}


@pytest.mark.parametrize("values", [lambda _, vector: vector, mapped])
@pytest.mark.parametrize("broken", ["repeats elements", "storage_mut holds open"])
def test_parameter_that_cannot_be_written_leaves_all_as_they_were(broken: str, values: Any) -> None:
    first, last = Parameter(0.1), Parameter(0.2)
    repeated = Parameter(Tensor([0.3]).broadcast_to((2,)))
    extra = [repeated] if broken == "repeats elements" else []
    circuit = Circuit(1).register(first, *extra, last)
    held = nullcontext() if extra else last.storage_mut()
    with held, pytest.raises((ad.ShapeError, ad.StorageBusy), match=broken):
        circuit.assign(values(circuit, np.ones(2 + 2 * len(extra))))
    assert (first.item(), last.item()) == (0.1, 0.2)


def test_a_batch_cannot_be_assigned() -> None:
    circuit, *_ = three()
    with pytest.raises(BindingError, match="A batch is given per run, with values="):
        circuit.assign(np.zeros((2, 3)))


# -- inputs ----------------------------------------------------------------------------------------


def two() -> Circuit:
    x, y = Input("x", 2), Input("y", 1)
    return Circuit(3).rx(x[0], 0).rx(y[0], 1).rx(x[1] * y[0], 2)


def test_single_and_batched_inputs_mix() -> None:
    x, y = np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([0.5])
    angles = np.stack([x[:, 0], np.full(2, 0.5), 0.5 * x[:, 1]], axis=-1)
    close(cosines(two(), inputs={"x": x, "y": y}), np.cos(angles))


def test_inputs_and_values_share_one_batch() -> None:
    p, x = Parameter(0.1), Input("x", 1)
    circuit = Circuit(1).rx(p * x[0], 0)
    values, data = np.array([[1.0], [2.0]]), np.array([[0.3], [0.4]])
    e = circuit.expectation(Z(0), values=values, inputs={"x": data}, engine=ENGINE)
    close(e.numpy(), np.cos([0.3, 0.8]))
    with pytest.raises(BindingError, match=r"one batch size, got \[2, 3\]"):
        circuit.expectation(Z(0), values=values, inputs={"x": np.zeros((3, 1))}, engine=ENGINE)


def test_input_takes_integers_and_its_own_precision() -> None:
    circuit = Circuit(1).rx(Input("x", 1, dtype=np.float32)[0], 0)
    e = circuit.expectation(Z(0), inputs={"x": [1]}, engine=ENGINE)
    assert e.dtype == np.float32
    assert e.item() == pytest.approx(np.cos(1.0), abs=1e-6)


BAD_INPUTS: list[tuple[Any, str]] = [
    (None, r"needs inputs \['x', 'y'\], got \[\]; missing \['x', 'y'\]"),
    ({"x": [0, 0]}, r"got \['x'\]; missing \['y'\]"),
    ({"x": [0, 0], "y": [0], "z": [0]}, r"unknown \['z'\]"),
    ({"X": [0, 0], "y": [0]}, r"missing \['x'\]; unknown \['X'\]"),
    ([[0, 0]], "inputs need a mapping by name, got list"),
    (np.zeros(2), "inputs need a mapping by name, got ndarray"),
    ({"x": [0.0], "y": [0]}, r"input 'x' needs shape \(2,\) or \(B, 2\), got \(1,\)"),
    ({"x": np.zeros((2, 3)), "y": [0]}, r"input 'x' needs shape"),
    ({"x": np.zeros((2, 2)), "y": np.zeros((3, 1))}, r"one batch size, got \[2, 3\]"),
    ({"x": np.zeros((0, 2)), "y": [0]}, "an empty batch"),
    ({"x": [0, 1j], "y": [0]}, "input 'x' needs real numbers"),
    ({"x": ["a", "b"], "y": [0]}, "input 'x' needs real numbers"),
    ({"x": None, "y": [0]}, "input 'x' needs real numbers"),
    ({"x": Tensor([0j, 0]), "y": [0]}, "input 'x' needs a float32 or float64 Tensor"),
]


@pytest.mark.parametrize(("inputs", "match"), BAD_INPUTS)
def test_bad_inputs_are_refused(inputs: Any, match: str) -> None:
    with pytest.raises(BindingError, match=match):
        cosines(two(), inputs=inputs)


def test_ragged_inputs_are_refused() -> None:
    with pytest.raises(BindingError, match=r"input 'x' needs .*[^.]\. Give a regular array"):
        cosines(two(), inputs={"x": [[0, 1], [0]], "y": [0]})


def test_inputs_for_a_circuit_without_any_are_refused() -> None:
    with pytest.raises(BindingError, match=r"needs inputs \[\], got \['x'\]; unknown \['x'\]"):
        Circuit(1).statevector(inputs={"x": [1.0]}, engine=ENGINE)
