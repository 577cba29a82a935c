"""How a tensor lies in memory: strides, offset, which locations have it, how many elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autodiff.node import Cell, State


class TensorLayout:
    """What Tensor knows of its memory."""

    __slots__ = ()

    if TYPE_CHECKING:
        _cell: Cell

    @property
    def layout(self) -> str:
        """Always ``"strided"``."""
        return "strided"

    @property
    def strides(self) -> tuple[int, ...]:
        """Steps between neighbours along each axis, in elements."""
        cell = self._settled()
        if cell.strides is not None:
            return cell.strides
        steps, step = [], 1
        for extent in reversed(cell.shape):
            steps.append(step)
            step *= max(extent, 1)
        return tuple(reversed(steps))

    @property
    def offset(self) -> int:
        """Where this tensor starts in its storage, in elements."""
        return self._settled().offset

    @property
    def residency(self) -> tuple[str, ...]:
        """The locations that hold a copy of the value at present; none while it is pending."""
        cell = self._cell
        return () if cell.state is State.PENDING else cell.require_storage().locations

    def _settled(self) -> Cell:
        """Return the cell; whether a pending value is a view, and of what, shows when it is run."""
        if self._cell.state is State.PENDING:
            self._cell.require_storage()
        return self._cell

    @property
    def size(self) -> int:
        """The number of elements (NumPy's word; ``numel()`` is PyTorch's)."""
        return self.numel()

    def numel(self) -> int:
        """Return the number of elements."""
        count = 1
        for extent in self._cell.shape:
            count *= extent
        return count

    def is_contiguous(self) -> bool:
        """Return whether the elements stand in C order without gaps."""
        strides = self._settled().strides
        if strides is None or self.numel() == 0:
            return True
        step = 1
        for extent, stride in zip(reversed(self._cell.shape), reversed(strides), strict=True):
            if extent != 1 and stride != step:
                return False
            step *= extent
        return True
