"""The table of ansaetze and encodings: a row each. Tests and the docs page are made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from types import MappingProxyType
from typing import Any

from circuits import Circuit, PauliSum
from qml.ansaetze.encodings import angle_encoding, basis_encoding, zz_feature_map
from qml.ansaetze.hamiltonian import hamiltonian_variational, qaoa
from qml.ansaetze.layered import (
    data_reuploading,
    hardware_efficient,
    strongly_entangling,
    two_local,
)
from qml.ansaetze.particles import particle_conserving

# Any in this file: each function has settings of its own.


@dataclass(frozen=True)
class Row:
    """One function that builds a circuit.

    Attributes:
        function: called with settings, and with ``initial`` where there are Parameters.
        parameters: how many there are, from the same settings.
        formula: that number, for people; n qubits, L layers, E pairs of a pattern.
        settings: of two circuits that differ in size, for tests.
        features: elements of the Input, from the same settings; 0: no Input.
    """

    function: Callable[..., Circuit]
    parameters: Callable[..., int]
    formula: str
    settings: tuple[Mapping[str, Any], Mapping[str, Any]]
    features: Callable[..., int] = lambda **_: 0


def _two_local(num_qubits: int, layers: int, entanglers: str = "cx", **_: Any) -> int:
    angles = (num_qubits - 1) * (entanglers == "rzz")
    return (layers + 1) * num_qubits + layers * angles


def _excitations(num_qubits: int, electrons: int, **_: Any) -> int:
    """Pairs of one spin from either spin's occupied and free orbitals, and mixed pairs."""
    up, down = (electrons + 1) // 2, electrons // 2
    free_up, free_down = (num_qubits + 1) // 2 - up, num_qubits // 2 - down
    singles = up * free_up + down * free_down
    same = comb(up, 2) * comb(free_up, 2) + comb(down, 2) * comb(free_down, 2)
    return singles + same + up * down * free_up * free_down


def _num_parts(parts: PauliSum | Sequence[PauliSum]) -> int:
    if isinstance(parts, PauliSum):
        return sum(bool(label.strip("I")) for label, _ in parts.to_list())
    return len(parts)


_ISING = PauliSum({"IZZ": 1.0, "ZZI": -0.5, "ZIZ": 0.25, "IIZ": 0.75})
_PARTS = (PauliSum({"IZZ": 1.0, "ZZI": 1.0}), PauliSum({"IIX": 0.5, "IXI": 0.5, "XII": 0.5}))
_MIXED = PauliSum({"XYZ": 0.5, "IZZ": 1.0, "III": 3.0, "YII": -1.0})


def _width(num_qubits: int, **_: Any) -> int:
    return num_qubits


def _none(**_: Any) -> int:
    return 0


_ROWS = (
    Row(
        hardware_efficient,
        lambda num_qubits, layers, **_: 2 * num_qubits * layers,
        "2 n L (rotations with one angle, entangler without)",
        ({"num_qubits": 3, "layers": 2}, {"num_qubits": 4, "layers": 1, "entanglement": "full"}),
    ),
    Row(
        two_local,
        _two_local,
        "n (L + 1), and E L with an entangler that has an angle",
        ({"num_qubits": 3, "layers": 2}, {"num_qubits": 4, "layers": 1, "entanglers": "rzz"}),
    ),
    Row(
        strongly_entangling,
        lambda num_qubits, layers: 3 * num_qubits * layers,
        "3 n L",
        ({"num_qubits": 3, "layers": 3}, {"num_qubits": 1, "layers": 2}),
    ),
    Row(
        data_reuploading,
        lambda num_qubits, layers, **_: 3 * num_qubits * layers,
        "3 n L",
        ({"num_qubits": 2, "layers": 2}, {"num_qubits": 3, "layers": 1, "entanglement": "linear"}),
        _width,
    ),
    Row(
        qaoa,
        lambda problem, layers: 2 * layers,
        "2 L",
        ({"problem": _ISING, "layers": 2}, {"problem": [(0, 1), (1, 2, 0.5)], "layers": 1}),
    ),
    Row(
        hamiltonian_variational,
        lambda parts, layers: layers * _num_parts(parts),
        "L times the number of parts",
        ({"parts": _PARTS, "layers": 2}, {"parts": _MIXED, "layers": 1}),
    ),
    Row(
        particle_conserving,
        _excitations,
        "singles + doubles that keep the spin",
        ({"num_qubits": 4, "electrons": 2}, {"num_qubits": 6, "electrons": 3}),
    ),
    Row(
        angle_encoding,
        _none,
        "none",
        ({"num_qubits": 3}, {"num_qubits": 2, "rotation": "rx"}),
        _width,
    ),
    Row(basis_encoding, _none, "none", ({"num_qubits": 3}, {"num_qubits": 1}), _width),
    Row(
        zz_feature_map,
        _none,
        "none",
        ({"num_qubits": 3}, {"num_qubits": 4, "reps": 1, "entanglement": "ring"}),
        _width,
    ),
)

ANSAETZE: Mapping[str, Row] = MappingProxyType({row.function.__name__: row for row in _ROWS})
"""Every ansatz and every encoding that is a circuit, by name."""
