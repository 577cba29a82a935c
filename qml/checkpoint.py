"""Checkpoint files: nested plain values and arrays, written atomically, read without pickle.

A file is one line of JSON (format, version, sizes, checksum), then the tree as JSON in which arrays
are numbers, then the arrays' bytes one after the other. Nothing in it is executed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff import Tensor
from qml.errors import CheckpointError

FORMAT, VERSION = "ketgrad checkpoint", 1
_FIRST_LINE = 1 << 12
"""Bytes within which the first line of a checkpoint ends."""

# Any in this file: a tree is what the user saves; the functions check it.
Arrays = list[NDArray[Any]]


def save(state: Any, path: str | Path) -> Path:
    """Write a state to a file, all or nothing.

    It is written aside, forced to the disk and then renamed: whatever happens on the way, the file
    is the old one or the new one. One process at a time may save to a path.

    Args:
        state: what a ``state_dict`` gives: None, booleans, numbers, text, NumPy arrays and Tensors
            in dictionaries with text keys, lists and tuples. Tensors come back as arrays.
        path: where to; a file there is replaced.

    Returns:
        The path.

    Raises:
        CheckpointError: something else in the state, or no room or permission. A file at ``path``
            is left as it was.

    Example:
        >>> import qml, tempfile
        >>> model = qml.Linear(2, 1, seed=0)
        >>> path = qml.save(model.state_dict(), tempfile.mkdtemp() + "/model.ket")
        >>> model.load_state_dict(qml.load(path))
    """
    arrays: Arrays = []
    try:
        tree = json.dumps(_packed(state, arrays, "the state")).encode()
    except RecursionError as error:
        raise CheckpointError(
            f"a checkpoint needs a state that nests less, got a {type(state).__name__} that is too "
            "deep, or contains itself. Save its state_dict."
        ) from error
    parts = [tree, *[np.ascontiguousarray(array).tobytes() for array in arrays]]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    head = {
        "format": FORMAT,
        "version": VERSION,
        "tree_bytes": len(tree),
        "bytes": sum(map(len, parts)),
        "sha256": digest.hexdigest(),
    }
    target = Path(path)
    _write(target, [json.dumps(head).encode() + b"\n", *parts])
    return target


def load(path: str | Path) -> Any:
    """Return what ``save`` wrote.

    Args:
        path: of the file.

    Raises:
        CheckpointError: a file that is something else, of a newer version, truncated or damaged.
        OSError: a file that is not there, or cannot be read.

    Example:
        >>> import qml, tempfile
        >>> path = qml.save({"lr": 0.1, "values": np.ones(2)}, tempfile.mkdtemp() + "/a.ket")
        >>> qml.load(path)
        {'lr': 0.1, 'values': array([1., 1.])}
    """
    with Path(path).open("rb") as file:
        head = _header(path, file.readline(_FIRST_LINE))
        found = os.fstat(file.fileno()).st_size - file.tell()
        if found != head["bytes"]:
            raise CheckpointError(
                f"{path} needs {head['bytes']} bytes after its first line, got {found}: it is "
                "truncated or was appended to. Load an earlier checkpoint."
            )
        body = file.read()
    if hashlib.sha256(body).hexdigest() != head["sha256"]:
        raise CheckpointError(
            f"{path} needs the checksum {head['sha256']:.12}..., got another: it is damaged. Load "
            "an earlier checkpoint."
        )
    try:
        return _Reader(json.loads(body[: head["tree_bytes"]]), body[head["tree_bytes"] :]).value()
    except (ValueError, TypeError, RecursionError) as error:
        raise CheckpointError(
            f"{path} needs a tree and the arrays in it, got another content: {error}. Give a file "
            "that qml.save wrote."
        ) from error


def _header(path: str | Path, line: bytes) -> dict[str, Any]:
    try:
        head = json.loads(line) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise CheckpointError(
            f"{path} needs to be a {FORMAT}, got a file that starts with {line[:24]!r}. Give a "
            "file that qml.save wrote."
        )
    if head.get("version") != VERSION:
        raise CheckpointError(
            f"{path} needs format version {VERSION}, got version {head.get('version')!r:.40}. Read "
            "it with the ketgrad that wrote it, or a newer one."
        )
    tree, whole = head.get("tree_bytes"), head.get("bytes")
    known = type(tree) is int and type(whole) is int and 0 <= tree <= whole
    if not known or not isinstance(head.get("sha256"), str):
        raise CheckpointError(
            f"{path} needs sizes and a checksum in its first line, got {line[:60]!r}. Give a file "
            "that qml.save wrote."
        )
    return head


def _write(path: Path, parts: list[bytes]) -> None:
    """Write aside, force to the disk, rename, and force the folder's entry to the disk."""
    aside = path.with_name(f".{path.name}.part")
    try:
        with aside.open("wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise CheckpointError(
            f"saving {path} needs room and permission in its folder, got: {error}. What was there "
            "is unchanged; free some room or choose another path."
        ) from error
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _packed(value: Any, arrays: Arrays, where: str) -> Any:
    """Return a value as JSON; containers and arrays are objects with one key that says what."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case np.generic():
            return _packed(value.item(), arrays, where)
        case complex():
            return {"complex": [value.real, value.imag]}
        case Tensor():
            return _packed(value.numpy(), arrays, where)
        case np.ndarray() if value.dtype.kind in "biufc":
            arrays.append(value)
            return {"array": [value.dtype.str, list(value.shape)]}
        case list() | tuple():
            kind = "list" if isinstance(value, list) else "tuple"
            return {kind: [_packed(x, arrays, f"{where}[{k}]") for k, x in enumerate(value)]}
        case Mapping() if all(isinstance(key, str) for key in value):
            entries = {key: _packed(x, arrays, f"{where}[{key!r}]") for key, x in value.items()}
            return {"mapping": entries}
    raise CheckpointError(
        f"a checkpoint needs plain values, arrays, lists and dictionaries with text keys, got "
        f"{type(value).__name__} {value!r:.60} in {where}. Save its state_dict."
    )


class _Reader:
    """Undoes ``_packed``: arrays are taken from their bytes in the order in which they occur."""

    def __init__(self, tree: Any, content: bytes) -> None:
        self.tree, self.content, self.position = tree, content, 0

    def value(self) -> Any:
        """Return the state, or raise a ValueError or TypeError that says what ``_packed`` lacks."""
        state = self._unpacked(self.tree)
        if self.position != len(self.content):
            raise ValueError(f"{len(self.content) - self.position} bytes belong to no array")
        return state

    def _unpacked(self, tree: Any) -> Any:
        match tree:
            case None | bool() | int() | float() | str():
                return tree
            case {"complex": [float(real), float(imag)], **rest} if not rest:
                return complex(real, imag)
            case {"array": [str(dtype), list(shape)], **rest} if not rest:
                return self._array(np.dtype(dtype), shape)
            case {"list": list(parts), **rest} if not rest:
                return [self._unpacked(part) for part in parts]
            case {"tuple": list(parts), **rest} if not rest:
                return tuple([self._unpacked(part) for part in parts])
            case {"mapping": dict(entries), **rest} if not rest:
                return {key: self._unpacked(part) for key, part in entries.items()}
        raise ValueError(f"{tree!r:.60} is no value")

    def _array(self, dtype: np.dtype[Any], shape: list[Any]) -> NDArray[Any]:
        if dtype.kind not in "biufc" or not all(type(x) is int and x >= 0 for x in shape):
            raise ValueError(f"{dtype.str!r:.20} and {shape!r:.40} are no dtype and shape")
        # In Python's integers, which do not overflow.
        start, self.position = self.position, self.position + dtype.itemsize * prod(shape)
        if self.position > len(self.content):
            raise ValueError(f"an array of shape {shape!r:.40} needs more bytes than there are")
        return np.frombuffer(self.content[start : self.position], dtype).reshape(shape).copy()
