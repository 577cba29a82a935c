"""Every refusal of this package is a CircuitError and a ValueError."""

from __future__ import annotations

import pytest

from circuits import errors

KINDS = [cls for cls in vars(errors).values() if isinstance(cls, type)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_refusals_are_value_errors(kind: type[Exception]) -> None:
    assert issubclass(kind, errors.CircuitError)
    assert issubclass(kind, ValueError)
    assert kind.__doc__
