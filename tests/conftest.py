"""What holds for every test: reproducible examples, no window, Ctrl-C, and slow ones last."""

from __future__ import annotations

import os
import signal

import hypothesis
import pytest

os.environ.setdefault("MPLBACKEND", "agg")

hypothesis.settings.register_profile("project", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("project")


def pytest_configure() -> None:
    """Let Ctrl-C interrupt, as tests send it: a shell's background jobs are told to ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slow tests last, so that what is broken shows early."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)
