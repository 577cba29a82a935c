"""Simulator: a state that gates act on at once, for stepping through an algorithm."""

from __future__ import annotations

from typing import Any

from numpy.typing import DTypeLike

import autodiff as ad
from autodiff import Tensor
from autodiff.dtypes import C128
from circuits import sampling, state
from circuits.circuit import Circuit
from circuits.engines.base import Engine
from circuits.errors import BindingError, QubitError
from circuits.instruction import checked_count
from circuits.run_methods import checked_dtype


class Simulator:
    """A state of n qubits, or a batch of them.

    Args:
        num_qubits: width.
        batch: number of samples; None for a single one.
        dtype: complex128 or complex64.
        engine: ``"numba"`` (the default) or ``"reference"``.

    Raises:
        CircuitError: its subclass for a bad width, batch size or dtype.

    Example:
        >>> simulator = Simulator(1, engine="reference")
        >>> simulator.apply(Circuit(1).x(0)).amplitudes().real.tolist()
        [0.0, 1.0]
    """

    def __init__(
        self,
        num_qubits: int,
        batch: int | None = None,
        dtype: DTypeLike = C128,
        engine: str | Engine | None = None,
    ) -> None:
        if batch is not None:
            batch = checked_count(batch, 1, "Simulator needs a batch size", BindingError)
        self.num_qubits = Circuit(num_qubits).num_qubits
        self.batch = batch
        self._dtype = checked_dtype(dtype)
        self._engine = engine
        self.reset()

    def reset(self) -> Simulator:
        """Return to |0...0> and return self."""
        start = state.zero_state(self.num_qubits, self._dtype)
        rows = (self.batch, start.shape[0])
        self._state = start if self.batch is None else ad.broadcast_to(start, rows)
        return self

    def run(self, circuit: Circuit, **options: Any) -> Tensor:  # Any: inputs, values
        """Return the state after a circuit; the simulator's own state stays.

        Args:
            circuit: of the same width.
            options: ``inputs`` and ``values`` as in the circuit's run methods.
        """
        if circuit.num_qubits != self.num_qubits:
            raise QubitError(
                f"Simulator needs circuits of {self.num_qubits} qubits, got {circuit.num_qubits}. "
                "Compose it into a wider circuit."
            )
        return circuit.statevector(
            initial_state=self._state, dtype=self._dtype, engine=self._engine, **options
        )

    def apply(self, circuit: Circuit, **options: Any) -> Simulator:  # Any: inputs, values
        """Apply a circuit to the state and return self; nothing of it is recorded.

        A batch of inputs or values makes a single state a batch.
        """
        with ad.no_grad():
            self._state = self.run(circuit, **options)
        if self._state.ndim == 2:
            self.batch = self._state.shape[0]
        return self

    def amplitudes(self) -> Tensor:
        """Return the state ``(2**n,)`` or ``(batch, 2**n)``."""
        return self._state

    def sample_counts(
        self, shots: int, seed: sampling.Seed = None
    ) -> dict[str, int] | list[dict[str, int]]:
        """Draw bit strings, qubit 0 rightmost, and count them; one dictionary a sample."""
        count = sampling.checked_shots(shots)
        probabilities = state.probabilities_of(self._state).numpy()
        drawn = sampling.draw(probabilities, count, seed)
        rows = [drawn] if drawn.ndim == 1 else list(drawn)
        counted = [sampling.count_bits(row, {}, self.num_qubits) for row in rows]
        return counted[0] if drawn.ndim == 1 else counted
