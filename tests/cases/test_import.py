"""Public bug reports of neighbouring tools, O08 to O12, O19: Qiskit's symbols and labels."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Sequence
from math import cos, pi, sin

import dense
import numpy as np
import pytest
import qiskit.circuit.library as library
from qiskit import QuantumCircuit
from qiskit.circuit import Gate, ParameterVector
from qiskit.circuit import Parameter as Symbol
from qiskit.circuit.library import PauliEvolutionGate
from qiskit.quantum_info import SparsePauliOp
from qiskit_circuits import deviation

from autodiff import Parameter, Tensor, grad
from circuits import Circuit, Projector, X, Y, Z, from_qiskit, to_qiskit
from circuits.interop.qiskit import write_back

Close = Callable[..., None]

ATOL = 1e-10
"""How far a matrix may be from Qiskit's: fused rotations round."""


def slopes(f: Tensor, circuit: Circuit) -> list[float]:
    """The derivatives of f by the circuit's parameters, in their order."""
    return [g.item() for g in grad(f, circuit.parameters())]


def test_o07_imported_rotation(engine: str, close: Close) -> None:
    """pytket-docs 35: the sign of the rotations survives the import."""
    t, qc = Symbol("t"), QuantumCircuit(1)
    qc.rx(t, 0)
    imported = from_qiskit(qc, values={t: pi / 2})
    close(imported.statevector(engine=engine), [0.7071067812, -0.7071067812j])
    imported.assign({"t": 0.4})
    f = imported.expectation(Y(0), engine=engine)
    close(f, -0.3894183423)
    close(slopes(f, imported), [-0.9210609940])


def test_o08_element_ten_comes_after_element_two(engine: str, close: Close) -> None:
    """Qiskit 5721: sorted as text, x[10] would stand before x[2]."""
    t, qc = ParameterVector("t", 12), QuantumCircuit(2)
    for i in range(12):
        if i == 2:
            qc.ry(t[i], 0)
        elif i == 10:
            qc.ry(t[i], 1)
        else:
            qc.rz(t[i], 0)
    imported = from_qiskit(qc, values=[0.1 * i for i in range(12)])
    close(imported.expectation([Z(0), Z(1)], engine=engine), [0.9800665778, 0.5403023059])


@pytest.mark.parametrize("seed", range(5))
def test_o08_vectors_of_any_length(engine: str, close: Close, seed: int) -> None:
    """Each element of several vectors turns its own qubit, whatever the gates' order is."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 120, 2)
    vectors = [ParameterVector(name, size) for name, size in zip("ba", sizes, strict=True)]
    symbols = [symbol for vector in vectors for symbol in vector]
    angle_of = dict(zip(symbols, rng.uniform(-3, 3, len(symbols)), strict=True))
    observed = [symbols[k] for k in rng.permutation(len(symbols))[:6]]
    qc = QuantumCircuit(7)
    for k in rng.permutation(len(symbols)):
        symbol = symbols[k]
        qc.ry(symbol, observed.index(symbol) if symbol in observed else 6)
    in_order = [angle_of[symbol] for symbol in qc.parameters]
    imported = from_qiskit(qc)
    assert imported.parameter_names() == [symbol.name for symbol in qc.parameters]
    by_vector = {v: [angle_of[s] for s in v] for v in vectors}
    measured = [Z(q) for q in range(len(observed))]
    for values in (in_order, angle_of, by_vector):
        found = imported.expectation(measured, values=values, engine=engine)
        close(found, np.cos([angle_of[symbol] for symbol in observed]))


def test_o09_lists_follow_the_published_order(engine: str, close: Close) -> None:
    """Qiskit 7859: a list fills the parameters as ``qc.parameters`` and ours list them."""
    theta, gamma, lam = Symbol("theta"), Symbol("gamma"), Symbol("lam")
    qc = QuantumCircuit(1)
    qc.u(theta, gamma, lam, 0)
    imported = from_qiskit(qc)
    assert imported.parameter_names() == ["gamma", "lam", "theta"]

    def one(**options: object) -> Tensor:
        return imported.expectation(Projector("1"), engine=engine, **options)

    close(one(values={theta: 1, gamma: 2, lam: 3}), 0.2298488471)
    close(one(values={"theta": 1, "gamma": 2, "lam": 3}), 0.2298488471)
    close(one(values=[1, 2, 3]), 0.9949962483)
    imported.assign([1, 2, 3])
    close(slopes(one(), imported), [0.0, 0.0, sin(3.0) / 2])
    values = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    close(grad(one(values=values), values), [0.0, 0.0, sin(3.0) / 2])


def test_o10_product_of_two_parameters(engine: str, close: Close) -> None:
    """pennylane-qiskit 129: an angle may be an expression; gradients follow the chain rule."""
    a, b = Symbol("a"), Symbol("b")
    for angle, value, expected in (
        (a * b, 0.9553364891, [-0.1477601033, -0.1773121240]),
        (2 * a + b, cos(1.7), [-1.9833296209, -0.9916648105]),
    ):
        qc = QuantumCircuit(1)
        qc.h(0)
        qc.rz(angle, 0)
        imported = from_qiskit(qc, values={a: 0.6, b: 0.5})
        f = imported.expectation(X(0), engine=engine)
        close(f, value)
        close(slopes(f, imported), expected)


@pytest.mark.parametrize(
    "angle",
    [
        lambda a, b: a / b,
        lambda a, b: b**3 - a**2,
        lambda a, b: a.sin() * b.exp(),
        lambda a, b: (a + 1) * (b - 2) - a * b,
        lambda a, b: 1 / (a + b) - (2 * a).log(),
        lambda a, b: (a * b).tan() + (-b).arctan(),
    ],
)
def test_o10_any_expression(engine: str, close: Close, angle: Callable[..., object]) -> None:
    """Value and gradient are those of Qiskit's own expression, by its own derivative."""
    a, b, qc = Symbol("a"), Symbol("b"), QuantumCircuit(1)
    expression = angle(a, b)
    qc.rx(expression, 0)
    at = {a: 0.6, b: 0.5}
    imported = from_qiskit(qc, values=at)
    f = imported.expectation(Z(0), engine=engine)
    turn = float(expression.bind(at))
    close(f, cos(turn))
    rates = [
        complex(expression.gradient(s).bind(at, allow_unknown_parameters=True)) for s in (a, b)
    ]
    close(slopes(f, imported), [-sin(turn) * rate.real for rate in rates])


def test_o11_controlled_phase_bound_late(engine: str, close: Close) -> None:
    """qiskit-aer 2403: binding at run time and before the import are the same."""
    p, qc = Symbol("p"), QuantumCircuit(2)
    qc.h(0)
    qc.cx(0, 1)
    qc.cp(p, 0, 1)
    qc.cx(0, 1)
    qc.h(0)
    imported = from_qiskit(qc)
    for value, expected in ((0.7, 0.7648421873), (pi, -1.0)):
        early = from_qiskit(qc.assign_parameters({p: value}))
        close(imported.expectation(Z(0), values=[value], engine=engine), expected)
        close(early.expectation(Z(0), engine=engine), expected)
    imported.assign([0.7])
    close(slopes(imported.expectation(Z(0), engine=engine), imported), [-0.6442176872])


PARAMETRISED = [
    library.PhaseGate,
    library.RXGate,
    library.RYGate,
    library.RZGate,
    library.UGate,
    library.RXXGate,
    library.RZXGate,
    library.CPhaseGate,
    library.CRXGate,
    library.CUGate,
]
ANGLES = {library.UGate: 3, library.CUGate: 4}


@pytest.mark.parametrize("gate", PARAMETRISED)
@pytest.mark.parametrize(("controls", "annotated"), [(0, False), (1, False), (2, False), (2, True)])
def test_o11_every_parametrised_gate_bound_late(
    gate: Callable[..., Gate], controls: int, annotated: bool
) -> None:
    """Under controls of either kind, late binding equals Qiskit's matrix after early binding."""
    symbols = [Symbol(f"s{k}") for k in range(ANGLES.get(gate, 1))]
    made = gate(*symbols)
    if controls:
        made = made.control(controls, ctrl_state=controls - 1, annotated=annotated)
    qc = QuantumCircuit(made.num_qubits)
    qc.append(made, list(reversed(range(made.num_qubits))))
    assert deviation(qc) < ATOL


def evolution_circuit(labels: Sequence[str], time: object) -> QuantumCircuit:
    """An evolution of all qubits in |+>."""
    n = len(labels[0])
    qc = QuantumCircuit(n)
    qc.h(range(n))
    qc.append(PauliEvolutionGate(SparsePauliOp(list(labels)), time=time), range(n))
    return qc


@pytest.mark.parametrize("evolution", ["definition", "exact"])
def test_o12_labels_of_an_evolution(engine: str, close: Close, evolution: str) -> None:
    """Qiskit 7544: the rightmost letter is qubit 0 for two-letter terms, too."""
    t = Symbol("t")
    labels = ["IIZ", "IZI", "IZZ"]
    expected = [0.6811788772, 0.6811788772, 1.0]
    observables = [X(k) for k in range(3)]
    imported = from_qiskit(evolution_circuit(labels, 0.3), evolution=evolution)
    close(imported.expectation(observables, engine=engine), expected)
    imported = from_qiskit(evolution_circuit(labels, t), values={t: 0.3}, evolution=evolution)
    close(imported.expectation(observables, engine=engine), expected)
    close(slopes(imported.expectation(X(0), engine=engine), imported), [-1.8640781719])


@pytest.mark.parametrize("evolution", ["definition", "exact"])
@pytest.mark.parametrize("seed", range(8))
def test_o12_random_words(engine: str, close: Close, seed: int, evolution: str) -> None:
    """exp(-i t c P) of one random word on shuffled qubits."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    letters = rng.choice(list("IXYZ"), n)  # the k-th on the gate's qubit k
    coefficient, time, qubits = rng.normal(), rng.normal(), rng.permutation(n).tolist()
    word = SparsePauliOp(["".join(letters[::-1])], [coefficient])
    qc = QuantumCircuit(n)
    qc.append(PauliEvolutionGate(word, time=Symbol("t")), qubits)
    matrix = dense.embed(dense.kron([dense.PAULI[letter] for letter in letters]), qubits, n)
    turn = coefficient * time
    expected = cos(turn) * np.eye(1 << n) - 1j * sin(turn) * matrix
    imported = from_qiskit(qc, values={"t": time}, evolution=evolution)
    close(imported.unitary(engine=engine), expected)


def test_o19_values_do_not_stick(engine: str, close: Close) -> None:
    """Qiskit 4067: a sub-circuit takes new values each time."""
    a, sub = Symbol("a"), QuantumCircuit(1)
    sub.rx(a, 0)
    qc = QuantumCircuit(1)
    qc.append(sub.to_gate(), [0])
    imported = from_qiskit(qc)
    right = {1.0: 0.5403023059, 2.0: -0.4161468365}
    for value in (1.0, 2.0, 1.0):
        close(imported.expectation(Z(0), values={a: value}, engine=engine), right[value])
    for value in (2.0, 1.0):
        imported.assign({a: value})
        close(imported.expectation(Z(0), engine=engine), right[value])
    values = [[1.0], [2.0], [1.0]]
    batch = imported.expectation(Z(0), values=values, engine=engine)
    close(batch, [right[value] for (value,) in values])


def test_o19_composed_circuits_of_ours(engine: str, close: Close) -> None:
    """The same for compose, control, inverse and repeat: no circuit keeps an angle's value."""
    a = Parameter(1.0, name="a")
    sub = Circuit(1).rx(a, 0)
    made = Circuit(2).compose(sub).compose(sub.repeat(2)).compose(sub.inverse(), [1])
    made.x(0).compose(sub.control(), [0, 1]).x(0)
    for value in (1.0, 2.0, 1.0):
        a.set_(value)
        found = made.expectation(Z(0), engine=engine)
        close(found, cos(3 * value))
        close(grad(found, a), -3 * sin(3 * value))


def trained(qc: QuantumCircuit, values: dict[Symbol, float]) -> QuantumCircuit:
    """The user's circuit with the values of an imported one, whose list order is another."""
    imported = from_qiskit(qc)
    imported.assign([values[symbol] for symbol in qc.parameters])
    return write_back(imported, qc)


def test_o09_values_go_back_by_symbol() -> None:
    """Trained values land on the symbols that they belong to; the user's circuit stays as it is."""
    t, theta, gamma, lam = ParameterVector("t", 12), Symbol("theta"), Symbol("gamma"), Symbol("lam")
    qc = QuantumCircuit(1)
    qc.u(theta, gamma, lam, 0)
    for element in t:
        qc.rz(element, 0)
    values = {theta: 1.0, gamma: 2.0, lam: 3.0, **{t[k]: 0.1 * k for k in range(12)}}
    for shift in (0.0, 1.0):  # the second time meets no value of the first
        shifted = {symbol: value + shift for symbol, value in values.items()}
        found = [item.operation.params for item in trained(qc, shifted).data]
        assert found == [[shifted[s] for s in (theta, gamma, lam)], *([shifted[s]] for s in t)]
        assert qc.num_parameters == 15


@pytest.mark.parametrize("send", [copy.deepcopy, lambda qc: pickle.loads(pickle.dumps(qc))])
def test_o37_identity_of_symbols(
    engine: str, close: Close, send: Callable[[QuantumCircuit], QuantumCircuit]
) -> None:
    """Qiskit 2429: the original symbol binds the import of a sent circuit, and of its export."""
    a, qc = Symbol("a"), QuantumCircuit(1)
    qc.rx(a, 0)
    imported = from_qiskit(send(qc))
    for circuit in (imported, from_qiskit(to_qiskit(imported))):
        close(circuit.expectation(Z(0), values={a: 1.0}, engine=engine), 0.5403023059)
        assert circuit == imported
