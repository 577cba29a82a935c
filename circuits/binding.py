"""Values for one run: which tensor stands for each leaf, and whether it carries a batch axis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import autodiff as ad
from autodiff import Parameter, ShapeError, Tensor, no_grad
from autodiff.device import CPU
from autodiff.dtypes import DIFFERENTIABLE, DType, is_complex
from autodiff.errors import reason
from autodiff.flat_parameters import flat_groups
from circuits.angle_table import AngleTable
from circuits.angles import Input
from circuits.errors import BindingError
from circuits.stacking import stacked

if TYPE_CHECKING:
    from circuits.circuit import Circuit

Given = tuple[Tensor, bool]


class Binding(NamedTuple):
    """The operands of the angle table, and the value of every leaf.

    Attributes:
        table: of the circuit.
        operands: tensors that hold the elements of all leaves, in the table's order.
        batched: whether each of them has a batch axis.
        num_features: how many of them, at the end, belong to Inputs.
        whole: the first operand holds the elements of all Parameters.
        batch: the common batch size, or None.
    """

    table: AngleTable
    operands: tuple[Tensor, ...]
    batched: tuple[bool, ...]
    num_features: int
    whole: bool
    batch: int | None

    def by_leaf(self) -> Mapping[int, Given]:
        """Return the value of each leaf, by the identity of its metadata."""
        leaves, given = self.table.leaves, list(zip(self.operands, self.batched, strict=True))
        end = len(given) - self.num_features
        chosen, features = given[:end], given[end:]
        if self.whole:
            chosen = _split(leaves[: len(leaves) - self.num_features], chosen[0])
        pairs = (*chosen, *features)
        return {id(leaf._meta): given for leaf, given in zip(leaves, pairs, strict=True)}

    def check_batch(self, start: Tensor) -> None:
        """Refuse initial states ``(B, 2**n)`` of another batch size than the values'.

        Raises:
            BindingError: the two differ, or there are no states.
        """
        if start.ndim == 2:
            common_batch([*zip(self.operands, self.batched, strict=True), (start, True)])

    def angles(self) -> Tensor:
        """Return all angles ``(S,)`` or ``(B, S)``."""
        return self.table.evaluate(self.operands, self.batched)


def bind(circuit: Circuit, inputs: Mapping[str, Any] | None, values: Any) -> Binding:
    """Match what a run method was given with the circuit's leaves.

    Args:
        circuit: the circuit.
        inputs: arrays or Tensors ``(size,)`` or ``(B, size)`` by Input name; arrays go where the
            Parameters are.
        values: in place of the Parameters' values: ``(P,)`` or ``(B, P)`` in registration order, or
            a mapping from Parameters or names. A Tensor receives the gradient.

    Raises:
        BindingError: missing, unknown or misshapen values, or different batch sizes.
    """
    compiled = circuit.compiled()
    if values is None and inputs is None and not circuit.leaves.inputs:
        return compiled.stored
    parameters = circuit.parameters()
    if not isinstance(inputs, Mapping | None):
        raise BindingError(
            f"inputs need a mapping by name, got {type(inputs).__name__}. Write inputs={{'x': x}}."
        )
    home = parameters[0].device if parameters else CPU
    features = [_feature(x, inputs or {}, home) for x in _checked_inputs(circuit, inputs or {})]
    if values is None:
        chosen: list[Given] = [(p, False) for p in parameters]
    elif isinstance(values, Mapping):
        chosen = _mapped(circuit, values, home)
    else:
        chosen = [_whole(parameters, values, home)]
    whole = values is not None and not isinstance(values, Mapping)
    given = chosen + features
    operands, batched = tuple([x for x, _ in given]), tuple([flag for _, flag in given])
    batch = common_batch(given)
    return Binding(compiled.table, operands, batched, len(features), whole, batch)


def common_batch(given: Sequence[Given]) -> int | None:
    """Return the batch size that all batched values share."""
    sizes = {x.shape[0] for x, batched in given if batched}
    if len(sizes) > 1:
        raise BindingError(
            f"a run needs one batch size, got {sorted(sizes)}. Give every batched input, value and "
            "state the same number of rows."
        )
    if 0 in sizes:
        raise BindingError(
            "a run needs a batch of at least one sample, got an empty batch. Leave the call out."
        )
    return sizes.pop() if sizes else None


def _checked_inputs(circuit: Circuit, inputs: Mapping[str, Any]) -> tuple[Input, ...]:
    names = [x.name for x in circuit.inputs]
    unknown = [key for key in inputs if key not in names]
    missing = [name for name in names if name not in inputs]
    if unknown or missing:
        raise BindingError(
            f"the circuit needs inputs {names}, got {list(inputs)}"
            + (f"; missing {missing}" if missing else "")
            + (f"; unknown {unknown}" if unknown else "")
            + ". Pass inputs={name: values of shape (size,) or (B, size)}."
        )
    return circuit.inputs


def _feature(leaf: Input, inputs: Mapping[str, Any], home: str) -> Given:
    assert leaf.name is not None
    value = _tensor(inputs[leaf.name], leaf.dtype, f"input {leaf.name!r}", home)
    return value, _has_batch(value, leaf.shape, f"input {leaf.name!r}")


def _tensor(value: Any, dtype: DType, what: str, home: str = CPU) -> Tensor:
    """Return a real tensor of the leaf's dtype; a given Tensor keeps its history and its device."""
    real = _real(value, what)
    if not isinstance(real, Tensor):
        return Tensor(real, dtype=dtype, device=home)
    return real if real.dtype == dtype else real.astype(dtype)


def _real(value: Any, what: str) -> Tensor | NDArray[Any]:
    """Return what was given as a Tensor if there is one in it, else as an array; or refuse."""
    try:
        value = stacked(value)
    except ShapeError as error:
        raise BindingError(
            f"{what} needs Tensors of one shape in a list, got others. {error}"
        ) from error
    if isinstance(value, Tensor):
        if is_complex(value.dtype) or value.dtype not in DIFFERENTIABLE:
            raise BindingError(
                f"{what} needs a float32 or float64 Tensor, got {value._label()}. Convert it first."
            )
        return value
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise BindingError(
            f"{what} needs rows of one length, got {reason(error)}. Give a regular array."
        ) from error
    if array.dtype.kind not in "biuf":
        raise BindingError(
            f"{what} needs real numbers, got dtype {array.dtype}. Convert it to float64."
        )
    return array


def _has_batch(value: Tensor, shape: tuple[int, ...], what: str) -> bool:
    if value.shape == shape:
        return False
    if value.ndim == len(shape) + 1 and value.shape[1:] == shape:
        return True
    batched = f"(B, {', '.join(map(str, shape))})" if shape else "(B,)"
    raise BindingError(
        f"{what} needs shape {shape} or {batched}, got {value.shape}. Reshape it: the batch axis "
        "stands first."
    )


def _whole(parameters: Sequence[Parameter], values: Any, home: str = CPU) -> Given:
    """All values as one tensor."""
    count = sum(p.numel() for p in parameters)
    dtypes = {p.dtype for p in parameters}
    dtype = np.result_type(*dtypes) if dtypes else np.dtype(np.float64)
    value = _tensor(values, dtype, "values", home)
    return value, _has_batch(value, (count,), "values")


def _split(parameters: Sequence[Tensor], whole: Given) -> list[Given]:
    """The part of each Parameter, for expressions that are not affine."""
    tensor, batched = whole
    parts, start = [], 0
    for p in parameters:
        end = start + p.numel()
        lead = tensor.shape[:1] if batched else ()
        parts.append((tensor[..., start:end].reshape((*lead, *p.shape)), batched))
        start = end
    return parts


def _mapped(circuit: Circuit, values: Mapping[Any, Any], home: str) -> list[Given]:
    """Values by Parameter or name; the others keep what they hold."""
    given = resolve(circuit, values)
    chosen: list[Given] = []
    for p in circuit.parameters():
        if id(p._meta) in given:
            what = f"the value of parameter {p.name or p.shape}"
            value = _tensor(given[id(p._meta)], p.dtype, what, home)
            chosen.append((value, _has_batch(value, p.shape, what)))
        else:
            chosen.append((p, False))
    return chosen


def resolve(circuit: Circuit, values: Mapping[Any, Any]) -> dict[int, Any]:
    """Return values by the identity of the Parameter that each key names.

    A key is a Parameter, a name, or a symbol of another package: one with a ``name``, or a vector
    of such symbols with one value each.
    """
    parameters = circuit.parameters()
    names = circuit.parameter_names()
    by_key: dict[str, Parameter] = dict(zip(names, parameters, strict=True))
    by_key |= {p.uuid: p for p in parameters}
    found: dict[int, Any] = {}
    for key, value in _single_keys(values):
        wanted = key.uuid if isinstance(key, Parameter) else getattr(key, "name", key)
        parameter = by_key.get(wanted) if isinstance(wanted, str) else None
        if parameter is None:
            raise BindingError(
                f"values need Parameters of the circuit or their names, got {key!r}. "
                f"It has {names}."
            )
        if id(parameter._meta) in found:
            raise BindingError(
                f"values need each Parameter once, got {key!r} twice. Leave one of them out."
            )
        found[id(parameter._meta)] = value
    return found


def _single_keys(values: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Take apart keys that are vectors of symbols; the last axis of their values counts them."""
    for key, value in values.items():
        if isinstance(key, str | Tensor) or not isinstance(key, Iterable):
            yield key, value
            continue
        symbols = list(key)
        given = stacked(value)
        array = given if isinstance(given, Tensor) else np.asarray(given)
        if array.ndim == 0 or array.shape[-1] != len(symbols):
            raise BindingError(
                f"values need one number for each of the {len(symbols)} elements of {key!r:.60}, "
                f"got shape {array.shape}. The last axis counts them."
            )
        yield from ((symbol, array[..., k]) for k, symbol in enumerate(symbols))


def assign(circuit: Circuit, values: Any) -> None:
    """Set the Parameters' values; ``Circuit.assign`` documents it. All or none."""
    parameters = circuit.parameters()
    if isinstance(values, Mapping):
        _assign_some(parameters, resolve(circuit, values))
        return
    whole, batched = _whole(parameters, values)
    if batched:
        raise BindingError(
            f"assign needs values of shape ({whole.shape[1]},), got {whole.shape}. "
            "A batch is given per run, with values=."
        )
    _assign_vector(parameters, whole)


def _assign_some(parameters: Sequence[Parameter], given: Mapping[int, Any]) -> None:
    """Set the Parameters that have a value, those from one device together."""
    host: list[tuple[Parameter, NDArray[Any]]] = []
    there: dict[str, list[tuple[Parameter, Tensor]]] = {}
    for p in parameters:
        if id(p._meta) not in given:
            continue
        value = _real(given[id(p._meta)], f"parameter {p.name or ''}")
        if value.shape != p.shape:
            raise BindingError(
                f"assign needs shape {p.shape}, got {value.shape} for {p._label()}. Reshape it."
            )
        if not isinstance(value, Tensor):
            host.append((p, value.reshape(-1)))
        elif value.device == CPU:
            host.append((p, value.numpy().reshape(-1)))
        else:
            there.setdefault(value.device, []).append((p, value.detach().reshape(-1)))
    if host:
        flat = np.concatenate([x for _, x in host], dtype=np.float64)
        _assign_vector([p for p, _ in host], Tensor(flat))
    for pairs in there.values():
        _assign_vector([p for p, _ in pairs], ad.concatenate([x for _, x in pairs]))


def _assign_vector(parameters: Sequence[Parameter], whole: Tensor) -> None:
    sizes = [p.numel() for p in parameters]
    with no_grad():
        for flat, inside in flat_groups(parameters):
            every = bool(inside.all())
            flat.assign(whole if every else whole[np.flatnonzero(np.repeat(inside, sizes))])
