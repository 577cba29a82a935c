from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from circuits import Circuit, DrawingError, Parameter
from circuits.drawing.kinds import KINDS

CIRCUIT = Circuit(2, name="bell").h(0).cx(0, 1)


def test_text_is_the_default() -> None:
    drawing = CIRCUIT.draw()
    assert drawing == CIRCUIT.draw("text")
    assert drawing.splitlines()[0] == "bell"
    assert "┤ H ├" in drawing


def test_kinds() -> None:
    assert CIRCUIT.draw("svg").startswith("<svg")
    assert isinstance(CIRCUIT.draw("mpl"), Figure)


def test_drawing_changes_nothing() -> None:
    theta = Parameter(0.3, name="theta")
    circuit = Circuit(1).rx(theta, 0)
    before = circuit.to_json()
    for kind in KINDS:
        circuit.draw(kind)
    assert circuit.to_json() == before
    assert theta.grad is None


def test_defaults_fold_and_zero_does_not() -> None:
    circuit = Circuit(1)
    for _ in range(40):
        circuit.h(0)
    assert max(map(len, circuit.draw().splitlines())) <= 80
    assert len(circuit.draw(fold=0).splitlines()) == 3
    assert circuit.draw("svg").count(">q0<") > 1
    assert circuit.draw("svg", fold=0).count(">q0<") == 1


@pytest.mark.parametrize("kind", ["latex", "", None, 3])
def test_unknown_kind_is_refused(kind: object) -> None:
    with pytest.raises(DrawingError, match="draw needs one of 'text', 'svg', 'mpl', got"):
        CIRCUIT.draw(kind)


@pytest.mark.parametrize("fold", [-1, 2.5, True, "80"])
def test_bad_fold_is_refused(fold: object) -> None:
    with pytest.raises(DrawingError, match="draw needs a fold from 0 on, got"):
        CIRCUIT.draw(fold=fold)
