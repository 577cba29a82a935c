"""Engines by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from circuits.engines.reference import ReferenceEngine
from circuits.engines.registry import ENGINES, get_engine
from circuits.errors import EngineError


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_is_made_once_and_knows_its_name(name: str) -> None:
    engine = get_engine(name)
    assert engine.name == name
    assert get_engine(name) is engine


def test_an_engine_is_returned_as_it_is() -> None:
    engine = ReferenceEngine()
    assert get_engine(engine) is engine


def test_unknown_engine_is_refused_with_the_names() -> None:
    with pytest.raises(EngineError, match="one of 'reference', 'numba', or an Engine, got 'gpu'"):
        get_engine("gpu")


def test_an_engine_is_imported_when_asked_for() -> None:
    script = (
        "import sys; from circuits.engines.registry import get_engine; get_engine('reference');"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
