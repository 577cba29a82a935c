from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import numpy as np
import pytest
from scipy.linalg import expm

import qml
from qml.errors import SettingError

ISING = qml.PauliSum({"IZZ": 1.0, "ZIZ": -0.5, "ZII": 0.25, "ZZZ": 0.3, "III": 7.0})


class Graph:
    """What NetworkX's graphs look like: nodes of any kind, edges with data."""

    nodes = ("a", "b", "c")

    @staticmethod
    def edges(data: str, default: float) -> Iterator[tuple[str, str, float]]:
        assert data == "weight"
        yield from [("a", "b", default), ("c", "b", 2.5)]


def test_maxcut_counts_what_is_cut() -> None:
    edges = [(0, 1, 1.0), (1, 2, 2.0), (2, 3, 0.5), (0, 2, 1.5)]
    diagonal = np.diag(qml.maxcut_hamiltonian(edges).matrix()).real
    for index in range(16):
        sides = [index >> q & 1 for q in range(4)]
        cut = sum(weight for a, b, weight in edges if sides[a] != sides[b])
        assert diagonal[index] == pytest.approx(-cut)


def test_graphs_are_duck_typed() -> None:
    assert qml.maxcut_hamiltonian(Graph()) == qml.maxcut_hamiltonian([(0, 1), (2, 1, 2.5)])


BAD_GRAPHS = [
    ([], "edges between different nodes"),
    ([(1, 1)], "edges between different nodes"),
    (3, "edges between different nodes"),
    ([(0, 1, 2, 3)], r"edges \(i, j\) or \(i, j, weight\)"),
    ([0, 1], "edges"),
    ([(0, -1)], "a node needs an integer of at least 0"),
    ([(0, 1, float("nan"))], "an edge's weight needs a finite number"),
]


@pytest.mark.parametrize(("graph", "match"), BAD_GRAPHS)
def test_bad_graphs_are_refused(graph: object, match: str) -> None:
    with pytest.raises(SettingError, match=match):
        qml.maxcut_hamiltonian(graph)


def test_qaoa_is_its_formula() -> None:
    angles = np.array([0.3, 0.7, 0.2, -0.4])
    circuit = qml.qaoa(ISING, 2, initial=angles)
    assert circuit.parameter_names() == ["gamma[0]", "gamma[1]", "beta[0]", "beta[1]"]
    mixer = sum(qml.PauliSum({label: 1.0}).matrix() for label in ("IIX", "IXI", "XII"))
    problem = ISING.matrix() - 7.0 * np.eye(8)
    state = np.full(8, 8**-0.5, complex)
    for gamma, beta in zip(angles[:2], angles[2:], strict=True):
        state = expm(-1j * beta * mixer) @ expm(-1j * gamma * problem) @ state
    np.testing.assert_allclose(circuit.statevector().numpy(), state, atol=1e-13)


def test_qaoa_takes_a_graph() -> None:
    edges = [(0, 1), (1, 2), (0, 2)]
    hamiltonian = qml.maxcut_hamiltonian(edges)
    from_graph, from_sum = (qml.qaoa(x, 1, initial=0.4) for x in (edges, hamiltonian))
    np.testing.assert_array_equal(from_graph.statevector().numpy(), from_sum.statevector().numpy())


def test_trotter_layer_is_the_product_of_exponentials() -> None:
    parts = [qml.PauliSum({"XXI": 1.0, "IZZ": 0.5}), qml.PauliSum({"YIY": -0.7, "III": 2.0})]
    angles = [0.3, 0.8, -0.2, 0.1]
    circuit = qml.hamiltonian_variational(parts, 2, initial=angles)
    steps = []
    for layer in range(2):
        first, second = angles[2 * layer : 2 * layer + 2]
        steps += [(first, "XXI", 1.0), (first, "IZZ", 0.5), (second, "YIY", -0.7)]
    factors = [expm(-1j * t * c * qml.PauliSum({w: 1.0}).matrix()) for t, w, c in steps]
    wanted = reduce(lambda done, factor: factor @ done, factors)
    np.testing.assert_allclose(circuit.unitary().numpy(), wanted, atol=1e-13)


def test_single_hamiltonian_has_an_angle_a_term() -> None:
    circuit = qml.hamiltonian_variational(ISING, 2, initial=0.1)
    assert len(circuit.parameters()) == 2 * 4


BAD = [
    (qml.qaoa, qml.PauliSum({"XZ": 1.0}), "letters Z and I only, got 'XZ'"),
    (qml.qaoa, qml.PauliSum({"II": 1.0}), "with a term besides the identity"),
    (qml.qaoa, qml.PauliSum({"ZZ": 1j}), "coefficients that are real numbers, got 1j for 'ZZ'"),
    (qml.qaoa, qml.PauliSum({"ZZ": qml.Parameter(1.0)}), "real numbers, got .* for 'ZZ'"),
    (qml.hamiltonian_variational, [], "parts of one width, got"),
    (
        qml.hamiltonian_variational,
        [qml.PauliSum({"ZZ": 1.0}), qml.PauliSum({"Z": 1.0})],
        r"parts of one width, got \[1, 2\]",
    ),
    (qml.hamiltonian_variational, ["ZZ"], "needs a PauliSum, got str"),
]


@pytest.mark.parametrize(("function", "problem", "match"), BAD)
def test_bad_hamiltonians_are_refused(function: object, problem: object, match: str) -> None:
    with pytest.raises(SettingError, match=match):
        function(problem, 1, initial=0.1)
