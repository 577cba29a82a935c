"""Executors: who runs ops, and the contract that says which values it takes in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

from autodiff.backends.interface import Array, Backend
from autodiff.device import CPU, backend_of, canonical_device, split_device
from autodiff.node import Attrs, Op
from autodiff.runtime.errors import MissingIngressContract
from autodiff.runtime.location import ExecutionLocation, Placement, Resident


@dataclass(frozen=True)
class IngressContract:
    """Which values an executor takes in. All three are needed.

    Attributes:
        eligible: whether values at a placement can be taken in without a transfer, and so need no
            other executor.
        accepts: whether an actual value is what it claims to be: device kind, ordinal, backend
            family, and a buffer of the executor's own type and memory.
        owns: whether a buffer, be it the result of a transfer or of an op, really lies in the
            executor's memory of a storage class.
    """

    eligible: Callable[[Placement], bool] | None = None
    accepts: Callable[[Resident], bool] | None = None
    owns: Callable[[Array, str], bool] | None = None


class Executor:
    """Runs ops on one device.

    Args:
        device: ``"cpu"``, ``"emulated:1"``, ...
        name: unique in a runtime; by default the device's name.
        event_domain: whose order of events it follows; by default the device's name.
        ops: the names of the ops that it can run; None: all.
        storage_classes: kinds of memory for its values, the default first; None: the backend's.
        contract: which values it takes in; by default those on its device, in its storage classes.

    Attributes:
        locations: one a storage class, the default first.

    >>> Executor("cpu").locations
    (ExecutionLocation(executor='cpu', event_domain='cpu', storage_class='host'),)
    """

    def __init__(
        self,
        device: str,
        *,
        name: str | None = None,
        event_domain: str | None = None,
        ops: Collection[str] | None = None,
        storage_classes: Sequence[str] | None = None,
        contract: IngressContract | None = None,
    ) -> None:
        self.device = canonical_device(device)
        self.backend: Backend = backend_of(self.device)
        self.name = name or self.device
        self.event_domain = event_domain or self.device
        self.ops = None if ops is None else frozenset(ops)
        self.storage_classes = tuple(storage_classes or self.backend.storage_classes)
        self.locations = tuple(
            [ExecutionLocation(self.name, self.event_domain, x) for x in self.storage_classes]
        )
        self._own_contract = self._make_contract()
        self.contract: IngressContract | None = contract or self._own_contract

    def placement(self, storage_class: str) -> Placement:
        """Return where this executor's values of a storage class lie."""
        kind, ordinal = split_device(self.device)
        return Placement(kind, ordinal, storage_class)

    @property
    def is_plain(self) -> bool:
        """Whether ops run here as in eager code on the CPU, and nothing of a user's is asked."""
        replaced = type(self) is not Executor or not vars(self).keys().isdisjoint(vars(Executor))
        if replaced or self.contract is not self._own_contract:
            return False
        return self.device == CPU and self.storage_classes == self.backend.storage_classes

    def supports(self, op: Op) -> bool:
        """Whether this executor can run an op; random numbers are never drawn on a device."""
        if op.draws and self.device != CPU:
            return False
        return self.ops is None or op.name in self.ops

    def launch(self) -> AbstractContextManager[None]:
        """Return a block whose ops are one launch."""
        return self.backend.graph()

    def run(
        self, op: Op, operands: Sequence[Array], attrs: Attrs, storage_class: str
    ) -> tuple[Array, ...]:
        """Run an op; operands are own buffers and host arrays of shape ()."""
        made = self.backend.launch(op.forward, operands, attrs, op.name, storage_class)
        return made if isinstance(made, tuple) else (made,)

    def finish(self, buffer: Array) -> Array:
        """Return a contiguous, read-only buffer of the program's output that shares no memory."""
        return self.backend.own(buffer)

    def require_contract(self) -> Ingress:
        """Return the contract, or refuse an executor whose contract is missing or has gaps.

        Raises:
            MissingIngressContract: one of the three parts is missing.
        """
        contract = self.contract or IngressContract()
        parts = {part: getattr(contract, part) for part in ("eligible", "accepts", "owns")}
        missing = [part for part, answer in parts.items() if answer is None]
        if missing:
            raise MissingIngressContract(
                f"executor {self.name!r} needs an ingress contract with eligible, accepts and owns,"
                f" got none for {', '.join(missing)}. Give all three to IngressContract."
            )
        return Ingress(**parts)

    def _make_contract(self) -> IngressContract:
        backend = self.backend

        def eligible(placement: Placement) -> bool:
            return placement in [self.placement(kind) for kind in self.storage_classes]

        def accepts(value: Resident) -> bool:
            if not (eligible(value.placement) and value.family == backend.family):
                return False
            if not owns(value.buffer, value.placement.storage_class):
                return False
            return (value.buffer.shape, value.buffer.dtype) == (value.shape, value.dtype)

        def owns(buffer: Any, storage_class: str) -> bool:  # Any: that is the question
            return backend.owns(buffer) and backend.storage_class(buffer) == storage_class

        return IngressContract(eligible, accepts, owns)


class Ingress(NamedTuple):
    """A complete ingress contract."""

    eligible: Callable[[Placement], bool]
    accepts: Callable[[Resident], bool]
    owns: Callable[[Array, str], bool]
