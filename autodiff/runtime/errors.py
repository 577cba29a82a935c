"""What preparing and running a program can refuse. Route errors make the search try elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from autodiff.errors import AutodiffError


class RegistrationError(AutodiffError, ValueError):
    """An executor or a provider that cannot be registered."""


class MissingIngressContract(RegistrationError):
    """An executor that does not say completely which values it takes in."""


class ExecutorConflict(RegistrationError):
    """Two executors of one name."""


class TransferProviderConflict(RegistrationError):
    """Two providers for one pair of storage classes."""


class PlacementError(AutodiffError, ValueError):
    """An explicit placement that names no instruction or no location, or one without the op."""


class RouteError(AutodiffError, RuntimeError):
    """A placement that no schedule can serve."""


class UnsupportedOp(RouteError):
    """No executor that may run an op."""


class NoIngress(RouteError):
    """An input that no executor takes in where it lies."""


class MissingTransferProvider(RouteError):
    """A value that is needed where no direct provider can bring it."""


class DispatchSearchBudgetExceeded(AutodiffError, RuntimeError):
    """The placement search stopped; the last route error is the cause."""


class ResidencyMismatch(AutodiffError, ValueError):
    """An input that is not what, or not where, its prepared execution takes it."""


class OutputResidencyMismatch(AutodiffError, RuntimeError):
    """An executor that gave another result than its op's row says, or not in its own memory."""


class TransferContractError(AutodiffError, RuntimeError):
    """A provider that gave something else than it was asked for."""


class TransferDTypeError(TransferContractError):
    """Another dtype."""


class TransferShapeError(TransferContractError):
    """Another shape."""


class TransferLengthError(TransferContractError):
    """A buffer with another number of elements than its shape has."""


class TransferPlacementError(TransferContractError):
    """Another placement than the destination's."""


class TransferResidencyError(TransferContractError):
    """A buffer that does not lie in the destination's memory, whatever it says."""


class TransferFailed(AutodiffError, RuntimeError):
    """A provider that raised; its error is the cause."""


class ExecutionFailed(AutodiffError, RuntimeError):
    """An instruction that raised; its error is the cause."""


class WorkerError(AutodiffError, RuntimeError):
    """A submitted run that did not give its result; the reason is the cause."""


class WorkerFailed(WorkerError):
    """The run was refused or failed with one of this project's errors."""


class WorkerPanicked(WorkerError):
    """The worker died of anything else."""


class WorkerNotStarted(WorkerError):
    """The worker could not be started."""


class ResultTimeout(AutodiffError, TimeoutError):
    """A submitted run that was not done in time. It goes on."""


class Caught:
    """A block that ends with its error, which is kept.

    Args:
        kind: which errors; others pass.

    Attributes:
        error: the one that ended the block, if one did.
    """

    __slots__ = ("_kind", "error")

    def __init__(self, kind: type[Exception] = Exception) -> None:
        self._kind = kind
        self.error: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if isinstance(error, self._kind):
            self.error = error
        return self.error is not None


class Renamed:
    """A block whose foreign errors are raised as one of this project's, with the cause kept.

    Args:
        kind: the class to raise.
        thing: what fails; it is written out only then.
        needs: what it needed; the message ends with what was raised.
        but: an error that has its name already, and passes.
    """

    __slots__ = ("_but", "_kind", "_needs", "thing")

    def __init__(
        self,
        kind: type[AutodiffError],
        thing: object,
        needs: str,
        but: tuple[type[AutodiffError], ...] = (),
    ) -> None:
        self.thing = thing
        self._kind = kind
        self._needs = needs
        self._but = but

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, self._but):
            said = f"{type(error).__name__}: {error}"
            raise self._kind(f"{self.thing} needs {self._needs}, got {said}") from error
