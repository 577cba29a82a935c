"""Free memory by the kernel's figures, and the refusal of what needs more."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from circuits.errors import CapacityError
from circuits.plan import memory

GIB = 1 << 30


def write(root: Path, files: Mapping[str, object]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return root


MEMINFO = {"proc/meminfo": "MemTotal:  33554432 kB\nMemAvailable:   8388608 kB"}


def test_without_groups_it_is_what_the_kernel_says(tmp_path: Path) -> None:
    assert memory.available_memory(write(tmp_path, MEMINFO)) == 8 * GIB


@pytest.mark.parametrize("group", ["", "job/task"])
def test_a_limit_of_version_two_counts_wherever_it_stands(tmp_path: Path, group: str) -> None:
    files = {
        "proc/self/cgroup": "0::/job/task",
        f"sys/fs/cgroup/{group}/memory.max": 3 * GIB,
        f"sys/fs/cgroup/{group}/memory.current": 2 * GIB,
        f"sys/fs/cgroup/{group}/memory.stat": f"anon 5\ninactive_file {GIB // 2}",
    }
    assert memory.available_memory(write(tmp_path, MEMINFO | files)) == 3 * GIB // 2


def test_a_limit_of_version_one_counts(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "9:cpu:/x\n4:memory:/job",
        "sys/fs/cgroup/memory/job/memory.limit_in_bytes": 3 * GIB,
        "sys/fs/cgroup/memory/job/memory.usage_in_bytes": GIB,
    }
    assert memory.available_memory(write(tmp_path, MEMINFO | files)) == 2 * GIB


def test_no_limit_and_a_limit_above_the_machine_do_not_count(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/\n4:memory:/",
        "sys/fs/cgroup/memory.max": "max",
        "sys/fs/cgroup/memory.current": GIB,
        "sys/fs/cgroup/memory/memory.limit_in_bytes": 1 << 62,
        "sys/fs/cgroup/memory/memory.usage_in_bytes": GIB,
    }
    assert memory.available_memory(write(tmp_path, MEMINFO | files)) == 8 * GIB


def test_a_group_over_its_limit_has_nothing(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/",
        "sys/fs/cgroup/memory.max": GIB,
        "sys/fs/cgroup/memory.current": 2 * GIB,
    }
    assert memory.available_memory(write(tmp_path, MEMINFO | files)) == 0


def test_what_does_not_fit_is_refused_with_both_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 3 * GIB)
    memory.require_memory(3 * GIB, "a run")
    with pytest.raises(CapacityError, match=r"a run needs 4 GiB .* got 3 GiB available\. Use"):
        memory.require_memory(4 * GIB, "a run")


def test_small_runs_do_not_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 0)
    memory.require_memory(memory.UNCHECKED - 1, "a run")


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1.02e+03 B"),
        (1024, "1 KiB"),
        (1 << 44, "16 TiB"),
        (1 << 72, "4.1e+03 EiB"),
    ],
)
def test_sizes_for_people(count: int, text: str) -> None:
    assert memory.size_text(count) == text
