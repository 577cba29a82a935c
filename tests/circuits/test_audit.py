"""The audit agrees where all is well, and names the gate where something is planted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gate_circuits import circuit_of
from random_circuits import random_case
from statevector_mutants import MUTANTS
from statevector_scenarios import DOUBLE

from autodiff import DeviceUnavailable, Parameter, Tensor, reset_stats, stats
from autodiff.device import backend_of
from circuits import (
    AngleError,
    BindingError,
    CapacityError,
    Circuit,
    Hermitian,
    Input,
    PauliSum,
    Projector,
    X,
    Z,
    audit_gradients,
)
from circuits.audit_report import AuditReport, Fault
from circuits.engines.cuda import CudaEngine
from circuits.engines.numba_cpu import NumbaEngine
from circuits.engines.reference import ReferenceEngine
from circuits.engines.registry import ENGINES
from circuits.gates import GATES
from circuits.observable_base import Observable
from circuits.plan import fusion, light_cone
from circuits.plan.steps import Plan, Step, Structure


def places(report: AuditReport, method: str) -> list[tuple[int | None, str, tuple[str, ...]]]:
    """Where a method is wrong, and at which angles."""
    return [(f.position, f.gate, f.angles) for f in report.faults if f.method == method]


# -- all is well -----------------------------------------------------------------------------------


@pytest.mark.parametrize("extra", [0, 2])
@pytest.mark.parametrize("name", [name for name, row in GATES.items() if row.params])
def test_every_gate_with_angles_passes(name: str, extra: int) -> None:
    parameters = [Parameter(0.4 + 0.3 * k, name=f"t{k}") for k in range(len(GATES[name].params))]
    circuit = circuit_of(GATES[name], extra, parameters)
    for qubit in range(circuit.num_qubits):
        circuit.rx(0.5 + qubit, qubit)
    observable = PauliSum({"Z" * circuit.num_qubits: 1.0, "X" * circuit.num_qubits: -0.5})
    report = audit_gradients(circuit, observable)
    assert report.ok, report
    angles = [(row.gate, row.slot, row.angle) for row in report.rows if row.position is not None]
    assert angles == [(name, k, f"t{k}") for k in range(len(parameters))]
    methods = ["differences", "shift rule", "tape", *ENGINES]
    assert all(list(row.found) == methods for row in report.rows[: len(parameters)])


def everything() -> tuple[Circuit, dict[str, np.ndarray]]:
    t, w = Parameter(0.3, name="t"), Parameter([[0.7, 0.2]], name="w")
    x = Input("x", 2)
    matrix = Tensor(np.array([[0, 1], [1j, 0]]))
    circuit = Circuit(3, "everything").h(0).u(t, w[0, 0], 0.2, 1).crx(2 * t - 0.1, 0, 2)
    circuit.cu(t, w[0, 1], t * w[0, 0], 0.1, 1, 2).mcx([0, 1], 2, ctrl_state="01").swap(0, 2)
    circuit.unitary(matrix, 1).rzz(w[0, 1], 0, 1).ry(x[1] * t, 0).global_phase(t).cp(t, 1, 0)
    return circuit, {"x": np.array([0.1, 0.4])}


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    "observable",
    [Z(0) + 0.5 * X(1) @ Z(2), Projector("101"), Hermitian(np.diag([1.0, 2.0]), [1])],
    ids=["words", "projector", "matrix"],
)
def test_circuit_with_everything_passes(observable: Observable, dtype: str) -> None:
    circuit, inputs = everything()
    report = audit_gradients(circuit, observable, inputs=inputs, dtype=dtype)
    assert report.ok, report
    found = [row.angle for row in report.rows if row.position is None]
    assert found == ["t", "w[0, 0]", "w[0, 1]"]
    circuit.expectation(observable, inputs=inputs).backward()
    grads = np.concatenate([p.grad.numpy().reshape(-1) for p in circuit.parameters()])
    chained = [row.found["chain rule"] for row in report.rows if row.position is None]
    np.testing.assert_allclose(chained, grads, rtol=0, atol=1e-8)


def test_engines_run_on_a_device() -> None:
    circuit, inputs = everything()
    reset_stats()
    report = audit_gradients(circuit, Z(0) + X(1), inputs=inputs, device="emulated")
    assert report.ok, report
    assert stats("emulated").launches > 0
    with pytest.raises(DeviceUnavailable, match="got 'tpu'"):
        audit_gradients(circuit, Z(0), inputs=inputs, device="tpu")


def test_values_are_those_of_the_call() -> None:
    circuit = Circuit(1).rx(Parameter(0.3, name="t"), 0)
    report = audit_gradients(circuit, Z(0), values={"t": 0.8})
    assert report.values["numba"] == pytest.approx(np.cos(0.8))
    assert report.rows[0].found["shift rule"] == pytest.approx(-np.sin(0.8))


def test_single_precision_parameters_and_circuits_without_any_pass() -> None:
    t = Parameter(0.3, name="t", dtype="float32")
    assert audit_gradients(Circuit(2).rx(t, 0).ry(t * t, 1), Z(0) @ Z(1)).ok
    assert audit_gradients(Circuit(1).h(0).rx(0.3, 0), X(0)).ok
    assert audit_gradients(Circuit(1), Z(0)).rows == ()


def test_nothing_of_the_callers_changes() -> None:
    circuit, inputs = everything()
    before = [p.numpy().copy() for p in circuit.parameters()]
    audit_gradients(circuit, Z(0), inputs=inputs)
    assert all(p.grad is None for p in circuit.parameters())
    for p, value in zip(circuit.parameters(), before, strict=True):
        np.testing.assert_array_equal(p.numpy(), value)


@pytest.mark.parametrize("seed", range(12))
def test_random_circuits_pass(seed: int) -> None:
    case = random_case(seed)
    inputs = None if case.inputs is None else {"x": np.atleast_2d(case.inputs)[-1]}
    for observable in case.observables:
        report = audit_gradients(case.circuit, observable, inputs=inputs)
        assert report.ok, report


# -- planted faults --------------------------------------------------------------------------------


def three_gates(row: object) -> Circuit:
    """A gate in the middle of a circuit, which the observable sees."""
    a, b = Parameter(0.5, name="a"), Parameter(0.8, name="b")
    return Circuit(2).h(0).ry(a, 1).append(row, [0], [0.2, 2 * b, a]).cx(0, 1).rx(b, 0).ry(a, 1)


def wrong_derivative(angles: np.ndarray, slot: int = 1) -> np.ndarray:
    """That of ``u``, off by 0.1 % for one angle."""
    derivative = GATES["u"].derivative(angles).copy()
    derivative[..., slot, :, :] *= 1.001
    return derivative


def test_planted_wrong_derivative_is_found_and_named() -> None:
    row = replace(GATES["u"], derivative=wrong_derivative)
    report = audit_gradients(three_gates(row), Z(0) @ Z(1))
    assert not report.ok
    assert places(report, "gate table") == [(2, "u", ("2*b",))]
    for engine in ENGINES:
        ((position, gate, angles),) = places(report, engine)
        assert (position, gate) == (2, "u")
        assert "2*b" in angles
    off = {(row.position, row.slot): row.off for row in report.rows if row.off}
    assert off == {(2, 1): tuple(ENGINES)}


def test_planted_wrong_spectrum_is_found_and_named() -> None:
    spectra = ((-0.5, 0.5), (0.0, 2.0), (0.0, 1.0))
    row = replace(GATES["u"], spectra=spectra)
    report = audit_gradients(three_gates(row), Z(0) @ Z(1))
    assert (2, "u", ("2*b", "a")) in places(report, "gate table")
    assert places(report, "shift rule") == [(2, "u", ("2*b",))]


BENT: dict[Structure, Callable[[Step], Step]] = {
    Structure.ROTATION: lambda s: replace(s, word=s.word.translate(str.maketrans("XYZ", "YZX"))),
    Structure.PERMUTATION: lambda s: replace(s, permutation=np.roll(s.permutation, 1)),
    Structure.DENSE: lambda s: replace(s, matrix=np.conj(s.matrix)),
    Structure.DIAGONAL: lambda s: replace(s, matrix=np.conj(s.matrix)),
}


class WrongEngine(ReferenceEngine):
    """Treats one structure wrongly in one direction or both."""

    name = "wrong"

    def __init__(self, structure: Structure, forward: bool, reverse: bool) -> None:
        self.structure, self.wrong = structure, {"forward": forward, "reverse": reverse}

    def bent(self, plan: Plan, direction: str) -> Plan:
        def bend(step: Step) -> Step:
            wrong = step.structure is self.structure and step.function is None
            return BENT[self.structure](step) if wrong and self.wrong[direction] else step

        return replace(plan, steps=tuple(map(bend, plan.steps)), memo={})

    def forward(self, plan: Plan, *args: object, **kwargs: object) -> object:
        return super().forward(self.bent(plan, "forward"), *args, **kwargs)

    def reverse(self, plan: Plan, *args: object, **kwargs: object) -> object:
        return super().reverse(self.bent(plan, "reverse"), *args, **kwargs)


def one_of_each(structure: Structure) -> tuple[Circuit, int]:
    """A circuit with one gate of a structure among others, and its position."""
    t, matrix = Parameter(0.6, name="t"), np.array([[1, 1j], [1j, 1]]) / np.sqrt(2)
    circuit = Circuit(2).u(t, 0.4, 0.3, 0).u(0.3, t, 0.5, 1).u(0.7, 0.1, 2 * t, 1)
    gates: dict[Structure, Callable[[], Circuit]] = {
        Structure.ROTATION: lambda: circuit.rx(3 * t, 0),
        Structure.PERMUTATION: lambda: circuit.append("cx", [0, 1]),
        Structure.DENSE: lambda: circuit.unitary(matrix, 1),
        Structure.DIAGONAL: lambda: circuit.s(1),
    }
    gates[structure]()
    return circuit.u(0.2, t, 0.9, 0).u(0.5, t, 1.1, 1), 3


@pytest.mark.parametrize("structure", Structure)
@pytest.mark.parametrize(("forward", "reverse"), [(True, True), (True, False), (False, True)])
def test_planted_wrong_kernel_is_found_and_named(
    structure: Structure, forward: bool, reverse: bool
) -> None:
    circuit, position = one_of_each(structure)
    fixed = structure is not Structure.ROTATION
    engines = ["reference", WrongEngine(structure, forward, reverse)]
    report = audit_gradients(circuit, X(0) + Z(1) @ X(0), engines=engines)
    gate = circuit.instructions[position].name
    assert places(report, "wrong") == [(position, gate, () if fixed else ("3*t",))]
    assert places(report, "reference") == []
    (fault,) = [f for f in report.faults if f.method == "wrong"]
    assert fault.what == (
        "the state is wrong from here on" if forward else "the reverse sweep is wrong"
    )


def with_turns(t: Parameter) -> Circuit:
    return Circuit(2).ry(t, 0).cx(0, 1).u(2 * t, 0.3, t, 1).cx(1, 0).ry(t, 1)


def with_an_exchange(t: Parameter) -> Circuit:
    return Circuit(3).ry(t, 0).ry(2 * t, 1).ccx(0, 1, 2).ry(t, 2)


def with_environments(t: Parameter) -> Circuit:
    return Circuit(3).ry(t, 0).h(1).u(t, 2 * t, 0.3, 0).cx(0, 1).u(0.2, 2 * t, t, 1)


#: Faults of ``statevector.cu`` by the names of its mutants, and where they show.
DEVICE_FAULTS: dict[str, tuple[Callable[[Parameter], Circuit], str]] = {
    "a missing conjugate": (
        with_turns,
        "cuda: the state is wrong from here on at gate 2, u on (1,), angle 2*t, t",
    ),
    "lambda is not exchanged": (
        with_an_exchange,
        "cuda: the reverse sweep is wrong at gate 2, ccx on (0, 1, 2)",
    ),
    "a wrong environment": (
        with_environments,
        "cuda: the reverse sweep is wrong at gate 2, u on (0,), angle t, 2*t",
    ),
}


@pytest.mark.parametrize("name", DEVICE_FAULTS)
def test_planted_wrong_kernel_of_a_device_is_found_and_named(name: str, tmp_path: Path) -> None:
    made, fault = DEVICE_FAULTS[name]
    circuit = made(Parameter(0.6, name="t"))
    observable = sum([Z(q) + X(q) for q in range(circuit.num_qubits)], start=0.5 * Z(0))
    assert audit_gradients(circuit, observable, engines=["cuda"], device="emulated").ok
    (mutant,) = [m for m in MUTANTS.mutants if m.name == name]
    kernels = replace(DOUBLE, source=mutant.planted(MUTANTS.source, tmp_path))
    engine = CudaEngine(backend_of("emulated"), kernels=kernels)
    report = audit_gradients(circuit, observable, engines=["reference", engine], device="emulated")
    assert [str(f) for f in report.faults] == [fault]


class WrongValues(NumbaEngine):
    """Measures a little too much."""

    def forward(self, *args: object, **kwargs: object) -> tuple[np.ndarray, np.ndarray | None]:
        state, values = super().forward(*args, **kwargs)
        return state, None if values is None else values * 1.001


def test_wrong_measurement_is_told_from_wrong_gates_and_engines_of_one_name_apart() -> None:
    circuit = Circuit(1).rx(Parameter(0.4, name="t"), 0)
    report = audit_gradients(circuit, Z(0), engines=["numba", WrongValues()])
    assert list(report.values) == ["differences", "numba", "WrongValues"]
    assert report.faults == (
        Fault("WrongValues", "the observable's value is wrong before any gate"),
    )


def test_planted_wrong_fusion_is_found_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    product = fusion.quaternion_product
    monkeypatch.setattr(fusion, "quaternion_product", lambda p, q: product(q, p))
    t = Parameter(0.6, name="t")
    circuit = Circuit(2).ry(t, 0).cx(0, 1).s(1).h(1).rz(t, 0).cx(1, 0).rx(t, 1)
    report = audit_gradients(circuit, X(0) + Z(1) @ Z(0))
    assert places(report, "numba") == [(3, "h", ())]
    assert places(report, "reference") == []


def test_wrong_fusion_of_angles_is_found_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fusion._LETTERS, "Y", 0)
    t = Parameter(0.6, name="t")
    circuit = Circuit(2).rz(t, 0).rx(t, 0).ry(2 * t, 0).cx(0, 1).rx(t, 1)
    report = audit_gradients(circuit, Z(0) + X(1) @ X(0))
    assert places(report, "numba") == [(2, "ry", ("2*t",))]


def test_step_that_is_left_out_wrongly_is_found_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = light_cone.seen_steps
    monkeypatch.setattr(
        light_cone,
        "seen_steps",
        lambda plan, terms: tuple([s for s in seen(plan, terms) if s.word != "Z"]),
    )
    t = Parameter(0.6, name="t")
    circuit = Circuit(2).ry(t, 0).rz(2 * t, 0).ry(t, 0).rx(t, 1)
    report = audit_gradients(circuit, Z(0))
    assert places(report, "light cone") == [(1, "rz", ("2*t",))]
    assert set(ENGINES) <= {fault.method for fault in report.faults}


def test_wrong_chain_rule_is_found_and_named() -> None:
    t, u = Parameter(0.6, name="t"), Parameter(0.2, name="u")
    circuit = Circuit(1).rx(2 * t, 0).ry(u, 0)
    circuit.compiled().table.by_column.factors[0] *= 1.5
    report = audit_gradients(circuit, Z(0))
    assert places(report, "chain rule") == [(None, "", ("t",))]


# -- the report ------------------------------------------------------------------------------------


def test_report_prints_as_a_table_with_the_faults_below() -> None:
    circuit, position = one_of_each(Structure.ROTATION)
    engines = [WrongEngine(Structure.ROTATION, False, True)]
    lines = repr(audit_gradients(circuit, X(0), engines=engines)).splitlines()
    assert lines[0].startswith("gradient audit: 1 fault (* differs)")
    assert lines[1].split() == [
        *("gate", "qubits", "angle", "differences", "shift", "rule", "tape", "wrong"),
        *("chain", "rule"),
    ]
    assert lines[2].startswith("value")
    starred = [line.split()[0] for line in lines if "*" in line and line[0].isdigit()]
    assert str(position) in starred
    assert lines[-1] == "wrong: the reverse sweep is wrong at gate 3, rx on (0,), angle 3*t"


def test_long_report_shows_what_is_off() -> None:
    t = Parameter(0.6, name="t")
    circuit = Circuit(1)
    for _ in range(45):
        circuit.rx(t, 0)
    report = audit_gradients(circuit, Z(0))
    assert repr(report).splitlines()[0] == "gradient audit: all methods agree"
    assert repr(report).splitlines()[-1] == "and 46 more that agree"


# -- refusals --------------------------------------------------------------------------------------


def test_what_cannot_be_audited_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    circuit, _ = everything()
    with pytest.raises(BindingError, match=r"a single sample, got a batch of 3\. Audit"):
        audit_gradients(circuit, Z(0), inputs={"x": np.zeros((3, 2))})
    with pytest.raises(BindingError, match="'x'"):
        audit_gradients(circuit, Z(0))
    with pytest.raises(AngleError, match="finite angles, got nan for t of gate 1, rx"):
        audit_gradients(Circuit(1).h(0).rx(Parameter(np.nan, name="t"), 0), Z(0))
    with pytest.raises(CapacityError, match="an audit of 2 steps on 40 qubits"):
        audit_gradients(Circuit(40).h(0).h(1), Z(0))
    with pytest.raises(BindingError, match="audit_gradients needs a Circuit, got int"):
        audit_gradients(3, Z(0))
