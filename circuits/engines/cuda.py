"""The GPU engine: a small state's whole call in one kernel, a large one's in one kernel a stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from traceback import clear_frames
from typing import Any

import numpy as np

from autodiff.backends.interface import Array, Backend
from autodiff.backends.raw_modules import KernelSet, OutOfDeviceMemory, RawModule
from autodiff.dtypes import real_dtype
from circuits.engines.base import (
    Engine,
    Gradients,
    Wanted,
    check_batch,
    swept_samples,
)
from circuits.engines.cuda_calls import Call, Operands
from circuits.engines.cuda_outline import outline, pieces_work
from circuits.engines.cuda_program import DeviceProgram, bits_on
from circuits.engines.cuda_sparse import add_sparse, sparse_rows, sparse_values
from circuits.engines.cuda_wide import STATES, device_pieces
from circuits.engines.pieces import Pieces
from circuits.engines.statevector_kernels import KERNELS
from circuits.plan.forecast import Outline
from circuits.plan.memory import REMEDY, require_memory, size_text
from circuits.plan.steps import Plan
from circuits.plan.terms import Terms


class CudaEngine(Engine):
    """Runs plans by the kernels of ``statevector.cu`` on one device.

    Arrays are the device's, as a forward sees them.

    Args:
        backend: a device that runs raw modules.
        tile: log2 of the amplitudes of a tile, at most; None for what the device has room for.
        kernels: of ``statevector.cu``; tests give others.

    Reference:
        T. Jones and J. Gacon (2020), arXiv:2009.02823.
    """

    name = "cuda"

    def __init__(
        self, backend: Backend, tile: int | None = None, kernels: KernelSet = KERNELS
    ) -> None:
        self.backend = backend
        self.tile = tile
        self.kernels = kernels
        self._without_steps: dict[tuple[int, int, int], DeviceProgram] = {}

    def forward(
        self,
        plan: Plan,
        state: Array,
        angles: Array,
        matrices: Sequence[Array] = (),
        terms: Terms | None = None,
        coefficients: Array | None = None,
    ) -> tuple[Array, Array | None]:
        """Apply the plan to every sample, then measure."""
        batch = check_batch([state, angles, *matrices, coefficients])
        pieces = self._pieces(plan, state.dtype)
        count = batch * _bytes(state) * (1 if pieces is None else 2)
        require_memory(count, "a run's final states", self.available_memory)
        try:
            if pieces is not None:
                return pieces.forward(state, angles, matrices, terms, coefficients)
            operands = (angles, matrices, coefficients, None)
            return self._forward(plan, state, batch, terms, operands)
        except OutOfDeviceMemory as error:
            need = self.outline(plan, batch, state.dtype, terms).forward_bytes
            what = f"a run of {plan.num_qubits} qubits, {state.dtype}, batch {batch},"
            raise self._in_full(error, what, need) from error

    def _forward(
        self, plan: Plan, state: Array, batch: int, terms: Terms | None, operands: Operands
    ) -> tuple[Array, Array | None]:
        """Run a plan whose steps all fit tiles."""
        program, coefficients = self._program(plan), operands[2]
        call = Call(self._module(), program, state.dtype, batch, terms, None, operands)
        final = call.empty(batch, state.shape[1], dtype=state.dtype)
        values = call.empty(batch, 0 if terms is None else terms.num_rows)
        passes = [(*own, values) for own in call.forward_passes(state, final)]
        call.run("forward", passes)
        if terms is None or coefficients is None:
            return final, None
        call.finish(values, call.nothing)
        for term in sparse_rows(self.backend, terms, state.dtype):
            found = sparse_values(call, term, final)[:, 0]
            values[:, term.row] += coefficients[:, term.position] * found
        return final, values

    def reverse(
        self,
        plan: Plan,
        final: Array,
        angles: Array,
        matrices: Sequence[Array],
        wanted: Wanted,
        *,
        cotangent: Array | None = None,
        terms: Terms | None = None,
        coefficients: Array | None = None,
        weights: Array | None = None,
    ) -> Gradients:
        """Undo the plan as far as a gradient is wanted."""
        batch = swept_samples(cotangent, weights)
        pieces = self._pieces(plan, final.dtype)
        between = 2 * (self._bits(plan, final.dtype) < plan.num_qubits)
        count = batch * _bytes(final) * (wanted.state + between + STATES * (pieces is not None))
        require_memory(count, "a reverse sweep's states", self.available_memory)
        try:
            if pieces is not None:
                start = (cotangent, terms, coefficients, weights)
                return pieces.reverse(final, angles, matrices, wanted, *start)
            operands = (angles, matrices, coefficients, weights)
            return self._reverse(plan, final, batch, wanted, cotangent, terms, operands)
        except OutOfDeviceMemory as error:
            states = batch * _bytes(final)
            by_matrix = sum([m.shape[-1] ** 2 for m in matrices]) * batch * final.dtype.itemsize
            need = self.outline(plan, batch, final.dtype, terms).reverse_bytes - states
            need += wanted.state * states + 2 * wanted.matrices * by_matrix
            what = f"a gradient of {plan.num_qubits} qubits, {final.dtype}, batch {batch},"
            raise self._in_full(error, what, need) from error

    def _reverse(
        self,
        plan: Plan,
        final: Array,
        batch: int,
        wanted: Wanted,
        cotangent: Array | None,
        terms: Terms | None,
        operands: Operands,
    ) -> Gradients:
        """Sweep back a plan whose steps all fit tiles."""
        program, size = self._program(plan), final.shape[1]
        _, matrices, coefficients, weights = operands
        call = Call(self._module(), program, final.dtype, batch, terms, wanted, operands)
        states = call.states(final)
        if terms is not None and (sparse := sparse_rows(self.backend, terms, final.dtype)):
            assert coefficients is not None
            assert weights is not None
            cotangent = self.backend.xp.zeros((batch, size), final.dtype)
            for term in sparse:
                factors = 2 * weights[:, term.row] * coefficients[:, term.position]
                factors = call.contiguous(factors, call.real)
                add_sparse(call, term, states[0], factors, cotangent)
        by_state = call.empty(*((batch, size) if wanted.state else (0, 0)), dtype=final.dtype)
        outputs = call.empty(batch, call.table.host.outputs)
        by_term = call.empty(batch, len(terms.terms) if terms and wanted.coefficients else 0)
        passes = call.reverse_passes(states, call.states(cotangent), by_state)
        call.run("reverse", [(call.weights, *own, outputs, by_term) for own in passes])
        call.finish(outputs, by_term)
        if terms is not None and wanted.coefficients:
            assert weights is not None
            for term in sparse:
                found = sparse_values(call, term, states[0])[:, 0]
                by_term[:, term.position] = weights[:, term.row] * found
        return Gradients(
            state=by_state if wanted.state else None,
            angles=outputs[:, : plan.num_slots] if wanted.angles else None,
            matrices=call.matrices(program, outputs, matrices) if wanted.matrices else None,
            coefficients=by_term if wanted.coefficients else None,
        )

    def _in_full(self, error: OutOfDeviceMemory, what: str, need: int) -> OutOfDeviceMemory:
        """Return an error with what a whole call needs, in place of the allocation that failed."""
        clear_frames(error.__traceback__)  # what the call had allocated is free again
        return OutOfDeviceMemory(
            f"{what} needs about {size_text(need)} on {self.backend.device}, got "
            f"{size_text(self.available_memory())} free. {REMEDY}"
        )

    def available_memory(self) -> int:
        """Return the free memory of the device."""
        return self.backend.free_bytes

    def outline(
        self,
        plan: Plan,
        batch: int,
        dtype: np.dtype[np.complexfloating[Any]],
        terms: Terms | None = None,
    ) -> Outline:
        """Say how the plan would run; nothing is allocated or sent."""
        pieces = self._pieces(plan, dtype)
        if pieces is None:
            return outline(self._program(plan), batch, dtype, terms)
        work = pieces_work(self._program, pieces.parts, batch, dtype, terms)
        return replace(pieces.outline(batch, dtype, terms), device=work)

    def _bits(self, plan: Plan, dtype: np.dtype[Any]) -> int:
        """Return log2 of the amplitudes of a tile."""
        return bits_on(self.backend, self.tile, plan.num_qubits, real_dtype(dtype))

    def _pieces(self, plan: Plan, dtype: np.dtype[Any]) -> Pieces | None:
        """Return the pieces of a plan with steps that no tile holds, or None."""
        bits = self._bits(plan, dtype)
        if bits == plan.num_qubits or not plan.steps:
            return None
        return device_pieces(self, self.backend, self._module, plan, bits)

    def _module(self) -> RawModule:
        return self.backend.raw_module(self.kernels.source, self.kernels.instances)

    def _program(self, plan: Plan) -> DeviceProgram:
        if not plan.steps:
            # Ops that only measure make such a plan anew for every call.
            key = (plan.num_qubits, plan.num_slots, plan.num_matrices)
            if key not in self._without_steps:
                self._without_steps[key] = DeviceProgram(plan, self.backend, self.tile)
            return self._without_steps[key]
        name = f"{self.name} on {self.backend.device}, {self.tile}"
        program = plan.memo.get(name)
        if not isinstance(program, DeviceProgram):
            program = plan.memo[name] = DeviceProgram(plan, self.backend, self.tile)
        return program


def _bytes(states: Array) -> int:
    """Return the bytes of one state of an array of states."""
    return int(states.shape[1] * states.dtype.itemsize)
