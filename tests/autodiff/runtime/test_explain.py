"""The table that tells what a run will do."""

from __future__ import annotations

import numpy as np
from runtimes import COS_ON_1, SPLIT, VALUES, chain, emulated

from autodiff import F64, Program, Tensor
from autodiff.runtime.runtime import Runtime

BOTH = Runtime(["emulated", "emulated:1", "cpu"])

#: The table without its rules, one blank between two cells.
TABLE = """\
location instructions launches
emulated (device) 2 2
emulated:1 (device) 1 1

step what where detail bytes live copies live bytes
0 launch emulated (device) 0: sin 1 24
1 transfer emulated (device) -> emulated:1 (device) value 1 (3,) float64, for instruction 1 24 2 48
2 launch emulated:1 (device) 1: cos 3 72
3 transfer emulated:1 (device) -> emulated (device) value 2 (3,) float64, for instruction 2 24 4 96
4 launch emulated (device) 2: add 1 24

2 transfers of 48 bytes in every run"""


def test_table_can_be_read() -> None:
    shown = str(BOTH.explain(SPLIT, [Tensor(VALUES, device="emulated")], COS_ON_1))
    lines = [line for line in shown.splitlines() if not line.startswith("----")]
    assert [" ".join(line.split()) for line in lines] == TABLE.splitlines()


def test_columns_are_aligned() -> None:
    shown = str(BOTH.explain(SPLIT, [Tensor(VALUES, device="emulated")], COS_ON_1))
    table = shown.split("\n\n")[1].splitlines()
    rule = table[1]
    starts = [k for k in range(1, len(rule)) if rule[k] == "-" and rule[k - 1] == " "]
    assert len(starts) == 6
    for line in (table[0], *table[2:]):
        assert {line.ljust(len(rule))[k - 1] for k in starts} == {" "}
    assert {len(line) for line in table} == {len(rule)}


def test_explaining_runs_and_moves_nothing() -> None:
    given = [Tensor(VALUES, device="emulated")]
    before = vars(emulated().stats).copy()
    explained = BOTH.explain(SPLIT, given, COS_ON_1)
    assert vars(emulated().stats) == before
    assert emulated("emulated:1").stats.uploads == 0
    assert explained.transfer_bytes == 48
    assert explained.launches == {"emulated (device)": 2, "emulated:1 (device)": 1}


def test_what_is_explained_is_what_runs() -> None:
    given = [Tensor(VALUES, device="emulated")]
    explained = BOTH.explain(SPLIT, given, COS_ON_1)
    BOTH.run(SPLIT, given, COS_ON_1)
    for device in ("emulated", "emulated:1"):
        assert emulated(device).stats.launches == explained.launches[f"{device} (device)"]
    there, back = explained.transfers
    assert emulated("emulated:1").stats.upload_bytes == there.nbytes
    assert emulated("emulated:1").stats.download_bytes == back.nbytes


def test_program_alone_is_explained_by_its_slots() -> None:
    explained = Runtime(["emulated", "cpu"]).explain(SPLIT)
    assert [str(t.source) for t in explained.transfers] == ["cpu (host)"]
    assert explained.launches == {"emulated (device)": 1}


def test_long_launches_are_cut_short_and_constants_counted() -> None:
    names = ["sin", "cos", "exp", "tanh", "sin", "cos"]
    shown = str(Runtime().explain(chain(*names)))
    assert "0 to 5: sin, cos, exp, tanh and 2 more" in shown
    program = Program.trace(lambda x: x * np.ones(3) + 1.0, ((3,), F64))
    assert "1 constants of 24 bytes moved once" in str(
        Runtime(["emulated", "cpu"]).explain(program)
    )


def test_program_without_instructions_has_an_empty_table() -> None:
    explained = Runtime().explain(Program.trace(lambda x: x, ((3,), F64)))
    assert explained.steps == ()
    assert "0 transfers of 0 bytes" in str(explained)
