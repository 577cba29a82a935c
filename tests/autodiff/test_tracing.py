"""trace_reads: sites, counts and bytes."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from autodiff import Tensor, trace_reads
from autodiff.tracing import Access

NAME = Path(__file__).name


def work(x: Tensor) -> None:
    x.numpy()
    x.set_([5.0, 6.0])
    with x.storage_mut() as a:
        a[0] = 1.0
    x[1:].set_([7.0])
    (x * x).tolist()


def test_accesses_are_counted_by_site_and_kind() -> None:
    x = Tensor([1.0, 2.0], device="emulated")
    with trace_reads() as trace:
        work(x)
    site = f"{NAME}:work"
    assert trace.accesses("write") == [Access(site, "write", 3, 48)]
    assert trace.accesses("update") == [Access(site, "update", 2, 32)]
    assert {a.site for a in trace.accesses()} == {site}
    # Down, up (set_), down (storage_mut), up (set_ of the view: value and base), down (the result).
    assert (trace.count("transfer"), trace.nbytes("transfer")) == (6, 88)


def test_nothing_is_traced_outside_the_block() -> None:
    x = Tensor([1.0, 2.0])
    with trace_reads() as trace:
        x.numpy()
    x.numpy()
    assert trace.count("read") == 1


def test_traces_nest_and_hear_other_threads() -> None:
    x = Tensor([1.0, 2.0])
    with trace_reads() as outer:
        with trace_reads() as inner:
            thread = threading.Thread(target=x.numpy)
            thread.start()
            thread.join()
        x.numpy()
    assert (outer.count("read"), inner.count("read")) == (2, 1)


def test_trace_prints_a_table() -> None:
    x = Tensor([1.0, 2.0])
    with trace_reads() as trace:
        x.numpy()
    header, line = str(trace).splitlines()
    assert header.split() == ["site", "kind", "count", "bytes"]
    assert line.split() == [f"{NAME}:test_trace_prints_a_table", "read", "1", "16"]


SCRIPT = """
from autodiff import Tensor

def train():
    (Tensor([1.0, 2.0], device="emulated") * 2).numpy()

train()
"""


def test_environment_variable_traces_a_process(tmp_path: Path) -> None:
    script, table = tmp_path / "script.py", tmp_path / "sites.txt"
    script.write_text(SCRIPT)
    env = {"AUTODIFF_TRACE_READS": str(table), "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run([sys.executable, str(script)], env=env, check=True)
    rows = [line.split() for line in table.read_text().splitlines()[1:]]
    assert rows == [
        ["script.py:train", "read", "3", "40"],  # x, 2 and the result
        ["script.py:train", "transfer", "2", "32"],
    ]
