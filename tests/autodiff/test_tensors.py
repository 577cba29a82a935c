"""Tensor: handle, metadata, values, versions."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest
from leaves import version

from autodiff import (
    C64,
    C128,
    F32,
    F64,
    DTypeError,
    GradientError,
    Parameter,
    ShapeError,
    StorageBusy,
    Tensor,
    TraceError,
    from_dlpack,
    no_grad,
    tensor,
)
from autodiff.program import placeholder


def test_tensor_is_an_alias_of_the_class() -> None:
    assert tensor is Tensor


@pytest.mark.parametrize(
    ("data", "dtype"),
    [(1.0, F64), (1, np.int64), (True, np.bool_), (1j, C128), (np.float32(1), F32), ([[1.0]], F64)],
)
def test_dtype_is_that_of_the_data(data: object, dtype: object) -> None:
    assert Tensor(data).dtype == dtype


@pytest.mark.parametrize("dtype", [F32, F64, C64, C128])
def test_dtype_can_be_chosen(dtype: np.dtype) -> None:
    assert Tensor([1, 2], dtype=dtype).dtype == dtype


def test_data_is_copied() -> None:
    data = np.array([1.0, 2.0])
    t = Tensor(data)
    data[0] = 9.0
    assert t.tolist() == [1.0, 2.0]
    assert not np.shares_memory(Tensor(t).numpy(), t.numpy())


def test_list_of_tensors_is_stacked() -> None:
    assert Tensor([Tensor(1.0), 2.0]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "data", [np.array([None]), "one", [[1.0], [1.0, 2.0]], np.datetime64("2020"), object()]
)
def test_what_is_not_numeric_is_refused(data: object) -> None:
    with pytest.raises(DTypeError, match=r"Tensor needs num.*[^.]\. (Give|Convert)"):
        Tensor(data)


@pytest.mark.parametrize("data", [np.array([1j]), 1j])
def test_complex_data_never_loses_its_imaginary_part(data: object) -> None:
    with pytest.raises(DTypeError, match=r"take \.real"):
        Tensor(data, dtype=F64)


def test_queries() -> None:
    t = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], name="weights")
    assert (t.shape, t.ndim, t.size, t.numel(), len(t)) == ((2, 3), 2, 6, 6, 2)
    assert (t.dtype, t.device, t.layout, t.residency) == (F64, "cpu", "strided", ("cpu",))
    assert (t.strides, t.offset, t.is_contiguous()) == ((3, 1), 0, True)
    assert (t.requires_grad, t.is_leaf, t.grad, t.name) == (False, True, None, "weights")


# -- requires_grad ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [F32, F64, C64, C128])
def test_leaf_of_a_differentiable_dtype_may_require_grad(dtype: np.dtype) -> None:
    t = Tensor([1.0], dtype=dtype)
    t.requires_grad = True
    assert t.requires_grad
    assert not t.requires_grad_(False).requires_grad


@pytest.mark.parametrize("dtype", ["float16", "int64", "int8", "uint8", "bool", "longdouble"])
def test_other_dtype_cannot_require_grad(dtype: str) -> None:
    with pytest.raises(GradientError, match=rf"needs dtype float32.*got {np.dtype(dtype)}"):
        Tensor(np.ones(1, dtype), requires_grad=True)
    t = Tensor(np.ones(1, dtype), name="k")
    with pytest.raises(GradientError, match=rf"got {np.dtype(dtype)} for tensor 'k'"):
        t.requires_grad_()
    assert not t.requires_grad


def test_object_dtype_cannot_require_grad() -> None:
    with pytest.raises(GradientError, match="got object"):
        Tensor(np.array([1.0], dtype=object), requires_grad=True)


def test_result_of_a_recorded_op_cannot_change_requires_grad() -> None:
    y = Tensor(1.0, requires_grad=True) * 2
    assert not y.is_leaf
    with pytest.raises(GradientError, match=r"requires_grad needs a leaf.*detach\(\)"):
        y.requires_grad = False
    assert y.requires_grad_(True) is y


@pytest.mark.parametrize(
    "value", [1.0, Tensor([1.0]), Tensor(np.float32(1)), np.ones(())], ids=repr
)
def test_grad_takes_a_tensor_like_its_own_only(value: object) -> None:
    t = Tensor(1.0, requires_grad=True)
    with pytest.raises(GradientError, match=r"grad needs None or a Tensor of shape \(\)"):
        t.grad = value
    t.grad = Tensor(2.0)
    t.zero_grad()
    assert t.grad is None


# -- handles and copies ----------------------------------------------------------------------------


def test_clone_shares_everything() -> None:
    t = Tensor(1.0, name="a")
    other = t.clone()
    other.requires_grad = True
    other.set_(5.0)
    (t * t).backward()
    assert t.requires_grad
    assert (t.item(), version(t), other.grad.item(), other.name) == (5.0, 1, 10.0, "a")


def test_repr_shows_how_many_handles_share() -> None:
    t = Tensor([1.0])
    assert repr(t) == "Tensor([1.], dtype=float64)"
    other = t.clone()
    assert repr(t) == repr(other) == "Tensor([1.], dtype=float64, shared=2)"
    del other
    assert "shared" not in repr(t)


def test_shallow_copy_is_a_clone() -> None:
    t = Tensor(1.0)
    assert copy.copy(t)._meta is t._meta


@pytest.mark.parametrize("make", [Tensor.deep_clone, copy.deepcopy])
def test_deep_clone_is_a_new_leaf_with_everything_but_history(make: object) -> None:
    x = Tensor(3.0, requires_grad=True, name="x")
    y = x * x
    y.retain_grad()
    y.backward(retain_graph=True)
    x.set_(4.0)
    for source in (x, y):
        other = make(source)
        assert other.is_leaf
        assert other.requires_grad
        assert (other.item(), other.name) == (source.item(), source.name)
        assert other.grad.item() == source.grad.item()
        assert version(other) == 0
        other.set_(7.0)
        other.grad.set_(7.0)
        assert source.item() != 7.0
        assert source.grad.item() != 7.0


def test_deep_clone_is_not_differentiable() -> None:
    x = Tensor(3.0, requires_grad=True)
    (x.deep_clone() * 2).backward()
    assert x.grad is None


def test_detach_shares_storage_and_version_without_history() -> None:
    x = Tensor(3.0, requires_grad=True)
    y = (x * x).detach()
    assert not y.requires_grad
    assert y.is_leaf
    d = x.detach()
    d.set_(4.0)
    assert (x.item(), version(x)) == (4.0, 1)


def test_copy_is_differentiable_with_storage_of_its_own() -> None:
    x = Tensor(3.0, requires_grad=True)
    y = x.copy()
    x.detach().set_(9.0)
    assert y.item() == 3.0
    assert y.requires_grad


@pytest.mark.parametrize("make", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies_of_a_tensor_with_a_deep_history_are_leaves(make: object) -> None:
    y = Tensor(1.0, requires_grad=True)
    y.grad = Tensor(2.0)
    for _ in range(20_000):
        y = y * 1.0
    other = make(y)
    assert other.is_leaf
    assert other.requires_grad
    assert other.item() == 1.0


def test_pickle_keeps_value_gradient_and_name() -> None:
    t = Tensor([1 + 2j], dtype=C64, requires_grad=True, name="z")
    t.grad = Tensor([3j], dtype=C64)
    other = pickle.loads(pickle.dumps(t))
    assert (other.tolist(), other.dtype, other.grad.tolist()) == ([1 + 2j], C64, [3j])
    assert (other.requires_grad, other.name) == (True, "z")


# -- values ----------------------------------------------------------------------------------------


def test_numpy_is_read_only_and_never_changes() -> None:
    t = Tensor([1.0, 2.0])
    seen = t.numpy()
    with pytest.raises(ValueError, match="read-only"):
        seen[0] = 9.0
    t.set_([5.0, 6.0])
    with t.storage_mut() as a:
        a[0] = 7.0
    assert seen.tolist() == [1.0, 2.0]
    assert t.tolist() == [7.0, 6.0]


def test_values_are_read_whether_or_not_the_tensor_requires_grad() -> None:
    y = Tensor(2.0, requires_grad=True) * 3
    assert (y.item(), y.tolist(), y.numpy().tolist()) == (6.0, 6.0, 6.0)


def test_item_needs_one_element() -> None:
    assert Tensor([[2.0]]).item() == 2.0
    with pytest.raises(ShapeError, match=r"item\(\) needs .* one element, got .*\(2,\)"):
        Tensor([1.0, 2.0]).item()


def test_set_installs_a_value_and_raises_the_version() -> None:
    t = Tensor([1.0, 2.0], dtype=F32)
    assert t.set_([3, 4]) is t
    assert (t.tolist(), t.dtype, version(t)) == ([3.0, 4.0], F32, 1)
    t.set_(Tensor([5.0, 6.0]))
    assert (t.tolist(), version(t)) == ([5.0, 6.0], 2)


def test_set_takes_no_memory_from_the_user() -> None:
    t, value = Tensor([1.0]), np.array([2.0])
    t.set_(value)
    value[0] = 9.0
    assert t.tolist() == [2.0]


@pytest.mark.parametrize(
    ("value", "error"),
    [([1.0], ShapeError), ([1j, 2j], DTypeError), (np.array(["a", "b"]), DTypeError)],
)
def test_set_refuses_before_anything_is_changed(value: object, error: type) -> None:
    t = Tensor([1.0, 2.0])
    with pytest.raises(error, match="set_ needs a value"):
        t.set_(value)
    assert (t.tolist(), version(t)) == ([1.0, 2.0], 0)


def fail_inside(t: Tensor) -> None:
    with t.storage_mut() as a:
        a[0] = 5.0
        raise KeyError


def test_storage_mut_raises_the_version_once_on_an_exception_too() -> None:
    t = Tensor([1.0, 2.0])
    with t.storage_mut() as a:
        a[0], a[1] = 3.0, 4.0
    assert (t.tolist(), version(t)) == ([3.0, 4.0], 1)
    with pytest.raises(KeyError):
        fail_inside(t)
    assert (t.tolist(), version(t)) == ([5.0, 4.0], 2)


READS_AND_WRITES = {
    "numpy": lambda t: t.numpy(),
    "item": lambda t: t[0].item(),
    "operand": lambda t: t * 2,
    "repr": repr,
    "deep_clone": lambda t: t.deep_clone(),
    "set_": lambda t: t.set_([0.0, 0.0]),
    "storage_mut": lambda t: t.storage_mut().__enter__(),
    "clone": lambda t: t.clone().numpy(),
    "detach": lambda t: t.detach().numpy(),
}


@pytest.mark.parametrize("access", READS_AND_WRITES)
def test_anything_else_finds_the_open_storage_busy(access: str) -> None:
    t = Tensor([1.0, 2.0])
    view = t.reshape(2, 1)
    with t.storage_mut(), pytest.raises(StorageBusy):
        READS_AND_WRITES[access](t)
    with view.storage_mut(), pytest.raises(StorageBusy):
        READS_AND_WRITES[access](t)
    assert version(t) == 2


def test_open_storage_is_busy_in_other_threads() -> None:
    t = Tensor([1.0])
    raised: list[str] = []

    def other() -> None:
        try:
            t.numpy()
        except StorageBusy as error:
            raised.append(str(error))

    with t.storage_mut():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(raised) == 1
    assert t.tolist() == [1.0]


# -- other libraries -------------------------------------------------------------------------------


def test_dlpack_copies_in_and_out() -> None:
    data = np.array([1.0, 2.0])
    t = from_dlpack(data)
    data[0] = 9.0
    assert t.tolist() == [1.0, 2.0]
    out = np.from_dlpack(t)
    assert out.tolist() == [1.0, 2.0]
    assert not np.shares_memory(out, t.numpy())


def test_placeholder_has_no_value() -> None:
    x = placeholder((2,), F64)
    assert "placeholder of shape (2,)" in repr(x)
    for read in (x.numpy, x.tolist, x.deep_clone, lambda: x.set_([1.0, 2.0]), lambda: x.residency):
        with pytest.raises(TraceError, match="needs a run, got a placeholder"):
            read()


def test_update_in_place_under_no_grad_reaches_every_handle() -> None:
    p = Tensor(1.0, requires_grad=True)
    handle = p
    with no_grad():
        p -= 0.25
    assert p is handle
    assert (p.item(), version(p), p.is_leaf) == (0.75, 1, True)


def test_nan_is_no_integer() -> None:
    for value in (np.nan, np.inf, [1.0, np.nan]):
        with pytest.raises(DTypeError, match="a dtype that holds them"):
            Tensor(value, dtype=int)


def test_too_large_for_single_precision_is_infinite() -> None:
    assert Tensor(1e300, dtype=F32).item() == np.inf
    assert Tensor(1.0, dtype=F32).set_(1e300).item() == np.inf


@pytest.mark.parametrize("make", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
@pytest.mark.parametrize("kind", [Tensor, Parameter])
def test_copies_of_handles_still_share_what_the_handles_share(make: object, kind: type) -> None:
    p = kind([1.0])
    p.grad = Tensor([3.0])
    first, second, other = make([p.clone(), p, p.deep_clone()])
    assert first is not second
    assert first._meta is second._meta
    assert type(first) is type(second) is kind
    first.set_([7.0])
    assert (second.tolist(), other.tolist(), p.tolist()) == ([7.0], [1.0], [1.0])
    assert second.grad.tolist() == [3.0]
