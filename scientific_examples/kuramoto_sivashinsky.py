"""The Kuramoto–Sivashinsky equation, of fourth order, by marching in time.

    u_t + 5 u u_x + 0.5 u_xx + 0.005 u_xxxx = 0,    u(x, 0) = −sin πx,    of period 2.

All four derivatives come out of one pass of Taylor series through the network.

Reference: a spectral method with 256 points and exponential time differencing (`primad.pde.references`).
Reach: error 1.4e-4, seconds 300
Toy: error 0.01
Published: error 1.4e-4
"""

import numpy as np

from primad import pde
from primad.pde import references


def equation(u):
    """Return u_t + 5 u u_x + 0.5 u_xx + 0.005 u_xxxx."""
    return u.t + 5 * u * u.x + 0.5 * u.xx + 0.005 * u.xxxx


def solve(toy=False, seed=0):
    """Return the relative error, and what to draw."""
    end = 0.05 if toy else 1.0

    def window(time, initial):
        conditions = [pde.Periodic("x"), pde.Initial(**initial)]
        network = pde.MLP(16 if toy else 30, 2)
        return pde.Problem(equation, pde.Interval(-1, 1) * time, conditions, network=network)

    found = pde.march(
        window,
        {"u": lambda x: -np.sin(np.pi * x)},
        np.linspace(0, end, 2 if toy else 21),
        steps=40 if toy else 80,
        nodes=200 if toy else 1500,
        seed=seed,
        progress=False,
    )
    x, t = np.linspace(-1, 1, 256, endpoint=False), np.linspace(0, end, 101)
    right = references.periodic(
        -np.sin(np.pi * x),
        2.0,
        t,
        lambda k: 0.5 * k**2 - 0.005 * k**4,
        lambda u: -5 * u**2 / 2,
        lambda k: 1j * k,
        step=5e-4,
    )
    values = found.u(x[:, None], t)
    return {"error": np.linalg.norm(values - right) / np.linalg.norm(right)}, (t, x, values, right, ("t", "x"))


def draw(*shown):
    """Draw the solution and its error."""
    pde.plot_comparison(*shown)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
