"""How a tensor lies in memory; on a device as on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autodiff import Tensor, TraceError, local_graph_mode
from autodiff.program import placeholder

VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "whole": lambda x: x,
    "transposed": lambda x: x.T,
    "sliced": lambda x: x[1:, ::2],
    "reshaped": lambda x: x.reshape((2, 6)),
    "copied": lambda x: x.T.reshape((12,)),
    "empty": lambda x: x[:, 3:],
}


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("view", VIEWS)
def test_layout_on_a_device_is_that_of_the_cpu(view: str, graph: bool) -> None:
    found = []
    for device in ("cpu", "emulated"):
        x = Tensor(np.arange(12.0).reshape(4, 3), device=device)
        with local_graph_mode(graph):
            y = VIEWS[view](x * 1 if graph else x)
            found.append((y.strides, y.offset, y.is_contiguous(), y.numel(), y.layout, y.tolist()))
    assert found[0] == found[1]


def test_residency_lists_the_copies() -> None:
    x = Tensor([1.0], device="emulated")
    assert x.residency == ("emulated",)
    x.numpy()
    assert x.residency == ("emulated", "cpu")
    x.set_([2.0])
    assert x.residency == ("emulated",)


def test_placeholder_lies_nowhere() -> None:
    with pytest.raises(TraceError, match="placeholder"):
        _ = placeholder((2,)).residency


def test_sizes_count_elements() -> None:
    x = Tensor(np.zeros((2, 0)))
    assert (x.numel(), x.size, Tensor(1.0).numel()) == (0, 0, 1)
