"""Pickle, deepcopy and JSON: what survives, and what is refused."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from random_circuits import random_case

import autodiff as ad
from autodiff import Parameter, Tensor
from autodiff.node import Op
from autodiff.table import OPS
from circuits import GATES, Circuit, CircuitError, ConversionError, Input, Z
from circuits.gate_row import Gate
from circuits.plan.steps import Structure

Copy = Callable[[Circuit], Circuit]


def through_pickle(circuit: Circuit) -> Circuit:
    result = pickle.loads(pickle.dumps(circuit))
    assert isinstance(result, Circuit)
    return result


def through_json(circuit: Circuit) -> Circuit:
    return Circuit.from_json(circuit.to_json())


WAYS: list[Copy] = [through_pickle, through_json, copy.deepcopy, Circuit.deep_clone]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


def rich() -> tuple[Circuit, Parameter]:
    """Every kind of angle, leaf and payload in one circuit."""
    a, w = Parameter(0.3, name="a"), Parameter(np.array([0.1, 0.2], np.float32))
    x = Input("x", 3)
    circuit = Circuit(3, name="rich").register(w)
    circuit.rx(a, 0).ry(2 * a - w[1] + 0.5, 1).rz(0.25, 2).u2(a, -a, 0)
    circuit.rz(ad.sin(a) * x[0], 0).ry((x[::-1] * 2.0).sum(axis=0) / (1 + w[0] * w[0]), 1)
    circuit.rx(ad.where(x[1] > 0.0, a, x[2]), 2).p(w.astype(np.float64)[0], 2)
    circuit.rx(float("nan"), 0, controls=[1, 2], ctrl_state="01")
    circuit.unitary([[0, 1j], [1j, 0]], 1).diagonal([1, -1, 1j, -1j], [0, 2])
    circuit.permutation([1, 2, 0], [0, 1, 2]).pauli("XYZ", [2, 1, 0])
    circuit.pauli_rotation(a, "ZX", [0, 2]).mcx([0, 1], 2).measure([2, 0], [0, 1])
    return circuit, a


def trainable() -> tuple[Circuit, Parameter]:
    matrix = Parameter(np.eye(2, dtype=complex))
    circuit = Circuit(1).unitary(matrix, 0)
    return circuit.compose(circuit.inverse()).compose(Circuit(1).unitary(matrix, 0)), matrix


@every_way
def test_copies_are_equal_and_separate(way: Copy) -> None:
    circuit, a = rich()
    made = way(circuit)
    assert made == circuit
    assert made.measured == circuit.measured
    assert made.name == "rich"
    assert [p.uuid for p in made.parameters()] == [p.uuid for p in circuit.parameters()]
    assert [(p.name, p.dtype) for p in made.parameters()] == [(None, np.float32), ("a", np.float64)]
    made.parameters()[1].set_(2.0)
    assert a.item() == 0.3
    made.x(1)
    assert made != circuit


@every_way
@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_copies_compute_the_same(way: Copy, seed: int) -> None:
    case = random_case(seed)
    inputs = None if case.inputs is None else {"x": case.inputs}
    made = way(case.circuit)
    assert made == case.circuit
    for circuit in (case.circuit, made):
        circuit.expectation(case.observables, inputs=inputs, engine="reference").sum().backward()
    pairs = zip(made.parameters(), case.circuit.parameters(), strict=True)
    for copied, original in pairs:
        assert copied is not original
        assert (copied.grad is None) == (original.grad is None)
        if copied.grad is not None and original.grad is not None:
            np.testing.assert_array_equal(copied.grad.numpy(), original.grad.numpy())


@every_way
def test_parameters_keep_flags_and_identity(way: Copy) -> None:
    a, b = Parameter(0.5, name="a").freeze(), Parameter(0.7)
    b.requires_grad_(False)
    made = way(Circuit(1).rx(a, 0).rx(b, 0).rx(a, 0))
    copied, other = made.parameters()
    assert (copied.trainable, copied.requires_grad) == (False, True)
    assert (other.trainable, other.requires_grad) == (True, False)
    e = made.expectation(Z(0), values={a: 1.0, b: 0.0}, engine="reference")
    assert e.item() == pytest.approx(np.cos(2.0))


@every_way
def test_trainable_matrix_stays_one_tensor(way: Copy) -> None:
    circuit, matrix = trainable()
    made = way(circuit)
    assert made == circuit
    first, *others = made.matrices
    assert isinstance(first, Parameter)
    assert first.uuid == matrix.uuid
    assert first is not matrix
    assert len(others) == 2
    assert all(tensor._meta is first._meta for tensor in others)


@every_way
def test_matrix_that_is_not_unitary_now_survives(way: Copy) -> None:
    circuit, matrix = trainable()
    matrix.set_(2 * np.eye(2, dtype=complex))
    assert way(circuit).matrices[0].numpy()[0, 0] == 2


@every_way
def test_computed_matrix_is_refused(way: Copy) -> None:
    phase = Parameter(1 + 0j)
    circuit = Circuit(1).unitary(phase * np.eye(2), 0)
    with pytest.raises(ConversionError, match="needs matrices that are leaves"):
        way(circuit)


@every_way
def test_original_parameter_still_binds(way: Copy) -> None:
    a = Parameter(0.1)
    made = way(Circuit(1).rx(a, 0))
    assert made.expectation(Z(0), values={a: 1.0}).item() == pytest.approx(0.5403023059)


def test_parameter_binds_after_a_round_trip_through_another_process() -> None:
    a = Parameter(0.1, name="a")
    script = (
        "import pickle, sys; qc = pickle.load(sys.stdin.buffer); qc.rx(0.0, 0); "
        "sys.stdout.buffer.write(pickle.dumps(qc))"
    )
    given = pickle.dumps(Circuit(1).rx(a, 0))
    done = subprocess.run([sys.executable, "-c", script], input=given, capture_output=True)
    assert done.returncode == 0, done.stderr
    made = pickle.loads(done.stdout)
    assert made.expectation(Z(0), values={a: 1.0}, engine="reference").item() == np.cos(1.0)


@pytest.mark.parametrize("dumped", [pickle.dumps, None])
def test_a_list_and_its_circuit_keep_their_common_parameter(dumped: Any) -> None:
    a = Parameter(0.1)
    both = (a, Circuit(1).rx(a, 0))
    parameter, circuit = pickle.loads(dumped(both)) if dumped else copy.deepcopy(both)
    assert circuit.parameters()[0] is parameter
    parameter.set_(1.0)
    assert circuit.expectation(Z(0), engine="reference").item() == np.cos(1.0)


def test_compiled_form_is_made_again() -> None:
    circuit = Circuit(1).rx(Parameter(0.1), 0)
    circuit.expectation(Z(0), engine="reference")
    assert circuit._compiled is not None
    for way in WAYS:
        assert way(circuit)._compiled is None


@pytest.mark.slow
def test_twenty_thousand_gates() -> None:
    theta = Parameter(0.4)
    circuit = Circuit(1)
    for _ in range(20_000):
        circuit.rx(theta / 20_000, 0)
    for way in WAYS:
        assert way(circuit).size() == 20_000
    assert through_pickle(circuit) == circuit


@pytest.mark.parametrize("row", [row for row in GATES.values() if row.payload is None])
def test_every_gate_survives(row: Gate) -> None:
    angles = [Parameter(0.1 * k) for k in range(len(row.params))]
    controls = 2 if row.num_controls is None else row.num_controls
    qubits = list(range(controls + (row.num_qubits or 0)))[::-1]
    circuit = Circuit(9).append(row, qubits, angles, controls=[8, 7], ctrl_state=2)
    assert [way(circuit) == circuit for way in WAYS] == [True] * len(WAYS)
    assert through_json(circuit.inverse()) == circuit.inverse()


def test_empty_circuits() -> None:
    for circuit in (Circuit(0), Circuit(3), Circuit(0).global_phase(0.5)):
        assert all(way(circuit) == circuit for way in WAYS)


# -- what stands in no table -----------------------------------------------------------------------


def test_row_that_stands_in_no_table_is_refused() -> None:
    own = Gate("x", "not the table's x", Structure.DENSE, 1, matrix=np.eye(2, dtype=complex))
    circuit = Circuit(1).append(own, [0])
    with pytest.raises(ConversionError, match=r"to_json needs gates.* of the tables, got Gate"):
        circuit.to_json()
    with pytest.raises(CircuitError, match="table"):
        pickle.dumps(circuit)
    assert copy.deepcopy(circuit) == circuit
    assert circuit != Circuit(1).x(0)


def test_op_that_stands_in_no_table_is_refused() -> None:
    own = ad.custom_op(
        "sin",
        lambda xp, x: xp.sin(x) + 1,
        lambda gs, outs, ins: gs[0] * ad.cos(ins[0]),
        per_sample=lambda attrs, ranks: attrs,
    )
    circuit = Circuit(1).rx(own(Parameter(0.5)), 0)
    with pytest.raises(ConversionError, match=r"to_json needs .*ops.* of the tables, got Op"):
        circuit.to_json()
    with pytest.raises(ad.AutodiffError, match="ops of the table, got the custom op 'sin'"):
        pickle.dumps(circuit)
    assert copy.deepcopy(circuit) == circuit


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_every_op_pickles_as_its_name(op: Op) -> None:
    assert pickle.loads(pickle.dumps(op)) is op
    assert copy.deepcopy(op) is op


# -- hostile texts ---------------------------------------------------------------------------------


def changed(change: Callable[[Any], object]) -> str:
    circuit, _ = rich()
    data = json.loads(circuit.to_json())
    change(data)
    return json.dumps(data)


def program_of(data: Any) -> Any:
    return next(
        angle["program"]
        for entry in data["instructions"]
        for angle in entry["angles"]
        if isinstance(angle, dict) and angle["program"]
    )


def first_atom(data: Any) -> Any:
    return data["instructions"][0]["angles"][0]["atoms"][0]


CHANGES: list[tuple[Callable[[Any], object], str]] = [
    (lambda d: d.update(format="other"), "needs format 'ketgrad circuit', version 1"),
    (lambda d: d.update(version=2), "needs format 'ketgrad circuit', version 1"),
    (lambda d: d.update(name=3), "needs format"),
    (lambda d: d.update(extra=1), "circuit's data need"),
    (lambda d: d.pop("measured"), "circuit's data need"),
    (lambda d: d.update(num_qubits=10**9), "up to 4096 qubits"),
    (lambda d: d.update(num_qubits="3"), "need an integer"),
    (lambda d: d.update(num_qubits=1), "needs integer qubits"),
    (lambda d: d.update(inputs=[["x", 10**12, "float64"]]), "need an Input, got"),
    (lambda d: d.update(inputs=[["x", 3, "object"]]), "need an Input, got"),
    (lambda d: d.update(inputs=[["x", 3, "int64"]]), "float32 or float64"),
    (lambda d: d.update(inputs=[]), "need a known leaf"),
    (lambda d: d.update(instructions={}), "need a list"),
    (lambda d: d.update(measured=[[0, 0], [1, 0]]), "free classical bit"),
    (lambda d: d["instructions"][0].update(gate="__import__"), "gate name needs"),
    (lambda d: d["instructions"][0].update(gate=["x"]), "gate name needs"),
    (lambda d: d["instructions"][0].update(targets=[0, 0]), "distinct qubits"),
    (lambda d: d["instructions"][0].update(controls=[0]), "distinct qubits|ctrl_state"),
    (lambda d: d["instructions"][0].update(ctrl_state=1), "ctrl_state from 0 to 0"),
    (lambda d: d["instructions"][0].update(payload="X"), "needs no matrix or label"),
    (lambda d: d["instructions"][0].update(angles=["eval"]), "need a number"),
    (lambda d: d["instructions"][0].update(angles=[True]), "need a number"),
    (lambda d: d["instructions"][0].update(angles=[]), "needs theta, got 0 angles"),
    (lambda d: d["instructions"][-1].update(controls=[]), "mcx needs 2 qubits, got 1"),
    (lambda d: first_atom(d).__setitem__(0, ["parameter", 7]), "need a known leaf"),
    (lambda d: first_atom(d).__setitem__(0, ["parameter", [1]]), "need a known leaf"),
    (lambda d: first_atom(d).__setitem__(1, 5), "need an element"),
    (lambda d: first_atom(d).__setitem__(1, -1), "need an element"),
    (lambda d: first_atom(d).__setitem__(2, "1"), "need a number"),
    (lambda d: d["parameters"][0].update(uuid="x"), "need a uuid"),
    (lambda d: d["parameters"][0].update(uuid=3), "need a uuid"),
    (lambda d: d["parameters"][1].update(uuid=d["parameters"][0]["uuid"]), "one object a Param"),
    (lambda d: d["parameters"][0].update(trainable=1), "need a Parameter"),
    (lambda d: d["parameters"][0]["value"].update(dtype="object"), "need an array"),
    (lambda d: d["parameters"][0]["value"].update(dtype="complex64"), "need an array"),
    (lambda d: d["parameters"][0]["value"].update(shape=[10**9]), "need an array"),
    (lambda d: d["parameters"][0]["value"].update(shape=[-1, -2]), "need an array"),
    (lambda d: d["parameters"][0]["value"].update(values=["a", "b"]), "need a number"),
    (lambda d: program_of(d)["steps"][0].update(op="__class__"), "need an op of the table"),
    (lambda d: program_of(d)["steps"][0].update(op="expectation"), "need an op of the table"),
    (lambda d: program_of(d)["steps"][0].update(attrs={"shape": {"eval": "1"}}), "attribute"),
    (lambda d: program_of(d)["steps"][0].update(attrs={"op": 1}), "consistent circuit"),
    (lambda d: program_of(d)["steps"][0].update(operands=[["slot", 9, 0]]), "earlier value"),
    (lambda d: program_of(d)["steps"][0].update(operands=[["result", 5, 0]]), "earlier value"),
    (lambda d: program_of(d)["steps"][0].update(operands=[]), "ops of leaves|consistent"),
    (lambda d: program_of(d).update(output=[]), "need a list"),
    (lambda d: program_of(d).update(slots=[]), "earlier value"),
]


@pytest.mark.parametrize(("change", "match"), CHANGES)
def test_changed_text_is_refused(change: Callable[[Any], object], match: str) -> None:
    with pytest.raises(CircuitError, match=match):
        Circuit.from_json(changed(change))


def test_expression_that_would_need_much_memory_is_refused() -> None:
    def grow(data: Any) -> None:
        program = program_of(data)
        program["steps"].append(
            {
                "op": "broadcast_to",
                "operands": [program["output"][0]],
                "attrs": {"shape": {"tuple": [10**6, 10**6]}},
            }
        )

    with pytest.raises(ConversionError, match=r"up to \d+ elements in broadcast_to"):
        Circuit.from_json(changed(grow))


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "needs JSON"),
        ("{", "needs JSON"),
        ("[" * 200_000, "needs JSON"),
        ("1" * 10_000, "needs JSON"),
        ("3", "circuit's data need"),
        ("null", "circuit's data need"),
        (b"{}", "needs text"),
        (None, "needs text"),
    ],
)
def test_other_texts_are_refused(text: Any, match: str) -> None:
    with pytest.raises(ConversionError, match=match):
        Circuit.from_json(text)


def test_too_long_a_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("circuits.serialize.MAX_CHARACTERS", 10)
    with pytest.raises(ConversionError, match="at most 10 characters"):
        Circuit.from_json(Circuit(1).to_json())


def test_text_is_strict_json_with_exact_numbers() -> None:
    circuit = Circuit(1).rx(0.1 + 0.2, 0).rx(float("nan"), 0).rx(Parameter(np.pi), 0)
    text = circuit.to_json()
    json.loads(text, parse_constant=pytest.fail)
    made = Circuit.from_json(text)
    assert made == circuit
    assert made.parameters()[0].item() == np.pi


def test_plain_tensor_matrix_is_kept_by_value() -> None:
    circuit = Circuit(1).unitary(Tensor(np.eye(2, dtype=complex)), 0)
    for way in WAYS:
        made = way(circuit)
        assert made == circuit
        assert not made.matrices[0].requires_grad
