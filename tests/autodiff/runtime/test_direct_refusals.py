"""Direct runs that fail: the same words as on the general path, and nothing that lives on."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from runtimes import SPLIT, VALUES, Own, claimed, directly, prepared_on_cpu

import autodiff as ad
from autodiff import F32, F64, Program, Tensor, custom_op
from autodiff.runtime.errors import ExecutionFailed, OutputResidencyMismatch, ResidencyMismatch
from autodiff.runtime.prepared import Prepared
from autodiff.runtime.runtime import Runtime

MATRIX = np.random.default_rng(0).normal(size=(3, 4))


# -- refusals --------------------------------------------------------------------------------------


def texts(program: Program, given: Sequence[Tensor]) -> tuple[str, str]:
    """What the general path and the direct one say, with their causes."""
    said = []
    for runtime in (Runtime([Own("cpu")]), Runtime(["cpu"])):
        prepared = runtime.prepare(program, [Tensor(VALUES)])
        assert (prepared.direct is None) == (not said)
        with pytest.raises(ad.errors.AutodiffError) as caught:
            runtime.run_prepared(prepared, given)
        said.append(f"{type(caught.value)} {caught.value} {caught.value.__cause__!r}")
    return said[0], said[1]


def lying(made: Callable[[Any], Any], outputs: int = 1) -> Program:
    """The sine, then an op that gives something else than its row says."""
    op = custom_op("lying", lambda xp, x: made(x), None, lambda x: (x,) * outputs, outputs=outputs)
    return Program.trace(lambda x: op(ad.sin(x)), ((3,), F64))


#: What an op may give, of how many results, and what the message says of it.
FAULTS: dict[str, tuple[Callable[[Any], Any], int, str]] = {
    "shape": (lambda x: x[:2], 1, r"a result of shape \(3,\), dtype float64, got shape \(2,\)"),
    "dtype": (lambda x: x.astype(np.float32), 1, "got shape .3,., dtype float32"),
    "none": (lambda x: (), 1, "needs 1 results, got 0"),
    "two": (lambda x: (x, x), 1, "needs 1 results, got 2"),
    "one": (lambda x: x, 2, "needs 2 results, got 1"),
    "shape of the second": (lambda x: (x, x[:2]), 2, r"got shape \(2,\), dtype float64"),
    "no array": (lambda x: None, 1, "got shape .., dtype object"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_result_that_the_row_does_not_say_is_refused(name: str) -> None:
    made, outputs, message = FAULTS[name]
    program, given = lying(made, outputs), [Tensor(VALUES)]
    with pytest.raises(
        OutputResidencyMismatch, match=rf"instruction 1 \(lying\) at cpu \(host\) .*{message}"
    ):
        directly(prepared_on_cpu(program, given), given)
    general, direct = texts(program, given)
    assert direct == general


def test_tuple_of_one_is_one_result() -> None:
    program, given = lying(lambda x: (x * 2.0,)), [Tensor(VALUES)]
    (out,) = directly(prepared_on_cpu(program, given), given)
    assert out.tolist() == (np.sin(VALUES) * 2.0).tolist()


def refuse(x: Any) -> Any:
    raise ZeroDivisionError("no")


def test_failing_op_is_named_with_its_error() -> None:
    program, given = lying(refuse), [Tensor(VALUES)]
    message = r"^instruction 1 \(lying\) at cpu \(host\) needs to run, got ZeroDivisionError: no$"
    with pytest.raises(ExecutionFailed, match=message) as caught:
        directly(prepared_on_cpu(program, given), given)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    general, direct = texts(program, given)
    assert direct == general


def test_interrupt_passes() -> None:
    def interrupt(x: Any) -> Any:
        raise KeyboardInterrupt

    given = [Tensor(VALUES)]
    with pytest.raises(KeyboardInterrupt):
        directly(prepared_on_cpu(lying(interrupt), given), given)


def test_output_that_finds_no_memory_is_named() -> None:
    given = [Tensor(MATRIX)]
    prepared = prepared_on_cpu(Program.trace(lambda x: ad.sin(x).T, ((3, 4), F64)), given)
    directly(prepared, given)

    def full(*args: Any, **options: Any) -> Any:
        raise MemoryError("full")

    message = r"output 2 at cpu \(host\) needs memory of its own, got MemoryError: full"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "array", full)
        with pytest.raises(ExecutionFailed, match=message):
            directly(prepared, given)


#: Inputs that were not prepared for, and what the message says of them.
STRANGE: dict[str, tuple[Callable[[], list[Any]], str]] = {
    "none": (list, "a prepared execution needs 1 inputs, got 0"),
    "shape": (lambda: [Tensor(np.ones(4))], r"input 0 needs shape \(3,\), .*got shape \(4,\)"),
    "dtype": (lambda: [Tensor(VALUES, dtype=F32)], "got shape .3,., dtype float32"),
    "device": (lambda: [Tensor(VALUES, device="emulated")], r"got .* at emulated:0 \(device\)"),
    "forged dtype": (lambda: [claimed(VALUES.astype(F32), "cpu")], "what its tensor claims"),
    "forged buffer": (lambda: [claimed(np.ma.array(VALUES), "cpu")], "what its tensor claims"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_inputs_are_checked_at_each_run(name: str) -> None:
    make, message = STRANGE[name]
    prepared = prepared_on_cpu(SPLIT, [Tensor(VALUES)])
    directly(prepared, [Tensor(VALUES)])
    with pytest.raises(ResidencyMismatch, match=message):
        directly(prepared, make())
    general, direct = texts(SPLIT, make())
    assert direct == general


def test_input_has_to_be_a_tensor() -> None:
    prepared = prepared_on_cpu(SPLIT, [Tensor(VALUES)])
    with pytest.raises(ad.DTypeError, match="input 0 of a program needs a Tensor, got ndarray"):
        directly(prepared, [VALUES])  # type: ignore[list-item]  # the array that is refused


# -- what is kept ----------------------------------------------------------------------------------


class Watch:
    """An op that doubles its operand, and notes which of the results before are still there."""

    def __init__(self) -> None:
        self.results: list[weakref.ref[Any]] = []
        self.alive: list[int] = []
        self.fails_after = 10
        self.op = ad.node.Op("watch", self._forward, meta=lambda x: (x,))

    def _forward(self, xp: Any, x: Any) -> Any:
        self.alive.append(self.living())
        if len(self.alive) > self.fails_after:
            raise ZeroDivisionError("no")
        made = x * 2.0
        self.results.append(weakref.ref(made))
        return made

    def living(self) -> int:
        """How many results are there."""
        gc.collect()
        return sum(ref() is not None for ref in self.results)

    def chain(self, length: int) -> Prepared:
        """Apply it so often."""

        def function(x: Tensor) -> Tensor:
            for _ in range(length):
                x = ad.dispatch.apply(self.op, x)
            return x

        program = Program.trace(function, ((3,), F64))
        return prepared_on_cpu(program, [Tensor(VALUES)])


def test_value_goes_after_its_last_use() -> None:
    watch, given = Watch(), [Tensor(VALUES)]
    prepared = watch.chain(5)
    (out,) = directly(prepared, given)
    assert watch.alive == [0, 1, 1, 1, 1]  # the operand
    assert out.tolist() == (VALUES * 32.0).tolist()
    assert watch.living() == 1
    del out
    assert watch.living() == 0


def test_result_that_nobody_needs_is_not_kept() -> None:
    """Its place, and that of an operand that goes, are free at once."""
    made: list[weakref.ref[Any]] = []

    def pair(xp: Any, x: Any) -> Any:
        parts = (x + 1.0, x * 2.0)
        made.extend(map(weakref.ref, parts))
        return parts

    alive = []

    def watch(xp: Any, x: Any) -> Any:
        alive.append([ref() is not None for ref in made])
        return x + 0.0

    both = ad.node.Op("pair", pair, meta=lambda x: (x, x), outputs=2)
    watching = ad.node.Op("watch", watch, meta=lambda x: (x,))

    def function(x: Tensor) -> Tensor:
        for op in (watching, watching):
            x = ad.dispatch.apply(op, ad.dispatch.apply(both, x)[1])
        return x

    program = Program.trace(function, ((3,), F64))
    directly(prepared_on_cpu(program, [Tensor(VALUES)]), [Tensor(VALUES)])
    assert alive == [[False, True], [False, False, False, True]]


def test_error_that_is_kept_holds_no_value_but_the_operand() -> None:
    watch, given = Watch(), [Tensor(VALUES)]

    def function(x: Tensor) -> Tensor:
        first = ad.dispatch.apply(watch.op, x)
        second = ad.dispatch.apply(watch.op, first)
        return ad.dispatch.apply(watch.op, second) + first

    prepared = prepared_on_cpu(Program.trace(function, ((3,), F64)), given)
    watch.fails_after = 2
    with pytest.raises(ExecutionFailed) as caught:
        directly(prepared, given)
    assert caught.value.__traceback__ is not None
    assert watch.alive == [0, 1, 2]
    assert watch.living() == 1
