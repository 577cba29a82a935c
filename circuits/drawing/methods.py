"""Circuit.draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from circuits.circuit import Circuit


class DrawMethods:
    """How a circuit is drawn."""

    # Any: a string or a Matplotlib Figure, which type checkers need not know here.
    def draw(self, output: str = "text", *, fold: int | None = None) -> Any:
        """Draw the circuit; nothing is computed.

        Closed and open dots are controls that must hold 1 and 0. In pictures a gate is orange if
        its angles have Parameters, green if they have Inputs only, blue if it is fixed.

        Args:
            output: ``"text"``, ``"svg"`` or ``"mpl"``.
            fold: where to go on in a new row: characters of a line (80), or pixels of a picture
                (960); 0 never.

        Returns:
            A string that prompts and notebooks show as it is; SVG text, which notebooks show as a
            picture; or a Matplotlib Figure, which they show, too, and whose ``savefig`` takes PNG,
            PDF and more.

        Raises:
            DrawingError: another output, or a fold that is no integer from 0 on.

        >>> from circuits import Circuit
        >>> Circuit(2).cx(0, 1).draw()
        q0: ─●─
             │
        q1: ─⊕─
        """
        from circuits.drawing.kinds import drawing_of  # at first use: import qml stays quick

        return drawing_of(cast("Circuit", self), output, fold)
