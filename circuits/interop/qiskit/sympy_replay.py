"""Reads an expression through SymPy, where Qiskit's own list of operations is missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add, mul
from typing import Any

import autodiff as ad
from autodiff import Tensor
from circuits.interop.qiskit.refusal import Refusal

# Any in this file: SymPy's and Qiskit's expressions, numbers and Tensors.

_FUNCTIONS = {
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "exp": "exp",
    "log": "log",
    "Abs": "abs",
    "sign": "sign",
    "conjugate": "conj",
}


def replay_sympy(expression: Any, leaf: Callable[[Any], Any], unread: Refusal) -> Any:
    """Return the expression of what ``leaf`` gives for its Parameters.

    Args:
        expression: Qiskit's.
        leaf: what stands for a Parameter.
        unread: why the expression could not be read otherwise; raised if SymPy cannot, either.
    """
    by_name = {p.name: leaf(p) for p in expression.parameters}
    try:
        tree = expression.sympify()
    except (ImportError, ValueError) as error:
        raise unread from error
    if not hasattr(tree, "is_Symbol"):  # Qiskit 2.6 answers NotImplemented for 2**x
        raise unread
    return _read(tree, by_name)


def _read(tree: Any, by_name: dict[str, Any]) -> Any:
    if tree.is_Symbol:
        return by_name[tree.name]
    if tree.is_number:
        number = complex(tree)
        return number if number.imag else number.real
    kind = tree.func.__name__
    if kind == "im":  # symbols are real here, SymPy takes them for complex
        return 0.0
    operands = [_read(argument, by_name) for argument in tree.args]
    if kind == "re":
        return operands[0]
    if kind == "Add":
        return reduce(add, operands)
    if kind == "Mul":
        return reduce(mul, operands)
    if kind == "Pow":
        return operands[0] ** operands[1]
    if kind in _FUNCTIONS and isinstance(operands[0], Tensor):
        return getattr(ad, _FUNCTIONS[kind])(operands[0])
    raise Refusal(
        "expressions of + - * / ** and Qiskit's functions",
        "Bind its parameters before the import.",
        f"the function {kind} in {tree}",
    )
