"""Circuit.plan and Circuit.validate: what a run will be, before it happens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import DTypeLike

from circuits import binding
from circuits.compiled_observables import compile_observables
from circuits.engines.base import Engine
from circuits.engines.registry import get_engine
from circuits.errors import BindingError
from circuits.instruction import checked_count
from circuits.observable_base import Observable
from circuits.plan.forecast import Forecast
from circuits.plan.light_cone import observed
from circuits.plan.memory import available_memory, require_memory
from circuits.run_methods import DEFAULT_ENGINE, checked_dtype, observable_list

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
        engine: str | Engine | None = None,
    ) -> Forecast:
        """Say how a run with its gradient would go; nothing of the state's size is allocated.

        Args:
            observable: what would be measured; None: the state.
            inputs: as for a run; the samples are counted.
            batch: number of samples, in place of inputs.
            dtype: complex64 or complex128; as for a run.
            engine: ``"numba"`` (the default) or ``"reference"``.

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
        chosen = get_engine(DEFAULT_ENGINE if engine is None else engine)
        compiled = circuit.compiled()
        precision = np.dtype(checked_dtype(dtype) if dtype is not None else compiled.dtype)
        start = precision.itemsize << self.num_qubits
        what = f"a run of {self.num_qubits} qubits, {precision}, batch {samples},"
        require_memory(start * (1 + samples), what)
        plan, terms = compiled.plan, None
        if observable is not None:
            terms = compile_observables(observable_list(observable), self.num_qubits).terms
            plan = observed(plan, terms)
        outline = chosen.outline(plan, samples, precision, terms)
        forward = start + outline.forward_bytes
        if given is None:
            forward += start  # what a run without a batch axis returns is a copy of its only row
        peak = max(forward, start + outline.reverse_bytes)
        require_memory(peak, f"{what} with its gradient")
        available = available_memory()
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
    return binding.common_batch(binding.bind(circuit, inputs, None).operands)
