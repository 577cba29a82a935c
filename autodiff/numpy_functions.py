"""NumPy's functions of Tensors: ``np.concatenate([t, t])`` is the op table's function of that name.

Arguments have NumPy's names and order. A function that the table lacks computes with the values,
as ``np.asarray`` does, where no gradient is lost by that, and is refused where one would be.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff.errors import DTypeError
from autodiff.table import FUNCTIONS

if TYPE_CHECKING:
    from autodiff.tensors import Tensor

# Any in this file: NumPy's functions take and give anything.
Function = Callable[..., Any]

#: Where the op table has another word; arguments without a default go by their place.
_RENAMED = {"a_min": "low", "a_max": "high", "min": "low", "max": "high"}
#: Functions of C code, of which old versions of NumPy tell no names of arguments.
_BY_PLACE = frozenset({np.concatenate, np.where, np.dot, np.vdot})
#: What asks for shape and dtype alone.
_DESCRIBING = frozenset({np.shape, np.ndim, np.size, np.iscomplexobj, np.isrealobj, np.result_type})
#: What answers with booleans, which have no gradient.
_COMPARING = frozenset({np.allclose, np.array_equal, np.array_equiv, np.isclose})


def call(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Run a function of NumPy that was called with Tensors.

    Raises:
        DTypeError: an argument that the op table's function lacks, or a function that the table
            lacks and a Tensor that requires grad.
    """
    ours = _of_table(function)
    if ours is None:
        return _on_values(function, args, kwargs)
    if function in _BY_PLACE:
        positional, named = list(args), dict(kwargs)
    else:
        positional, named = _translated(function, _signature(ours), args, kwargs)
    try:
        _signature(ours).bind(*positional, **named)
    except TypeError as error:
        raise DTypeError(
            f"np.{function.__name__} of a Tensor needs the arguments of autodiff."
            f"{function.__name__}{_signature(ours)}, got others: {error}. "
            "Use these, or t.numpy()."
        ) from error
    return ours(*positional, **named)


def _of_table(function: Function) -> Function | None:
    """Return the table's function; np.linalg has some of NumPy's names with another meaning."""
    name = function.__name__
    if function is not getattr(np, name, getattr(np.linalg, name, None)):
        return None
    return FUNCTIONS.get(name)


@cache
def _signature(function: Function) -> Signature:
    return inspect.signature(function)


def _translated(
    function: Function, ours: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments in the words of the table's function, without defaults."""
    theirs = _signature(function)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for name, value in theirs.bind(*args, **kwargs).arguments.items():
        parameter = theirs.parameters[name]
        known = ours.parameters.get(name)
        if parameter.kind is Parameter.VAR_POSITIONAL:
            positional.extend(value)
        elif parameter.kind is Parameter.VAR_KEYWORD:
            named.update(value)
        elif parameter.default is Parameter.empty:
            positional.append(value)
        elif value is parameter.default:
            continue
        elif known is not None and known.kind is Parameter.VAR_POSITIONAL:
            positional.append(value)
        else:
            named[_RENAMED.get(name, name)] = value
    return positional, named


def _on_values(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Compute with the values of Tensors, or refuse what would lose their history."""

    def value(x: Tensor) -> Any:
        if function in _DESCRIBING:
            return np.broadcast_to(np.empty((), x.dtype), x.shape)
        if x.requires_grad and function not in _COMPARING:
            raise DTypeError(
                f"np.{function.__name__} has no gradient here and needs arrays, got {x._label()}, "
                "which requires grad. Use t.numpy(), or a function of the op table."
            )
        return np.asarray(x)

    return function(
        *[_replaced(x, value) for x in args], **{k: _replaced(x, value) for k, x in kwargs.items()}
    )


def _replaced(x: Any, value: Callable[[Tensor], Any]) -> Any:
    """Put values in the place of Tensors, also in lists and tuples."""
    if isinstance(x, list | tuple):
        return type(x)([_replaced(part, value) for part in x])
    return value(x) if hasattr(x, "_cell") else x
