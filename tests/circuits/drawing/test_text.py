from __future__ import annotations

from itertools import pairwise

import numpy as np
from gate_rows import ROWS, controls_of, payload_of, size_of

from circuits import Circuit, Input, Parameter
from circuits.drawing.layout import layout_of
from circuits.drawing.text import text_drawing

THETA, PHI, X = Parameter(0.3, name="theta"), Parameter(0.1, name="phi"), Input("x", 2)

BELL = """\
     ┌───┐       ┌───────────┐     ┌──────────────┐
q0: ─┤ H ├─●─────┤ RY(theta) ├─────┤ RZ(x[0]*phi) ├─
     └───┘ │ ┌───┴───────────┴───┐ └──┬─────────┬─┘
q1: ───────⊕─┤ RX(2*theta + phi) ├────┤ RZ(π/2) ├───
             └───────────────────┘    └─────────┘"""

CONTROLS = """\
             ┌───┐
q0: ───○───●─┤ Z ├─×─×─
       │   │ └─┬─┘ │ │
q1: ───┼───●───┼───●─┼─
     ┌─┴─┐ │   │   │ │
q2: ─┤ H ├─┼───┼───×─┼─
     └─┬─┘ │   │     │
q3: ───●───⊕───●─────×─"""

WORDS = """\
     ┌──────────┐                         ┌───────────┐
q0: ─┤ Z        ├────────────●────────────┤ 1         ├─
     │   R(0.5) │      ┌─────┴─────┐      │           │
q1: ─┤ Y        ├──────┤ P(-theta) ├──────┤ 2 Unitary ├─
     └─────┬────┘      └───────────┘      │           │
q2: ───────┼──────────────────────────────┤ 0         ├─
     ┌─────┴────┐                         └───────────┘
q3: ─┤ X R(0.5) ├────────────●phase(0.25)───────────────
     └──────────┘"""

MEASURED = """\
two bits
global phase: π
     ┌───┐   ┌───┐
q0: ─┤ H ├─●─┤ M ├═ c1
     └───┘ │ └───┘
q1: ───────⊕───────
             ┌───┐
q2: ─────────┤ M ├═ c10
             └───┘"""

FOLDED = """\
     ┌───┐
q0: ─┤ X ├─●»
     └───┘ │
q1: ───────⊕»

     ┌───┐
q0: ─┤ Z ├─●─
     └───┘ │
q1: ───────⊕─"""


def drawn(circuit: Circuit, fold: int = 0) -> str:
    """The drawing as a plain string."""
    return str(text_drawing(layout_of(circuit), fold))


def test_boxes_of_neighbouring_wires_share_a_line() -> None:
    circuit = Circuit(2).h(0).cx(0, 1).ry(THETA, 0).rx(2 * THETA + PHI, 1)
    assert drawn(circuit.rz(X[0] * PHI, 0).rz(np.pi / 2, 1)) == BELL


def test_controls_crosses_and_flips() -> None:
    circuit = Circuit(4).append("h", [2], controls=[0, 3], ctrl_state="10")
    assert drawn(circuit.ccx(0, 1, 3).cz(3, 0).cswap(1, 0, 2).swap(3, 0)) == CONTROLS


def test_words_matrices_and_phases() -> None:
    circuit = Circuit(4).pauli_rotation(0.5, "XYZ", [0, 1, 3]).cp(-THETA, 0, 1)
    circuit.append("global_phase", [], [0.25], controls=[3]).unitary(np.eye(8), [2, 0, 1])
    assert drawn(circuit) == WORDS


def test_measurements_end_in_classical_bits() -> None:
    circuit = Circuit(3, name="two bits").global_phase(np.pi).h(0).cx(0, 1)
    assert drawn(circuit.measure([0, 2], [1, 10])) == MEASURED


def test_wide_circuit_is_folded() -> None:
    assert drawn(Circuit(2).x(0).cx(0, 1).z(0).cx(0, 1), 16) == FOLDED


def test_lines_keep_to_the_fold() -> None:
    circuit = Circuit(11)
    for q in range(10):
        circuit.rx(THETA, q).cx(q, q + 1).rzz(0.123, q, q + 1)
    circuit.measure_all()
    for fold in (40, 60, 80, 200):
        lines = drawn(circuit, fold).splitlines()
        assert max(map(len, lines)) <= fold
        assert sum(line.startswith(" q0: ") for line in lines) > 1


def test_every_gate_keeps_the_wires_straight() -> None:
    """Wire lines have one length, and no line leaves a cell into an empty one."""
    for row in ROWS:
        own = controls_of(row) + size_of(row)
        wires = list(range(own + 2))[::-1]
        circuit = Circuit(own + 2).append(
            row.name, wires[1:-1], [0.1] * len(row.params), payload=payload_of(row), controls=[0]
        )
        text = drawn(circuit)
        lines = text.splitlines()
        wired = [line for line in lines if line.startswith("q")]
        assert len(wired) == own + 2
        assert len({len(line) for line in wired}) == 1
        assert connected(lines), text


def connected(lines: list[str]) -> bool:
    """Whether what leaves a cell downwards arrives in the cell below, and the other way round."""
    down, up = set("│┐┌┤├┬┼"), set("│┘└┤├┴┼")
    signs = set("●○⊕×")
    width = max(map(len, lines))
    padded = [line.ljust(width) for line in lines]
    for upper, lower in pairwise(padded):
        for a, b in zip(upper, lower, strict=True):
            if (a in down and b not in up | signs) or (b in up and a not in down | signs):
                return False
    return True


def test_connection_check_finds_a_gap() -> None:
    assert connected(["─●─", " │ ", "─⊕─"])
    assert not connected(["─●─", " │ ", "───"])


def test_prompt_shows_the_drawing() -> None:
    drawing = text_drawing(layout_of(Circuit(1).h(0)), 0)
    assert repr(drawing) == str(drawing) == "     ┌───┐\nq0: ─┤ H ├─\n     └───┘"


def test_circuits_without_gates_or_qubits() -> None:
    assert drawn(Circuit(2)) == "q0: ─\n\nq1: ─"
    assert drawn(Circuit(0, name="nothing").global_phase(0.5)) == (
        "nothing\nglobal phase: 0.5\nno qubits"
    )
