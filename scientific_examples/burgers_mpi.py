"""Burgers' equation, on as many processes as MPI starts, each with its share of the points.

    u_t + u u_x = ν u_xx,  ν = 0.01/π,   −1 ≤ x ≤ 1,  0 ≤ t ≤ 1,
    u(x, 0) = −sin πx,     u(±1, t) = 0.

    .venv/bin/mpiexec -n 2 python scientific_examples/burgers_mpi.py

The residual is written for one point, and the sum of squares for all, as for one process. `primad.distribute` makes the
difference: each process computes the Jacobian at its own points, and JᵀJ and Jᵀr are added up in a tree over chunks of
points, which has nothing to do with who computed which. So the steps of Levenberg and Marquardt have the same bits on
1, 2 or 16 processes.

Needs: mpi4py (pip install 'primad[mpi,plot]')
Reference: the exact solution by the Cole–Hopf transformation.
Reach: error 1e-4
Toy: loss_ratio 0.2
"""

from itertools import pairwise

import numpy as np

import primad
from primad import nn, optimize
from primad.pde import references

NU = 0.01 / np.pi


def u(params, x, t):
    """Return the approximate solution at one point: it meets the initial and the boundary conditions."""
    values = np.stack([x, t])
    for layer in params[:-1]:
        values = np.tanh(values @ layer["weights"] + layer["bias"])
    last = params[-1]
    return -np.sin(np.pi * x) + t * (1 - x**2) * (values @ last["weights"] + last["bias"])[0]


def residual(params, point):
    """Return the residual of the equation at one point."""
    x, t = point
    u_x, u_xx = primad.taylor(lambda x: u(params, x, t), x, 1.0, 2)[1:]
    return primad.grad(u, argnums=2)(params, x, t) + u(params, x, t) * u_x - NU * 2 * u_xx


def residuals(params, points):
    """Return the residuals at all points."""
    return primad.vmap(residual, in_axes=(None, 0))(params, points)


def drawn(key, count):
    """Return random points of one chunk: half of them near the front."""
    x, t = 2 * nn.uniform(key, (count, 2)).T - 1
    return np.stack([np.where(np.arange(count) % 2, x, 0.1 * x), (1 + t) / 2], axis=1)


def solve(toy=False, seed=0):
    """Train on all processes; return the error and how far the loss fell, and what to draw."""
    steps, count, width = (15, 320, 10) if toy else (300, 3000, 20)
    rng = np.random.default_rng(seed)  # the same in all processes, and so are the parameters
    sizes = [2, width, width, width, 1]
    params = [
        {"weights": nn.initializers.xavier_normal(rng, pair), "bias": np.zeros(pair[1])} for pair in pairwise(sizes)
    ]

    found = optimize.solve(
        optimize.LevenbergMarquardt(),
        primad.distribute(residuals),
        params,
        lambda step: (primad.Share.drawn(drawn, count, key=1000 * seed + step // 20),),
        steps=steps,
    )
    x, t = np.meshgrid(np.linspace(-1, 1, 201), np.linspace(0, 1, 101))
    values = primad.jit(primad.vmap(u, in_axes=(None, 0, 0)))(found.params, x.ravel(), t.ravel()).reshape(x.shape)
    exact = references.burgers(x, t, NU)
    error = np.linalg.norm(values - exact) / np.linalg.norm(exact)
    return {"error": error, "loss_ratio": found.values[-1] / found.values[0]}, (x, t, values, found.values)


def draw(x, t, values, losses):
    """Draw the loss and the solution."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5))
    left.semilogy(losses, color="black", linewidth=0.8)
    left.set(xlabel="step", ylabel="half the sum of squares")
    image = right.pcolormesh(t, x, values, cmap="RdBu_r", rasterized=True)
    right.set(xlabel="t", ylabel="x", title="u(x, t)")
    figure.colorbar(image)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
