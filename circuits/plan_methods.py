"""Circuit.plan and Circuit.validate: what a run will be, before it happens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import DTypeLike

from autodiff.device import CPU, canonical_device
from circuits import binding
from circuits.compiled_observables import compile_observables, observable_list
from circuits.engines.base import Engine
from circuits.engines.registry import engine_for
from circuits.errors import BindingError
from circuits.instruction import checked_count
from circuits.observable_base import Observable
from circuits.plan.forecast import Forecast
from circuits.plan.light_cone import observed
from circuits.plan.memory import recomputed_blocks, require_memory
from circuits.run_methods import checked_dtype

if TYPE_CHECKING:
    from circuits.circuit import Circuit


class PlanMethods:
    """How a circuit will run."""

    num_qubits: int

    def validate(self) -> Circuit:
        """Check what may have changed since the gates were appended, and return the circuit.

        Qubits, angles and fixed matrices are checked when a gate is appended and cannot change;
        matrix Tensors can, and each run checks them too.

        Raises:
            GateError: a matrix Tensor that is not unitary now.

        >>> from circuits import Circuit
        >>> Circuit(1).h(0).validate().size()
        1
        """
        circuit = cast("Circuit", self)
        for matrix in circuit.compiled().matrices:
            matrix.value()
        return circuit

    def plan(
        self,
        observable: Observable | Sequence[Observable] | None = None,
        *,
        inputs: Mapping[str, Any] | None = None,  # Any: arrays or Tensors, as in a run
        batch: int | None = None,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        engine: str | Engine | None = None,
        bandwidth: float | None = None,
    ) -> Forecast:
        """Say how a run with its gradient would go; nothing of the state's size is allocated.

        Args:
            observable: what would be measured; None: the state.
            inputs: as for a run; the samples are counted.
            batch: number of samples, in place of inputs.
            dtype: complex64 or complex128; as for a run.
            device: where it would run; None is the CPU.
            engine: as for a run.
            bandwidth: bytes that the device moves in a second, for the time that states take; with
                an engine that counts them.

        Returns:
            Fused blocks, layout, stages, threads, and the peak memory in bytes; prints as a table.

        Raises:
            CapacityError: the run needs more memory than there is; both numbers are named.
            BindingError: inputs that do not fit, or both inputs and a batch.

        >>> from circuits import Circuit, Z
        >>> forecast = Circuit(3).h(0).cx(0, 1).cx(1, 2).plan(Z(2), engine="reference")
        >>> forecast.layout, len(forecast.stages)
        ('arrays', 3)
        """
        circuit = cast("Circuit", self)
        given = _samples(circuit, inputs, batch)
        samples = given or 1
        chosen = engine_for(engine, CPU if device is None else canonical_device(device))
        compiled = circuit.compiled()
        precision = np.dtype(checked_dtype(dtype) if dtype is not None else compiled.dtype)
        start = precision.itemsize << self.num_qubits
        what = f"a run of {self.num_qubits} qubits, {precision}, batch {samples},"
        plan, terms, blocks = compiled.plan, None, 0
        if observable is not None:
            blocks = recomputed_blocks(samples, start, chosen.available_memory)
            terms = compile_observables(observable_list(observable), self.num_qubits).terms
            plan = observed(plan, terms)
        at_once = -(-samples // max(1, blocks))
        require_memory(start * (1 + at_once), what, chosen.available_memory)
        outline = chosen.outline(plan, at_once, precision, terms).at(bandwidth)
        forward, peak = start + outline.forward_bytes, start + outline.reverse_bytes
        if blocks:
            # Beside a block: the angles and, going back, their gradients, of all other samples.
            others = outline.angle_bytes // at_once * (samples - at_once)
            forward, peak = forward + others, peak + 2 * others
        peak = max(forward, peak)
        require_memory(peak, f"{what} with its gradient", chosen.available_memory)
        available = chosen.available_memory()
        return Forecast(
            num_qubits=self.num_qubits,
            batch=samples,
            dtype=str(precision),
            engine=chosen.name,
            why="the default" if engine is None else "as asked",
            outline=outline,
            forward_bytes=forward,
            peak_bytes=peak,
            available_bytes=available,
            sample_blocks=blocks,
        )


def _samples(
    circuit: Circuit,
    inputs: Mapping[str, Any] | None,  # Any: as above
    batch: int | None,
) -> int | None:
    """Return the batch size of a run; None: without a batch axis."""
    if inputs is None and batch is None:
        return None
    if inputs is None:
        return checked_count(batch, 1, "plan needs a batch", BindingError)
    if batch is not None:
        raise BindingError(f"plan needs inputs or a batch, got both, batch={batch}. Leave one out.")
    return binding.bind(circuit, inputs, None).batch
