"""Device names. A tensor's device is a property of the tensor; there is no global one."""

from __future__ import annotations

from autodiff.backends.interface import Backend
from autodiff.backends.numpy_backend import NumpyBackend
from autodiff.errors import DeviceUnavailable

CPU = "cpu"

_BACKENDS: dict[str, Backend] = {CPU: NumpyBackend()}


def canonical_device(device: str | None) -> str:
    """Return the canonical name of a device; None is the CPU.

    Args:
        device: ``"cpu"`` or None.

    Returns:
        The name under which storages keep their copies.

    Raises:
        DeviceUnavailable: the device is unknown, or not part of this version.

    >>> canonical_device(None)
    'cpu'
    """
    if device is None or device in _BACKENDS:
        return device or CPU
    raise DeviceUnavailable(
        f"a device needs one of {sorted(_BACKENDS)}, got {device!r}. "
        "This version computes on the CPU only; leave device out or pass 'cpu'."
    )


def backend_of(device: str) -> Backend:
    """Return the backend of a canonical device name."""
    return _BACKENDS[device]
