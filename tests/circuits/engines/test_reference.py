"""The reference engine against dense matrices."""

from __future__ import annotations

from collections.abc import Callable

import conformance
import pytest
from programs import Case

from circuits.engines.base import Engine
from circuits.engines.reference import ReferenceEngine


@pytest.mark.parametrize("case", conformance.CASES, ids=str)
@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
def test_conformance(check: Callable[[Engine, Case], None], case: Case) -> None:
    check(ReferenceEngine(), case)
