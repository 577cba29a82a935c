"""Transfers: who moves a value between two locations, and the check of what arrived."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from autodiff.node import Meta
from autodiff.runtime.errors import (
    Renamed,
    TransferContractError,
    TransferDTypeError,
    TransferFailed,
    TransferLengthError,
    TransferPlacementError,
    TransferResidencyError,
    TransferShapeError,
)
from autodiff.runtime.executor import Executor
from autodiff.runtime.location import ExecutionLocation, Placement, Resident


class Endpoint(NamedTuple):
    """One end of a transfer.

    Attributes:
        location: where.
        executor: who runs there.
    """

    location: ExecutionLocation
    executor: Executor

    @property
    def placement(self) -> Placement:
        """Where values of this location lie."""
        return self.executor.placement(self.location.storage_class)

    def __str__(self) -> str:
        return str(self.location)


class TransferRequest(NamedTuple):
    """What a provider is asked for: ``value``, which lies at ``source``, at ``destination``."""

    value: Resident
    source: Endpoint
    destination: Endpoint

    def __str__(self) -> str:
        return f"the transfer from {self.source} to {self.destination}"


class TransferProvider(ABC):
    """Moves values from one storage class to another, for any two executors that have them.

    Attributes:
        source_class: the storage class that it reads.
        destination_class: the storage class that it writes.
        blocking: results can be read as soon as they are returned. A provider that only queues the
            copy on a stream cannot be registered.
    """

    source_class: str
    destination_class: str
    blocking: bool = True

    @abstractmethod
    def transfer_blocking(self, request: TransferRequest) -> Resident:
        """Return a copy at the destination, complete and readable; the source stays."""


@dataclass(frozen=True)
class HostCopy(TransferProvider):
    """Reads a value on the host and places it at the destination.

    Between two devices this is one download and one upload.

    >>> HostCopy("host", "device")
    HostCopy(source_class='host', destination_class='device')
    """

    source_class: str
    destination_class: str

    def transfer_blocking(self, request: TransferRequest) -> Resident:
        """Return the copy."""
        value, destination = request.value, request.destination
        array = request.source.executor.backend.to_host(value.buffer)
        backend = destination.executor.backend
        buffer = backend.place(array, self.destination_class)
        return Resident(buffer, value.shape, value.dtype, destination.placement, backend.family)


def checked_transfer(provider: TransferProvider, request: TransferRequest) -> Resident:
    """Run one transfer and check its result in every respect before anybody uses it.

    Raises:
        TransferFailed: the provider raised.
        TransferContractError: a subtype by what is wrong with the result.
    """
    with Renamed(TransferFailed, request, "a provider that runs"):
        result = provider.transfer_blocking(request)
    value, destination = request.value, request.destination
    if not isinstance(result, Resident):
        raise _contract_error(TransferContractError, request, "a Resident", type(result).__name__)
    claims: tuple[tuple[type[TransferContractError], object, object], ...] = (
        (TransferDTypeError, value.dtype, result.dtype),
        (TransferShapeError, value.shape, result.shape),
        (TransferPlacementError, destination.placement, result.placement),
    )
    for kind, wanted, found in claims:
        if wanted != found:
            raise _contract_error(kind, request, wanted, found)
    _check_buffer(request, result)
    return result


def _check_buffer(request: TransferRequest, result: Resident) -> None:
    """Compare the buffer itself with what the result claims."""
    destination, buffer = request.destination, result.buffer
    owns = destination.executor.require_contract().owns
    if not owns(buffer, destination.location.storage_class):
        wanted = f"a buffer of {destination}"
        raise _contract_error(TransferResidencyError, request, wanted, repr(buffer)[:80])
    meta: Meta = (result.shape, result.dtype)
    if buffer.dtype != meta[1]:
        raise _contract_error(TransferDTypeError, request, meta[1], buffer.dtype)
    if buffer.size != prod(meta[0]):
        wanted = f"{prod(meta[0])} elements"
        raise _contract_error(TransferLengthError, request, wanted, f"{buffer.size} elements")
    if buffer.shape != meta[0]:
        raise _contract_error(TransferShapeError, request, meta[0], buffer.shape)


def _contract_error(
    kind: type[TransferContractError], request: TransferRequest, wanted: object, found: object
) -> TransferContractError:
    return kind(f"{request} needs {wanted}, got {found}. Correct the provider's transfer_blocking.")
