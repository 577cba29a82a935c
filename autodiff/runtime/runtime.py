"""Runtime: executors and providers that prepare and run programs."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Mapping, Sequence

from autodiff.backends.interface import Array
from autodiff.errors import DTypeError
from autodiff.keys import Key, Recent
from autodiff.program import Program
from autodiff.runtime.batching import batched_program
from autodiff.runtime.execute import Run, tensors_of
from autodiff.runtime.executor import Executor
from autodiff.runtime.explain import Explanation, explanation
from autodiff.runtime.listing import list_values
from autodiff.runtime.location import Resident, Signature, described, resident_of
from autodiff.runtime.placement import Wishes
from autodiff.runtime.prepare import ByProgram, check_shapes, plan, structure_of
from autodiff.runtime.prepared import PlacedConstants, Prepared
from autodiff.runtime.registry import Registry
from autodiff.runtime.schedule import Schedule
from autodiff.runtime.submit import Handle, Spawner, spawn_thread, start
from autodiff.runtime.transfer import HostCopy, TransferProvider
from autodiff.tensors import Tensor

_NO_WISHES: Wishes = {}
_LAST = "last"  # the key of what a program without wishes was prepared for last
_KEPT_SCHEDULES = 256


class Runtime:
    """Runs programs on executors, with every transfer scheduled before anything runs.

    Args:
        executors: device names or executors, the preferred one first; by default the CPU.
        providers: who moves values between storage classes; by default a ``HostCopy`` for every
            pair of storage classes that the executors have.
        spawn: starts the worker of a submitted run; by default a thread.

    Attributes:
        planned: how many schedules were planned; every other prepare found one.

    >>> from autodiff import F64, Program
    >>> program = Program.trace(lambda x: x * x, ((2,), F64))
    >>> Runtime(["cpu"]).run(program, [Tensor([1.0, 2.0])])[0].tolist()
    [1.0, 4.0]
    """

    def __init__(
        self,
        executors: Iterable[str | Executor] = ("cpu",),
        providers: Iterable[TransferProvider] | None = None,
        *,
        spawn: Spawner = spawn_thread,
    ) -> None:
        self.planned = 0
        self._spawn = spawn
        self._lock = threading.RLock()
        self._registry = Registry()
        self._schedules: Recent[Schedule] = Recent(_KEPT_SCHEDULES)
        self._structures: ByProgram[Key] = ByProgram()
        self._prepared: ByProgram[Prepared] = ByProgram()
        for executor in executors:
            self.register_executor(executor)
        chosen = self._host_copies() if providers is None else providers
        for provider in chosen:
            self.register_provider(provider)

    # -- configuration -----------------------------------------------------------------------------

    def register_executor(self, executor: str | Executor) -> None:
        """Add an executor, the last one in order of preference.

        Raises:
            MissingIngressContract: its contract is missing or incomplete.
            ExecutorConflict: another one has its name.
        """
        made = Executor(executor) if isinstance(executor, str) else executor
        with self._lock:
            self._configure(self._registry.with_executor(made))

    def remove_executor(self, name: str) -> None:
        """Remove an executor. What was prepared or submitted with it runs on."""
        with self._lock:
            self._configure(self._registry.without_executor(name))

    def register_provider(self, provider: TransferProvider) -> None:
        """Add a transfer provider; the same one again changes nothing.

        Raises:
            TransferProviderConflict: another one serves the same pair of storage classes.
            RegistrationError: it only queues its copies.
        """
        with self._lock:
            self._configure(self._registry.with_provider(provider))

    def remove_provider(self, source_class: str, destination_class: str) -> None:
        """Remove a transfer provider. What was prepared or submitted with it runs on."""
        with self._lock:
            self._configure(self._registry.without_provider(source_class, destination_class))

    def _configure(self, registry: Registry) -> None:
        self._registry = registry
        self._schedules.clear()
        self._prepared.clear()

    def _host_copies(self) -> list[HostCopy]:
        executors = self._registry.executors.values()
        classes = dict.fromkeys(
            [kind for executor in executors for kind in executor.storage_classes]
        )
        return [HostCopy(*pair) for pair in itertools.product(classes, classes)]

    # -- preparing and running ---------------------------------------------------------------------

    def prepare(
        self,
        program: Program,
        inputs: Sequence[Tensor],
        placement: Wishes | None = None,
        batched: Sequence[bool] | None = None,
    ) -> Prepared:
        """Plan a program for inputs like these; nothing is moved and nothing runs.

        Args:
            program: what to run.
            inputs: one tensor a slot.
            placement: where instructions have to run, by number or by op name: an executor's name
                or an ``ExecutionLocation``.
            batched: which inputs carry a batch axis in front; None: none does.

        Returns:
            What ``run_prepared`` takes: for any inputs of the same shapes, dtypes and residency.

        Raises:
            ShapeError: inputs that do not fit the slots.
            TraceError: an op without a shape rule, or without a per-sample meaning in a batch.
            PlacementError: a placement that names what is not there.
            RouteError: no placement can be served: ``MissingTransferProvider``, ``NoIngress``,
                ``UnsupportedOp``.
            DispatchSearchBudgetExceeded: none of those tried can be.
            ResidencyMismatch: an input that is not what it claims.
        """
        residents = _residents(inputs)
        return self._prepare(program, residents, placement or _NO_WISHES, batched)

    def run_prepared(self, prepared: Prepared, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Run what was prepared.

        Returns:
            The program's outputs, where they were computed, without history.

        Raises:
            ResidencyMismatch: inputs of another shape, dtype or residency.
            TransferContractError: a provider gave something else than it was asked for.
            TransferFailed: a provider raised.
            OutputResidencyMismatch: an executor gave something else than the op's row says.
            ExecutionFailed: an op raised.
        """
        direct = prepared.direct
        buffers = None if direct is None else direct.buffers_of(inputs)
        if direct is not None and buffers is not None:
            return direct.run(buffers)
        return _run(prepared, _checked(prepared, _residents(inputs)))

    def run(
        self,
        program: Program,
        inputs: Sequence[Tensor],
        placement: Wishes | None = None,
        batched: Sequence[bool] | None = None,
    ) -> tuple[Tensor, ...]:
        """Prepare, or find what was prepared, and run. See ``prepare`` and ``run_prepared``."""
        return _run(*self._admit(program, inputs, placement or _NO_WISHES, batched))

    def submit(
        self,
        program: Program,
        inputs: Sequence[Tensor],
        placement: Wishes | None = None,
        batched: Sequence[bool] | None = None,
    ) -> Handle:
        """Run in a worker. What is invalid is refused here; what is admitted is owned by the run.

        Later writes to the inputs, and a later configuration of the runtime, do not change it.

        Returns:
            A handle with ``result(timeout)`` and ``done()``. Dropping it neither waits nor cancels.

        Raises:
            WorkerNotStarted: the worker could not be started, the reason is the cause.
            AutodiffError: as ``prepare``.
        """
        admitted = self._admit(program, inputs, placement or _NO_WISHES, batched)
        return start(lambda: _run(*admitted), self._spawn)

    def explain(
        self,
        program: Program,
        inputs: Sequence[Tensor] | None = None,
        placement: Wishes | None = None,
        batched: Sequence[bool] | None = None,
    ) -> Explanation:
        """Return what a run would do, without running: ``print`` it.

        Args:
            program: what to explain.
            inputs: one tensor a slot; None: like the program's slots.
            placement: as for ``prepare``.
            batched: as for ``prepare``.

        Returns:
            Locations, transfers with their bytes, launches, and the live copies after every step.
        """
        if inputs is not None:
            return explanation(self.prepare(program, inputs, placement, batched).schedule)
        signatures = [described(slot) for slot in program.slots]
        wishes = placement or _NO_WISHES
        return explanation(self._plan(program, signatures, wishes, batched, None)[1])

    def _admit(
        self,
        program: Program,
        inputs: Sequence[Tensor],
        wishes: Wishes,
        batched: Sequence[bool] | None,
    ) -> tuple[Prepared, Sequence[Array]]:
        """Return what was prepared for the inputs, and their values; all is checked.

        Without wishes it is often what ran last.
        """
        asked = bool(wishes) or batched is not None
        with self._lock:
            last = None if asked else self._prepared.of(program).get(_LAST)
        buffers = None if last is None else _fitting(last, inputs)
        if last is not None and buffers is not None:
            return last, buffers
        residents = _residents(inputs)
        prepared = self._prepare(program, residents, wishes, batched)
        return prepared, _checked(prepared, residents)

    def _prepare(
        self,
        program: Program,
        residents: Sequence[Resident],
        wishes: Wishes,
        batched: Sequence[bool] | None,
    ) -> Prepared:
        signatures = tuple([value.signature for value in residents])
        key = (signatures, _frozen_wishes(wishes), None if batched is None else tuple(batched))
        with self._lock:
            known = self._prepared.of(program).get(key)
            if known is None:
                written, schedule = self._plan(program, signatures, wishes, batched, residents)
                known = Prepared(schedule, signatures, PlacedConstants(written.constants))
                self._prepared.of(program)[key] = known
            if not wishes and batched is None:
                self._prepared.of(program)[_LAST] = known
        return known

    def _plan(
        self,
        program: Program,
        signatures: Sequence[Signature],
        wishes: Wishes,
        batched: Sequence[bool] | None,
        residents: Sequence[Resident] | None,
    ) -> tuple[Program, Schedule]:
        """Return the program as it runs and its schedule, a known one if there is one."""
        flags = (False,) * len(program.slots) if batched is None else tuple(batched)
        check_shapes(program, signatures, flags)
        metas = [s.meta for s in signatures]
        key = (self._structure(program), tuple(signatures), _frozen_wishes(wishes), flags)
        written = batched_program(program, metas, flags)
        with self._lock:
            schedule = self._schedules.get(key)
            if schedule is None:
                listing = list_values(written, metas)
                constants, registry = written.constants, self._registry
                schedule = plan(listing, signatures, constants, registry, wishes, residents)
                self._schedules.put(key, schedule)
                self.planned += 1
        return written, schedule

    def _structure(self, program: Program) -> Key:
        with self._lock:
            known = self._structures.of(program)
            if () not in known:
                known[()] = structure_of(program)
            return known[()]


def _run(prepared: Prepared, buffers: Sequence[Array]) -> tuple[Tensor, ...]:
    direct = prepared.direct
    if direct is not None:
        return direct.run(buffers)
    return tensors_of(prepared, Run(prepared, dict(enumerate(buffers))).run())


def _fitting(prepared: Prepared, inputs: Sequence[Tensor]) -> list[Array] | None:
    """Return the inputs' buffers, if it runs directly and they fit it: the quickest check."""
    direct = prepared.direct
    return None if direct is None else direct.buffers_of(inputs)


def _checked(prepared: Prepared, residents: Sequence[Resident]) -> list[Array]:
    """Return the inputs' buffers, checked against what was prepared."""
    prepared.check(residents)
    return [value.buffer for value in residents]


def _residents(inputs: Sequence[Tensor]) -> list[Resident]:
    """Return the inputs' values as they are now."""
    for number, x in enumerate(inputs):
        if not isinstance(x, Tensor):
            raise DTypeError(
                f"input {number} of a program needs a Tensor, got {type(x).__name__}. "
                "Make one with Tensor(...)."
            )
    return [resident_of(x) for x in inputs]


def _frozen_wishes(wishes: Mapping[int | str, object]) -> Key:
    return tuple(sorted(wishes.items(), key=lambda item: str(item[0])))
