"""Kovasznay's flow behind a grid: the Navier–Stokes equations with an exact solution.

    u·∇u + ∇p = Δu / Re,    ∇·u = 0,    Re = 40,

with the exact velocities on the boundary, and the pressure in one corner.

Reference: u = 1 − exp(λx) cos 2πy, v = λ/2π exp(λx) sin 2πy, p = (1 − exp(2λx)) / 2, λ = Re/2 − √(Re²/4 + 4π²).
Reach: error 1e-5, error_p 1e-4, seconds 120
Toy: error 0.05
"""

import numpy as np

from primad import pde

RE = 40.0
RATE = RE / 2 - np.sqrt(RE**2 / 4 + 4 * np.pi**2)


def exact_u(x, y):
    """Return the velocity along x."""
    return 1 - np.exp(RATE * x) * np.cos(2 * np.pi * y)


def exact_v(x, y):
    """Return the velocity along y."""
    return RATE / (2 * np.pi) * np.exp(RATE * x) * np.sin(2 * np.pi * y)


def exact_p(x, y):
    """Return the pressure."""
    return (1 - np.exp(2 * RATE * x)) / 2 + 0 * y


def flow(u, v, p):
    """Return what is left of the balances of momentum and of mass."""
    return (
        u * u.x + v * u.y + p.x - pde.laplacian(u) / RE,
        u * v.x + v * v.y + p.y - pde.laplacian(v) / RE,
        u.x + v.y,
    )


def solve(toy=False, seed=0):
    """Return the relative errors, and what to draw."""
    corner = pde.Data(x=[-0.5], y=[-0.5], p=[exact_p(-0.5, -0.5)])
    problem = pde.Problem(
        flow,
        pde.Box(x=(-0.5, 1), y=(-0.5, 1.5)),
        [pde.Dirichlet(u=exact_u, v=exact_v, hard=False, weight=10.0), pde.Free("p"), corner],
        unknowns="u v p",
        network=pde.MLP(16 if toy else 30, 2),
    )
    found = problem.solve(
        steps=50 if toy else 300,
        points=300 if toy else 2000,
        boundary_points=40 if toy else 100,
        seed=seed,
        progress=False,
    )
    figures = {"error": found.error(u=exact_u), "error_v": found.error(v=exact_v), "error_p": found.error(p=exact_p)}
    x, y = np.meshgrid(np.linspace(-0.5, 1, 91), np.linspace(-0.5, 1.5, 121))
    return figures, (x, y, found.u(x, y), exact_u(x, y))


def draw(*shown):
    """Draw the velocity along x and its error."""
    pde.plot_comparison(*shown)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
