"""Short forms for tests of the autodiff core."""

from __future__ import annotations

from autodiff import Tensor


def leaf(value: object, dtype: object = None, name: str | None = None) -> Tensor:
    """Return a tensor that requires grad."""
    return Tensor(value, dtype=dtype, requires_grad=True, name=name)


def version(t: Tensor) -> int:
    """Return the version of the tensor's storage."""
    return t._cell.version
