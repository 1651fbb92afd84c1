"""The nonlinear Schrödinger equation, of a complex unknown: two solitons in one, which breathe.

    i h_t + h_xx / 2 + |h|² h = 0,    h(x, 0) = 2 sech x,    −10 ≤ x ≤ 10 periodic,  0 ≤ t ≤ π/2,

of which the network computes both parts. The wave is even, so it is enough to solve for x ≥ 0. Half of the points lie
near the centre, and all are drawn anew every twenty steps: a network can satisfy an equation at fixed points and be
wrong in between.

Reference: a spectral method with 512 points and exponential time differencing (`primad.pde.references`).
Reach: error 1e-4, seconds 300
Toy: error 0.02
"""

import numpy as np

from primad import pde
from primad.pde import references


def equation(h):
    """Return i h_t + h_xx / 2 + |h|² h."""
    return 1j * h.t + h.xx / 2 + abs(h) ** 2 * h


def start(x):
    """Return 2 sech x."""
    return 2 / np.cosh(x)


def solve(toy=False, seed=0):
    """Return the relative error of |h| and h, and what to draw."""
    end = 0.1 if toy else np.pi / 2
    time = pde.Time(0, end)
    problem = pde.Problem(
        {"everywhere": equation, "centre": pde.Within(pde.Interval(0, 2) * time, equation)},
        pde.Interval(0, 10) * time,
        [pde.Neumann(h=0), pde.Initial(h=start)],
        unknowns="h",
        network=pde.Complex(pde.MLP(16 if toy else 20, 2 if toy else 3)),
        points_order="latin",
    )
    settings = {"steps": 40, "points": 200} if toy else {"steps": 300, "points": 1250}
    found = problem.solve(**settings, resample=20, seed=seed, progress=False)
    x, t = np.linspace(-10, 10, 512, endpoint=False), np.linspace(0, end, 101)
    right = references.periodic(
        start(x) + 0j, 20.0, t, lambda k: -0.5j * k**2, lambda h: 1j * np.abs(h) ** 2 * h, step=1e-3
    )
    h = found.h(abs(x[:, None]), t)
    figures = {
        "error": np.linalg.norm(h - right) / np.linalg.norm(right),
        "error_of_modulus": np.linalg.norm(abs(h) - abs(right)) / np.linalg.norm(right),
    }
    return figures, (t, x, abs(h), abs(right), ("t", "x"))


def draw(*shown):
    """Draw |h| and its error."""
    pde.plot_comparison(*shown)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
