"""How the import refuses: handlers say what is needed, the walker adds name, position, qubits."""

from __future__ import annotations

from circuits.errors import ConversionError


class Refusal(ConversionError):
    """What an instruction would have to be, and the remedy.

    Args:
        needs: what the import accepts, completing "from_qiskit needs ...".
        remedy: what the user can do, one or two sentences.
        detail: what exactly was met, where the instruction's name does not say it.
    """

    def __init__(self, needs: str, remedy: str, detail: str = "") -> None:
        super().__init__(f"needs {needs}. {remedy}")
        self.needs = needs
        self.remedy = remedy
        self.detail = detail


class RefusedInstruction(ConversionError):
    """What the import refused, with its place in words.

    Attributes:
        position: of the instruction in the circuit, -1 for the circuit itself.
    """

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


class Unread(Refusal):
    """An expression that one way of reading could not read; another may."""
