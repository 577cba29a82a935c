from __future__ import annotations

import errno
import json
import math
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import qml
from qml.checkpoint import FORMAT, VERSION
from qml.errors import CheckpointError

STATE = {
    "none": None,
    "flags": [True, False],
    "numbers": (1, -(2**100), 0.1, math.inf, 1e-320, 1 + 2j),
    "text": 'a "quoted" line\nand ü',
    "arrays": {
        "empty": np.zeros((0, 3)),
        "scalar": np.array(0.1, np.float32),
        "complex": np.array([[1 + 2j, -0.0j]]),
        "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "bool": np.array([True, False]),
        "big": np.arange(3, dtype=">i4"),
    },
    "nested": [{"array": 1}, {"list": [2]}, {}, (), []],
}


def equal(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    return type(a) is type(b) and a == b


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    path = qml.save(STATE, tmp_path / "a.ket")
    loaded = qml.load(path)
    assert equal(STATE, loaded)
    assert loaded["arrays"]["empty"].shape == (0, 3)
    loaded["arrays"]["scalar"][...] = 2.0  # writable
    assert [p.name for p in tmp_path.iterdir()] == ["a.ket"]


def test_nan_comes_back(tmp_path: Path) -> None:
    assert math.isnan(qml.load(qml.save({"x": math.nan}, tmp_path / "a"))["x"])


def test_scalars_and_tensors_become_numbers_and_arrays(tmp_path: Path) -> None:
    state = {"a": np.float32(0.1), "b": np.int64(3), "c": qml.Tensor([1.0, 2.0])}
    loaded = qml.load(qml.save(state, str(tmp_path / "a")))
    assert (loaded["a"], loaded["b"]) == (float(np.float32(0.1)), 3)
    assert loaded["c"].tolist() == [1.0, 2.0]


BAD_STATES = [
    ({"a": [1, {2}]}, r"got set \{2\} in the state\['a'\]\[1\]"),
    ({1: 2}, "dictionaries with text keys, got dict"),
    (np.array([object()]), "got ndarray"),
    (qml.Linear(1, 1, seed=0), r"got Linear .*Save its state_dict"),
]


@pytest.mark.parametrize(("state", "match"), BAD_STATES)
def test_other_states_are_refused_and_nothing_is_written(
    state: object, match: str, tmp_path: Path
) -> None:
    path = qml.save({"old": 1}, tmp_path / "a")
    with pytest.raises(CheckpointError, match=match):
        qml.save(state, path)
    assert qml.load(path) == {"old": 1}


# -- files that are refused ------------------------------------------------------------------------


def content(tmp_path: Path) -> bytes:
    return qml.save(STATE, tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.99])
def test_truncated_file_is_refused(share: float, tmp_path: Path) -> None:
    whole = content(tmp_path)
    path = tmp_path / "cut"
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(CheckpointError, match=r"truncated|needs to be a ketgrad checkpoint"):
        qml.load(path)


def test_every_cut_and_every_changed_byte_is_found(tmp_path: Path) -> None:
    whole = qml.save({"a": np.arange(3.0)}, tmp_path / "whole").read_bytes()
    path = tmp_path / "changed"
    body = whole.index(b"\n") + 1
    for position in range(len(whole)):
        path.write_bytes(whole[:position])
        with pytest.raises(CheckpointError):
            qml.load(path)
    for position in range(body, len(whole)):
        changed = bytearray(whole)
        changed[position] ^= 1
        path.write_bytes(changed)
        with pytest.raises(CheckpointError, match="it is damaged"):
            qml.load(path)


def test_longer_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(content(tmp_path) + b"x")
    with pytest.raises(CheckpointError, match="truncated or was appended to"):
        qml.load(path)


def head(**changes: object) -> bytes:
    known = {"format": FORMAT, "version": VERSION, "tree_bytes": 4, "bytes": 4, "sha256": ""}
    return json.dumps(known | changes).encode() + b"\nnull"


FOREIGN = [
    (b"", "a file that starts with b''"),
    (b"PK\x03\x04 something", "starts with b'PK"),
    (b"[1, 2]\nrest", "needs to be a ketgrad checkpoint"),
    (b"{}\nrest", "needs to be a ketgrad checkpoint"),
    (b"x" * 100_000, "needs to be a ketgrad checkpoint"),
    (head(format="another"), "needs to be a ketgrad checkpoint"),
    (head(version=2), "needs format version 1, got version 2. Read it with the ketgrad that wrote"),
    (head(), "it is damaged"),
]


@pytest.mark.parametrize(("text", "match"), FOREIGN)
def test_foreign_and_newer_files_are_refused(text: bytes, match: str, tmp_path: Path) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(text)
    with pytest.raises(CheckpointError, match=match):
        qml.load(path)


def test_pickles_are_not_executed(tmp_path: Path) -> None:
    path = tmp_path / "evil"
    path.write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(CheckpointError, match="needs to be a ketgrad checkpoint"):
        qml.load(path)


def test_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        qml.load(tmp_path / "none")


# -- saving that fails -----------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_full_disk_leaves_the_old_file(
    function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = qml.save({"old": 1}, tmp_path / "a")

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, function, full)
    with pytest.raises(CheckpointError, match=r"No space left on device\. What was there is unch"):
        qml.save({"new": np.zeros(100)}, path)
    monkeypatch.undo()
    assert qml.load(path) == {"old": 1}
    assert list(tmp_path.iterdir()) == [path]


FILL = """
import resource, signal, sys
import numpy as np, qml
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
qml.save({"old": 1}, sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
try:
    qml.save({"new": np.zeros(100_000)}, sys.argv[1])
except qml.CheckpointError as error:
    print(error)
"""


def test_write_that_the_system_cuts_short_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", FILL, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "File too large" in done.stdout
    assert qml.load(path) == {"old": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="No such file or directory"):
        qml.save({}, tmp_path / "none" / "a")
