"""What hypothesis draws: programs, circuits, observables, and texts that are almost valid."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from random_circuits import (
    WITHOUT_INPUT,
    Expression,
    Placed,
    add_gate,
    embedded,
    least_width,
    local_matrix,
    random_payload,
)

import autodiff as ad
from autodiff import Parameter
from circuits import Circuit, Input, PauliSum
from circuits.gates import GATES

# Any in this file: data are what JSON gives.
Strategy = st.SearchStrategy

NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, 1, -1, 2**31, 2**63, -(2**63), 10**9, 10**30, 5e-324, 1e308, -0.0]),
    st.floats(),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=8))
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)

_WORDS = re.compile(r"\w+|\s+|.", re.DOTALL)
_ODD = [
    "9" * 30,
    "1e999",
    "-1",
    "0",
    "nan",
    '"',
    "/*",
    "//",
    "\0",
    "é",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
]


# -- texts -----------------------------------------------------------------------------------------


@st.composite
def mutated_texts(
    draw: st.DrawFn, valid: Sequence[str], words: Sequence[str] = (), most: int = 6
) -> str:
    """One of the texts with a few words replaced, removed, repeated, exchanged or put in.

    Args:
        draw: hypothesis gives it.
        valid: texts that a reader accepts.
        words: the language's own, besides those of the texts.
        most: number of changes.
    """
    parts = _WORDS.findall(draw(st.sampled_from(valid)))
    pool = [*words, *_ODD, *dict.fromkeys(w for text in valid for w in _WORDS.findall(text))]
    for _ in range(draw(st.integers(1, most))):
        if not parts:
            break
        at = draw(st.integers(0, len(parts) - 1))
        size = draw(st.integers(1, 8))
        new = st.one_of(st.sampled_from(pool), st.text(max_size=3))
        match draw(st.sampled_from(["replace", "remove", "repeat", "insert", "move"])):
            case "replace":
                parts[at] = draw(new)
            case "remove":
                del parts[at : at + size]
            case "repeat":
                parts[at:at] = parts[at : at + size] * draw(st.integers(1, 4))
            case "insert":
                parts.insert(at, draw(new))
            case _:
                taken = parts[at : at + size]
                del parts[at : at + size]
                to = draw(st.integers(0, len(parts)))
                parts[to:to] = taken
    return "".join(parts)


# -- trees -----------------------------------------------------------------------------------------


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of nested lists and dictionaries."""
    waiting = [data]
    while waiting:
        held = waiting.pop()
        keys = range(len(held)) if isinstance(held, list) else held
        for key in keys:
            yield held, key
            if isinstance(held[key], list | dict):
                waiting.append(held[key])


@st.composite
def mutated_data(draw: st.DrawFn, valid: Callable[[], Any], most: int = 4) -> Any:
    """Nested data with a few values replaced, removed, repeated or taken from elsewhere in them.

    Args:
        draw: hypothesis gives it.
        valid: makes fresh data that a reader accepts.
        most: number of changes.
    """
    data = {"data": valid()}
    for _ in range(draw(st.integers(1, most))):
        spots = list(places(data))
        held, key = spots[draw(st.integers(0, len(spots) - 1))]
        match draw(st.sampled_from(["scalar", "tree", "other", "nudge", "remove", "repeat"])):
            case "scalar":
                held[key] = draw(SCALARS)
            case "tree":
                held[key] = draw(JSON)
            case "other":
                source, name = spots[draw(st.integers(0, len(spots) - 1))]
                held[key] = copy.deepcopy(source[name])
            case "nudge" if isinstance(held[key], int) and not isinstance(held[key], bool):
                held[key] += draw(st.sampled_from([-2, -1, 1, 2, 2**40]))
            case "remove" if held is not data:
                del held[key]
            case "repeat" if isinstance(held, list):
                held.insert(key, copy.deepcopy(held[key]))
    return data["data"]


# -- tensor programs -------------------------------------------------------------------------------

# A step takes (module, x) or (module, x, y), the module being numpy or autodiff, and is smooth
# wherever |x| <= 1. Complex operands come in, too: no step needs an order.
UNARY: dict[str, Callable[..., Any]] = {
    "sin": lambda m, x: m.sin(x),
    "cos": lambda m, x: m.cos(2 * x),
    "exp": lambda m, x: m.exp(-x),
    "tanh": lambda m, x: m.tanh(0.5 * x),
    "square": lambda m, x: x * x,
    "sqrt": lambda m, x: m.sqrt(x + 2.5),
    "log": lambda m, x: m.log(3 - x),
    "reciprocal": lambda m, x: 1 / (2 + 0.5 * x),
    "conj": lambda m, x: m.conj(x),
    "real": lambda m, x: m.real(x) + m.imag(x * 1j),
    "imag": lambda m, x: m.imag(x * (1 + 2j)),
    "modulus": lambda m, x: m.abs(x + 2),
    "sum": lambda m, x: m.sum(x, axis=0, keepdims=True) / 3,
    "mean": lambda m, x: m.mean(x, axis=1) if x.ndim > 1 else x,
    "cumsum": lambda m, x: m.cumsum(x, axis=-1) / 4,
    "transpose": lambda m, x: m.transpose(x),
    "flip": lambda m, x: m.flip(x, axis=0),
    "roll": lambda m, x: m.roll(x, 1, axis=-1),
    "ravel": lambda m, x: m.reshape(x, (-1,)),
    "pick": lambda m, x: x[..., [0, -1, 0]],
    "slice": lambda m, x: x[::-1],
    "stack": lambda m, x: m.stack([x, 0.5 * x], axis=0)[1],
    "trace": lambda m, x: m.expand_dims(m.trace(x), 0) if x.ndim == 2 else x,
}
BINARY: dict[str, Callable[..., Any]] = {
    "add": lambda m, x, y: x + _fitting(m, x, y),
    "subtract": lambda m, x, y: 0.5 * x - _fitting(m, x, y),
    "multiply": lambda m, x, y: x * _fitting(m, x, y),
    "divide": lambda m, x, y: x / (3 + _fitting(m, x, y)),
    "where": lambda m, x, y: m.where(np.arange(x.shape[-1]) % 2 == 0, x, _fitting(m, x, y)),
    "outer": lambda m, x, y: m.outer(x.reshape(-1)[:3], y.reshape(-1)[:2]),
    "matmul": lambda m, x, y: m.matmul(x.reshape(-1, 1)[:2], y.reshape(1, -1)[:, :3]),
    "kron": lambda m, x, y: m.kron(x.reshape(-1)[:2], y.reshape(-1)[:2]),
    "vdot": lambda m, x, y: m.expand_dims(m.vdot(x, m.broadcast_to(_first(y), x.shape)), 0) / 9,
    "concatenate": lambda m, x, y: m.concatenate([x.reshape(-1)[:4], y.reshape(-1)[:4]], axis=0),
}


def _first(x: Any) -> Any:
    return x.reshape(-1)[:1]


def _fitting(m: Any, x: Any, y: Any) -> Any:
    """Return y where it broadcasts with x, else its first element."""
    pairs = zip(x.shape[::-1], y.shape[::-1], strict=False)
    return y if all(a == b or 1 in (a, b) for a, b in pairs) else _first(y)


@dataclass(frozen=True)
class TensorProgram:
    """Leaves, and steps that each take earlier values by position."""

    leaves: list[NDArray[Any]]
    steps: list[tuple[str, tuple[int, ...]]]

    def run(self, module: Any, leaves: Sequence[Any]) -> Any:
        """The real, weighted sum of the last value; everything stays of the order of 1."""
        values = list(leaves)
        for name, places in self.steps:
            function = UNARY.get(name) or BINARY[name]
            made = function(module, *[values[k] for k in places])
            values.append(made / (1 + module.real(made * module.conj(made))))
        last = values[-1]
        weights = np.cos(1 + np.arange(prod(last.shape))).reshape(last.shape)
        return module.real((weights * (1 - 0.7j) * last).sum())


@st.composite
def tensor_programs(draw: st.DrawFn) -> TensorProgram:
    """Up to three leaves, real and complex, and up to eight steps."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shapes = draw(st.lists(st.sampled_from([(3,), (2, 3), (3, 3), (1, 3)]), min_size=1, max_size=3))
    leaves: list[NDArray[Any]] = []
    for shape in shapes:
        value = rng.uniform(-1, 1, shape)
        leaves.append(value + 1j * rng.uniform(-1, 1, shape) if draw(st.booleans()) else value)
    names = st.one_of(st.sampled_from(sorted(UNARY)), st.sampled_from(sorted(BINARY)))
    steps: list[tuple[str, tuple[int, ...]]] = []
    for position in range(draw(st.integers(1, 8))):
        name = draw(names)
        last = len(leaves) + position - 1
        places = st.integers(max(0, last - 3), last)
        steps.append((name, (draw(places),) if name in UNARY else (draw(places), draw(places))))
    return TensorProgram(leaves, steps)


# -- circuits --------------------------------------------------------------------------------------

_WIDTHS = st.integers(1, 4)
ANGLES = st.one_of(
    st.floats(-7, 7), st.sampled_from([0.0, -0.0, np.pi, -np.pi / 2, 1e-9, 5e-324, 99.5])
)


@st.composite
def placed_gates(draw: st.DrawFn, width: int) -> Placed:
    """A row of the gate table on drawn qubits, with up to two more controls, and numbers."""
    fitting = [row for row in GATES.values() if least_width(row) <= width]
    row = draw(st.sampled_from(fitting))
    order = draw(st.permutations(range(width)))
    own, size = row.num_controls, row.num_qubits
    if size is None:
        size = draw(st.integers(1, min(3, width)))
    least = 1 if own is None else own
    extra = draw(st.integers(0, min(2, width - size - least)))
    count = least + extra
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return Placed(
        row,
        list(order[:size]),
        list(order[size : size + count]),
        draw(st.integers(0, (1 << count) - 1)),
        [draw(ANGLES) for _ in row.params],
        random_payload(rng, row, size),
    )


@dataclass(frozen=True)
class DrawnCircuit:
    """A circuit, and its gates for a dense reference."""

    circuit: Circuit
    gates: list[Placed]

    def matrix(self) -> NDArray[np.complex128]:
        """The unitary from definitions, without the package's engines and plans."""
        total = np.eye(1 << self.circuit.num_qubits, dtype=complex)
        for gate in self.gates:
            local = local_matrix(gate, gate.values(np.zeros(8)))
            total = embedded(self.circuit.num_qubits, gate, local) @ total
        return total

    def __repr__(self) -> str:
        shown = [
            f"{g.row.name}{g.angles} on {g.controls}={g.state}, {g.targets}" for g in self.gates
        ]
        return f"{self.circuit.num_qubits} qubits: " + "; ".join(shown)


@st.composite
def circuits(
    draw: st.DrawFn, width: st.SearchStrategy[int] = _WIDTHS, most: int = 6
) -> DrawnCircuit:
    """Up to ``most`` gates of the table on 1 to 4 qubits, or on a drawn width."""
    n = draw(width)
    gates = draw(st.lists(placed_gates(n), max_size=most))
    return DrawnCircuit(circuit_of(n, gates), gates)


def circuit_of(width: int, gates: Sequence[Placed]) -> Circuit:
    """The circuit of placed gates whose angles are numbers."""
    circuit = Circuit(width)
    for gate in gates:
        add_gate(circuit, gate, gate.angles)
    return circuit


# -- observables -----------------------------------------------------------------------------------


@st.composite
def pauli_sums(draw: st.DrawFn, width: int = 3) -> PauliSum:
    """Up to five words with coefficients that are multiples of 1/8, so that sums are exact."""
    labels = st.text("IXYZ", min_size=width, max_size=width)
    eighths = st.integers(-16, 16).map(lambda k: k / 8)
    pairs = draw(st.lists(st.tuples(labels, eighths), min_size=1, max_size=5))
    return PauliSum.from_list(pairs)


# -- circuits with symbols, and states of training -------------------------------------------------

AFFINE: list[Expression] = [
    *WITHOUT_INPUT[:4],
    lambda m, a, b, w, x: -a,
    lambda m, a, b, w, x: b / 3 - 0.125 * w[0] + 1e-3,
]


@st.composite
def symbolic_circuits(draw: st.DrawFn, expressions: Sequence[Expression]) -> Circuit:
    """Gates without payload on three qubits, their angles drawn from expressions of Parameters.

    Parameters are a, b and w, which has three elements, like the Input x.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    a, b = Parameter(rng.normal(), name="a"), Parameter(rng.normal(), name="b")
    w, x = Parameter(rng.normal(size=3), name="w"), Input("x", 3)
    circuit = Circuit(3)
    for gate in draw(st.lists(placed_gates(3), max_size=6)):
        if gate.row.payload is None:
            angles = [draw(st.sampled_from(expressions))(ad, a, b, w, x) for _ in gate.row.params]
            add_gate(circuit, gate, angles)
    return circuit


STATES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.complex_numbers(),
        st.text(),
        arrays.arrays(
            st.sampled_from(["f4", "f8", "c8", "c16", "i8", "u1", "?", ">f8"]),
            arrays.array_shapes(min_dims=0, min_side=0, max_dims=3, max_side=3),
        ),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.text(max_size=6), inner, max_size=4),
    ),
    max_leaves=10,
)
"""What a checkpoint holds."""
