"""Whether saved data has the form of what it is loaded into: kinds, names, shapes and dtypes."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from qml.errors import StateDictError

# Any in this file: a state is nested plain values and arrays; the functions check it.


def check_form(what: str, given: Any, own: Any) -> None:
    """Refuse data of another form than ``own``; values count only where they are not of its kind.

    Args:
        what: names the data in the message.
        given: the data.
        own: mappings with text keys, lists, tuples, arrays, numbers, text, booleans and None.

    Raises:
        StateDictError: other names, lengths, shapes or dtypes, or a value of another kind.

    >>> check_form("the state", {"step": 3, "mean": np.zeros(2)}, {"step": 0, "mean": np.ones(2)})
    """
    match own:
        case Mapping():
            check_mapping(what, given)
            if given.keys() != own.keys():
                _refuse(what, f"the entries {sorted(own)}", list(given))
            for key, part in own.items():
                check_form(f"{what}[{key!r}]", given[key], part)
        case list() | tuple():
            if not isinstance(given, list | tuple) or len(given) != len(own):
                _refuse(what, f"a list of {len(own)}", given)
            for k, part in enumerate(own):
                check_form(f"{what}[{k}]", given[k], part)
        case np.ndarray():
            check_array(what, given, own.shape, own.dtype)
        case bool() | str() | None:
            if type(given) is not type(own):
                _refuse(what, "None" if own is None else f"a {type(own).__name__}", given)
        case _:
            kind = numbers.Integral if isinstance(own, numbers.Integral) else numbers.Real
            if not isinstance(given, kind) or isinstance(given, bool):
                word = "an integer" if kind is numbers.Integral else "a number"
                _refuse(what, word, given)


def is_same(given: Any, own: Any) -> bool:
    """Whether data without arrays has the form and the values of ``own``.

    >>> is_same({"lr": 0.5}, {"lr": 0.5}), is_same(np.zeros(2), {"lr": 0.5})
    (True, False)
    """
    try:
        check_form("the data", given, own)
    except StateDictError:
        return False
    return bool(given == own)


def check_mapping(what: str, given: Any) -> None:
    """Refuse what is no mapping with text keys.

    Raises:
        StateDictError: something else.
    """
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        _refuse(what, "a mapping with text keys", given)


def check_list(what: str, given: Any) -> None:
    """Refuse what is no list.

    Raises:
        StateDictError: something else.
    """
    if not isinstance(given, list | tuple):
        _refuse(what, "a list", given)


def check_array(what: str, given: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Refuse what is no array of a shape whose numbers cast to a dtype.

    Raises:
        StateDictError: something else.
    """
    fits = isinstance(given, np.ndarray | np.generic) and given.shape == shape
    if not fits or not np.can_cast(given.dtype, dtype, "same_kind"):
        _refuse(what, f"an array of shape {shape} and dtype {np.dtype(dtype)}", given)


def checked_generator(what: str, state: Any, generator: np.random.Generator) -> np.random.Generator:
    """Return a generator of its own in a saved state, of the same kind as another.

    NumPy's bit generators change in part before they refuse a state; this one is thrown away then.

    Raises:
        StateDictError: a state of another kind, or numbers out of range.
    """
    bits = type(generator.bit_generator)(0)
    check_form(what, state, bits.state)
    try:
        bits.state = state
    except (ValueError, TypeError, OverflowError) as error:
        raise StateDictError(
            f"{what} needs the state of a {type(bits).__name__}, got {state!r:.80}: {error}. "
            "Give what state_dict() returned."
        ) from error
    return np.random.Generator(bits)


def _refuse(what: str, needs: str, given: Any) -> NoReturn:
    got = f"shape {given.shape}, dtype {given.dtype}" if isinstance(given, np.ndarray) else ""
    raise StateDictError(
        f"{what} needs {needs}, got {got or f'{given!r:.60}'}. Give what state_dict() returned, "
        "for objects like these."
    )
