"""stats and reset_stats."""

from __future__ import annotations

import pytest

from autodiff import DeviceUnavailable, Tensor, reset_stats, stats


def test_stats_is_a_snapshot() -> None:
    before = stats("emulated")
    Tensor([1.0, 2.0], device="emulated").tolist()
    after = stats("emulated")
    assert (before.uploads, after.uploads, after.downloads) == (0, 1, 1)
    assert (after.upload_bytes, after.download_bytes, after.allocations) == (16, 16, 1)


def test_devices_count_apart_and_ordinal_0_is_the_device() -> None:
    Tensor([1.0], device="emulated:1")
    assert (stats("emulated").uploads, stats("emulated:1").uploads) == (0, 1)
    assert stats("emulated:0") == stats("emulated")


def test_reset_of_one_device_leaves_the_others() -> None:
    for device in ("emulated", "emulated:1"):
        Tensor([1.0], device=device) * 2
    reset_stats("emulated")
    assert (stats("emulated").launches, stats("emulated:1").launches) == (0, 1)
    reset_stats()
    assert stats("emulated:1").launches == 0


def test_nothing_is_counted_on_the_cpu() -> None:
    (Tensor([1.0]) * 2).tolist()
    assert stats("cpu").launches == stats("cpu").downloads == 0


def test_unknown_device_is_refused() -> None:
    for function in (stats, reset_stats):
        with pytest.raises(DeviceUnavailable, match="got 'tpu'"):
            function("tpu")
