"""What the cases share: both engines, and one comparison at the precision of their answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import Tensor


def assert_close(found: Any, expected: Any, atol: float = 1e-9) -> None:
    """The same shape, and every element within ``atol``."""
    actual = found.numpy() if isinstance(found, Tensor) else np.asarray(found)
    assert actual.shape == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol)


@pytest.fixture
def close() -> Callable[..., None]:
    """Give the comparison: the answers of the cases have ten digits."""
    return assert_close


@pytest.fixture(params=["reference", "numba"])
def engine(request: pytest.FixtureRequest) -> str:
    """Give every engine on the CPU in turn."""
    name: str = request.param
    return name
