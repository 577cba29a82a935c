from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import qml
from autodiff import C128, F32, DeviceUnavailable, Parameter, Tensor
from qml.errors import SettingError, StateDictError


class Encoder(qml.Module):
    def __init__(self, scale: float = 1.0) -> None:
        self.weight = Parameter([scale, 2.0])
        self.register_buffer("mean", [0.5, 0.25])

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x - self.mean)


class Model(qml.Module):
    """Parameters of all kinds: own, of children, of containers, of a circuit and its matrix."""

    def __init__(self) -> None:
        self.bias = Parameter(0.1)
        self.encoder = Encoder()
        self.blocks = [Encoder(3.0), {"last": Encoder(4.0)}]
        self.matrix = Parameter(np.eye(2, dtype=C128))
        self.circuit = qml.Circuit(1).rx(Parameter(0.2, name="theta[0]"), 0).rz(Parameter(0.3), 0)
        self.circuit.unitary(self.matrix, 0)
        self.extra = (Parameter(5.0), "text", 3)
        self.shared = self.encoder.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.encoder(x) + self.bias


NAMES = [
    "bias",
    "matrix",
    "circuit.theta[0]",
    "circuit.p0",
    "extra.0",
    "shared",
    "blocks.0.weight",
    "blocks.1.last.weight",
]
BUFFERS = ["encoder.mean", "blocks.0.mean", "blocks.1.last.mean"]


def test_parameters_are_found_wherever_they_are_kept_each_once() -> None:
    model = Model()
    assert [name for name, _ in model.named_parameters()] == NAMES
    parameters = model.parameters()
    assert len({id(p._meta) for p in parameters}) == len(parameters) == len(NAMES)
    assert parameters[5] is model.encoder.weight


def test_matrix_of_a_circuit_alone_is_found() -> None:
    class Turned(qml.Module):
        def __init__(self) -> None:
            self.circuit = qml.Circuit(1).unitary(Parameter(np.eye(2, dtype=C128)), 0)
            self.fixed = qml.Circuit(1).unitary(Tensor(np.eye(2, dtype=C128)), 0)

    assert [name for name, _ in Turned().named_parameters()] == ["circuit.matrix0"]


def test_modules_children_and_buffers() -> None:
    model = Model()
    assert [name for name, _ in model.named_modules()] == [
        "",
        "encoder",
        "blocks.0",
        "blocks.1.last",
    ]
    assert model.modules()[0] is model
    assert model.children() == [model.encoder, model.blocks[0], model.blocks[1]["last"]]
    assert [name for name, _ in model.named_buffers()] == BUFFERS
    assert model.buffers()[0] is model.encoder.mean


def test_module_that_contains_itself_is_walked_once() -> None:
    encoder = Encoder()
    encoder.parent = encoder
    assert encoder.modules() == [encoder]
    assert len(encoder.parameters()) == 1


@pytest.mark.parametrize("name", ["mean", "forward", "a.b", ""])
def test_buffer_needs_a_free_attribute_name(name: str) -> None:
    with pytest.raises(SettingError, match="a buffer needs a free attribute name"):
        Encoder().register_buffer(name, [1.0])


def test_call_runs_forward_and_base_has_none() -> None:
    assert Encoder()([1.0, 1.0]).tolist() == [0.5, 1.5]
    with pytest.raises(NotImplementedError, match="Module needs a forward method"):
        qml.Module()(1.0)


def test_train_and_eval_reach_all_modules() -> None:
    model = Model()
    assert [m.training for m in model.eval().modules()] == [False] * 4
    assert [m.training for m in model.train().modules()] == [True] * 4


def test_to_checks_the_device() -> None:
    model = Model()
    assert model.to("cpu") is model
    with pytest.raises(DeviceUnavailable, match="got 'tpu'"):
        model.to("tpu")


def test_zero_grad_clears_all() -> None:
    model = Model()
    model([1.0, 2.0]).sum().backward()
    assert model.bias.grad is not None
    model.zero_grad()
    assert {p.grad for p in model.parameters()} == {None}


# -- freezing --------------------------------------------------------------------------------------

PATTERNS = [
    ("*", NAMES),
    ("bias", ["bias"]),
    ("blocks.*", ["blocks.0.weight", "blocks.1.last.weight"]),
    ("circuit.theta[0]", ["circuit.theta[0]"]),
    ("circuit.p?", ["circuit.p0"]),
]


@pytest.mark.parametrize(("pattern", "names"), PATTERNS)
def test_freeze_by_pattern(pattern: str, names: list[str]) -> None:
    model = Model()
    model.freeze(pattern)
    assert [n for n, p in model.named_parameters() if not p.trainable] == names
    model.unfreeze(pattern)
    assert all(p.trainable for p in model.parameters())


def test_pattern_without_a_match_is_refused() -> None:
    with pytest.raises(SettingError, match=r"got 'encodr\.\*'. There are \['bias', 'matrix'"):
        Model().freeze("encodr.*")


def test_frozen_encoder_is_skipped_and_still_gets_its_gradient() -> None:
    model = Model()
    model.freeze("shared")
    before = model.encoder.weight.tolist()
    model([1.0, 2.0]).sum().backward()
    counts = qml.SGD(model.parameters(), lr=0.1).step()
    assert (counts.updated, counts.skipped_frozen, counts.skipped_no_grad) == (1, 1, 6)
    assert model.encoder.weight.tolist() == before
    assert model.encoder.weight.grad.tolist() == [0.5, 1.75]


# -- saved values ----------------------------------------------------------------------------------


def test_state_goes_into_another_module() -> None:
    model, other = Model(), Model()
    for k, value in enumerate([*model.parameters(), *model.buffers()]):
        value.set_(np.full(value.shape, k + 1.0))
    state = model.state_dict()
    assert list(state) == [*NAMES, *BUFFERS]
    other.matrix.set_(np.diag([1, 1j]))
    other.load_state_dict(state)
    for name, value in other.state_dict().items():
        np.testing.assert_array_equal(value, state[name])


def test_state_stays_what_it_is_while_training_goes_on() -> None:
    model = Encoder()
    state = model.state_dict()
    model.weight.set_([9.0, 9.0])
    assert state["weight"].tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        state["weight"][0] = 1.0
    model.load_state_dict({name: Tensor(value) for name, value in state.items()})
    assert model.weight.tolist() == [1.0, 2.0]


def test_mismatch_lists_every_fault_and_changes_nothing() -> None:
    model = Model()
    before = model.state_dict()
    state: dict[str, object] = dict(before)
    state["bias"] = 7.0
    del state["matrix"], state["encoder.mean"]
    state["old"] = 1.0
    state["shared"] = [1.0, 2.0, 3.0]
    state["extra.0"] = 1j
    with pytest.raises(StateDictError) as caught:
        model.load_state_dict(state)
    assert str(caught.value) == (
        "Model needs the state_dict of a module like itself, got one with matrix, encoder.mean "
        "missing; old unexpected; shared (3,) in place of (2,) of another shape; extra.0 "
        "complex128 in place of float64 of another dtype. Make the module that was saved."
    )
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


def test_float64_values_load_into_float32_parameters() -> None:
    class Single(qml.Module):
        def __init__(self) -> None:
            self.weight = Parameter(0.0, dtype=F32)

    single = Single()
    single.load_state_dict({"weight": 0.1})
    assert single.weight.dtype == F32
    assert single.weight.item() == np.float32(0.1)


# -- copies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"]
)
def test_copy_has_parameters_of_its_own(copied: object) -> None:
    model = qml.Sequential(
        qml.Linear(2, 1, seed=0),
        qml.QuantumLayer(
            qml.Circuit(1).ry(qml.Input("x", 1)[0], 0).rx(Parameter(0.4), 0), qml.Z(0)
        ),
    )
    twin = copied(model)
    x = np.ones((3, 2))
    np.testing.assert_array_equal(twin(x).numpy(), model(x).numpy())
    for parameter in twin.parameters():
        parameter.set_(parameter.numpy() + 1.0)
    assert len(twin.parameters()) == 3
    assert not np.allclose(twin(x).numpy(), model(x).numpy())


def test_repr_is_a_tree() -> None:
    model = qml.Sequential(qml.Linear(2, 3, seed=0), qml.Sequential(qml.Tanh()))
    assert repr(model) == (
        "Sequential(\n  (0): Linear(2, 3)\n  (1): Sequential(\n    (0): Tanh()\n  )\n)"
    )


def test_a_state_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(StateDictError, match=r"needs a state_dict, a mapping .* got int 3"):
        qml.Linear(1, 1, seed=0).load_state_dict(3)  # type: ignore[arg-type]


def test_a_value_of_ragged_rows_is_refused() -> None:
    with pytest.raises(StateDictError, match=r"weight needs an array, .*[^.]\. Give what"):
        qml.Linear(1, 1, seed=0).load_state_dict({"weight": [[1.0], [1.0, 2.0]], "bias": [0.0]})
