"""The gate table: one row per gate. Everything else about gates is derived from it.

To add a gate, write one row. Circuit methods, lowering, inverses, derivatives, Qiskit names,
drawing, docs pages and tests follow. Angles are in radians, RP(t) = exp(-i t P / 2); names,
matrices and bit order are Qiskit's.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from math import pi
from types import MappingProxyType
from typing import Any

import numpy as np

from circuits import gate_matrices as gm
from circuits.errors import GateError
from circuits.gate_row import Angles, Gate, Payload, build_table, negated
from circuits.plan.steps import ComplexArray, MatrixFunction, Structure

_HALF, _UNIT, _CONJUGATED = (-0.5, 0.5), (0.0, 1.0), (-1.0, 0.0, 1.0)
_DENSE, _DIAGONAL = Structure.DENSE, Structure.DIAGONAL
_PERMUTATION, _ROTATION = Structure.PERMUTATION, Structure.ROTATION


def _inverse_u(angles: Angles) -> Angles:
    """u(theta, phi, lam)^-1 = u(-theta, -lam, -phi); a fourth angle, the phase, changes sign."""
    theta, phi, lam, *phase = angles
    return (-theta, -lam, -phi, *negated(tuple(phase)))


def _inverse_u2(angles: Angles) -> Angles:
    phi, lam = angles
    return (-lam - pi, -phi + pi)


def _inverse_about_axis(angles: Angles) -> Angles:
    """exp(-i theta G(phi))^-1 turns back about the same axis."""
    return (-angles[0], *angles[1:])


def _moves(name: str, doc: str, images: list[int], qiskit: str, **fields: Any) -> Gate:
    """Row of a permutation of basis states."""
    size = len(images).bit_length() - 1
    permutation = np.array(images, np.int64)
    permutation.flags.writeable = False
    return Gate(name, doc, _PERMUTATION, size, permutation=permutation, qiskit=qiskit, **fields)


def _fixed(name: str, doc: str, matrix: ComplexArray, qiskit: str, **fields: Any) -> Gate:
    """Row of a constant matrix, or diagonal."""
    size = len(matrix).bit_length() - 1
    structure = _DIAGONAL if matrix.ndim == 1 else _DENSE
    return Gate(name, doc, structure, size, matrix=matrix, qiskit=qiskit, **fields)


def _rotation(name: str, word: str, doc: str, qiskit: str) -> Gate:
    """Row of exp(-i theta/2 P)."""
    return Gate(name, doc, _ROTATION, len(word), ("theta",), word=word, qiskit=qiskit)


def _turns(
    name: str,
    doc: str,
    size: int,
    function: MatrixFunction,
    spectra: Mapping[str, tuple[float, ...]],
    qiskit: str,
    **fields: Any,
) -> Gate:
    """Row of a dense matrix function; ``spectra`` are those of its angles, by name."""
    angles = {"params": tuple(spectra), "spectra": tuple(spectra.values())}
    fields = {"structure": _DENSE, **angles, **fields}
    return Gate(name, doc, num_qubits=size, function=function, qiskit=qiskit, **fields)


def _carries(name: str, doc: str, structure: Structure, payload: Payload, qiskit: str) -> Gate:
    """Row of a gate whose instructions bring what acts."""
    symbol = name.removeprefix("basis_").capitalize()
    return Gate(name, doc, structure, None, payload=payload, qiskit=qiskit, symbol=symbol)


_THETA = {"theta": _UNIT}
_U = {"theta": _HALF, "phi": _UNIT, "lam": _UNIT}
_U2 = {"phi": _UNIT, "lam": _UNIT}
_XX_YY = {"theta": (-0.5, 0.0, 0.5), "beta": _CONJUGATED}
_AXIS = {"theta": _HALF, "phi": _CONJUGATED}

_PLAIN = [
    _moves("id", "does nothing", [0, 1], "IGate", aliases=("i",), symbol="I"),
    _moves("x", "Pauli X, the bit flip", [1, 0], "XGate"),
    _fixed("y", "Pauli Y", gm.Y, "YGate"),
    _fixed("z", "Pauli Z, the phase flip", gm.Z_DIAGONAL, "ZGate"),
    _fixed("h", "Hadamard", gm.H, "HGate"),
    _fixed("s", "square root of Z", gm.S_DIAGONAL, "SGate", inverse="sdg"),
    _fixed("sdg", "inverse of s", gm.SDG_DIAGONAL, "SdgGate", inverse="s", symbol="S†"),
    _fixed("t", "fourth root of Z", gm.T_DIAGONAL, "TGate", inverse="tdg"),
    _fixed("tdg", "inverse of t", gm.TDG_DIAGONAL, "TdgGate", inverse="t", symbol="T†"),
    _fixed("sx", "square root of X", gm.SX, "SXGate", inverse="sxdg", symbol="√X"),
    _fixed("sxdg", "inverse of sx", gm.SXDG, "SXdgGate", inverse="sx", symbol="√X†"),
    _rotation("rx", "X", "rotation about X", "RXGate"),
    _rotation("ry", "Y", "rotation about Y", "RYGate"),
    _rotation("rz", "Z", "rotation about Z", "RZGate"),
    _rotation("rxx", "XX", "rotation about XX", "RXXGate"),
    _rotation("ryy", "YY", "rotation about YY", "RYYGate"),
    _rotation("rzz", "ZZ", "rotation about ZZ", "RZZGate"),
    _rotation("rzx", "ZX", "rotation about Z on the first qubit, X on the second", "RZXGate"),
    _turns(
        "p",
        "phase e^{i theta} on state 1",
        1,
        gm.phase,
        _THETA,
        "PhaseGate",
        structure=_DIAGONAL,
        aliases=("phase",),
    ),
    _turns("u1", "older name of p", 1, gm.phase, _THETA, "U1Gate", structure=_DIAGONAL),
    _turns(
        "global_phase",
        "phase e^{i theta} of the whole state",
        0,
        gm.global_phase,
        {"theta": (1.0,)},
        "GlobalPhaseGate",
        structure=_DIAGONAL,
        symbol="phase",
    ),
    _turns(
        "u",
        "P(phi) RY(theta) P(lam), any one-qubit gate up to a phase",
        1,
        gm.u,
        _U,
        "UGate",
        inverse_angles=_inverse_u,
    ),
    _turns("u2", "u(pi/2, phi, lam)", 1, gm.u2, _U2, "U2Gate", inverse_angles=_inverse_u2),
    _turns("u3", "older name of u", 1, gm.u, _U, "U3Gate", inverse_angles=_inverse_u),
    _turns(
        "r",
        "rotation about cos phi X + sin phi Y",
        1,
        gm.r,
        _AXIS,
        "RGate",
        inverse_angles=_inverse_about_axis,
    ),
    _turns(
        "xx_plus_yy",
        "r(theta, beta) on the states 01 and 10",
        2,
        gm.xx_plus_yy,
        _XX_YY,
        "XXPlusYYGate",
        inverse_angles=_inverse_about_axis,
        symbol="XX+YY",
    ),
    _turns(
        "xx_minus_yy",
        "r(theta, beta) on the states 00 and 11",
        2,
        gm.xx_minus_yy,
        _XX_YY,
        "XXMinusYYGate",
        inverse_angles=_inverse_about_axis,
        symbol="XX-YY",
    ),
    _turns(
        "cu",
        "controlled e^{i gamma} u(theta, phi, lam)",
        1,
        gm.u_with_phase,
        {**_U, "gamma": (1.0,)},
        "CUGate",
        inverse_angles=_inverse_u,
        num_controls=1,
        symbol="U",
    ),
    _moves("swap", "exchanges two qubits", [0, 2, 1, 3], "SwapGate", symbol="×"),
    _moves("dcx", "two cx in opposite directions", [0, 2, 3, 1], "DCXGate", inverse=None),
    _fixed("iswap", "swap with a phase i on 01 and 10", gm.ISWAP, "iSwapGate", inverse=None),
    _fixed("ecr", "echoed cross-resonance, (IX - XY) / sqrt 2", gm.ECR, "ECRGate"),
    _fixed("rccx", "ccx up to relative phases", gm.RCCX, "RCCXGate"),
    _fixed("rcccx", "c3x up to relative phases", gm.RCCCX, "RC3XGate", inverse=None),
    _carries("unitary", "a unitary matrix", _DENSE, Payload.MATRIX, "UnitaryGate"),
    _carries("diagonal", "a diagonal of phases", _DIAGONAL, Payload.DIAGONAL, "DiagonalGate"),
    _carries(
        "permutation",
        "target j receives what target pattern[j] held",
        _PERMUTATION,
        Payload.PATTERN,
        "PermutationGate",
    ),
    _carries(
        "basis_permutation", "basis state j moves to images[j]", _PERMUTATION, Payload.IMAGES, ""
    ),
    _carries("pauli", "a Pauli word", _ROTATION, Payload.LABEL, "PauliGate"),
    Gate(
        "pauli_rotation",
        "rotation about a Pauli word",
        _ROTATION,
        None,
        ("theta",),
        payload=Payload.LABEL,
        qiskit="PauliProductRotationGate",
        symbol="R",
    ),
]
_BASES = {row.name: row for row in _PLAIN}


def _controlled(name: str, base: str, num_controls: int | None = 1, **fields: Any) -> Gate:
    """Row of a controlled gate: its base's row under another name."""
    row = _BASES[base]
    count = {1: "", 2: "two-", 3: "three-", None: "multi-"}[num_controls]
    changed = {
        "doc": f"{count}controlled {base}",
        "aliases": (),
        "symbol": row.symbol or base.upper(),
    }
    return replace(row, name=name, base=base, num_controls=num_controls, **(changed | fields))


_CONTROLLED = [
    _controlled("cx", "x", aliases=("cnot",), qiskit="CXGate"),
    _controlled("cy", "y", qiskit="CYGate"),
    _controlled("cz", "z", qiskit="CZGate"),
    _controlled("ch", "h", qiskit="CHGate"),
    _controlled("cs", "s", inverse="csdg", qiskit="CSGate"),
    _controlled("csdg", "sdg", inverse="cs", qiskit="CSdgGate"),
    _controlled("csx", "sx", inverse="sxdg", qiskit="CSXGate"),
    _controlled("cp", "p", aliases=("cphase",), qiskit="CPhaseGate"),
    _controlled("cu1", "u1", qiskit="CU1Gate"),
    _controlled("crx", "rx", qiskit="CRXGate"),
    _controlled("cry", "ry", qiskit="CRYGate"),
    _controlled("crz", "rz", qiskit="CRZGate"),
    _controlled("cu3", "u3", qiskit="CU3Gate"),
    _controlled("cswap", "swap", aliases=("fredkin",), qiskit="CSwapGate"),
    _controlled("ccx", "x", 2, aliases=("toffoli", "ccnot"), qiskit="CCXGate"),
    _controlled("ccz", "z", 2, qiskit="CCZGate"),
    _controlled("c3sx", "sx", 3, inverse="sxdg", qiskit="C3SXGate"),
    _controlled("mcx", "x", None, qiskit="MCXGate"),
    _controlled("mcphase", "p", None, aliases=("mcp",), qiskit="MCPhaseGate"),
]


_TABLE, _NAMES = build_table([*_PLAIN, *_CONTROLLED])

GATES: Mapping[str, Gate] = MappingProxyType(_TABLE)
"""Every gate by its name. Aliases are accepted by :func:`gate`."""


def gate(name: str) -> Gate:
    """Return the row of a gate.

    Args:
        name: Qiskit's name, or an alias.

    Raises:
        GateError: there is no such gate.

    Example:
        >>> gate("cnot").name
        'cx'
        >>> gate("rzz").word
        'ZZ'
    """
    if isinstance(name, str) and name in _NAMES:
        return GATES[_NAMES[name]]
    close = get_close_matches(str(name).lower(), _NAMES, n=3)
    hint = "circuits.GATES lists them."
    if not isinstance(name, str):
        hint = "Give the name as text, such as 'cx'."
    elif close:
        hint = f"Did you mean {' or '.join(map(repr, close))}?"
    raise GateError(
        f"gate name needs one of the {len(GATES)} standard gates, got {name!r:.60}. {hint}"
    )


# Any: arrays, or matrices of a layer above that can be conjugated and transposed.
_PAYLOAD_INVERSES: Mapping[Payload | None, Callable[[Any], Any]] = {
    Payload.MATRIX: lambda matrix: matrix.conj().T,
    Payload.DIAGONAL: lambda diagonal: diagonal.conj(),
    Payload.IMAGES: np.argsort,
    Payload.PATTERN: np.argsort,
}
_ADJOINTS = {_DENSE: "unitary", _DIAGONAL: "diagonal", _PERMUTATION: "basis_permutation"}


def inverted(row: Gate, angles: Angles, payload: Any = None) -> tuple[Gate, Angles, Any]:
    """Return row, angles and payload of the inverse, on the same controls and targets.

    Args:
        row: the gate.
        angles: its angles, numbers or symbolic.
        payload: what the instruction carries: an array, a label, or a matrix with ``conj`` and
            ``T``.

    Example:
        >>> inverse, angles, _ = inverted(gate("u"), (0.1, 0.2, 0.3))
        >>> inverse.name, angles
        ('u', (-0.1, -0.3, -0.2))
    """
    if row.inverse is not None:
        undo = _PAYLOAD_INVERSES.get(row.payload, lambda kept: kept)
        return gate(row.inverse), row.inverse_angles(angles), undo(payload)
    adjoint = gate(_ADJOINTS[row.structure])
    action = row.matrix if row.permutation is None else row.permutation
    return adjoint, (), _PAYLOAD_INVERSES[adjoint.payload](action)


def _by_name(row: Gate) -> tuple[Callable[[str], Gate], tuple[str]]:
    if GATES.get(row.name) is not row:
        raise GateError(
            f"pickling needs gates of the table, got the row {row.name!r} of another. "
            "Keep the code that makes it, and make it again."
        )
    return gate, (row.name,)


# A row is copied and pickled as its name.
copyreg.pickle(Gate, _by_name)
