"""Initial states, and what is read off a state, against density matrices from definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import random_state

import autodiff as ad
from autodiff import Tensor
from circuits import CapacityError, Circuit, QubitError, StateError, fidelity, overlap
from circuits.state import (
    bloch_vector_of,
    density_matrix_of,
    entropy_of,
    initial_state,
    num_qubits_of,
    probabilities_of,
    purity_of,
    zero_state,
)

WIDTH = 4
SUBSETS = [[0], [3], [0, 1], [2, 0], [3, 1, 0], [3, 2, 1, 0], []]


def states(batch: int | None) -> Tensor:
    made = random_state(np.random.default_rng(0), batch or 1, 1 << WIDTH)
    return Tensor(made if batch else made[0])


def reduced(psi: Any, qubits: list[int]) -> Any:
    """Partial trace by its definition, entry by entry."""
    rest = [q for q in range(WIDTH) if q not in qubits]

    def index(kept: int, other: int) -> int:
        low = sum(((kept >> k) & 1) << q for k, q in enumerate(qubits))
        return low | sum(((other >> k) & 1) << q for k, q in enumerate(rest))

    size = 1 << len(qubits)
    rho = np.zeros((size, size), complex)
    for i in range(size):
        for j in range(size):
            for k in range(1 << len(rest)):
                rho[i, j] += psi[index(i, k)] * psi[index(j, k)].conj()
    return rho


def close(actual: Any, expected: Any) -> None:
    assert actual.shape == np.shape(expected)
    np.testing.assert_allclose(actual.numpy(), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("batch", [None, 1, 3])
@pytest.mark.parametrize("qubits", SUBSETS)
def test_reduced_states(qubits: list[int], batch: int | None) -> None:
    state = states(batch)
    rows = np.atleast_2d(state.numpy())
    lead = state.shape[:-1]
    rho = np.array([reduced(row, qubits) for row in rows])
    levels = np.linalg.eigvalsh(rho).clip(1e-300)
    close(density_matrix_of(state, qubits), rho.reshape((*lead, *rho.shape[1:])))
    diagonal = np.einsum("bii->bi", rho).real
    close(probabilities_of(state, qubits), diagonal.reshape((*lead, -1)))
    close(purity_of(state, qubits), np.einsum("bij,bji->b", rho, rho).real.reshape(lead))
    entropy = -(levels * np.log(levels)).sum(axis=1)
    np.testing.assert_allclose(entropy_of(state, qubits).numpy(), entropy.reshape(lead), atol=1e-12)


@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize("qubit", range(WIDTH))
def test_bloch_vector(qubit: int, batch: int | None) -> None:
    state = states(batch)
    paulis = [[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]]
    rho = [reduced(row, [qubit]) for row in np.atleast_2d(state.numpy())]
    expected = [[np.trace(one @ np.array(p)).real for p in paulis] for one in rho]
    close(bloch_vector_of(state, qubit), np.reshape(expected, (*state.shape[:-1], 3)))


def test_all_qubits_are_the_default() -> None:
    state = states(None)
    close(probabilities_of(state), np.abs(state.numpy()) ** 2)
    close(density_matrix_of(state), np.outer(state.numpy(), state.numpy().conj()))


def test_one_qubit_needs_no_list() -> None:
    state = states(None)
    close(probabilities_of(state, 2), probabilities_of(state, [2]).numpy())
    close(purity_of(state, 2), purity_of(state, [2]).numpy())


def test_qubit_zero_is_the_lowest_bit() -> None:
    state = Circuit(3).x(0).statevector(engine="reference")
    assert state.real.tolist() == [0, 1, 0, 0, 0, 0, 0, 0]
    assert probabilities_of(state, [0, 1]).tolist() == [0, 1, 0, 0]
    assert probabilities_of(state, [1, 0]).tolist() == [0, 0, 1, 0]


def test_product_states_have_entropy_zero_with_a_finite_gradient() -> None:
    state = Tensor(np.eye(8, dtype=complex)[3], requires_grad=True)
    entropy = entropy_of(state, [0, 1])
    entropy.backward()
    assert entropy.item() == pytest.approx(0.0, abs=1e-14)
    assert state.grad is not None
    assert np.isfinite(state.grad.numpy()).all()


def test_bell_pair() -> None:
    state = Circuit(2).h(0).cx(0, 1).statevector(engine="reference")
    assert entropy_of(state, [0]).item() == pytest.approx(np.log(2))
    assert purity_of(state, [1]).item() == pytest.approx(0.5)
    np.testing.assert_allclose(bloch_vector_of(state, 0).numpy(), 0, atol=1e-15)


@pytest.mark.parametrize(("lead", "size"), [((), "512 GiB"), ((3,), r"1\.5 TiB")])
def test_matrices_that_no_machine_holds_are_refused(lead: tuple[int, ...], size: str) -> None:
    start = np.zeros((*lead, 1 << 18), np.complex64)
    start[..., 0] = 1
    with pytest.raises(CapacityError, match=f"a density matrix of 18 qubits needs {size}"):
        density_matrix_of(Tensor(start))
    assert density_matrix_of(Tensor(start), [17, 0]).shape == (*lead, 4, 4)


# -- two states ------------------------------------------------------------------------------------


def test_overlap_and_fidelity() -> None:
    a, b = states(None), Tensor(random_state(np.random.default_rng(1), 1, 16)[0])
    inner = np.vdot(a.numpy(), b.numpy())
    assert overlap(a, b).item() == pytest.approx(inner)
    assert fidelity(a, b).item() == pytest.approx(abs(inner) ** 2)
    assert fidelity(a, a).item() == pytest.approx(1)


def test_overlap_of_batches() -> None:
    a, b = states(3), states(None)
    expected = [np.vdot(row, b.numpy()) for row in a.numpy()]
    np.testing.assert_allclose(overlap(a, b).numpy(), expected)
    np.testing.assert_allclose(overlap(b, a).numpy(), np.conj(expected))


def test_states_of_two_widths_are_refused() -> None:
    with pytest.raises(StateError, match=r"needs states of one width, got \(16,\) and \(8,\)"):
        overlap(states(None), Tensor(np.zeros(8) + 0j))


# -- what is a state -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (np.zeros(4) + 0j, "a complex Tensor of shape"),
        (Tensor(np.zeros(4)), "a complex Tensor of shape"),
        (Tensor(np.zeros((2, 2, 2)) + 0j), "a complex Tensor of shape"),
        (Tensor(0j), "a complex Tensor of shape"),
        (Tensor(np.zeros(3) + 0j), r"2\*\*n amplitudes, got 3"),
        (Tensor(np.zeros(0) + 0j), r"2\*\*n amplitudes, got 0"),
    ],
)
def test_other_things_are_no_states(given: Any, match: str) -> None:
    with pytest.raises(StateError, match=match):
        num_qubits_of(given)
    with pytest.raises(StateError, match=match):
        probabilities_of(given)


@pytest.mark.parametrize("qubits", [[4], [-1], [0, 0], [0.0], ["0"], 4])
def test_bad_qubits_are_refused(qubits: Any) -> None:
    for function in (probabilities_of, density_matrix_of, purity_of, entropy_of):
        with pytest.raises(QubitError, match=r"needs (integer|distinct) qubits"):
            function(states(None), qubits)


def test_zero_state() -> None:
    for n in (0, 1, 15):
        state = zero_state(n, np.dtype(np.complex64))
        assert (state.shape, state.dtype) == ((1 << n,), np.complex64)
        assert state.numpy()[0] == 1
        assert np.count_nonzero(state.numpy()) == 1
    assert zero_state(3, np.dtype(complex)) is zero_state(3, np.dtype(complex))


@pytest.mark.parametrize(
    "given", [np.zeros(3), np.zeros((2, 2, 4)), np.zeros((0, 4)), 1.0, np.zeros((4, 1)), []]
)
def test_initial_states_of_other_shapes_are_refused(given: Any) -> None:
    with pytest.raises(StateError, match=r"needs shape \(4,\) or \(B, 4\), got"):
        initial_state(given, 2, np.dtype(complex))


@pytest.mark.parametrize("given", ["ab", None, [None] * 4, [[1, 0], [1]]])
def test_initial_states_need_numbers(given: Any) -> None:
    if given is None:
        assert initial_state(None, 2, np.dtype(complex)).numpy()[0] == 1
        return
    with pytest.raises(StateError, match="an initial state needs"):
        initial_state(given, 2, np.dtype(complex))


def test_initial_state_takes_the_runs_precision_and_keeps_its_history() -> None:
    start = Tensor([0.6, 0.8], requires_grad=True)
    state = Circuit(1).x(0).statevector(initial_state=start, dtype="complex64", engine="reference")
    assert state.dtype == np.complex64
    ad.abs(state)[0].backward()
    assert start.grad is not None
    assert start.grad.tolist() == [0.0, 1.0]


def test_initial_states_batch_like_everything_else() -> None:
    rows = random_state(np.random.default_rng(0), 3, 4)
    circuit = Circuit(2).cx(0, 1)
    state = circuit.statevector(initial_state=rows, engine="reference")
    np.testing.assert_array_equal(state.numpy(), rows[:, [0, 3, 2, 1]])
