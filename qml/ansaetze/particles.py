"""Ansaetze that keep the number of particles: excitations between orbitals, one qubit each."""

from __future__ import annotations

from itertools import combinations
from math import pi
from typing import Any

from circuits import Circuit
from qml.ansaetze.building import Initial, new_parameters, numbered
from qml.errors import SettingError
from qml.settings import whole

# Any in this file: an angle is a number, a Parameter or an expression of them.


def single_excitation(angle: Any) -> Circuit:
    """Move a particle from qubit 0 to qubit 1, exactly, with one gate.

    |01> becomes cos(angle/2) |01> + sin(angle/2) |10>, |10> becomes cos(angle/2) |10> -
    sin(angle/2) |01>; |00> and |11> stay.

    Args:
        angle: in radians; a number, a Parameter or an expression.

    Raises:
        AngleError: anything else.

    Example:
        >>> import numpy as np
        >>> import qml
        >>> circuit = qml.Circuit(2).x(0).append(qml.single_excitation(np.pi), [0, 1])
        >>> circuit.probabilities(engine="reference").numpy().round(12).tolist()
        [0.0, 0.0, 1.0, 0.0]

    Reference:
        Arrazola et al. (2022), arXiv:2106.13839.
    """
    # exp(-i angle/2 (cos beta X + sin beta Y)) on |01>, |10>; beta = pi/2 makes it real.
    return Circuit(2).append("xx_plus_yy", [0, 1], [angle, pi / 2])


def double_excitation(angle: Any) -> Circuit:
    """Move two particles from qubits 0 and 1 to qubits 2 and 3, exactly.

    |0011> becomes cos(angle/2) |0011> + sin(angle/2) |1100>, |1100> becomes cos(angle/2) |1100> -
    sin(angle/2) |0011>; all other basis states stay.

    Args:
        angle: in radians; a number, a Parameter or an expression.

    Raises:
        AngleError: anything else.

    Example:
        >>> import numpy as np
        >>> import qml
        >>> circuit = qml.Circuit(4).x(0).x(1).append(qml.double_excitation(np.pi), range(4))
        >>> circuit.counts(10, seed=0, engine="reference")
        {'1100': 10}

    Reference:
        Arrazola et al. (2022), arXiv:2106.13839.
    """
    # CX from qubit 0 makes |0011> and |1100> differ there only; a controlled RY turns these two.
    ladder = Circuit(4).cx(0, 1).cx(0, 2).cx(0, 3)
    circuit = ladder.copy()
    circuit.append("ry", [0], [-1.0 * angle], controls=[1, 2, 3], ctrl_state="110")
    return circuit.compose(ladder.inverse())


def excitations(
    num_qubits: int, electrons: int
) -> tuple[list[tuple[int, int]], list[tuple[int, int, int, int]]]:
    """Return the excitations that keep the spin: qubits that give, then qubits that receive.

    Even qubits are orbitals with spin up, odd ones with spin down; the first ones are occupied.

    Args:
        num_qubits: number of spin orbitals.
        electrons: how many are occupied, at most ``num_qubits``.

    Returns:
        Singles (from, to) and doubles (from, from, to, to).

    Raises:
        SettingError: other numbers.

    Example:
        >>> import qml
        >>> qml.excitations(4, 2)
        ([(0, 2), (1, 3)], [(0, 1, 2, 3)])
    """
    n = whole(1)("excitations: num_qubits", num_qubits)
    count = whole(0)("excitations: electrons", electrons)
    if count > n:
        raise SettingError(
            f"excitations: electrons needs at most {n}, one a qubit, got {count}. Add qubits."
        )
    occupied, free = range(count), range(count, n)
    singles = [(a, r) for a in occupied for r in free if a % 2 == r % 2]
    doubles = [
        (a, b, r, s)
        for a, b in combinations(occupied, 2)
        for r, s in combinations(free, 2)
        if a % 2 + b % 2 == r % 2 + s % 2
    ]
    return singles, doubles


def particle_conserving(
    num_qubits: int, electrons: int, *, initial: Initial, name: str = "theta"
) -> Circuit:
    """Build all double, then all single excitations that keep the spin, from the occupied state.

    Orbitals are numbered as in ``excitations``. The signs that fermions get from the orbitals in
    between are left out: these are the excitations of qubits.

    Args:
        num_qubits: number of spin orbitals.
        electrons: how many of them, from qubit 0 on, are occupied at first.
        initial: starting values (P,) in radians; one for all, or an initializer.
        name: the Parameters are ``name[0]``, ``name[1]``, ...

    Raises:
        SettingError: other numbers.

    Example:
        >>> import qml
        >>> circuit = qml.particle_conserving(4, 2, initial=0.1)
        >>> circuit.expectation(qml.Projector("0000"), engine="reference").item()
        0.0

    Reference:
        Arrazola et al. (2022), arXiv:2106.13839.
    """
    singles, doubles = excitations(num_qubits, electrons)
    count = len(singles) + len(doubles)
    angles = iter(new_parameters("particle_conserving", numbered(name, count), initial))
    circuit = Circuit(num_qubits)
    for q in range(electrons):
        circuit.x(q)
    for four in doubles:
        circuit.append(double_excitation(next(angles)), four)
    for two in singles:
        circuit.append(single_excitation(next(angles)), two)
    return circuit
