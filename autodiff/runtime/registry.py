"""Executors by name in order of registration, and one transfer provider a pair of classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from autodiff.node import Op
from autodiff.runtime.errors import (
    ExecutorConflict,
    PlacementError,
    RegistrationError,
    TransferProviderConflict,
)
from autodiff.runtime.executor import Executor
from autodiff.runtime.location import ExecutionLocation
from autodiff.runtime.transfer import Endpoint, TransferProvider

Pair = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Registry:
    """An immutable set of executors and providers: what was admitted with it keeps it.

    Attributes:
        executors: by name, in order of registration.
        providers: by (source class, destination class).
    """

    executors: Mapping[str, Executor] = field(default_factory=dict)
    providers: Mapping[Pair, TransferProvider] = field(default_factory=dict)

    def with_executor(self, executor: Executor) -> Registry:
        """Return a registry with one more executor.

        Raises:
            MissingIngressContract: its contract is missing or incomplete.
            ExecutorConflict: another one has its name.
        """
        executor.require_contract()
        known = self.executors.get(executor.name)
        if known is executor:
            return self
        if known is not None:
            raise ExecutorConflict(
                f"a runtime needs one executor a name, got two named {executor.name!r}. "
                "Give one of them another name."
            )
        more = {**self.executors, executor.name: executor}
        return Registry(MappingProxyType(more), self.providers)

    def without_executor(self, name: str) -> Registry:
        """Return a registry without an executor.

        Raises:
            RegistrationError: there is none of that name.
        """
        if name not in self.executors:
            raise RegistrationError(
                f"an executor to remove needs one of the names {list(self.executors)}, got "
                f"{name!r}. Take one of them."
            )
        fewer = {key: value for key, value in self.executors.items() if key != name}
        return Registry(MappingProxyType(fewer), self.providers)

    def with_provider(self, provider: TransferProvider) -> Registry:
        """Return a registry with one more provider; the same one again changes nothing.

        Raises:
            RegistrationError: it only queues its copies.
            TransferProviderConflict: another one serves the same pair of storage classes.
        """
        if not provider.blocking:
            raise RegistrationError(
                "a transfer provider needs results that can be read at once, got "
                f"{provider!r:.80}, which only queues them. Wait for the copy in "
                "transfer_blocking, and leave blocking True."
            )
        pair = (provider.source_class, provider.destination_class)
        known = self.providers.get(pair)
        if known is not None and known != provider:
            raise TransferProviderConflict(
                f"transfers from {pair[0]!r} to {pair[1]!r} need one provider, got "
                f"{provider!r:.80} beside {known!r:.80}. Remove one."
            )
        if known is not None:
            return self
        return Registry(self.executors, MappingProxyType({**self.providers, pair: provider}))

    def without_provider(self, source_class: str, destination_class: str) -> Registry:
        """Return a registry without the provider of a pair of storage classes.

        Raises:
            RegistrationError: there is none.
        """
        pair = (source_class, destination_class)
        if pair not in self.providers:
            raise RegistrationError(
                f"a provider to remove needs one of the pairs {list(self.providers)}, got {pair}. "
                "Take one of them."
            )
        fewer = {key: value for key, value in self.providers.items() if key != pair}
        return Registry(self.executors, MappingProxyType(fewer))

    def provider(
        self, source: ExecutionLocation, destination: ExecutionLocation
    ) -> TransferProvider | None:
        """Return who moves values directly between two locations."""
        return self.providers.get((source.storage_class, destination.storage_class))

    def endpoint(self, location: ExecutionLocation) -> Endpoint:
        """Return a location with its executor."""
        return Endpoint(location, self.executors[location.executor])

    def locations(self, op: Op) -> tuple[ExecutionLocation, ...]:
        """Return where an op can run: executors in order of registration, defaults first."""
        able = [executor for executor in self.executors.values() if executor.supports(op)]
        return tuple([location for executor in able for location in executor.locations])

    def first_location(self) -> ExecutionLocation:
        """Return the default location of the executor that was registered first.

        Raises:
            PlacementError: there is none.
        """
        for executor in self.executors.values():
            return executor.locations[0]
        raise PlacementError(
            "a program needs an executor, got a runtime without any. Register one, as in "
            "Runtime(['cpu'])."
        )

    def location(self, name: str | ExecutionLocation) -> ExecutionLocation:
        """Return a location that a user named: itself, or an executor's default one.

        Raises:
            PlacementError: no executor has it.
        """
        known = {name: executor.locations[0] for name, executor in self.executors.items()}
        known_all = [x for executor in self.executors.values() for x in executor.locations]
        if isinstance(name, str) and name in known:
            return known[name]
        if isinstance(name, ExecutionLocation) and name in known_all:
            return name
        raise PlacementError(
            f"a placement needs one of the executors {list(known)} or one of their locations, got "
            f"{name!r}. Register the executor first."
        )
