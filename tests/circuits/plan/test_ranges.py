"""Indices that are a range."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from circuits.plan.ranges import as_slice


@pytest.mark.parametrize(
    "indices", [[], [0], [5], [2, 3, 4], [0, 2], [1, 0], [3, 3], [1, 2, 2, 4], [1, 3, 2, 4]]
)
def test_a_slice_takes_the_same_elements(indices: list[int]) -> None:
    places, source = np.array(indices, np.int64), np.arange(7)
    found = as_slice(places)
    ascending = all(b == a + 1 for a, b in pairwise(indices))
    assert (found is not None) == ascending
    if found is not None:
        assert source[found].tolist() == indices
