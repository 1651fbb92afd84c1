"""Burgers' equation, trained on the device that JAX has: derivatives by primad, fusion and the device by XLA.

    u_t + u u_x = ν u_xx,  ν = 0.01/π,   −1 ≤ x ≤ 1,  0 ≤ t ≤ 1,
    u(x, 0) = −sin πx,     u(±1, t) = 0.

`primad.to_jax` turns the loss and its gradient, as primad derived and simplified them, into one function of JAX's
arrays. It knows nothing of primad any more: here a `lax.scan` of Adam steps runs it a few thousand times without
leaving the device. The same loss, and the same parameters, go to primad's own optimisers on the CPU.

Needs `pip install 'primad[jax,plot]'`. Run this file; `--help` lists the options.
"""

import time
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import primad
from primad import nn

NU = 0.01 / np.pi


def u(params, x, t):
    """Return the approximate solution at one point: it meets the initial and the boundary conditions."""
    values = np.stack([x, t])
    for layer in params[:-1]:
        values = np.tanh(values @ layer["weights"] + layer["bias"])
    last = params[-1]
    return -np.sin(np.pi * x) + t * (1 - x**2) * (values @ last["weights"] + last["bias"])[0]


def residual(params, x, t):
    """Return what is left of the equation at one point."""
    u_x, u_xx = primad.taylor(lambda x: u(params, x, t), x, 1.0, 2)[1:]
    return primad.grad(u, argnums=2)(params, x, t) + u(params, x, t) * u_x - NU * 2 * u_xx


def loss(params, points):
    """Return the mean square of the residuals."""
    residuals = primad.vmap(residual, in_axes=(None, 0, 0))(params, points[:, 0], points[:, 1])
    return np.mean(residuals**2)


def main(
    steps: Annotated[int, typer.Option(min=1, help="Steps of Adam.")] = 4000,
    points: Annotated[int, typer.Option(min=1, help="Points of the residual.")] = 4000,
    rate: Annotated[float, typer.Option(help="The largest step size; it falls to zero by a cosine.")] = 5e-3,
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("burgers_jax_out"),
) -> None:
    """Train on the device that JAX has, and draw the loss and the solution."""
    import jax

    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(0)
    params = [
        {"weights": nn.initializers.xavier_normal(rng, (n, m)), "bias": np.zeros(m)}
        for n, m in pairwise([2, 20, 20, 20, 1])
    ]
    xs = rng.uniform([-1, 0], [1, 1], (points, 2))
    slope = primad.to_jax(primad.value_and_grad(loss))

    def step(state, i):
        params, first, second = state
        value, gradient = slope(params, xs)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
        second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g**2, second, gradient)
        size = rate * 0.5 * (1 + jax.numpy.cos(np.pi * i / steps)) * (1 - 0.99 ** (i + 1)) ** 0.5 / (1 - 0.9 ** (i + 1))
        params = jax.tree.map(lambda p, m, v: p - size * m / (v**0.5 + 1e-10), params, first, second)
        return (params, first, second), value

    zeros = jax.tree.map(np.zeros_like, params)
    began = time.perf_counter()
    train = jax.jit(lambda state: jax.lax.scan(step, state, jax.numpy.arange(steps)))
    (params, *_), losses = jax.block_until_ready(train((params, zeros, zeros)))
    print(f"{steps} steps on {jax.devices()[0]} in {time.perf_counter() - began:.1f} s, compilation included")
    print(f"loss {losses[0]:.2e} -> {losses[-1]:.2e}")

    import matplotlib.pyplot as plt

    x, t = np.meshgrid(np.linspace(-1, 1, 201), np.linspace(0, 1, 101))
    fit = primad.jit(primad.vmap(u, in_axes=(None, 0, 0)))(jax.tree.map(np.asarray, params), x.ravel(), t.ravel())
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
    left.semilogy(losses, color="black", linewidth=0.8)
    left.set(xlabel="step", ylabel="loss")
    image = right.pcolormesh(t, x, fit.reshape(x.shape), cmap="RdBu_r", rasterized=True)
    right.set(xlabel="t", ylabel="x", title="u(x, t)")
    figure.colorbar(image)
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "burgers_jax.png", dpi=150)


if __name__ == "__main__":
    typer.run(main)
