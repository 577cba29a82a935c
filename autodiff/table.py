"""The op table and the public functions made from it. Filled by the modules of ``autodiff.ops``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autodiff.node import Op

#: Every built-in op by name.
OPS: dict[str, Op] = {}

#: Public functions by name (NumPy's names too), for methods and for NumPy's ufunc protocol.
FUNCTIONS: dict[str, Callable[..., Any]] = {}  # Any: each function has its own signature

#: Names in FUNCTIONS that are methods of Tensor as well.
METHODS: list[str] = []
