"""The Parameters and Inputs of a circuit: their order, names and identities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from autodiff import Parameter, Tensor
from circuits.angles import Input, checked_leaf
from circuits.errors import BindingError


class Leaves:
    """Parameters in registration order and Inputs by name.

    Attributes:
        parameters: by the identity of their metadata, which all handles of one Parameter share.
        inputs: by name.
    """

    def __init__(self) -> None:
        self.parameters: dict[int, Parameter] = {}
        self.inputs: dict[str, Input] = {}
        self._uuids: set[str] = set()
        self._names: set[str] = set()

    def copy(self) -> Leaves:
        """Return the same leaves in a registry of its own."""
        made = Leaves()
        made.register([*self.parameters.values(), *self.inputs.values()])
        return made

    def register(self, leaves: Iterable[Tensor]) -> dict[int, Tensor]:
        """Add new leaves, all or none.

        Returns:
            For leaves that stand for another one (an Input of a known name), the known one, by the
            identity of the given leaf's metadata.

        Raises:
            BindingError: two Parameters of one name or identity, two Inputs of one name that
                differ, a Parameter and an Input of one name, or a name that is no text.
        """
        new = Leaves()
        replaced: dict[int, Tensor] = {}
        for leaf in leaves:
            if isinstance(leaf, Parameter):
                self._stage_parameter(leaf, new)
            else:
                first = self._stage_input(_as_input(leaf), new)
                if first._meta is not leaf._meta:
                    replaced[id(leaf._meta)] = first
        self.parameters |= new.parameters
        self.inputs |= new.inputs
        self._uuids |= new._uuids
        self._names |= new._names
        return replaced

    def _stage_parameter(self, parameter: Parameter, new: Leaves) -> None:
        key = id(parameter._meta)
        if key in self.parameters or key in new.parameters:
            return
        if parameter.uuid in self._uuids or parameter.uuid in new._uuids:
            raise BindingError(
                f"a circuit needs one object a Parameter, got a copy of {parameter._label()}. "
                "Use the one that parameters() lists."
            )
        name = parameter.name
        if not isinstance(name, str | None):
            raise BindingError(
                f"a circuit needs Parameters with text as names, got the name {name!r:.60} of "
                f"{parameter._label()}. Write Parameter(value, name='theta')."
            )
        if name in self.inputs or name in new.inputs:
            raise _one_name(name)
        if name is not None:
            if name in self._names or name in new._names:
                raise BindingError(
                    f"a circuit needs Parameters of different names, got two named {name!r}. "
                    "Rename one, or use the same Parameter in both places."
                )
            new._names.add(name)
        new._uuids.add(parameter.uuid)
        new.parameters[key] = parameter

    def _stage_input(self, given: Input, new: Leaves) -> Input:
        assert given.name is not None
        if given.name in self._names or given.name in new._names:
            raise _one_name(given.name)
        known = self.inputs if given.name in self.inputs else new.inputs
        first = known.setdefault(given.name, given)
        if (first.shape, first.dtype) != (given.shape, given.dtype):
            raise BindingError(
                f"a circuit needs one Input a name, got {given.name!r} with size {given.shape[0]} "
                f"and dtype {given.dtype} beside size {first.shape[0]} and dtype {first.dtype}. "
                "Rename one."
            )
        return first

    def substitution(
        self, bindings: Mapping[Parameter | str, Parameter]
    ) -> Callable[[Tensor], Tensor]:
        """Return which leaf stands for a leaf, itself where ``bindings`` name no other.

        Raises:
            BindingError: a key that is no registered Parameter or name, a value that is no
                Parameter, or of another shape.
        """
        found: dict[int, Tensor] = {}
        by_name = dict(zip(self.names(), self.parameters.values(), strict=True))
        for key, new in bindings.items():
            old = by_name.get(key) if isinstance(key, str) else key
            if not isinstance(old, Parameter) or id(old._meta) not in self.parameters:
                raise BindingError(
                    "bindings need Parameters of the other circuit, or their names, got "
                    f"{key!r:.60}. It has {self.names()}."
                )
            if not isinstance(new, Parameter):
                raise BindingError(
                    f"bindings need Parameters in place of Parameters, got {new!r:.60}. For a "
                    "number, compose and then assign it; for an expression, build the gates with "
                    "it."
                )
            if new.shape != old.shape:
                raise BindingError(
                    f"bindings need Parameters of the same shape {old.shape}, got {new._label()}. "
                    "Make one of that shape."
                )
            found[id(old._meta)] = checked_leaf(new, "compose")
        return lambda leaf: found.get(id(leaf._meta), leaf)

    def names(self) -> list[str]:
        """Return the Parameters' names; unnamed ones are p0, p1, ... as far as those are free."""
        taken = {p.name for p in self.parameters.values()} | self.inputs.keys()
        free = (f"p{k}" for k in range(len(taken) + len(self.parameters)))
        unused = (name for name in free if name not in taken)
        return [next(unused) if p.name is None else p.name for p in self.parameters.values()]


def _one_name(name: str) -> BindingError:
    return BindingError(
        f"a circuit needs different names for Parameters and Inputs, got one of each named "
        f"{name!r}. Rename one."
    )


def _as_input(leaf: Tensor) -> Input:
    if not isinstance(leaf, Input):
        raise BindingError(
            f"an angle needs Parameters and Inputs, got {leaf._label()}, a placeholder. "
            "Declare it as Input(name, size)."
        )
    return leaf
