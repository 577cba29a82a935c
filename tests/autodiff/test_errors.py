"""One class per kind of refusal, caught by the classes that Python users expect."""

from __future__ import annotations

import inspect

import pytest

from autodiff import errors

EXPECTED = {
    errors.GradientError: RuntimeError,
    errors.VersionError: RuntimeError,
    errors.StorageBusy: RuntimeError,
    errors.StaleHandleError: RuntimeError,
    errors.QueuedOpError: RuntimeError,
    errors.DeviceUnavailable: RuntimeError,
    errors.ParameterError: ValueError,
    errors.ShapeError: ValueError,
    errors.DeviceMismatch: ValueError,
    errors.DTypeError: TypeError,
    errors.IterationError: TypeError,
    errors.TraceError: TypeError,
    errors.GradcheckError: AssertionError,
}


def test_every_class_is_listed() -> None:
    found = {c for _, c in inspect.getmembers(errors, inspect.isclass)}
    assert found - {errors.AutodiffError} == EXPECTED.keys()


@pytest.mark.parametrize(("kind", "builtin"), EXPECTED.items(), ids=lambda c: c.__name__)
def test_class_belongs_to_the_family_and_to_a_builtin(
    kind: type[Exception], builtin: type[Exception]
) -> None:
    assert issubclass(kind, errors.AutodiffError)
    assert issubclass(kind, builtin)
