"""The arrays and the namespace of the stand-in for CuPy: see ``fake_cupy``."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np

# Any in this file: what NumPy takes and gives.

#: Functions to which CuPy uploads arrays and lists of the host, as where they are indices; two of
#: them upload numbers, too.
_UPLOADING = ("array", "asarray", "take")
_BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor",
    "lshift", "rshift",
)  # fmt: skip


class Memory:
    """An allocation; the same object for all arrays that look into it."""

    _known: ClassVar[weakref.WeakValueDictionary[int, Memory]] = weakref.WeakValueDictionary()

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    @classmethod
    def of(cls, array: Any) -> Memory:
        """The allocation that an array looks into."""
        while type(array.base) is np.ndarray:
            array = array.base
        return cls._known.setdefault(id(array), cls(array))


@dataclass(frozen=True)
class Pointer:
    """cupy.cuda.MemoryPointer."""

    mem: Memory
    ptr: int

    def __add__(self, offset: int) -> Pointer:
        return Pointer(self.mem, self.ptr + offset)


class ndarray:  # noqa: N801 - CuPy's name
    """cupy.ndarray."""

    __slots__ = ("__weakref__", "_array", "_mem", "_owns", "device")

    def __init__(
        self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None
    ) -> None:
        owner = memptr.mem.owner
        offset = memptr.ptr - owner.__array_interface__["data"][0]
        flat = owner.reshape(-1).view(np.uint8)
        self._set(np.ndarray(shape, dtype, flat, offset, strides), owns=True)

    def _set(self, array: Any, owns: bool) -> None:
        if array.dtype.kind not in "biufc":
            raise ValueError(f"Unsupported dtype {array.dtype}")
        self._array, self._mem, self._owns = array, Memory.of(array), owns
        self.device = SimpleNamespace(id=current[-1])

    @property
    def data(self) -> Pointer:
        return Pointer(self._mem, self._array.__array_interface__["data"][0])

    @property
    def flags(self) -> Any:
        return SimpleNamespace(c_contiguous=self._array.flags.c_contiguous, owndata=self._owns)

    @property
    def real(self) -> Any:
        return wrap(self._array.real)

    @real.setter
    def real(self, value: Any) -> None:
        self._array.real = unwrap(value)

    @property
    def imag(self) -> Any:
        return wrap(self._array.imag)

    @imag.setter
    def imag(self, value: Any) -> None:
        self._array.imag = unwrap(value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _wrapped_attribute(getattr(self._array, name))

    def __getitem__(self, index: Any) -> Any:
        _refuse_hidden_upload(index, "an index")
        return wrap(self._array[unwrap(index, host_allowed=True)])

    def __setitem__(self, index: Any, value: Any) -> None:
        _refuse_hidden_upload(index, "an index")
        self._array[unwrap(index, host_allowed=True)] = unwrap(value)

    def __neg__(self) -> Any:
        return wrap(-self._array)

    def __invert__(self) -> Any:
        return wrap(~self._array)

    def __abs__(self) -> Any:
        return wrap(abs(self._array))

    def _refuse(self, *_: object, **__: object) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Use asnumpy().")

    def __len__(self) -> int:
        return len(self._array)  # of the shape alone; nothing is read

    def __bool__(self) -> bool:
        return bool(self._array) if _reads_allowed else self._refuse()

    def __float__(self) -> float:
        return float(self._array) if _reads_allowed else self._refuse()

    __hash__ = object.__hash__
    __array_ufunc__ = None
    __array__ = __array_function__ = __int__ = __index__ = _refuse
    __iter__ = item = tolist = _refuse


def _operator(name: str, reflected: bool) -> Callable[[Any, Any], Any]:
    def apply(self: Any, other: Any) -> Any:
        left, right = self._array, unwrap(other)
        function = getattr(operator, name)
        return wrap(function(right, left) if reflected else function(left, right))

    return apply


for _name in _BINARY:
    setattr(ndarray, f"__{_name.strip('_')}__", _operator(_name, False))
    setattr(ndarray, f"__r{_name.strip('_')}__", _operator(_name, True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(ndarray, f"__{_name}__", _operator(_name, False))

current = [0]
_reads_allowed: list[str] = []
_uploads_counted: list[str] = []


@contextmanager
def reads_allowed(why: str) -> Iterator[None]:
    """Let arrays be read by ``float`` and ``bool``, which waits for the device."""
    _reads_allowed.append(why)
    try:
        yield
    finally:
        _reads_allowed.pop()


@contextmanager
def uploads_counted(by: str) -> Iterator[None]:
    """Let arrays of the host be uploaded, as somebody counts them."""
    _uploads_counted.append(by)
    try:
        yield
    finally:
        _uploads_counted.pop()


def _refuse_hidden_upload(value: Any, where: str) -> None:
    """Refuse what CuPy uploads in silence, unless the backend is at it and counts."""
    if not _uploads_counted and _is_uploaded(value):
        raise TypeError(
            f"{where} of the host is uploaded at every call, and nothing counts it: {value!r:.80}. "
            "Give the op an attribute that is a Constants."
        )


def _is_uploaded(value: Any) -> bool:
    """Whether CuPy makes an array of this; of parts that are arrays of its own it does not."""
    if isinstance(value, list):
        return not any(isinstance(x, ndarray) for x in value)
    if isinstance(value, tuple):
        return any(map(_is_uploaded, value))
    return isinstance(value, np.ndarray)


def wrap(value: Any) -> Any:
    """Return NumPy's result as CuPy's; results of reductions stay on the device."""
    if isinstance(value, np.ndarray | np.generic):
        made = ndarray.__new__(ndarray)
        array = np.asarray(value)
        made._set(array, owns=array.base is None)
        return made
    if isinstance(value, tuple | list):
        items = [wrap(x) for x in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def unwrap(value: Any, host_allowed: bool = False) -> Any:
    """Return arguments for NumPy; arrays of the host are refused, as by CuPy."""
    if isinstance(value, ndarray):
        return value._array
    if isinstance(value, np.ndarray) and not host_allowed:
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, tuple | list):
        return type(value)([unwrap(x, host_allowed) for x in value])
    if isinstance(value, dict):
        return {key: unwrap(x, host_allowed) for key, x in value.items()}
    return value


def _wrapped_attribute(value: Any) -> Any:
    if callable(value) and not isinstance(value, type):
        return _Function(value)
    return wrap(value) if isinstance(value, np.ndarray) else value


class _Function:
    """One of NumPy's functions or methods, on fake arrays."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = self._function.__name__
        if allowed := name in _UPLOADING:
            parts = args[0] if isinstance(args[0], list | tuple) else args[:1]
            given = args if name == "take" else list(parts)
            _refuse_hidden_upload((given, *kwargs.values()), f"an argument of {name}()")
        if unknown := kwargs.keys() & {"initial", "where"}:
            raise TypeError(f"{name}() got an unexpected keyword {unknown}")
        with np.errstate(all="ignore"):  # a GPU warns of nothing
            return wrap(self._function(*unwrap(args, allowed), **unwrap(kwargs, allowed)))

    def __getattr__(self, name: str) -> Any:
        return _wrapped_attribute(getattr(self._function, name))


class Namespace(ModuleType):
    """A module of NumPy whose functions take and give fake arrays."""

    _numpy: ModuleType

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._numpy, name)
        if isinstance(value, ModuleType):
            return _namespace(f"{self.__name__}.{name}", value)
        return _wrapped_attribute(value)


def _namespace(name: str, numpy_module: ModuleType) -> Namespace:
    module = Namespace(name)
    module._numpy = numpy_module
    return module
