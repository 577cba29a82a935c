"""The notebooks in ``tutorials`` run from top to bottom, with short settings."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook
from notebooks import NAMES, code_cells, execute, notebook, settings_cell
from sources import ROOT

import qml

# Any in this file: settings and results are what the notebooks say.


@dataclass(frozen=True)
class Short:
    """How a notebook is run here, and what it has to show.

    Attributes:
        cells: of code, all of which are executed.
        pictures: among their outputs.
        holds: says of ``result`` whether it is what the notebook claims.
        settings: short ones.
    """

    cells: int
    pictures: int
    holds: Callable[[Any], bool]
    settings: dict[str, Any] = field(default_factory=dict)


def counts_of(result: Any) -> dict[str, list[float]]:
    """What a step of each way to train launches and sends."""
    return {name: list(counts.values()) for name, counts in result["counts"].items()}


NOTEBOOKS = {
    "01_first_gradient.py": Short(
        11,
        2,
        lambda r: r["slope_error"] < 1e-12 and r["bound"] <= r["last"] < r["first"] - 1,
    ),
    "02_h2_from_qiskit.py": Short(
        9,
        2,
        lambda r: (
            r["exact"] <= r["energy"] < r["exact"] + qml.CHEMICAL_ACCURACY
            and abs(r["qiskit_energy"] - r["energy"]) < 1e-10
        ),
    ),
    "03_optimizers.py": Short(
        7,
        1,
        lambda r: (
            all(0 <= one["error"] <= qml.CHEMICAL_ACCURACY for one in r.values()) and len(r) == 4
        ),
    ),
    "04_qaoa_maxcut.py": Short(
        10,
        2,
        lambda r: r["random"] < r["ratios"][0] < r["ratios"][1] < 1 and r["sampled"] <= r["best"],
        {"MAX_LAYERS": 2, "STEPS": 60},
    ),
    "05_hybrid_classifier.py": Short(
        9,
        1,
        lambda r: (
            r["accuracy"] > 0.93
            and r["last_loss"] < r["first_loss"]
            and r["first_layer_gradient"] > 0
        ),
    ),
    "06_data_reuploading.py": Short(
        9,
        3,
        lambda r: r["beyond"] < 1e-12 and r["errors"]["5"] < r["errors"]["2"] / 2,
        {"FIT_STEPS": 60, "EPOCHS": 2},
    ),
    "07_frozen_parts.py": Short(
        11,
        3,
        lambda r: r["resumed_bit_for_bit"] and r["moved"] == 38,
        {"FIRST_EPOCHS": 2, "FROZEN_EPOCHS": 2, "TUNED_EPOCHS": 2},
    ),
    "08_against_logistic_regression.py": Short(
        8,
        1,
        lambda r: r["two moons"]["logistic"] < 0.9 < r["wine"]["logistic"],
        {"EPOCHS": 2, "FOLDS": 2},
    ),
    "09_vanishing_gradients.py": Short(
        10,
        4,
        lambda r: (
            1.6 < r["decay"]["local"] < 2.6 < r["decay"]["everywhere"] < 5
            and r["ground"] < min(r["last"].values())
        ),
        {"QUBITS": (2, 4, 6), "LAYERS": (1, 4, 12), "SAMPLES": 40, "STEPS": 5},
    ),
    "10_where_values_live.py": Short(
        13,
        1,
        lambda r: (
            r["same_bits"]
            and r["transfers"] == 4
            and counts_of(r)["as first written"][1:] == [2, 2]
            and 60 < counts_of(r)["data moved once"][0] < 80
            and counts_of(r)["data moved once"][1:] == [0, 0]
            and counts_of(r)["graph mode"] == [2, 0, 0]
            and list(r["glance"].values()) == [3, 0, 1]
        ),
        {"STEPS": 8},
    ),
    "11_qiskit_round_trip.py": Short(
        12,
        2,
        lambda r: (
            r["exact"] <= r["trained"] < r["exact"] + 0.05
            and r["difference"] < 1e-10
            and abs(r["measured"] - r["trained"]) < 0.5
            and r["slope_error"] < 0.5
        ),
        {"STEPS": 60, "NOISY_STEPS": 1, "PRECISION": 0.1},
    ),
    "12_moving_to_a_gpu.py": Short(
        14,
        3,
        lambda r: (
            r["exact"] <= r["energy"] < r["exact"] + qml.CHEMICAL_ACCURACY
            and r["difference"] < 1e-9
            and counts_of(r)["device="] == [3, 0, 1, 1]
            and counts_of(r)["CUDA kernels"] == [3, 2, 1, 1]
            and counts_of(r)["to(device)"][1:] == [2, 0, 0]
            and counts_of(r)["graph mode"] == [2, 2, 0, 0]
            and r["planned"] == [2, 2]
            and 14 < r["pays"] <= 24
        ),
    ),
}
every_notebook = pytest.mark.parametrize("name", NAMES, ids=lambda name: name.removesuffix(".py"))


def outputs(book: Any, kind: str) -> list[Any]:
    """The outputs of one kind of all cells."""
    every = [output for cell in code_cells(book) for output in cell.outputs]
    return [output for output in every if output.output_type == kind]


def test_every_notebook_is_run() -> None:
    assert sorted(NOTEBOOKS) == NAMES


@every_notebook
def test_short_settings_are_settings_of_the_notebook(name: str) -> None:
    tree = ast.parse(settings_cell(notebook(name)).source)
    assigned = [target.id for line in tree.body for target in line.targets]
    assert set(NOTEBOOKS[name].settings) <= set(assigned)
    assert assigned == [target.upper() for target in assigned]


@every_notebook
def test_notebook_begins_with_its_title_and_ends_with_what_was_learned(name: str) -> None:
    book = notebook(name)
    assert re.match(r"# \S.+\n\n\S", book.cells[0].source)
    assert book.cells[-1].source.startswith("## What you have learned\n\n- ")
    following = re.findall(r"`(\d\d_\w+\.py)`", book.cells[-1].source)
    assert set(following) <= set(NAMES)


@pytest.mark.slow
@every_notebook
def test_notebook_runs(name: str, tmp_path: Path) -> None:
    book, short = notebook(name), NOTEBOOKS[name]
    cells = code_cells(book)
    result = execute(book, short.settings, tmp_path)
    assert [cell.execution_count is None for cell in cells] == [False] * short.cells
    assert outputs(book, "error") == []
    assert [output.text for output in outputs(book, "stream") if output.name == "stderr"] == []
    shown = outputs(book, "display_data") + outputs(book, "execute_result")
    assert len([output for output in shown if "image/png" in output.data]) == short.pictures
    assert short.holds(result), result


@pytest.mark.slow
def test_error_and_warning_in_a_cell_are_found(tmp_path: Path) -> None:
    for line, found in (("1 / 0", "ZeroDivisionError"), ("warnings.warn('so')", "UserWarning")):
        settings = new_code_cell("STEPS = 1", metadata={"tags": ["parameters"]})
        book = new_notebook(cells=[settings, new_code_cell(line)])
        with pytest.raises(CellExecutionError, match=found):
            execute(book, {"STEPS": 2}, tmp_path)


def test_page_lists_all_notebooks() -> None:
    text = (ROOT / "docs" / "tutorials.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `tutorials/(\d\d_\w+\.py)` \| .+ \| .+ \|$", text, re.MULTILINE)
    assert rows == NAMES
