"""Batches of arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autodiff import ShapeError
from circuits.sampling import Seed, generator_of
from qml.errors import SettingError, StateDictError
from qml.settings import flag, whole
from qml.state_forms import check_mapping, checked_generator, is_same


class DataLoader:
    """Goes through arrays in batches; each pass over it is an epoch.

    Args:
        arrays: with the samples on the first axis, all of one length.
        batch_size: samples a batch.
        shuffle: draw another order for every epoch; needs a seed.
        seed: integer or ``numpy.random.Generator``.
        drop_last: leave out a last batch that is not full.

    Raises:
        ShapeError: no arrays, arrays without samples or of different lengths.
        SettingError: a batch size below 1, or shuffle without a seed.

    Example:
        >>> x, y = np.zeros((5, 2)), np.arange(5)
        >>> [(a.shape, b.tolist()) for a, b in DataLoader(x, y, batch_size=3)]
        [((3, 2), [0, 1, 2]), ((2, 2), [3, 4])]
    """

    def __init__(
        self,
        *arrays: ArrayLike,
        batch_size: int = 1,
        shuffle: bool = False,
        seed: Seed = None,
        drop_last: bool = False,
    ) -> None:
        self.arrays = tuple([np.asarray(array) for array in arrays])
        shapes = [array.shape for array in self.arrays]
        if not shapes or any(not shape or shape[0] != shapes[0][0] for shape in shapes):
            raise ShapeError(
                "DataLoader needs arrays of one length, with samples on the first axis, got shapes "
                f"{shapes}. Pass them one by one: DataLoader(x, y)."
            )
        self.batch_size = whole(1)("DataLoader: batch_size", batch_size)
        self.shuffle = flag("DataLoader: shuffle", shuffle)
        self.drop_last = flag("DataLoader: drop_last", drop_last)
        if shuffle and seed is None:
            raise SettingError("DataLoader: shuffle needs a seed, got None. Give seed=0.")
        self.num_samples = shapes[0][0]
        if len(self) == 0:
            raise ShapeError(
                f"DataLoader needs at least one batch, got {self.num_samples} samples for batches "
                f"of {batch_size}, drop_last={drop_last}. Make batches smaller."
            )
        self._generator = generator_of(seed)
        self._position = 0  # batches that the present epoch has given
        self._start = self._generator.bit_generator.state  # before its order was drawn
        self._resumed = False

    def __len__(self) -> int:
        full, rest = divmod(self.num_samples, self.batch_size)
        return full + (rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[tuple[NDArray[Any], ...]]:  # Any: every dtype
        order = self._order()
        for k in range(self._position, len(self)):
            rows = order[k * self.batch_size : (k + 1) * self.batch_size]
            self._position = (k + 1) % len(self)
            yield tuple([array[rows] for array in self.arrays])

    def _order(self) -> NDArray[np.int64]:
        """Draw the epoch's order; one that is resumed gets its order again."""
        bits = self._generator.bit_generator
        now = bits.state
        if self._resumed:
            bits.state = self._start
        else:
            self._position, self._start = 0, now
        order = np.arange(self.num_samples)
        if self.shuffle:
            order = self._generator.permutation(self.num_samples)
        if self._resumed:
            bits.state = now  # the order had been drawn before
        self._resumed = False
        return order

    # -- saved state -----------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:  # Any: a generator's state
        """Return the position in the data: plain values.

        In the midst of an epoch it is that of the loop that was started last.
        """
        now = self._generator.bit_generator.state
        return {
            "num_samples": self.num_samples,
            "batch_size": self.batch_size,
            "shuffle": self.shuffle,
            "drop_last": self.drop_last,
            "position": self._position,
            "start": self._start if self._position else now,
            "generator": now,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Let the next loop give the batches that followed.

        Raises:
            StateDictError: the state of a loader with other settings, or of another size.
        """
        own = self.state_dict()
        check_mapping("DataLoader: the state", state)
        places = ("position", "start", "generator")
        wanted = {key: value for key, value in own.items() if key not in places}
        found = {key: value for key, value in state.items() if key not in places}
        position = state.get("position")
        known = isinstance(position, int) and 0 <= position < len(self)
        if not is_same(found, wanted) or not known or not {"start", "generator"} <= state.keys():
            raise StateDictError(
                f"DataLoader needs the state of a loader with {wanted}, a position below "
                f"{len(self)} and {list(places)}, got {found!r:.200} and {position!r:.40}. Make "
                "the loader that was saved."
            )
        for key in ("start", "generator"):
            checked_generator(f"DataLoader: the state[{key!r}]", state[key], self._generator)
        self._generator.bit_generator.state = state["generator"]
        self._position, self._start = int(state["position"]), state["start"]
        self._resumed = state["position"] > 0

    def __repr__(self) -> str:
        return f"DataLoader({self.num_samples} samples, {len(self)} batches of {self.batch_size})"
