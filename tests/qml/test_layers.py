from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import qml
from autodiff import C64, C128, F32, F64, Parameter, ShapeError, Tensor
from circuits import BindingError, EngineError, ObservableError
from circuits.engines.registry import ENGINES
from circuits.errors import CircuitError
from qml.errors import SettingError

every_engine = pytest.mark.parametrize("engine", ENGINES)


# -- Linear ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3,), (5, 3), (2, 5, 3), (0, 3)])
def test_linear_maps_the_last_axis(shape: tuple[int, ...]) -> None:
    layer = qml.Linear(3, 2, seed=0)
    x = np.random.default_rng(1).normal(size=shape)
    wanted = x @ layer.weight.numpy().T + layer.bias.numpy()
    np.testing.assert_allclose(layer(x).numpy(), wanted, rtol=0, atol=1e-14)
    assert layer(x).shape == (*shape[:-1], 2)


def test_linear_without_bias() -> None:
    layer = qml.Linear(3, 2, bias=False, seed=0)
    assert layer.bias is None
    assert [name for name, _ in layer.named_parameters()] == ["weight"]
    assert layer(np.zeros(3)).tolist() == [0.0, 0.0]
    assert repr(layer) == "Linear(3, 2, bias=False)"


@pytest.mark.parametrize("dtype", [F32, F64, C64, C128], ids=str)
def test_linear_has_one_dtype_and_stays_within_its_bound(dtype: np.dtype) -> None:
    layer = qml.Linear(16, 50, seed=0, dtype=dtype)
    for parameter in layer.parameters():
        assert parameter.dtype == dtype
        for part in (parameter.numpy().real, parameter.numpy().imag):
            assert np.abs(part).max() <= 1 / sqrt(16)
    assert np.abs(layer.weight.numpy().real).max() > 0.95 / sqrt(16)
    assert layer(np.zeros((1, 16))).dtype == dtype


def test_linear_starts_by_its_seed() -> None:
    weights = [qml.Linear(3, 2, seed=seed).weight.tolist() for seed in (0, 0, 1)]
    assert weights[0] == weights[1] != weights[2]
    generator = np.random.default_rng(0)
    shared = [qml.Linear(3, 2, seed=generator).weight.tolist() for _ in range(2)]
    assert weights[0] == shared[0] != shared[1]


BAD_LINEAR = [
    ((0, 2), {}, "Linear: in_features needs an integer of at least 1, got 0"),
    ((2, 2.0), {}, "Linear: out_features needs an integer"),
    ((2, 2), {"dtype": "int64"}, "Linear: dtype needs float32"),
    ((2, 2), {"seed": -1}, "a seed needs"),
]


@pytest.mark.parametrize(("sizes", "options", "match"), BAD_LINEAR)
def test_bad_linear_is_refused(sizes: tuple, options: dict, match: str) -> None:
    with pytest.raises(ValueError, match=match) as caught:
        qml.Linear(*sizes, **({"seed": 0} | options))
    assert isinstance(caught.value, qml.AutodiffError | CircuitError)


@pytest.mark.parametrize("x", [1.0, [1.0, 2.0], np.zeros((3, 1))])
def test_linear_refuses_another_size(x: object) -> None:
    with pytest.raises(ShapeError, match=r"Linear\(3, 2\) needs an input of shape \(\.\.\., 3\)"):
        qml.Linear(3, 2, seed=0)(x)


# -- QuantumLayer ----------------------------------------------------------------------------------


def two_angles() -> qml.Circuit:
    x = qml.Input("x", 2)
    return qml.Circuit(2).ry(x[0], 0).ry(x[1], 1)


@every_engine
def test_shapes_of_several_observables(engine: str) -> None:
    layer = qml.QuantumLayer(two_angles(), [qml.Z(0), qml.Z(1)], engine=engine)
    x = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    wanted = [
        [0.9950041653, 0.9800665778],
        [0.9553364891, 0.9210609940],
        [0.8775825619, 0.8253356149],
    ]
    np.testing.assert_allclose(layer(x).numpy(), wanted, rtol=0, atol=1e-10)
    assert layer(x[:1]).shape == (1, 2)
    assert layer(x[0]).shape == (2,)
    np.testing.assert_allclose(layer(x[0]).numpy(), wanted[0], rtol=0, atol=1e-10)


@every_engine
def test_shapes_of_one_observable(engine: str) -> None:
    single = qml.QuantumLayer(two_angles(), qml.Z(0), engine=engine)
    listed = qml.QuantumLayer(two_angles(), [qml.Z(0)], engine=engine)
    for shape, lead in (((2,), ()), ((1, 2), (1,)), ((3, 2), (3,))):
        assert single(np.zeros(shape)).shape == lead
        assert listed(np.zeros(shape)).shape == (*lead, 1)


def test_targets_of_another_shape_are_not_broadcast() -> None:
    layer = qml.QuantumLayer(two_angles(), [qml.Z(0)])
    with pytest.raises(ShapeError, match=r"one shape, got \(3, 1\) and \(3,\)"):
        qml.mse_loss(layer(np.zeros((3, 2))), np.zeros(3))


def test_several_inputs_go_by_name() -> None:
    a, b = qml.Input("a", 1), qml.Input("b", 1)
    layer = qml.QuantumLayer(qml.Circuit(1).ry(a[0], 0).ry(b[0], 0), qml.Z(0))
    assert layer(a=[0.1], b=[0.2]).item() == pytest.approx(np.cos(0.3))
    for call in (lambda: layer([0.1]), lambda: layer([0.1], b=[0.2]), lambda: layer([0.1], [0.2])):
        with pytest.raises(BindingError, match=r"needs its inputs \['a', 'b'\] by name"):
            call()
    with pytest.raises(BindingError, match=r"missing \['b'\]"):
        layer(a=[0.1])


def test_circuit_without_inputs_is_called_without_arguments() -> None:
    layer = qml.QuantumLayer(qml.Circuit(1).ry(Parameter(0.5), 0), qml.Z(0))
    assert layer().item() == pytest.approx(np.cos(0.5))
    with pytest.raises(BindingError, match=r"needs its inputs \[\] by name"):
        layer([0.1])


def test_parameters_are_those_of_angles_matrices_and_coefficients() -> None:
    theta, weight = Parameter(0.3, name="theta"), Parameter(2.0)
    matrix = Parameter(np.eye(2, dtype=C128))
    circuit = qml.Circuit(1).ry(theta, 0).unitary(matrix, 0)
    layer = qml.QuantumLayer(circuit, [weight * qml.Z(0), qml.X(0), theta * qml.X(0)])
    assert [name for name, _ in layer.named_parameters()] == [
        "circuit.theta",
        "circuit.matrix0",
        "coefficients.0",
    ]
    layer().sum().backward()
    assert all(p.grad is not None for p in layer.parameters())
    assert weight.grad.item() == pytest.approx(np.cos(0.3))


def test_gates_appended_later_count() -> None:
    circuit = qml.Circuit(1)
    layer = qml.QuantumLayer(circuit, qml.Z(0))
    assert layer.parameters() == []
    circuit.rx(Parameter(0.1), 0)
    assert len(layer.parameters()) == 1


@pytest.mark.parametrize(("dtype", "real"), [(None, F64), (C64, F32), (C128, F64)])
def test_dtype_decides_the_precision(dtype: object, real: np.dtype) -> None:
    layer = qml.QuantumLayer(two_angles(), qml.Z(0), dtype=dtype)
    assert layer(np.zeros(2)).dtype == real


def test_device_is_where_it_runs() -> None:
    layer = qml.QuantumLayer(two_angles(), qml.Z(0)).to("cpu")
    assert layer.device == layer(np.zeros(2)).device == "cpu"
    with pytest.raises(qml.DeviceUnavailable, match="got 'tpu'"):
        layer.to("tpu")
    assert layer.device == "cpu"


def test_gradient_reaches_features_and_angles() -> None:
    x, theta = Tensor([0.1, 0.2], requires_grad=True), Parameter(0.4)
    layer = qml.QuantumLayer(two_angles().ry(theta, 0), [qml.Z(0), qml.Z(1)])
    layer(x).sum().backward()
    assert x.grad.tolist() == pytest.approx([-np.sin(0.5), -np.sin(0.2)])
    assert theta.grad.item() == pytest.approx(-np.sin(0.5))


BAD_LAYERS = [
    (lambda: qml.QuantumLayer("circuit", qml.Z(0)), BindingError, "needs a Circuit, got str"),
    (lambda: qml.QuantumLayer(qml.Circuit(1), []), ObservableError, "got none"),
    (lambda: qml.QuantumLayer(qml.Circuit(1), qml.Z(1)), qml.QubitError, "qubit"),
    (lambda: qml.QuantumLayer(qml.Circuit(1), [1.0]), ObservableError, "got float"),
    (lambda: qml.QuantumLayer(qml.Circuit(1), qml.Z(0), engine="fast"), EngineError, "'fast'"),
]


@pytest.mark.parametrize(("make", "error", "match"), BAD_LAYERS)
def test_bad_quantum_layer_is_refused(make: object, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        make()


def test_repr_names_circuit_and_observables() -> None:
    layer = qml.QuantumLayer(two_angles(), [qml.Z(0), qml.Z(1)])
    assert repr(layer) == (
        "QuantumLayer(Circuit(2 qubits, 2 gates, 0 parameters, 1 inputs), 2 observables)"
    )


# -- nothing to train ------------------------------------------------------------------------------


@every_engine
def test_circuit_with_nothing_to_train(engine: str) -> None:
    x = Parameter(1.1)
    loss = qml.Circuit(1).x(0).probabilities(engine=engine)[0] + 0 * x
    loss.backward()
    assert loss.item() == 0.0
    assert x.grad.item() == 0.0
    assert x.grad.shape == x.shape
    assert qml.Circuit(1).expectation(qml.Z(0), engine=engine).item() == 1.0
    layer = qml.QuantumLayer(qml.Circuit(1), qml.Z(0), engine=engine)
    with pytest.raises(qml.ParameterError, match="at least one Parameter, got none"):
        qml.SGD(layer.parameters())


# -- Sequential and activations --------------------------------------------------------------------


def test_sequential_runs_layers_in_order() -> None:
    first, second = qml.Linear(2, 3, seed=0), qml.Linear(3, 1, seed=1)
    model = qml.Sequential(first, qml.Tanh(), second)
    x = np.ones((4, 2))
    np.testing.assert_array_equal(model(x).numpy(), second(first(x).tanh()).numpy())
    assert len(model) == 3
    assert model[0] is first
    assert list(model)[2] is second
    assert [name for name, _ in model.named_parameters()] == [
        "0.weight",
        "0.bias",
        "2.weight",
        "2.bias",
    ]


def test_sequential_refuses_what_is_no_module() -> None:
    with pytest.raises(SettingError, match="needs Modules, got list at position 1"):
        qml.Sequential(qml.Tanh(), [qml.Tanh()])


# -- features as the initial state -----------------------------------------------------------------


@every_engine
def test_encoding_makes_the_initial_state(engine: str) -> None:
    circuit = qml.hardware_efficient(2, 1, initial=0.3)
    encoding = qml.amplitude_encoding
    layer = qml.QuantumLayer(circuit, [qml.Z(0), qml.X(1)], encoding=encoding, engine=engine)
    x = np.random.default_rng(0).normal(size=(3, 4))
    wanted = circuit.expectation([qml.Z(0), qml.X(1)], initial_state=encoding(x)).numpy()
    np.testing.assert_allclose(layer(x).numpy(), wanted, atol=1e-14)
    assert layer(x[0]).shape == (2,)
    model = qml.Sequential(qml.Linear(3, 4, seed=0), layer)
    model(x[:, :3]).sum().backward()
    assert np.abs(model[0].weight.grad.numpy()).max() > 1e-3


def test_encoding_beside_an_input() -> None:
    circuit = qml.angle_encoding(1)
    layer = qml.QuantumLayer(circuit, qml.Z(0), encoding=qml.amplitude_encoding)
    assert layer([0.0, 1.0], x=[0.3]).item() == pytest.approx(-np.cos(0.3))
    assert layer([0.0, 1.0], [0.3]).item() == pytest.approx(-np.cos(0.3))
    with pytest.raises(BindingError, match="with an encoding needs features, got none"):
        layer(x=[0.3])


# -- Dropout ---------------------------------------------------------------------------------------


def test_dropout_keeps_the_mean_and_the_rest_of_each_element() -> None:
    layer = qml.Dropout(0.25, seed=0)
    x = np.full((200, 100), 3.0)
    out = layer(x).numpy()
    assert set(np.unique(out)) == {0.0, 4.0}
    assert (out == 0).mean() == pytest.approx(0.25, abs=0.01)
    assert not np.array_equal(layer(x).numpy(), out)
    np.testing.assert_array_equal(qml.Dropout(0.25, seed=0)(x).numpy(), out)
    assert repr(layer) == "Dropout(p=0.25)"


def test_dropout_draws_nothing_where_it_does_nothing() -> None:
    layer = qml.Dropout(0.5, seed=0)
    state = layer.generator.bit_generator.state
    x = np.arange(6.0)
    assert layer.eval()(x).tolist() == qml.Dropout(0.0, seed=0)(x).tolist() == x.tolist()
    assert layer.generator.bit_generator.state == state


def test_gradient_of_dropout_is_its_mask() -> None:
    x = Tensor(np.ones(50, np.float32), requires_grad=True)
    out = qml.Dropout(0.5, seed=0)(x)
    assert out.dtype == F32
    out.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), out.numpy())


@pytest.mark.parametrize("p", [-0.1, 1.0, "half"])
def test_bad_dropout_is_refused(p: object) -> None:
    with pytest.raises(SettingError, match="Dropout: p needs a finite number of at least 0"):
        qml.Dropout(p, seed=0)


# -- LayerNorm -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [4, (3, 4)])
def test_layer_norm_is_its_formula(shape: object) -> None:
    layer = qml.LayerNorm(shape, eps=1e-3)
    generator = np.random.default_rng(0)
    for parameter in layer.parameters():
        parameter.set_(generator.normal(size=parameter.shape))
    x = generator.normal(size=(2, 3, 4))
    axes = (-1,) if shape == 4 else (-2, -1)
    mean, var = x.mean(axis=axes, keepdims=True), x.var(axis=axes, keepdims=True)
    wanted = (x - mean) / np.sqrt(var + 1e-3) * layer.weight.numpy() + layer.bias.numpy()
    np.testing.assert_allclose(layer(x).numpy(), wanted, rtol=1e-13)
    assert qml.gradcheck(layer, Tensor(x, requires_grad=True))
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]


def test_layer_norm_of_equal_features_is_the_bias() -> None:
    layer = qml.LayerNorm(3, dtype=F32)
    out = layer([2.0, 2.0, 2.0])
    assert (out.tolist(), out.dtype) == ([0.0, 0.0, 0.0], F32)
    assert repr(layer) == "LayerNorm(3, eps=1e-05)"


BAD_NORMS = [
    ((0,), {}, "LayerNorm: shape needs an integer of at least 1"),
    (((),), {}, "LayerNorm needs at least one axis"),
    ((2,), {"dtype": C64}, "LayerNorm needs at least one axis and dtype float32 or float64"),
    ((2, -1.0), {}, "LayerNorm: eps needs"),
]


@pytest.mark.parametrize(("arguments", "options", "match"), BAD_NORMS)
def test_bad_layer_norm_is_refused(arguments: tuple, options: dict, match: str) -> None:
    with pytest.raises(SettingError, match=match):
        qml.LayerNorm(*arguments, **options)


@pytest.mark.parametrize("x", [np.zeros(3), np.zeros((2, 3)), Tensor(np.zeros(2, C128))])
def test_layer_norm_refuses_other_inputs(x: object) -> None:
    with pytest.raises(ShapeError, match=r"needs a real input of shape \(\.\.\., 2\)"):
        qml.LayerNorm(2)(x)


# -- Embedding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,)])
def test_embedding_looks_rows_up(shape: tuple[int, ...]) -> None:
    layer = qml.Embedding(5, 4, seed=0)
    indices = np.random.default_rng(0).integers(0, 5, shape)
    for given in (indices, Tensor(indices)):
        np.testing.assert_array_equal(layer(given).numpy(), layer.weight.numpy()[indices])


def test_gradients_of_repeated_rows_add_up() -> None:
    layer = qml.Embedding(3, 2, seed=0, dtype=F32)
    layer([1, 1, 2]).sum().backward()
    assert layer.weight.grad.tolist() == [[0.0, 0.0], [2.0, 2.0], [1.0, 1.0]]
    assert layer.weight.dtype == F32
    assert repr(layer) == "Embedding(3, 2)"


@pytest.mark.parametrize(
    ("indices", "match"),
    [([0, 3], "from 0 to 2, got 0 to 3"), ([-1], "got -1 to -1"), ([0.5], "got dtype float64")],
)
def test_bad_indices_are_refused(indices: list, match: str) -> None:
    with pytest.raises(SettingError, match=match):
        qml.Embedding(3, 2, seed=0)(indices)


def test_bad_embedding_is_refused() -> None:
    for sizes, dtype in (((0, 2), F64), ((2, 0), F64), ((2, 2), C128)):
        with pytest.raises(SettingError, match="Embedding: "):
            qml.Embedding(*sizes, seed=0, dtype=dtype)
