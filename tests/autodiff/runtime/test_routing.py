"""Routes: where values are taken in, and which way they go, for a given placement."""

from __future__ import annotations

import numpy as np
import pytest
from runtimes import SPLIT, Provider, at, chain

import autodiff as ad
from autodiff import F64, Program
from autodiff.runtime.errors import MissingTransferProvider
from autodiff.runtime.executor import Executor
from autodiff.runtime.listing import Listing, list_values
from autodiff.runtime.location import ExecutionLocation
from autodiff.runtime.registry import Registry
from autodiff.runtime.routing import Router

A, B, C = (Executor("emulated", name=name) for name in "abc")
HOST = Executor("cpu")
AT = {name: at(x, "device") for name, x in zip("abc", (A, B, C), strict=True)}
AT["h"] = at(HOST, "host")


def registry(*pairs: tuple[str, str]) -> Registry:
    made = Registry()
    for executor in (A, B, C, HOST):
        made = made.with_executor(executor)
    for pair in pairs:
        made = made.with_provider(Provider(*pair))
    return made


def listed(program: Program) -> Listing:
    return list_values(program, [(slot.shape, slot.dtype) for slot in program.slots])


def router(program: Program, entries: str, *pairs: tuple[str, str]) -> Router:
    listing = listed(program)
    where = {v: [AT[name] for name in entries] for v in listing.entering}
    return Router(listing, registry(*pairs), where)


def vector(names: str) -> list[ExecutionLocation]:
    return [AT[name] for name in names]


ANYWHERE = ("device", "device")


def test_source_copy_is_kept_and_used_again() -> None:
    route = router(SPLIT, "a", ANYWHERE).route(vector("aba"))
    moves = [(m.value, m.source, m.destination) for s in route.stretches for m in s.moves]
    assert moves == [(1, AT["a"], AT["b"]), (2, AT["b"], AT["a"])]


def test_equal_storage_class_does_not_suppress_a_move() -> None:
    assert AT["a"].storage_class == AT["b"].storage_class
    route = router(chain("sin", "cos"), "a", ANYWHERE).route(vector("ab"))
    assert [len(s.moves) for s in route.stretches] == [0, 1]


def test_consecutive_instructions_at_one_location_are_one_stretch() -> None:
    route = router(chain("sin", "cos", "exp", "tanh"), "a", ANYWHERE).route(vector("aabb"))
    assert [s.lines for s in route.stretches] == [[0, 1], [2, 3]]


def test_input_is_taken_in_where_its_uses_need_fewest_moves() -> None:
    program = Program.trace(lambda x: ad.sin(x) + ad.cos(x) * ad.exp(x) * ad.tanh(x), ((3,), F64))
    names = [i.op.name for i in program.instructions]
    places = {"sin": "b", "cos": "a", "exp": "b", "tanh": "c"}
    route = router(program, "abc", ANYWHERE).route(
        vector("".join(places.get(n, "b") for n in names))
    )
    assert route.homes == {0: AT["a"]}  # every home needs two moves: the first in order
    moved = [m.destination for s in route.stretches for m in s.moves if m.value == 0]
    assert sorted(map(str, moved)) == ["b (device)", "c (device)"]


def test_candidate_that_cannot_reach_a_later_use_is_skipped() -> None:
    program = Program.trace(lambda x: (ad.sin(x), ad.cos(x)), ((3,), F64))
    pairs = ("device", "host")
    # Both a and b take the input in and reach its first use, on the host; only b is at the second.
    assert router(program, "ab", pairs).route(vector("hb")).homes == {0: AT["b"]}
    with pytest.raises(MissingTransferProvider, match=r"direct transfer to c \(device\)"):
        router(program, "ab", pairs).route(vector("hc"))


def test_no_two_providers_in_a_row() -> None:
    pairs = (("device", "host"), ("host", "device"))
    with pytest.raises(MissingTransferProvider, match=r"copies at a .* no provider"):
        router(chain("sin", "cos"), "a", *pairs).route(vector("ab"))


def test_copy_made_by_an_earlier_move_may_be_the_source_of_the_next() -> None:
    program = Program.trace(lambda x: (ad.sin(x), ad.cos(x)), ((3,), F64))
    pairs = (("device", "host"), ("host", "device"))
    route = router(program, "a", *pairs).route(vector("hb"))
    moves = [(str(m.source), str(m.destination)) for s in route.stretches for m in s.moves]
    assert moves == [("a (device)", "cpu (host)"), ("cpu (host)", "b (device)")]


def test_constants_are_placed_apart_from_the_moves_of_a_run() -> None:
    program = Program.trace(lambda x: x * np.arange(3.0) + 1.0, ((3,), F64))
    listing = listed(program)
    entries = {v: [AT["a"] if v in listing.slots else AT["h"]] for v in listing.entering}
    route = Router(listing, registry(("host", "device")), entries).route(vector("aa"))
    assert [m.value for m in route.placed] == [1]
    assert [s.moves for s in route.stretches] == [[]]
