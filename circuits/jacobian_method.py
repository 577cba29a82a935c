"""Circuit.jacobian: derivatives of several expectation values, sample by sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

import autodiff as ad
from autodiff import GradientError, Tensor
from autodiff.transforms import pull_back
from circuits import binding
from circuits.errors import BindingError
from circuits.observable_base import Observable
from circuits.stacking import stacked

if TYPE_CHECKING:
    from circuits.circuit import Circuit


class JacobianMethod:
    """Derivatives that are no gradient of one number."""

    def jacobian(
        self,
        observable: Observable | Sequence[Observable],
        *,
        values: Any = None,  # Any: arrays or Tensors, as in a run
        **options: Any,
    ) -> Tensor:
        """Return the derivatives of expectation values by the Parameters' values.

        One forward and one reverse engine call, whatever the batch and the number of observables;
        the reverse call has a row a sample and observable, which share the final states. (Beyond
        some 64 MiB of gradients it goes by parts of the observables.) No ``grad`` is touched.

        Args:
            observable: one, or a sequence of K.
            values: as for ``expectation``, ``(P,)`` or ``(B, P)``, not by name.
            options: as for ``expectation``: inputs, initial_state, dtype, device, engine.

        Returns:
            Real ``(P,)`` or ``(K, P)``, P values in registration order; with a batch ``(B, P)`` or
            ``(B, K, P)``, of each sample by its own values.

        Raises:
            GradientError: a circuit without Parameters, or ``shots``.
            BindingError: values by name.

        >>> from circuits import Circuit, Parameter, X, Z
        >>> qc = Circuit(1).ry(Parameter(0.0), 0)
        >>> qc.jacobian([Z(0), X(0)], engine="reference").tolist()
        [[0.0], [1.0]]
        """
        circuit = cast("Circuit", self)
        if not circuit.parameters():
            raise GradientError(
                "jacobian needs a circuit with Parameters, got none. Use autodiff.jacobian for "
                "derivatives by inputs or coefficients."
            )
        if isinstance(values, Mapping):
            raise BindingError(
                "jacobian needs values of shape (P,) or (B, P), got a mapping. Call assign first, "
                "or give all values in registration order."
            )
        leaf = _leaf(circuit, values, options)
        with ad.enable_grad():
            measured = circuit.expectation(observable, values=leaf, **options)
        single, lead = isinstance(observable, Observable), leaf.shape[:-1]
        count = 1 if single else measured.shape[-1]

        def cotangents(start: int, stop: int) -> NDArray[Any]:
            rows = np.eye(stop - start, count, start, measured.dtype)
            rows = rows.reshape((-1, *[1] * len(lead), *measured.shape[len(lead) :]))
            return np.broadcast_to(rows, (stop - start, *measured.shape))

        (rows,) = pull_back(measured, [leaf], count, cotangents)
        if single:
            return rows[0]
        return rows.transpose((1, 0, 2)) if lead else rows


def _leaf(circuit: Circuit, values: Any, options: Mapping[str, Any]) -> Tensor:
    """Return the values that the derivatives are by; of a batch, every sample has its own."""
    bound = binding.bind(circuit, options.get("inputs"), values)
    if values is None:
        given = ad.concatenate([p.detach().reshape((-1,)) for p in circuit.parameters()])
    else:
        given = bound.operands[0].detach()
    batch = _rows_of(options.get("initial_state")) if bound.batch is None else bound.batch
    if batch is not None:
        given = ad.broadcast_to(given, (batch, given.shape[-1]))
    return given.copy().requires_grad_()


def _rows_of(initial_state: Any) -> int | None:
    """Return the batch size of initial states, if they have a batch axis."""
    given = stacked(initial_state)
    shape = given.shape if isinstance(given, Tensor) else np.shape(given)
    return shape[0] if len(shape) == 2 else None
