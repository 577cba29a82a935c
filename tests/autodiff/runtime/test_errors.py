"""The runtime's errors: their families, and foreign errors renamed with their cause."""

from __future__ import annotations

import inspect

import pytest

from autodiff import AutodiffError
from autodiff.runtime import errors
from autodiff.runtime.errors import (
    Caught,
    ExecutionFailed,
    OutputResidencyMismatch,
    Renamed,
    RouteError,
    TransferContractError,
    WorkerError,
)

CLASSES = [
    found
    for _, found in inspect.getmembers(errors, inspect.isclass)
    if issubclass(found, BaseException)
]


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_is_one_of_the_project_and_says_what_it_is(kind: type[Exception]) -> None:
    assert issubclass(kind, AutodiffError)
    assert kind.__doc__


def test_families() -> None:
    def family(base: type) -> set[str]:
        return {kind.__name__ for kind in CLASSES if issubclass(kind, base)} - {base.__name__}

    assert family(RouteError) == {"UnsupportedOp", "NoIngress", "MissingTransferProvider"}
    assert family(WorkerError) == {"WorkerFailed", "WorkerPanicked", "WorkerNotStarted"}
    dimensions = ("DType", "Shape", "Length", "Placement", "Residency")
    assert family(TransferContractError) == {f"Transfer{name}Error" for name in dimensions}


def test_foreign_error_is_renamed_and_kept_as_the_cause() -> None:
    message = "an op needs to run, got KeyError: 'x'"
    with (
        pytest.raises(ExecutionFailed, match=message) as caught,
        Renamed(ExecutionFailed, "an op", "to run"),
    ):
        raise KeyError("x")
    assert isinstance(caught.value.__cause__, KeyError)


def test_what_ends_the_interpreter_passes() -> None:
    with pytest.raises(KeyboardInterrupt), Renamed(ExecutionFailed, "an op", "to run"):
        raise KeyboardInterrupt


def test_error_that_has_its_name_already_passes() -> None:
    but = (OutputResidencyMismatch,)
    for raised, seen in ((OutputResidencyMismatch("here"), "^here$"), (KeyError("x"), "^an op")):
        with (
            pytest.raises((OutputResidencyMismatch, ExecutionFailed), match=seen),
            Renamed(ExecutionFailed, "an op", "to run", but),
        ):
            raise raised


def test_thing_is_written_out_only_when_it_fails() -> None:
    class Silent:
        def __str__(self) -> str:
            raise AssertionError

    with Renamed(ExecutionFailed, Silent(), "to run"):
        pass


def test_caught_error_is_kept_and_others_pass() -> None:
    with Caught() as nothing:
        pass
    with Caught() as caught:
        raise KeyError("x")
    assert nothing.error is None
    assert isinstance(caught.error, KeyError)
    for kind, raised in ((Exception, KeyboardInterrupt), (ValueError, KeyError)):
        with pytest.raises(raised), Caught(kind):
            raise raised
