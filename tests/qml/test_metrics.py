from __future__ import annotations

import numpy as np
import pytest

import qml


@pytest.mark.parametrize("wrap", [np.asarray, qml.Tensor, list])
def test_accuracy_counts_right_classes(wrap: object) -> None:
    logits = wrap([[0.1, 0.9, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert qml.accuracy(logits, wrap([1, 0, 2, 2])) == 0.75
    assert qml.accuracy(wrap([0.5, -0.5, -1.0]), wrap([1, 0, 1])) == pytest.approx(2 / 3)


BAD = [((3, 1), (3, 1)), ((3,), (2,)), ((2, 3), (3,)), ((), ()), ((0,), (0,)), ((2, 2, 2), (2,))]


@pytest.mark.parametrize(("logits", "targets"), BAD)
def test_other_shapes_are_refused(logits: tuple, targets: tuple) -> None:
    with pytest.raises(qml.ShapeError, match="accuracy needs logits"):
        qml.accuracy(np.zeros(logits), np.zeros(targets))
