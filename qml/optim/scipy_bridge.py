"""SciPy's minimizers with our gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from autodiff import Parameter, enable_grad
from qml.errors import SettingError
from qml.optim.base import Closure, checked_parameters, required_closure
from qml.optim.real_vector import RealVector, RealVectorArray

# Any in this file: SciPy's options and its result.

GRADIENT_FREE = ("cobyla", "cobyqa", "nelder-mead", "powell")
"""Methods that SciPy calls without derivatives, in lower case."""


def minimize(
    closure: Closure, params: Iterable[Parameter], method: str = "L-BFGS-B", **options: Any
) -> Any:
    """Minimise a loss with ``scipy.optimize.minimize`` and leave the Parameters at the minimum.

    The trainable Parameters are SciPy's vector x, complex ones as real and imaginary part; frozen
    ones stay. If the closure raises, all are put back to where they were.

    Args:
        closure: clears the gradients, computes the loss, calls backward and returns the loss; for
            a method without derivatives it need not call backward.
        params: Parameters, such as ``circuit.parameters()``.
        method: one of SciPy's that takes first derivatives or none.
        options: SciPy's other arguments: ``tol``, ``bounds``, ``callback``, ``options``, ...

    Returns:
        SciPy's ``OptimizeResult``.

    Raises:
        SettingError: no closure, arguments that the bridge itself fills in, all frozen.
        ParameterError: no Parameters, something else among them, or one of them twice.

    Example:
        >>> p = Parameter(3.0)
        >>> def closure():
        ...     p.zero_grad()
        ...     loss = (p - 1.0) ** 2
        ...     loss.backward()
        ...     return loss
        >>> minimize(closure, [p]).success, round(p.item(), 6)
        (True, 1.0)

    Reference:
        Virtanen et al. (2020), "SciPy 1.0", Nature Methods 17, 261, arXiv:1907.10121.
    """
    from scipy import optimize

    closure = required_closure("minimize", closure)
    listed = checked_parameters("minimize", params)
    taken = sorted({"fun", "jac", "x0"} & options.keys())
    if not isinstance(method, str) or taken:
        raise SettingError(
            f"minimize needs the name of a method and no ['fun', 'jac', 'x0'], got {method!r} "
            f"and {taken}. The closure gives all three."
        )
    vector = RealVector([p for p in listed if p.trainable])
    if not vector.size:
        raise SettingError("minimize needs a trainable Parameter, got frozen ones. Unfreeze one.")
    start = reached = vector.values()

    def loss_and_gradient(x: RealVectorArray) -> tuple[float, RealVectorArray]:
        vector.set_values(x)
        with enable_grad():
            loss = closure()
        return loss.item(), vector.gradients()

    derivatives = method.lower() not in GRADIENT_FREE
    function = loss_and_gradient if derivatives else lambda x: loss_and_gradient(x)[0]
    try:
        jac = True if derivatives else None
        result = optimize.minimize(function, start, method=method, jac=jac, **options)
        reached = result.x
    finally:
        vector.set_values(reached)
    return result
