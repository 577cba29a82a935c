"""Losses: functions of predictions and targets, which must have the same shape.

Nothing is broadcast: predictions ``(3, 1)`` and targets ``(3,)`` would silently become ``(3, 3)``.

``reduction`` is ``"mean"`` over all elements (for ``cross_entropy`` over samples), ``"sum"``, or
``"none"`` for one value an element. Targets may be arrays; these take the predictions' dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from types import MappingProxyType
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

import autodiff as ad
from autodiff import ShapeError, Tensor
from autodiff.device import CPU
from autodiff.dtypes import DIFFERENTIABLE, is_complex
from autodiff.ops.gather import flat_index, take_flat
from autodiff.storage import Storage
from autodiff.tensors import Operand
from circuits import fidelity
from qml.errors import SettingError

_REDUCTIONS: MappingProxyType[str, Callable[[Tensor], Tensor]] = MappingProxyType(
    {"mean": ad.mean, "sum": ad.sum, "none": lambda losses: losses}
)


def mse_loss(predictions: Operand, targets: Operand, reduction: str = "mean") -> Tensor:
    """Return the mean of |prediction - target|^2 (PyTorch's: without a factor 1/2).

    Args:
        predictions: any shape; real or complex.
        targets: of the same shape.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Real, of shape ``()``, or of the predictions' shape for ``"none"``.

    Raises:
        ShapeError: other shapes, or nothing to average.
        SettingError: an unknown reduction.

    >>> mse_loss([1.0, 2.0], [1.0, 4.0]).item()
    2.0
    """
    difference = _difference("mse_loss", predictions, targets)
    return _reduced("mse_loss", _square(difference), reduction)


def half_mse_loss(predictions: Operand, targets: Operand, reduction: str = "mean") -> Tensor:
    """Return the mean of |prediction - target|^2 / 2, whose gradient is the difference.

    Args:
        predictions: any shape; real or complex.
        targets: of the same shape.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Real, of shape ``()``, or of the predictions' shape for ``"none"``.

    Raises:
        ShapeError: other shapes, or nothing to average.
        SettingError: an unknown reduction.

    >>> half_mse_loss([1.0, 2.0], [1.0, 4.0]).item()
    1.0
    """
    difference = _difference("half_mse_loss", predictions, targets)
    return _reduced("half_mse_loss", 0.5 * _square(difference), reduction)


def l1_loss(predictions: Operand, targets: Operand, reduction: str = "mean") -> Tensor:
    """Return the mean of |prediction - target|; its gradient where they are equal is 0.

    Args:
        predictions: any shape; real or complex.
        targets: of the same shape.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Real, of shape ``()``, or of the predictions' shape for ``"none"``.

    Raises:
        ShapeError: other shapes, or nothing to average.
        SettingError: an unknown reduction.

    >>> l1_loss([1.0, 2.0], [1.0, 4.0]).item()
    1.0
    """
    return _reduced("l1_loss", ad.abs(_difference("l1_loss", predictions, targets)), reduction)


def binary_cross_entropy_with_logits(
    logits: Operand, targets: Operand, reduction: str = "mean"
) -> Tensor:
    """Return the mean of -t log s - (1 - t) log(1 - s) with s = sigmoid(logit).

    It is computed as t softplus(-z) + (1 - t) softplus(z), exact for logits z of any size.

    Args:
        logits: real, any shape.
        targets: of the same shape, in [0, 1].
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Real, of shape ``()``, or of the logits' shape for ``"none"``.

    Raises:
        ShapeError: other shapes, or nothing to average.
        SettingError: targets outside [0, 1], or an unknown reduction.

    >>> binary_cross_entropy_with_logits([0.0, 1000.0], [1, 1], "none").tolist()
    [0.6931471805599453, 0.0]
    """
    name = "binary_cross_entropy_with_logits"
    z, t = _pair(name, logits, targets)
    _check_probabilities(name, t)
    return _reduced(name, t * ad.softplus(-z) + (1.0 - t) * ad.softplus(z), reduction)


def cross_entropy(logits: Operand, targets: Operand, reduction: str = "mean") -> Tensor:
    """Return the mean over samples of -sum_k t_k log softmax(logits)_k.

    Args:
        logits: real ``(B, K)``, or ``(K,)`` for a single sample.
        targets: class indices, integers ``(B,)`` or ``()``; or one-hot rows and probabilities,
            floats of the logits' shape.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Real, of shape ``()``, or ``(B,)`` for ``"none"`` and a batch.

    Raises:
        ShapeError: other shapes, or no samples.
        SettingError: indices outside 0 ... K - 1, probabilities outside [0, 1], an unknown
            reduction.

    >>> round(cross_entropy([[2.0, 0.0], [0.0, 3.0]], [0, 1]).item(), 6)
    0.087758
    """
    z = as_differentiable(logits)
    if z.ndim not in (1, 2):
        raise ShapeError(
            f"cross_entropy needs logits of shape (K,) or (B, K), got shape {z.shape}. "
            "Classes stand on the last axis."
        )
    t = targets if isinstance(targets, Tensor) else np.asarray(targets)
    scores = ad.log_softmax(z, axis=-1)
    if t.dtype.kind in "iu":
        return _reduced("cross_entropy", -take_flat(scores, _class_positions(t, z)), reduction)
    _, weights = _pair("cross_entropy", z, t)
    _check_probabilities("cross_entropy", weights)
    return _reduced("cross_entropy", -(weights * scores).sum(axis=-1), reduction)


def state_fidelity_loss(states: Tensor, targets: Operand, reduction: str = "mean") -> Tensor:
    """Return the mean of 1 - |<target|state>|^2: 0 where states agree up to a phase.

    Args:
        states: complex ``(2**n,)`` or ``(B, 2**n)``, as ``circuit.statevector()`` gives them.
        targets: normalised states of the same shape.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        Real, of shape ``()``, or ``(B,)`` for ``"none"`` and a batch.

    Raises:
        ShapeError: other shapes. StateError: no states.
        SettingError: targets that are not normalised, or an unknown reduction.

    >>> from circuits import Circuit
    >>> state = Circuit(1).h(0).statevector(engine="reference")
    >>> round(state_fidelity_loss(state, [1.0, 0.0]).item(), 12)
    0.5

    Reference:
        Nielsen, Chuang (2010), "Quantum Computation and Quantum Information", section 9.2.2.
    """
    s, t = _pair("state_fidelity_loss", states, targets)
    if t.device == CPU:
        lengths = np.linalg.norm(t.numpy(), axis=-1)
        if not np.allclose(lengths, 1.0, rtol=0, atol=1e-5):
            raise SettingError(
                f"state_fidelity_loss needs normalised targets, got lengths from {lengths.min():g} "
                f"to {lengths.max():g}. Divide each by its length."
            )
    return _reduced("state_fidelity_loss", 1.0 - fidelity(t, s), reduction)


def unitary_synthesis_loss(unitary: Tensor, target: Operand) -> Tensor:
    """Return 1 - |Tr(V^dagger U)|^2 / 4^n: 0 where U is V up to a phase.

    ``circuit.unitary()`` evolves all basis states as one batch, so that a loss costs one evolution
    and its gradient one sweep back.

    Args:
        unitary: U, complex ``(2**n, 2**n)``.
        target: V, unitary, of the same shape.

    Returns:
        Real ``()``.

    Raises:
        ShapeError: other shapes.
        SettingError: a target that is not unitary.

    >>> from circuits import Circuit
    >>> unitary_synthesis_loss(Circuit(1).x(0).unitary(engine="reference"), np.eye(2)).item()
    1.0

    Reference:
        Khatri et al. (2019), arXiv:1807.00800, section 3.1.
    """
    u, v = _pair("unitary_synthesis_loss", unitary, target)
    size = u.shape[-1] if u.ndim == 2 else 0
    if size != u.shape[0] or size & (size - 1) or not size:
        raise ShapeError(
            f"unitary_synthesis_loss needs matrices of shape (2**n, 2**n), got {u.shape}. "
            "Use circuit.unitary()."
        )
    if v.device == CPU:
        matrix = v.numpy()
        if not np.allclose(matrix.conj().T @ matrix, np.eye(size), rtol=0, atol=1e-5):
            raise SettingError(
                f"unitary_synthesis_loss needs a unitary target, got {v._label()}. "
                "Its columns must be orthonormal."
            )
    trace = (v.conj() * u).sum()
    return 1.0 - (trace * trace.conj()).real / float(size * size)


# -- checks ----------------------------------------------------------------------------------------


def as_differentiable(value: Operand) -> Tensor:
    """Return data as a Tensor of a differentiable dtype: float64 for integers and booleans."""
    tensor = value if isinstance(value, Tensor) else Tensor(value)
    return tensor if tensor.dtype in DIFFERENTIABLE else tensor.astype(ad.float64)


def _pair(name: str, predictions: Operand, targets: ArrayLike | Operand) -> tuple[Tensor, Tensor]:
    """Return both as Tensors of one shape; targets given as data take the predictions' dtype."""
    x = as_differentiable(predictions)
    y = targets if isinstance(targets, Tensor) else Tensor(targets)
    is_data = not isinstance(targets, Tensor) or y.dtype not in DIFFERENTIABLE
    if is_data and is_complex(x.dtype) >= is_complex(y.dtype):
        y = y.astype(x.dtype)
    if x.shape != y.shape:
        raise ShapeError(
            f"{name} needs predictions and targets of one shape, got {x.shape} and {y.shape}. "
            "Reshape one of them; nothing is broadcast."
        )
    return x, y


def _difference(name: str, predictions: Operand, targets: Operand) -> Tensor:
    x, y = _pair(name, predictions, targets)
    return x - y


def _square(difference: Tensor) -> Tensor:
    if is_complex(difference.dtype):
        return (difference * difference.conj()).real
    return difference * difference


def _check_probabilities(name: str, targets: Tensor) -> None:
    """Refuse labels such as -1 and 1, where the values are at hand."""
    if targets.device == CPU:
        values = targets.numpy()
        if values.dtype.kind == "c" or not ((values >= 0) & (values <= 1)).all():
            raise SettingError(
                f"{name} needs targets in [0, 1], got {targets._label()} with other values. "
                "Labels -1 and 1 become (labels + 1) / 2."
            )


#: Where the targets' scores stand, by the storage of the targets: a step need not work it out, nor
#: upload it, again. By the rest of what it depends on, with the version of the targets.
_positions: WeakKeyDictionary[Storage, dict[Hashable, tuple[int, Tensor]]] = WeakKeyDictionary()


def _class_positions(t: Tensor | NDArray[np.integer], z: Tensor) -> Tensor:
    """Return where the targets' scores stand in flat order, on the logits' device."""
    if not isinstance(t, Tensor):
        return _checked_positions(t, z)
    cell = t._cell
    known = _positions.setdefault(cell.require_storage(), {})
    key = (cell.shape, cell.strides, cell.offset, z.shape, z.device)
    if key not in known or known[key][0] != cell.version:
        known[key] = (cell.version, _checked_positions(t.numpy(), z))
    return known[key][1]


def _checked_positions(index: NDArray[np.integer], z: Tensor) -> Tensor:
    classes = z.shape[-1]
    if index.shape != z.shape[:-1]:
        raise ShapeError(
            f"cross_entropy needs class indices of shape {z.shape[:-1]} for logits of shape "
            f"{z.shape}, got shape {index.shape}. Reshape them; one-hot rows are floats."
        )
    if index.size and not (index.min() >= 0 and index.max() < classes):
        raise SettingError(
            f"cross_entropy needs class indices from 0 to {classes - 1}, got {index.min()} to "
            f"{index.max()}. Classes count from 0, one logit each."
        )
    return flat_index((*np.indices(index.shape, sparse=True), index), z.shape, z.device)


def _reduced(name: str, losses: Tensor, reduction: str) -> Tensor:
    if reduction not in _REDUCTIONS:
        raise SettingError(
            f"{name}: reduction needs one of {', '.join(_REDUCTIONS)}, got {reduction!r}. "
            "Choose one of them."
        )
    if reduction == "mean" and losses.numel() == 0:
        raise ShapeError(
            f"{name} needs at least one element to average, got shape {losses.shape}. "
            "Leave empty batches out, or sum."
        )
    return _REDUCTIONS[reduction](losses)
