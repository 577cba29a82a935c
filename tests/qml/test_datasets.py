import numpy as np
import pytest

import qml


def test_energies_are_those_of_the_hamiltonian() -> None:
    h2 = qml.load_h2()
    matrix = h2.hamiltonian.matrix(h2.num_qubits)
    assert np.linalg.eigvalsh(matrix)[0] == pytest.approx(h2.exact_energy, abs=1e-12)
    index = int(h2.hartree_fock_state, 2)
    assert matrix[index, index].real == pytest.approx(h2.hartree_fock_energy, abs=1e-12)


def test_metadata() -> None:
    h2 = qml.load_h2()
    assert (h2.name, h2.basis, h2.bond_length, h2.mapping, h2.num_qubits) == (
        "H2",
        "STO-3G",
        0.7,
        "Jordan-Wigner",
        4,
    )
    assert h2.exact_energy < h2.hartree_fock_energy
