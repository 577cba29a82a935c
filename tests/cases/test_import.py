"""Public bug reports of neighbouring tools, O08 to O19: circuits from Qiskit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import cos, pi, sin

import numpy as np
import pytest
import qiskit.circuit.library as library
from qiskit import ClassicalRegister, QuantumCircuit, QuantumRegister
from qiskit.circuit import Parameter as Symbol
from qiskit.circuit import ParameterVector
from qiskit.circuit.library import PauliEvolutionGate
from qiskit.quantum_info import Operator, SparsePauliOp
from qiskit_circuits import bound, deviation, random_values

from autodiff import Parameter, Tensor, grad
from circuits import Circuit, ConversionError, Projector, X, Y, Z, from_qiskit, to_qiskit

Close = Callable[..., None]

ATOL = 1e-10
"""How far a matrix may be from Qiskit's: fused rotations round."""


def slopes(f: Tensor, circuit: Circuit) -> list[float]:
    """The derivatives of f by the circuit's parameters, in their order."""
    return [g.item() for g in grad(f, circuit.parameters())]


def controlled(circuit: Circuit, num_controls: int = 1) -> Circuit:
    """The circuit under controls in |+>, where a global phase shows."""
    made = Circuit(circuit.num_qubits + num_controls)
    for k in range(num_controls):
        made.h(k)
    return made.compose(circuit.control(num_controls))


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
    rates = [complex(expression.gradient(s).bind(at, allow_unknown_parameters=True)) for s in (a, b)]
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


@pytest.mark.parametrize("gate", PARAMETRISED)
@pytest.mark.parametrize("controls", [0, 1, 2])
def test_o11_every_parametrised_gate_bound_late(gate: type, controls: int) -> None:
    """Under controls of either kind, late binding equals Qiskit's matrix after early binding."""
    count = len(gate(*[0.1] * 4 if gate is library.CUGate else _numbers(gate)).params)
    made = gate(*[Symbol(f"s{k}") for k in range(count)])
    if controls:
        made = made.control(controls, ctrl_state=controls - 1)
    qc = QuantumCircuit(made.num_qubits)
    qc.append(made, list(reversed(range(made.num_qubits))))
    assert deviation(qc) < ATOL


def _numbers(gate: type) -> list[float]:
    return [0.1] * (3 if gate is library.UGate else 1)


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


@pytest.mark.parametrize("seed", range(8))
def test_o12_random_words(seed: int) -> None:
    """One random word at a time, so that product formula and exponential agree, on any qubits."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    label = "".join(rng.choice(list("IXYZ"), n))
    gate = PauliEvolutionGate(SparsePauliOp([label], [rng.normal()]), time=Symbol("t"))
    qc = QuantumCircuit(n)
    qc.append(gate, rng.permutation(n).tolist())
    assert deviation(qc, seed) < ATOL
    assert deviation(qc, seed, evolution="exact") < ATOL


def test_o13_identity_term_under_a_control(engine: str, close: Close) -> None:
    """Qiskit 13625: the phase of an identity term counts once, for a symbolic time, too."""
    t = Symbol("t")
    sub = QuantumCircuit(2)
    sub.append(PauliEvolutionGate(SparsePauliOp(["II"], [0.5]), time=t), [0, 1])
    qc = QuantumCircuit(3)
    qc.h(0)
    qc.append(sub.to_gate().control(1), [0, 1, 2])
    for evolution in ("definition", "exact"):
        imported = from_qiskit(qc, values={t: 0.8}, evolution=evolution)
        f = imported.expectation(X(0), engine=engine)
        close(f, 0.9210609940)
        close(slopes(f, imported), [-0.1947091712])


@pytest.mark.parametrize("coefficients", [(0.5, 0.3), (-1.5, 2.0), (0.0, 1.0)])
@pytest.mark.parametrize("controls", [1, 2])
def test_o13_identity_beside_other_terms(
    engine: str, close: Close, coefficients: tuple[float, float], controls: int
) -> None:
    """exp(-i t (c II + d ZI)) under controls: the control's <X> on |00> is cos((c + d) t)."""
    t, sub = Symbol("t"), QuantumCircuit(2)
    sub.append(PauliEvolutionGate(SparsePauliOp(["II", "ZI"], coefficients), time=t), [0, 1])
    imported = controlled(from_qiskit(sub, values={t: 0.8}), controls)
    rate = sum(coefficients)
    others = 0.5 ** (controls - 1)  # the other controls hold 1 with this probability
    f = imported.expectation(X(0), engine=engine)
    close(f, 1 - others + others * cos(0.8 * rate))
    close(slopes(f, imported), [-others * rate * sin(0.8 * rate)])


def test_o14_controlled_rotation_by_pi(engine: str, close: Close) -> None:
    """Cirq 1135: RX(pi)**2 = -1 is a phase flip of the control."""
    circuit = Circuit(2).h(0).crx(pi, 0, 1).crx(pi, 0, 1).h(0)
    close(circuit.expectation(Z(0), engine=engine), -1.0)
    exact = Circuit(2).crx(pi, 0, 1).unitary(engine=engine).numpy()
    near = Circuit(2).crx(pi * (1 + 1e-9), 0, 1).unitary(engine=engine)
    close(near, exact, atol=1e-8)


@pytest.mark.parametrize("gate", ["rx", "ry", "rz", "rxx", "ryy", "rzz", "rzx"])
@pytest.mark.parametrize("controls", [1, 2, 3])
@pytest.mark.parametrize("turns", [1, 2, -1, 3, 4])
def test_o14_half_turns_keep_their_phase(
    engine: str, close: Close, gate: str, controls: int, turns: int
) -> None:
    """exp(-i k pi P / 2) = cos(k pi / 2) - i sin(k pi / 2) P, exactly as near the special angle."""
    size = 2 if len(gate) == 3 else 1
    base = Circuit(size).append(gate, range(size), turns * pi)
    near = Circuit(size).append(gate, range(size), turns * pi * (1 + 1e-9))
    close(
        near.control(controls).unitary(engine=engine),
        base.control(controls).unitary(engine=engine).numpy(),
        atol=1e-7,
    )
    back = Circuit(size).compose(base).compose(base)  # (-1)**turns, on the control alone
    flipped = controlled(back, controls).h(0)
    weight = 0.5 ** (controls - 1)
    sign = (-1) ** turns
    close(flipped.expectation(Z(0), engine=engine), 1 - weight + weight * sign)


def test_o15_open_controls(engine: str, close: Close) -> None:
    """pytket-qiskit 117: a control may have to hold 0."""
    one, two, three = QuantumCircuit(2), QuantumCircuit(3), QuantumCircuit(3)
    one.cx(0, 1, ctrl_state=0)
    two.x(0)
    two.ccx(0, 1, 2, ctrl_state=1)
    three.ccx(0, 1, 2, ctrl_state=1)
    for qc, qubit, expected in ((one, 1, -1.0), (two, 2, -1.0), (three, 2, 1.0)):
        imported = from_qiskit(qc)
        for circuit in (imported, from_qiskit(to_qiskit(imported))):
            close(circuit.expectation(Z(qubit), engine=engine), expected)


@pytest.mark.parametrize("seed", range(12))
def test_o15_any_control_state(seed: int) -> None:
    """Nested controls of both kinds on shuffled qubits, there and back."""
    rng = np.random.default_rng(seed)
    bases = [library.XGate(), library.RYGate(Symbol("t")), library.SwapGate(), library.CXGate()]
    gate = bases[seed % 4]
    for count in (1, int(rng.integers(1, 3))):
        gate = gate.control(count, ctrl_state=int(rng.integers(1 << count)))
    qc = QuantumCircuit(gate.num_qubits)
    qc.append(gate, rng.permutation(gate.num_qubits).tolist())
    assert deviation(qc, seed) < ATOL
    exported = to_qiskit(from_qiskit(qc))
    values = random_values(qc, seed)
    difference = Operator(bound(exported, values)).data - Operator(bound(qc, values)).data
    assert np.abs(difference).max() < ATOL


def test_o16_symbolic_phase_of_a_custom_gate(engine: str, close: Close) -> None:
    """Qiskit 10283: a parameter in a sub-circuit's global phase alone counts under a control."""
    x = Symbol("x")
    gate = QuantumCircuit(1, global_phase=x).to_gate()
    qc = QuantumCircuit(2)
    qc.h(0)
    qc.append(gate.control(1), [0, 1])
    imported = from_qiskit(qc, values={x: 0.6})
    assert imported.parameter_names() == ["x"]
    f = imported.expectation(X(0), engine=engine)
    close(f, 0.8253356149)
    close(slopes(f, imported), [-0.5646424734])


def test_o16_symbolic_phase_bound_twice(engine: str, close: Close) -> None:
    """The page's note: a second value must not meet the first one's definition."""
    x, qc = Symbol("x"), QuantumCircuit(1)
    qc.append(QuantumCircuit(1, global_phase=x).to_gate(), [0])
    imported = from_qiskit(qc)
    for value, expected in ((pi, -1.0), (0.3, 0.9553364891 + 0.2955202067j), (pi, -1.0)):
        amplitude = imported.statevector(values=[value], engine=engine)[0]
        close(amplitude, complex(expected))


@pytest.mark.parametrize("controls", [1, 2])
def test_o16_phases_at_every_depth(controls: int) -> None:
    """Phases of the circuit, of a gate and of a gate in a gate, inverted, repeated, controlled."""
    x, y = Symbol("x"), Symbol("y")
    inner = QuantumCircuit(1, global_phase=x * y)
    inner.rx(x, 0)
    outer = QuantumCircuit(2, global_phase=2 * x - 0.3)
    outer.append(inner.to_gate(), [1])
    outer.append(inner.to_gate().control(1, ctrl_state=0), [1, 0])
    for gate in (outer.to_gate(), outer.to_gate().inverse(), outer.repeat(2).to_gate()):
        qc = QuantumCircuit(2 + controls, global_phase=y)
        qc.append(gate.control(controls), range(2 + controls))
        assert deviation(qc) < ATOL


def test_o17_registers_in_order_of_declaration(engine: str, close: Close) -> None:
    """tket 1652: sorting registers by name would move the qubits."""
    registers = [QuantumRegister(1, "cin"), QuantumRegister(2, "a"), QuantumRegister(2, "b")]
    qc = QuantumCircuit(*registers)
    qc.x(0)
    close(from_qiskit(qc).probabilities(engine=engine), np.eye(32)[1])


@pytest.mark.parametrize("seed", range(6))
def test_o17_any_registers(engine: str, close: Close, seed: int) -> None:
    """Quantum and classical registers of any names; the register of a bit says where it is."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(["z", "a10", "a2", "b"])
    quantum = [QuantumRegister(int(rng.integers(1, 3)), name) for name in names]
    classical = [ClassicalRegister(r.size, f"c{name}") for r, name in zip(quantum, names[::-1], strict=True)]
    qc = QuantumCircuit(*quantum, *classical)
    flipped = rng.random(qc.num_qubits) < 0.5
    for qubit in np.flatnonzero(flipped):
        register, place = qc.find_bit(qc.qubits[qubit]).registers[0]
        qc.x(register[place])
    index = int(sum(1 << int(q) for q in np.flatnonzero(flipped)))
    close(from_qiskit(qc).probabilities(engine=engine), np.eye(1 << qc.num_qubits)[index])
    for register, bits in zip(quantum, classical, strict=True):
        qc.measure(register, bits)
    text = format(index, f"0{qc.num_qubits}b")
    assert from_qiskit(qc).counts(5, seed=0, engine=engine) == {text: 5}


def with_if() -> QuantumCircuit:
    qc = QuantumCircuit(2, 1)
    qc.x(0)
    qc.measure(0, 0)
    with qc.if_test((qc.clbits[0], 1)):
        qc.x(1)
    return qc


def with_while() -> QuantumCircuit:
    qc = QuantumCircuit(2, 1)
    qc.x(0)
    qc.measure(0, 0)
    with qc.while_loop((qc.clbits[0], 1)):
        qc.x(1)
    return qc


def with_switch() -> QuantumCircuit:
    qc = QuantumCircuit(2, 1)
    qc.x(0)
    qc.measure(0, 0)
    with qc.switch(qc.clbits[0]) as case, case(1):
        qc.x(1)
    return qc


def with_reset() -> QuantumCircuit:
    qc = QuantumCircuit(1)
    qc.h(0)
    qc.z(0)
    qc.reset(0)
    return qc


def with_measurement_inside() -> QuantumCircuit:
    qc = QuantumCircuit(1, 1)
    qc.h(0)
    qc.measure(0, 0)
    qc.h(0)
    return qc


def with_reset_in_a_gate() -> QuantumCircuit:
    inner = QuantumCircuit(1)
    inner.h(0)
    inner.reset(0)
    qc = QuantumCircuit(2)
    qc.h(0)
    qc.h(1)
    qc.append(inner.to_instruction(name="inner"), [1])
    return qc


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (with_if, r"'if_else' at position 2 "),
        (with_while, r"'while_loop' at position 2 "),
        (with_switch, r"'switch_case' at position 2 "),
        (with_reset, r"'reset' at position 2 "),
        (with_measurement_inside, r"'h' at position 2 .*mid-circuit measurement"),
        (with_reset_in_a_gate, r"'reset' inside 'inner' at position 2 "),
    ],
)
def test_o18_nothing_vanishes(build: Callable[[], QuantumCircuit], message: str) -> None:
    """pytket-qiskit 415: what depends on a measurement is refused with its name and place."""
    with pytest.raises(ConversionError, match=message):
        from_qiskit(build())


def test_o18_known_loops_and_boxes_are_unrolled(engine: str, close: Close) -> None:
    """A loop over known numbers is no condition: each round counts, with its own number."""
    a, qc = Symbol("a"), QuantumCircuit(1)
    with qc.for_loop(range(1, 4)) as k:
        qc.rx(a * k, 0)
    with qc.box():
        qc.rx(0.5, 0)
    imported = from_qiskit(qc, values={a: 0.2})
    f = imported.expectation(Z(0), engine=engine)
    close(f, cos(6 * 0.2 + 0.5))
    close(slopes(f, imported), [-6 * sin(6 * 0.2 + 0.5)])


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


# -- extras ----------------------------------------------------------------------------------------


def test_extra_idle_and_barrier_only_qubits(engine: str, close: Close) -> None:
    """mitiq 1369: qubits without gates keep their places."""
    qc = QuantumCircuit(5)
    qc.barrier(0)
    qc.x(3)
    qc.barrier()
    imported = from_qiskit(qc)
    assert imported.num_qubits == 5
    close(imported.expectation([Z(q) for q in range(5)], engine=engine), [1.0, 1.0, 1.0, -1.0, 1.0])
    assert to_qiskit(imported).num_qubits == 5
