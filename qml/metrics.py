"""Metrics: numbers for people, without gradients."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from autodiff import ShapeError, Tensor


def accuracy(logits: ArrayLike | Tensor, targets: ArrayLike | Tensor) -> float:
    """Return the fraction of samples whose class is predicted right.

    Args:
        logits: ``(B, K)``: the class is that of the largest; or ``(B,)``: class 1 where positive.
        targets: class indices ``(B,)``.

    Raises:
        ShapeError: other shapes, or no samples.

    >>> accuracy([[2.0, 0.0], [0.0, 3.0]], [0, 0]), accuracy([-1.0, 2.0], [0, 1])
    (0.5, 1.0)
    """
    scores, classes = np.asarray(_host(logits)), np.asarray(_host(targets))
    if scores.ndim not in (1, 2) or classes.shape != scores.shape[:1] or classes.size == 0:
        raise ShapeError(
            "accuracy needs logits (B,) or (B, K) and targets (B,), got shapes "
            f"{scores.shape} and {classes.shape}. Reshape one of them."
        )
    predicted = scores.argmax(axis=1) if scores.ndim == 2 else scores > 0
    return float((predicted == classes).mean())


def _host(values: ArrayLike | Tensor) -> ArrayLike:
    return values.numpy() if isinstance(values, Tensor) else values
