"""Burgers' equation, solved by a small neural network and compared with the exact solution.

    u_t + u u_x = ν u_xx,  ν = 0.01/π,   −1 ≤ x ≤ 1,  0 ≤ t ≤ 1,
    u(x, 0) = −sin πx,     u(±1, t) = 0.

The wave steepens to a front at x = 0, about ν wide. The network N is 2-20-20-20-1 with tanh, and the ansatz
u = −sin πx + t (1 − x²) N(x, t) meets the initial and the boundary conditions whatever the weights are. Only the
residual of the equation is left to minimise: at random points, denser at the front and drawn anew every twenty steps,
because a network can satisfy the equation at fixed points and be wrong in between.

primad computes every derivative, of u in x and t and of the residuals in the weights, and makes the steps: of
Levenberg–Marquardt with geodesic acceleration (`primad.optimize`). Ctrl-C stops them and still draws what there is.

Reference: the exact solution by the Cole–Hopf transformation.
Reach: error 1e-6, seconds 60
Toy: error 0.5
Published: error 8e-9 with self-scaled Broyden steps and 2 000 parameters; 4.5e-4 with Adam and L-BFGS
"""

from itertools import pairwise

import numpy as np

import primad
from primad import nn, optimize
from primad.pde import references

NU = 0.01 / np.pi


def initial_parameters(rng, width):
    """Return the layers: weights (Glorot normal) and biases (zero)."""
    sizes = [2, width, width, width, 1]
    return [{"weights": nn.initializers.xavier_normal(rng, (n, m)), "bias": np.zeros(m)} for n, m in pairwise(sizes)]


def u(params, x, t):
    """Return the approximate solution at one point."""
    *hidden, last = params
    a = np.stack([x, t])
    for layer in hidden:
        a = np.tanh(a @ layer["weights"] + layer["bias"])
    return -np.sin(np.pi * x) + t * (1 - x**2) * (a @ last["weights"] + last["bias"])[0]


def residual(params, x, t):
    """Return u_t + u u_x − ν u_xx at one point."""
    value, u_x, half_u_xx = primad.taylor(lambda x: u(params, x, t), x, 1.0, order=2)
    _, u_t = primad.jvp(lambda t: u(params, x, t), (t,), (1.0,))
    return u_t + value * u_x - NU * 2 * half_u_xx


def draw_points(seed, number, count):
    """Return the drawing of random points (x, t) that has a number: a Latin hypercube in (s, t).

    x = s|s| crowds them at the front.
    """
    rng = np.random.default_rng([seed, number])
    s = 2 * (rng.permutation(count) + rng.random(count)) / count - 1
    t = (rng.permutation(count) + rng.random(count)) / count
    return s * abs(s), t


def solve(toy=False, seed=0):
    """Return the relative L2 error, and what to draw."""
    steps, count, width = (40, 500, 12) if toy else (300, 4000, 20)
    x, t = np.linspace(-1, 1, 256), np.linspace(0, 1, 101)
    grid = np.meshgrid(x, t, indexing="ij")
    exact = references.burgers(*grid, NU)
    at_points = primad.vmap(residual, in_axes=(None, 0, 0))
    on_grid = primad.jit(primad.vmap(u, in_axes=(None, 0, 0)))
    losses, errors = [], []

    def error(params):
        found = on_grid(params, *map(np.ravel, grid)).reshape(exact.shape)
        return np.linalg.norm(found - exact) / np.linalg.norm(exact)

    def watch(params, state):
        losses.append(2 * state.value / count)
        errors.append(error(params) if len(losses) % 10 == 0 else np.nan)

    start = initial_parameters(np.random.default_rng(seed), width)
    rule = optimize.LevenbergMarquardt()
    result = optimize.solve(
        rule, at_points, start, lambda k: draw_points(seed, k // 20, count), steps=steps, callback=watch
    )
    found = on_grid(result.params, *map(np.ravel, grid)).reshape(exact.shape)
    return {"error": error(result.params)}, (x, t, found, exact, losses, errors)


def draw(x, t, found, exact, losses, errors):
    """Draw the solution, its error, and the history of the training."""
    import matplotlib.pyplot as plt

    _, ((first, second), (third, fourth)) = plt.subplots(2, 2, figsize=(11, 8))
    first.pcolormesh(t, x, found, cmap="RdBu_r")
    first.set(title="Network", xlabel="time t", ylabel="position x")
    for column, colour in ((0, "C7"), (25, "C0"), (50, "C1"), (75, "C2")):
        first.axvline(t[column], color=colour, linewidth=1.5, linestyle=":")
        second.plot(x, exact[:, column], color=colour, linewidth=4, alpha=0.35)
        second.plot(x, found[:, column], color=colour, linewidth=1, label=f"t = {t[column]:.2f}")
    second.set(title="Network (thin), exact (wide)", xlabel="position x", ylabel="u")
    second.legend(frameon=False)
    wrong = abs(found - exact)
    mesh = third.pcolormesh(t, x, np.maximum(wrong, wrong.max() / 1e4), norm="log", cmap="magma")
    plt.colorbar(mesh, ax=third, label="|network − exact|", extend="min")
    third.set(title="Error of u", xlabel="time t", ylabel="position x")
    fourth.semilogy(losses, label="mean squared residual (training points)")
    fourth.semilogy(errors, "o", markersize=3, label="relative L2 error of u")
    fourth.set(title="Training", xlabel="step")
    fourth.legend(frameon=False)


if __name__ == "__main__":
    from primad.gallery import run_file

    run_file(__file__)
