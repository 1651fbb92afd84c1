"""The Allen–Cahn equation: two phases with thin walls between them, by marching in time.

    u_t = 0.0001 u_xx + 5 (u − u³),    u(x, 0) = x² cos πx,    of period 2.

The start has a kink where the period ends, which the first window fits; the others begin where the last one ended.

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


def solve(toy=False, seed=0):
    """Return the relative error, and what to draw."""
    end = 0.1 if toy else 1.0

    def start(x):
        return x**2 * np.cos(np.pi * x)

    def window(time, initial):
        known = pde.Initial(**initial, hard=time.low > 0, weight=1.0 if time.low else 100.0)
        network = pde.MLP(16 if toy else 30, 2)
        return pde.Problem(equation, pde.Interval(-1, 1) * time, [pde.Periodic("x"), known], network=network)

    found = pde.march(
        window,
        {"u": start},
        np.linspace(0, end, 2 if toy else 11),
        steps=20 if toy else 100,
        points=200 if toy else 2000,
        boundary_points=100 if toy else 1000,
        seed=seed,
        progress=False,
    )
    x, t = np.linspace(-1, 1, 2048, endpoint=False), np.linspace(0, end, 101)
    right = references.periodic(start(x), 2.0, t, lambda k: 5 - 1e-4 * k**2, lambda u: -5 * u**3, step=5e-3)[::4]
    values = found.u(x[::4, None], t)
    return {"error": np.linalg.norm(values - right) / np.linalg.norm(right)}, (t, x[::4], values, right, ("t", "x"))


def draw(*shown):
    """Draw the solution and its error."""
    pde.plot_comparison(*shown)


if __name__ == "__main__":
    from primad.gallery import run_file

    run_file(__file__)
