"""OpenQASM programs in and out; ``circuits.interop.qiskit`` does it, and is imported when used."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from circuits.circuit import Circuit
from circuits.errors import ConversionError
from circuits.interop.openqasm_scan import MAX_CHARACTERS, scan_program

VERSIONS = (2, 3)

# Any in this file: values and inputs, which ``from_qiskit`` checks.


def from_qasm(
    program: str | PathLike[str],
    *,
    inputs: Mapping[str, Any] | None = None,
    values: Any = None,
) -> Circuit:
    """Return the circuit of an OpenQASM 2 or 3 program.

    Version 2 is read strictly, then with the gates that Qiskit's older ``qelib1.inc`` had. In
    version 3 every ``input`` becomes a Parameter, and what ``to_qasm`` noted about names, values
    and Inputs is restored; it needs ``pip install qiskit-qasm3-import``. Includes are the standard
    ones only.

    Args:
        program: the text, or a ``Path`` to a file.
        inputs: which symbols are features; see ``from_qiskit``.
        values: start values of the others; see ``from_qiskit``.

    Raises:
        ConversionError: a program that is not valid, with line and column; one that is absurdly
            large, before anything is built; or what ``from_qiskit`` refuses.

    Example:
        >>> text = 'OPENQASM 2.0; include "qelib1.inc"; qreg q[2]; h q[0]; cx q[0], q[1];'
        >>> from_qasm(text).count_ops()
        {'h': 1, 'cx': 1}
    """
    text = _read(program) if isinstance(program, PathLike) else program
    version = scan_program(text)
    if version == 2:
        from circuits.interop.qiskit.openqasm2 import read_openqasm2

        return read_openqasm2(text, inputs, values)
    from circuits.interop.qiskit.openqasm3 import read_openqasm3

    return read_openqasm3(text, inputs, values)


def to_qasm(circuit: Circuit, version: int = 3) -> str:
    """Return the circuit as an OpenQASM program.

    Version 3 keeps symbols as ``input`` and affine angles exactly, the global phase too; a comment
    notes names, values and Inputs. Version 2 knows numbers only: the present values enter, and the
    global phase is lost.

    Args:
        circuit: a Circuit.
        version: 2 or 3.

    Raises:
        ConversionError: angles that are not affine, or Inputs in version 2.

    Example:
        >>> from circuits import Parameter
        >>> circuit = Circuit(1).rx(2 * Parameter(0.1, name="theta"), 0)
        >>> print(to_qasm(circuit).splitlines()[-1])
        rx(2.0*theta) q[0];
        >>> print(to_qasm(circuit, 2).splitlines()[-1])
        rx(0.2) q[0];
    """
    if not isinstance(circuit, Circuit) or version not in VERSIONS:
        raise ConversionError(
            f"to_qasm needs a Circuit and a version from {VERSIONS}, got "
            f"{type(circuit).__name__} and {version!r}. Use from_qiskit for Qiskit's circuits."
        )
    if version == 2:
        from circuits.interop.qiskit.openqasm2 import write_openqasm2

        return write_openqasm2(circuit)
    from circuits.interop.qiskit.openqasm3_writer import write_openqasm3

    return write_openqasm3(circuit)


def _read(path: PathLike[str]) -> str:
    file = Path(path)
    if file.stat().st_size > 4 * MAX_CHARACTERS:
        raise ConversionError(
            f"from_qasm needs a file of at most {4 * MAX_CHARACTERS} bytes, got {str(file)!r}. "
            "Take a part of it."
        )
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConversionError(
            f"from_qasm needs text in UTF-8, got {str(file)!r}: {error}. Save it as UTF-8."
        ) from error
