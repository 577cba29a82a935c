"""Every optimizer: landscapes, dtypes, freezing, counts, saved state, refusals."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
from optimizers import (
    ANY_LOSS,
    OPTIMIZERS,
    Problem,
    Row,
    distance,
    energy,
    parabola,
    rosenbrock,
    step,
    train,
    values,
)

import qml
from autodiff import C64, C128, F32, F64, Parameter, ParameterError, Tensor
from autodiff.placement import relocate
from qml.errors import SettingError, StateDictError
from qml.optim.base import Optimizer, StepCounts

every_row = pytest.mark.parametrize("row", OPTIMIZERS.values(), ids=OPTIMIZERS)
any_loss = pytest.mark.parametrize("row", ANY_LOSS.values(), ids=ANY_LOSS)


def every_class(base: type) -> set[type]:
    below = {c for child in base.__subclasses__() for c in every_class(child)}
    return below | {base}


def test_every_optimizer_has_a_row() -> None:
    public = {c for c in every_class(Optimizer) if getattr(qml, c.__name__, None) is c}
    assert {row.kind for row in OPTIMIZERS.values()} == public - {Optimizer}


# -- landscapes ------------------------------------------------------------------------------------


@any_loss
@pytest.mark.parametrize("dtype", [F32, F64, C64, C128], ids=str)
def test_minimum_of_a_parabola_is_found_in_the_parameters_dtype(row: Row, dtype: np.dtype) -> None:
    target = 1 + 3j if dtype.kind == "c" else 3.0
    problem = parabola(
        Parameter([0.0, 1.0], dtype=dtype), Parameter(0.0, dtype=dtype), target=target
    )
    train(row.make(problem), problem, row.steps)
    for parameter in problem.parameters:
        assert parameter.dtype == dtype
        wanted = np.full(parameter.shape, target)
        np.testing.assert_allclose(parameter.numpy(), wanted, rtol=1e-4)


@any_loss
def test_rosenbrocks_valley_is_followed(row: Row) -> None:
    """From 26 at the start to the valley's floor, and along it to the minimum."""
    problem = rosenbrock()
    changes, steps = row.rosenbrock
    train(row.make(problem, **changes), problem, steps)
    assert problem.loss().item() < 0.2
    x, y = problem.parameters
    assert 0.5 < x.item() < 1.5
    assert y.item() == pytest.approx(x.item() ** 2, abs=0.05)


@every_row
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_lowest_energy_of_a_circuit_is_found(row: Row, dtype: np.dtype) -> None:
    problem = energy(dtype)
    train(row.make(problem), problem, min(row.steps, 250))
    assert problem.loss().item() == pytest.approx(-2.0, abs=1e-3)
    assert [p.dtype for p in problem.parameters] == [dtype, dtype]


@every_row
def test_step_gives_the_loss_before_it(row: Row) -> None:
    problem = energy()
    before = problem.loss().item()
    loss = step(row.make(problem), problem).loss
    # SPSA's is the mean of two points close by.
    assert loss.item() == pytest.approx(before, abs=1e-5)
    assert loss.shape == ()


@every_row
def test_parameters_train_where_they_are(row: Row) -> None:
    problem, here = energy(device="emulated"), energy()
    for each in (problem, here):
        train(row.make(each), each, 2)
    assert [p.device for p in problem.parameters] == ["emulated", "emulated"]
    for now, wanted in zip(values(problem), values(here), strict=True):
        np.testing.assert_allclose(now, wanted, rtol=0, atol=1e-12)


@every_row
@pytest.mark.parametrize("moved", [[0, 1], [1]], ids=["all", "some"])
@pytest.mark.parametrize("steps", [0, 2], ids=["new", "with state"])
def test_state_follows_parameters_that_move_to_a_device(
    row: Row, steps: int, moved: list[int]
) -> None:
    if row.circuits_only and moved == [1]:
        moved = [0, 1]  # a circuit's Parameters live on one device
    problem, here = landscape(row), landscape(row)
    optimizer, other = row.make(problem), row.make(here)
    train(optimizer, problem, steps)
    for k in moved:
        relocate(problem.parameters[k], "emulated")
    train(optimizer, problem, 2)
    train(other, here, steps + 2)
    assert problem.parameters[1].device == "emulated"
    for now, wanted in zip(values(problem), values(here), strict=True):
        np.testing.assert_allclose(now, wanted, rtol=0, atol=1e-12)
    for k in moved:
        relocate(problem.parameters[k], "cpu")
    train(optimizer, problem, 1)


def landscape(row: Row) -> Problem:
    """A loss whose Parameters may live on several devices, unless it is a circuit's."""
    if row.circuits_only:
        return energy()
    x, y = Parameter([0.0, 1.0]), Parameter(0.0)
    return Problem([x, y], lambda: distance(x, 3.0).to("cpu") + distance(y, 2.0).to("cpu"))


# -- frozen Parameters -----------------------------------------------------------------------------


@every_row
@pytest.mark.parametrize("frozen", [0, 1])
def test_frozen_parameter_stays_and_the_other_moves(row: Row, frozen: int) -> None:
    problem = energy()
    problem.parameters[frozen].freeze()
    kept = values(problem)
    counts = step(row.make(problem), problem)
    now = values(problem)
    np.testing.assert_array_equal(now[frozen], kept[frozen])
    assert not np.array_equal(now[1 - frozen], kept[1 - frozen])
    assert counts == StepCounts(updated=1, skipped_frozen=1, skipped_no_grad=0)


@every_row
def test_all_frozen_is_a_step_that_does_nothing(row: Row) -> None:
    problem = energy()
    for parameter in problem.parameters:
        parameter.freeze()
    before = values(problem)
    assert step(row.make(problem), problem) == StepCounts(0, 2, 0)
    for now, kept in zip(values(problem), before, strict=True):
        np.testing.assert_array_equal(now, kept)


@any_loss
def test_nothing_moves_a_parameter_after_unfreezing_but_its_gradient(row: Row) -> None:
    """The loss no longer depends on it then; before it was frozen, it had momentum."""
    x, y = Parameter([1.0, 1.0]), Parameter(1.0)
    weight = Tensor(1.0)
    problem = Problem([x, y], lambda: weight * (x * x).sum() + (y - 3.0) ** 2)
    optimizer = row.make(problem, **({"max_iter": 2} if row.kind is qml.LBFGS else {}))
    train(optimizer, problem, 3)
    x.freeze()
    train(optimizer, problem, 1)
    kept = x.numpy()
    x.unfreeze()
    weight.set_(0.0)
    step(optimizer, problem)
    if row.kind is not qml.SPSA:  # whose estimate of a derivative is never 0
        np.testing.assert_allclose(x.numpy(), kept, rtol=0, atol=1e-9)  # decay is that small


# -- learning rate, settings -----------------------------------------------------------------------


@every_row
def test_no_learning_rate_is_no_move(row: Row) -> None:
    problem = energy()
    before = values(problem)
    step(row.make(problem, lr=0.0), problem)
    for now, kept in zip(values(problem), before, strict=True):
        np.testing.assert_array_equal(now, kept)


@every_row
@pytest.mark.parametrize("bad", [-0.1, float("nan"), "fast", True, None])
def test_bad_learning_rate_is_refused_at_construction_and_later(row: Row, bad: object) -> None:
    problem = energy()
    with pytest.raises(SettingError, match=f"{row.kind.__name__}: lr needs a finite number"):
        row.make(problem, lr=bad)
    optimizer = row.make(problem)
    kept = optimizer.lr
    with pytest.raises(SettingError, match="lr needs a finite number"):
        optimizer.lr = bad
    assert optimizer.lr == optimizer.initial_lr == kept


def test_learning_rate_can_be_changed() -> None:
    parameter = Parameter(1.0)
    optimizer = qml.SGD([parameter], lr=0.5)
    optimizer.lr = 0.25
    parameter.grad = Tensor(1.0)
    optimizer.step()
    assert parameter.item() == 0.75
    assert optimizer.initial_lr == 0.25


def test_repr_shows_settings() -> None:
    assert repr(qml.AdamW([Parameter(0.0)], lr=0.1)) == (
        "AdamW(1 Parameters, lr=0.1, betas=(0.9, 0.999), eps=1e-08, weight_decay=0.01)"
    )


# -- saved state -----------------------------------------------------------------------------------


def resumed(problem: Problem, again: Problem, row: Row) -> None:
    """Two runs, one of which stops after three steps and goes on from what was saved."""
    optimizer = row.make(problem)
    train(optimizer, problem, 3)
    saved = copy.deepcopy(optimizer.state_dict())
    for parameter, value in zip(again.parameters, values(problem), strict=True):
        parameter.set_(value)
    other = row.make(again, lr=0.123)
    other.load_state_dict(saved)
    assert other.lr == optimizer.lr
    train(optimizer, problem, 3)
    train(other, again, 3)
    for now, wanted in zip(values(again), values(problem), strict=True):
        np.testing.assert_array_equal(now, wanted)


@every_row
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_loaded_state_continues_bit_for_bit(row: Row, dtype: np.dtype) -> None:
    resumed(energy(dtype), energy(dtype), row)


@any_loss
def test_loaded_state_continues_bit_for_bit_with_mixed_dtypes(row: Row) -> None:
    def problem() -> Problem:
        xs = [Parameter([1.0, -2.0]), Parameter(0.5, dtype=F32), Parameter(1 + 1j)]
        bent = parabola(*xs)
        return Problem(xs, lambda: bent.loss() ** 2 * 1e-2)

    resumed(problem(), problem(), row)


@every_row
def test_saved_state_stays_what_it_is(row: Row) -> None:
    problem = energy()
    optimizer = row.make(problem)
    train(optimizer, problem, 2)
    state = optimizer.state_dict()
    text = repr(state)
    train(optimizer, problem, 2)
    assert repr(state) == text


def plain(state: object) -> bool:
    """Whether it consists of what a checkpoint can hold without pickle."""
    if isinstance(state, dict):
        return all(isinstance(k, str) and plain(v) for k, v in state.items())
    if isinstance(state, list | tuple):
        return all(map(plain, state))
    numeric = isinstance(state, np.ndarray) and state.dtype.kind in "fci"
    return numeric or state is None or type(state) in (bool, int, float, str)


@every_row
def test_saved_state_is_plain(row: Row) -> None:
    problem = energy()
    optimizer = row.make(problem)
    train(optimizer, problem, 2)
    assert plain(optimizer.state_dict())


FOREIGN: list[tuple[Callable[[dict], dict], str]] = [
    (lambda s: s | {"optimizer": "Other"}, "needs the state_dict of a .*, got that of 'Other'"),
    (lambda s: {"optimizer": s["optimizer"]}, r"with keys \['optimizer'\]"),
    (lambda s: s | {"settings": {"momentum": 0.1}}, "needs the settings"),
    (lambda s: s | {"settings": s["settings"] | {"lr": -1.0}}, "lr needs a finite number"),
    (lambda s: s | {"state": {"nonsense": 1}}, "state"),
]


@every_row
@pytest.mark.parametrize(("change", "match"), FOREIGN)
def test_foreign_state_is_refused_and_nothing_changed(
    row: Row, change: Callable[[dict], dict], match: str
) -> None:
    problem = energy()
    optimizer = row.make(problem)
    train(optimizer, problem, 2)
    before = repr(optimizer.state_dict())
    with pytest.raises((StateDictError, SettingError), match=match):
        optimizer.load_state_dict(change(optimizer.state_dict()))
    assert repr(optimizer.state_dict()) == before


# -- refusals --------------------------------------------------------------------------------------

TWICE = Parameter(1.0, name="theta")
BAD_PARAMETERS = [
    ([], "Adam needs at least one Parameter, got none"),
    (qml.Circuit(1).parameters(), "needs at least one Parameter, got none"),
    (Parameter([1.0, 2.0]), r"needs a list of Parameters, got Parameter. Write \[p\]"),
    (qml.Circuit(1), r"got Circuit. .*circuit.parameters\(\)"),
    ({"a": Parameter(1.0)}, "needs a list of Parameters, got dict"),
    (None, "needs a list of Parameters, got NoneType"),
    ([Parameter(1.0), Tensor(1.0)], "needs Parameters, got Tensor at position 1"),
    ([0.5], "needs Parameters, got float at position 0"),
    ([TWICE, TWICE], "each Parameter once, got Parameter 'theta' .* at positions 0 and 1"),
    ([TWICE, TWICE.clone()], "at positions 0 and 1"),
]


@pytest.mark.parametrize(("params", "match"), BAD_PARAMETERS)
def test_bad_parameters_are_refused(params: object, match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        qml.Adam(params)


def test_generator_of_parameters_is_accepted() -> None:
    parameters = [Parameter(1.0), Parameter(2.0)]
    assert qml.SGD(p for p in parameters).parameters == parameters


def test_states_that_are_no_mappings_are_refused() -> None:
    adam = qml.Adam([Parameter(0.1)])
    with pytest.raises(StateDictError, match="needs a state_dict, a mapping, got int 3"):
        adam.load_state_dict(3)  # type: ignore[arg-type]
    with pytest.raises(StateDictError, match=r"needs the settings .* got 3"):
        adam.load_state_dict({**adam.state_dict(), "settings": 3})
