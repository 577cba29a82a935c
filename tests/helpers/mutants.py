"""Planted kernel faults: each compiles, and is found by the check that it names.

A file ``x_mutants.py`` beside this one has a ``MUTANTS``. A check is a function of a source that
raises for a wrong one; the clean source passes all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import sanitizers

from autodiff.backends.emulated_backend import EmulatedBackend
from autodiff.backends.host_modules import ORDERS, Schedule
from autodiff.backends.launch_records import RecordedLaunch
from autodiff.backends.raw_modules import KernelError, Source

Check = Callable[[Source], None]
#: Launches kernels of a source on a backend and asserts what they leave.
Scenario = Callable[[EmulatedBackend, Source], None]

#: How a check says that a source is wrong.
FOUND = (AssertionError, KernelError)


@dataclass(frozen=True)
class Mutant:
    """A fault.

    Attributes:
        name: what is wrong.
        pattern: a regular expression that matches the source exactly once.
        replacement: what stands there instead.
        found_by: the name of the check that finds it.
        message: what the check says of it; a regular expression.
    """

    name: str
    pattern: str
    replacement: str
    found_by: str
    message: str = ""

    def __str__(self) -> str:
        return self.name

    def planted(self, source: Source, folder: Path) -> Source:
        """Write the faulty source to a folder.

        Raises:
            AssertionError: the pattern matches more or less than once, or changes nothing.
        """
        text = source.text()
        matches = len(re.findall(self.pattern, text))
        assert matches == 1, f"{self.name}: {matches} matches of {self.pattern!r}"
        faulty = re.sub(self.pattern, self.replacement, text)
        assert faulty != text, f"{self.name} changes nothing"
        path = folder / source.name
        path.write_text(faulty, encoding="utf-8")
        return Source(path)


@dataclass(frozen=True)
class MutantSet:
    """The faults of one source.

    Attributes:
        source: the clean file.
        mutants: the faults.
        checks: by name.
    """

    source: Source
    mutants: tuple[Mutant, ...]
    checks: Mapping[str, Check]


def scenario_checks(
    source: Source, scenario: Scenario, small: Scenario | None = None
) -> dict[str, Check]:
    """The three checks of a scenario: its values in every thread order, and both sanitizers.

    The sanitizers run the launches that the clean source makes. ``small`` is for the thread
    sanitizer, which takes milliseconds a thread and loses races of more than 250 threads or so.
    """
    scenarios = {"address": scenario, "thread": small or scenario}

    @cache
    def launches(flavour: str) -> list[RecordedLaunch]:
        backend = EmulatedBackend()
        with backend.kernels.record() as recorded:
            scenarios[flavour](backend, source)
        return recorded

    def values(given: Source) -> None:
        for order in ORDERS:
            backend = EmulatedBackend()
            backend.kernels.schedule = Schedule(order, seed=7)
            scenario(backend, given)

    def sanitized(flavour: str, given: Source) -> None:
        sanitizers.check(launches(flavour), flavour, given)

    return {
        "values": values,
        **{flavour: partial(sanitized, flavour) for flavour in sanitizers.FLAVOURS},
    }


def mutant_sets() -> list[MutantSet]:
    """The ``MUTANTS`` of every ``x_mutants.py`` in this folder."""
    paths = sorted(Path(__file__).parent.glob("*_mutants.py"))
    return [import_module(path.stem).MUTANTS for path in paths]
