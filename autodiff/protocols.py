"""How Python and NumPy see a Tensor: as a sequence, a number, an array, a string."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from autodiff import numpy_functions
from autodiff.device import CPU
from autodiff.errors import DTypeError, IterationError, ShapeError
from autodiff.node import Autograd, Cell, State
from autodiff.table import FUNCTIONS

if TYPE_CHECKING:
    from autodiff.tensors import Tensor

# Any in this file: elements are of any dtype, and protocols are NumPy's and DLPack's.


class TensorProtocols:
    """What Tensor answers to ``len``, ``float``, ``np.asarray``, ``np.sin``, ``repr``."""

    __slots__ = ()

    if TYPE_CHECKING:
        _cell: Cell
        _meta: Autograd

        def __getitem__(self, index: Any) -> Tensor: ...

        item: Callable[[], Any]
        numel: Callable[[], int]
        numpy: Callable[[], NDArray[Any]]

    def __len__(self) -> int:
        shape = self._cell.shape
        if not shape:
            raise IterationError("len() needs at least one axis, got shape (). Use item().")
        return shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self._number("bool()", "Use any() or all()."))

    def __float__(self) -> float:
        return float(self._number("float()"))

    def __complex__(self) -> complex:
        return complex(self._number("complex()"))

    def __int__(self) -> int:
        return int(self._number("int()"))

    def __index__(self) -> int:
        if self._cell.dtype.kind not in "iu":
            raise DTypeError(f"an index needs an integer tensor, got {self._label()}. Use int(t).")
        return int(self._number("an index"))

    def _number(self, what: str, remedy: str = "Index it first, or use tolist().") -> Any:
        """Return the only element as a Python number."""
        if self.numel() != 1:
            raise ShapeError(
                f"{what} needs a tensor with one element, got {self._label()}. {remedy}"
            )
        return self.numpy().item()

    def __format__(self, spec: str) -> str:
        """Format a tensor of shape () as its number: ``f"{loss:.4f}"``."""
        return str(self) if not spec or self._cell.shape else format(self.item(), spec)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if self._cell.device != CPU:
            raise DTypeError(
                f"np.asarray needs a tensor on the CPU, got {self._label()}. Use t.numpy()."
            )
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        """Run the op of the ufunc's name, so that one row serves np.sin(t) and t.sin()."""
        function = FUNCTIONS.get(ufunc.__name__)
        if method != "__call__" or kwargs or function is None:
            what = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
            given = "".join([f", {name}=" for name in kwargs])
            raise DTypeError(
                f"np.{what} of a Tensor needs a plain call of a function of the op table, got "
                f"np.{what}(...{given}). Use t.numpy() for arrays, or methods such as t.sum()."
            )
        return function(*args)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        """Run the function of that name in the op table, so that history is kept."""
        return numpy_functions.call(function, args, kwargs)

    def __dlpack__(self, **options: Any) -> Any:
        return self.numpy().copy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.numpy().__dlpack_device__()

    def _label(self) -> str:
        """Return a short description for error messages."""
        name = f"{self._meta.name!r} " if self._meta.name else ""
        cell = self._cell
        value = f"shape {cell.shape}, dtype {cell.dtype} on {cell.device}"
        return f"{type(self).__name__} {name}of {value}"

    def __repr__(self) -> str:
        cell = self._cell
        parts = []
        if cell.state is State.ABSTRACT:
            parts.append(f"<placeholder of shape {cell.shape}>")
        else:
            parts.append(np.array2string(self.numpy(), separator=", ", prefix=" " * 7))
        parts.append(f"dtype={cell.dtype}")
        if cell.device != CPU:
            parts.append(f"device={cell.device!r}")
        if self._meta.name is not None:
            parts.append(f"name={self._meta.name!r}")
        parts.extend(self._flags())
        return f"{type(self).__name__}({', '.join(parts)})"

    def _flags(self) -> list[str]:
        """Return the repr's flags; how many handles share the metadata is its reference count."""
        flags = ["requires_grad=True"] if self._meta.requires_grad else []
        shared = sys.getrefcount(self._meta) - 1
        return [*flags, f"shared={shared}"] if shared > 1 else flags
