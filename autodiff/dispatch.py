"""The only door: every op goes through ``apply``: run, queued or traced, and recorded."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from autodiff.backends.interface import Array
from autodiff.device import CPU, backend_of, move
from autodiff.dtypes import DIFFERENTIABLE, DType
from autodiff.errors import DeviceMismatch, DTypeError, TraceError
from autodiff.ieee import silence
from autodiff.modes import modes
from autodiff.node import ABSTRACT, CONSTANT, Autograd, Cell, History, Node, Op, read_all
from autodiff.pool import pool_of
from autodiff.sites import call_site
from autodiff.storage import Storage
from autodiff.tensors import Operand, Tensor

_cpu = backend_of(CPU)
_xp, _own, _new = _cpu.xp, _cpu.own, object.__new__
_WEAK = (float, int, complex, bool)  # exactly these types: np.float64 is a float, but not weak
_weak_dtypes: dict[tuple[object, ...], DType] = {}


def apply(op: Op, *args: Operand, **attrs: Any) -> Any:  # Any: attrs are the row's; see below
    """Run, queue or trace ``op``, and record it where a gradient needs it.

    Args:
        op: a row of the table.
        args: tensors; numbers and arrays become leaves here.
        attrs: the row's attributes, frozen values.

    Returns:
        One Tensor, or a tuple of ``op.outputs`` Tensors.

    Raises:
        DeviceMismatch: operands on two devices; numbers travel with the launch.
    """
    inputs = lift(args)
    device, abstract, needs = CPU, False, False
    for x in inputs:
        cell = x._cell
        if cell.state is ABSTRACT:
            abstract = True
        elif cell.device != device:
            device = _common_device(inputs)
        if x._meta.requires_grad:
            needs = True
    needs = needs and op.vjp is not None and modes.grad
    if abstract:
        inputs = tuple([_in_trace(x) for x in inputs])
    node = Node(op, inputs, attrs) if needs or abstract else None
    if abstract:
        cells = _trace(op, inputs, attrs, node)
    elif device == CPU and not op.moves:
        cells = _run(op, inputs, attrs)
    else:
        cells = _run_on_device(op, inputs, attrs, device)
    history = History(node, cells) if needs and node is not None else None
    if op.outputs == 1:
        result = result_of(cells[0], history, 0)
        # What is computed of numbers only is a number, too: a rule's conjugate, a power's exponent.
        if inputs and inputs[0]._meta.kind is CONSTANT and not abstract:
            numbers = all(_is_number(x._cell) and x._meta.kind is CONSTANT for x in inputs)
            if numbers and _is_number(cells[0]):
                result._meta.kind = CONSTANT
        return result
    return tuple([result_of(cell, history, k) for k, cell in enumerate(cells[: op.outputs])])


def _is_number(cell: Cell) -> bool:
    """Whether a value travels with a launch, wherever that is."""
    return not cell.shape and cell.device == CPU


def result_of(cell: Cell, history: History | None, index: int) -> Tensor:
    """Make a handle on an output, with its history if it can have any."""
    tensor = _new(Tensor)  # what Tensor._wrap does, as every op makes one
    tensor._cell = cell
    if history is None or cell.dtype not in DIFFERENTIABLE:
        tensor._meta = Autograd()
    else:
        tensor._meta = Autograd(True, history, index)
    return tensor


def _run(op: Op, inputs: tuple[Tensor, ...], attrs: dict[str, Any]) -> tuple[Cell, ...]:
    """Compute now, on the CPU."""
    result = op.forward(_xp, *read_all(inputs), **attrs)
    if op.view:
        return (_view_cell(result, inputs[0]._cell),)
    if type(result) is tuple:
        return tuple([_computed(_own(value), CPU) for value in result])
    return (_computed(_own(result), CPU),)


def _run_on_device(
    op: Op, inputs: tuple[Tensor, ...], attrs: dict[str, Any], device: str
) -> tuple[Cell, ...]:
    """Move, queue, or launch now."""
    if op.moves:
        return (_moved(inputs[0]._cell, attrs["device"]),)
    if op.draws:
        raise DeviceMismatch(
            f"{op.name} draws random numbers and needs the CPU, got operands on {device}. "
            "Draw on the host, and move the result with .to(device)."
        )
    site = call_site(3)
    if modes.queues is not None:
        queue = modes.queues(device)
        if op.resident and op.meta is not None:
            return queue.add(op, inputs, attrs, site)
        queue.run()
    backend = backend_of(device)
    operands = read_all(inputs)
    made = backend.launch(op.forward, operands, attrs, op.name, backend.storage_classes[0])
    if op.view:
        source = inputs[0]._cell
        cells = [_view_cell(made, source)]
        if cells[0].storage is source.storage:
            return tuple(cells)
    else:
        values = made if type(made) is tuple else (made,)
        cells = [_computed(backend.own(value), device) for value in values]
    for cell in cells:
        pool_of(device).add(cell.require_storage(), op.name, site)
    return tuple(cells)


def _moved(cell: Cell, device: str) -> Cell:
    """Copy a value to a device; its storage keeps that copy, so that the next move costs nothing.

    Of a view only its own elements are moved.
    """
    storage = cell.require_storage()  # first: until it has run, no pending value is known as a view
    if cell.strides is None:
        buffer = storage.read(device)
    else:
        part = backend_of(cell.device).own(cell.read())
        buffer = move(part, cell.device, device)
    return Cell(cell.shape, cell.dtype, device, Storage(buffer, device))


def _computed(buffer: Array, device: str) -> Cell:
    return Cell(buffer.shape, buffer.dtype, device, Storage(buffer, device))


def _view_cell(result: Any, source: Cell) -> Cell:  # Any: the backend's array type
    """Return a cell that shares the source's storage if the result shares its memory."""
    cell = Cell(result.shape, result.dtype, source.device, None)
    share(cell, source, result)
    if cell.storage is None:
        return _computed(backend_of(source.device).own(result), source.device)
    return cell


def share(cell: Cell, source: Cell, value: Array) -> None:
    """Make a cell a view of the source's storage, if the value shares its memory."""
    storage = source.require_storage()
    spec = backend_of(cell.device).view_of(value, storage.read(cell.device))
    if spec is not None:
        cell.storage = storage
        cell.strides, cell.offset = spec


def _trace(
    op: Op, inputs: tuple[Tensor, ...], attrs: dict[str, Any], node: Node | None
) -> tuple[Cell, ...]:
    """Only say what would be computed."""
    if op.meta is None:
        raise TraceError(
            f"tracing needs ops with a shape rule, got {op.name!r}. "
            "Give its row a meta function, or compute it outside the traced function."
        )
    metas = op.meta(*[(x.shape, x.dtype) for x in inputs], **attrs)
    return tuple(
        Cell(shape, dtype, inputs[0].device, None, state=ABSTRACT, node=node, index=k)
        for k, (shape, dtype) in enumerate(metas)
    )


def _in_trace(x: Tensor) -> Tensor:
    """Return a constant as a traced operand, so that what rules compute from it is traced, too."""
    if x._meta.kind is not CONSTANT or x._cell.state is ABSTRACT:
        return x
    return traced_constant(x)


def traced_constant(x: Tensor) -> Tensor:
    """Return a handle on a fixed value that ops trace like a placeholder."""
    cell = Cell(x.shape, x.dtype, x.device, x._cell.require_storage(), state=ABSTRACT)
    cell.strides, cell.offset = x._cell.strides, x._cell.offset
    meta = Autograd()
    meta.kind = CONSTANT
    return Tensor._wrap(cell, meta)


def lift(args: tuple[Operand, ...]) -> tuple[Tensor, ...]:
    """Turn numbers and arrays into constant leaves; Python numbers are weak (NumPy's NEP 50)."""
    for arg in args:
        if not isinstance(arg, Tensor):
            return _lifted(args)
    return args  # type: ignore[return-value]  # every element was just checked


def _lifted(args: tuple[Operand, ...]) -> tuple[Tensor, ...]:
    lifted: list[Any] = []  # Any: a number, until all dtypes are known
    numbers, dtypes = [], []
    for place, arg in enumerate(args):
        if type(arg) in _WEAK:
            numbers.append(place)
            lifted.append(arg)
        else:
            x = _strong(arg)
            dtypes.append(x._cell.dtype)
            lifted.append(x)
    for place in numbers:
        lifted[place] = _constant(_number(lifted[place], tuple(dtypes)))
    return tuple(lifted)


def _number(x: Any, dtypes: tuple[DType, ...]) -> Array:  # Any: a Python number
    """Return the buffer of a number in the dtype that its operands, of these dtypes, give it.

    A formula has the same numbers at each step, so those that were used last are kept; zeros are
    not, as -0.0 is equal to 0.0.
    """
    kept = type(x) is int or (type(x) is float and x != 0)
    return _kept_number(x, dtypes) if kept else _buffer_of(x, dtypes)


def _buffer_of(x: Any, dtypes: tuple[DType, ...]) -> Array:  # Any: a Python number
    """Make the buffer of a number; a float that is too large for the dtype is inf."""
    dtype = _weak_dtype(dtypes, type(x))
    try:
        return _own(silence.run(np.array, x, dtype))
    except OverflowError as error:
        raise DTypeError(
            f"an op needs numbers that fit its operands' dtype {dtype}, got {x}. "
            "Convert the operands with astype, or write the number as a float."
        ) from error


_kept_number = lru_cache(maxsize=256, typed=True)(_buffer_of)


def constant(array: Any) -> Tensor:  # Any: a NumPy array of any dtype
    """Make a leaf of a host array that nobody else holds; captured programs keep its value."""
    return _constant(_cpu.own(array))


def constant_one(dtype: DType) -> Tensor:
    """Return the leaf 1 of shape (): one for all passes, unless somebody changed it."""
    one = _ones.get(dtype)
    if one is None or one._meta.requires_grad or one._cell.require_storage().version:
        one = _ones[dtype] = _constant(_cpu.own(np.ones((), dtype)))
    return one


_ones: dict[DType, Tensor] = {}


def _constant(buffer: Array) -> Tensor:
    meta = Autograd()
    meta.kind = CONSTANT
    return Tensor._wrap(_computed(buffer, CPU), meta)


def _strong(arg: Any) -> Tensor:  # Any: whatever the user gave
    if isinstance(arg, Tensor):
        return arg
    if isinstance(arg, np.ndarray | np.generic | list | tuple):
        tensor = Tensor(arg)
        tensor._meta.kind = CONSTANT
        return tensor
    raise DTypeError(
        f"an op needs Tensors, arrays or numbers, got {type(arg).__name__}. Convert it first."
    )


def _weak_dtype(dtypes: tuple[DType, ...], kind: type) -> DType:
    key = (*dtypes, kind)
    if key not in _weak_dtypes:
        _weak_dtypes[key] = np.result_type(*dtypes, kind(0))
    return _weak_dtypes[key]


def _common_device(inputs: tuple[Tensor, ...]) -> str:
    """Return the one device of all operands; constants of shape () travel with the launch."""
    devices = {
        x.device
        for x in inputs
        if x._cell.state is not ABSTRACT
        and (x.device != CPU or x.shape or x._meta.kind is not CONSTANT)
    }
    if len(devices) > 1:
        raise DeviceMismatch(
            f"an op needs operands on one device, got {sorted(devices)}. Move one with .to(device)."
        )
    return devices.pop()
