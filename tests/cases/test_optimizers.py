"""Public bug reports of neighbouring tools, O31 and O33 to O35: optimizers and training."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autodiff import Parameter, ShapeError, Tensor, grad
from circuits import Circuit, Input, Z
from qml import SGD, Adagrad, Adam, AdamW, Optimizer, QuantumLayer, RMSprop, mse_loss

Close = Callable[..., None]
Make = Callable[[list[Parameter]], Optimizer]

OPTIMIZERS: dict[str, Make] = {
    "SGD": lambda params: SGD(params, lr=0.05),
    "momentum": lambda params: SGD(params, lr=0.02, momentum=0.8),
    "Adam": lambda params: Adam(params, lr=0.05),
    "AdamW": lambda params: AdamW(params, lr=0.05, weight_decay=0.0),
    "Adagrad": lambda params: Adagrad(params, lr=0.5),
    "RMSprop": lambda params: RMSprop(params, lr=0.01, momentum=0.5),
}

every_optimizer = pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)


def test_o31_complex_gradient_and_step(close: Close) -> None:
    """Jax 9110: the gradient is dL/dRe + i dL/dIm, and the step subtracts that."""
    z = Parameter(3 + 4j)
    loss = z.real**2 + z.imag**2
    loss.backward()
    close(z.grad, 6 + 8j)
    SGD([z], lr=0.1).step()
    close(z, 2.4 + 3.2j)
    close(z.real**2 + z.imag**2, 16.0)


@pytest.mark.parametrize("seed", range(5))
def test_o31_gradient_of_any_real_loss(close: Close, seed: int) -> None:
    """The gradient of Re(a z) + Im(b z**2) + |z|**2 is conj(a) + conj(-2 i b z) + 2 z."""
    rng = np.random.default_rng(seed)
    a, b, z0 = rng.normal(size=3) + 1j * rng.normal(size=3)
    z, x = Parameter(z0), Parameter(rng.normal())
    loss = (a * z).real + (b * z * z).imag + (z * z.conj()).real + (z * x).imag
    by_z, by_x = grad(loss, [z, x])
    close(by_z, np.conj(a) + np.conj(-2j * b * z0) + 2 * z0 + 1j * x.item())
    assert by_x.dtype == np.float64  # a real leaf, a real gradient
    close(by_x, z0.imag)


@every_optimizer
def test_o31_every_optimizer_goes_downhill(make: Make) -> None:
    """No optimizer's first steps move a complex value uphill."""
    z = Parameter([3 + 4j, -1 - 2j])
    optimizer = make([z])
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = (abs(z - (1 + 3j)) ** 2).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True)
    assert len(set(losses)) == len(losses)


def test_o33_adam_with_a_complex_parameter(close: Close) -> None:
    """PyTorch 59998: the second moment is |g|**2, so the step keeps the gradient's direction."""
    z = Parameter(0j)
    optimizer = Adam([z], lr=0.1, eps=1e-30)
    (3 * z.real + 4 * z.imag).backward()
    close(z.grad, 3 + 4j)
    optimizer.step()
    close(z, -(0.06 + 0.08j))
    (state,) = optimizer.state_dict()["state"]
    assert state["exp_avg_sq"].dtype == np.float64
    assert (state["exp_avg_sq"] >= 0).all()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@every_optimizer
def test_o33_every_optimizer_converges(make: Make, close: Close, dtype: str) -> None:
    """Every optimizer minimises |z - (1+3i)|**2 from 0."""
    z = Parameter(0j, dtype=dtype)
    optimizer = make([z])
    for _ in range(600):
        optimizer.zero_grad()
        (abs(z - (1 + 3j)) ** 2).backward()
        optimizer.step()
    assert z.dtype == dtype
    close(z, 1 + 3j, atol=2e-3)


def three_steps(make: Make, weighted: list[tuple[Parameter, float]]) -> None:
    """Train the sum of weight * |p|**2 over all elements."""
    optimizer = make([p for p, _ in weighted])
    for _ in range(3):
        optimizer.zero_grad()
        for p, weight in weighted:
            (weight * abs(p) ** 2).sum().backward()
        optimizer.step()


@every_optimizer
def test_o34_several_parameters(make: Make) -> None:
    """PennyLane 1928: each Parameter moves as it would alone; frozen ones between them stay."""
    starts = [1.0, 5.0, 2.0, np.float32(2.0), [1.0, 2.0], 5j, 1 + 2j, np.zeros((0, 2))]
    weights = [1.0, -3.0, -3.0, 2.0, -1.0, 1.0, 0.5, 1.0]
    together = [Parameter(start) for start in starts]
    for k in (1, 5):
        together[k].freeze()
    three_steps(make, list(zip(together, weights, strict=True)))
    for k, (start, weight) in enumerate(zip(starts, weights, strict=True)):
        alone = Parameter(start)
        if k not in (1, 5):
            three_steps(make, [(alone, weight)])
            assert (alone.numpy() != start).all()
        np.testing.assert_array_equal(together[k].numpy(), alone.numpy())


def test_o34_adagrad(close: Close) -> None:
    """The steps of the report on x**2 - 3 y**2, with a frozen Parameter between the two."""
    x, frozen, y = Parameter(1.0), Parameter(5.0).freeze(), Parameter(2.0)
    optimizer = Adagrad([x, frozen, y], lr=0.1, eps=0.0)
    for expected in ((0.9, 2.1), (0.8331035268, 2.1724137931)):
        optimizer.zero_grad()
        (x**2 - 3 * y**2 + frozen).backward()
        optimizer.step()
        close([x.item(), y.item()], expected)
        assert frozen.item() == 5.0


def layer(engine: str) -> QuantumLayer:
    """RY(x0) and RY(x1), and both <Z>."""
    x = Input("x", 2)
    return QuantumLayer(Circuit(2).ry(x[0], 0).ry(x[1], 1), [Z(0), Z(1)], engine=engine)


def test_o35_batch_and_several_observables(engine: str, close: Close) -> None:
    """PennyLane 5762: one row a sample, one column an observable, whatever their numbers."""
    batch = [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]
    right = [
        [0.9950041653, 0.9800665778],
        [0.9553364891, 0.9210609940],
        [0.8775825619, 0.8253356149],
    ]
    model = layer(engine)
    close(model(Tensor(batch)), right)
    close(model(Tensor(batch[:1])), right[:1])
    close(model(Tensor(batch[0])), right[0])


@pytest.mark.parametrize("batch", [None, 1, 2, 3])
@pytest.mark.parametrize("count", [None, 1, 2, 3])
def test_o35_shapes_do_not_depend_on_sizes(
    engine: str, close: Close, batch: int | None, count: int | None
) -> None:
    """(), (K,), (B,) or (B, K), with as many samples as observables, qubits and features, too."""
    x = Input("x", 3)
    circuit = Circuit(3).ry(x[0], 0).ry(x[1], 1).ry(x[2], 2)
    observables = Z(0) if count is None else [Z(k) for k in range(count)]
    features = np.linspace(0.1, 1.7, 3 * (batch or 1)).reshape(-1, 3)
    given = Tensor(features[0] if batch is None else features, requires_grad=True)
    out = QuantumLayer(circuit, observables, engine=engine)(given)
    kept = slice(0, 1) if count is None else slice(0, count)
    expected = np.cos(features)[:, kept]
    expected = expected[:, 0] if count is None else expected
    close(out, expected[0] if batch is None else expected)
    slope = np.zeros_like(features)
    slope[:, kept] = -np.sin(features)[:, kept]
    close(grad(out.sum(), given), slope[0] if batch is None else slope)


def test_o35_targets_of_another_shape(engine: str) -> None:
    """(3, 1) against (3,) must not become (3, 3)."""
    x = Input("x", 1)
    model = QuantumLayer(Circuit(1).ry(x[0], 0), [Z(0)], engine=engine)
    out = model(np.zeros((3, 1)))
    assert out.shape == (3, 1)
    with pytest.raises(ShapeError, match=r"\(3, 1\).*\(3,\)"):
        mse_loss(out, np.zeros(3))
