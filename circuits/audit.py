"""Gradient audit: every way to a circuit's gradient, side by side, and the gate where one errs.

Right is what central differences of values give, with matrices from the gate table's functions
(``dense``). Compared with them: the parameter-shift rule, the tape on dense matrices, and the
adjoint sweep of every engine, with its passes, as ``expectation`` runs it. An engine that differs
is run on the circuit's beginnings until the gate is found with which it begins to differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from autodiff import Tensor
from autodiff.device import backend_of, canonical_device
from autodiff.dtypes import DType
from circuits import binding
from circuits.audit_case import AuditCase, beginning, central_differences, random_cotangent
from circuits.audit_report import RIGHT, AuditReport, AuditRow, Fault
from circuits.circuit import Circuit
from circuits.dense import matrix_by_function, matrix_on_tape
from circuits.engines.base import Engine
from circuits.engines.registry import DEVICE_ENGINES, ENGINES, get_engine
from circuits.errors import AngleError, BindingError
from circuits.observable_base import Observable
from circuits.plan.light_cone import observed
from circuits.plan.steps import RealArray
from circuits.run_methods import checked_dtype

# Any in this file: inputs and values, as a run takes them.

_ATOL = {np.dtype(np.complex128): 1e-8, np.dtype(np.complex64): 2e-4}
"""Of derivatives, relative to the largest value that the observable can have."""

_CHAIN_ATOL = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 2e-2}
"""Of derivatives by Parameters, through expressions that may bend, in their own dtype."""

_TABLE_ATOL = 1e-8
"""Of the entries of a gate's matrix and of its derivatives."""


def audit_gradients(
    circuit: Circuit,
    observable: Observable,
    *,
    inputs: Mapping[str, Any] | None = None,
    values: Any = None,
    engines: Sequence[str | Engine] | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> AuditReport:
    """Compare all ways to a circuit's gradient, and name the gate where one of them is wrong.

    Takes some hundred times as long as a gradient; meant for up to 16 qubits.

    Args:
        circuit: the circuit.
        observable: what is measured, with present coefficients.
        inputs: features by Input name, ``(size,)`` each.
        values: in place of the Parameters' values, ``(P,)`` or a mapping.
        engines: names, or engines of your own; None for all that are made for the device.
        dtype: complex64 or complex128, the default, for the engines.
        device: where the engines run; None: on the CPU.

    Returns:
        A table with a row for each angle of each gate and for each Parameter, and the faults.

    Raises:
        BindingError: a batch, or values that do not fit.
        ObservableError: not Hermitian, or of another width.
        CapacityError: the tape of dense matrices does not fit the memory.
        DeviceUnavailable: this version or machine has no such device.

    Example:
        >>> from circuits import Circuit, Parameter, Z
        >>> t = Parameter(0.3, name="t")
        >>> report = audit_gradients(Circuit(2).rx(2 * t, 0).crx(t, 0, 1), Z(1))
        >>> report.ok, [(row.gate, row.angle) for row in report.rows]
        (True, [('rx', '2*t'), ('crx', 't'), ('', 't')])
    """
    if not isinstance(circuit, Circuit):
        raise BindingError(
            f"audit_gradients needs a Circuit, got {type(circuit).__name__}. "
            "Write audit_gradients(circuit, observable)."
        )
    precision = checked_dtype(np.complex128 if dtype is None else dtype)
    bound = binding.bind(circuit, inputs, values)
    if bound.batch is not None:
        raise BindingError(
            f"audit_gradients needs a single sample, got a batch of {bound.batch}. Audit one row."
        )
    place = canonical_device(device)
    case = AuditCase.of(circuit, observable, bound, place)
    _refuse_not_finite(case)
    names = _engines_on(place) if engines is None else engines
    chosen = _labelled([get_engine(engine, place) for engine in names])
    atol = case.scale * _ATOL[precision]
    columns = {
        RIGHT: case.differences(),
        "shift rule": case.shifted(),
        "tape": case.on_tape(),
    }
    values_found = {RIGHT: case.value()}
    for label, engine in chosen.items():
        values_found[label], columns[label] = case.by_engine(engine, precision)
    rows = _angle_rows(case, columns, atol)
    faults = [*_table_faults(case), *_light_cone_faults(case)]
    for label, engine in chosen.items():
        apart = not abs(values_found[label] - values_found[RIGHT]) <= atol
        if apart or any(label in row.off for row in rows):
            faults.append(_engine_fault(case, label, engine, precision, atol))
    rows += _parameter_rows(case, columns[RIGHT])
    faults += [fault for row in rows for fault in _row_faults(row)]
    return AuditReport(tuple(rows), values_found, tuple(faults))


def _refuse_not_finite(case: AuditCase) -> None:
    bad = ~np.isfinite(case.angles)
    if bad.any():
        k = int(np.argmax(bad))
        gate = case.occurrences[k]
        raise AngleError(
            f"audit_gradients needs finite angles, got {case.angles[k]} for {case.texts[k]} of "
            f"gate {gate.position}, {gate.instruction.name}. Assign other values."
        )


def _engines_on(device: str) -> list[str]:
    return list(DEVICE_ENGINES if backend_of(device).family == "cupy" else ENGINES)


def _labelled(engines: Sequence[Engine]) -> dict[str, Engine]:
    """Return engines by name; of several with one name, the later ones by class."""
    found: dict[str, Engine] = {}
    for engine in engines:
        label = type(engine).__name__ if engine.name in found else engine.name
        found[label] = engine
    return found


def _angle_rows(case: AuditCase, columns: Mapping[str, RealArray], atol: float) -> list[AuditRow]:
    return [
        AuditRow(
            o.position,
            o.instruction.name,
            o.instruction.qubits,
            o.slot,
            case.texts[k],
            {method: float(column[k]) for method, column in columns.items()},
            atol,
        )
        for k, o in enumerate(case.occurrences)
    ]


def _row_faults(row: AuditRow) -> list[Fault]:
    """Faults of the methods that treat every angle by itself."""
    names = {"shift rule", "tape", "chain rule"} & set(row.off)
    return [
        Fault(method, "the derivative is wrong", row.position, row.gate, row.qubits, (row.angle,))
        for method in sorted(names)
    ]


# -- the gate table --------------------------------------------------------------------------------


def _table_faults(case: AuditCase) -> list[Fault]:
    """Compare the gate table's derivatives and spectra with its functions, where these are used."""
    faults = []
    for step in case.plan.steps:
        if step.function is None or step.derivative is None:
            continue
        own = case.angles[list(step.slots)]
        right, given = central_differences(step.function, own), step.derivative(own)
        wrong = [k for k in range(len(own)) if np.abs(given[k] - right[k]).max() > _TABLE_ATOL]
        if wrong:
            slots = [step.slots[k] for k in wrong]
            what = "the derivative is not that of the gate's matrix"
            faults.append(case.fault("gate table", what, step.position, slots))
        fitted = matrix_on_tape(step, Tensor(case.angles), case.spectra(step)).numpy()
        if np.abs(fitted - matrix_by_function(step, case.angles)).max() > _TABLE_ATOL:
            what = "the spectra do not make the gate's matrix"
            faults.append(case.fault("gate table", what, step.position, step.slots))
    return faults


# -- the light cone --------------------------------------------------------------------------------


def _light_cone_faults(case: AuditCase) -> list[Fault]:
    """Look for a step that is left out although the observable sees it."""
    steps = case.plan.steps
    kept = observed(case.plan, case.terms).steps
    left_out = [step for step in steps if step not in kept]

    def differs(count: int) -> str:
        """Whether value or gradient change when the last so many of them are left out."""
        without = left_out[len(left_out) - count :]
        found = case.measured([step for step in steps if step not in without])
        close = _close(found[0], right[0], _TABLE_ATOL) and _close(found[1], right[1], _TABLE_ATOL)
        return "" if close else "a gate is left out that the observable sees"

    right = case.measured(steps)
    count = _first(differs, len(left_out))
    if not count:
        return []
    step = left_out[len(left_out) - count]
    return [case.fault("light cone", differs(count), step.position, step.slots)]


# -- engines ---------------------------------------------------------------------------------------


def _engine_fault(case: AuditCase, label: str, engine: Engine, dtype: DType, atol: float) -> Fault:
    """Find the gate with which an engine begins to differ, in the state or else in the values."""
    seen = random_cotangent(case.circuit.num_qubits)

    def state_differs(gates: int) -> str:
        steps = beginning(case.plan.steps, gates)
        state, gradient = case.evolved(engine, dtype, steps, seen)
        right_state, right = case.tape(steps, seen)
        if not np.abs(state - right_state).max() <= atol:
            return "the state is wrong from here on"
        return "" if _close(gradient, right, atol) else "the reverse sweep is wrong"

    def value_differs(gates: int) -> str:
        steps = beginning(case.plan.steps, gates)
        value, gradient = case.by_engine(engine, dtype, steps)
        right_value, right = case.measured(steps)
        if not abs(value - right_value) <= atol:
            return "the expectation value is wrong, the state is right"
        return "" if _close(gradient, right, atol) else "the gradient is wrong, the state is right"

    for differs in (state_differs, value_differs):
        gates = _first(differs, case.circuit.size())
        if gates:
            slots = [
                s for step in case.plan.steps if step.position == gates - 1 for s in step.slots
            ]
            return case.fault(label, differs(gates), gates - 1, slots)
    return Fault(label, "the observable's value is wrong before any gate")


def _close(found: float | RealArray, right: float | RealArray, atol: float) -> bool:
    """Whether all derivatives agree; NaN agrees with nothing."""
    return bool(np.all(np.abs(np.subtract(found, right)) <= atol))


def _first(differs: Callable[[int], str], gates: int) -> int:
    """Return a number of gates that differs where one gate less does not, by bisection; or 0."""
    if differs(0) or not differs(gates):
        return 0
    right, wrong = 0, gates
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if differs(middle):
            wrong = middle
        else:
            right = middle
    return wrong


# -- Parameters ------------------------------------------------------------------------------------


def _parameter_rows(case: AuditCase, by_angle: RealArray) -> list[AuditRow]:
    """Compare what the chain rule makes of the angles' derivatives with differences of angles."""
    parameters = case.circuit.parameters()
    if not parameters:
        return []
    held = case.parameter_values()
    right = central_differences(case.angles_at, held) @ by_angle
    leaf = Tensor(held, requires_grad=True)
    angles = case.angles_of(leaf)
    angles.backward(gradient=Tensor(by_angle, dtype=angles.dtype))
    assert leaf.grad is not None
    chained = leaf.grad.numpy()
    atol = case.scale * max(_CHAIN_ATOL[p.dtype] for p in parameters)
    found: list[AuditRow] = []
    for name, p in zip(case.circuit.parameter_names(), parameters, strict=True):
        for element in range(p.numel()):
            k = len(found)
            place = (
                "" if p.numel() == 1 else str(list(map(int, np.unravel_index(element, p.shape))))
            )
            both = {RIGHT: float(right[k]), "chain rule": float(chained[k])}
            size = atol * max(1.0, abs(both[RIGHT]))
            found.append(AuditRow(None, "", (), None, name + place, both, size))
    return found
