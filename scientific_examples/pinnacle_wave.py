"""A string that vibrates at two frequencies (PINNacle's problem Wave1d-C).

    u_tt = 4 u_xx,    u = sin πx + ½ sin 4πx at rest at t = 0,    u = 0 at x = 0 and 1,    0 ≤ t ≤ 1.

Initial and boundary values hold by construction.

Reference: the exact solution sin πx cos 2πt + ½ sin 4πx cos 8πt.
Reach: error 1e-4, seconds 120
Toy: error 0.7
Published: error 9.8e-2 with weights by the neural tangent kernel, the best of eleven methods (Z. Hao et al., 2023)
"""

import numpy as np

from primad import pde


def equation(u):
    """Return u_tt − 4 u_xx, on the scale of the other terms."""
    return (u.tt - 4 * u.xx) / 100


def start(x):
    """Return u at the start."""
    return np.sin(np.pi * x) + np.sin(4 * np.pi * x) / 2


def exact(x, t):
    """Return the solution."""
    return np.sin(np.pi * x) * np.cos(2 * np.pi * t) + np.sin(4 * np.pi * x) * np.cos(8 * np.pi * t) / 2


def solve(toy=False, seed=0):
    """Return the relative error, and what to draw."""
    problem = pde.Problem(
        equation,
        pde.Interval(0, 1) * pde.Time(0, 1),
        [pde.Dirichlet(u=0), pde.Initial(u=start), pde.Initial(u=0, order=1)],
        network=pde.MLP(16 if toy else 24, 2, activation="sine", frequency=6.0),
    )
    found = problem.solve(steps=30 if toy else 250, points=200 if toy else 2500, seed=seed, progress=False)
    x, t = np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 1, 101), indexing="ij")
    return {"error": found.error(u=exact)}, (t, x, found.u(x, t), exact(x, t), ("t", "x"))


def draw(*shown):
    """Draw the solution and its error."""
    pde.plot_comparison(*shown)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
