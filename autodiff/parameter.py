"""Parameter: a Tensor that an optimizer may update, and a circuit may register."""

from __future__ import annotations

import uuid

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from autodiff.dtypes import DIFFERENTIABLE
from autodiff.errors import AutodiffError, ParameterError
from autodiff.node import Kind, State
from autodiff.pool import keep
from autodiff.tensors import Tensor


class Parameter(Tensor):
    """A trainable leaf. ``requires_grad`` decides backward, ``trainable`` decides updates.

    Args:
        data: numbers, an array, or a leaf Tensor, which is shared, not copied.
        dtype: one of float32, float64, complex64, complex128; by default that of ``data``.
        name: shown in messages, tables and circuits.

    Raises:
        ParameterError: not a leaf, or not of a differentiable dtype.

    >>> p = Parameter(0.5, name="theta")
    >>> p.requires_grad, p.trainable
    (True, True)
    """

    __slots__ = ()

    def __init__(
        self,
        data: ArrayLike | Tensor,
        dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        source = _leaf(data, dtype)
        self._cell, self._meta = source._cell, source._meta
        keep(self._cell.require_storage())
        meta = self._meta
        meta.requires_grad = True
        meta.trainable = True
        meta.kind = Kind.PARAMETER
        meta.uuid = meta.uuid or str(uuid.uuid4())
        if name is not None:
            meta.name = name

    @classmethod
    def try_new(
        cls, data: ArrayLike | Tensor, dtype: DTypeLike | None = None, name: str | None = None
    ) -> tuple[Parameter, None] | tuple[None, ParameterError]:
        """Return ``(parameter, None)``, or ``(None, error)`` for invalid input.

        >>> Parameter.try_new([1, 2])[0] is None
        True
        """
        try:
            return cls(data, dtype, name), None
        except ParameterError as error:
            return None, error

    @property
    def trainable(self) -> bool:
        """Whether optimizers update this Parameter."""
        return self._meta.trainable

    @trainable.setter
    def trainable(self, value: object) -> None:
        remedy = "unfreeze()" if value else "freeze()"
        raise ParameterError(
            f"trainable needs freeze() or unfreeze(), got an assignment of {value!r:.60}. "
            f"Write p.{remedy}."
        )

    @property
    def uuid(self) -> str:
        """What identifies this Parameter across pickling and processes."""
        assert self._meta.uuid is not None
        return self._meta.uuid

    def freeze(self) -> Parameter:
        """Stop updates. Gradients still flow through and accumulate."""
        self._meta.trainable = False
        return self

    def unfreeze(self) -> Parameter:
        """Allow updates, and record gradients, again."""
        self._meta.trainable = True
        self._meta.requires_grad = True
        return self

    def _flags(self) -> list[str]:
        flags = [] if self.requires_grad else ["requires_grad=False"]
        flags += [f for f in super()._flags() if not f.startswith("requires_grad")]
        return flags if self.trainable else [*flags, "frozen"]


def _leaf(data: ArrayLike | Tensor, dtype: DTypeLike | None) -> Tensor:
    """Return the leaf that the Parameter wraps, or refuse."""
    if isinstance(data, str):
        raise ParameterError(
            f"a Parameter needs a starting value, got the text {data!r:.60}. "
            f"Write Parameter(0.0, name={data!r:.60})."
        )
    try:
        source = data if isinstance(data, Tensor) else Tensor(data, dtype)
        same = dtype is None or source.dtype == np.dtype(dtype)
    except (AutodiffError, TypeError) as error:
        raise ParameterError(str(error)) from error
    if not same:
        raise ParameterError(
            f"a Parameter shares a Tensor and needs its dtype {source.dtype}, got dtype {dtype}. "
            "Convert first: Parameter(t.detach().astype(dtype))."
        )
    if not source.is_leaf:
        raise ParameterError(
            f"a Parameter needs a leaf, got {source._label()}, the result of a recorded op. "
            "Use Parameter(t.detach()), or keep the expression and train what it is made of."
        )
    if source._cell.state is State.ABSTRACT:
        raise ParameterError(
            f"a Parameter needs a value, got {source._label()}, an Input or what is computed from "
            "one. Give numbers instead."
        )
    if source.dtype not in DIFFERENTIABLE:
        raise ParameterError(
            "a Parameter needs dtype float32, float64, complex64 or complex128, got "
            f"{source.dtype}. Write the numbers as floats (0.0, not 0), or give dtype."
        )
    return source
