"""The compiled kernels one by one, and how they are compiled and cached."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import programs
import pytest
from imports import imports
from numba.core.dispatcher import Dispatcher
from numpy.typing import NDArray
from sources import PACKAGES, ROOT, sources

from circuits.engines import numba_kernels as kernels

FILE = Path(kernels.__file__)
COMPILED = {name: v for name, v in vars(kernels).items() if isinstance(v, Dispatcher)}
N = 5


def instruction(**columns: int) -> NDArray[np.int64]:
    """A row of ``ops`` with the named columns set."""
    row = np.zeros(kernels.COLUMNS, np.int64)
    for name, value in columns.items():
        row[getattr(kernels, name)] = value
    return row


def pair(seed: int = 0, dtype: type[np.complexfloating] = np.complex128) -> list[NDArray[Any]]:
    """Two random states of N qubits."""
    return list(programs.random_state(np.random.default_rng(seed), 2, 1 << N).astype(dtype))


def held(pinned: int, value: int) -> NDArray[np.int64]:
    """The basis states that a kernel may touch."""
    basis = np.arange(1 << N)
    return basis[(basis & pinned) == value]


@pytest.mark.parametrize("touched", [0, 0b00001, 0b00110, 0b10000, 0b10101, 0b11111])
@pytest.mark.parametrize("held_bits", [0, 0b00001, 0b00100, 0b10100, 0b11111])
def test_runs_cover_every_free_index_once(touched: int, held_bits: int) -> None:
    run, rest, count = kernels._runs(touched | held_bits, held_bits, 1 << N)
    seen, i = [], 0
    for _ in range(count):
        seen += range(i, i + run)
        assert all(not (i ^ j) & (touched | held_bits) for j in range(i, i + run))
        i = ((i | rest) + 1) & ~rest
    assert seen == held(held_bits, 0).tolist()


@pytest.mark.parametrize(("pinned", "value"), [(0, 0), (0b1, 0b1), (0b11010, 0b01000)])
@pytest.mark.parametrize("z", [0, 0b00101, 0b10000])
def test_phase_and_its_undoing(pinned: int, value: int, z: int) -> None:
    psi, lam = pair()
    even, odd = np.exp(0.3j), np.exp(-1.1j)
    index = held(pinned, value)
    parity = np.bitwise_count(index & z) % 2 == 1
    expected, other = psi.copy(), lam.copy()
    expected[index] *= np.where(parity, odd, even)
    other[index] *= np.where(parity, odd, even)
    total = np.sum(np.where(parity, -1, 1) * lam[index].conj() * psi[index])
    applied = psi.copy()
    kernels._phase(applied, pinned, value, z, even, odd)
    np.testing.assert_allclose(applied, expected, atol=1e-15)
    overlap = kernels._unphase(psi, lam, pinned, value, z, even, odd)
    np.testing.assert_allclose(overlap, total, atol=1e-15)
    np.testing.assert_allclose([psi, lam], [expected, other], atol=1e-15)


@pytest.mark.parametrize(("pinned", "first", "second"), [(0b1, 0, 1), (0b1110, 0b10, 0b1100)])
def test_exchange(pinned: int, first: int, second: int) -> None:
    psi, _ = pair()
    expected = psi.copy()
    expected[held(pinned, first)] = psi[held(pinned, second)]
    expected[held(pinned, second)] = psi[held(pinned, first)]
    kernels._exchange(psi, pinned, first, second)
    np.testing.assert_array_equal(psi, expected)


@pytest.mark.parametrize(("pinned", "value"), [(0, 0), (0b01000, 0b01000), (0b01000, 0)])
@pytest.mark.parametrize(("x", "z"), [(1, 0), (1, 1), (0b10010, 0b00111), (0b10111, 0b10111)])
def test_rotation_and_its_undoing(pinned: int, value: int, x: int, z: int) -> None:
    psi, lam = pair()
    quarters = (x & z).bit_count() % 4
    op = instruction(PINNED=pinned, VALUE=value, X_MASK=x, Z_MASK=z, QUARTERS=quarters)
    index = held(pinned, value)
    word = 1j**quarters * np.where(np.bitwise_count((index ^ x) & z) % 2, -1, 1) * psi[index ^ x]
    expected = psi.copy()
    expected[index] = np.cos(0.35) * psi[index] - 1j * np.sin(0.35) * word
    before = psi.copy(), lam.copy()
    for state in (psi, lam):
        kernels._rotate(state, op, np.exp(0.35j))
    np.testing.assert_allclose(psi, expected, atol=1e-15)
    overlap = kernels._unrotate(psi, lam, op, np.exp(0.35j))
    np.testing.assert_allclose(overlap, np.vdot(before[1][index], word).imag, atol=1e-15)
    np.testing.assert_allclose([psi, lam], before, atol=1e-15)


@pytest.mark.parametrize("targets", [(0,), (3,), (1, 0), (4, 2), (2, 0, 4), ()])
def test_dense_and_its_undoing(targets: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(targets))
    size = 1 << len(targets)
    matrix = programs.random_unitary(rng, size)
    places = np.zeros(1, np.int64)
    for qubit in targets:
        places = np.concatenate([places, places | (1 << qubit)])
    pinned = int(places[-1])
    op = instruction(KIND=kernels.DENSE, PINNED=pinned, SIZE=size)
    index = places[:, None] | held(pinned, 0)
    psi, lam = pair()
    before = psi.copy(), lam.copy()
    buffers = kernels._buffers(psi[None], (size, size * size))
    for state in (psi, lam):
        kernels._apply(state, op, places, matrix.ravel(), False, buffers[0], buffers[1])
    np.testing.assert_allclose(psi[index], matrix @ before[0][index], atol=1e-14)
    env = np.einsum("ir,jr->ij", lam[index].conj(), before[0][index])
    actual = kernels._environment(psi, lam, op, places, matrix.ravel(), buffers)
    np.testing.assert_allclose(actual.reshape(size, size), env, atol=1e-14)
    np.testing.assert_allclose([psi, lam], before, atol=1e-14)


@pytest.mark.parametrize("low", [0, 0b1, 0b101000, 0b111111])
def test_transform_sums_over_signs(low: int) -> None:
    block = np.random.default_rng(0).normal(size=kernels.BLOCK)
    inside = np.array([j for j in range(kernels.BLOCK) if j & ~low == 0])
    signs = np.where(np.bitwise_count(inside[:, None] & inside) % 2, -1, 1)
    expected = block.copy()
    expected[inside] = signs @ block[inside]
    kernels._transform(block, low)
    np.testing.assert_allclose(block, expected, atol=1e-14)


def test_sums_of_single_precision_numbers_are_kept_in_double() -> None:
    ones = np.full(1 << 16, 1 / 256, np.complex64)
    op = instruction(X_MASK=1)
    overlap = kernels._unrotate((1j * ones).astype(np.complex64), ones, op, np.complex64(1))
    assert overlap == 1.0
    assert kernels._weight(ones, 0, 0) == 1.0


def test_kernels_are_cached_leave_the_lock_and_keep_to_ieee_arithmetic() -> None:
    assert {"forward", "reverse", "measure"} <= COMPILED.keys()
    for name, dispatcher in COMPILED.items():
        options = dispatcher.targetoptions
        assert options["nogil"], name
        assert not {"fastmath", "parallel"} & {k for k, v in options.items() if v}, name
        assert type(dispatcher._cache).__name__ == "FunctionCache", name


def test_every_compiled_function_is_in_the_one_file_that_calls_nothing_outside_it() -> None:
    """Numba takes a function from its cache if that function's own file is unchanged."""
    found = [(s, i) for s in sources(ROOT) for i in imports(s) if i.package == "numba"]
    assert {source.path.name for source, used in found if not used.lazy} == {FILE.name}
    (source,) = [s for s in sources(ROOT) if s.path.name == FILE.name]
    assert not {used.package for used in imports(source)} & set(PACKAGES)
    assert all(Path(d.py_func.__code__.co_filename) == FILE for d in COMPILED.values())


SCRIPT = """
import numpy as np, numba_kernels as kernels
state = np.ones(4, complex)
kernels._phase(state, 0, 0, 3, 1 + 0j, 5 + 0j)
print(state.real.astype(int).tolist(), sum(kernels._phase.stats.cache_hits.values()))
"""


def test_edited_callee_is_not_served_from_the_cache(tmp_path: Path) -> None:
    copy = tmp_path / FILE.name
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(text: str) -> str:
        if not copy.exists() or copy.read_text(encoding="utf-8") != text:
            copy.write_text(text, encoding="utf-8")
        command = [sys.executable, "-c", SCRIPT]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    text = FILE.read_text(encoding="utf-8")
    edited = text.replace("return _popcount(bits) & 1", "return 1 - _popcount(bits) & 1")
    assert edited != text
    assert run(text) == "[1, 5, 5, 1] 0"
    assert run(text) == "[1, 5, 5, 1] 1"
    assert run(edited) == "[5, 1, 1, 5] 0"
