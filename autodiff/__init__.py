"""A complex-capable autodiff core: Tensor, Parameter, backward, transforms, and the op table.

Every public function of the op table stands here under its (NumPy) name: ``autodiff.sin(t)``,
``autodiff.matmul(a, b)``; unary functions and reductions are methods of Tensor, too.
"""

import builtins
from typing import TYPE_CHECKING

from autodiff import ops  # fills the table: first
from autodiff.backends.raw_modules import KernelError, OutOfDeviceMemory
from autodiff.backward import grad
from autodiff.checking import gradcheck
from autodiff.counters import reset_stats, stats
from autodiff.custom import custom_op
from autodiff.dtypes import C64, C128, F32, F64, complex64, complex128, float32, float64
from autodiff.errors import (
    AutodiffError,
    DeviceMismatch,
    DeviceUnavailable,
    DTypeError,
    GradcheckError,
    GradientError,
    IterationError,
    ParameterError,
    QueuedOpError,
    ShapeError,
    StaleHandleError,
    StorageBusy,
    TraceError,
    VersionError,
)
from autodiff.graph import graph_mode, local_graph_mode
from autodiff.methods import install
from autodiff.modes import enable_grad, is_grad_enabled, no_grad
from autodiff.parameter import Parameter
from autodiff.placement import sync_weights
from autodiff.program import Program
from autodiff.runtime.executor import Executor, IngressContract
from autodiff.runtime.location import ExecutionLocation
from autodiff.runtime.runtime import Runtime
from autodiff.runtime.transfer import HostCopy, TransferProvider, TransferRequest
from autodiff.table import FUNCTIONS
from autodiff.tape import grad_tape
from autodiff.tensors import Tensor, from_dlpack
from autodiff.tracing import trace_reads
from autodiff.transforms import hessian, hvp, jacobian, value_and_grad, vjp

install(Tensor)
tensor = Tensor

__all__ = [
    "C64",
    "C128",
    "F32",
    "F64",
    "AutodiffError",
    "DTypeError",
    "DeviceMismatch",
    "DeviceUnavailable",
    "ExecutionLocation",
    "Executor",
    "GradcheckError",
    "GradientError",
    "HostCopy",
    "IngressContract",
    "IterationError",
    "KernelError",
    "OutOfDeviceMemory",
    "Parameter",
    "ParameterError",
    "Program",
    "QueuedOpError",
    "Runtime",
    "ShapeError",
    "StaleHandleError",
    "StorageBusy",
    "Tensor",
    "TraceError",
    "TransferProvider",
    "TransferRequest",
    "VersionError",
    "complex64",
    "complex128",
    "custom_op",
    "enable_grad",
    "float32",
    "float64",
    "from_dlpack",
    "grad",
    "grad_tape",
    "gradcheck",
    "graph_mode",
    "hessian",
    "hvp",
    "is_grad_enabled",
    "jacobian",
    "local_graph_mode",
    "no_grad",
    "ops",
    "reset_stats",
    "stats",
    "sync_weights",
    "tensor",
    "trace_reads",
    "value_and_grad",
    "vjp",
]

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    # Any: the functions of the op table, each with a signature of its own.
    def __getattr__(name: str) -> Callable[..., Any]: ...


# A star import must not replace Python's own sum, abs and the like.
globals().update(FUNCTIONS)
__all__ += [name for name in FUNCTIONS if not hasattr(builtins, name)]
