"""The Helmholtz equation on a square, with four waves across it each way.

    Δu + k² u = f  in (0, 1)²,   k = 4π,    u = 0 on the boundary,

with f such that u = sin 4πx sin 4πy. A first layer of sines fits waves better than tanh does.

Reference: the exact solution.
Reach: error 1e-4, seconds 60
Toy: error 0.02
"""

import numpy as np

from primad import pde

K = 4 * np.pi


def exact(x, y):
    """Return the solution."""
    return np.sin(K * x) * np.sin(K * y)


def equation(u, x, y):
    """Return Δu + k² u − f."""
    return (pde.laplacian(u) + K**2 * u.value + K**2 * exact(x, y)) / K**2


def solve(toy=False, seed=0):
    """Return the relative error, and what to draw."""
    problem = pde.Problem(
        equation,
        pde.Box(x=(0, 1), y=(0, 1)),
        [pde.Dirichlet(u=0)],
        network=pde.MLP(20 if toy else 30, 2, activation="sine", frequency=6.0),
    )
    found = problem.solve(steps=60 if toy else 200, points=300 if toy else 1500, seed=seed, progress=False)
    x, y = np.meshgrid(np.linspace(0, 1, 121), np.linspace(0, 1, 121))
    return {"error": found.error(u=exact), "steps": len(found.history)}, (x, y, found.u(x, y), exact(x, y))


def draw(*shown):
    """Draw the solution and its error."""
    pde.plot_comparison(*shown)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
