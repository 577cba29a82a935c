"""The libraries that are compared, by name. An adapter is imported only where it is used."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from types import MappingProxyType
from typing import cast

from benchmarks.cases import FAMILIES, Case, RealArray

OURS = "ketgrad"
PREPARED = "ketgrad prepared"
OWN = (OURS, PREPARED)
"""This project's entries, which are no peers."""


class Evaluation(ABC):
    """A case, built with one library."""

    @abstractmethod
    def __call__(self, parameters: RealArray) -> tuple[float, RealArray]:
        """Return the loss and its gradient ``(P,)``; this is what is timed.

        The loss is NaN where a library computes the gradient without it.
        """

    def value(self, parameters: RealArray) -> float:
        """Return the loss."""
        return self(parameters)[0]


@dataclass(frozen=True)
class Library:
    """One row of the table.

    Attributes:
        adapter: module whose ``build`` takes a case and returns an Evaluation.
        packages: distributions that it needs, named as for pip, and what they are imported as.
        families: of the cases that it takes part in.
        single: whether it computes in single precision.
        compiles: whether it compiles each circuit, which takes minutes; asked for by an option.
    """

    adapter: str
    packages: Mapping[str, str]
    families: tuple[str, ...] = tuple(FAMILIES)
    single: bool = True
    compiles: bool = False

    def missing(self) -> list[str]:
        """Return the distributions that are not installed."""
        return [name for name, module in self.packages.items() if find_spec(module) is None]

    def versions(self) -> dict[str, str]:
        """Return the versions of the installed distributions."""
        return {name: version(name) for name in self.packages}

    def takes(self, case: Case) -> bool:
        """Return whether it takes part in a case."""
        return case.family in self.families and (self.single or not case.single)

    def build(self, case: Case) -> Evaluation:
        """Build the case. This imports the library."""
        return cast("Evaluation", import_module(self.adapter).build(case))


LIBRARIES: Mapping[str, Library] = MappingProxyType(
    {
        OURS: Library("benchmarks.ours", {}),
        PREPARED: Library("benchmarks.prepared", {}),
        "mindquantum": Library("benchmarks.peers.mindquantum_peer", {"mindquantum": "mindquantum"}),
        "qulacs": Library("benchmarks.peers.qulacs_peer", {"qulacs": "qulacs"}, single=False),
        "lightning.qubit": Library(
            "benchmarks.peers.lightning_peer",
            {"pennylane": "pennylane", "pennylane-lightning": "pennylane_lightning"},
        ),
        "default.qubit": Library(
            "benchmarks.peers.default_qubit_peer", {"pennylane": "pennylane"}, ("batch",)
        ),
        "tensorcircuit": Library(
            "benchmarks.peers.tensorcircuit_peer",
            {"tensorcircuit-ng": "tensorcircuit", "jax": "jax"},
            compiles=True,
        ),
    }
)
