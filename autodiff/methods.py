"""Tensor's operators and methods: what the op table gives, attached once, at import."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from autodiff.backward import run_backward
from autodiff.errors import DTypeError, GradientError
from autodiff.modes import is_grad_enabled
from autodiff.node import Kind
from autodiff.table import FUNCTIONS, METHODS
from autodiff.tensors import Operand, Tensor

# Any in this file: an index is what NumPy accepts, and rows have signatures of their own.


class TensorMethods:
    """Operators, and the methods that need the op table or the backward pass."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Tensor]: ...

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
    ) -> None:
        """Accumulate gradients of this tensor into the leaves that it was computed from.

        Args:
            gradient: cotangent of the shape, dtype and device of this tensor; only a real tensor of
                shape () has a default, 1.
            retain_graph: keep the graph for another pass; needed from the first pass on. By default
                as ``create_graph``.
            create_graph: record the pass itself, for second derivatives.

        Raises:
            GradientError: a bad seed, or a graph that an earlier pass freed.
            VersionError: a recorded value was changed since.
        """
        run_backward(cast("Tensor", self), gradient, retain_graph, create_graph)

    def backward_with_grad(self, gradient: Tensor) -> None:
        """Return ``backward(gradient=gradient)``."""
        run_backward(cast("Tensor", self), gradient)

    def backward_with_grad_retain_graph(self, gradient: Tensor) -> None:
        """Return ``backward(gradient=gradient, retain_graph=True)``."""
        run_backward(cast("Tensor", self), gradient, retain_graph=True)

    @property
    def real(self) -> Tensor:
        """The real part."""
        return _call("real", self)

    @property
    def imag(self) -> Tensor:
        """The imaginary part (zeros for real tensors)."""
        return _call("imag", self)

    @property
    def T(self) -> Tensor:
        """The tensor with its axes reversed."""
        return _call("transpose", self)

    def __getitem__(self, index: Any) -> Tensor:
        return _call("getitem", self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Refuse: gradients need values that do not change unseen."""
        label = cast("Tensor", self)._label()
        raise DTypeError(
            f"t[i] = v needs an array, got {label}, whose elements are not assigned. Use "
            "t.set_(array) or t[i].set_(v) for new values, or with t.storage_mut() as a: a[i] = v."
        )

    def __pos__(self) -> Tensor:
        return cast("Tensor", self)

    def __neg__(self) -> Tensor:
        return _call("negative", self)

    def __abs__(self) -> Tensor:
        return _call("abs", self)

    if TYPE_CHECKING:  # made from OPERATORS
        # fmt: off
        def __add__(self, other: Operand, /) -> Tensor: ...
        def __radd__(self, other: Operand, /) -> Tensor: ...
        def __sub__(self, other: Operand, /) -> Tensor: ...
        def __rsub__(self, other: Operand, /) -> Tensor: ...
        def __mul__(self, other: Operand, /) -> Tensor: ...
        def __rmul__(self, other: Operand, /) -> Tensor: ...
        def __truediv__(self, other: Operand, /) -> Tensor: ...
        def __rtruediv__(self, other: Operand, /) -> Tensor: ...
        def __matmul__(self, other: Operand, /) -> Tensor: ...
        def __rmatmul__(self, other: Operand, /) -> Tensor: ...
        def __pow__(self, other: Operand, /) -> Tensor: ...
        def __rpow__(self, other: Operand, /) -> Tensor: ...
        def __eq__(self, other: object, /) -> Tensor: ...  # type: ignore[override]
        def __ne__(self, other: object, /) -> Tensor: ...  # type: ignore[override]
        def __lt__(self, other: Operand, /) -> Tensor: ...
        def __le__(self, other: Operand, /) -> Tensor: ...
        def __gt__(self, other: Operand, /) -> Tensor: ...
        def __ge__(self, other: Operand, /) -> Tensor: ...
        # fmt: on

    __hash__ = object.__hash__


#: Python's operators by the public function behind them; these have a reflected form, too.
OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "matmul": "matmul",
    "pow": "power",
}
COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}

#: What an operator takes; for anything else Python asks the other operand.
_OPERANDS = (Tensor, float, int, complex, np.ndarray, np.generic, list, tuple)


def _operator(function: Callable[..., Tensor]) -> Callable[..., Any]:
    def operator(self: Tensor, other: Any) -> Any:
        return function(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    return operator


def _reflected(function: Callable[..., Tensor]) -> Callable[..., Any]:
    def operator(self: Tensor, other: Any) -> Any:
        return function(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    return operator


def _in_place(function: Callable[..., Tensor]) -> Callable[..., Any]:
    """Make ``p -= lr * p.grad`` update the leaf p under no_grad; elsewhere p is a new result.

    Of a Parameter the new result is refused, as in PyTorch: it would leave the Parameter as it is.
    """

    def operator(self: Tensor, other: Any) -> Any:
        updates = self.requires_grad and self.is_leaf
        if not updates or not isinstance(other, _OPERANDS):
            return NotImplemented
        if is_grad_enabled():
            if self._meta.kind is not Kind.PARAMETER:
                return NotImplemented
            raise GradientError(
                f"an update in place needs no_grad, got grad mode and {self._label()}. "
                "Write it under no_grad(), or p.set_(value); p = p + x makes a new Tensor."
            )
        return self.set_(function(self, other))

    return operator


def _call(name: str, *args: Any) -> Tensor:
    return cast("Tensor", FUNCTIONS[name](*args))


def install(tensor: type[Tensor]) -> None:
    """Attach the operators above and every method of the op table to Tensor."""
    skipped = {"__slots__", "__module__", "__doc__", "__qualname__", "__dict__", "__weakref__"}
    for name, value in vars(TensorMethods).items():
        if name not in skipped:
            setattr(tensor, name, value)
    for name, row in (OPERATORS | COMPARISONS).items():
        setattr(tensor, f"__{name}__", _operator(FUNCTIONS[row]))
    for name, row in OPERATORS.items():
        setattr(tensor, f"__r{name}__", _reflected(FUNCTIONS[row]))
        setattr(tensor, f"__i{name}__", _in_place(FUNCTIONS[row]))
    for name in METHODS:
        setattr(tensor, name, FUNCTIONS[name])
