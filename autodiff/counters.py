"""stats: what a device has done. The backends count; this is how a script asks."""

from __future__ import annotations

from dataclasses import replace

from autodiff.backends.interface import Stats
from autodiff.device import backend_of, canonical_device, known_devices


def stats(device: str) -> Stats:
    """Return what a device has done since it was first used, or since ``reset_stats``.

    Args:
        device: ``"emulated"``, ``"emulated:1"``, ...; on the CPU nothing is counted.

    Returns:
        A snapshot with ``launches`` (executions of ops; in graph mode, runs of the queue),
        ``uploads`` and ``downloads`` with ``upload_bytes`` and ``download_bytes``,
        ``allocations`` of device memory, ``kernels`` launched from raw modules with the
        ``argument_bytes`` of their arrays, and captured ``graphs``.

    Raises:
        DeviceUnavailable: this version or machine has no such device.

    >>> from autodiff import Tensor
    >>> reset_stats("emulated:3")
    >>> (Tensor([1.0, 2.0], device="emulated:3") * 3).numpy().tolist()
    [3.0, 6.0]
    >>> s = stats("emulated:3")
    >>> s.launches, s.uploads, s.upload_bytes, s.downloads
    (1, 1, 16, 1)
    """
    return replace(backend_of(canonical_device(device)).stats)


def reset_stats(device: str | None = None) -> None:
    """Set the counters of a device, by default of every device, to 0.

    Raises:
        DeviceUnavailable: this version or machine has no such device.
    """
    devices = known_devices() if device is None else (canonical_device(device),)
    for name in devices:
        backend_of(name).stats.reset()
