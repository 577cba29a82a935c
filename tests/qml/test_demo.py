from __future__ import annotations

from math import sin
from pathlib import Path

import pytest

from circuits.engines.registry import ENGINES
from qml.__main__ import main
from qml.demo import hydrogen_circuit, summary, table, train

EXACT = -1.1361894542078266


@pytest.mark.parametrize("engine", ENGINES)
def test_hydrogen_reaches_chemical_accuracy_from_above(engine: str) -> None:
    run = train(100, engine=engine)
    assert len(run.energies) == 101
    assert abs(run.energies[-1] - EXACT) <= 1.6e-3
    assert min(run.energies) >= EXACT - 1e-10


def test_circuit_is_the_one_described() -> None:
    circuit = hydrogen_circuit()
    assert circuit.count_ops() == {"ry": 24, "rz": 24, "cx": 24, "x": 2}
    wanted = [0.04 * sin(0.37 * k) for k in range(1, 49)]
    assert [p.item() for p in circuit.parameters()] == wanted
    gates = [(i.name, i.qubits) for i in circuit]
    assert gates[:4] == [("x", (0,)), ("x", (1,)), ("ry", (0,)), ("rz", (0,))]
    assert gates[10:14] == [("cx", (0, 1)), ("cx", (1, 2)), ("cx", (2, 3)), ("cx", (3, 0))]


def test_command_prints_a_table_and_saves_a_picture(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--steps", "3", "--engine", "reference"]) == 0
    out, err = capfd.readouterr()
    assert "  step   energy (hartree)   above exact\n     0       -0.401085346" in out
    assert "NOT yet within chemical accuracy" in out
    assert "Training" in err
    assert (tmp_path / "h2_training.png").read_bytes().startswith(b"\x89PNG")


def test_quiet_command_prints_the_summary_only(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "a.svg"
    assert main(["demo", "--steps", "2", "--quiet", "--output", str(picture)]) == 0
    out, err = capfd.readouterr()
    assert out.startswith("Hartree-Fock energy")
    assert out.endswith(f"picture              {picture}\n")
    assert err == ""
    assert picture.is_file()


BAD = [
    (["demo", "--steps", "0"], "--steps: needs an integer from 1 on, got '0'"),
    (["demo", "--steps", "-3"], "--steps"),
    (["demo", "--engine", "fast"], "invalid choice: 'fast'"),
    (["demo", "--output", "missing/a.png"], "--output: needs a path in an existing folder"),
    (["demo", "--output", "a.jpg"], "ends in one of .pdf, .png, .svg, got 'a.jpg'"),
    (["dance"], "invalid choice: 'dance'"),
    ([], "required: command"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_arguments_are_refused_before_training(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_table_and_summary_hold_first_and_last_energy() -> None:
    run = train(25, engine="reference")
    rows = table(run).splitlines()[1:]
    assert rows[0].split()[:2] == ["0", f"{run.energies[0]:.9f}"]
    assert rows[-1].split()[:2] == ["25", f"{run.energies[-1]:.9f}"]
    assert f"{run.energies[-1]:.9f}" in summary(run)
