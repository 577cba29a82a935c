"""Ansaetze made of a Hamiltonian: QAOA, and the Hamiltonian-variational ansatz."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from circuits import Circuit, PauliSum
from circuits.coefficients import Affine
from qml.ansaetze.building import Initial, new_parameters, numbered, rotate_about
from qml.errors import SettingError
from qml.settings import real, whole

# Any in this file: graphs are duck-typed, so that NetworkX stays optional.


def maxcut_hamiltonian(graph: Any) -> PauliSum:
    """Return H = sum of weight/2 (Z_i Z_j - 1) over the edges: minus the weight that is cut.

    Args:
        graph: a NetworkX graph, whose k-th node is qubit k and whose edges' ``weight`` counts 1
            where there is none; or edges (i, j) or (i, j, weight) of qubits.

    Raises:
        SettingError: no edges, loops, or entries that are none.

    Example:
        >>> import qml
        >>> qml.maxcut_hamiltonian([(0, 1), (1, 2, 3.0)])
        PauliSum({'III': -2.0, 'IZZ': 0.5, 'ZZI': 1.5})
    """
    num_qubits, edges = _edges(graph)
    identity = "I" * num_qubits
    terms: list[tuple[str, float]] = [(identity, -sum(weight for *_, weight in edges) / 2)]
    for a, b, weight in edges:
        letters = ["Z" if q in (a, b) else "I" for q in reversed(range(num_qubits))]
        terms.append(("".join(letters), weight / 2))
    return PauliSum.from_list(terms)


def qaoa(
    problem: Any,
    layers: int,
    *,
    initial: Initial,
    names: tuple[str, str] = ("gamma", "beta"),
) -> Circuit:
    """Build the quantum approximate optimization ansatz, from the uniform superposition.

    Layer k is exp(-i gamma[k] H), then exp(-i beta[k] X) on every qubit.

    Args:
        problem: an Ising Hamiltonian H, a PauliSum of letters Z and I; or a graph, for which H is
            ``maxcut_hamiltonian(graph)``.
        layers: p, at least 1.
        initial: starting values (2p,), all gammas before all betas; one for all, or an initializer.
        names: of the gammas and of the betas.

    Raises:
        SettingError: another Hamiltonian, or a setting outside its range.

    Example:
        >>> import qml
        >>> circuit = qml.qaoa(qml.PauliSum({"ZZI": 1.0, "IZZ": 0.5}), 1, initial=[0.3, 0.2])
        >>> circuit.parameter_names(), circuit.count_ops()
        (['gamma[0]', 'beta[0]'], {'h': 3, 'rx': 3, 'rzz': 2})

    Reference:
        Farhi, Goldstone, Gutmann (2014), arXiv:1411.4028.
    """
    depth = whole(1)("qaoa: layers", layers)
    hamiltonian = problem if isinstance(problem, PauliSum) else maxcut_hamiltonian(problem)
    num_qubits, terms = _terms("qaoa", hamiltonian)
    for label, _ in terms:
        if label.strip("IZ"):
            raise SettingError(
                f"qaoa needs an Ising Hamiltonian with letters Z and I only, got {label!r}. "
                "Use hamiltonian_variational for others."
            )
    every = [*numbered(names[0], depth), *numbered(names[1], depth)]
    made = new_parameters("qaoa", every, initial)
    gammas, betas = made[:depth], made[depth:]
    circuit = Circuit(num_qubits).register(*gammas, *betas).h(range(num_qubits))
    for gamma, beta in zip(gammas, betas, strict=True):
        for label, coefficient in terms:
            rotate_about(circuit, label, 2.0 * coefficient * gamma)
        circuit.rx(2.0 * beta, range(num_qubits))
    return circuit


def hamiltonian_variational(
    parts: PauliSum | Sequence[PauliSum], layers: int, *, initial: Initial, name: str = "theta"
) -> Circuit:
    """Build layers of exp(-i theta H_k), one angle for each part H_k of a Hamiltonian.

    A part's terms follow one another, a first-order Trotter step, exact where they commute.

    Args:
        parts: Hamiltonians of one width; a single one has an angle for each of its terms.
        layers: at least 1.
        initial: starting values (layers * parts,) in radians; one for all, or an initializer.
        name: the Parameters are ``name[0]``, ``name[1]``, ...

    Raises:
        SettingError: no parts, other widths, or coefficients that are no real numbers.

    Example:
        >>> import qml
        >>> ising = [qml.PauliSum({"ZZI": 1.0, "IZZ": 1.0}), qml.PauliSum({"XII": 0.5, "IIX": 0.5})]
        >>> qml.hamiltonian_variational(ising, 2, initial=0.1).count_ops()
        {'rzz': 4, 'rx': 4}

    Reference:
        Wecker, Hastings, Troyer (2015), arXiv:1507.08969.
    """
    what = "hamiltonian_variational"
    depth = whole(1)(f"{what}: layers", layers)
    if isinstance(parts, PauliSum):
        num_qubits, terms = _terms(what, parts)
        groups = [[term] for term in terms]
    else:
        found = [_terms(what, part) for part in parts]
        widths = {width for width, _ in found}
        if len(widths) != 1:
            raise SettingError(
                f"{what} needs parts of one width, got {sorted(widths)}. "
                "Write labels with one letter a qubit."
            )
        num_qubits, groups = widths.pop(), [terms for _, terms in found]
    angles = iter(new_parameters(what, numbered(name, depth * len(groups)), initial))
    circuit = Circuit(num_qubits)
    for _ in range(depth):
        for group in groups:
            angle = next(angles)
            for label, coefficient in group:
                rotate_about(circuit, label, 2.0 * coefficient * angle)
    return circuit


def _terms(what: str, hamiltonian: Any) -> tuple[int, list[tuple[str, float]]]:
    """Return the width and the terms that are no identity, or refuse."""
    if not isinstance(hamiltonian, PauliSum):
        raise SettingError(f"{what} needs a PauliSum, got {type(hamiltonian).__name__}. Build one.")
    listed = hamiltonian.to_list()
    for label, coefficient in listed:
        if isinstance(coefficient, Affine) or complex(coefficient).imag:
            raise SettingError(
                f"{what} needs coefficients that are real numbers, got {coefficient!r} for "
                f"{label!r}. Use float(c); the angles are what is trained."
            )
    terms = [(label, float(cast("float", c).real)) for label, c in listed if label.strip("I")]
    if not terms:
        raise SettingError(f"{what} needs a Hamiltonian with a term besides the identity. Add one.")
    return len(terms[0][0]), terms


def _edges(graph: Any) -> tuple[int, list[tuple[int, int, float]]]:
    """Return the number of qubits, and the edges between them."""
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        place = {node: k for k, node in enumerate(graph.nodes)}
        found = graph.edges(data="weight", default=1.0)
        listed = [(place[a], place[b], weight) for a, b, weight in found]
        num_qubits = len(place)
    else:
        listed = [_edge(entry) for entry in graph] if isinstance(graph, Iterable) else []
        num_qubits = 1 + max([q for a, b, _ in listed for q in (a, b)], default=0)
    check = real()
    edges = [(a, b, check("an edge's weight", weight)) for a, b, weight in listed]
    if not edges or any(a == b for a, b, _ in edges):
        raise SettingError(
            f"maxcut_hamiltonian needs a graph with edges between different nodes, got "
            f"{graph!r:.80}. Leave out loops."
        )
    return num_qubits, edges


def _edge(entry: Any) -> tuple[int, int, Any]:
    if not isinstance(entry, tuple | list) or len(entry) not in (2, 3):
        raise SettingError(
            "maxcut_hamiltonian needs a graph, or edges (i, j) or (i, j, weight), got "
            f"{entry!r:.60}. Write [(0, 1), (1, 2)]."
        )
    node = whole(0)
    a, b = node("a node", entry[0]), node("a node", entry[1])
    return a, b, entry[2] if len(entry) == 3 else 1.0
