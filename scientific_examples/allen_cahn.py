"""The Allen–Cahn equation: two phases with thin walls between them.

    u_t = 0.0001 u_xx + 5 (u − u³),    u(x, 0) = x² cos πx,    of period 2.

The solution is even, so it is enough to solve for 0 ≤ x ≤ 1. Points lie densely where it is hard: at the wall near
x = ½, in the middle, where small errors grow e⁵-fold, and at the end, where the start has a kink that soon is smooth.

Reference: a spectral method with 2048 points and exponential time differencing (`primad.pde.references`).
Reach: error 1e-5, seconds 300
Toy: error 0.05
Published: error 1.9e-6 with quasi-Newton steps; 2.2e-5 with Adam on large networks
"""

import numpy as np

from primad import pde
from primad.pde import references


def equation(u):
    """Return u_t − 0.0001 u_xx − 5 (u − u³)."""
    return u.t - 1e-4 * u.xx - 5 * (u.value - u.value**3)


def start(x):
    """Return x² cos πx."""
    return x**2 * np.cos(np.pi * x)


def solve(toy=False, seed=0):
    """Return the relative error, and what to draw."""
    end = 0.1 if toy else 1.0
    time = pde.Time(0, end)
    early = pde.Time(0, end / 5)
    dense = {
        "wall": pde.Within(pde.Interval(0.4, 0.6) * time, equation),
        "middle": pde.Within(pde.Interval(0, 0.1) * time, equation),
        "end": pde.Within(pde.Interval(0.9, 1) * time, equation),
        "kink": pde.Within(pde.Interval(0.97, 1) * early, equation),
    }
    problem = pde.Problem(
        {"everywhere": equation, **dense},
        pde.Interval(0, 1) * time,
        [pde.Neumann(u=0), pde.Initial(u=start, hard=False, weight=100.0)],
        network=pde.MLP(12 if toy else 20, 2 if toy else 3),
        points_order="latin",
    )
    settings = {"steps": 40, "points": 100} if toy else {"steps": 900, "points": 600, "boundary_points": 500}
    found = problem.solve(**settings, resample=20, seed=seed, progress=False)
    x, t = np.linspace(-1, 1, 2048, endpoint=False), np.linspace(0, end, 101)
    right = references.periodic(start(x), 2.0, t, lambda k: 5 - 1e-4 * k**2, lambda u: -5 * u**3, step=5e-3)[::4]
    values = found.u(abs(x[::4, None]), t)
    return {"error": np.linalg.norm(values - right) / np.linalg.norm(right)}, (t, x[::4], values, right, ("t", "x"))


def draw(*shown):
    """Draw the solution and its error."""
    pde.plot_comparison(*shown)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
