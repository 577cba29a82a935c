"""Comparisons and logic: results are Bool and carry no gradient."""

from __future__ import annotations

from autodiff.ops.declare import broadcasting

equal = broadcasting(
    "equal",
    lambda xp, x, y: xp.equal(x, y),
    aliases=("eq",),
    doc="""Return x == y by element. NaN equals nothing.

    >>> equal(1.0, 1.0).item()
    True
    """,
)

not_equal = broadcasting(
    "not_equal",
    lambda xp, x, y: xp.not_equal(x, y),
    aliases=("ne",),
    doc="""Return x != y by element.

    >>> not_equal(1.0, 1.0).item()
    False
    """,
)

less = broadcasting(
    "less",
    lambda xp, x, y: xp.less(x, y),
    aliases=("lt",),
    takes_complex=False,
    doc="""Return x < y by element, for real operands.

    >>> less(1.0, 2.0).item()
    True
    """,
)

less_equal = broadcasting(
    "less_equal",
    lambda xp, x, y: xp.less_equal(x, y),
    aliases=("le",),
    takes_complex=False,
    doc="""Return x <= y by element, for real operands.

    >>> less_equal(2.0, 2.0).item()
    True
    """,
)

greater = broadcasting(
    "greater",
    lambda xp, x, y: xp.greater(x, y),
    aliases=("gt",),
    takes_complex=False,
    doc="""Return x > y by element, for real operands.

    >>> greater(1.0, 2.0).item()
    False
    """,
)

greater_equal = broadcasting(
    "greater_equal",
    lambda xp, x, y: xp.greater_equal(x, y),
    aliases=("ge",),
    takes_complex=False,
    doc="""Return x >= y by element, for real operands.

    >>> greater_equal(2.0, 2.0).item()
    True
    """,
)

logical_and = broadcasting(
    "logical_and",
    lambda xp, x, y: xp.logical_and(x, y),
    doc="""Return whether both elements are non-zero.

    >>> logical_and([True, True], [True, False]).tolist()
    [True, False]
    """,
)

logical_or = broadcasting(
    "logical_or",
    lambda xp, x, y: xp.logical_or(x, y),
    doc="""Return whether at least one of two elements is non-zero.

    >>> logical_or([True, False], [False, False]).tolist()
    [True, False]
    """,
)

logical_xor = broadcasting(
    "logical_xor",
    lambda xp, x, y: xp.logical_xor(x, y),
    doc="""Return whether exactly one of two elements is non-zero.

    >>> logical_xor([True, False], [True, True]).tolist()
    [False, True]
    """,
)

logical_not = broadcasting(
    "logical_not",
    lambda xp, x: xp.logical_not(x),
    doc="""Return whether the element is zero.

    >>> logical_not([True, False]).tolist()
    [False, True]
    """,
)

isnan = broadcasting(
    "isnan",
    lambda xp, x: xp.isnan(x),
    doc="""Return whether the element, or a part of it, is not a number.

    >>> isnan([1.0, float("nan")]).tolist()
    [False, True]
    """,
)

isinf = broadcasting(
    "isinf",
    lambda xp, x: xp.isinf(x),
    doc="""Return whether the element, or a part of it, is infinite.

    >>> isinf([1.0, float("inf")]).tolist()
    [False, True]
    """,
)

isfinite = broadcasting(
    "isfinite",
    lambda xp, x: xp.isfinite(x),
    doc="""Return whether the element is neither infinite nor NaN.

    >>> isfinite([1.0, float("inf")]).tolist()
    [True, False]
    """,
)
