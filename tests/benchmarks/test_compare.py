"""The comparison's own parts, with this project as the only library."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

from benchmarks import compare, libraries
from benchmarks.cases import layered
from benchmarks.compare import Outcome, Row, check, installed, main, parser, print_summary, words
from benchmarks.libraries import LIBRARIES, OURS, OWN, PREPARED, Library
from benchmarks.worker import First, WorkerFailed

GIVEN = First(0.0, 0.0, 0.0, 1.0, np.array([1.0, 2.0]))


def row(library: str, median: float) -> Row:
    """A row of which only the median matters."""
    return Row(library, 0.0, 0.0, 0.0, median, median / 2, 1, 0)


@pytest.mark.parametrize(("single", "error"), [(False, 2e-8), (True, 2e-4)])
def test_other_results_are_refused(single: bool, error: float) -> None:
    case = replace(layered(2), single=single)
    check(case, replace(GIVEN, value=1.0 + error / 4), GIVEN)
    with pytest.raises(WorkerFailed, match="value by 2"):
        check(case, replace(GIVEN, value=1.0 + error), GIVEN)
    with pytest.raises(WorkerFailed, match="gradient by 2"):
        check(case, replace(GIVEN, gradient=np.array([1.0, 2.0 + error])), GIVEN)
    with pytest.raises(WorkerFailed, match="nan"):
        check(case, replace(GIVEN, value=float("nan")), GIVEN)


def test_summary_names_the_fastest_peer(capsys: pytest.CaptureFixture[str]) -> None:
    rows = (row(OURS, 0.002), row(PREPARED, 0.001), row("slow", 0.1), row("fast", 0.01))
    outcomes = [
        Outcome("x n=2 double", rows, {}, 0.0),
        Outcome("x n=2 single", (row(OURS, 0.001), row(PREPARED, 0.0005)), {}, 0.0),
        Outcome("y n=2 double", (rows[0], rows[2]), {}, 0.0),
    ]
    assert outcomes[0].best_peer() == rows[3]
    assert outcomes[0].prepared == rows[1]
    assert outcomes[1].best_peer() is None
    print_summary(outcomes)
    head, *lines = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert " ".join(head).endswith("ours ms peer ms ratio of best prepared ms ratio")
    figures = ["2.000", "10.000", "5.00", "5.00", "1.000", "10.00"]
    assert lines[0] == ["x", "n=2", "double", *figures, "fast"]
    assert lines[1] == ["y", "n=2", "double", "2.000", "100.000", "50.00", "50.00", *"--", "slow"]
    assert lines[2] == ["double", "/", "single,", "ours:", "x", "n=2", "2.00"]
    assert len(lines) == 3


def test_missing_and_compiling_libraries_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = {
        OURS: LIBRARIES[OURS],
        "absent": Library("benchmarks.ours", {"no-such-package": "no_such_module"}),
        "compiling": Library("benchmarks.ours", {"numpy": "numpy"}, compiles=True),
    }
    monkeypatch.setattr(compare, "LIBRARIES", MappingProxyType(table))
    assert installed(tuple(table), jax=False) == [*OWN]
    assert "absent is left out: no-such-package not installed" in capsys.readouterr().out
    assert installed(tuple(table), jax=True) == [*OWN, "compiling"]


def test_words_are_checked() -> None:
    assert words(("a", "b"), "b,a") == ("b", "a")
    with pytest.raises(argparse.ArgumentTypeError, match="got c"):
        words(("a", "b"), "a,c")
    assert parser().parse_args(["--sizes", "4,8"]).sizes == (4, 8)


@pytest.mark.slow
def test_comparison_runs_without_peers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One real run, and a budget that is spent before the second case."""
    monkeypatch.setattr(libraries.Library, "missing", lambda self: list(self.packages))
    options = "--families layered --sizes 3,4 --precisions double --rounds 2 --seconds 0.01"
    target = tmp_path / "results.json"
    arguments = [*options.split(), "--budget", "0.001", "--json", str(target)]
    monkeypatch.setattr(sys, "argv", ["compare.py", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert "layered n=4 double is left out" in capsys.readouterr().out
    [case] = json.loads(target.read_text(encoding="utf-8"))["cases"]
    assert [row["library"] for row in case["rows"]] == [*OWN]
    for row in case["rows"]:
        assert 0 < row["best"] <= row["median"] < row["first"]
        assert row["calls"] >= 2


def test_every_library_has_an_adapter() -> None:
    root = Path(compare.__file__).parents[1]
    for library in LIBRARIES.values():
        assert (root / f"{library.adapter.replace('.', '/')}.py").is_file()
