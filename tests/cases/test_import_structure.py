"""Public bug reports of neighbouring tools, O13 to O18: phases, controls, registers, blocks."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi, sin

import numpy as np
import pytest
import qiskit.circuit.library as library
from qiskit import ClassicalRegister, QuantumCircuit, QuantumRegister
from qiskit.circuit import Parameter as Symbol
from qiskit.circuit.library import PauliEvolutionGate
from qiskit.quantum_info import Operator, SparsePauliOp
from qiskit_circuits import bound, deviation, random_values

from autodiff import grad
from circuits import Circuit, ConversionError, X, Z, from_qiskit, to_qiskit

Close = Callable[..., None]

ATOL = 1e-10
"""How far a matrix may be from Qiskit's: fused rotations round."""


def controlled(circuit: Circuit, num_controls: int = 1) -> Circuit:
    """The circuit under controls in |+>, where a global phase shows."""
    made = Circuit(circuit.num_qubits + num_controls)
    for k in range(num_controls):
        made.h(k)
    return made.compose(circuit.control(num_controls))


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
        close(grad(f, imported.parameters()[0]), -0.1947091712)


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
    close(grad(f, imported.parameters()[0]), -others * rate * sin(0.8 * rate))


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
        state = int(rng.integers(1 << count))
        gate = gate.control(count, ctrl_state=state, annotated=bool(seed % 3))
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
    close(grad(f, imported.parameters()[0]), -0.5646424734)


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
    """Tket 1652: sorting registers by name would move the qubits."""
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
    classical = [
        ClassicalRegister(r.size, f"c{name}") for r, name in zip(quantum, names[::-1], strict=True)
    ]
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
    inner = QuantumCircuit(1, name="inner")
    inner.h(0)
    inner.reset(0)
    qc = QuantumCircuit(2)
    qc.h(0)
    qc.h(1)
    qc.append(inner.to_instruction(), [1])
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
    close(grad(f, imported.parameters()[0]), -6 * sin(6 * 0.2 + 0.5))


# -- extras ----------------------------------------------------------------------------------------


def test_extra_idle_and_barrier_only_qubits(engine: str, close: Close) -> None:
    """Mitiq 1369: qubits without gates keep their places."""
    qc = QuantumCircuit(5)
    qc.barrier(0)
    qc.x(3)
    qc.barrier()
    imported = from_qiskit(qc)
    assert imported.num_qubits == 5
    close(imported.expectation([Z(q) for q in range(5)], engine=engine), [1.0, 1.0, 1.0, -1.0, 1.0])
    assert to_qiskit(imported).num_qubits == 5
