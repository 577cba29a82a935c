"""A refusal is an error of the package that carries need, detail and remedy apart."""

from __future__ import annotations

import numpy as np
import pytest
from qiskit import QuantumCircuit

from circuits import ConversionError, from_qiskit
from circuits.interop.qiskit.refusal import Refusal


def test_refusal_carries_its_parts() -> None:
    refusal = Refusal("gates", "Remove it.", "a measurement")
    assert isinstance(refusal, ConversionError)
    assert (refusal.needs, refusal.remedy, refusal.detail) == (
        "gates",
        "Remove it.",
        "a measurement",
    )
    assert str(refusal) == "needs gates. Remove it."


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), np.float32("inf")])
def test_angle_that_is_no_finite_number_is_refused(value: float) -> None:
    qc = QuantumCircuit(1)
    qc.h(0)
    qc.rz(value, 0)
    with pytest.raises(ConversionError, match=r"finite angles, got .*'rz' at position 1") as caught:
        from_qiskit(qc)
    assert caught.value.position == 1
