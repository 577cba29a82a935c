"""Broken checkpoint files, with right checksums too: values or the project's own error, bounded."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limits import MIB, limited
from strategies import JSON, mutated_data

import qml
from qml.errors import CheckpointError

STATE = {
    "params": [np.arange(6.0).reshape(2, 3), np.array([], np.float32), np.array(1 + 2j)],
    "step": 7,
    "nested": {"name": "adam", "betas": (0.9, 0.999), "amsgrad": False, "none": None},
    "phase": 1.5 - 2j,
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checkpoints") / "state.ket"


@pytest.fixture(scope="module")
def parts(path: Path) -> tuple[dict[str, Any], Any, bytes]:
    """The header, the tree and the arrays' bytes of a valid file."""
    qml.save(STATE, path)
    line, _, body = path.read_bytes().partition(b"\n")
    head = json.loads(line)
    size = head["tree_bytes"]
    return head, json.loads(body[:size]), body[size:]


def write(path: Path, tree: bytes, content: bytes, **changes: Any) -> None:
    """A file whose sizes and checksum are right, but for what is changed."""
    body = tree + content
    head = {
        "format": "ketgrad checkpoint",
        "version": 1,
        "tree_bytes": len(tree),
        "bytes": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
        **changes,
    }
    path.write_bytes(json.dumps(head).encode() + b"\n" + body)


def read(path: Path) -> None:
    with limited(), suppress(CheckpointError):
        qml.load(path)


@settings(max_examples=300)
@given(st.data())
def test_changed_trees(
    path: Path, parts: tuple[dict[str, Any], Any, bytes], data: st.DataObject
) -> None:
    _, tree, content = parts
    changed = data.draw(mutated_data(lambda: json.loads(json.dumps(tree))))
    write(path, json.dumps(changed).encode(), content)
    read(path)


@settings(max_examples=100)
@given(st.data())
def test_changed_headers(
    path: Path, parts: tuple[dict[str, Any], Any, bytes], data: st.DataObject
) -> None:
    head, tree, content = parts
    changed = data.draw(mutated_data(lambda: dict(head)))
    path.write_bytes(json.dumps(changed).encode() + b"\n" + json.dumps(tree).encode() + content)
    read(path)


@settings(max_examples=100)
@given(st.dictionaries(st.sampled_from(["tree_bytes", "bytes", "sha256"]), JSON))
def test_changed_sizes(path: Path, changes: dict[str, Any]) -> None:
    write(path, b'{"array": ["<f8", [2]]}', bytes(16), **changes)
    read(path)


@settings(max_examples=100)
@given(st.binary(max_size=200), st.binary(max_size=40))
def test_any_bytes_under_a_right_checksum(path: Path, tree: bytes, content: bytes) -> None:
    write(path, tree, content)
    read(path)


@settings(max_examples=50)
@given(st.binary(max_size=200))
def test_any_bytes(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    read(path)


HOSTILE_TREES = {
    "nesting": b'{"list": [' * 100_000,
    "closed nesting": b'{"list": [' * 100_000 + b"]}" * 100_000,
    "objects": b'{"array": ["|O", [1]]}',
    "negative size": b'{"array": ["<f8", [-1]]}',
    "size that overflows": b'{"array": ["<f8", [4294967296, 4294967296]]}',
    "size beyond the file": b'{"array": ["<f8", [1000000000000]]}',
    "size of a wide element": b'{"array": ["|V2000000000", [1]]}',
    "structured": b'{"array": ["f8,O", [1]]}',
    "unknown dtype": b'{"array": ["<q9", [1]]}',
    "no number": b'{"complex": ["a", null]}',
    "fewer bytes": b'{"list": [{"array": ["<f8", [2]]}, {"array": ["<f8", [2]]}]}',
    "bytes left over": b'{"array": ["<f8", [1]]}',
    "unknown kind": b'{"pickle": "cos"}',
    "no text": b"\xff\xfe",
}


@pytest.mark.parametrize("tree", HOSTILE_TREES.values(), ids=HOSTILE_TREES)
def test_hostile_tree_is_refused(path: Path, tree: bytes) -> None:
    write(path, tree, bytes(16))
    with limited(seconds=2.0), pytest.raises(CheckpointError, match=r"state\.ket needs"):
        qml.load(path)


@pytest.mark.parametrize(
    "line", [b"[" * 4000, b"{" * 10**6, b'{"a":' * 700, b"\xff\n", b"9" * 10**6]
)
def test_hostile_first_line_is_refused(path: Path, line: bytes) -> None:
    path.write_bytes(line + b"\n")
    with limited(64 * MIB, seconds=1.0), pytest.raises(CheckpointError, match="needs to be a"):
        qml.load(path)


@pytest.mark.parametrize("size", [10**30, -1, True, "9", None])
def test_hostile_size_is_refused(path: Path, size: object) -> None:
    write(path, b"null", b"", tree_bytes=size)
    with limited(64 * MIB, seconds=1.0), pytest.raises(CheckpointError, match="needs"):
        qml.load(path)
    write(path, b"null", b"", bytes=size)
    with limited(64 * MIB, seconds=1.0), pytest.raises(CheckpointError, match="needs"):
        qml.load(path)


def test_large_foreign_file_is_not_read(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 33)
    with limited(64 * MIB, seconds=1.0), pytest.raises(CheckpointError, match="needs to be a"):
        qml.load(path)


def test_state_that_contains_itself_is_refused(path: Path) -> None:
    state: dict[str, object] = {}
    state["self"] = state
    with pytest.raises(CheckpointError, match="a state that nests less"):
        qml.save(state, path)
