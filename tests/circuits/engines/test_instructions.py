"""The CUDA source and Python name the same columns in the same order."""

from __future__ import annotations

import re
from enum import IntEnum

import pytest

from circuits.engines import instructions
from circuits.engines.cuda_calls import BY_TERM, DOT, REVERSE, WHOLE
from circuits.engines.cuda_table import Head, Weight
from circuits.engines.cuda_waves import MadeField
from circuits.engines.statevector_kernels import KERNELS

TEXT = KERNELS.source.text()
#: Directions are an axis of the maps, which has no names in Python.
ENUMS = re.findall(r"^enum (?!Direction)(\w+) \{(.*?)\};", TEXT, re.MULTILINE | re.DOTALL)
#: Those that only the kernels have.
OWN = {"LANE_TURN", "COLUMNS", "GROUP_COLUMNS", "WORD_COLUMNS", "PROJECTOR_COLUMNS", "PASS_COLUMNS"}
FLAGS = {"WHOLE": WHOLE, "BY_TERM": BY_TERM, "DOT": DOT, "REVERSE": REVERSE}


def members(text: str) -> dict[str, int]:
    """Names and values of an enumeration in C++."""
    found: dict[str, int] = {}
    for entry in re.sub(r"//.*", "", text).split(","):
        if entry.strip():
            name, _, value = (part.strip() for part in entry.partition("="))
            found[name] = int(value) if value else max(found.values(), default=-1) + 1
    return found


def expected(enum: str) -> dict[str, int]:
    """The same in Python."""
    tables: dict[str, type[IntEnum]] = {"Head": Head, "Made": MadeField, "Weight": Weight}
    if enum in tables:
        return {member.name: member.value for member in tables[enum]}
    return FLAGS if enum == "Flag" else vars(instructions)


@pytest.mark.parametrize(("enum", "text"), ENUMS, ids=[name for name, _ in ENUMS])
def test_enumerations_agree(enum: str, text: str) -> None:
    names = members(text)
    values = expected(enum)
    if enum == "Head":
        assert names.pop("HEAD") == len(Head)
        assert names == values
    known = {name: value for name, value in names.items() if name in values or name not in OWN}
    assert known == {name: values[name] for name in known}
    assert len(known) >= 3
