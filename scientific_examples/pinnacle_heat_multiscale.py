"""Heat that flows a quarter of a million times faster along y than along x (PINNacle's problem Heat2d-MS).

    u_t = u_xx / (500π)² + u_yy / π²,    u = sin 20πx sin πy at t = 0,    u = 0 on the boundary of the square (0, 1)²,
    0 ≤ t ≤ 5.

The network is a sum of products of functions of one coordinate, whose sines begin with frequencies up to 40. All
conditions are fitted, so that it can be the solution itself.

Reference: the exact solution sin 20πx sin πy exp(−(1 + (20/500)²) t).
Reach: error 1e-4, seconds 60
Toy: error 0.5
Published: error 6.2e-2, the best of eleven methods (Z. Hao et al., 2023)
"""

import numpy as np

from primad import pde


def equation(u):
    """Return u_t − u_xx / (500π)² − u_yy / π²."""
    return u.t - u.xx / (500 * np.pi) ** 2 - u.yy / np.pi**2


def start(x, y):
    """Return u at the start."""
    return np.sin(20 * np.pi * x) * np.sin(np.pi * y)


def exact(x, y, t):
    """Return the solution."""
    return start(x, y) * np.exp(-(1 + (20 / 500) ** 2) * t)


def solve(toy=False, seed=0):
    """Return the relative error, and what to draw."""
    problem = pde.Problem(
        equation,
        pde.Box(x=(0, 1), y=(0, 1)) * pde.Time(0, 5),
        [pde.Dirichlet(u=0, hard=False, weight=10.0), pde.Initial(u=start, hard=False, weight=10.0)],
        network=pde.Separable(2, pde.MLP(20, 1, activation="sine", frequency=40.0)),
    )
    found = problem.solve(
        steps=80 if toy else 150,
        points=800 if toy else 2000,
        boundary_points=300 if toy else 500,
        seed=seed,
        progress=False,
    )
    x, y = np.meshgrid(np.linspace(0, 1, 201), np.linspace(0, 1, 101))
    return {"error": found.error(u=exact)}, (x, y, found.u(x, y, 1.0), exact(x, y, 1.0))


def draw(*shown):
    """Draw the solution at t = 1, and its error."""
    pde.plot_comparison(*shown)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
