"""Parameters as one vector: read, joined, split and written."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import C64, F32, F64, Parameter, ShapeError, Tensor, reset_stats, stats
from autodiff.flat_parameters import FlatParameters, flat_groups

SETS = {
    "scalars": [(), (), ()],
    "others": [(2,), (1, 3)],
    "mixed": [(), (2, 2), (), (0,), (1,)],
}


def made(shapes: list[tuple[int, ...]], dtype: object) -> list[Parameter]:
    counts = np.cumsum([int(np.prod(s)) for s in shapes])
    pieces = np.split(np.arange(float(counts[-1])), counts[:-1])
    return [Parameter(x.reshape(s), dtype=dtype) for x, s in zip(pieces, shapes, strict=True)]


@pytest.mark.parametrize("dtype", [F32, F64, C64])
@pytest.mark.parametrize("name", SETS)
def test_what_is_split_and_written_is_what_was_joined(name: str, dtype: object) -> None:
    parameters = made(SETS[name], dtype)
    handed_out = [p.numpy() for p in parameters]
    before = [x.tolist() for x in handed_out]
    flat = FlatParameters(parameters)
    joined = flat.join(np, flat.read())
    assert joined.dtype == dtype
    assert joined.tolist() == list(range(sum(flat.sizes)))
    flat.write(flat.split(joined + np.ones((), dtype)))
    for p, old in zip(parameters, before, strict=True):
        assert (p.numpy() - 1).tolist() == old
        assert (p.shape, p.dtype, p._cell.version) == (np.shape(old), dtype, 1)
    assert [x.tolist() for x in handed_out] == before


def test_array_keeps_no_others_alive_unless_they_are_single_numbers() -> None:
    scalar, large = Parameter(1.0), Parameter(np.zeros(1000))
    flat = FlatParameters([scalar, large])
    flat.write(flat.split(np.arange(1001.0)))
    base = scalar.numpy().base
    assert base is not None
    assert base.nbytes == 8
    assert large.numpy().base is None


def test_scalar_that_is_a_view_writes_its_own_element() -> None:
    base = Tensor([1.0, 2.0, 3.0])
    flat = FlatParameters([Parameter(base[1]), Parameter(5.0)])
    flat.write(flat.split(np.array([20.0, 50.0])))
    assert base.tolist() == [1.0, 20.0, 3.0]
    assert flat.parameters[1].item() == 50.0


def test_view_that_repeats_elements_is_refused() -> None:
    repeated = Parameter(Tensor([1.0]).broadcast_to((3,)))
    with pytest.raises(ShapeError, match=r"a vector of Parameters needs elements with memory of"):
        FlatParameters([Parameter(1.0), repeated])


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_vector_of_the_host_is_cast_and_moved(device: str) -> None:
    parameters = [Parameter(Tensor(x, F32, device=device)) for x in (1.0, [2.0, 3.0], 4.0)]
    reset_stats()
    FlatParameters(parameters).assign(Tensor([1e300, 6.0, 7.0, 8.0]))
    if device != "cpu":
        assert stats(device).uploads == 2  # the vector, and where the scalars stand in it
    assert [p.tolist() for p in parameters] == [np.inf, [6.0, 7.0], 8.0]
    assert [p.device for p in parameters] == [device] * 3


def test_groups_are_those_of_one_dtype_and_device() -> None:
    parameters = [Parameter(1.0), Parameter(2.0, dtype=F32), Parameter([3.0])]
    found = [(flat.dtype, inside.tolist()) for flat, inside in flat_groups(parameters)]
    assert found == [(F64, [True, False, True]), (F32, [False, True, False])]
    assert flat_groups([]) == []
