"""Executors that record, providers that lie, workers that wait: what the runtime's tests share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from op_checks import Sample, outputs

import autodiff as ad
from autodiff import F64, Parameter, Program, Tensor, custom_op
from autodiff.backends.emulated_backend import EmulatedBackend
from autodiff.device import backend_of, canonical_device
from autodiff.dispatch import apply
from autodiff.node import Autograd, Cell, Op
from autodiff.runtime.execute import Run, tensors_of
from autodiff.runtime.executor import Executor
from autodiff.runtime.location import ExecutionLocation, Resident, resident_of
from autodiff.runtime.prepared import Prepared
from autodiff.runtime.runtime import Runtime
from autodiff.runtime.transfer import HostCopy, TransferProvider, TransferRequest
from autodiff.storage import Storage
from autodiff.table import OPS

DEVICES = ("emulated", "emulated:1", "emulated:2")


def _split(x: Tensor) -> Tensor:
    y = ad.sin(x)
    return y + ad.cos(y)


#: sin, then cos of it, then their sum: with cos elsewhere the value goes there and back.
SPLIT = Program.trace(_split, ((3,), F64))
VALUES = np.array([0.1, 0.2, 0.3])
EXPECTED = np.sin(VALUES) + np.cos(np.sin(VALUES))
COS_ON_1 = {"sin": "emulated", "cos": "emulated:1", "add": "emulated"}


def chain(*names: str, shape: tuple[int, ...] = (3,)) -> Program:
    """The program that applies unary ops one after the other."""

    def function(x: Tensor) -> Tensor:
        for name in names:
            x = getattr(ad, name)(x)
        return x

    return Program.trace(function, (shape, F64))


def emulated(device: str = "emulated") -> EmulatedBackend:
    """The backend of an emulated device."""
    backend = backend_of(canonical_device(device))
    assert isinstance(backend, EmulatedBackend)
    return backend


def claimed(buffer: Any, device: str, dtype: Any = F64) -> Tensor:
    """A tensor that claims to be on a device, whatever its buffer is."""
    canonical_device(device)
    cell = Cell(buffer.shape, np.dtype(dtype), device, Storage(buffer, device))
    return Tensor._wrap(cell, Autograd())


def managed(values: Any, device: str = "emulated") -> Tensor:
    """A tensor in the managed memory of an emulated device."""
    return claimed(emulated(device).place(np.asarray(values), "managed"), device)


def at(executor: Executor, storage_class: str) -> ExecutionLocation:
    """One of an executor's locations."""
    return next(x for x in executor.locations if x.storage_class == storage_class)


class Recorder(Executor):
    """Writes down every op that it runs."""

    def __init__(self, device: str, log: list[tuple[str, ...]], **options: Any) -> None:
        super().__init__(device, **options)
        self.log = log

    def run(self, op: Any, operands: Any, attrs: Any, storage_class: str) -> tuple[Any, ...]:
        self.log.append(("run", self.name, op.name))
        return super().run(op, operands, attrs, storage_class)


class Own(Executor):
    """An executor of a user's own: its runs take the general path."""


class Faulty(Executor):
    """Replaces what one op gives."""

    def __init__(self, device: str, op: str, fault: Callable[[Any], Any], **options: Any) -> None:
        super().__init__(device, **options)
        self._op = op
        self._fault = fault

    def run(self, op: Any, operands: Any, attrs: Any, storage_class: str) -> tuple[Any, ...]:
        made = super().run(op, operands, attrs, storage_class)
        return self._fault(made) if op.name == self._op else made


class Provider(TransferProvider):
    """Copies by way of the host, writes the request down, and may change the result.

    Two of them are never the same provider.
    """

    def __init__(
        self,
        source_class: str = "device",
        destination_class: str = "device",
        fault: Callable[[Resident, TransferRequest], Any] = lambda result, request: result,
        log: list[tuple[str, ...]] | None = None,
    ) -> None:
        self.source_class = source_class
        self.destination_class = destination_class
        self._fault = fault
        self._log = [] if log is None else log

    def transfer_blocking(self, request: TransferRequest) -> Resident:
        """Return what the fault makes of the copy."""
        self._log.append(("transfer", str(request.source), str(request.destination)))
        copy = HostCopy(self.source_class, self.destination_class).transfer_blocking(request)
        return self._fault(copy, request)


class Gate:
    """A spawner whose workers wait until it is opened."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.workers: list[threading.Thread] = []

    def __call__(self, target: Callable[[], None]) -> None:
        """Start a worker that waits."""

        def wait() -> None:
            assert self._open.wait(timeout=60)
            target()

        self.workers.append(threading.Thread(target=wait))
        self.workers[-1].start()

    def open(self) -> None:
        """Let all workers run, and wait for their end."""
        self._open.set()
        for worker in self.workers:
            worker.join(timeout=60)
            assert not worker.is_alive()


def prepared_on_cpu(program: Program, inputs: Sequence[Tensor]) -> Prepared:
    """Prepare for the CPU."""
    return Runtime(["cpu"]).prepare(program, inputs)


def in_general(prepared: Prepared, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Run as a schedule with transfers would."""
    buffers = {slot: resident_of(x).buffer for slot, x in enumerate(inputs)}
    return tensors_of(prepared, Run(prepared, buffers).run())


def directly(prepared: Prepared, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Run directly, or fail."""
    assert prepared.direct is not None
    return Runtime(["cpu"]).run_prepared(prepared, inputs)


def values_of(tensors: Sequence[Tensor]) -> list[Any]:
    """The values as lists."""
    return [x.tolist() for x in tensors]


def parameter(value: Any = (1.0, 2.0), device: str = "emulated") -> Parameter:
    """A Parameter on a device."""
    return Parameter(Tensor(value, device=device))


#: An op that can be queued, and fails when it runs.
broken = custom_op("broken", lambda xp, x: 1 / 0, None, meta=lambda x: (x,))


def results_of_row(
    op: Op, sample: Sample, put: Callable[[Any], Any] = lambda array: array
) -> Callable[..., tuple[Tensor, ...]]:
    """A row's outputs and the gradients of a weighted sum of them, by its moving operands.

    Args:
        op: the row.
        sample: its operands and attributes.
        put: makes an operand of an array.
    """

    def forward(*moving: Tensor) -> tuple[Tensor, ...]:
        args = [put(x) if isinstance(x, np.ndarray) else x for x in sample.args]
        for k, value in zip(sample.moving, moving, strict=True):
            args[k] = value
        return outputs(apply(op, *args, **sample.attrs))

    def loss(*moving: Tensor) -> Tensor:
        parts = [x * put(_weights(x)) for x in forward(*moving) if x.dtype.kind in "fc"]
        return sum(part.real.sum() for part in parts)

    def function(*moving: Tensor) -> tuple[Tensor, ...]:
        outs = forward(*moving)
        if op.vjp is None or not moving or not any(x.dtype.kind in "fc" for x in outs):
            return outs
        made = ad.value_and_grad(loss)(*moving)[1]
        return (*outs, *(made if isinstance(made, tuple) else (made,)))

    return function


def _weights(x: Tensor) -> Any:
    return (1 + 0.3 * np.arange(x.numel()).reshape(x.shape)).astype(x.dtype)


#: The rows that graph mode and the runtime take: they know shapes, draw nothing and move nothing.
ROWS = [n for n, op in OPS.items() if op.resident and op.meta and not (op.draws or op.moves)]


def bits(tensors: Sequence[Tensor]) -> list[bytes]:
    """The values to the last bit."""
    return [x.numpy().tobytes() for x in tensors]
