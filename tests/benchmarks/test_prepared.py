"""The prepared step gives what ours gives, and takes part right behind it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.cases import FAMILIES
from benchmarks.libraries import LIBRARIES, OWN, PREPARED
from benchmarks.ours import Ours
from benchmarks.prepared import PreparedStep


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_value_and_gradient_are_ours_to_the_last_bit(family: str, single: bool) -> None:
    case = FAMILIES[family][0](3)
    case = replace(case, single=single, batch=min(case.batch, 5))
    ours, prepared = Ours(case, engine="reference"), PreparedStep(case, engine="reference")
    assert prepared.prepared.direct is not None
    for draw in range(2):
        parameters = case.parameters(draw)
        value, gradient = prepared(parameters)
        expected, slopes = ours(parameters)
        assert isinstance(value, float)
        assert value == expected
        assert gradient.dtype == case.real_dtype
        np.testing.assert_array_equal(gradient, slopes)
    assert prepared.runtime.planned == 1


def test_it_stands_right_behind_ours() -> None:
    assert tuple(LIBRARIES)[:2] == OWN
    assert isinstance(LIBRARIES[PREPARED].build(FAMILIES["layered"][0](2)), PreparedStep)
