"""L-BFGS: a quasi-Newton method that remembers its last steps instead of a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np

from autodiff import Parameter, Tensor, enable_grad
from qml.errors import StateDictError
from qml.optim.base import Closure, Optimizer, StepCounts, required_closure
from qml.optim.line_search import LineSearch, Point
from qml.optim.real_vector import RealVector, RealVectorArray
from qml.settings import Check, choice, optional, real, whole
from qml.state_forms import check_form, check_list, check_mapping

# Any in this file: settings and state, as in ``base``.

CURVATURE = 1e-10
"""A step whose y.s is not above this says nothing of the curvature and is not remembered."""


@dataclass
class Memory:
    """What is remembered between iterations.

    Attributes:
        members: positions of the Parameters that the vectors below consist of.
        iterations: how many there were with these members.
        evaluations: of the closure, by these iterations.
        moves: the last steps s, oldest first, each ``(N,)``.
        changes: the gradient's change y over each of them.
        move: the newest step, whose y is not known yet.
        gradient: where that step started.
    """

    members: list[int] = field(default_factory=list)
    iterations: int = 0
    evaluations: int = 0
    moves: list[RealVectorArray] = field(default_factory=list)
    changes: list[RealVectorArray] = field(default_factory=list)
    move: RealVectorArray = field(default_factory=lambda: np.zeros(0))
    gradient: RealVectorArray = field(default_factory=lambda: np.zeros(0))

    def copy(self) -> Memory:
        """Return a copy that can be changed; the vectors never are."""
        return replace(
            self,
            members=list(self.members),
            moves=list(self.moves),
            changes=list(self.changes),
        )

    def take_in(self, gradient: RealVectorArray, history_size: int) -> None:
        """Remember the newest step, once, now that the gradient after it is known."""
        if self.iterations > 0:
            change = gradient - self.gradient
            if change @ self.move > CURVATURE:
                self.moves = [*self.moves, self.move][-history_size:]
                self.changes = [*self.changes, change][-history_size:]
        self.gradient, self.move = gradient, np.zeros_like(gradient)

    def direction(self, gradient: RealVectorArray) -> RealVectorArray:
        """Return -H g by the two loops of Nocedal and Wright, algorithm 7.4."""
        rest = -gradient
        shares = []
        for move, change in zip(reversed(self.moves), reversed(self.changes), strict=True):
            share = (move @ rest) / (change @ move)
            rest = rest - share * change
            shares.append(share)
        if self.moves:
            move, change = self.moves[-1], self.changes[-1]
            rest = rest * ((change @ move) / (change @ change))
        for move, change, share in zip(self.moves, self.changes, reversed(shares), strict=True):
            rest = rest + (share - (change @ rest) / (change @ move)) * move
        return rest


class LBFGS(Optimizer):
    """Limited-memory BFGS, by PyTorch's rules and with its options.

        d = -H g,  H from the last steps s and the gradient's changes y over them
        p <- p + t d,  t = lr, in the first iteration min(1, 1 / |g|_1) lr, or what the line search
                       finds from there

    One ``step`` makes up to ``max_iter`` such iterations and calls the closure several times.
    Complex Parameters count as real and imaginary part. Everything but the closure happens on the
    host in double precision, also for float32 Parameters, which PyTorch treats in single precision.
    When a Parameter is frozen or unfrozen, the memory starts anew.

    Args:
        params: Parameters; see ``Optimizer``.
        lr: first step length of every iteration, at least 0.
        max_iter: iterations a step.
        max_eval: a step ends after so many evaluations; None for 5/4 max_iter.
        tolerance_grad: a step ends where no derivative is larger.
        tolerance_change: a step ends when Parameters or loss change less.
        history_size: number of steps that are remembered.
        line_search_fn: None for the fixed length, or ``"strong_wolfe"``.

    Raises:
        ParameterError: no Parameters, something else among them, or one of them twice.
        SettingError: a setting outside its range.

    Example:
        >>> p = Parameter(3.0)
        >>> optimizer = LBFGS([p], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = (p - 1.0) ** 2
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure).loss.item(), round(p.item(), 6)
        (4.0, 1.0)

    Reference:
        Liu and Nocedal (1989), "On the limited memory BFGS method for large scale optimization",
        Mathematical Programming 45, 503.
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "lr": real(0.0),
        "max_iter": whole(1),
        "max_eval": optional(whole(1)),
        "tolerance_grad": real(0.0),
        "tolerance_change": real(0.0),
        "history_size": whole(1),
        "line_search_fn": choice(None, "strong_wolfe"),
    }

    def __init__(
        self,
        params: Iterable[Parameter],
        lr: float = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        settings = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, settings)
        self._memory = Memory()

    def step(self, closure: Closure | None = None) -> StepCounts:
        """Make up to ``max_iter`` iterations. If the closure raises, nothing is changed.

        Args:
            closure: clears the gradients, computes the loss, calls backward and returns the loss.

        Returns:
            How many Parameters were updated and skipped, and the closure's loss before the update.
        """
        closure = required_closure("LBFGS", closure)
        members = [k for k, p in enumerate(self.parameters) if p.trainable]
        vector = RealVector([self.parameters[k] for k in members])
        kept = self._memory.members == members
        memory = self._memory.copy() if kept else Memory(members)
        start, finished = vector.values(), False
        try:
            run = _Run(self._settings, vector, closure, memory)
            run.iterate()
            self._memory = memory
            finished = True
        finally:
            if not finished:
                vector.set_values(start)
        seen = sum(p.grad is not None for p in vector.parameters)
        frozen = len(self.parameters) - len(members)
        return StepCounts(seen if run.moved else 0, frozen, len(members) - seen, run.loss)

    # -- saved state -----------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        memory = self._memory.copy()
        return {entry.name: getattr(memory, entry.name) for entry in fields(memory)}

    def _set_state(self, saved: Any) -> None:
        what, names = "LBFGS: the state", [entry.name for entry in fields(Memory)]
        check_mapping(what, saved)
        if sorted(saved) != sorted(names):
            raise StateDictError(
                f"LBFGS needs a state of {names}, got {sorted(saved)}. Save it again."
            )
        for name in ("members", "moves", "changes"):
            check_list(f"{what}[{name!r}]", saved[name])
        count = whole(0)
        members = [count(f"{what}['members']", k) for k in saved["members"]]
        known = all(k < len(self.parameters) for k in members)
        if not known or len(set(members)) < len(members):
            raise StateDictError(
                f"LBFGS needs the state of its own {len(self.parameters)} Parameters, got members "
                f"{members}. Load it into an optimizer of the same Parameters."
            )
        iterations, evaluations = [count(what, saved[x]) for x in ("iterations", "evaluations")]
        size = RealVector([self.parameters[k] for k in members]).size
        vector = np.zeros(size)
        check_form(f"{what}['moves']", saved["moves"], [vector] * len(saved["moves"]))
        check_form(f"{what}['changes']", saved["changes"], [vector] * len(saved["moves"]))
        last = vector if iterations else np.zeros(0)
        for name in ("move", "gradient"):
            check_form(f"{what}[{name!r}]", saved[name], last)
        self._memory = Memory(
            members,
            iterations,
            evaluations,
            [np.array(v, np.float64) for v in saved["moves"]],
            [np.array(v, np.float64) for v in saved["changes"]],
            np.array(saved["move"], np.float64),
            np.array(saved["gradient"], np.float64),
        )


class _Run:
    """One call of ``step``."""

    loss: Tensor
    moved = False

    def __init__(
        self, settings: Mapping[str, Any], vector: RealVector, closure: Closure, memory: Memory
    ) -> None:
        self._settings, self._vector, self._closure = settings, vector, closure
        self._memory = memory
        self._evaluations = 0

    def iterate(self) -> None:
        """Iterate until one of PyTorch's conditions says that it is enough."""
        settings, memory, vector = self._settings, self._memory, self._vector
        budget = settings["max_eval"] or settings["max_iter"] * 5 // 4
        self.loss = self._evaluate()
        x, value, gradient = vector.values(), self.loss.item(), vector.gradients()
        for iteration in range(settings["max_iter"]):
            if np.abs(gradient).max(initial=0.0) <= settings["tolerance_grad"]:
                break
            memory.take_in(gradient, settings["history_size"])
            direction = memory.direction(gradient)
            slope = float(gradient @ direction)
            if slope > -settings["tolerance_change"]:
                break
            last = iteration + 1 == settings["max_iter"]
            begin = Point(0.0, value, slope, gradient)
            reached = self._advance(x, direction, begin, last)
            memory.move = reached.t * direction
            memory.iterations += 1
            self.moved = True
            x = x + memory.move
            vector.set_values(x)
            change = abs(reached.value - value)
            value, gradient = reached.value, reached.gradient
            tolerance = settings["tolerance_change"]
            small = np.abs(memory.move).max() <= tolerance or change < tolerance
            if small or self._evaluations >= budget:
                break
        memory.evaluations += self._evaluations

    def _advance(
        self, x: RealVectorArray, direction: RealVectorArray, begin: Point, last: bool
    ) -> Point:
        """Return the Point that the iteration moves to."""

        def at(t: float) -> Point:
            self._vector.set_values(x + t * direction)
            loss = self._evaluate().item()
            gradient = self._vector.gradients()
            return Point(t, loss, float(gradient @ direction), gradient)

        first = self._settings["lr"]
        if self._memory.iterations == 0:
            first *= min(1.0, 1.0 / float(np.abs(begin.gradient).sum()))
        if self._settings["line_search_fn"] is not None and first > 0:
            shortest = self._settings["tolerance_change"] / float(np.abs(direction).max())
            return LineSearch(at, begin, shortest).run(first)
        # After the last iteration nobody asks for the loss.
        return replace(begin, t=first) if last else at(first)

    def _evaluate(self) -> Tensor:
        self._evaluations += 1
        with enable_grad():
            return self._closure()
