"""What a backward pass is refused for, before it changes anything, and the errors that say so."""

from __future__ import annotations

from collections.abc import Sequence

from autodiff.errors import GradientError, VersionError
from autodiff.node import History, Node, versions_of
from autodiff.storage import writes
from autodiff.tensors import Tensor


def check_versions(order: Sequence[History]) -> None:
    """Refuse the pass if a recorded operand, or an output that a rule reads, was changed since."""
    for history in order:
        node = history.node
        assert node is not None
        if node.writes == writes.count:
            continue  # nothing at all was changed since
        if versions_of(node.inputs) != node.versions:
            for x, version in zip(node.inputs, node.versions, strict=True):
                if x._cell.version != version:
                    raise _version_error(node, x._label(), x._cell.version, version)
        if not history.cells:
            continue
        for cell, version in zip(history.cells, history.versions, strict=True):
            if cell.version != version:
                label = f"the output of {node.op.name} of shape {cell.shape}, dtype {cell.dtype}"
                raise _version_error(node, label, cell.version, version)


def _version_error(node: Node, label: str, found: int, wanted: int) -> VersionError:
    return VersionError(
        f"backward through {node.op.name} ({node.line}) needs {label} at version {wanted}, got "
        f"version {found}. It was changed after it had been recorded; change it after backward, "
        "or work on a copy()."
    )


def rule_error(node: Node, count: int) -> GradientError:
    """The error of a rule that does not answer for every operand."""
    return GradientError(
        f"the rule of {node.op.name} needs one cotangent an operand (or None), got {count} for "
        f"{len(node.inputs)} operands. Correct the op's vjp."
    )


def freed_error(tensor: Tensor) -> GradientError:
    """The error of a second pass through a freed graph."""
    return GradientError(
        f"backward needs a recorded graph, got {tensor._label()}, whose graph an earlier backward "
        "freed. Combine losses that share a forward pass into one scalar, or call "
        "backward(retain_graph=True) from the first pass on."
    )
