"""The registry of a circuit's Parameters and Inputs: order, names, identity."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from autodiff import Parameter
from circuits import BindingError, Circuit, Input
from circuits.angles import AngleError
from circuits.leaves import Leaves


def parameters(count: int) -> list[Parameter]:
    return [Parameter(0.1 * k, name="abcdef"[k]) for k in range(count)]


def test_first_use_registers_operands_left_to_right_depth_first() -> None:
    a, b, c, d, e, _ = parameters(6)
    circuit = Circuit(2).rx(c * (a + b), 0).u(b, e, d * a, 1)
    assert circuit.parameter_names() == ["c", "a", "b", "e", "d"]
    assert all(x is y for x, y in zip(circuit.parameters(), [c, a, b, e, d], strict=True))


def test_register_fixes_the_order() -> None:
    a, b, c, *_ = parameters(3)
    circuit = Circuit(1).register(b).rx(a, 0).register(b, c, a)
    assert circuit.parameter_names() == ["b", "a", "c"]


def test_unnamed_parameters_get_the_free_names() -> None:
    taken = Parameter(0.0, name="p1")
    circuit = Circuit(1).rx(Parameter(0.1), 0).rx(taken, 0)
    circuit.rx(Parameter(0.2), 0).rx(Parameter(0.3), 0)
    assert circuit.parameter_names() == ["p0", "p1", "p2", "p3"]
    assert circuit.parameters()[1] is taken


@pytest.mark.parametrize("second", [Parameter(0.1, name="a"), Parameter(0.0, name="a")])
def test_two_different_parameters_of_one_name_are_refused(second: Parameter) -> None:
    first = Parameter(0.1, name="a")
    circuit = Circuit(1).rx(first, 0)
    before = circuit.copy()
    with pytest.raises(BindingError, match="different names, got two named 'a'"):
        circuit.rx(second, 0)
    with pytest.raises(BindingError, match="different names"):
        circuit.register(Parameter(0.0), second)
    with pytest.raises(BindingError, match="different names"):
        Circuit(1).rx(first * second, 0)
    assert circuit == before
    assert len(circuit.parameters()) == 1


@pytest.mark.parametrize("value", [0.0, 0.5, [0.0], [0.0, 0.0]])
def test_a_copy_of_a_registered_parameter_is_refused_whatever_its_value(value: object) -> None:
    first = Parameter(value)
    copied = pickle.loads(pickle.dumps(first))
    circuit = Circuit(1).register(first)
    with pytest.raises(BindingError, match=r"one object a Parameter, got a copy .*parameters\(\)"):
        circuit.register(copied)
    with pytest.raises(BindingError, match="one object a Parameter"):
        Circuit(1).register(first, copied)


def test_only_real_parameters_can_be_registered() -> None:
    with pytest.raises(BindingError, match=r"needs Parameters, got 0\.5"):
        Circuit(1).register(0.5)  # type: ignore[arg-type]
    with pytest.raises(AngleError, match="float32 or float64"):
        Circuit(1).register(Parameter(1j))


def test_parameters_of_any_shape_can_be_registered() -> None:
    w = Parameter(np.zeros((2, 3)))
    assert Circuit(1).register(w).parameters() == [w]


def test_inputs_of_one_name_are_one() -> None:
    circuit = Circuit(1).rx(Input("x", 2)[0], 0).rx(Input("x", 2)[1] * Parameter(1.0), 0)
    assert [x.name for x in circuit.inputs] == ["x"]
    e = circuit.statevector(inputs={"x": [0.1, 0.2]}, engine="reference")
    assert e.numpy()[0] == pytest.approx(np.cos(0.15))


@pytest.mark.parametrize("other", [Input("x", 3), Input("x", 2, dtype=np.float32)])
def test_inputs_of_one_name_must_agree(other: Input) -> None:
    circuit = Circuit(1).rx(Input("x", 2)[0], 0)
    before = circuit.copy()
    with pytest.raises(BindingError, match="needs one Input a name, got 'x' with size"):
        circuit.rx(other[0], 0)
    assert circuit == before


def test_many_parameters_register_in_linear_time() -> None:
    leaves = Leaves()
    for _ in range(20_000):
        leaves.register([Parameter(0.0)])
    assert len(leaves.names()) == 20_000


def test_copy_is_independent() -> None:
    leaves = Leaves()
    leaves.register(parameters(2))
    other = leaves.copy()
    other.register([Parameter(0.0)])
    assert (len(leaves.parameters), len(other.parameters)) == (2, 3)
    assert copy.copy(Circuit(1).register(*parameters(2))).parameter_names() == ["a", "b"]


# -- substitution ----------------------------------------------------------------------------------


def test_substitution_replaces_what_is_bound() -> None:
    a, b, other = Parameter(0.1, name="a"), Parameter(0.2, name="b"), Parameter(0.3)
    leaves = Leaves()
    leaves.register([a, b])
    swap = leaves.substitution({a: other})
    assert swap(a) is other
    assert swap(b) is b


def test_bad_bindings_are_refused() -> None:
    a = Parameter(0.1, name="a")
    leaves = Leaves()
    leaves.register([a])
    with pytest.raises(BindingError, match=r"Parameters of the other circuit.*It has \['a'\]"):
        leaves.substitution({Parameter(0.0): a})
    with pytest.raises(BindingError, match=r"of the same shape \(\)"):
        leaves.substitution({a: Parameter([0.0])})
    with pytest.raises(BindingError, match="Parameters in place of Parameters"):
        leaves.substitution({a: 0.5})  # type: ignore[dict-item]
    with pytest.raises(AngleError, match="float32 or float64"):
        leaves.substitution({a: Parameter(1j)})


def test_a_parameter_and_an_input_of_one_name_are_refused() -> None:
    p, x = Parameter(0.1, name="x"), Input("x", 1)
    for circuit, second in ((Circuit(1).rx(p, 0), x[0]), (Circuit(1).rx(x[0], 0), p)):
        before = circuit.copy()
        with pytest.raises(BindingError, match=r"one of each named 'x'\. Rename one"):
            circuit.ry(second, 0)
        assert circuit == before
    for both in (p * x[0], x[0] + p):
        with pytest.raises(BindingError, match="one of each named 'x'"):
            Circuit(1).rx(both, 0)


def test_names_of_unnamed_parameters_avoid_those_of_inputs() -> None:
    circuit = Circuit(1).rx(Input("p0", 1)[0] * Parameter(0.1), 0)
    assert circuit.parameter_names() == ["p1"]


def test_names_must_be_text() -> None:
    with pytest.raises(BindingError, match="text as names, got the name 3"):
        Circuit(1).rx(Parameter(0.1, name=3), 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["foo", np.int64, object, 3])
def test_inputs_need_a_real_dtype(dtype: object) -> None:
    with pytest.raises(BindingError, match="needs dtype float32 or float64, got"):
        Input("x", 1, dtype=dtype)  # type: ignore[arg-type]
