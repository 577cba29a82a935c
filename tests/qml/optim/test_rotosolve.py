from __future__ import annotations

from itertools import pairwise
from math import pi

import numpy as np
import pytest
from gate_counting import GateCounter

import qml
from autodiff import F32, F64, Parameter, ParameterError
from circuits.engines.registry import ENGINES, get_engine
from circuits.errors import ObservableError, StateError
from qml.errors import SettingError, StateDictError
from qml.optim.base import StepCounts

WIDTH, LAYERS = 4, 5


def rotations(seed: int = 0, dtype: object = None) -> qml.Circuit:
    """Parameters only: every gate is a rotation with an angle of its own."""
    generator = np.random.default_rng(seed)
    circuit = qml.Circuit(WIDTH)
    for _ in range(LAYERS):
        for q in range(WIDTH):
            circuit.ry(Parameter(generator.normal(), dtype=dtype), q)
        for q in range(WIDTH):
            circuit.rzx(Parameter(generator.normal(), dtype=dtype), q, (q + 1) % WIDTH)
    return circuit


def dense(seed: int = 1) -> qml.Hermitian:
    generator = np.random.default_rng(seed)
    matrix = generator.normal(size=(16, 16)) + 1j * generator.normal(size=(16, 16))
    return qml.Hermitian(matrix + matrix.conj().T, range(WIDTH))


WORDS = qml.PauliSum({"ZZII": 1.0, "XIXI": -0.5, "IYYI": 0.7, "IIIZ": 0.3, "IIII": 0.2})
TARGET = np.array([1, 1j]) @ np.random.default_rng(2).normal(size=(2, 16))
TARGET /= np.linalg.norm(TARGET)

OBJECTIVES = {
    "words": WORDS,
    "dense": dense(),
    "projector": -1.0 * qml.Projector("0110"),
    "two projectors": 0.3 * qml.I(0) - 1.0 * qml.Projector("0110") + 0.5 * qml.Projector("1111"),
    "marginal": -1.0 * qml.Projector("01", [0, 2]),
    "state": TARGET,
}
every_objective = pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)


def value(circuit: qml.Circuit, objective: object, **options: object) -> float:
    if isinstance(objective, np.ndarray):
        psi = circuit.statevector(engine="reference", **options).numpy()
        return 1 - abs(objective.conj() @ psi) ** 2
    return circuit.expectation(objective, engine="reference", **options).item()


def by_definition(circuit: qml.Circuit, objective: object) -> np.ndarray:
    """Ostaszewski et al., algorithm 1: three whole evaluations a Parameter; angles to (-pi, pi]."""
    theta = np.array([p.item() for p in circuit.parameters()])
    for k in range(len(theta)):
        shifted = []
        for shift in (0.0, pi / 2, -pi / 2):
            moved = theta.copy()
            moved[k] += shift
            shifted.append(value(circuit, objective, values=moved))
        m, m_plus, m_minus = shifted
        theta[k] += -pi / 2 - np.arctan2(2 * m - m_plus - m_minus, m_plus - m_minus)
    return (theta + pi) % (2 * pi) - pi


@every_objective
@pytest.mark.parametrize("engine", ENGINES)
def test_sweep_agrees_with_the_documented_formula(objective: object, engine: str) -> None:
    circuit = rotations()
    wanted = by_definition(circuit, objective)
    before = value(circuit, objective)
    counts = qml.Rotosolve(circuit.parameters(), circuit, objective, engine=engine).step()
    theta = np.array([p.item() for p in circuit.parameters()])
    # Compared on the circle: an angle near pi may come out near -pi.
    np.testing.assert_allclose(np.exp(1j * theta), np.exp(1j * wanted), rtol=0, atol=1e-9)
    assert counts == StepCounts(len(theta), 0, 0)
    assert counts.loss.item() == pytest.approx(before, abs=1e-12)


@every_objective
def test_every_coordinate_is_at_its_minimum_when_it_is_left(objective: object) -> None:
    """The last one still is at the end: no other angle does better."""
    circuit = rotations()
    qml.Rotosolve(circuit.parameters(), circuit, objective).step()
    least = value(circuit, objective)
    theta = np.array([p.item() for p in circuit.parameters()])
    for shift in np.linspace(-pi, pi, 20):
        theta_shifted = theta.copy()
        theta_shifted[-1] += shift
        assert value(circuit, objective, values=theta_shifted) >= least - 1e-12


@every_objective
@pytest.mark.parametrize("lr", [1.0, 0.6])
def test_sweeps_never_go_uphill(objective: object, lr: float) -> None:
    circuit = rotations(3)
    optimizer = qml.Rotosolve(circuit.parameters(), circuit, objective, lr=lr)
    seen = [optimizer.step().loss.item() for _ in range(6)]
    seen.append(value(circuit, objective))
    assert all(b <= a + 1e-12 for a, b in pairwise(seen))
    assert seen[-1] < seen[0] - 0.1


def test_state_is_reached() -> None:
    """One that the circuit can prepare; it is given as a Tensor."""
    target = rotations(7).statevector(engine="reference").detach()
    circuit = rotations()
    optimizer = qml.Rotosolve(circuit.parameters(), circuit, target)
    for _ in range(60):
        optimizer.step()
    assert value(circuit, target.numpy()) < 1e-2


# -- the number of gates ---------------------------------------------------------------------------


def gates_of_a_sweep(circuit: qml.Circuit, objective: object) -> int:
    engine = GateCounter(get_engine("reference"))
    optimizer = qml.Rotosolve(circuit.parameters(), circuit, objective, engine=engine)
    engine.gates = 0
    optimizer.step()
    return engine.gates


@pytest.mark.parametrize("name", ["words", "dense", "marginal"])
def test_sweep_is_at_most_p_squared_gates_and_a_few_p(name: str) -> None:
    circuit = rotations()
    P = circuit.size()
    assert gates_of_a_sweep(circuit, OBJECTIVES[name]) <= P**2 + 3 * P


@pytest.mark.parametrize(
    ("name", "states"), [("projector", 1), ("state", 1), ("two projectors", 2)]
)
def test_sweep_towards_states_is_a_few_gates_a_parameter(name: str, states: int) -> None:
    circuit = rotations()
    P = circuit.size()
    # left, the two shifts, and for each state: pulling back (forward and reverse), going along
    assert gates_of_a_sweep(circuit, OBJECTIVES[name]) <= (3 + 4 * states) * P + 1


def test_many_projectors_are_an_observable_like_any_other() -> None:
    """Cached states would cost more than the gates that they save."""
    circuit = rotations()
    objective = sum(
        (float(k) * qml.Projector(f"{k:04b}") for k in range(1, 12)), start=0 * qml.I(0)
    )
    P = circuit.size()
    assert gates_of_a_sweep(circuit, objective) <= P**2 + 3 * P


def test_frozen_coordinates_cost_their_gates_only() -> None:
    circuit = rotations()
    parameters = circuit.parameters()
    for parameter in parameters[:-1]:
        parameter.freeze()
    P = circuit.size()
    # left up to the last gate; the value, and the two shifts, of the last gate alone
    assert gates_of_a_sweep(circuit, WORDS) == (P - 1) + 1 + 2


def test_cut_plans_are_kept_between_sweeps() -> None:
    circuit = rotations()
    optimizer = qml.Rotosolve(circuit.parameters(), circuit, WORDS)
    optimizer.step()
    known = dict(optimizer._known.parts)
    optimizer.step()
    assert optimizer._known.parts == known


# -- which Parameters ------------------------------------------------------------------------------


def test_scaled_shifted_vector_and_summed_angles_are_exact() -> None:
    w, a = Parameter([0.3, -0.2, 0.9, 0.1], name="w"), Parameter(0.4, name="a")
    x = qml.Input("x", 1)
    circuit = qml.Circuit(2).ry(2 * w[1] - 0.3, 0).rx(a - 0.5 * w[0], 1).cx(0, 1)
    circuit.p(3 * w[2] + x[0], 1).u(w[3], 0.3, 0.2, 0).h(1)
    objective = qml.PauliSum({"ZX": 1.0, "XZ": 0.4, "YI": 0.3})
    inputs = {"x": [0.7]}
    optimizer = qml.Rotosolve([w, a], circuit, objective, inputs=inputs)
    for _ in range(25):
        optimizer.step()
    least = value(circuit, objective, inputs=inputs)
    w.zero_grad()
    a.zero_grad()
    circuit.expectation(objective, inputs=inputs).backward()
    assert np.abs(np.append(w.grad.numpy(), a.grad.numpy())).max() < 1e-4
    theta = np.append(w.numpy(), a.numpy())
    for k in range(5):
        rows = np.repeat(theta[None], 50, axis=0)
        rows[:, k] += np.linspace(-pi, pi, 50)
        around = circuit.expectation(objective, values=rows, inputs=inputs).numpy()
        assert around.min() > least - 1e-6


def test_parameters_left_out_and_frozen_ones_stay() -> None:
    circuit = rotations()
    chosen, rest = circuit.parameters()[::2], circuit.parameters()[1::2]
    chosen[0].freeze()
    kept = [p.item() for p in (chosen[0], *rest)]
    counts = qml.Rotosolve(chosen, circuit, WORDS).step()
    assert counts == StepCounts(updated=len(chosen) - 1, skipped_frozen=1, skipped_no_grad=0)
    assert [p.item() for p in (chosen[0], *rest)] == kept


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_angle_without_effect_stays(dtype: np.dtype) -> None:
    """Rounding is no reason to move, in either precision."""
    idle, p = Parameter(0.75, dtype=dtype), Parameter(0.3, dtype=dtype)
    circuit = qml.Circuit(2).ry(0.3, 1).rz(idle, 1).ry(p, 0)
    qml.Rotosolve([idle, p], circuit, qml.PauliSum({"IZ": 1.1, "ZI": 0.3})).step()
    assert idle.item() == 0.75
    assert p.item() == pytest.approx(pi)


def test_single_precision_stays_and_gets_there() -> None:
    circuit = rotations(dtype=F32)
    qml.Rotosolve(circuit.parameters(), circuit, WORDS).step()
    assert {p.dtype for p in circuit.parameters()} == {F32}
    double = rotations()
    for p, q in zip(double.parameters(), rotations(dtype=F32).parameters(), strict=True):
        p.set_(q.item())
    qml.Rotosolve(double.parameters(), double, WORDS).step()
    assert value(circuit, WORDS) == pytest.approx(value(double, WORDS), abs=1e-4)


def test_trainable_matrices_and_coefficients_are_constants() -> None:
    matrix = Parameter(np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)) + 0j)[0])
    c, p = Parameter(0.7), Parameter(0.3)
    circuit = qml.Circuit(1).ry(p, 0).unitary(matrix, 0)
    qml.Rotosolve([p], circuit, c * qml.Z(0) + 0.2 * qml.X(0)).step()
    circuit.expectation(0.7 * qml.Z(0) + 0.2 * qml.X(0)).backward()
    assert p.grad.item() == pytest.approx(0.0, abs=1e-12)
    assert c.grad is None


def test_circuit_that_grew_is_looked_at_again() -> None:
    p, q = Parameter(0.3, name="p"), Parameter(0.2, name="q")
    circuit = qml.Circuit(1).ry(p, 0)
    optimizer = qml.Rotosolve([p], circuit, qml.Z(0))
    circuit.rx(q, 0)
    optimizer.step()
    assert p.item() == pytest.approx(pi)
    circuit.ry(p, 0)
    kept = p.item()
    with pytest.raises(ParameterError, match=r"'p', which enters 2 angles \(ry, ry\)"):
        optimizer.step()
    assert p.item() == kept


P = {name: Parameter(0.1, name=name) for name in "abc"}
W = Parameter([0.1, 0.2], name="w")
REFUSED = [
    (lambda qc: qc.rx(P["a"], 0).rz(P["a"], 0), [P["a"]], r"'a', which enters 2 angles \(rx, rz\)"),
    (
        lambda qc: qc.crx(P["a"], 0, 1),
        [P["a"]],
        "'a', which enters crx, whose frequencies are 0.5, 1",
    ),
    (lambda qc: qc.r(0.2, P["a"], 0), [P["a"]], "'a', which enters r, whose frequencies are 1, 2"),
    (lambda qc: qc.rx(P["a"] * P["b"], 0), [P["b"]], "'b', .* not linear, in rx"),
    (lambda qc: qc.rx(P["a"].sin(), 0), [P["a"]], "'a', .* not linear, in rx"),
    (
        lambda qc: qc.register(P["c"]).rx(P["a"], 0),
        [P["c"]],
        r"'c', which enters 0 angles \(none\)",
    ),
    (lambda qc: qc.rx(W[1], 0), [W], r"'w\[0\]', which enters 0 angles"),
    (lambda qc: qc.global_phase(P["a"]), [P["a"]], "'a', .* whose frequencies are none"),
    (lambda qc: qc.rx(P["a"], 0), [P["b"]], "Parameters of its circuit, got .*'b'"),
]


@pytest.mark.parametrize(("build", "params", "match"), REFUSED)
def test_parameters_that_enter_otherwise_are_refused_by_name(
    build: object, params: list[Parameter], match: str
) -> None:
    with pytest.raises(ParameterError, match=match):
        qml.Rotosolve(params, build(qml.Circuit(2)), qml.Z(0))


def test_parameter_beside_a_shared_one_is_accepted() -> None:
    a, b = Parameter(0.1), Parameter(0.2)
    circuit = qml.Circuit(2).rx(a, 0).rx(2 * a + b, 1)
    assert qml.Rotosolve([b], circuit, qml.Z(1)).step().updated == 1
    assert value(circuit, qml.Z(1)) == pytest.approx(-1)


def test_other_refusals() -> None:
    circuit = rotations()
    params = circuit.parameters()
    with pytest.raises(SettingError, match="Rotosolve needs a Circuit"):
        qml.Rotosolve(params, WORDS, circuit)
    with pytest.raises(SettingError, match=r"Rotosolve needs no closure, .* Write step\(\)"):
        qml.Rotosolve(params, circuit, WORDS).step(lambda: None)
    with pytest.raises(ObservableError, match="real coefficients"):
        qml.Rotosolve(params, circuit, 1j * WORDS)
    with pytest.raises(StateError, match=r"one state of norm 1, got .* norm 4"):
        qml.Rotosolve(params, circuit, np.ones(16))
    with pytest.raises(StateError, match="needs shape"):
        qml.Rotosolve(params, circuit, np.ones(8))
    with pytest.raises(StateError, match="one state of norm 1, got shape"):
        qml.Rotosolve(params, circuit, TARGET[None])
    x = qml.Input("x", 1)
    batched = qml.Circuit(1).rx(params[0], 0).ry(x[0], 0)
    with pytest.raises(SettingError, match="Rotosolve needs inputs of a single sample"):
        qml.Rotosolve(params[:1], batched, qml.Z(0), inputs={"x": [[0.1], [0.2]]})
    optimizer = qml.Rotosolve(params, circuit, WORDS)
    with pytest.raises(StateDictError, match="Rotosolve needs an empty state"):
        optimizer.load_state_dict(optimizer.state_dict() | {"state": {"steps": 3}})
