from __future__ import annotations

import subprocess
import sys

from sources import ROOT

from circuits import Circuit


def test_draw_takes_output_and_fold() -> None:
    circuit = Circuit(1).h(0).h(0).h(0)
    assert len(circuit.draw("text", fold=12).splitlines()) == 11
    assert circuit.draw(output="svg", fold=0).startswith("<svg")  # Qiskit's name


def test_nothing_is_loaded_before_it_is_needed() -> None:
    code = (
        "import sys; from circuits import Circuit; assert 'circuits.drawing.kinds' not in "
        "sys.modules; c = Circuit(2).h(0).cx(0, 1); c.draw(); c.draw('svg'); "
        "sys.exit('matplotlib' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
