"""The Korteweg–de Vries equation: a wave that breaks into solitons, by marching in time.

    u_t + u u_x + 0.0025 u_xxx = 0,    u(x, 0) = cos πx,    of period 2.

Reference: a spectral method with 512 points and exponential time differencing (`primad.pde.references`).
Reach: error 1e-5, seconds 180
Toy: error 0.02
Published: error 2.2e-6 with quasi-Newton steps
"""

import numpy as np

from primad import pde
from primad.pde import references


def equation(u):
    """Return u_t + u u_x + 0.0025 u_xxx."""
    return u.t + u * u.x + 0.0025 * u.xxx


def solve(toy=False, seed=0):
    """Return the relative error, and what to draw."""
    end = 0.2 if toy else 1.0

    def window(time, initial):
        conditions = [pde.Periodic("x"), pde.Initial(**initial)]
        network = pde.MLP(16 if toy else 30, 2)
        return pde.Problem(equation, pde.Interval(-1, 1) * time, conditions, network=network)

    found = pde.march(
        window,
        {"u": lambda x: np.cos(np.pi * x)},
        np.linspace(0, end, 2 if toy else 11),
        steps=30 if toy else 100,
        nodes=200 if toy else 1500,
        seed=seed,
        progress=False,
    )
    x, t = np.linspace(-1, 1, 512, endpoint=False), np.linspace(0, end, 101)
    right = references.periodic(
        np.cos(np.pi * x), 2.0, t, lambda k: 0.0025j * k**3, lambda u: -(u**2) / 2, lambda k: 1j * k, step=2e-4
    )
    values = found.u(x[:, None], t)
    return {"error": np.linalg.norm(values - right) / np.linalg.norm(right)}, (t, x, values, right, ("t", "x"))


def draw(*shown):
    """Draw the solution and its error."""
    pde.plot_comparison(*shown)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
