"""Checkpoint files: nested plain values and arrays, written atomically, read without pickle.

A file is one line of JSON (format, version, sizes, checksum), then the tree as JSON in which arrays
are numbers, then the arrays' bytes one after the other. Nothing in it is executed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
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
    tree = json.dumps(_packed(state, arrays, "the state")).encode()
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
    content = Path(path).read_bytes()
    line, _, body = content.partition(b"\n")
    head = _header(path, line if len(line) < _FIRST_LINE else b"")
    if len(body) != head["bytes"]:
        raise CheckpointError(
            f"{path} needs {head['bytes']} bytes after its first line, got {len(body)}: it is "
            "truncated or was appended to. Load an earlier checkpoint."
        )
    if hashlib.sha256(body).hexdigest() != head["sha256"]:
        raise CheckpointError(
            f"{path} needs the checksum {head['sha256'][:12]}..., got another: it is damaged. Load "
            "an earlier checkpoint."
        )
    return _Reader(json.loads(body[: head["tree_bytes"]]), body[head["tree_bytes"] :]).value()


def _header(path: str | Path, line: bytes) -> dict[str, Any]:
    try:
        head = json.loads(line)
    except ValueError:
        head = None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise CheckpointError(
            f"{path} needs to be a {FORMAT}, got a file that starts with {line[:24]!r}. Give a "
            "file that qml.save wrote."
        )
    if head.get("version") != VERSION:
        raise CheckpointError(
            f"{path} needs format version {VERSION}, got version {head.get('version')!r}. Read it "
            "with the ketgrad that wrote it, or a newer one."
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
        return self._unpacked(self.tree)

    def _unpacked(self, tree: Any) -> Any:
        match tree:
            case {"complex": [real, imag]}:
                return complex(real, imag)
            case {"array": [dtype, shape]}:
                return self._array(np.dtype(dtype), tuple(shape))
            case {"list": parts}:
                return [self._unpacked(part) for part in parts]
            case {"tuple": parts}:
                return tuple([self._unpacked(part) for part in parts])
            case {"mapping": entries}:
                return {key: self._unpacked(part) for key, part in entries.items()}
        return tree

    def _array(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        start = self.position
        self.position += dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        return np.frombuffer(self.content[start : self.position], dtype).reshape(shape).copy()
