"""Layers: a small class each, with its formula and shapes. Activations have a file of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

import autodiff as ad
from autodiff import C64, C128, F32, F64, Parameter, ShapeError, Tensor
from autodiff.dtypes import is_complex
from autodiff.tensors import Operand
from circuits import BindingError, Circuit
from circuits.compiled_observables import compile_observables
from circuits.engines.base import Engine
from circuits.engines.registry import known_engine
from circuits.observable_base import Observable
from circuits.sampling import Seed, generator_of
from qml.errors import SettingError
from qml.losses import as_differentiable
from qml.module import Module
from qml.settings import floating, real, whole


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
        dtype = floating(F32, F64, C64, C128)("Linear: dtype", dtype)
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


class Runner(Protocol):
    """What runs circuits in place of an engine."""

    # Any: one observable or a sequence; values by Input name.
    def expectation(self, circuit: Circuit, observable: Any, *, inputs: Any) -> Tensor:
        """Return differentiable expectation values, shaped as the circuit's own."""


class QuantumLayer(Module):
    """Expectation values of a circuit as a layer; features enter through the circuit's Inputs.

    Its Parameters are those of the circuit, of its matrices and of the observables' coefficients.

    Args:
        circuit: the circuit; gates appended later count too.
        observables: one, or a sequence of K.
        encoding: makes the initial state of the features, such as ``amplitude_encoding``; without
            it features enter through an Input.
        dtype: complex64 or complex128; by default by the circuit's Parameters and Inputs.
        device: where to run; None: where Parameters and inputs are.
        engine: ``"numba"`` (the default) or ``"reference"``.
        runner: runs the circuit in place of an engine, such as ``HardwareRunner``.

    Raises:
        CircuitError: no circuit, observables of another width, an unknown engine, or a runner
            beside options that it does not have.

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
        encoding: Callable[[Operand], Tensor] | None = None,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        engine: str | Engine | None = None,
        runner: Runner | None = None,
    ) -> None:
        if not isinstance(circuit, Circuit):
            raise BindingError(
                f"QuantumLayer needs a Circuit, got {type(circuit).__name__}. Write one."
            )
        self.circuit = circuit
        self.single = isinstance(observables, Observable)
        self.observables = [observables] if isinstance(observables, Observable) else [*observables]
        compiled = compile_observables(self.observables, circuit.num_qubits)
        self.coefficients = [x for x in compiled.tensors if isinstance(x, Parameter)]
        self.encoding = encoding
        self.dtype, self.device, self.engine = dtype, device, engine
        if engine is not None:
            known_engine(engine)
        self.runner = runner
        if runner is not None and any(x is not None for x in (encoding, dtype, device, engine)):
            raise BindingError(
                "QuantumLayer with a runner needs no encoding, dtype, device or engine, got some. "
                "Leave them out: the runner decides where and how the circuit runs."
            )

    def forward(self, *x: Operand, **inputs: Operand) -> Tensor:
        """Return the expectation values.

        Args:
            x: what the encoding makes a state of; without one, the values of the only Input,
                ``(size,)`` or ``(B, size)``.
            inputs: the values of Inputs by name; without an encoding in place of ``x``.

        Returns:
            Real ``()`` for one observable, ``(K,)`` for a sequence; with a batch ``(B,)`` or
            ``(B, K)``.

        Raises:
            BindingError: ``x`` for a circuit without exactly one Input; missing, unknown or
                misshapen inputs.
        """
        state = None
        if self.encoding is not None:
            if not x:
                raise BindingError(
                    "QuantumLayer with an encoding needs features, got none. Call it with x."
                )
            state, x = self.encoding(x[0]), x[1:]
        values: dict[str, Any] = dict(inputs)  # Any: arrays or Tensors, which the circuit checks
        if x:
            names = [leaf.name for leaf in self.circuit.inputs]
            if len(x) != 1 or len(names) != 1 or inputs:
                raise BindingError(
                    f"QuantumLayer needs its inputs {names} by name, or one value for a single "
                    f"Input, got {len(x)} values and {list(inputs)}. Write layer(x=values)."
                )
            values = {str(names[0]): x[0]}
        observables = self.observables[0] if self.single else self.observables
        if self.runner is not None:
            return self.runner.expectation(self.circuit, observables, inputs=values)
        return self.circuit.expectation(
            observables,
            inputs=values,
            initial_state=state,
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
        >>> model = Sequential(Linear(3, 2, seed=0), Dropout(0.5, seed=0))
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


class Dropout(Module):
    """In training, set elements to 0 with probability p and divide the others by 1 - p.

    After ``eval()`` it does nothing. The mask is drawn on the host and enters as data.

    Args:
        p: probability, in [0, 1).
        seed: integer or ``numpy.random.Generator``. Layers of one model share one Generator.

    Raises:
        SettingError: a probability outside its range.

    Example:
        >>> layer = Dropout(0.5, seed=1)
        >>> layer([1.0, 1.0, 1.0, 1.0]).tolist(), layer.eval()([1.0]).tolist()
        ([2.0, 2.0, 0.0, 2.0], [1.0])

    Reference:
        Srivastava, Hinton, Krizhevsky, Sutskever, Salakhutdinov (2014), JMLR 15.
    """

    def __init__(self, p: float = 0.5, *, seed: Seed) -> None:
        self.p = real(0.0, 1.0)("Dropout: p", p)
        self.generator = generator_of(seed)

    def forward(self, x: Operand) -> Tensor:
        """Return the input with some elements 0 and the others larger, of the same shape."""
        given = as_differentiable(x)
        if not self.training or self.p == 0.0:
            return given
        kept = self.generator.random(given.shape) >= self.p
        mask = Tensor(kept / (1.0 - self.p), dtype=given.dtype, device=given.device)
        return given * mask

    def extra_repr(self) -> str:
        """Return the probability."""
        return f"p={self.p:g}"


class LayerNorm(Module):
    """Each sample's deviation from its mean, in standard deviations: (x - m) / s * weight + bias.

    m and s are taken over the last axes: s^2 = mean |x - m|^2 + eps.

    Args:
        shape: of the last axes, or the size of the last one.
        eps: at least 0.
        dtype: float32 or float64.

    Raises:
        SettingError: a setting outside its range.

    Example:
        >>> LayerNorm(2, eps=0.0)([[1.0, 3.0]]).tolist()
        [[-1.0, 1.0]]

    Reference:
        Ba, Kiros, Hinton (2016), arXiv:1607.06450.
    """

    def __init__(
        self, shape: int | Sequence[int], eps: float = 1e-5, *, dtype: DTypeLike = F64
    ) -> None:
        sizes = [shape] if isinstance(shape, int) else list(shape)
        self.shape = tuple([whole(1)("LayerNorm: shape", size) for size in sizes])
        self.eps = real(0.0)("LayerNorm: eps", eps)
        if not sizes or np.dtype(dtype) not in (F32, F64):
            raise SettingError(
                f"LayerNorm needs at least one axis and dtype float32 or float64, got {shape!r} "
                f"and {dtype!r}. Give the shape of the last axes."
            )
        self.weight = Parameter(np.ones(self.shape, dtype))
        self.bias = Parameter(np.zeros(self.shape, dtype))

    def forward(self, x: Operand) -> Tensor:
        """Map ``(..., *shape)`` to the same shape; arrays take the weight's dtype."""
        given = x if isinstance(x, Tensor) else Tensor(x, dtype=self.weight.dtype)
        if given.shape[-len(self.shape) :] != self.shape or is_complex(given.dtype):
            raise ShapeError(
                f"{self!r} needs a real input of shape (..., {', '.join(map(str, self.shape))}), "
                f"got {given._label()}. Features stand on the last axes."
            )
        axes = tuple(range(-len(self.shape), 0))
        deviation = given - given.mean(axis=axes, keepdims=True)
        variance = (deviation * deviation).mean(axis=axes, keepdims=True)
        return deviation / ad.sqrt(variance + self.eps) * self.weight + self.bias

    def extra_repr(self) -> str:
        """Return the shape and eps."""
        return f"{', '.join(map(str, self.shape))}, eps={self.eps:g}"


class Embedding(Module):
    """A table of vectors, looked up by index. Weights start from a normal distribution.

    Args:
        num_embeddings: rows of the table.
        embedding_dim: length of each vector.
        seed: integer or ``numpy.random.Generator``. Layers of one model share one Generator.
        dtype: float32 or float64.

    Raises:
        SettingError: sizes below 1, another dtype.

    Example:
        >>> Embedding(10, 3, seed=0)([1, 2, 1]).shape
        (3, 3)
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, *, seed: Seed, dtype: DTypeLike = F64
    ) -> None:
        self.num_embeddings = whole(1)("Embedding: num_embeddings", num_embeddings)
        self.embedding_dim = whole(1)("Embedding: embedding_dim", embedding_dim)
        dtype = floating(F32, F64)("Embedding: dtype", dtype)
        drawn = generator_of(seed).standard_normal((num_embeddings, embedding_dim))
        self.weight = Parameter(drawn.astype(dtype))

    def forward(self, indices: ArrayLike | Tensor) -> Tensor:
        """Map integers ``(...)`` to vectors ``(..., embedding_dim)``.

        Raises:
            SettingError: no integers, or an index outside the table.
        """
        given = indices.numpy() if isinstance(indices, Tensor) else np.asarray(indices)
        known = given.dtype.kind in "iu"
        if not known or (given.size and not 0 <= given.min() <= given.max() < self.num_embeddings):
            found = f"{given.min()} to {given.max()}" if known else f"dtype {given.dtype}"
            raise SettingError(
                f"{self!r} needs integers from 0 to {self.num_embeddings - 1}, got {found}. "
                "Enlarge num_embeddings, or renumber."
            )
        return self.weight[given.astype(np.int64)]

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"{self.num_embeddings}, {self.embedding_dim}"
