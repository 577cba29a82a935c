from __future__ import annotations

import re

import numpy as np
import pytest

from autodiff import F32, F64
from qml.errors import SettingError
from qml.settings import Check, above, choice, flag, floating, optional, pair, real, whole

ACCEPTED = [
    (real(), -1, -1.0),
    (real(0.0), 0, 0.0),
    (real(0.0, 1.0), np.float32(0.5), 0.5),
    (whole(1), np.int64(3), 3),
    (flag, True, True),
    (pair(real(0.0, 1.0)), [0, 0.5], (0.0, 0.5)),
    (optional(whole(1)), None, None),
    (optional(whole(1)), 2, 2),
    (choice(None, "a"), None, None),
    (choice(None, "a"), "a", "a"),
    (above(0.0), 1e-300, 1e-300),
]
REFUSED = [
    (real(0.0), -1e-9, "lr needs a finite number of at least 0, got -1e-09"),
    (real(0.0, 1.0), 1.0, "lr needs a finite number of at least 0 and below 1, got 1.0"),
    (real(), float("nan"), "lr needs a finite number, got nan"),
    (real(), float("inf"), "got inf"),
    (real(), True, "got True"),
    (real(), "1", "got '1'"),
    (real(), 1j, "got 1j"),
    (whole(1), 0, "lr needs an integer of at least 1, got 0"),
    (whole(1), 1.0, "got 1.0"),
    (whole(0), False, "got False"),
    (flag, 1, "lr needs True or False, got 1"),
    (pair(real()), 0.9, "lr needs a pair of numbers, got 0.9"),
    (pair(real()), (0.9, 0.9, 0.9), "lr needs a pair"),
    (optional(whole(1)), 0, "lr needs an integer of at least 1, got 0"),
    (choice("a", None), "b", "lr needs one of 'a', None, got 'b'"),
    (choice("a"), ["a"], "lr needs one of 'a', got"),
    (above(0.0), 0.0, "lr needs a number above 0, got 0.0"),
    (above(0.0, 1.0), 1.0, "below 1, got 1.0"),
    (above(0.0), float("nan"), "lr needs a finite number, got nan"),
    (pair(real(0.0, 1.0)), (0.9, 1.0), re.escape("lr[1] needs a finite number of at least 0")),
]


@pytest.mark.parametrize(("check", "given", "kept"), ACCEPTED)
def test_value_is_kept_in_its_final_form(check: Check, given: object, kept: object) -> None:
    assert check("lr", given) == kept
    assert type(check("lr", given)) is type(kept)


@pytest.mark.parametrize(("check", "given", "match"), REFUSED)
def test_value_is_refused(check: Check, given: object, match: str) -> None:
    with pytest.raises(SettingError, match=match):
        check("lr", given)


def test_dtypes_are_some_of_a_few() -> None:
    check = floating(F32, F64)
    assert check("x", "float32") == F32
    for value in ("foo", np.int64, 3, None.__class__):
        with pytest.raises(SettingError, match="x needs float32 or float64, got"):
            check("x", value)
