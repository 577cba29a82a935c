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


def test_another_place_than_the_host_is_asked_for_its_own() -> None:
    memory.require_memory(GIB, "a run", lambda: GIB)
    with pytest.raises(CapacityError, match="needs 1 GiB of memory, got 0 B available"):
        memory.require_memory(GIB, "a run", lambda: 0)


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


@pytest.mark.parametrize(
    ("batch", "samples_with_room", "blocks"),
    [(1, 1, 0), (1, 0, 1), (8, 8, 0), (9, 8, 2), (8, 3, 3), (8, 0, 8), (1000, 999, 2)],
)
def test_final_states_are_kept_up_to_a_quarter_of_what_is_free(
    batch: int, samples_with_room: int, blocks: int
) -> None:
    state = memory.UNCHECKED
    found = memory.recomputed_blocks(batch, state, lambda: 4 * samples_with_room * state)
    assert found == blocks


def test_small_states_are_kept_without_asking() -> None:
    assert memory.recomputed_blocks(63, memory.UNCHECKED // 64, pytest.fail) == 0
    assert memory.recomputed_blocks(64, memory.UNCHECKED // 64, lambda: 0) == 64


@pytest.mark.parametrize(("batch", "blocks"), [(1, 1), (7, 3), (8, 8), (100, 7)])
def test_blocks_cover_the_batch_evenly(batch: int, blocks: int) -> None:
    parts = memory.block_slices(batch, blocks)
    assert [k for part in parts for k in range(batch)[part]] == list(range(batch))
    sizes = [part.stop - part.start for part in parts]
    assert len(sizes) == blocks
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) == -(-batch // blocks)
