"""The bar that shows how far a loop is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tqdm import tqdm


def progress_bar(total: int, *, done: int = 0, quiet: bool = False) -> tqdm[None]:
    """Return tqdm's bar, on the standard error; a quiet one shows nothing.

    Args:
        total: number of steps.
        done: steps that are finished already.
        quiet: show nothing.

    >>> with progress_bar(2, quiet=True) as bar:
    ...     bar.update()
    """
    from tqdm import tqdm

    return tqdm(total=total, initial=done, desc="Training", unit="step", disable=quiet)
