"""Public bug reports of neighbouring tools, O01 to O07: gradients of circuits."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi, sin

import dense
import numpy as np
import pytest

from autodiff import Parameter, ParameterError, Tensor, grad, jacobian
from circuits import Circuit, Hermitian, Input, PauliWord, X, Y, Z
from qml import SGD

Close = Callable[..., None]


def test_o01_shared_parameter(engine: str, close: Close) -> None:
    """Pyqtorch 149: the contributions of all gates that share a parameter add up."""
    theta = Parameter(0.3)
    f = Circuit(1).rx(theta, 0).rx(theta, 0).expectation(Z(0), engine=engine)
    close(f, 0.8253356149)
    f.backward()
    close(theta.grad, -1.1292849468)


@pytest.mark.parametrize("occurrences", [1, 2, 3, 7, 50])
def test_o01_any_number_of_occurrences(engine: str, close: Close, occurrences: int) -> None:
    """RX(t)**k = RX(k t), with other gates and another parameter's occurrences between them."""
    theta, other = Parameter(0.3), Parameter(0.4)
    circuit = Circuit(2)
    for _ in range(occurrences):
        circuit.rx(theta, 0).ry(other, 1).rx(-0.5 * theta, 0)
    by_theta, by_other = grad(circuit.expectation(Z(0) + Z(1), engine=engine), [theta, other])
    k = occurrences
    close(by_theta, -k / 2 * sin(0.3 * k / 2))
    close(by_other, -k * sin(0.4 * k))


@pytest.mark.parametrize("gate", ["crx", "cry", "crz"])
def test_o01_shared_by_plain_and_controlled_gates(engine: str, close: Close, gate: str) -> None:
    """The derivative by a shared parameter is the sum of those by parameters of their own."""

    def build(angles: list[Parameter]) -> Tensor:
        circuit = Circuit(2).h(0).h(1)
        circuit.append(gate, [0, 1], angles[0]).rzz(angles[1], 0, 1)
        circuit.p(angles[2], 0).ry(angles[3], 1)
        return circuit.expectation(X(0) @ Y(1) + Z(1), engine=engine)

    shared, apart = Parameter(0.7), [Parameter(0.7) for _ in range(4)]
    close(grad(build([shared] * 4), shared), sum(g.item() for g in grad(build(apart), apart)))


def test_o02_controlled_rotation_has_two_frequencies(engine: str, close: Close) -> None:
    """PennyLane 915: the two-term shift rule is wrong for a generator with three eigenvalues."""
    t = Parameter(0.5)
    f = Circuit(2).h(0).crx(t, 0, 1).expectation(X(0) + Z(1), engine=engine)
    close(f, 1.9077037027)
    close(grad(f, t), -0.3634147489)


@pytest.mark.parametrize(
    ("gate", "prepare", "measured"), [("crx", "id", Z(1)), ("cry", "id", Z(1)), ("crz", "h", X(1))]
)
def test_o02_every_controlled_rotation(
    engine: str, close: Close, gate: str, prepare: str, measured: PauliWord
) -> None:
    """<0|RP|0> on the control's coherence, and the target's own frequency, for each axis."""
    for value in np.linspace(-7.0, 7.0, 9):
        t = Parameter(value)
        circuit = Circuit(2).h(0).append(prepare, 1).append(gate, [0, 1], t)
        f = circuit.expectation(X(0) + measured, engine=engine)
        close(f, cos(value / 2) + (1 + cos(value)) / 2)
        close(grad(f, t), -sin(value / 2) / 2 - sin(value) / 2)


def test_o03_parameter_without_influence(engine: str, close: Close) -> None:
    """PennyLane 901: a parameter without effect gets 0, not its neighbour's gradient."""
    p = Parameter([0.55, 1.1])
    circuit = Circuit(2).rx(p[0], 0).rx(p[1], 1)
    close(grad(circuit.expectation(Z(0), engine=engine), p), [-0.5226872289, 0.0])
    close(grad(circuit.expectation(Z(1), engine=engine), p), [0.0, -0.8912073601])


def test_o03_each_place_among_several(engine: str, close: Close) -> None:
    """Of n parameters only the measured qubit's counts, whatever comes before and after it."""
    values = np.linspace(0.2, 1.4, 5)
    p = Parameter(values)
    circuit = Circuit(5)
    for k in range(5):
        circuit.rx(p[k], k)
    for k in range(5):
        expected = np.where(np.arange(5) == k, -np.sin(values), 0.0)
        close(grad(circuit.expectation(Z(k), engine=engine), p), expected)


def test_o03_registered_but_never_used(engine: str, close: Close) -> None:
    used, unused = Parameter(0.3), Parameter([1.0, 2.0])
    circuit = Circuit(1).register(unused, used).rx(used, 0)
    by_unused, by_used = grad(circuit.expectation(Z(0), engine=engine), [unused, used])
    close(by_unused, [0.0, 0.0])
    close(by_used, -sin(0.3))


def test_o04_integer_weights(engine: str, close: Close) -> None:
    """PennyLane 4835: integers are refused, or converted where a dtype is given; never cut."""
    with pytest.raises(ParameterError, match=r"got int64\. Write the numbers as floats \(0\.0"):
        Parameter([0])
    w = Parameter([0], dtype=float)
    f = Circuit(1).h(0).ry(w[0], 0).expectation(Z(0), engine=engine)
    f.backward()
    assert w.grad is not None
    assert w.grad.dtype == np.float64
    close(w.grad, [-1.0])
    SGD([w], lr=0.1).step()
    close(w, [0.1])


def test_o04_integers_given_for_one_run(engine: str, close: Close) -> None:
    """Values, features, fixed angles and assigned values may be written as integers."""
    w, x = Parameter(0.5), Input("x", 1)
    circuit = Circuit(1).h(0).ry(w, 0).ry(x[0], 0).ry(1, 0)

    def run(**options: object) -> Tensor:
        return circuit.expectation(Z(0), engine=engine, **options)

    close(run(values=[2], inputs={"x": [3]}), -sin(6.0))
    close(grad(run(inputs={"x": np.array([3])}), w), -cos(4.5))
    circuit.assign([2])
    assert w.dtype == np.float64
    close(grad(run(inputs={"x": [3]}), w), -cos(6.0))


def test_o05_cotangent_reaches_the_circuit(engine: str, close: Close) -> None:
    """Yao.jl 349: the reverse rule of a circuit must use the incoming cotangent."""
    t = Parameter(0.4)
    circuit = Circuit(1).rx(t, 0)

    def f() -> Tensor:
        return circuit.expectation(Z(0), engine=engine)

    close(grad(3 * f(), t), -1.1682550269)
    close(grad(f() ** 2, t), -0.7173560909)
    f().backward_with_grad(Tensor(-0.5))
    close(t.grad, 0.1947091712)


@pytest.mark.parametrize("seed", range(3))
def test_o05_any_cotangent(engine: str, close: Close, seed: int) -> None:
    """A vector of values under a random function: the chain rule with every row's weight."""
    rng = np.random.default_rng(seed)
    t, weights = Parameter(rng.normal()), rng.normal(size=3)
    circuit = Circuit(1).rx(t, 0)
    values = circuit.expectation([Z(0), Y(0), X(0)], engine=engine)
    by_z, by_y, by_x = -sin(t.item()), -cos(t.item()), 0.0
    slope = weights @ [by_z, by_y, by_x]
    seeded = circuit.expectation([Z(0), Y(0), X(0)], engine=engine)
    close(grad(seeded, t, grad_outputs=Tensor(weights)), slope)
    total = (values * weights).sum()
    close(grad(total.exp(), t), np.exp(total.item()) * slope)
    # probabilities and amplitudes, too
    close(grad(-2 * circuit.probabilities(engine=engine)[1], t), -sin(t.item()))
    close(grad((1j * circuit.statevector(engine=engine)[1]).real * 5, t), 2.5 * cos(t.item() / 2))


def test_o06_matrix_observable_takes_no_slot(engine: str, close: Close) -> None:
    """PennyLane 2434: a matrix in the observable is no parameter of the circuit."""
    w = Parameter([1.0, 1.0])
    circuit = Circuit(2).ry(w[0], 0).ry(w[1], 1)
    matrix = Hermitian([[1, 0], [0, -1]], [0])
    close(grad(circuit.expectation(matrix, engine=engine), w), [-0.8414709848, 0.0])


def test_o06_matrices_everywhere(engine: str, close: Close) -> None:
    """Matrix gates and several matrix observables leave every gradient where it belongs."""
    w = Parameter([0.3, 0.7, 1.1])
    swapped = np.eye(4)[[0, 2, 1, 3]]
    circuit = Circuit(3).unitary(np.eye(2), 2).ry(w[0], 0).unitary(swapped, [0, 1]).ry(w[1], 0)
    circuit.unitary(np.eye(4), [2, 0]).ry(w[2], 2)
    z = np.diag([1.0, -1.0])
    observables = [Hermitian(z, [1]), Hermitian(z, [0]), Hermitian(np.kron(z, z), [0, 2])]
    expected = -np.diag(np.sin([0.3, 0.7, 1.1]))
    expected[2] = [0.0, -sin(0.7) * cos(1.1), -cos(0.7) * sin(1.1)]
    for observable, row in zip(observables, expected, strict=True):
        close(grad(circuit.expectation(observable, engine=engine), w), row)


def test_o07_sign_of_rotations(engine: str, close: Close) -> None:
    """pytket-docs 35: RX(t) = exp(-i t X / 2); <Z> alone does not see the sign, <Y> does."""
    t = Parameter(pi / 2)
    circuit = Circuit(1).rx(t, 0)
    close(circuit.statevector(engine=engine), [0.7071067812, -0.7071067812j])
    circuit.assign([0.4])
    f = circuit.expectation(Y(0), engine=engine)
    close(f, -0.3894183423)
    close(grad(f, t), -0.9210609940)


@pytest.mark.parametrize(
    ("gate", "label"),
    [
        ("rx", "X"),
        ("ry", "Y"),
        ("rz", "Z"),
        ("rxx", "XX"),
        ("ryy", "YY"),
        ("rzz", "ZZ"),
        ("rzx", "XZ"),
    ],
)
def test_o07_every_rotation(engine: str, close: Close, gate: str, label: str) -> None:
    """Each rotation is exp(-i t P / 2), with the first qubit's letter on the label's right."""
    word = dense.kron([dense.PAULI[letter] for letter in label[::-1]])
    made = Circuit(len(label)).append(gate, range(len(label)), 0.4)
    close(made.unitary(engine=engine), cos(0.2) * np.eye(len(word)) - 1j * sin(0.2) * word)


# -- extras ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [0.0, 0.7, pi])
def test_extra_jacobian_of_two_probabilities(engine: str, close: Close, t: float) -> None:
    """Yao.jl 299: the Jacobian of the probabilities of RX(t), 0 at pi."""
    angle = Parameter(t)
    circuit = Circuit(1).rx(angle, 0)
    rows = jacobian(lambda v: circuit.probabilities(values={angle: v}, engine=engine), Tensor(t))
    close(rows, [-sin(t) / 2, sin(t) / 2])


def test_extra_parameter_shift_needs_half_a_turn(engine: str, close: Close) -> None:
    """PennyLane demos 1050: the rule shifts by pi/2 both ways; all shifts are one batch here."""
    values = np.array([0.3, 1.2, -0.7])
    w = Parameter(values)
    circuit = Circuit(2).ry(w[0], 0).cx(0, 1).rx(w[1], 1).rzz(w[2], 0, 1).h(1)
    observable = X(0) @ Y(1) + 0.5 * Z(1)
    shifts = np.concatenate([np.eye(3), -np.eye(3)]) * pi / 2
    plus, minus = circuit.expectation(observable, values=values + shifts, engine=engine).reshape(
        2, 3
    )
    close(grad(circuit.expectation(observable, engine=engine), w), ((plus - minus) / 2).numpy())


def test_extra_several_symbols(engine: str, close: Close) -> None:
    """tensorflow/quantum 710: more than one symbol, by names, Parameters or one array."""
    names = ("alpha", "beta", "gamma")
    a, b, c = (Parameter(0.1, name=name) for name in names)
    circuit = Circuit(1).rx(a, 0).rx(b, 0).rx(2 * c, 0)
    given = [Tensor(v, requires_grad=True) for v in (0.2, 0.3, 0.4)]
    for keys in (names, (a, b, c)):
        values = dict(zip(keys, given, strict=True))
        by_each = grad(circuit.expectation(Z(0), values=values, engine=engine), given)
        slope = -sin(1.3)
        close([g.item() for g in by_each], [slope, slope, 2 * slope])
    whole = Tensor([0.2, 0.3, 0.4], requires_grad=True)
    f = circuit.expectation(Z(0), values=whole, engine=engine)
    close(grad(f, whole), [slope, slope, 2 * slope])


def test_extra_single_precision_gradient(engine: str, close: Close) -> None:
    """PennyLane 1375: single precision costs single rounding only, for no difference is taken."""
    w = Parameter(np.float32([0.3, 0.9]))
    circuit = Circuit(2).ry(w[0], 0).cx(0, 1).ry(w[1], 1)
    f = circuit.expectation(Z(1), engine=engine)
    assert f.dtype == np.float32
    by_w = grad(f, w)
    assert by_w.dtype == np.float32
    close(by_w, [-sin(0.3) * cos(0.9), -cos(0.3) * sin(0.9)], atol=5e-7)
