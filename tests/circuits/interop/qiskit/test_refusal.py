"""A refusal is an error of the package that carries need, detail and remedy apart."""

from __future__ import annotations

from circuits import ConversionError
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
