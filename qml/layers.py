"""Layers: a small class each, with its formula and shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

import autodiff as ad
from autodiff import F64, Parameter, ShapeError, Tensor
from autodiff.dtypes import DIFFERENTIABLE, is_complex
from autodiff.tensors import Operand
from circuits import BindingError, Circuit
from circuits.compiled_observables import compile_observables
from circuits.engines.base import Engine
from circuits.engines.registry import get_engine
from circuits.observable_base import Observable
from circuits.sampling import Seed, generator_of
from qml.errors import SettingError
from qml.module import Module
from qml.settings import whole


class Linear(Module):
    """The affine map y = x W^T + b, with weight W ``(out_features, in_features)``.

    Both are drawn uniformly from +-1/sqrt(in_features), PyTorch's default; complex ones in real and
    imaginary part.

    Args:
        in_features: size of the input's last axis.
        out_features: size of the output's last axis.
        bias: add b ``(out_features,)``.
        seed: integer or ``numpy.random.Generator``. Layers of one model share one Generator, so
            that they start from different values.
        dtype: float32, float64, complex64 or complex128.

    Raises:
        SettingError: sizes below 1, another dtype.

    Example:
        >>> layer = Linear(3, 2, seed=0)
        >>> layer(np.ones((5, 3))).shape
        (5, 2)

    Reference:
        He, Zhang, Ren, Sun (2015), arXiv:1502.01852.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        seed: Seed,
        dtype: DTypeLike = F64,
    ) -> None:
        self.in_features = whole(1)("Linear: in_features", in_features)
        self.out_features = whole(1)("Linear: out_features", out_features)
        if np.dtype(dtype) not in DIFFERENTIABLE:
            raise SettingError(
                f"Linear: dtype needs float32, float64, complex64 or complex128, got {dtype!r}."
            )
        generator = generator_of(seed)
        self.weight = Parameter(self._draw((out_features, in_features), generator, dtype))
        self.bias = Parameter(self._draw((out_features,), generator, dtype)) if bias else None

    def _draw(
        self, shape: tuple[int, ...], generator: np.random.Generator, dtype: DTypeLike
    ) -> NDArray[Any]:  # Any: the dtype is the layer's
        bound = 1.0 / sqrt(self.in_features)
        values = generator.uniform(-bound, bound, shape)
        if is_complex(np.dtype(dtype)):
            return (values + 1j * generator.uniform(-bound, bound, shape)).astype(dtype)
        return values.astype(dtype)

    def forward(self, x: Operand) -> Tensor:
        """Map ``(..., in_features)`` to ``(..., out_features)``; arrays take the weight's dtype."""
        given = x if isinstance(x, Tensor) else Tensor(x, dtype=self.weight.dtype)
        if given.ndim == 0 or given.shape[-1] != self.in_features:
            raise ShapeError(
                f"{self!r} needs an input of shape (..., {self.in_features}), got shape "
                f"{given.shape}. Features stand on the last axis."
            )
        y = given @ self.weight.T
        return y if self.bias is None else y + self.bias

    def extra_repr(self) -> str:
        """Return the sizes."""
        sizes = f"{self.in_features}, {self.out_features}"
        return sizes if self.bias is not None else f"{sizes}, bias=False"


class QuantumLayer(Module):
    """Expectation values of a circuit as a layer; features enter through the circuit's Inputs.

    Its Parameters are those of the circuit, of its matrices and of the observables' coefficients.

    Args:
        circuit: the circuit; gates appended later count too.
        observables: one, or a sequence of K.
        dtype: complex64 or complex128; by default by the circuit's Parameters and Inputs.
        device: where to run; None: where Parameters and inputs are.
        engine: ``"numba"`` (the default) or ``"reference"``.

    Raises:
        CircuitError: no circuit, observables of another width, an unknown engine.

    Example:
        >>> from circuits import Input, Z
        >>> x = Input("x", 2)
        >>> circuit = Circuit(2).ry(x[0], 0).ry(x[1], 1)
        >>> QuantumLayer(circuit, [Z(0), Z(1)], engine="reference")(np.zeros((3, 2))).shape
        (3, 2)
    """

    def __init__(
        self,
        circuit: Circuit,
        observables: Observable | Sequence[Observable],
        *,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        engine: str | Engine | None = None,
    ) -> None:
        if not isinstance(circuit, Circuit):
            raise BindingError(f"QuantumLayer needs a Circuit, got {type(circuit).__name__}.")
        self.circuit = circuit
        self.single = isinstance(observables, Observable)
        self.observables = [observables] if isinstance(observables, Observable) else [*observables]
        compiled = compile_observables(self.observables, circuit.num_qubits)
        self.coefficients = [x for x in compiled.tensors if isinstance(x, Parameter)]
        self.dtype, self.device, self.engine = dtype, device, engine
        if engine is not None:
            get_engine(engine)

    def forward(self, *x: Operand, **inputs: Operand) -> Tensor:
        """Return the expectation values.

        Args:
            x: the values of the only Input, ``(size,)`` or ``(B, size)``.
            inputs: the values of several Inputs by name, in place of ``x``.

        Returns:
            Real ``()`` for one observable, ``(K,)`` for a sequence; with a batch ``(B,)`` or
            ``(B, K)``.

        Raises:
            BindingError: ``x`` for a circuit without exactly one Input; missing, unknown or
                misshapen inputs.
        """
        values: dict[str, Any] = dict(inputs)  # Any: arrays or Tensors, which the circuit checks
        if x:
            names = [leaf.name for leaf in self.circuit.inputs]
            if len(x) != 1 or len(names) != 1 or inputs:
                raise BindingError(
                    f"QuantumLayer needs its inputs {names} by name, or one value for a single "
                    f"Input, got {len(x)} values and the names {list(inputs)}."
                )
            values = {str(names[0]): x[0]}
        return self.circuit.expectation(
            self.observables[0] if self.single else self.observables,
            inputs=values,
            dtype=self.dtype,
            device=self.device,
            engine=self.engine,
        )

    def to(self, device: str) -> QuantumLayer:
        """Run on a device from now on, and return self."""
        super().to(device)
        self.device = device
        return self

    def extra_repr(self) -> str:
        """Return the circuit and the number of observables."""
        count = len(self.observables)
        return f"{self.circuit!r}, {count} observable{'s' * (count != 1)}"


class Sequential(Module):
    """Layers one after the other; each gets the output of the one before.

    Args:
        layers: Modules.

    Raises:
        SettingError: something that is no Module.

    Example:
        >>> model = Sequential(Linear(3, 2, seed=0), Tanh())
        >>> [name for name, _ in model.named_parameters()]
        ['0.weight', '0.bias']
    """

    def __init__(self, *layers: Module) -> None:
        for position, layer in enumerate(layers):
            if not isinstance(layer, Module):
                raise SettingError(
                    f"Sequential needs Modules, got {type(layer).__name__} at position {position}. "
                    "Pass them one by one: Sequential(a, b)."
                )
        self._layers = layers

    def _members(self) -> Iterator[tuple[str, Any]]:
        for name, value in super()._members():
            yield name.removeprefix("_layers."), value

    def forward(self, x: Any) -> Any:
        """Return the last layer's output."""
        for layer in self._layers:
            x = layer(x)
        return x

    def __len__(self) -> int:
        return len(self._layers)

    def __getitem__(self, position: int) -> Module:
        return self._layers[position]

    def __iter__(self) -> Iterator[Module]:
        return iter(self._layers)


class Tanh(Module):
    """The function tanh(x).

    >>> Tanh()([0.0]).tolist()
    [0.0]
    """

    def forward(self, x: Operand) -> Tensor:
        """Return tanh(x), of the same shape."""
        return ad.tanh(x)


class ReLU(Module):
    """The function max(x, 0).

    >>> ReLU()([-1.0, 2.0]).tolist()
    [0.0, 2.0]
    """

    def forward(self, x: Operand) -> Tensor:
        """Return max(x, 0), of the same shape."""
        return ad.relu(x)


class Sigmoid(Module):
    """The function 1 / (1 + e**-x).

    >>> Sigmoid()([0.0]).tolist()
    [0.5]
    """

    def forward(self, x: Operand) -> Tensor:
        """Return 1 / (1 + e**-x), of the same shape."""
        return ad.sigmoid(x)


class Softplus(Module):
    """The function log(1 + e**x).

    >>> Softplus()([1000.0]).tolist()
    [1000.0]
    """

    def forward(self, x: Operand) -> Tensor:
        """Return log(1 + e**x), of the same shape."""
        return ad.softplus(x)


class Softmax(Module):
    """The function e**x / sum(e**x) over one axis.

    Args:
        axis: the last one by default.

    >>> Softmax()([0.0, 0.0]).tolist()
    [0.5, 0.5]
    """

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def forward(self, x: Operand) -> Tensor:
        """Return weights that add up to 1 over the axis, of the same shape."""
        return ad.softmax(x, axis=self.axis)

    def extra_repr(self) -> str:
        """Return the axis."""
        return f"axis={self.axis}"
