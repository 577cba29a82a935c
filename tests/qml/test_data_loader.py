from __future__ import annotations

import numpy as np
import pytest

import qml

X, Y = np.arange(14.0).reshape(7, 2), np.arange(7)


def epoch(loader: qml.DataLoader) -> list[int]:
    return [int(y) for _, ys in loader for y in ys]


@pytest.mark.parametrize(
    ("drop_last", "sizes"), [(False, [3, 3, 1]), (True, [3, 3])], ids=["keep", "drop"]
)
def test_batches_in_order(drop_last: bool, sizes: list[int]) -> None:
    loader = qml.DataLoader(X, Y, batch_size=3, drop_last=drop_last)
    batches = list(loader)
    assert [len(y) for _, y in batches] == sizes
    assert len(loader) == len(sizes)
    assert epoch(loader) == list(range(sum(sizes)))
    for x, y in batches:
        np.testing.assert_array_equal(x, X[y])
    assert repr(loader) == f"DataLoader(7 samples, {len(sizes)} batches of 3)"


def test_shuffled_epochs_differ_and_repeat_by_seed() -> None:
    first, second = (qml.DataLoader(X, Y, batch_size=2, shuffle=True, seed=3) for _ in range(2))
    orders = [epoch(first) for _ in range(3)]
    assert [epoch(second) for _ in range(3)] == orders
    assert orders[0] != orders[1] != orders[2]
    assert sorted(orders[0]) == list(range(7))
    for x, y in first:
        np.testing.assert_array_equal(x, X[y])


def test_generator_is_used_as_it_is() -> None:
    loader = qml.DataLoader(X, Y, shuffle=True, seed=np.random.default_rng(3))
    assert epoch(loader) == np.random.default_rng(3).permutation(7).tolist()


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("taken", range(9))
def test_position_comes_back(taken: int, shuffle: bool) -> None:
    """Two epochs of four batches, left after some batches and resumed elsewhere."""
    loader, other = (qml.DataLoader(Y, batch_size=2, shuffle=shuffle, seed=seed) for seed in (3, 4))
    list(other)
    batches = (batch.tolist() for _ in range(3) for (batch,) in loader)
    for _ in range(taken):
        next(batches)
    state = loader.state_dict()
    rest = list(batches)
    other.load_state_dict(state)
    epochs = 3 - taken // 4
    assert [batch.tolist() for _ in range(epochs) for (batch,) in other] == rest
    assert other._generator.bit_generator.state == loader._generator.bit_generator.state


def test_loop_that_was_left_is_forgotten() -> None:
    loader = qml.DataLoader(Y, batch_size=2)
    next(iter(loader))
    assert epoch_of(loader) == list(range(7))


def epoch_of(loader: qml.DataLoader) -> list[int]:
    return [int(y) for (ys,) in loader for y in ys]


STATE = qml.DataLoader(Y, batch_size=2).state_dict()
BAD_STATES = [
    {**STATE, "batch_size": 3},
    {**STATE, "num_samples": 8},
    {**STATE, "position": 4},
    {key: value for key, value in STATE.items() if key != "generator"},
    {},
]


@pytest.mark.parametrize("state", BAD_STATES)
def test_bad_state_is_refused(state: dict) -> None:
    with pytest.raises(qml.StateDictError, match="DataLoader needs the state of a loader with"):
        qml.DataLoader(Y, batch_size=2).load_state_dict(state)


BAD = [
    ((), {}, qml.ShapeError, "needs arrays of one length"),
    ((X, Y[:3]), {}, qml.ShapeError, r"got shapes \[\(7, 2\), \(3,\)\]"),
    ((1.0,), {}, qml.ShapeError, r"got shapes \[\(\)\]"),
    ((X[:0],), {}, qml.ShapeError, "at least one batch, got 0 samples"),
    ((X,), {"batch_size": 8, "drop_last": True}, qml.ShapeError, "7 samples for batches of 8"),
    ((X,), {"batch_size": 0}, qml.SettingError, "batch_size needs an integer of at least 1"),
    ((X,), {"shuffle": True}, qml.SettingError, "shuffle needs a seed, got None"),
    ((X,), {"shuffle": 1}, qml.SettingError, "shuffle needs True or False"),
]


@pytest.mark.parametrize(("arrays", "options", "error", "match"), BAD)
def test_bad_loader_is_refused(
    arrays: tuple, options: dict, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        qml.DataLoader(*arrays, **options)
