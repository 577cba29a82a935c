"""Moves in place, and equal weights on several devices."""

from __future__ import annotations

import numpy as np
import pytest
from leaves import version

from autodiff import (
    DeviceUnavailable,
    Parameter,
    ShapeError,
    StorageBusy,
    Tensor,
    VersionError,
    reset_stats,
    stats,
    sync_weights,
)
from autodiff.placement import relocate


def test_every_handle_follows_and_the_value_stays() -> None:
    p = Parameter([1.0, 2.0])
    clone, detached = p.clone(), p.detach()
    (p * p).sum().backward()
    relocate(p, "emulated")
    assert [x.device for x in (p, clone, detached, p.grad)] == ["emulated"] * 4
    assert (p.tolist(), p.grad.tolist(), version(p)) == ([1.0, 2.0], [2.0, 4.0], 1)
    assert stats("emulated").uploads == 2
    (p * p).sum().backward()
    assert p.grad.tolist() == [4.0, 8.0]


def test_move_to_its_own_device_does_nothing() -> None:
    p = Parameter(Tensor([1.0], device="emulated"))
    reset_stats()
    relocate(p, "emulated:0")
    assert stats("emulated").uploads == 0


def test_graph_that_was_recorded_before_belongs_to_the_old_device() -> None:
    p = Parameter([1.0, 2.0])
    loss = (p * Tensor([3.0, 4.0])).sum()
    relocate(p, "emulated")
    with pytest.raises(VersionError, match=r"needs Parameter of .* at version 0, got version 1"):
        loss.backward()


def test_view_is_refused_and_unknown_devices_too() -> None:
    with pytest.raises(ShapeError, match=r"whole storage.*\.to\(device\)"):
        relocate(Tensor([1.0, 2.0])[1:], "emulated")
    with pytest.raises(DeviceUnavailable, match="got 'tpu'"):
        relocate(Tensor([1.0]), "tpu")


def test_open_storage_does_not_move() -> None:
    p = Parameter([1.0])
    with p.storage_mut(), pytest.raises(StorageBusy):
        relocate(p, "emulated")
    assert p.device == "cpu"


def test_weights_go_to_every_replica_by_one_download_and_an_upload_each() -> None:
    source = [Parameter(Tensor([1.0, 2.0], device="emulated")), Parameter(3.0)]
    replicas = [
        [Parameter(Tensor(np.zeros(2), device=d)), Parameter(Tensor(0.0, device=d))]
        for d in ("cpu", "emulated", "emulated:1")
    ]
    reset_stats()
    sync_weights(source, replicas)
    for replica in replicas:
        assert [p.tolist() for p in replica] == [[1.0, 2.0], 3.0]
        assert [version(p) for p in replica] == [1, 1]
    assert stats("emulated:1").uploads == 2


def test_one_replica_that_does_not_fit_leaves_all_as_they_are() -> None:
    source = [Parameter([1.0, 2.0])]
    good, bad = [Parameter([0.0, 0.0])], [Parameter([0.0])]
    with pytest.raises(ShapeError, match="replica 1 needs values"):
        sync_weights(source, [good, bad])
    with pytest.raises(ShapeError, match="replica 0 needs values"):
        sync_weights(source, [[]])
    assert good[0].tolist() == [0.0, 0.0]
