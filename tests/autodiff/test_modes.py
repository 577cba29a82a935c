"""Grad mode: per thread, re-entrant, as context manager and as decorator."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from autodiff import GradientError, Tensor, enable_grad, is_grad_enabled, no_grad

X = Tensor(2.0, requires_grad=True)


def test_recording_is_on_at_first() -> None:
    assert is_grad_enabled()
    assert (X * X).requires_grad


def test_no_grad_records_nothing() -> None:
    with no_grad():
        y = X * X
    assert not y.requires_grad
    assert y.is_leaf


def test_nothing_is_recorded_where_no_parent_requires_grad() -> None:
    assert not (Tensor(2.0) * Tensor(3.0)).requires_grad


def test_enable_grad_records_inside_no_grad() -> None:
    with no_grad(), enable_grad():
        assert (X * X).requires_grad


def test_previous_mode_returns_after_an_exception() -> None:
    with pytest.raises(KeyError), no_grad():
        raise KeyError
    assert is_grad_enabled()


@pytest.mark.parametrize(("mode", "inside"), [(no_grad, False), (enable_grad, True)])
def test_decorator_sets_the_mode_for_each_call(mode: type, inside: bool) -> None:
    @mode()
    def ask() -> bool:
        return is_grad_enabled()

    with no_grad():
        assert ask() is inside
        assert not is_grad_enabled()
    assert ask() is inside
    assert is_grad_enabled()


def test_generator_is_not_decorated_because_its_body_runs_later() -> None:
    def numbers() -> Iterator[int]:
        yield 1

    with pytest.raises(
        GradientError, match="plain function, got a generator or coroutine 'numbers'"
    ):
        no_grad()(numbers)


def test_decorated_function_may_call_itself() -> None:
    @no_grad()
    def depth(n: int) -> list[bool]:
        return [is_grad_enabled(), *(depth(n - 1) if n else [])]

    assert depth(3) == [False] * 4
    assert is_grad_enabled()


def test_one_instance_may_be_entered_again_while_open() -> None:
    mode = no_grad()
    with mode:
        with enable_grad(), mode:
            assert not is_grad_enabled()
        with mode:
            assert not is_grad_enabled()
        assert not is_grad_enabled()
    assert is_grad_enabled()


def test_mode_belongs_to_the_thread() -> None:
    seen: list[bool] = []
    with no_grad():
        thread = threading.Thread(target=lambda: seen.append(is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_one_instance_serves_several_threads_at_once() -> None:
    mode = no_grad()
    both_inside = threading.Barrier(2)
    seen: list[bool] = []

    def work() -> None:
        with mode:
            both_inside.wait(timeout=10)
            seen.append(is_grad_enabled())
        seen.append(is_grad_enabled())

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [False, False, True, True]


@pytest.mark.parametrize(("mode", "inside"), [(no_grad, False), (enable_grad, True)])
def test_bare_decorator_is_the_mode_as_well(mode: type, inside: bool) -> None:
    @mode
    def function(x: int) -> tuple[int, bool]:
        """Its own words."""
        return x, is_grad_enabled()

    with mode():
        pass
    assert function(3) == (3, inside)
    assert function.__doc__ == "Its own words."
    assert is_grad_enabled()


def test_mode_takes_no_value() -> None:
    with pytest.raises(GradientError, match=r"no_grad needs nothing.*got False"):
        no_grad(False)
