"""Both sweeps give what a whole evaluation gives, wherever they stand."""

from __future__ import annotations

import numpy as np
import pytest

import qml
from autodiff import Parameter, no_grad
from circuits.compiled_observables import compile_observables
from circuits.execute import evolve
from qml.optim.sweep import BraSweep, GeneralSweep, Sweep, sweep_of

SHIFTS = (0.0, 0.7, -1.3)


def circuit() -> qml.Circuit:
    """Fixed gates at both ends and between; a gate with two angles; a matrix given at run time."""
    generator = np.random.default_rng(4)
    p = [Parameter(value) for value in generator.normal(size=5)]
    matrix = Parameter(np.linalg.qr(generator.normal(size=(2, 2)) + 0j)[0])
    made = qml.Circuit(3).h(0).ry(p[0], 1).cx(0, 1).u(p[1], 0.3, p[2], 2).unitary(matrix, 1)
    return made.rzz(2 * p[3] + 0.1, 0, 2).cx(1, 2).rx(p[4], 0).h(2)


TARGET = np.exp(1j * np.arange(8)) / np.sqrt(8)
OBJECTIVES = {
    "words": (qml.PauliSum({"ZZI": 1.0, "XIY": 0.5}), GeneralSweep),
    "projector": (2.0 * qml.Projector("101"), BraSweep),
    "projectors": (
        qml.Projector("101") - 0.5 * qml.Projector("011") + 0.25 * qml.I(0),
        BraSweep,
    ),
    "state": (TARGET, BraSweep),
    "marginal": (qml.Projector("1", [0]), GeneralSweep),
    "word beside a projector": (qml.Projector("101") + qml.Z(0), GeneralSweep),
    "constant": (0.5 * qml.I(0), GeneralSweep),
}
every_objective = pytest.mark.parametrize(
    ("objective", "kind"), OBJECTIVES.values(), ids=OBJECTIVES
)


def directly(made: qml.Circuit, objective: object, angles: np.ndarray) -> np.ndarray:
    """The objective of whole evaluations, through an angle table with these rows."""
    run = made._run(engine="reference")
    batch = qml.Tensor(angles)
    with no_grad():
        states = evolve(run.state, batch, run.matrices, run.plan, run.engine)
    if isinstance(objective, np.ndarray):
        return 1 - np.abs(states.numpy() @ objective.conj()) ** 2
    return qml.expectation(states, objective, engine="reference").numpy()


@every_objective
def test_values_are_those_of_whole_evaluations(objective: object, kind: type[Sweep]) -> None:
    made = circuit()
    run = made._run(engine="reference")
    sweep = sweep_of(run, objective, {})
    assert type(sweep) is kind
    angles = run.angles.numpy().copy()
    places = [(k, slot) for k, step in enumerate(run.plan.steps) for slot in step.slots]
    assert len(places) == 5
    for k, slot in places:
        sweep.go_to(k)
        rows = np.repeat(angles[None], len(SHIFTS), axis=0)
        rows[:, slot] += SHIFTS
        wanted = directly(made, objective, rows)
        np.testing.assert_allclose(sweep.values(slot, SHIFTS), wanted, rtol=0, atol=1e-13)
        sweep.turn(slot, 0.4 + k)
        angles[slot] += 0.4 + k


def test_both_kinds_agree_on_a_projector() -> None:
    made, objective = circuit(), qml.Projector("101")
    run = made._run(engine="reference")
    compiled = compile_observables([objective], 3)
    general = GeneralSweep(run, {}, compiled.terms, compiled.coefficients())
    cached = sweep_of(run, objective, {})
    for sweep in (general, cached):
        sweep.go_to(5)
        sweep.turn(3, 0.3)
        sweep.go_to(7)
    np.testing.assert_allclose(general.values(4, SHIFTS), cached.values(4, SHIFTS), atol=1e-13)


def test_sweep_may_stay_where_it_is() -> None:
    run = circuit()._run(engine="reference")
    sweep = sweep_of(run, TARGET, {})
    sweep.go_to(3)
    before = sweep.values(1, SHIFTS)
    sweep.go_to(3)
    np.testing.assert_array_equal(sweep.values(1, SHIFTS), before)


def test_matrices_and_coefficients_get_no_gradient() -> None:
    c = Parameter(0.5)
    made = circuit()
    sweep = sweep_of(made._run(engine="reference"), c * qml.Projector("101"), {})
    sweep.go_to(1)
    sweep.values(0, SHIFTS)
    assert c.grad is None
    assert [m.grad for m in made.matrices] == [None]
