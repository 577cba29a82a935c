"""The notebooks in ``tutorials``: executed like a reader does, or run as plain scripts."""

from __future__ import annotations

import json
import runpy
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any

import jupytext
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from sources import ROOT

FOLDER = ROOT / "tutorials"
NAMES = sorted(path.name for path in FOLDER.glob("*.py"))

#: Seconds that a cell may take on a busy machine; the first one may have to compile kernels.
LONGEST = 300

# Warnings are errors, as everywhere, but for what the kernel itself says when it ends.
_FIRST = "import warnings\nwarnings.simplefilter('error')"
_LAST = "import json\nprint(json.dumps(result))\nwarnings.simplefilter('ignore')"

# Any in this file: what a notebook makes is whatever it says.


def notebook(name: str) -> NotebookNode:
    """The notebook that a file is."""
    return jupytext.read(FOLDER / name)


def code_cells(book: NotebookNode) -> list[NotebookNode]:
    """The cells that are executed."""
    return [cell for cell in book.cells if cell.cell_type == "code"]


def settings_cell(book: NotebookNode) -> NotebookNode:
    """The cell with the tag ``parameters``, of which there is one."""
    [cell] = [c for c in book.cells if "parameters" in c.metadata.get("tags", [])]
    return cell


def execute(book: NotebookNode, settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Execute all cells in a kernel of their own, and return the notebook's ``result``.

    Args:
        book: outputs are added to its cells; cells of our own stand before, between and after.
        settings: values in place of those in the settings cell.
        folder: where the kernel works, and leaves what it writes.
    """
    changed = "\n".join(f"{name} = {value!r}" for name, value in settings.items())
    book.cells.insert(book.cells.index(settings_cell(book)) + 1, new_code_cell(changed))
    book.cells.insert(0, new_code_cell(_FIRST))
    book.cells.append(new_code_cell(_LAST))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        patch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
        patch.setenv("JUPYTER_PREFER_ENV_PATH", "1")  # this environment's kernel, not the user's
        NotebookClient(
            book,
            kernel_name="python3",
            timeout=LONGEST,
            resources={"metadata": {"path": str(folder)}},
            extra_arguments=["--log-level=50"],
        ).execute()
    return json.loads(book.cells[-1].outputs[0].text)


def run_as_script(name: str, folder: Path) -> dict[str, Any]:
    """Run a notebook in this process with the settings it has, and return its names."""
    import matplotlib.pyplot as plt

    with plt.rc_context(), chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.setattr(plt, "show", lambda: plt.close("all"))
        return runpy.run_path(str(FOLDER / name))
