"""What circuits cannot differentiate: twice, or through shots. They say so; zero would be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from autodiff import GradientError, Tensor

# Any in this file: attrs are whatever the recorded op had.


def refuse_second_order(
    gs: Sequence[Tensor | None], outs: Sequence[Tensor], inputs: Sequence[Tensor], **attrs: Any
) -> NoReturn:
    """Rule of every op that is itself part of a circuit's backward pass."""
    raise GradientError(
        "a second derivative through a circuit needs another way than the adjoint sweep, which "
        "gives first derivatives. Take central differences of the first gradient, or shift the "
        "angle: for a rotation d2f/dt2 = (f(t + pi) - f(t)) / 2."
    )


def refuse_sampled(
    gs: Sequence[Tensor | None], outs: Sequence[Tensor], inputs: Sequence[Tensor], **attrs: Any
) -> NoReturn:
    """Rule of an estimate from shots."""
    raise GradientError(
        "a gradient needs an exact expectation, got an estimate from shots. Leave shots out, or "
        "use the parameter-shift rule: df/dt = (f(t + pi/2) - f(t - pi/2)) / 2 for a rotation."
    )
