"""Module: a tree of Parameters, circuits and other Modules, in PyTorch's shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autodiff import Parameter, Tensor
from autodiff.device import canonical_device
from autodiff.errors import reason
from autodiff.placement import relocate
from circuits import Circuit
from qml.errors import SettingError, StateDictError

# Any in this file: members are whatever a subclass keeps; forward has arguments of its own.


class Module:
    """Base of everything with Parameters. A subclass assigns its parts and defines ``forward``.

    Parts are found among the attributes, in order of assignment: Parameters, Modules, Circuits (for
    their Parameters), and lists, tuples and dictionaries of these. There is nothing to register
    and no ``super().__init__()`` to forget.

    Example:
        >>> class Scale(Module):
        ...     def __init__(self):
        ...         self.factor = Parameter(2.0)
        ...
        ...     def forward(self, x):
        ...         return self.factor * x
        >>> scale = Scale()
        >>> scale(3.0).item(), scale.named_parameters()[0][0]
        (6.0, 'factor')
    """

    training: bool = True
    """Whether layers that differ in training (such as dropout) behave as in training."""

    _buffer_names: tuple[str, ...] = ()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output; ``module(x)`` calls it."""
        raise NotImplementedError(f"{type(self).__name__} needs a forward method. Define it.")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return ``forward(*args, **kwargs)``."""
        return self.forward(*args, **kwargs)

    # -- parts -----------------------------------------------------------------------------------

    def _members(self) -> Iterator[tuple[str, Any]]:
        """Yield (name, value) of all parts; those of containers as ``name.key``."""
        for name, value in vars(self).items():
            if name not in self._buffer_names:
                yield from _flattened(name, value)

    def named_children(self) -> list[tuple[str, Module]]:
        """Return the Modules directly below this one, with their names."""
        return [(name, value) for name, value in self._members() if isinstance(value, Module)]

    def children(self) -> list[Module]:
        """Return the Modules directly below this one."""
        return [module for _, module in self.named_children()]

    def named_modules(self) -> list[tuple[str, Module]]:
        """Return this Module (named ``""``) and all below it, each once, parents first."""
        found: dict[int, tuple[str, Module]] = {}
        open_modules: list[tuple[str, Module]] = [("", self)]
        while open_modules:
            name, module = open_modules.pop()
            if id(module) not in found:
                found[id(module)] = (name, module)
                below = [(_joined(name, key), child) for key, child in module.named_children()]
                open_modules.extend(reversed(below))
        return list(found.values())

    def modules(self) -> list[Module]:
        """Return this Module and all below it, each once, parents first."""
        return [module for _, module in self.named_modules()]

    def named_parameters(self) -> list[tuple[str, Parameter]]:
        """Return all Parameters with dotted names; a shared one once, under its first name."""
        found: dict[int, tuple[str, Parameter]] = {}
        for prefix, module in self.named_modules():
            for name, value in module._members():
                for key, parameter in _parameters_in(name, value):
                    found.setdefault(id(parameter._meta), (_joined(prefix, key), parameter))
        return list(found.values())

    def parameters(self) -> list[Parameter]:
        """Return all Parameters, each once."""
        return [parameter for _, parameter in self.named_parameters()]

    def register_buffer(self, name: str, value: ArrayLike | Tensor) -> None:
        """Keep a Tensor as attribute ``name`` that is saved, but not trained.

        Raises:
            SettingError: the name is taken, or no attribute name.
        """
        if not name.isidentifier() or hasattr(self, name):
            raise SettingError(
                f"a buffer needs a free attribute name, got {name!r}. Choose another one."
            )
        setattr(self, name, value if isinstance(value, Tensor) else Tensor(value))
        self._buffer_names = (*self._buffer_names, name)

    def named_buffers(self) -> list[tuple[str, Tensor]]:
        """Return all buffers with dotted names."""
        return [
            (_joined(prefix, name), getattr(module, name))
            for prefix, module in self.named_modules()
            for name in module._buffer_names
        ]

    def buffers(self) -> list[Tensor]:
        """Return all buffers."""
        return [buffer for _, buffer in self.named_buffers()]

    # -- what changes all of them ----------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Set training mode, here and below, and return self."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """Leave training mode, here and below, and return self."""
        return self.train(False)

    def to(self, device: str) -> Self:
        """Keep all values, and gradients, on a device from now on, and return self.

        Parameters stay the objects that they are. Optimizers of them may be made before or after:
        their state follows at their next step.

        Raises:
            DeviceUnavailable: this version or machine has no such device.
        """
        canonical_device(device)
        for tensor in self._named_values().values():
            relocate(tensor, device)
        return self

    def zero_grad(self) -> None:
        """Forget the gradients of all Parameters."""
        for parameter in self.parameters():
            parameter.zero_grad()

    def freeze(self, pattern: str = "*") -> Self:
        """Stop the updates of the Parameters whose names match, and return self.

        Gradients still flow through and accumulate; optimizers skip the Parameters.

        Args:
            pattern: a name, or a pattern with ``*`` and ``?``, such as ``"encoder.*"``.

        Raises:
            SettingError: nothing matches.
        """
        for parameter in self._matching(pattern):
            parameter.freeze()
        return self

    def unfreeze(self, pattern: str = "*") -> Self:
        """Allow the updates of the Parameters whose names match, and return self.

        Args:
            pattern: see ``freeze``.

        Raises:
            SettingError: nothing matches.
        """
        for parameter in self._matching(pattern):
            parameter.unfreeze()
        return self

    def _matching(self, pattern: str) -> list[Parameter]:
        named = self.named_parameters()
        escaped = pattern.replace("[", "[[]")  # theta[0] is a name, not a set of letters
        found = [p for name, p in named if fnmatchcase(name, escaped)]
        if not found:
            raise SettingError(
                f"a pattern needs to match a Parameter's name, got {pattern!r}. "
                f"There are {[name for name, _ in named]}."
            )
        return found

    # -- saved values ----------------------------------------------------------------------------

    def _named_values(self) -> dict[str, Tensor]:
        return dict([*self.named_parameters(), *self.named_buffers()])

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return the values of all Parameters and buffers by name.

        The arrays are read-only and stay what they are while training goes on.
        """
        return {name: value.numpy() for name, value in self._named_values().items()}

    def load_state_dict(self, state: Mapping[str, ArrayLike | Tensor]) -> None:
        """Set all Parameters and buffers. All or nothing is loaded.

        Args:
            state: values by name, as ``state_dict`` gives them.

        Raises:
            StateDictError: names that are missing or unexpected, values of another shape, or of a
                dtype that does not cast (complex to real). The message lists them all.
        """
        given = self._checked_state(state)
        for name, tensor in self._named_values().items():
            tensor.set_(given[name])

    def _checked_state(self, state: Any) -> dict[str, NDArray[Any]]:
        """Return the values of a state that fits this Module, or refuse it."""
        if not isinstance(state, Mapping):
            raise StateDictError(
                f"{type(self).__name__} needs a state_dict, a mapping from names to values, got "
                f"{type(state).__name__} {state!r:.60}. Give what state_dict() returned."
            )
        own = self._named_values()
        given = {name: _array_of(name, value) for name, value in state.items()}
        faults = _faults(own, given)
        if faults:
            raise StateDictError(
                f"{type(self).__name__} needs the state_dict of a module like itself, got one with "
                f"{'; '.join(faults)}. Make the module that was saved."
            )
        return given

    # -- what it looks like ----------------------------------------------------------------------

    def extra_repr(self) -> str:
        """Return what stands between the parentheses of the repr."""
        return ""

    def __repr__(self) -> str:
        lines = [
            f"  ({name}): " + repr(child).replace("\n", "\n  ")
            for name, child in self.named_children()
        ]
        head = f"{type(self).__name__}({self.extra_repr()}"
        return "\n".join([head, *lines, ")"]) if lines else f"{head})"


def _flattened(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield a value, or the elements of a container, one by one."""
    if isinstance(value, list | tuple):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for key, element in value.items():
            yield from _flattened(f"{name}.{key}", element)
    else:
        yield name, value


def _parameters_in(name: str, value: Any) -> Iterator[tuple[str, Parameter]]:
    """Yield the Parameters that a part holds itself."""
    if isinstance(value, Parameter):
        yield name, value
    elif isinstance(value, Circuit):
        for key, parameter in zip(value.parameter_names(), value.parameters(), strict=True):
            yield f"{name}.{key}", parameter
        for k, matrix in enumerate(value.matrices):
            if isinstance(matrix, Parameter):
                yield f"{name}.matrix{k}", matrix


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _array_of(name: str, value: Any) -> NDArray[Any]:
    """Return a value as an array, or refuse what has rows of several lengths."""
    if isinstance(value, Tensor):
        return value.numpy()
    try:
        return np.asarray(value)
    except ValueError as error:
        raise StateDictError(
            f"the value of {name} needs an array, got {value!r:.60}: {reason(error)}. "
            "Give what state_dict() returned."
        ) from error


def _faults(own: Mapping[str, Tensor], given: Mapping[str, NDArray[Any]]) -> list[str]:
    """Say in which way the given values differ from what is needed."""
    both = own.keys() & given.keys()
    shapes = [
        f"{name} {given[name].shape} in place of {tensor.shape}"
        for name, tensor in own.items()
        if name in both and given[name].shape != tensor.shape
    ]
    dtypes = [
        f"{name} {given[name].dtype} in place of {tensor.dtype}"
        for name, tensor in own.items()
        if name in both and not np.can_cast(given[name].dtype, tensor.dtype, "same_kind")
    ]
    faults = {
        "missing": [name for name in own if name not in both],
        "unexpected": [name for name in given if name not in both],
        "of another shape": shapes,
        "of another dtype": dtypes,
    }
    return [f"{', '.join(names)} {fault}" for fault, names in faults.items() if names]
