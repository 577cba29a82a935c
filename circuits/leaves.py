"""The Parameters and Inputs of a circuit: their order, names and identities."""

from __future__ import annotations

from collections.abc import Iterable

from autodiff import Parameter, Tensor
from circuits.angles import Input
from circuits.errors import BindingError


class Leaves:
    """Parameters in registration order and Inputs by name."""

    def __init__(self) -> None:
        self.parameters: dict[int, Parameter] = {}
        self.inputs: dict[str, Input] = {}

    def copy(self) -> Leaves:
        """Return the same leaves in a registry of its own."""
        made = Leaves()
        made.parameters = dict(self.parameters)
        made.inputs = dict(self.inputs)
        return made

    def register(self, leaves: Iterable[Tensor]) -> dict[int, Tensor]:
        """Add new leaves, all or none.

        Returns:
            For leaves that stand for another one (an Input of a known name), the known one, by the
            identity of the given leaf's metadata.

        Raises:
            BindingError: two Parameters of one name or identity, or two Inputs of one name that
                differ.
        """
        known = self.copy()
        replaced: dict[int, Tensor] = {}
        for leaf in leaves:
            if isinstance(leaf, Parameter):
                known._add_parameter(leaf)
            else:
                first = known._add_input(_as_input(leaf))
                if first._meta is not leaf._meta:
                    replaced[id(leaf._meta)] = first
        self.parameters, self.inputs = known.parameters, known.inputs
        return replaced

    def _add_parameter(self, parameter: Parameter) -> None:
        if id(parameter._meta) in self.parameters:
            return
        for other in self.parameters.values():
            if other.uuid == parameter.uuid:
                raise BindingError(
                    f"a circuit needs one object a Parameter, got a copy of {other._label()}. "
                    "Use the one that parameters() lists."
                )
            if parameter.name is not None and other.name == parameter.name:
                raise BindingError(
                    f"a circuit needs Parameters of different names, got two named "
                    f"{parameter.name!r}. Rename one, or use the same Parameter in both places."
                )
        self.parameters[id(parameter._meta)] = parameter

    def _add_input(self, given: Input) -> Input:
        assert given.name is not None
        first = self.inputs.setdefault(given.name, given)
        if (first.shape, first.dtype) != (given.shape, given.dtype):
            raise BindingError(
                f"a circuit needs one Input a name, got {given.name!r} with size {given.shape[0]} "
                f"and dtype {given.dtype} beside size {first.shape[0]} and dtype {first.dtype}. "
                "Rename one."
            )
        return first

    def names(self) -> list[str]:
        """Return the Parameters' names; unnamed ones are p0, p1, ... as far as those are free."""
        taken = {p.name for p in self.parameters.values()}
        free = (f"p{k}" for k in range(len(taken) + len(self.parameters)))
        unused = (name for name in free if name not in taken)
        return [next(unused) if p.name is None else p.name for p in self.parameters.values()]


def _as_input(leaf: Tensor) -> Input:
    if not isinstance(leaf, Input):
        raise BindingError(
            f"an angle needs Parameters and Inputs, got {leaf._label()}, a placeholder. "
            "Declare it as Input(name, size)."
        )
    return leaf
