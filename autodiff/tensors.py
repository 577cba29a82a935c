"""Tensor: a handle on a value cell and on autograd metadata. Operators come from the op table."""

from __future__ import annotations

import copyreg
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from autodiff.backends.interface import Array
from autodiff.device import CPU, backend_of, canonical_device, move
from autodiff.dtypes import DIFFERENTIABLE, DType
from autodiff.errors import DTypeError, GradientError, ShapeError, reason
from autodiff.layout import TensorLayout
from autodiff.node import Autograd, Cell
from autodiff.protocols import TensorProtocols
from autodiff.storage import Storage

if TYPE_CHECKING:
    from autodiff.methods import TensorMethods as _Methods
else:
    _Methods = object

Operand: TypeAlias = "Tensor | complex | NDArray[Any]"  # Any: every dtype


class Tensor(TensorLayout, TensorProtocols, _Methods):
    """An n-dimensional array that remembers how it was computed.

    Args:
        data: numbers, nested sequences, an array or another Tensor; the values are copied.
        dtype: NumPy dtype; by default that of ``data`` (Python floats: float64).
        device: where the value lives and ops on it run; ``"cpu"`` by default. A device gets it
            by one counted upload.
        requires_grad: record ops on this tensor, so that ``backward`` gives it a gradient.
        name: shown in error messages and in the repr.

    Raises:
        DTypeError: ``data`` is not numeric.
        GradientError: ``requires_grad`` for a dtype other than F32, F64, C64, C128.

    Example:
        >>> x = Tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        Tensor([2., 4.], dtype=float64)
    """

    __slots__ = ("__weakref__", "_cell", "_meta")

    _cell: Cell
    _meta: Autograd

    def __init__(
        self,
        data: ArrayLike | Tensor,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool = False,
        name: str | None = None,
    ) -> None:
        location = canonical_device(device)
        array = _host_array(data, dtype)
        if requires_grad:
            _require_differentiable(array.dtype, name)
        if array.dtype.kind not in "biufc":
            raise DTypeError(
                f"Tensor needs numeric data, got dtype {array.dtype}. Convert it to numbers first."
            )
        buffer = _uploaded(array, location)
        self._cell = Cell(array.shape, array.dtype, location, Storage(buffer, location))
        self._meta = Autograd(requires_grad)
        self._meta.name = name

    @classmethod
    def _wrap(cls, cell: Cell, meta: Autograd) -> Self:
        """Make a handle on existing parts."""
        handle = object.__new__(cls)
        handle._cell = cell
        handle._meta = meta
        return handle

    # -- queries ---------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of every axis."""
        return self._cell.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._cell.shape)

    @property
    def dtype(self) -> DType:
        """The NumPy dtype of the elements."""
        return self._cell.dtype

    @property
    def device(self) -> str:
        """The device that ops on this tensor run on."""
        return self._cell.device

    @property
    def requires_grad(self) -> bool:
        """Whether ops on this tensor are recorded. Set it on leaves only."""
        return self._meta.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, value: bool = True) -> Tensor:
        """Set ``requires_grad`` on a leaf and return it.

        Raises:
            GradientError: not a leaf, or not of a differentiable dtype.
        """
        value = bool(value)
        if value == self._meta.requires_grad:
            return self
        if not self.is_leaf:
            raise GradientError(
                f"requires_grad needs a leaf, got {self._label()}, the result of a recorded op. "
                "Use detach() for the value without history."
            )
        if value:
            _require_differentiable(self.dtype, self._meta.name)
        self._meta.requires_grad = value
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether this tensor was made by the user, not by a recorded op."""
        return self._meta.history is None

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient, dL/dRe + i dL/dIm for a real loss L; None before backward."""
        return self._meta.grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and (
            not isinstance(value, Tensor)
            or (value.shape, value.dtype, value.device) != (self.shape, self.dtype, self.device)
        ):
            given = value._label() if isinstance(value, Tensor) else repr(value)
            raise GradientError(
                f"grad needs None or a Tensor of shape {self.shape}, dtype {self.dtype} on "
                f"{self.device}, got {given}. Convert it first."
            )
        self._meta.grad = value

    def retain_grad(self) -> Tensor:
        """Keep this intermediate's own gradient in the next backward passes."""
        if not self.requires_grad:
            raise GradientError(
                f"retain_grad needs a tensor that requires grad, got {self._label()}. "
                "Compute it from a tensor with requires_grad=True, outside no_grad."
            )
        self._meta.retains_grad = True
        return self

    def zero_grad(self) -> None:
        """Forget the accumulated gradient (sets None)."""
        self._meta.raw_grad = None

    @property
    def name(self) -> str | None:
        """The name given by the user."""
        return self._meta.name

    # -- handles and copies ----------------------------------------------------------------------

    def clone(self) -> Self:
        """Return another handle on the same value, version counter and autograd metadata."""
        return type(self)._wrap(self._cell, self._meta)

    def detach(self) -> Tensor:
        """Return the same value without history; it shares storage and version."""
        return Tensor._wrap(self._cell, Autograd())

    def _variable(self) -> Tensor:
        """Return a leaf on the same storage that requires grad."""
        leaf = Tensor._wrap(self._cell, Autograd(True))
        leaf._meta.name = self._meta.name
        return leaf

    def deep_clone(self) -> Self:
        """Return a new leaf with its own copy of value, metadata and existing gradient."""
        cell = self._cell
        location = cell.device
        buffer = backend_of(location).writable_copy(cell.read())
        storage = Storage(backend_of(location).own(buffer), location)
        meta = Autograd(self._meta.requires_grad)
        for field in ("name", "kind", "trainable"):
            setattr(meta, field, getattr(self._meta, field))
        meta.uuid = self._meta.uuid and str(uuid.uuid4())
        grad = self._meta.grad
        meta.grad = None if grad is None else grad.deep_clone()
        return type(self)._wrap(Cell(cell.shape, cell.dtype, location, storage), meta)

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:  # Any: whatever else is copied
        """Return a deep clone; handles that share their metadata still do in the copy."""
        base = memo.get(id(self._meta))
        if base is None:
            base = memo[id(self._meta)] = self.deep_clone()
        return type(self)._wrap(base._cell, base._meta)

    def __reduce__(self) -> tuple[Callable[..., Tensor], tuple[object, ...]]:
        """Pickle as a leaf: value and metadata apart, so that handles still share them."""
        return _handle, (type(self), self._cell, self._meta)

    # -- values ----------------------------------------------------------------------------------

    def numpy(self) -> NDArray[Any]:  # Any: the dtype is the tensor's
        """Return the value on the host as a read-only array that never changes afterwards.

        On a device this is a counted download; the host keeps the copy, so a second one is none.
        """
        cell = self._cell
        return cell.read() if cell.device == CPU else cell.read_on_host()

    def item(self) -> Any:  # Any: int, float, complex or bool, by dtype
        """Return the only element as a Python number."""
        return self._number("item()")

    def tolist(self) -> Any:  # Any: a number or nested lists, by shape
        """Return the values as nested lists of Python numbers."""
        return self.numpy().tolist()

    def set_(self, value: ArrayLike | Tensor) -> Tensor:
        """Install a value of the same shape; raises the version, records nothing.

        Raises:
            ShapeError: another shape.
            DTypeError: a dtype that cannot be cast safely within its kind (complex to real).
        """
        given = value if isinstance(value, Tensor) else _host_array(value, None)
        if given.shape != self.shape:
            raise ShapeError(
                f"set_ needs a value of shape {self.shape}, got shape {given.shape}. "
                "Reshape it first."
            )
        if given.dtype != self.dtype and not np.can_cast(given.dtype, self.dtype, "same_kind"):
            raise DTypeError(
                f"set_ needs a value that casts to {self.dtype}, got {given.dtype}. "
                "Take .real, or make a tensor of another dtype."
            )
        storage, location = self._writable_storage("set_"), self._cell.device
        buffer = self._buffer_of(given, location)
        if self._cell.strides is None:
            storage.write(buffer, location)
            return self
        base = storage.read_for_update(location)
        self._cell.view_on(base)[...] = buffer
        storage.write(base, location)
        return self

    def _buffer_of(self, given: Tensor | NDArray[Any], location: str) -> Array:
        """Return a value as a buffer at a location; one that is there already is not moved."""
        dtype = self._cell.dtype
        if isinstance(given, Tensor):
            if (given.device, given.dtype) == (location, dtype):
                return given._cell.read()
            given = given.numpy()
        if given.dtype != dtype:
            with np.errstate(all="ignore"):
                given = given.astype(dtype)
        # A copy that nobody else has: the storage takes it over.
        return np.array(given, order="C") if location == CPU else move(given, CPU, location)

    @contextmanager
    def storage_mut(self) -> Iterator[Array]:
        """Open the storage: yields a writable array that is installed on leaving, on an error too.

        The version rises by one. While it is open, any other read or write of the storage raises
        ``StorageBusy``, in other threads as well. For a tensor on a device it is a host array: one
        download, and one upload when the device reads it next.

        >>> t = Tensor([1.0, 2.0])
        >>> with t.storage_mut() as a:
        ...     a[0] = 5.0
        >>> t.tolist()
        [5.0, 2.0]
        """
        with self._writable_storage("storage_mut").update(CPU) as base:
            yield self._cell.view_on(base, CPU)

    def _writable_storage(self, what: str) -> Storage:
        """Return the storage, unless elements of this view lie on top of each other."""
        strides = self._settled().strides
        if strides is not None and any(
            stride == 0 and extent > 1 for extent, stride in zip(self.shape, strides, strict=True)
        ):
            raise ShapeError(
                f"{what} needs elements with memory of their own, got {self._label()}, a view that "
                "repeats elements. Write to a copy() of it."
            )
        return self._cell.require_storage()


def from_dlpack(source: Any) -> Tensor:  # Any: anything with the DLPack protocol
    """Copy an array of another library into a Tensor.

    >>> from_dlpack(np.arange(2.0))
    Tensor([0., 1.], dtype=float64)
    """
    return Tensor(np.from_dlpack(source))


def _host_array(data: ArrayLike | Tensor, dtype: DTypeLike | None) -> NDArray[Any]:
    """Return the data as a host array."""
    if isinstance(data, Tensor):
        data = data.numpy()
    elif isinstance(data, (list, tuple)) and any(isinstance(x, Tensor) for x in data):
        data = [x.numpy() if isinstance(x, Tensor) else x for x in data]
    try:
        array = np.asarray(data)
        if dtype is None or np.dtype(dtype) == array.dtype:
            return array
        if array.dtype.kind == "c" and np.dtype(dtype).kind != "c":
            raise TypeError(f"{array.dtype} does not convert to {np.dtype(dtype)}; take .real")
        with np.errstate(all="ignore", invalid="raise"):  # NaN is no integer
            return array.astype(dtype)
    except (ValueError, TypeError, OverflowError, FloatingPointError) as error:
        raise DTypeError(
            f"Tensor needs numbers in a regular shape and a dtype that holds them, got "
            f"{type(data).__name__}: {reason(error)}. "
            "Give nested sequences of equal length, or an array."
        ) from error


def _uploaded(array: NDArray[Any], location: str) -> Array:
    """Return a buffer of its own with a host array's elements."""
    return backend_of(CPU).from_host(array) if location == CPU else move(array, CPU, location)


def _require_differentiable(dtype: DType, name: str | None) -> None:
    if dtype not in DIFFERENTIABLE:
        label = f" {name!r}" if name else ""
        raise GradientError(
            f"a gradient needs dtype float32, float64, complex64 or complex128, got {dtype} for "
            f"tensor{label}. Convert it with astype, or write the numbers as floats (0.0, not 0)."
        )


def _handle(cls: type[Tensor], cell: Cell, meta: Autograd) -> Tensor:
    return cls._wrap(cell, meta)


def _pickled_cell(cell: Cell) -> tuple[Callable[..., Cell], tuple[object, ...]]:
    return _cell_of, (cell.read_on_host(), cell.device)


def _cell_of(array: NDArray[Any], location: str) -> Cell:
    return Cell(array.shape, array.dtype, location, Storage(_uploaded(array, location), location))


def _pickled_meta(meta: Autograd) -> tuple[Callable[..., Autograd], tuple[object, ...]]:
    """Keep everything but the history."""
    return _meta_of, (meta.requires_grad, *[getattr(meta, field) for field in _KEPT])


def _meta_of(requires_grad: bool, *kept: object) -> Autograd:
    meta = Autograd(requires_grad)
    for field, value in zip(_KEPT, kept, strict=True):
        setattr(meta, field, value)
    return meta


_KEPT = ("grad", "name", "kind", "trainable", "uuid")

copyreg.pickle(Cell, _pickled_cell)
copyreg.pickle(Autograd, _pickled_meta)
