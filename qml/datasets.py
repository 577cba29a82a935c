"""Problems that come with the package."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files

from circuits import PauliSum


@dataclass(frozen=True)
class Molecule:
    """A molecule's electronic structure problem on qubits. Energies are in hartree.

    Attributes:
        name: its formula.
        basis: the set of basis functions.
        bond_length: in angstrom.
        mapping: of orbitals to qubits.
        num_qubits: width of the Hamiltonian.
        hamiltonian: electronic and nuclear energy.
        exact_energy: the Hamiltonian's lowest eigenvalue.
        hartree_fock_energy: the energy of the best single determinant.
        hartree_fock_state: that determinant as bits, qubit 0 rightmost.
    """

    name: str
    basis: str
    bond_length: float
    mapping: str
    num_qubits: int
    hamiltonian: PauliSum
    exact_energy: float
    hartree_fock_energy: float
    hartree_fock_state: str


CHEMICAL_ACCURACY = 1.6e-3
"""1 kcal/mol, the error that chemistry tolerates, in hartree."""


def load_h2() -> Molecule:
    """Return molecular hydrogen in the STO-3G basis at 0.70 angstrom, Jordan-Wigner, 4 qubits.

    >>> h2 = load_h2()
    >>> h2.num_qubits, h2.hartree_fock_state, round(h2.exact_energy, 4)
    (4, '0011', -1.1362)
    """
    text = files("qml").joinpath("data/h2_sto3g_0.70A.json").read_text(encoding="utf-8")
    data = json.loads(text)
    return Molecule(
        name=data["molecule"],
        basis=data["basis"],
        bond_length=data["bond_length_angstrom"],
        mapping=data["mapping"],
        num_qubits=data["num_qubits"],
        hamiltonian=PauliSum.from_list([(label, value) for label, value in data["terms"]]),
        exact_energy=data["exact_ground_energy"],
        hartree_fock_energy=data["hartree_fock_energy"],
        hartree_fock_state=data["hartree_fock_basis_state"],
    )
