"""The records: Op, Node, Cell, History."""

from __future__ import annotations

import gc
import inspect
import weakref

import pytest

from autodiff import F64, Tensor, TraceError
from autodiff.node import Autograd, Cell, Kind, Op
from autodiff.program import placeholder
from autodiff.storage import Storage


def test_op_shows_its_name() -> None:
    assert repr(Op("sin", abs)) == "Op('sin')"


@pytest.mark.parametrize("flag", [p for p in inspect.signature(Op).parameters if p != "self"])
def test_op_keeps_every_field(flag: str) -> None:
    given = {"name": "n", "forward": abs, flag: "given"}
    assert getattr(Op(**given), flag) == "given"
    assert set(Op.__slots__) == set(inspect.signature(Op).parameters)


def test_node_says_what_was_asked_for_and_where() -> None:
    x = Tensor(2.0, requires_grad=True)
    x.set_(3.0)
    y = x * x
    line = inspect.currentframe().f_lineno - 1
    node = y._meta.history.node
    assert (node.op.name, node.inputs, node.versions) == ("multiply", (x, x), (1, 1))
    assert node.line == f"{__file__}:{line}"


def test_node_of_a_method_names_the_line_of_the_caller() -> None:
    y = Tensor([1.0], requires_grad=True).sum()
    assert y._meta.history.node.line.startswith(__file__)


def test_cell_of_a_placeholder_has_no_value() -> None:
    cell = placeholder((2,), F64)._cell
    assert cell.version == 0
    for ask in (cell.read, cell.require_storage):
        with pytest.raises(TraceError, match=r"placeholder of shape \(2,\)"):
            ask()


def test_cell_reads_its_part_of_the_storage() -> None:
    storage = Storage(Tensor([1.0, 2.0, 3.0]).numpy(), "cpu")
    cell = Cell((2,), F64, "cpu", storage, strides=(2,), offset=0)
    assert cell.read().tolist() == [1.0, 3.0]
    assert cell.version == 0


def test_metadata_of_a_new_tensor() -> None:
    meta = Autograd()
    assert (meta.requires_grad, meta.grad, meta.history, meta.retains_grad) == (
        False,
        None,
        None,
        False,
    )
    assert (meta.kind, meta.name, meta.trainable, meta.uuid) == (Kind.TENSOR, None, True, None)


def test_history_is_no_reference_cycle() -> None:
    gc.disable()
    try:
        x = Tensor(2.0, requires_grad=True)
        y = x.exp() * x
        gone = [weakref.ref(y), weakref.ref(x)]
        del x, y
        assert [ref() for ref in gone] == [None, None]
    finally:
        gc.enable()


def test_second_order_graph_is_no_reference_cycle() -> None:
    gc.disable()
    try:
        x = Tensor(2.0, requires_grad=True)
        x.exp().backward(create_graph=True)
        first = x.grad
        x.zero_grad()
        gone = [weakref.ref(first), weakref.ref(x)]
        del x, first
        assert [ref() for ref in gone] == [None, None]
    finally:
        gc.enable()
