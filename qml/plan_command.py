"""``python -m qml plan FILE.qasm``: what would run, how much memory and how long it takes."""

from __future__ import annotations

import sys
from pathlib import Path

from autodiff import DeviceUnavailable
from circuits import Circuit, CircuitError, from_qasm
from qml.run_time import estimate_run_time, observed_word

REFUSED = 2
"""Exit status for a file or a run that is refused, as argparse has it for arguments."""


def run_plan(
    path: Path,
    batch: int | None = None,
    dtype: str | None = None,
    engine: str | None = None,
    device: str | None = None,
) -> int:
    """Print the plan of an OpenQASM 2 or 3 program, and return the exit status.

    Args:
        path: the file.
        batch: number of samples; None: a run without a batch axis.
        dtype: complex64 or complex128; None: by the circuit.
        engine: a name from the tables of engines; None: the device's default.
        device: where it would run; None: the CPU.
    """
    try:
        circuit = from_qasm(path)
        forecast = circuit.plan(
            observed_word(circuit.num_qubits),
            batch=batch,
            dtype=dtype,
            engine=engine,
            device=device,
        )
        seconds = estimate_run_time(circuit, batch, dtype, engine, device)
    except OSError as error:
        return _refused(
            f"plan needs a file that can be read, got {str(path)!r}: {error.strerror}. "
            "Check the path."
        )
    except (CircuitError, DeviceUnavailable) as error:
        return _refused(str(error))
    print(f"{'program':<13}{path}: {_contents(circuit)}")
    print(forecast)
    print(f"{'time':<13}{seconds}")
    return 0


def _contents(circuit: Circuit) -> str:
    """Say what a circuit consists of."""
    gates = ", ".join(f"{count} {name}" for name, count in circuit.count_ops().items())
    parameters = len(circuit.parameters())
    counted = "1 parameter" if parameters == 1 else f"{parameters} parameters"
    return f"{circuit.size()} gates" + (f" ({gates})" if gates else "") + f", {counted}"


def _refused(reason: str) -> int:
    print(f"python -m qml plan: error: {' '.join(reason.split())}", file=sys.stderr)
    return REFUSED
