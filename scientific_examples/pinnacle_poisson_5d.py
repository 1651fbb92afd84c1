"""Poisson's equation in the five-dimensional cube (PINNacle's problem PNd).

    −Δu = (π²/4) Σ sin(πxᵢ/2) in (0, 1)⁵,    u given on the boundary.

Reference: the exact solution Σ sin(πxᵢ/2).
Reach: error 1e-5, seconds 120
Toy: error 0.01
Published: error 4.7e-4 with L-BFGS, the best of eleven methods (Z. Hao et al., 2023)
"""

import numpy as np

from primad import pde


def exact(v, w, x, y, z):
    """Return the solution."""
    return sum(np.sin(np.pi / 2 * each) for each in (v, w, x, y, z))


def equation(u, v, w, x, y, z):
    """Return Δu + (π²/4) Σ sin(πxᵢ/2)."""
    return pde.laplacian(u) + np.pi**2 / 4 * exact(v, w, x, y, z)


def solve(toy=False, seed=0):
    """Return the relative error, and what to draw."""
    problem = pde.Problem(
        equation,
        pde.Box(**dict.fromkeys("vwxyz", (0, 1))),
        [pde.Dirichlet(u=exact, hard=False, weight=10.0)],
        network=pde.MLP(16 if toy else 48, 1),
    )
    found = problem.solve(steps=30 if toy else 250, points=200 if toy else 2500, seed=seed, progress=False)
    x, y = np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 1, 101))
    values, right = (u(0.5, 0.5, 0.5, x, y) for u in (found.u, exact))
    return {"error": found.error(u=exact)}, (x, y, values, right, ("y", "z"))


def draw(*shown):
    """Draw the solution and its error in the plane through the middle."""
    pde.plot_comparison(*shown)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
