"""The check of what an executor gave: what the op's row says, in the executor's own memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from autodiff.backends.interface import Array
from autodiff.runtime.errors import OutputResidencyMismatch
from autodiff.runtime.schedule import ScheduledOp

#: Whether a buffer lies in an executor's memory of a storage class.
Owns = Callable[[Array, str], bool]


def check_outputs(op: ScheduledOp, made: Sequence[Array], owns: Owns) -> None:
    """Refuse what an executor gave, unless all of it is what the op's row says.

    Raises:
        OutputResidencyMismatch: another number, shape or dtype, or a buffer that is not the
            executor's own.
    """
    if len(made) != len(op.metas):
        raise _mismatch(op, f"{len(op.metas)} results", f"{len(made)}")
    storage_class = op.at.location.storage_class
    for buffer, (shape, dtype) in zip(made, op.metas, strict=True):
        if not owns(buffer, storage_class):
            raise _mismatch(op, "results in its own memory", f"{buffer!r:.80}")
        if buffer.shape != shape or buffer.dtype != dtype:
            wanted = f"a result of shape {shape}, dtype {dtype}"
            raise _mismatch(op, wanted, f"shape {buffer.shape}, dtype {buffer.dtype}")


def _mismatch(op: ScheduledOp, wanted: str, found: str) -> OutputResidencyMismatch:
    return OutputResidencyMismatch(
        f"{op} needs {wanted}, got {found}. Correct the executor, or the meta of the op."
    )
