"""Versions: what was changed since it was recorded is refused, and nothing else."""

from __future__ import annotations

import pytest
from leaves import leaf

from autodiff import Tensor, VersionError
from autodiff.node import History
from autodiff.refusals import check_versions


def recorded(x: Tensor) -> tuple[Tensor, History]:
    y = x.exp()
    history = y._meta.history
    assert history is not None
    return y, history


def test_writes_elsewhere_refuse_nothing() -> None:
    x, other = leaf(0.3), leaf(0.5)
    _, history = recorded(x)
    other.set_(1.0)
    check_versions([history])


def test_changed_operand_is_refused() -> None:
    x = leaf(0.3)
    _, history = recorded(x)
    x.set_(1.0)
    with pytest.raises(VersionError, match=r"exp .*needs .* at version 0, got version 1"):
        check_versions([history])


def test_changed_output_is_refused_if_the_rule_reads_it() -> None:
    y, history = recorded(leaf(0.3))
    y.set_(1.0)
    with pytest.raises(VersionError, match="the output of exp of shape"):
        check_versions([history])


def test_operand_that_was_changed_before_is_none() -> None:
    x = leaf(0.3)
    x.set_(1.0)
    _, history = recorded(x)
    check_versions([history])
