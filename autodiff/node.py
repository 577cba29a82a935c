"""The records: an Op is a row of the table, a Node what was asked for, a Cell holds a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

from autodiff.backends.interface import Array
from autodiff.device import CPU, backend_of, move
from autodiff.dtypes import DType
from autodiff.errors import AutodiffError, TraceError
from autodiff.sites import call_site, line_of
from autodiff.storage import Storage, writes
from autodiff.table import OPS

if TYPE_CHECKING:
    from autodiff.slices import Slice
    from autodiff.tensors import Tensor

Shape = tuple[int, ...]
Meta = tuple[Shape, DType]
# Any below: attrs are whatever an op's row says, frozen.
Attrs = Mapping[str, Any]
Cotangents = Sequence["Tensor | Slice | None"]
Rule = Callable[..., Cotangents]

_NO_ATTRS: Attrs = {}

#: Bytes up to which a host read of a part moves the whole storage, so that the next one is free.
_MOVED_WHOLE = 1 << 16


class State(Enum):
    """Whether a cell has its value, waits for it in graph mode's queue, or never will have one."""

    CONCRETE = "concrete"
    PENDING = "pending"
    ABSTRACT = "abstract"


class Kind(Enum):
    """What a leaf is for; a captured program replays parameters and inputs, and keeps constants."""

    TENSOR = "tensor"
    CONSTANT = "constant"
    PARAMETER = "parameter"
    INPUT = "input"


# An enum's member by name costs as much as a call, and each op makes these.
CONCRETE, ABSTRACT = State.CONCRETE, State.ABSTRACT
TENSOR, CONSTANT = Kind.TENSOR, Kind.CONSTANT


class Op:
    """A row of the op table; it runs through ``dispatch.apply`` and nowhere else.

    Attributes:
        name: unique in the table.
        forward: ``forward(xp, *arrays, **attrs)`` to one array or a tuple: the public outputs, then
            those that only the rule reads.
        vjp: ``vjp(gs, outs, inputs, **attrs)`` to one cotangent an input (or None). All are tensors
            (or Slices) and the rule consists of tensor ops. ``gs`` holds one cotangent a public
            output, None where none arrived. Broadcasting, projection to real and dtype are put
            right by the machinery, not by the rule. ``outs`` have no history, but where the pass
            is recorded (``create_graph``) the public ones have theirs.
        meta: ``meta(*metas, **attrs)`` to ``((shape, dtype), ...)`` of all outputs, not computing.
        outputs: how many outputs are public; None: all of them, however many there are.
        reads_outputs: the rule reads ``outs``; without it ``outs`` is empty.
        reads_from: the first output that the rule reads, where ``outs`` begins.
        view: the result may share the operand's memory (reshape, basic indexing, ...).
        per_sample: ``per_sample(attrs, ranks)`` rewrites attrs for operands that carry a batch axis
            in front (axes and indices counted from the end); None: the op has no such meaning.
        draws: the op draws random numbers, which it may not do on a device.
        resident: the op may wait in graph mode's queue; it needs ``meta`` for that. Else it runs
            at once, and what is queued before it.
        moves: the op copies its operand to the device in ``attrs["device"]``; the dispatch point
            does it, as no forward knows a device.
        prepare: ``prepare(metas, attrs)`` to attrs for the forward of a prepared program, where the
            operands keep their shapes and dtypes: what follows from these is found out once.
        samples: ``samples(draw)`` to ``((args, attrs), ...)`` for the table test, where
            ``draw(*shape)`` gives an array of the dtype under test in the op's domain.
        domain: bounds of real operands, and of real and imaginary parts, in the table test.
        takes_complex: whether the op is defined for complex operands.
        doc: the docstring.
    """

    __slots__ = (
        "doc", "domain", "draws", "forward", "meta", "moves", "name", "outputs", "per_sample",
        "prepare", "reads_from", "reads_outputs", "resident", "samples", "takes_complex", "view",
        "vjp",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any],
        vjp: Rule | None = None,
        meta: Callable[..., Sequence[Meta]] | None = None,
        *,
        outputs: int | None = 1,
        reads_outputs: bool = False,
        reads_from: int = 0,
        view: bool = False,
        per_sample: Callable[[Attrs, Sequence[int]], Attrs] | None = None,
        draws: bool = False,
        resident: bool = True,
        moves: bool = False,
        prepare: Callable[[Sequence[Meta], Attrs], Attrs] | None = None,
        samples: Callable[..., Sequence[tuple[tuple[Any, ...], Attrs]]] | None = None,
        domain: tuple[float, float] = (-2.0, 2.0),
        takes_complex: bool = True,
        doc: str = "",
    ) -> None:
        self.name = name
        self.forward = forward
        self.vjp = vjp
        self.meta = meta
        self.outputs = outputs
        self.reads_outputs = reads_outputs
        self.reads_from = reads_from
        self.view = view
        self.per_sample = per_sample
        self.draws = draws
        self.resident = resident
        self.moves = moves
        self.prepare = prepare
        self.samples = samples
        self.domain = domain
        self.takes_complex = takes_complex
        self.doc = doc

    def __repr__(self) -> str:
        return f"Op({self.name!r})"

    def __reduce__(self) -> tuple[Callable[[str], Op], tuple[str]]:
        """Pickle a row of the table by its name; what no name finds again is refused."""
        if OPS.get(self.name) is not self:
            raise AutodiffError(
                f"pickling needs ops of the table, got the custom op {self.name!r}. "
                "Keep the code that makes it, and make it again."
            )
        return _op_named, (self.name,)


def _op_named(name: str) -> Op:
    return OPS[name]


class Node:
    """What was asked for: an op, its operands and attrs, and the line that asked. Immutable.

    It consists of few objects, as Python's garbage collector looks at each of them in long graphs.
    """

    __slots__ = ("_code", "_position", "attrs", "inputs", "op", "versions", "writes")

    def __init__(self, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> None:
        self.op = op
        self.inputs = inputs
        self.attrs = attrs or _NO_ATTRS
        self.writes = writes.count  # before the versions: a write between them shows
        self.versions = versions_of(inputs)
        self._code, self._position = call_site(3)  # past dispatch.apply, which makes the nodes

    @property
    def line(self) -> str:
        """Where the user's code asked for this op, as ``file:line``."""
        return line_of((self._code, self._position))


class Queued(Protocol):
    """An op that waits in graph mode's queue.

    Attributes:
        serial: when it was queued; 0 for one whose result is a view.
        version: of the results to be; a view of an existing value starts where that stands.
    """

    serial: int
    version: int

    def force(self) -> None:
        """Run the queue, or raise the error that it met."""


class Cell:
    """A value: shared by a tensor's clones, its detached handles and nothing else.

    ``strides is None`` means the whole storage, contiguous; else the cell is a view of it, and
    strides and offset count elements. An ABSTRACT cell has no storage but the node that would
    compute it, a PENDING one the queued op that will.
    """

    __slots__ = (
        "__weakref__", "device", "dtype", "index", "node", "offset", "queued",
        "shape", "state", "storage", "strides",
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        dtype: DType,
        device: str,
        storage: Storage | None,
        state: State = CONCRETE,
        node: Node | None = None,
        index: int = 0,
        strides: Shape | None = None,
        offset: int = 0,
        queued: Queued | None = None,
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.device = device
        self.storage = storage
        self.state = state
        self.node = node
        self.index = index
        self.strides = strides
        self.offset = offset
        self.queued = queued

    @property
    def version(self) -> int:
        """The storage's version; placeholders have none to change."""
        if self.storage is not None:
            return self.storage.version
        queued = self.queued
        return 0 if queued is None else queued.version

    def require_storage(self) -> Storage:
        """Return the storage, after the queue has run if need be; refuse a placeholder."""
        queued = self.queued
        if queued is not None:
            queued.force()
        if self.storage is None:
            raise TraceError(
                f"a value needs a run, got a placeholder of shape {self.shape}. "
                "Use np.sin, where and other tensor functions in place of math and if; "
                "the value is given when the circuit or traced function runs."
            )
        return self.storage

    def read(self) -> Array:
        """Return the read-only array of this cell on its device."""
        storage = self.storage if self.storage is not None else self.require_storage()
        base = storage.read(self.device)
        return base if self.strides is None else self.view_on(base)

    def read_on_host(self) -> Array:
        """Return the read-only host array; the storage keeps the copy that this may need.

        Of a large storage on a device, a small part is moved by itself.
        """
        storage = self.require_storage()
        if self.strides is not None and CPU not in storage.locations:
            base = storage.read(self.device)
            if base.nbytes > _MOVED_WHOLE and 2 * prod(self.shape) < base.size:
                part = backend_of(self.device).own(self.view_on(base))
                return move(part, self.device, CPU)
        return self.view_on(storage.read(CPU), CPU)

    def view_on(self, base: Array, location: str | None = None) -> Array:
        """Return this cell's part of a buffer (on its device) that has the storage's layout."""
        if self.strides is None:
            return base
        backend = backend_of(location or self.device)
        return backend.view(base, self.shape, self.strides, self.offset, self.dtype)


def read_all(inputs: Sequence[Tensor]) -> list[Array]:
    """Return the arrays of concrete tensors, each on its device."""
    arrays = []  # loops here, as a comprehension is a call, and each op makes these
    for x in inputs:
        cell = x._cell
        storage = cell.storage
        if storage is None or cell.strides is not None:
            arrays.append(cell.read())
        else:
            arrays.append(storage.read(cell.device))
    return arrays


def versions_of(inputs: Sequence[Tensor]) -> tuple[int, ...]:
    """Return the present versions of tensors; for a few new values always one object."""
    versions, changes = [], 0
    for x in inputs:
        storage = x._cell.storage
        version = x._cell.version if storage is None else storage.version
        versions.append(version)
        changes += version
    few = not changes and len(versions) < len(_UNCHANGED)
    return _UNCHANGED[len(versions)] if few else tuple(versions)


_UNCHANGED = tuple([(0,) * count for count in range(5)])


class History:
    """How to differentiate the outputs of one execution, until a backward pass drops the node.

    ``cells`` are those of the outputs (saved ones too) that the rule reads, ``count`` is how many
    outputs are public.
    """

    __slots__ = ("cells", "count", "node", "versions")

    def __init__(self, node: Node, cells: tuple[Cell, ...]) -> None:
        op = node.op
        self.node: Node | None = node
        self.count = len(cells) if op.outputs is None else op.outputs
        self.cells = cells[op.reads_from :] if op.reads_outputs else ()
        self.versions = tuple([cell.version for cell in self.cells]) if self.cells else ()


class Deferred:
    """A gradient that becomes a Tensor when it is read."""

    __slots__ = ()

    def tensor(self) -> Tensor:
        """Return the gradient in memory of its own."""
        raise NotImplementedError


class Autograd:
    """What a tensor's clones share beside its value: leaf flags, gradient and the history link."""

    __slots__ = (
        "history", "index", "kind", "name", "raw_grad", "requires_grad", "retains_grad",
        "trainable", "uuid",
    )  # fmt: skip

    def __init__(self, requires_grad: bool = False, history: History | None = None, index: int = 0):
        self.requires_grad = requires_grad
        self.raw_grad: Tensor | Slice | None = None  # as backward left it; ``grad`` is for reading
        self.history = history
        self.index = index
        self.retains_grad = False
        self.name: str | None = None
        self.kind: Kind = TENSOR
        self.trainable = True
        self.uuid: str | None = None

    @property
    def grad(self) -> Tensor | None:
        """The gradient as a Tensor."""
        gradient = self.raw_grad
        if isinstance(gradient, Deferred):
            gradient = self.raw_grad = gradient.tensor()
        return gradient

    @grad.setter
    def grad(self, gradient: Tensor | None) -> None:
        self.raw_grad = gradient
