"""Engines by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from autodiff.device import backend_of, canonical_device
from circuits.engines.reference import ReferenceEngine
from circuits.engines.registry import (
    DEFAULTS,
    DEVICE_ENGINES,
    ENGINES,
    engine_for,
    get_engine,
    known_engine,
)
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
    names = "one of 'reference', 'numba', 'cuda', or an Engine, got 'gpu'"
    for look_up in (get_engine, known_engine):
        with pytest.raises(EngineError, match=names):
            look_up("gpu")


@pytest.mark.parametrize("name", DEVICE_ENGINES)
def test_an_engine_of_a_device_is_made_once_for_each(name: str) -> None:
    found = [get_engine(name, canonical_device(device)) for device in ("emulated", "emulated:1")]
    assert [engine.name for engine in found] == [name, name]
    assert found[0] is not found[1]
    assert get_engine(name, "emulated") is found[0]


def test_an_engine_is_refused_on_a_device_that_it_does_not_compute_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(EngineError, match=r"engine 'cuda' needs a device .*, got 'cpu'.*'numba'"):
        get_engine("cuda")
    device = canonical_device("emulated:3")
    monkeypatch.setattr(backend_of(device), "family", "cupy")
    with pytest.raises(EngineError, match=r"engine 'numba' needs a device .*Leave .*'cuda'"):
        get_engine("numba", device)


def test_every_family_of_devices_has_a_default() -> None:
    assert {DEFAULTS[backend_of(canonical_device(d)).family] for d in ("cpu", "emulated")} == {
        "numba"
    }
    assert engine_for(None, "cpu") is get_engine("numba")
    assert engine_for("reference", "cpu").name == "reference"
    assert DEFAULTS["cupy"] in DEVICE_ENGINES


def test_an_engine_is_imported_when_asked_for() -> None:
    script = (
        "import sys; from circuits.engines.registry import get_engine; get_engine('reference');"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
