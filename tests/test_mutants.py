"""Faults that are planted in the kernels are found; the kernels as they are pass every check."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mutants import FOUND, Mutant, MutantSet, mutant_sets

from autodiff.backends.raw_modules import Source

SETS = mutant_sets()
CHECKS = [
    pytest.param(found, name, id=f"{found.source.name}-{name}")
    for found in SETS
    for name in found.checks
]
MUTANTS = [
    pytest.param(found, mutant, id=f"{found.source.name}-{mutant}")
    for found in SETS
    for mutant in found.mutants
]


@pytest.mark.slow
@pytest.mark.parametrize(("found", "check"), CHECKS)
def test_clean_source_passes(found: MutantSet, check: str) -> None:
    found.checks[check](found.source)


@pytest.mark.slow
@pytest.mark.parametrize(("found", "mutant"), MUTANTS)
def test_planted_fault_is_found(
    found: MutantSet, mutant: Mutant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))  # faulty builds are not kept
    faulty = mutant.planted(found.source, tmp_path)
    with pytest.raises(FOUND) as finding:
        found.checks[mutant.found_by](faulty)
    assert re.search(mutant.message, str(finding.value)), finding.value
    assert "source that compiles" not in str(finding.value)  # it does


def test_there_are_enough() -> None:
    assert len(MUTANTS) >= 15


@pytest.mark.parametrize(("pattern", "matches"), [("int x", 2), ("float x", 0)])
def test_mutant_must_match_once(pattern: str, matches: int, tmp_path: Path) -> None:
    (tmp_path / "x.cu").write_text("int x; int x;\n")
    with pytest.raises(AssertionError, match=f"twice: {matches} matches"):
        Mutant("twice", pattern, "int y", "values").planted(Source(tmp_path / "x.cu"), tmp_path)


def test_mutant_must_change_something(tmp_path: Path) -> None:
    (tmp_path / "x.cu").write_text("int x;\n")
    with pytest.raises(AssertionError, match="none changes nothing"):
        Mutant("none", "int x", "int x", "values").planted(Source(tmp_path / "x.cu"), tmp_path)
