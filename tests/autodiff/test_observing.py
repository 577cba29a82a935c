"""Observers hear of every access."""

from __future__ import annotations

import numpy as np

from autodiff.observing import observe, observers
from autodiff.storage import Storage


def test_observers_are_told_kind_and_bytes() -> None:
    heard: list[tuple[str, int]] = []

    def observer(kind: str, nbytes: int) -> None:
        heard.append((kind, nbytes))

    observers.append(observer)
    try:
        observe("read", np.zeros(3))
        storage = Storage(np.zeros(2), "cpu")
        storage.write(storage.read_for_update(), "cpu")
        with storage.update():
            pass
    finally:
        observers.remove(observer)
    assert heard == [("read", 24)] + [
        (kind, 16) for kind in ("read", "update", "write", "update", "write")
    ]
