"""Checks of numbers that users give as settings: one error message for all of them."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from math import inf, isfinite
from typing import Any

import numpy as np

from autodiff.dtypes import DType
from qml.errors import SettingError

# Any in this file: settings are whatever the user gave; the checks decide.
Check = Callable[[str, Any], Any]
"""``check(what, value)`` gives the value in its final form, or raises SettingError."""


def real(low: float = -inf, below: float = inf) -> Check:
    """Make a check for a finite number in ``[low, below)``."""

    def check(what: str, value: Any) -> float:
        number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not number or not _is_finite(value) or not low <= value < below:
            limits = f" of at least {low:g}" if low > -inf else ""
            limits += f" and below {below:g}" if below < inf else ""
            raise SettingError(
                f"{what} needs a finite number{limits}, got {value!r}. Choose one in that range."
            )
        return float(value)

    return check


def whole(low: int) -> Check:
    """Make a check for an integer of at least ``low`` that 64 bits hold."""

    def check(what: str, value: Any) -> int:
        number = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        if not number or not low <= value < 1 << 63:
            raise SettingError(
                f"{what} needs an integer of at least {low}, got {value!r:.60}. Choose one."
            )
        return int(value)

    return check


def number(what: str, value: Any) -> float:
    """Check for a real number, which may be infinite or NaN."""
    real_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real_number or (isinstance(value, numbers.Integral) and not _is_finite(value)):
        raise SettingError(f"{what} needs a number, got {value!r:.60}. Give one.")
    return float(value)


def _is_finite(value: Any) -> bool:
    """Whether a float holds a number; there are integers beyond."""
    try:
        return isfinite(value)
    except OverflowError:
        return False


def flag(what: str, value: Any) -> bool:
    """Check for True or False."""
    if not isinstance(value, bool):
        raise SettingError(f"{what} needs True or False, got {value!r}. Choose one of them.")
    return value


def pair(check: Check) -> Check:
    """Make a check for two values that both pass ``check``."""

    def check_pair(what: str, value: Any) -> tuple[Any, Any]:
        if not isinstance(value, tuple | list) or len(value) != 2:
            raise SettingError(f"{what} needs a pair of numbers, got {value!r}. Write (a, b).")
        return check(f"{what}[0]", value[0]), check(f"{what}[1]", value[1])

    return check_pair


def optional(check: Check) -> Check:
    """Make a check that also accepts None."""

    def check_optional(what: str, value: Any) -> Any:
        return None if value is None else check(what, value)

    return check_optional


def choice(*accepted: str | None) -> Check:
    """Make a check for one of a few names."""

    def check_choice(what: str, value: Any) -> str | None:
        if not isinstance(value, str | None) or value not in accepted:
            names = ", ".join(map(repr, accepted))
            raise SettingError(f"{what} needs one of {names}, got {value!r}. Choose one of them.")
        return value

    return check_choice


def floating(*accepted: DType) -> Check:
    """Make a check for one of a few dtypes."""

    def check_floating(what: str, value: Any) -> DType:
        try:
            found = np.dtype(value)
        except (TypeError, ValueError):
            found = np.dtype(object)
        if found not in accepted:
            names = " or ".join([", ".join(map(str, accepted[:-1])), str(accepted[-1])])
            raise SettingError(f"{what} needs {names}, got {value!r:.60}. Choose one of them.")
        return found

    return check_floating


def above(low: float, below: float = inf) -> Check:
    """Make a check for a finite number in ``(low, below)``."""

    def check_above(what: str, value: Any) -> float:
        number = real(below=below)(what, value)
        if not number > low:
            raise SettingError(f"{what} needs a number above {low:g}, got {value!r}. Enlarge it.")
        return number

    return check_above
