"""Circuit.plan: its memory is what a run takes, and what does not fit is refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from peak_memory import OBSERVABLE, layered, memory_of

from circuits import (
    CapacityError,
    Circuit,
    GateError,
    Tensor,
    Z,
    plan_methods,
)
from circuits.engines.numba_threads import get_num_threads, set_num_threads
from circuits.errors import BindingError, EngineError
from circuits.plan import memory


@pytest.fixture
def one_thread() -> Iterator[None]:
    """The forecast is of as many threads as the process has that is measured."""
    before = get_num_threads()
    set_num_threads(1)
    yield
    set_num_threads(before)


def test_validate_checks_the_matrices_that_may_have_changed() -> None:
    matrix = Tensor(np.eye(2, dtype=complex))
    circuit = Circuit(1).unitary(matrix, 0)
    assert circuit.validate() is circuit
    matrix.set_(2 * np.eye(2))
    with pytest.raises(GateError, match=r"unitary needs a unitary matrix, got one with .* 3\.0"):
        circuit.validate()


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(
    ("num_qubits", "batch", "engine", "single"),
    [
        (13, None, "numba", False),
        (15, None, "numba", False),
        (17, None, "numba", False),
        (18, None, "numba", True),
        (8, 512, "numba", False),
        (10, 256, "numba", True),
        (12, 64, "numba", False),
        (15, 8, "numba", False),
        (13, None, "reference", False),
        (10, 64, "reference", False),
    ],
)
def test_memory_is_what_a_run_takes(
    num_qubits: int, batch: int | None, engine: str, single: bool
) -> None:
    circuit = layered(num_qubits, 3, batched=batch is not None, single=single)
    inputs = None if batch is None else {"x": np.full((batch, num_qubits), 0.2)}
    forecast = circuit.plan(OBSERVABLE, inputs=inputs, engine=engine)
    measured = memory_of("gradient", num_qubits, batch, engine, single, 0).peak
    assert forecast.peak_bytes == pytest.approx(measured, rel=0.15)
    assert forecast.dtype == ("complex64" if single else "complex128")


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(
    ("num_qubits", "batch", "engine", "samples"),
    [
        (6, 4096, "numba", 512),  # mostly angles
        (10, 256, "numba", 50),
        (12, 64, "numba", 10),
        (15, 8, "numba", 3),
        (15, 8, "numba", 1),
        (10, 64, "reference", 10),
        (13, 16, "reference", 3),
    ],
)
def test_memory_of_blocks_is_what_a_run_takes(
    num_qubits: int, batch: int, engine: str, samples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    circuit = layered(num_qubits, 3, batched=True)
    inputs = {"x": np.full((batch, num_qubits), 0.2)}
    kept = circuit.plan(OBSERVABLE, inputs=inputs, engine=engine)
    assert kept.final_states == "kept"
    monkeypatch.setattr(memory, "UNCHECKED", 0)
    room = memory.KEPT_PART * samples * 16 << num_qubits
    monkeypatch.setattr(memory, "available_memory", lambda: room)
    monkeypatch.setattr(plan_methods, "require_memory", lambda *needed: None)
    forecast = circuit.plan(OBSERVABLE, inputs=inputs, engine=engine)
    assert forecast.final_states == f"recomputed in {-(-batch // samples)} blocks"
    measured = memory_of("gradient", num_qubits, batch, engine, False, room).peak
    assert forecast.peak_bytes == pytest.approx(measured, rel=0.15)
    assert forecast.peak_bytes < 0.7 * kept.peak_bytes


def test_a_state_is_not_recomputed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the result: whoever asks for it keeps it."""
    monkeypatch.setattr(memory, "UNCHECKED", 0)
    monkeypatch.setattr(memory, "available_memory", lambda: 8 * (16 << 12))
    assert layered(12, 1).plan(batch=3).final_states == "kept"
    assert layered(12, 1).plan(Z(0), batch=3).final_states == "recomputed in 2 blocks"


def test_a_batch_of_any_size_fits_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 1 << 30)
    forecast = layered(20, 1).plan(Z(0), batch=1000)
    assert forecast.final_states == "recomputed in 63 blocks"
    with pytest.raises(CapacityError, match=r"batch 1000, needs 15\.6 GiB"):
        layered(20, 1).plan(batch=1000)


RESIDENT = """
from pathlib import Path
import numpy as np
from circuits import Circuit, Parameter, X, set_num_threads
set_num_threads(1)
def most():
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
def run(n):
    circuit = Circuit(n)
    for q in range(n):
        circuit.ry(Parameter(0.1), q).cx(q, (q + 1) % n)
    start = np.full(1 << n, 2.0 ** (-n / 2), complex)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is now what is resident now
    before = most()  # with the array above; the run copies it
    circuit.expectation(X(0), initial_state=start).backward()
    return circuit.plan(X(0)).peak_bytes, most() - before
run(14)
print(*run(22))
"""


def test_memory_is_what_the_process_grows_by() -> None:
    command = [sys.executable, "-c", RESIDENT]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    predicted, measured = map(int, done.stdout.split())
    assert predicted == pytest.approx(measured, rel=0.15)


def test_layouts_by_width_and_batch() -> None:
    assert layered(12, 1).plan().layout == "one tile"
    assert layered(16, 1).plan().layout == "stages"
    assert layered(6, 1).plan(batch=9).layout == "one tile, lanes are samples"
    assert len(layered(16, 2).plan().stages) > 1
    assert len(layered(12, 1).plan().stages) == 1


def test_blocks_are_fused() -> None:
    forecast = layered(5, 2).plan(engine="numba")
    assert forecast.blocks == {"Turn": 10, "Cx": 10}
    assert layered(5, 2).plan(engine="reference").blocks == {"rotation": 20, "permutation": 10}


def test_batch_is_counted_from_the_inputs() -> None:
    circuit = layered(4, 1, batched=True)
    assert circuit.plan(inputs={"x": np.zeros((7, 4))}).batch == 7
    assert circuit.plan(inputs={"x": np.zeros(4)}).batch == 1
    assert circuit.plan(batch=7).batch == 7


def test_bad_arguments_are_refused() -> None:
    circuit = layered(4, 1, batched=True)
    with pytest.raises(BindingError, match="inputs or a batch, got both"):
        circuit.plan(inputs={"x": np.zeros(4)}, batch=2)
    with pytest.raises(BindingError, match="plan needs a batch"):
        circuit.plan(batch=0)
    with pytest.raises(BindingError, match="missing"):
        circuit.plan(inputs={})
    with pytest.raises(EngineError, match="complex64 or complex128"):
        circuit.plan(dtype="float32")


@pytest.mark.parametrize("num_qubits", [40, 200])
def test_what_no_machine_holds_is_refused(num_qubits: int) -> None:
    circuit = Circuit(num_qubits).h(0)
    with pytest.raises(
        CapacityError, match=rf"a run of {num_qubits} qubits, complex128.* got .*iB"
    ):
        circuit.plan(Z(0))
    with pytest.raises(CapacityError, match=rf"a run of {num_qubits} qubits, complex128"):
        circuit.expectation(Z(0))


def test_a_run_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "UNCHECKED", 0)
    monkeypatch.setattr(memory, "available_memory", lambda: 3 << 20)
    circuit = layered(16, 1)  # 1 MiB a state
    with pytest.raises(CapacityError, match=r"with its gradient needs .* got 3 MiB available"):
        circuit.plan(Z(0))
    batched = layered(12, 1, batched=True)
    with pytest.raises(CapacityError, match="a run's final states needs 4 MiB"):
        batched.statevector(inputs={"x": np.zeros((64, 12))})
