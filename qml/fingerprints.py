"""What a model is made of, as checksums: whether a checkpoint belongs to it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from circuits import Circuit, PauliSum
from circuits.description import Packed, describe
from circuits.observable_base import Observable
from qml.module import Module

# Any in this file: descriptions are nested data.


def model_fingerprint(model: Module) -> dict[str, str]:
    """Return a checksum for the tree of modules, and for each circuit and observable in it.

    Values of Parameters and buffers do not count; structure, gates, fixed angles, how Parameters
    enter, and fixed coefficients do.

    Args:
        model: the model.

    Returns:
        Hexadecimal checksums by what they are of.

    Example:
        >>> from qml import Linear
        >>> model_fingerprint(Linear(2, 1, seed=0)) == model_fingerprint(Linear(2, 1, seed=1))
        True
    """
    kinds = [(name, type(module).__qualname__) for name, module in model.named_modules()]
    found = {"modules": _checksum([kinds, repr(model)])}
    for name, module in model.named_modules():
        for key, value in module._members():
            where = f"{name}.{key}" if name else key
            if isinstance(value, Circuit):
                found[f"circuit {where}"] = _checksum(describe(value))
            elif isinstance(value, Observable):
                found[f"observable {where}"] = _checksum(_terms(value))
    return found


def _terms(observable: Observable) -> Any:
    if isinstance(observable, PauliSum):
        return [[label, str(coefficient)] for label, coefficient in observable.to_list()]
    return repr(observable)


def _checksum(data: Any) -> str:
    text = json.dumps(data, default=_plain, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(part: Any) -> Any:
    """Return what JSON cannot write: arrays by their content, rows of no table by their name."""
    if isinstance(part, Packed):
        return [part.dtype, list(part.shape), hashlib.sha256(part.content).hexdigest()]
    return getattr(part, "name", repr(part))
