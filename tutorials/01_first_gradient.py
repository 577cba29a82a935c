# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # First gradient
#
# A circuit with an angle in it is a function: put in a number, get out an expectation value. This
# notebook computes such a function, its slope, and walks down to its minimum. It takes a minute to
# read and a second to run; you need to know what a qubit is, and what a derivative is.

# %%
import matplotlib.pyplot as plt
import numpy as np

import qml

plt.style.use("seaborn-v0_8-colorblind")

# %% tags=["parameters"]
POINTS = 81  # of the curve
STEPS = 60  # of gradient descent

# %% [markdown]
# ## One angle
#
# A `Parameter` is a number that can be trained. Here it is the angle of a rotation: RY(θ) turns
# |0⟩ into cos(θ/2)|0⟩ + sin(θ/2)|1⟩.

# %%
theta = qml.Parameter(0.6, name="theta")
circuit = qml.Circuit(1).ry(theta, 0)
circuit.draw()

# %% [markdown]
# The observable Z is +1 for |0⟩ and -1 for |1⟩. Its expectation value is
# cos²(θ/2) - sin²(θ/2) = cos θ.

# %%
value = circuit.expectation(qml.Z(0))
print(f"circuit  {value.item():+.12f}")
print(f"cos 0.6  {np.cos(0.6):+.12f}")

# %% [markdown]
# `backward()` computes the derivative with respect to every Parameter, and leaves it in `grad`.
# That is the exact derivative, -sin θ: no difference quotient, no step size to choose.

# %%
value.backward()
print(f"theta.grad  {theta.grad.item():+.12f}")
print(f"-sin 0.6    {-np.sin(0.6):+.12f}")

# %% [markdown]
# ## A whole curve at once
#
# `values=` puts other numbers in the place of the stored ones, for this call. A batch of them, one
# row each, gives a batch of expectation values. If it is a Tensor that asks for its gradient, one
# `backward()` gives all the slopes. (The sum is there because a gradient belongs to *one* number;
# each expectation value depends on its own row only, so the rows do not mix.)

# %%
angles = qml.Tensor(np.linspace(-np.pi, np.pi, POINTS)[:, None], requires_grad=True)
curve = circuit.expectation(qml.Z(0), values=angles)
curve.sum().backward()

x, y, slope = angles.numpy()[:, 0], curve.numpy(), angles.grad.numpy()[:, 0]
figure, axes = plt.subplots(figsize=(6.5, 3.5), layout="constrained")
axes.plot(x, y, label="expectation value of Z")
axes.plot(x, slope, label="its slope, from backward()")
axes.plot(x[::5], -np.sin(x[::5]), "k.", label="-sin θ")
axes.set(xlabel="θ in radians", title="A circuit of one gate and its derivative")
axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
plt.show()

# %% [markdown]
# ## Two angles, and expressions of them
#
# An angle may be an expression, and a Parameter may stand in several gates. The gradient takes
# care of both: contributions of all places add up, by the chain rule.

# %%
a, b = qml.Parameter(1.0, name="a"), qml.Parameter(0.8, name="b")
circuit = qml.Circuit(2).ry(a, 0).cx(0, 1).ry(a / 2 + b, 1).cx(1, 0).rx(b, 0)
energy = qml.PauliSum({"ZZ": 1.0, "IX": 0.5, "XI": 0.5})  # rightmost letter: qubit 0
circuit.draw()

# %% [markdown]
# `gradcheck` compares the gradients with difference quotients, and raises an error that says where
# they differ. It is slow, and worth a line whenever you build something new.

# %%
qml.gradcheck(lambda a, b: circuit.expectation(energy), a, b)

# %% [markdown]
# ## Downhill
#
# The gradient points uphill, so a step against it goes down. That is all that
# `SGD`, stochastic gradient descent, does: θ ← θ - lr · gradient. Each step has the same three
# lines, in PyTorch's words: forget the old gradient, compute the new one, step.

# %%
optimizer = qml.SGD(circuit.parameters(), lr=0.2)
path, energies = [[a.item(), b.item()]], []
for _ in range(STEPS):
    optimizer.zero_grad()
    loss = circuit.expectation(energy)
    loss.backward()
    optimizer.step()
    path.append([a.item(), b.item()])
    energies.append(loss.item())
print(f"first {energies[0]:+.6f}   last {energies[-1]:+.6f}")

# %% [markdown]
# With two angles the function can be drawn as a map. One batch of `values` computes all of it. The
# path comes down to a pass between two hills, where the slope is small and the steps are short,
# turns there, and goes on into the valley.

# %%
ticks = np.linspace(-1.0, 2 * np.pi - 1.0, POINTS)
grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
with qml.no_grad():
    heights = circuit.expectation(energy, values=grid).numpy().reshape(POINTS, POINTS)

figure, axes = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
filled = axes.contourf(ticks, ticks, heights, levels=24, cmap="viridis")
figure.colorbar(filled, label="energy")
axes.plot(*np.transpose(path), "w.-", linewidth=1, markersize=5)
axes.plot(*path[0], "wo", markersize=9)
axes.plot(*path[-1], "w*", markersize=14)
axes.set(xlabel="a", ylabel="b", title="From the dot to the star, downhill")
plt.show()

# %% [markdown]
# How low can it go? The smallest eigenvalue of the observable bounds every state from below; this
# circuit, with two angles, need not reach it.

# %%
result = {
    "slope_error": float(np.abs(slope + np.sin(x)).max()),
    "first": energies[0],
    "last": energies[-1],
    "bound": float(np.linalg.eigvalsh(energy.matrix())[0]),
}
result

# %% [markdown]
# ## What you have learned
#
# - A `Parameter` in a gate makes the circuit a differentiable function; `expectation` evaluates it
#   and `backward()` gives its exact gradient, in one reverse sweep through the circuit, however
#   many Parameters there are.
# - A batch of `values` gives a batch of results, and a batch of slopes.
# - Angles may be expressions, and Parameters may be shared. `gradcheck` proves a gradient right.
# - Training is three lines: `zero_grad()`, `backward()`, `step()`.
#
# Go on with `02_h2_from_qiskit.py`, where the function is the energy of a molecule.
