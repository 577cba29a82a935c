"""Device names. A tensor's device is a property of the tensor; there is no global one."""

from __future__ import annotations

import importlib
import threading

from autodiff.backends.interface import Array, Backend
from autodiff.backends.numpy_backend import NumpyBackend
from autodiff.errors import DeviceUnavailable
from autodiff.observing import observe, observers

CPU = "cpu"

#: Kinds of devices beside the CPU, each imported when one is asked for: module and class.
_KINDS = {
    "emulated": ("autodiff.backends.emulated_backend", "EmulatedBackend"),
    "cuda": ("autodiff.backends.cupy_backend", "CupyBackend"),
}

_BACKENDS: dict[str, Backend] = {CPU: NumpyBackend()}
_lock = threading.Lock()


def canonical_device(device: str | None) -> str:
    """Return the canonical name of a device; None is the CPU.

    Args:
        device: ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ``"emulated"``, ``"emulated:1"`` or None.

    Returns:
        The name under which storages keep their copies; ordinal 0 is not written out.

    Raises:
        DeviceUnavailable: the device is unknown, or this machine lacks it; there is no fall-back.

    >>> canonical_device(None), canonical_device("emulated:0")
    ('cpu', 'emulated')
    """
    if device is None or device in _BACKENDS:
        return device or CPU
    kind, _, number = str(device).partition(":")
    if kind not in _KINDS or not (number.isdecimal() or device == kind):
        raise DeviceUnavailable(
            f"a device needs one of {[CPU, *_KINDS]}, with an ordinal as in 'cuda:1', got "
            f"{device!r}. Leave device out or pass 'cpu'."
        )
    name = f"{kind}:{int(number)}" if int(number or 0) else kind
    with _lock:
        if name not in _BACKENDS:
            module, backend = _KINDS[kind]
            _BACKENDS[name] = getattr(importlib.import_module(module), backend)(int(number or 0))
    return name


def split_device(device: str) -> tuple[str, int]:
    """Return kind and ordinal of a canonical device name.

    >>> split_device("emulated:1"), split_device("cpu")
    (('emulated', 1), ('cpu', 0))
    """
    kind, _, number = device.partition(":")
    return kind, int(number or 0)


def backend_of(device: str) -> Backend:
    """Return the backend of a canonical device name."""
    return _BACKENDS[device]


def move(buffer: Array, source: str, destination: str) -> Array:
    """Copy a buffer from a device to another one, by way of the host if neither is that."""
    host = buffer if source == CPU else backend_of(source).to_host(buffer)
    copy = host if destination == CPU else backend_of(destination).from_host(host)
    if observers:
        observe("transfer", copy)
    return copy


def device_kinds() -> tuple[str, ...]:
    """Return the kinds of devices that this version knows, whether the machine has them or not.

    >>> device_kinds()[0]
    'cpu'
    """
    return (CPU, *_KINDS)


def known_devices() -> tuple[str, ...]:
    """Return the devices that have been used so far."""
    return tuple(_BACKENDS)
