"""Broken circuit JSON: a circuit or the project's own error, in bounded time and memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limits import MIB, limited
from strategies import mutated_data, mutated_texts

import autodiff as ad
from autodiff import AutodiffError, Parameter, Tensor
from circuits import Circuit, CircuitError, ConversionError, Input


def rich() -> Circuit:
    """Every kind of angle, leaf and payload, small."""
    a, w, x = Parameter(0.3, name="a"), Parameter(np.array([0.1, 0.2], np.float32)), Input("x", 3)
    circuit = Circuit(3, name="rich").register(w)
    circuit.rx(a, 0).ry(2 * a - w[1] + 0.5, 1).u2(a, -a, 0)
    circuit.ry((x[::-1] * 2.0).sum(axis=0) / (1 + w[0] * w[0]), 1)
    circuit.rx(ad.where(x[1] > 0.0, a, x[2]), 2).p(w.reshape(2, 1).astype(np.float64)[0, 0], 2)
    circuit.rx(float("nan"), 0, controls=[1, 2], ctrl_state="01")
    circuit.unitary([[0, 1j], [1j, 0]], 1).unitary(Tensor(np.eye(2, dtype=complex)), 0)
    circuit.diagonal([1, -1, 1j, -1j], [0, 2]).permutation([1, 2, 0], [0, 1, 2])
    circuit.pauli("XYZ", [2, 1, 0]).pauli_rotation(a, "ZX", [0, 2])
    return circuit.mcx([0, 1], 2).measure([2, 0], [0, 1])


TEXT = rich().to_json()


def read(text: Any) -> None:
    with limited(), suppress(CircuitError):
        made = Circuit.from_json(text)
        assert made == Circuit.from_json(made.to_json())
        with suppress(CircuitError, AutodiffError):
            made.plan(inputs={"x": np.zeros(3)})


def test_unchanged_text_is_read() -> None:
    assert json.loads(Circuit.from_json(TEXT).to_json()) == json.loads(TEXT)


@settings(max_examples=400)
@given(mutated_data(lambda: json.loads(TEXT)))
def test_changed_data(data: Any) -> None:
    read(json.dumps(data))


@settings(max_examples=100)
@given(mutated_texts([TEXT]))
def test_changed_texts(text: str) -> None:
    read(text)


@settings(max_examples=50)
@given(st.one_of(st.text(), st.binary().map(lambda b: b.decode("latin-1"))))
def test_any_text(text: str) -> None:
    read(text)


def changed(change: Callable[[Any], object]) -> str:
    data = json.loads(TEXT)
    change(data)
    return json.dumps(data)


def steps_of(data: Any) -> Any:
    return data["instructions"][3]["angles"][0]["program"]["steps"]


# Each was once another error, or a warning.
FAULTS: dict[str, tuple[Callable[[Any], object], str]] = {
    "overflow": (
        lambda d: d["parameters"][0]["value"].update(values=[1e300, 0]),
        "numbers of float32, got larger ones",
    ),
    "no list": (lambda d: d["parameters"][0]["value"].update(values=3), "need a list"),
    "integer leaf": (
        lambda d: d["parameters"][1].update(value={"dtype": "int64", "shape": [], "values": [1]}),
        r"needs a consistent circuit, got: .* or give dtype\. Write the text again",
    ),
    "step of nothing": (
        lambda d: steps_of(d)[0]["attrs"]["index"]["tuple"][0].update(slice=[None, None, 0]),
        "needs a consistent circuit, got: slice step cannot be zero",
    ),
}


@pytest.mark.parametrize(("change", "match"), FAULTS.values(), ids=FAULTS)
def test_fault_is_named(change: Callable[[Any], object], match: str) -> None:
    with pytest.raises(ConversionError, match=match):
        Circuit.from_json(changed(change))


ABSURD = {
    "qubits": {"num_qubits": 10**9},
    "input": {"inputs": [["x", 10**12, "float64"]]},
    "bits": {"measured": [[0, 10**12]]},
}


@pytest.mark.parametrize("changes", ABSURD.values(), ids=ABSURD)
def test_absurd_sizes_are_refused_at_once(changes: dict[str, Any]) -> None:
    with limited(64 * MIB, seconds=1.0), pytest.raises(CircuitError, match="need"):
        Circuit.from_json(changed(lambda d: d.update(changes))).counts(3, seed=0)


@pytest.mark.parametrize("text", ["[" * 10**6, '{"a":' * 10**6, "9" * 10**6, '"' + "a" * 10**6])
def test_long_nonsense_is_refused_at_once(text: str) -> None:
    with limited(64 * MIB, seconds=1.0), pytest.raises(ConversionError, match="need"):
        Circuit.from_json(text)
