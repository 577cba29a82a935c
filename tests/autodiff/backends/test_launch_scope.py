"""The outermost block is the launch."""

from __future__ import annotations

import threading

import pytest

from autodiff.backends.launch_scope import LaunchScope


def test_inner_blocks_belong_to_the_outer_one() -> None:
    begun: list[int] = []
    scope = LaunchScope(lambda: begun.append(1))
    with scope.block():
        assert len(begun) == 1
        with scope.block(), scope.block():
            pass
    assert len(begun) == 1
    with scope.block():
        pass
    assert len(begun) == 2


def test_error_ends_the_launch() -> None:
    begun: list[int] = []
    scope = LaunchScope(lambda: begun.append(1))
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), scope.block():
            raise ZeroDivisionError
    assert len(begun) == 2


def test_launch_that_cannot_begin_leaves_nothing_open() -> None:
    def fail() -> None:
        raise ZeroDivisionError

    scope = LaunchScope(fail)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), scope.block():
            pass


def test_each_thread_has_its_own() -> None:
    begun: list[int] = []
    scope = LaunchScope(lambda: begun.append(1))

    def launch() -> None:
        with scope.block():
            pass

    with scope.block():
        other = threading.Thread(target=launch)
        other.start()
        other.join(timeout=60)
    assert len(begun) == 2
