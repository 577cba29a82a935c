"""States as tensors: the start of a run, and what can be read off a state. All differentiable.

A state is (2**n,) or (B, 2**n), complex; qubit q is bit q of the index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

import autodiff as ad
from autodiff import DTypeError, ShapeError, Tensor
from autodiff.device import CPU
from autodiff.dispatch import apply, constant
from autodiff.dtypes import C64, C128, DType
from autodiff.node import Op, State
from circuits.engines.base import Engine
from circuits.errors import StateError
from circuits.instruction import checked_qubits, listed
from circuits.plan.memory import require_memory
from circuits.stacking import stacked

_KEPT = 1 << 14
"""States up to this size are made once and kept; larger ones are cheap beside their use."""

_ROUNDING = {C64: 1e-3, C128: 1e-6}
"""How far from 1 a norm may be."""


def _require_states(
    count: int, num_qubits: int, dtype: DType, measure: Callable[[], int] | None = None
) -> None:
    what = f"a run of {num_qubits} qubits, {dtype},"
    require_memory(count * dtype.itemsize << num_qubits, what, measure)


def _zero_state(num_qubits: int, dtype: DType) -> Tensor:
    # The start and a final state: less than that no run needs.
    _require_states(2, num_qubits, dtype)
    amplitudes = np.zeros(1 << num_qubits, dtype)
    amplitudes[0] = 1
    return constant(amplitudes)


_kept_zero_state = lru_cache(maxsize=64)(_zero_state)


def is_kept(num_qubits: int) -> bool:
    """Whether |0...0> is small enough to be one Tensor for all runs."""
    return 1 << num_qubits <= _KEPT


def zero_state(num_qubits: int, dtype: DType) -> Tensor:
    """Return |0...0>."""
    if is_kept(num_qubits):
        return _kept_zero_state(num_qubits, dtype)
    return _zero_state(num_qubits, dtype)


def zero_state_on(device: str, num_qubits: int, dtype: DType, engine: Engine) -> Tensor:
    """Return |0...0> for a run on a device; a large one is made there and not uploaded.

    Raises:
        CapacityError: a large one, where the engine has no room for it and a final state.
    """
    if is_kept(num_qubits):
        kept = _kept_zero_state(num_qubits, dtype)
        return kept if device == CPU else kept.to(device)
    if device == CPU:
        return _zero_state(num_qubits, dtype)
    _require_states(2, num_qubits, dtype, engine.available_memory)
    made: Tensor = apply(_ZERO_STATE, _PLACE.to(device), size=1 << num_qubits, dtype=dtype)
    return made


def moved_state(state: Tensor, device: str, engine: Engine) -> Tensor:
    """Return an initial state where the run is; a move is a recorded, counted op.

    Raises:
        CapacityError: it would have to move, and the engine has no room for it and a final state.
    """
    cell = state._cell
    if cell.device == device:
        return state
    rows = prod(cell.shape[:-1])
    _require_states(rows + 1, num_qubits_of(state), cell.dtype, engine.available_memory)
    return state.to(device)


_PLACE = Tensor(0.0)
"""What says by being there on which device; its storage keeps the copy of every device."""


def _zeros_and_one(xp: Any, place: Any, size: int, dtype: DType) -> Any:
    """Make the state; ``place`` says by being there on which device."""
    amplitudes = xp.zeros(size, dtype)
    amplitudes[0] = 1
    return amplitudes


_ZERO_STATE = Op("zero_state", _zeros_and_one, None, lambda place, size, dtype: (((size,), dtype),))


def initial_state(given: Any, num_qubits: int, dtype: DType) -> Tensor:  # Any: array or Tensor
    """Return the state that a run starts from, in the run's dtype.

    Raises:
        StateError: not of shape ``(2**n,)`` or ``(B, 2**n)``, not numeric, or an array with NaN,
            infinity or a row of zeros.
    """
    if given is None:
        return zero_state(num_qubits, dtype)
    try:
        given = stacked(given)
        state = given if isinstance(given, Tensor) else Tensor(given)
    except (DTypeError, ShapeError) as error:
        raise StateError(f"an initial state needs amplitudes. {error}") from error
    size = 1 << num_qubits
    if state.ndim not in (1, 2) or state.shape[-1] != size or 0 in state.shape:
        raise StateError(
            f"an initial state of {num_qubits} qubits needs shape ({size},) or (B, {size}), got "
            f"{state.shape}. Give one amplitude a basis state."
        )
    if state is not given:
        _refuse_no_state(state.numpy())
    return state if state.dtype == dtype else state.astype(dtype)


def _refuse_no_state(amplitudes: NDArray[Any]) -> None:
    finite = bool(np.isfinite(amplitudes).all())
    if not finite or not amplitudes.any(axis=-1).all():
        raise StateError(
            "an initial state needs finite amplitudes that are not all 0, got "
            f"{'a row of zeros' if finite else 'NaN or infinity'}. Check how it was computed."
        )


def check_normalised(state: Tensor, what: str) -> None:
    """Refuse a state whose norm is not 1; one that is traced has no value to check.

    Args:
        state: ``(2**n,)`` or ``(B, 2**n)``, complex.
        what: who needs it, with the verb.

    Raises:
        StateError: a norm that is off by more than 1e-6 (complex64: 1e-3).
    """
    if state._cell.state is State.ABSTRACT:
        return
    with ad.no_grad():
        squares = overlap(state, state).real.numpy()
    off = float(np.abs(np.sqrt(squares) - 1).max(initial=0.0))
    if not off <= _ROUNDING[state.dtype]:
        raise StateError(
            f"{what} a normalised initial state, got a norm that is off by {off:.3g}. "
            "Divide it by its norm: state / np.linalg.norm(state, axis=-1, keepdims=True)."
        )


def num_qubits_of(state: Tensor) -> int:
    """Return the width of a state, or refuse what is none.

    Raises:
        StateError: the last axis is no power of two, or the dtype is not complex.
    """
    if not isinstance(state, Tensor) or state.ndim not in (1, 2) or state.dtype not in (C64, C128):
        label = state._label() if isinstance(state, Tensor) else repr(state)
        raise StateError(
            f"a state needs a complex Tensor of shape (2**n,) or (B, 2**n), got {label}. "
            "Take it from circuit.statevector()."
        )
    size = state.shape[-1]
    if size & (size - 1) or size == 0:
        raise StateError(f"a state needs 2**n amplitudes, got {size}. Pad it with zeros.")
    return size.bit_length() - 1


def probabilities_of(state: Tensor, qubits: int | Sequence[int] | None = None) -> Tensor:
    """Return |amplitude|^2, summed over the qubits that are not listed.

    Args:
        state: ``(2**n,)`` or ``(B, 2**n)``.
        qubits: which qubits, the first one least significant; None for all.

    Returns:
        ``(2**k,)`` or ``(B, 2**k)`` real.
    """
    n = num_qubits_of(state)
    squares = state.real * state.real + state.imag * state.imag
    if qubits is None:
        return squares
    kept = checked_qubits("probabilities", listed(qubits), n)
    lead = state.shape[:-1]
    # Axis of qubit q among the n bit axes: the last axis is qubit 0.
    grid = squares.reshape((*lead, *[2] * n))
    offset = len(lead)
    summed = [offset + n - 1 - q for q in range(n) if q not in kept]
    reduced = grid.sum(axis=summed, keepdims=True) if summed else grid
    front = [*range(offset), *summed]
    order = [*front, *[offset + n - 1 - q for q in reversed(kept)]]
    return reduced.transpose(order).reshape((*lead, 1 << len(kept)))


def overlap(a: Tensor, b: Tensor) -> Tensor:
    """Return <a|b>, complex, sample by sample.

    Args:
        a: a state ``(2**n,)`` or ``(B, 2**n)``.
        b: another one of the same width.

    Example:
        >>> from circuits import Circuit
        >>> zero = Circuit(1).statevector(engine="reference")
        >>> overlap(zero, Circuit(1).y(0).s(0).statevector(engine="reference")).real.item()
        0.0
    """
    if num_qubits_of(a) != num_qubits_of(b):
        raise StateError(
            f"an overlap needs states of one width, got {a.shape} and {b.shape}. "
            "Take both from circuits of the same number of qubits."
        )
    return (a.conj() * b).sum(axis=-1)


def fidelity(a: Tensor, b: Tensor) -> Tensor:
    """Return |<a|b>|^2 of two pure states, sample by sample.

    Args:
        a: a state ``(2**n,)`` or ``(B, 2**n)``.
        b: another one of the same width.

    Example:
        >>> from circuits import Circuit
        >>> zero = Circuit(1).statevector(engine="reference")
        >>> fidelity(zero, Circuit(1).x(0).statevector(engine="reference")).item()
        0.0
    """
    inner = overlap(a, b)
    return inner.real * inner.real + inner.imag * inner.imag


def density_matrix_of(state: Tensor, qubits: int | Sequence[int] | None = None) -> Tensor:
    """Return the reduced density matrix of some qubits.

    Args:
        state: ``(2**n,)`` or ``(B, 2**n)``.
        qubits: which ones, the first one least significant; None for all.

    Returns:
        ``(2**k, 2**k)`` or ``(B, 2**k, 2**k)`` complex.
    """
    n = num_qubits_of(state)
    kept = checked_qubits("density_matrix", range(n) if qubits is None else listed(qubits), n)
    lead = state.shape[:-1]
    what = f"a density matrix of {len(kept)} qubits"
    require_memory(prod(lead) * state.dtype.itemsize << 2 * len(kept), what)
    offset = len(lead)
    rest = [q for q in reversed(range(n)) if q not in kept]
    order = [*range(offset), *[offset + n - 1 - q for q in (*reversed(kept), *rest)]]
    grid = state.reshape((*lead, *[2] * n)).transpose(order)
    block = grid.reshape((*lead, 1 << len(kept), 1 << len(rest)))
    swapped = (*range(offset), offset + 1, offset)
    return ad.matmul(block, block.conj().transpose(swapped))


def purity_of(state: Tensor, qubits: int | Sequence[int]) -> Tensor:
    """Return Tr rho^2 of the reduced state of some qubits; 1 for a product state."""
    rho = density_matrix_of(state, qubits)
    squares = rho.real * rho.real + rho.imag * rho.imag
    return squares.sum(axis=(-2, -1))


def entropy_of(state: Tensor, qubits: int | Sequence[int]) -> Tensor:
    """Return the von Neumann entropy -Tr rho log rho of some qubits, in nats.

    Eigenvalues at rounding level count as zero; there the derivative is taken as 0.
    """
    rho = density_matrix_of(state, qubits)
    levels, _ = ad.eigh(rho)
    positive = levels > float(np.finfo(levels.dtype).eps)
    safe = ad.where(positive, levels, 1.0)
    return -(safe * ad.log(safe)).sum(axis=-1)


def bloch_vector_of(state: Tensor, qubit: int) -> Tensor:
    """Return (<X>, <Y>, <Z>) of one qubit, ``(3,)`` or ``(B, 3)``."""
    rho = density_matrix_of(state, [qubit])
    # rho = (1 + r.sigma)/2: rho_10 = (x + i y)/2.
    x, y = 2 * rho[..., 1, 0].real, 2 * rho[..., 1, 0].imag
    z = (rho[..., 0, 0] - rho[..., 1, 1]).real
    return ad.stack([x, y, z], axis=-1)
