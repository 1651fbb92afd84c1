"""Burgers' equation, trained on the device that JAX has: derivatives by primad, fusion and the device by XLA.

    u_t + u u_x = ν u_xx,  ν = 0.01/π,   −1 ≤ x ≤ 1,  0 ≤ t ≤ 1,
    u(x, 0) = −sin πx,     u(±1, t) = 0.

`primad.to_jax` turns the loss and its gradient, as primad derived and simplified them, into one function of JAX's
arrays. It knows nothing of primad any more: here a `lax.scan` of Adam steps runs it a few thousand times without
leaving the device. The same loss, and the same parameters, go to primad's own optimisers on the CPU.

Needs: jax (pip install 'primad[jax,plot]')
Reference: the exact solution by the Cole–Hopf transformation.
Reach: error 0.1
Toy: loss_ratio 0.5
"""

from itertools import pairwise

import numpy as np

import primad
from primad import nn
from primad.pde import references

NU = 0.01 / np.pi


def u(params, x, t):
    """Return the approximate solution at one point: it meets the initial and the boundary conditions."""
    values = np.stack([x, t])
    for layer in params[:-1]:
        values = np.tanh(values @ layer["weights"] + layer["bias"])
    last = params[-1]
    return -np.sin(np.pi * x) + t * (1 - x**2) * (values @ last["weights"] + last["bias"])[0]


def residual(params, x, t):
    """Return the residual of the equation at one point."""
    u_x, u_xx = primad.taylor(lambda x: u(params, x, t), x, 1.0, 2)[1:]
    return primad.grad(u, argnums=2)(params, x, t) + u(params, x, t) * u_x - NU * 2 * u_xx


def loss(params, points):
    """Return the mean square of the residuals."""
    residuals = primad.vmap(residual, in_axes=(None, 0, 0))(params, points[:, 0], points[:, 1])
    return np.mean(residuals**2)


def solve(toy=False, seed=0):
    """Train on the device that JAX has; return the error and the times, and what to draw."""
    import jax

    jax.config.update("jax_enable_x64", True)
    steps, count, rate = (60, 100, 5e-3) if toy else (8000, 4000, 5e-3)
    rng = np.random.default_rng(seed)
    params = [
        {"weights": nn.initializers.xavier_normal(rng, (n, m)), "bias": np.zeros(m)}
        for n, m in pairwise([2, 20, 20, 20, 1])
    ]
    xs = rng.uniform([-1, 0], [1, 1], (count, 2))
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
    train = jax.jit(lambda state: jax.lax.scan(step, state, jax.numpy.arange(steps)))
    (params, *_), losses = jax.block_until_ready(train((params, zeros, zeros)))

    x, t = np.meshgrid(np.linspace(-1, 1, 201), np.linspace(0, 1, 101))
    params = jax.tree.map(np.asarray, params)
    found = primad.jit(primad.vmap(u, in_axes=(None, 0, 0)))(params, x.ravel(), t.ravel()).reshape(x.shape)
    exact = references.burgers(x, t, NU)
    error = np.linalg.norm(found - exact) / np.linalg.norm(exact)
    return {"error": error, "loss_ratio": losses[-1] / losses[0]}, (x, t, found, losses)


def draw(x, t, found, losses):
    """Draw the loss and the solution."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5))
    left.semilogy(losses, color="black", linewidth=0.8)
    left.set(xlabel="step", ylabel="loss")
    image = right.pcolormesh(t, x, found, cmap="RdBu_r", rasterized=True)
    right.set(xlabel="t", ylabel="x", title="u(x, t)")
    figure.colorbar(image)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
