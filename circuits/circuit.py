"""Circuit: a list of instructions, and the Parameters and Inputs in their angles."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from autodiff import Parameter, Tensor
from circuits.angles import Angle, Input, capture_angle
from circuits.compiled import Compiled
from circuits.errors import BindingError, CircuitError, GateError, MeasurementError, QubitError
from circuits.gate_row import Gate, Payload
from circuits.gates import gate as find_gate
from circuits.instruction import (
    Instruction,
    TrainableMatrix,
    checked_ctrl_state,
    checked_qubits,
)
from circuits.leaves import Leaves
from circuits.payloads import checked_payload
from circuits.run_methods import RunMethods

if TYPE_CHECKING:
    from circuits.gate_methods import GateMethods as _GateMethods
else:
    _GateMethods = object


class Circuit(RunMethods, _GateMethods):
    """A parametrised quantum circuit on ``num_qubits`` qubits that start in |0...0>.

    Every gate of the table is a method, angles first: ``qc.rx(theta, 0)``. Gate calls return the
    circuit, so that they chain. Angles are numbers, Parameters, Input elements or expressions.

    Args:
        num_qubits: width, at least 0.
        name: shown in drawings and messages.

    Raises:
        QubitError: a width that is not a non-negative integer.

    Example:
        >>> theta = Parameter(0.3, name="theta")
        >>> qc = Circuit(2).h(0).cx(0, 1).ry(2 * theta, 1)
        >>> qc.count_ops()
        {'h': 1, 'cx': 1, 'ry': 1}
    """

    def __init__(self, num_qubits: int, name: str | None = None) -> None:
        if not isinstance(num_qubits, int) or isinstance(num_qubits, bool) or num_qubits < 0:
            raise QubitError(f"Circuit needs a number of qubits from 0 on, got {num_qubits!r}.")
        self.num_qubits = num_qubits
        self.name = name
        self._instructions: list[Instruction] = []
        self._leaves = Leaves()
        self._measured: dict[int, int] = {}
        self._compiled: Compiled | None = None

    # -- building --------------------------------------------------------------------------------

    def append(
        self,
        gate: str | Gate | Circuit,
        qubits: Sequence[int],
        angles: Sequence[Any] = (),  # Any: numbers, Parameters, expressions; see capture_angle
        *,
        payload: Any = None,  # Any: a matrix, diagonal, pattern or label, as the gate wants
        controls: Sequence[int] = (),
        ctrl_state: int | str | None = None,
    ) -> Circuit:
        """Append a gate by name or row, or another circuit, and return self.

        Args:
            gate: a name such as ``"crx"``, a row of the gate table, or a Circuit.
            qubits: the gate's own controls first, then its targets, least significant first.
            angles: one for each of the gate's parameters, in radians.
            payload: the matrix of ``unitary``, the label of ``pauli``, ...
            controls: more control qubits, before the gate's own.
            ctrl_state: what the controls must hold: bits as an int, or text q[k-1]...q[0].

        Raises:
            CircuitError: its subclass for the fault; nothing is changed then.

        Example:
            >>> Circuit(3).append("ry", [2], [0.5], controls=[0, 1], ctrl_state="01").size()
            1
        """
        if isinstance(gate, Circuit):
            if angles or payload is not None or ctrl_state is not None or controls:
                raise GateError("append of a circuit needs qubits only. Use control() first.")
            return self.compose(gate, qubits)
        row = gate if isinstance(gate, Gate) else find_gate(gate)
        instruction = self._checked(row, qubits, angles, payload, controls, ctrl_state)
        return self._extend([instruction])

    def _checked(
        self,
        row: Gate,
        qubits: Sequence[int],
        angles: Sequence[Any],
        payload: Any,
        controls: Sequence[int],
        ctrl_state: int | str | None,
    ) -> Instruction:
        """Make an instruction of what the user gave, or refuse it."""
        every = checked_qubits(row.name, (*controls, *qubits), self.num_qubits)
        count = self._num_controls(row, len(qubits)) + len(controls)
        held, targets = every[:count], every[count:]
        if row.num_qubits is not None and len(targets) != row.num_qubits:
            wanted = row.num_qubits + (row.num_controls or 0)
            raise GateError(
                f"{row.name} needs {wanted} qubits, got {len(qubits)}: {tuple(qubits)}. "
                "Controls come first, then targets."
            )
        if len(angles) != len(row.params):
            names = ", ".join(row.params) or "no angles"
            raise GateError(
                f"{row.name} needs {names}, got {len(angles)} angles. Angles come first."
            )
        state = checked_ctrl_state(row.name, ctrl_state, count)
        where = f"{row.name} on qubits {every}"
        captured = tuple([capture_angle(angle, where) for angle in angles])
        carried = _carried(row, payload, len(targets))
        return Instruction(row, targets, held, state, captured, carried)

    @staticmethod
    def _num_controls(row: Gate, num_qubits: int) -> int:
        if row.num_controls is not None:
            return row.num_controls
        return max(num_qubits - (row.num_qubits or 1), 1)

    def _extend(self, instructions: Sequence[Instruction]) -> Circuit:
        """Append checked instructions, all or none."""
        if self._measured:
            for instruction in instructions:
                self._refuse_measured(instruction)
        angles = [a for i in instructions for a in i.angles if isinstance(a, Angle)]
        leaf_of = self._leaves.register([leaf for angle in angles for leaf in angle.leaves])
        if leaf_of:
            instructions = [
                i.substitute(lambda x: leaf_of.get(id(x._meta), x)) for i in instructions
            ]
        self._instructions.extend(instructions)
        self._compiled = None
        return self

    def _refuse_measured(self, instruction: Instruction) -> None:
        touched = set(instruction.qubits) & set(self._measured)
        if touched:
            raise MeasurementError(
                f"{instruction.name} needs qubits without a measurement, got {sorted(touched)}. "
                "Put all gates before the measurements; mid-circuit measurement is not supported."
            )

    def compose(
        self,
        other: Circuit,
        qubits: Sequence[int] | None = None,
        bindings: Mapping[Parameter, Parameter] | None = None,
    ) -> Circuit:
        """Append another circuit's gates and return self.

        Args:
            other: a circuit of at most this width.
            qubits: where its qubit k goes; by default to qubit k.
            bindings: for some of its Parameters, which Parameter stands in their place here.

        Raises:
            QubitError: bad qubits. BindingError: bindings for Parameters that it does not have.
        """
        if qubits is None:
            qubits = range(other.num_qubits)
        if len(qubits) != other.num_qubits:
            raise QubitError(
                f"compose needs {other.num_qubits} qubits, got {len(qubits)}. Name one for each."
            )
        where = checked_qubits("compose", qubits, self.num_qubits)
        swap = _bindings(other, bindings or {})
        moved = [i.on(where.__getitem__).substitute(swap) for i in list(other._instructions)]
        self._extend(moved)
        for qubit, clbit in other._measured.items():
            self._measure(where[qubit], clbit)
        return self

    def barrier(self, *qubits: int) -> Circuit:
        """Do nothing: a simulator has no use for barriers, scripts may keep theirs."""
        checked_qubits("barrier", qubits, self.num_qubits)
        return self

    def measure(self, qubits: int | Sequence[int], clbits: int | Sequence[int]) -> Circuit:
        """Say which classical bit ``counts`` writes each qubit to. No gate may follow on it."""
        pairs = _pairs(qubits, clbits)
        checked_qubits("measure", [q for q, _ in pairs], self.num_qubits)
        for qubit, clbit in pairs:
            self._measure(qubit, clbit)
        return self

    def measure_all(self) -> Circuit:
        """Measure qubit k into classical bit k, for all of them."""
        return self.measure(range(self.num_qubits), range(self.num_qubits))

    def _measure(self, qubit: int, clbit: int) -> None:
        if not isinstance(clbit, int) or clbit < 0 or clbit in self._measured.values():
            raise MeasurementError(
                f"measure needs a free classical bit from 0 on, got {clbit!r}. Use each bit once."
            )
        if qubit in self._measured:
            raise MeasurementError(f"measure needs a qubit once, got qubit {qubit} again.")
        self._measured[qubit] = clbit

    def reset(self, *qubits: int) -> Circuit:
        """Refuse: resets need a density matrix or trajectories.

        Raises:
            MeasurementError: always.
        """
        raise MeasurementError(
            f"a circuit needs gates, got reset on {qubits}. Reset is not unitary; start another "
            "circuit, or use a fresh qubit in place of the one that was reset."
        )

    def unitary(
        self,
        matrix: Any = None,  # Any: array-like, or a complex Tensor that gets a gradient
        qubits: int | Sequence[int] | None = None,
        *,
        ctrl_state: int | str | None = None,
        **options: Any,  # Any: the run methods' keyword arguments
    ) -> Any:  # Any: a Circuit with arguments, a Tensor without
        """Append a unitary matrix on qubits; without arguments, return the circuit's own matrix.

        Args:
            matrix: ``(2**k, 2**k)``, the first qubit least significant. A complex Tensor is read,
                checked and differentiated at each run.
            qubits: k qubits.
            ctrl_state: only with controls; see ``append``.
            options: the run methods' keyword arguments, without ``matrix``.

        Returns:
            The circuit, or the matrix ``(2**n, 2**n)``.

        >>> Circuit(1).unitary([[0, 1], [1, 0]], 0).unitary(engine="reference").real.tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        """
        if matrix is None:
            return self.unitary_matrix(**options)
        where = [qubits] if isinstance(qubits, int) else list(qubits or ())
        return self.append("unitary", where, payload=matrix, ctrl_state=ctrl_state)

    # -- derived circuits ------------------------------------------------------------------------

    def _like(self, instructions: Iterable[Instruction], extra: int = 0) -> Circuit:
        made = Circuit(self.num_qubits + extra, self.name)
        made._leaves = self._leaves.copy()
        made._instructions = list(instructions)
        return made

    def _unmeasured(self, what: str) -> list[Instruction]:
        if self._measured:
            raise MeasurementError(
                f"{what} needs a circuit without measurements, got measured qubits "
                f"{sorted(self._measured)}. Measure after {what}."
            )
        return list(self._instructions)

    def inverse(self) -> Circuit:
        """Return the circuit that undoes this one."""
        return self._like([i.inverse() for i in reversed(self._unmeasured("inverse"))])

    def power(self, exponent: int) -> Circuit:
        """Return the circuit applied ``exponent`` times; negative ones repeat the inverse."""
        if not isinstance(exponent, int) or isinstance(exponent, bool):
            raise CircuitError(
                f"power needs an integer, got {exponent!r}. Scale the angles instead."
            )
        base = self if exponent >= 0 else self.inverse()
        return base._like(base._unmeasured("power") * abs(exponent))

    def repeat(self, count: int) -> Circuit:
        """Return the circuit applied ``count`` times."""
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise CircuitError(f"repeat needs a count from 0 on, got {count!r}.")
        return self.power(count)

    def control(self, num_controls: int = 1, ctrl_state: int | str | None = None) -> Circuit:
        """Return the circuit under controls: qubits 0 to num_controls - 1; the others move up."""
        if not isinstance(num_controls, int) or num_controls < 1:
            raise CircuitError(f"control needs at least one control, got {num_controls!r}.")
        state = checked_ctrl_state("control", ctrl_state, num_controls)
        controls = tuple(range(num_controls))
        moved = [i.on(lambda q: q + num_controls) for i in self._unmeasured("control")]
        return self._like([i.controlled(controls, state) for i in moved], num_controls)

    def deep_clone(self) -> Circuit:
        """Return a circuit with Parameters of its own: same values, names and uuids."""
        return copy.deepcopy(self)

    # -- queries ---------------------------------------------------------------------------------

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The gates in order."""
        return tuple(self._instructions)

    @property
    def measured(self) -> dict[int, int]:
        """Which classical bit each measured qubit goes to."""
        return dict(self._measured)

    def __len__(self) -> int:
        return len(self._instructions)

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.instructions)

    def size(self) -> int:
        """Return the number of gates."""
        return len(self._instructions)

    def depth(self) -> int:
        """Return the length of the longest path through the gates."""
        level = [0] * self.num_qubits
        for instruction in self._instructions:
            qubits = instruction.qubits
            top = 1 + max([level[q] for q in qubits], default=0)
            for q in qubits:
                level[q] = top
        return max(level, default=0)

    def count_ops(self) -> dict[str, int]:
        """Return how often each gate occurs, most frequent first."""
        return dict(Counter(i.name for i in self._instructions).most_common())

    def register(self, *parameters: Parameter) -> Circuit:
        """Fix the order of Parameters before gates use them; known ones keep their place."""
        for parameter in parameters:
            if not isinstance(parameter, Parameter):
                raise BindingError(f"register needs Parameters, got {parameter!r}.")
            capture_angle(parameter if parameter.numel() == 1 else parameter[0], "register")
        self._leaves.register(parameters)
        self._compiled = None
        return self

    def parameters(self) -> list[Parameter]:
        """Return the Parameters of the angles, in registration order."""
        return list(self._leaves.parameters.values())

    def parameter_names(self) -> list[str]:
        """Return their names; unnamed ones are p0, p1, ..."""
        return self._leaves.names()

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The Inputs, in order of first use."""
        return tuple(self._leaves.inputs.values())

    @property
    def matrices(self) -> tuple[Tensor, ...]:
        """The matrix Tensors that ``unitary`` reads at each run."""
        carried = [i.payload for i in self._instructions]
        return tuple([p.tensor for p in carried if isinstance(p, TrainableMatrix)])

    def compiled(self) -> Compiled:
        """Return the snapshot that runs use; made again after a change."""
        if self._compiled is None:
            leaves = (*self._leaves.parameters.values(), *self._leaves.inputs.values())
            self._compiled = Compiled.build(self.num_qubits, self._instructions, leaves)
        return self._compiled

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return (
            f"Circuit({name}{self.num_qubits} qubits, {self.size()} gates, "
            f"{len(self._leaves.parameters)} parameters, {len(self._leaves.inputs)} inputs)"
        )


def _carried(row: Gate, payload: Any, size: int) -> Any:
    """Return the payload in its frozen form; a matrix Tensor stays one."""
    if row.payload is Payload.MATRIX and isinstance(payload, Tensor):
        shape = (1 << size, 1 << size)
        if payload.shape != shape or payload.dtype.kind != "c":
            raise GateError(
                f"{row.name} needs a complex matrix of shape {shape}, got {payload._label()}. "
                "Convert it with astype('complex128')."
            )
        matrix = TrainableMatrix(payload)
        matrix.value()
        return matrix
    return checked_payload(row, payload, size)


def _pairs(qubits: int | Sequence[int], clbits: int | Sequence[int]) -> list[tuple[int, int]]:
    left = [qubits] if isinstance(qubits, int) else list(qubits)
    right = [clbits] if isinstance(clbits, int) else list(clbits)
    if len(left) != len(right):
        raise MeasurementError(
            f"measure needs one classical bit a qubit, got {len(right)} for {len(left)}."
        )
    return list(zip(left, right, strict=True))


def _bindings(
    other: Circuit, bindings: Mapping[Parameter, Parameter]
) -> Callable[[Tensor], Tensor]:
    """Return which leaf stands for a leaf of the other circuit."""
    known = {id(p._meta): p for p in other.parameters()}
    found: dict[int, Tensor] = {}
    for old, new in bindings.items():
        if not isinstance(old, Parameter) or id(old._meta) not in known:
            raise BindingError(
                f"bindings need Parameters of the other circuit, got {old!r}. "
                f"It has {other.parameter_names()}."
            )
        if not isinstance(new, Parameter) or new.numel() != old.numel():
            raise BindingError(f"bindings need Parameters of the same size, got {new!r}.")
        found[id(old._meta)] = new
    return lambda leaf: found.get(id(leaf._meta), leaf)
