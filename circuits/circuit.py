"""Circuit: a list of instructions, and the Parameters and Inputs in their angles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from autodiff import Parameter, Tensor
from circuits import idle_qubits
from circuits.angle_gradients import AngleGradMethods
from circuits.angles import Angle, Input, checked_leaf
from circuits.compiled import Compiled
from circuits.description import describe, identities
from circuits.drawing.methods import DrawMethods
from circuits.errors import BindingError, CircuitError, GateError, MeasurementError, QubitError
from circuits.gate_row import Gate
from circuits.gates import gate as find_gate
from circuits.instruction import (
    Instruction,
    TrainableMatrix,
    checked_count,
    checked_ctrl_state,
    checked_instruction,
    checked_name,
    checked_qubits,
    listed,
)
from circuits.jacobian_method import JacobianMethod
from circuits.leaves import Leaves
from circuits.measurements import Measurements
from circuits.plan_methods import PlanMethods
from circuits.run_methods import RunMethods
from circuits.serialize import clone, from_text, pickled, to_text

if TYPE_CHECKING:
    from circuits.gate_methods import GateMethods as _GateMethods
else:
    _GateMethods = object


class Circuit(RunMethods, PlanMethods, JacobianMethod, AngleGradMethods, DrawMethods, _GateMethods):
    """A parametrised quantum circuit on ``num_qubits`` qubits that start in |0...0>.

    Every gate of the table is a method, angles first: ``qc.rx(theta, 0)``. Gate calls return the
    circuit, so that they chain. Angles are numbers, Parameters, Input elements or expressions.

    Args:
        num_qubits: width, at least 0.
        name: shown in drawings and messages.

    Raises:
        QubitError: a width that is no integer from 0 on. CircuitError: a name that is no text.

    Example:
        >>> theta = Parameter(0.3, name="theta")
        >>> qc = Circuit(2).h(0).cx(0, 1).ry(2 * theta, 1)
        >>> qc.count_ops()
        {'h': 1, 'cx': 1, 'ry': 1}
    """

    def __init__(self, num_qubits: int, name: str | None = None) -> None:
        self.num_qubits = checked_count(
            num_qubits, 0, "Circuit needs a number of qubits", QubitError
        )
        self.name = checked_name(name)
        self.import_report: Any = None  # Any: what an importer says of where it came from
        self._instructions: list[Instruction] = []
        self.leaves = Leaves()  # registered Parameters and Inputs
        self._measurements = Measurements()
        self._compiled: Compiled | None = None

    def append(
        self,
        gate: str | Gate | Circuit,
        qubits: int | Sequence[int],
        angles: Any = (),  # Any: numbers, Parameters, expressions; see capture_angle
        *,
        payload: Any = None,  # Any: a matrix, diagonal, pattern or label, as the gate wants
        controls: int | Sequence[int] = (),
        ctrl_state: int | str | None = None,
    ) -> Circuit:
        """Append a gate by name or row, or another circuit, and return self.

        Args:
            gate: a name such as ``"crx"``, a row of the gate table, or a Circuit.
            qubits: the gate's own controls first, then its targets, least significant first.
            angles: one for each of the gate's parameters, in radians; a single one needs no list.
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
            extras = (payload, ctrl_state)
            if listed(angles) or listed(controls) or any(x is not None for x in extras):
                raise GateError("append of a circuit needs qubits only. Use control() first.")
            return self.compose(gate, listed(qubits))
        row = gate if isinstance(gate, Gate) else find_gate(gate)
        given = (listed(qubits), listed(angles), payload, listed(controls), ctrl_state)
        return self.extend([checked_instruction(row, *given, self.num_qubits)])

    def extend(self, instructions: Sequence[Instruction], order: Sequence[Tensor] = ()) -> Circuit:
        """Append checked instructions, all or none; of their leaves, register ``order`` first."""
        self._measurements.refuse_measured(instructions)
        angles = [a for i in instructions for a in i.angles if isinstance(a, Angle)]
        used = [leaf for angle in angles for leaf in angle.leaves]
        if order:
            known = {id(leaf._meta) for leaf in used}
            used = [*(leaf for leaf in order if id(leaf._meta) in known), *used]
        leaf_of = self.leaves.register(used)
        if leaf_of:
            instructions = [
                i.substitute(lambda x: leaf_of.get(id(x._meta), x)) for i in instructions
            ]
        self._instructions.extend(instructions)
        self._compiled = None
        return self

    def compose(
        self,
        other: Circuit,
        qubits: Sequence[int] | None = None,
        bindings: Mapping[Parameter | str, Parameter] | None = None,
    ) -> Circuit:
        """Append another circuit's gates and return self.

        Args:
            other: a circuit of at most this width.
            qubits: where its qubit k goes; by default to qubit k.
            bindings: for some of its Parameters, or their names, which Parameter stands in their
                place here.

        Raises:
            GateError: no circuit. QubitError: bad qubits.
            BindingError: bindings for Parameters that it lacks, to no Parameter, or another shape.
        """
        if not isinstance(other, Circuit):
            raise GateError(f"compose needs a Circuit, got {other!r:.40}. See append, from_qiskit.")
        where = range(other.num_qubits) if qubits is None else listed(qubits)
        if len(where) != other.num_qubits:
            raise QubitError(
                f"compose needs {other.num_qubits} qubits, got {len(where)}. Name one for each."
            )
        places = checked_qubits("compose", where, self.num_qubits)
        swap = other.leaves.substitution(bindings or {})
        moved = [i.on(places.__getitem__).substitute(swap) for i in other._instructions]
        self._measurements.refuse_measured(moved)
        measurements = self._measurements.joined(other.measured, places, self.num_qubits)
        self.extend(moved, [swap(p) for p in other.parameters()])
        self._measurements = measurements
        return self

    def barrier(self, *qubits: int | Sequence[int]) -> Circuit:
        """Do nothing: a simulator has no use for barriers, scripts may keep theirs."""
        checked_qubits("barrier", [q for part in qubits for q in listed(part)], self.num_qubits)
        return self

    def measure(self, qubits: int | Sequence[int], clbits: int | Sequence[int]) -> Circuit:
        """Say which classical bits ``counts`` writes each qubit to. No gate may follow on it.

        >>> Circuit(2).x(1).measure(1, 0).counts(3, seed=0, engine="reference")
        {'1': 3}
        """
        self._measurements.add(listed(qubits), listed(clbits), self.num_qubits)
        return self

    def measure_all(self) -> Circuit:
        """Measure qubit k into classical bit k, for all of them."""
        return self.measure(range(self.num_qubits), range(self.num_qubits))

    def reset(self, *qubits: int) -> Circuit:
        """Refuse: resets need a density matrix or trajectories.

        Raises:
            MeasurementError: always.
        """
        raise MeasurementError(
            f"a circuit needs gates, got reset on {qubits}, which is not unitary. Start another "
            "circuit, or use a fresh qubit in place of the one that was reset."
        )

    def unitary(
        self,
        matrix: Any = None,  # Any: array-like, or a complex Tensor that gets a gradient
        qubits: int | Sequence[int] | None = None,
        *,
        controls: int | Sequence[int] = (),
        ctrl_state: int | str | None = None,
        **options: Any,  # Any: the run methods' keyword arguments
    ) -> Any:  # Any: a Circuit with arguments, a Tensor without
        """Append a unitary matrix on qubits; without arguments, return the circuit's own matrix.

        Args:
            matrix: ``(2**k, 2**k)``, the first qubit least significant. A complex Tensor is read,
                checked and differentiated at each run.
            qubits: k qubits.
            controls: control qubits.
            ctrl_state: what they must hold; see ``append``.
            options: the run methods' keyword arguments, without ``matrix``.

        Returns:
            The circuit, or the matrix ``(2**n, 2**n)``.

        >>> Circuit(1).unitary([[0, 1], [1, 0]], 0).unitary(engine="reference").real.tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        """
        if matrix is None:
            return self.unitary_matrix(**options)
        if options or qubits is None:
            raise GateError(
                f"unitary needs a matrix and qubits, got qubits {qubits} and {sorted(options)}. "
                "Options belong to run methods."
            )
        return self.append(
            "unitary", qubits, payload=matrix, controls=controls, ctrl_state=ctrl_state
        )

    # -- derived circuits ------------------------------------------------------------------------

    def _like(self, instructions: Iterable[Instruction], extra: int = 0) -> Circuit:
        made = Circuit(self.num_qubits + extra, self.name)
        made.leaves = self.leaves.copy()
        made._instructions = list(instructions)
        return made

    def inverse(self) -> Circuit:
        """Return the circuit that undoes this one."""
        self._measurements.refuse_any("inverse")
        return self._like([i.inverse() for i in reversed(self._instructions)])

    def power(self, exponent: int) -> Circuit:
        """Return the circuit applied ``exponent`` times; negative ones repeat the inverse."""
        self._measurements.refuse_any("power")
        times = checked_count(exponent, None, "power needs an integer", CircuitError)
        base = self if times >= 0 else self.inverse()
        return base._like(base._instructions * abs(times))

    def repeat(self, count: int) -> Circuit:
        """Return the circuit applied ``count`` times, 0 or more."""
        return self.power(checked_count(count, 0, "repeat needs a count", CircuitError))

    def control(self, num_controls: int = 1, ctrl_state: int | str | None = None) -> Circuit:
        """Return the circuit under controls: qubits 0 to num_controls - 1; the others move up.

        Args:
            num_controls: 1 or more.
            ctrl_state: what the controls must hold: bits as an int, or text q[k-1]...q[0].
        """
        self._measurements.refuse_any("control")
        count = checked_count(num_controls, 1, "control needs a number of controls", CircuitError)
        state = checked_ctrl_state("control", ctrl_state, count)
        moved = [i.on(lambda q: q + count) for i in self._instructions]
        return self._like([i.controlled(range(count), state) for i in moved], count)

    def copy(self) -> Circuit:
        """Return a circuit of its own with the same gates and the same Parameters."""
        made = self._like(self._instructions)
        made._measurements = Measurements(self.measured)
        made.import_report = self.import_report
        return made

    __copy__ = copy
    used_qubits = idle_qubits.used_qubits
    without_idle_qubits = idle_qubits.without_idle_qubits

    def deep_clone(self) -> Circuit:
        """Return a circuit with Parameters of its own: same values, names and uuids.

        >>> p = Parameter(0.5, name="t")
        >>> clone = Circuit(1).rx(p, 0).deep_clone().assign({p: 1.0})
        >>> p.item(), clone.parameters()[0].item()
        (0.5, 1.0)
        """
        return deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Circuit:  # Any: deepcopy's record
        return clone(self, memo)

    # -- comparison and storage ------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Whether gates, angles, measurements and Parameters (by uuid) are the same."""
        if not isinstance(other, Circuit):
            return NotImplemented
        same = identities(self) == identities(other)
        return same and describe(self) == describe(other)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __reduce__(self) -> tuple[Any, ...]:  # Any: pickle's protocol
        return pickled(self)

    def to_json(self) -> str:
        """Return the circuit as JSON text, with its Parameters' values, names and uuids.

        Raises:
            ConversionError: a gate or an op that stands in no table, or a computed matrix Tensor.

        >>> qc = Circuit(1).rx(2 * Parameter(0.5, name="t"), 0)
        >>> Circuit.from_json(qc.to_json()) == qc
        True
        """
        return to_text(self)

    @classmethod
    def from_json(cls, text: str) -> Circuit:
        """Return the circuit of a text that ``to_json`` wrote; nothing in the text is executed.

        Raises:
            CircuitError: ``ConversionError`` for what is no such text, others for what it says.
        """
        return from_text(cls, text)

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The gates in order."""
        return tuple(self._instructions)

    @property
    def measured(self) -> dict[int, int]:
        """The qubit that each classical bit reads; two bits may read one qubit."""
        return dict(self._measurements.qubits)

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
                raise BindingError(
                    f"register needs Parameters, got {parameter!r:.60}. Wrap it: Parameter(0.1)."
                )
            checked_leaf(parameter, "register")
        self.leaves.register(parameters)
        self._compiled = None
        return self

    def parameters(self) -> list[Parameter]:
        """Return the Parameters of the angles, in registration order."""
        return list(self.leaves.parameters.values())

    def parameter_names(self) -> list[str]:
        """Return their names; unnamed ones are p0, p1, ..."""
        return self.leaves.names()

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The Inputs, in order of first use."""
        return tuple(self.leaves.inputs.values())

    @property
    def matrices(self) -> tuple[Tensor, ...]:
        """The matrix Tensors that ``unitary`` reads at each run."""
        carried = [i.payload for i in self._instructions]
        return tuple([p.tensor for p in carried if isinstance(p, TrainableMatrix)])

    def compiled(self) -> Compiled:
        """Return the snapshot that runs use; made again after a change."""
        if self._compiled is None:
            leaves = (*self.leaves.parameters.values(), *self.leaves.inputs.values())
            self._compiled = Compiled.build(self.num_qubits, self._instructions, leaves)
        return self._compiled

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return (
            f"Circuit({name}{self.num_qubits} qubits, {self.size()} gates, "
            f"{len(self.leaves.parameters)} parameters, {len(self.leaves.inputs)} inputs)"
        )
