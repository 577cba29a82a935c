"""The Fubini-Study metric of a circuit's Parameters, from the tangents of its state.

A matrix entry that varies with an angle a as combinations of 1, e^{i w a} and e^{-i w a} has the
exact derivative w/2 [U(a + h) - U(a - h)] with h = pi/(2w) (Schuld et al., 2019, arXiv:1811.11184),
and so has the state. A rotation lacks the constant: there U(a - h) = -U(a + h), and one term is
enough. The tangents of all angles are therefore one evolution of a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff import Tensor, enable_grad, no_grad
from circuits import Circuit
from circuits.binding import bind
from circuits.engines.base import Engine
from circuits.execute import evolve
from circuits.plan.steps import Plan, Step
from circuits.run_methods import Run
from qml.optim.circuit_angles import Slot, checked_circuit, refuse_batch, slots_of
from qml.settings import choice

checked_approximation = choice("full", "block-diagonal", "diagonal")


def metric_tensor(
    circuit: Circuit,
    approximation: str = "full",
    *,
    inputs: Mapping[str, Any] | None = None,  # Any: arrays or Tensors, as in Circuit's methods
    engine: str | Engine | None = None,
) -> NDArray[np.float64]:
    """Return the Fubini-Study metric tensor at the Parameters' present values.

        g_ij = Re[<d_i psi|d_j psi> - <d_i psi|psi><psi|d_j psi>]

    It is a quarter of the quantum Fisher information. ``"full"`` evolves P tangents through the
    whole circuit, and holds that many states. The others take the circuit in layers, runs of gates
    no two of which act with different Parameters one after the other on one qubit, and count angles
    of different layers as unrelated; a tangent then only passes its own layer.

    Args:
        circuit: P elements of Parameters in all.
        approximation: ``"full"``, ``"block-diagonal"`` or ``"diagonal"``.
        inputs: features by Input name, ``(size,)`` each.
        engine: see ``Circuit.expectation``.

    Returns:
        ``(P, P)`` float64, symmetric, in the order of ``circuit.parameters()``.

    Raises:
        SettingError: no circuit, another approximation, or a batch of inputs.

    Example:
        >>> from autodiff import Parameter
        >>> circuit = Circuit(1).ry(Parameter(0.5), 0).rz(Parameter(0.1), 0)
        >>> metric_tensor(circuit, engine="reference").diagonal().round(4).tolist()
        [0.25, 0.0575]

    Reference:
        Stokes, Izaac, Killoran, Carleo (2020), arXiv:1909.02108.
    """
    checked_circuit("metric_tensor", circuit, ())
    kind = checked_approximation("metric_tensor: approximation", approximation)
    with no_grad():
        run = circuit._run(inputs=inputs, engine=engine)
        refuse_batch("metric_tensor", run)
        by_slot = _slot_metric(run, slots_of(circuit), layered=kind != "full")
    rates = _rates(circuit, inputs, len(by_slot))
    metric = rates.T @ by_slot @ rates
    metric = (metric + metric.T) / 2  # exactly symmetric, which products are up to rounding
    return np.diag(np.diag(metric)) if kind == "diagonal" else metric


def _slot_metric(run: Run, slots: Sequence[Slot], *, layered: bool) -> NDArray[np.float64]:
    """The metric of the angles, ``(S, S)``."""
    metric = np.zeros((len(slots), len(slots)))
    angles = run.angles.numpy()
    state = run.state
    for steps in _layers(run.plan) if layered else [run.plan.steps]:
        columns = [column for step in steps for column in step.slots]
        shifts, factors = _shifts([slots[column] for column in columns])
        batch = np.repeat(angles[None], 1 + len(shifts), axis=0)
        for row, (k, shift) in enumerate(shifts, start=1):
            batch[row, columns[k]] += shift
        part = Plan(run.plan.num_qubits, tuple(steps), run.plan.num_slots, run.plan.num_matrices)
        given = Tensor(batch, device=run.angles.device)
        states = evolve(state, given, run.matrices, part, run.engine)
        state = states[0]
        rows = states.numpy().astype(np.complex128)
        psi, tangents = rows[0], factors @ rows[1:]
        along = tangents.conj() @ psi
        gram = tangents.conj() @ tangents.T - np.outer(along, along.conj())
        metric[np.ix_(columns, columns)] = gram.real
    return metric


def _shifts(slots: Sequence[Slot]) -> tuple[list[tuple[int, float]], NDArray[np.float64]]:
    """Return the shifts (position of the slot, radians), and the factors ``(S, number of shifts)``.

    Tangent k is the sum over shifts s of factors[k, s] psi_s.
    """
    terms = []
    for k, slot in enumerate(slots):
        w = max(map(abs, slot.spectrum))
        if set(slot.spectrum) == {-w, w}:
            terms.append((k, pi / (2 * w), w))
        else:
            terms += [(k, pi / (2 * w), w / 2), (k, -pi / (2 * w), -w / 2)]
    factors = np.zeros((len(slots), len(terms)))
    for s, (k, _, factor) in enumerate(terms):
        factors[k, s] = factor
    return [(k, shift) for k, shift, _ in terms], factors


def _layers(plan: Plan) -> Iterator[list[Step]]:
    """Cut a plan before every step that depends on a trained step of the same layer."""
    layer: list[Step] = []
    reached = 0  # qubits that a trained step of the layer has acted on, directly or not
    for step in plan.steps:
        qubits = sum(1 << q for q in (*step.controls, *step.targets))
        if step.slots and qubits & reached:
            yield layer
            layer, reached = [], 0
        layer.append(step)
        if step.slots or qubits & reached:
            reached |= qubits
    yield layer


def _rates(
    circuit: Circuit, inputs: Mapping[str, Any] | None, num_slots: int
) -> NDArray[np.float64]:
    """The derivatives of all angles by all elements, ``(S, P)``: one pass over S equal samples."""
    parameters = circuit.parameters()
    if not parameters or not num_slots:
        return np.zeros((num_slots, sum(p.numel() for p in parameters)))
    values = np.concatenate([p.numpy().reshape(-1) for p in parameters])
    rows = Tensor(np.repeat(values[None], num_slots, axis=0), requires_grad=True)
    with enable_grad():
        angles = bind(circuit, inputs, rows).angles()
        angles.backward(gradient=Tensor(np.eye(num_slots), dtype=angles.dtype))
    assert rows.grad is not None
    return rows.grad.numpy().astype(np.float64)
