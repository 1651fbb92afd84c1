"""The Kuramoto–Sivashinsky equation until it is chaotic, by marching in time (PINNacle's problem KS).

    u_t + 100/16 u u_x + 100/16² u_xx + 100/16⁴ u_xxxx = 0,    u(x, 0) = cos x (1 + sin x),    of period 2π,  0 ≤ t ≤ 1.

In chaos every error grows: from window to window by as much as the solution itself forgets where it began.

Reference: a spectral method with 512 points and exponential time differencing (`primad.pde.references`).
Reach: error 0.1, seconds 300
Toy: error 0.02
Published: error 9.6e-1, the best of eleven methods (Z. Hao et al., 2023); 1.6e-1 with JAX-PI
"""

import numpy as np

from primad import pde
from primad.pde import references

A, B, C = 100 / 16, 100 / 16**2, 100 / 16**4


def equation(u):
    """Return u_t + A u u_x + B u_xx + C u_xxxx."""
    return u.t + A * u * u.x + B * u.xx + C * u.xxxx


def start(x):
    """Return u at the start."""
    return np.cos(x) * (1 + np.sin(x))


def solve(toy=False, seed=0):
    """Return the relative error, and what to draw."""
    end = 0.02 if toy else 1.0

    def window(time, initial):
        conditions = [pde.Periodic("x"), pde.Initial(**initial)]
        network = pde.MLP(16 if toy else 30, 2)
        return pde.Problem(equation, pde.Interval(0, 2 * np.pi) * time, conditions, network=network)

    found = pde.march(
        window,
        {"u": start},
        np.linspace(0, end, 2 if toy else 51),
        steps=40,
        nodes=200 if toy else 1000,
        seed=seed,
        progress=False,
    )
    x, t = np.linspace(0, 2 * np.pi, 512, endpoint=False), np.linspace(0, end, 101)
    right = references.periodic(
        start(x),
        2 * np.pi,
        t,
        lambda k: B * k**2 - C * k**4,
        lambda u: -A * u**2 / 2,
        lambda k: 1j * k,
        step=2e-4,
    )
    values = found.u(x[:, None], t)
    return {"error": np.linalg.norm(values - right) / np.linalg.norm(right)}, (t, x, values, right, ("t", "x"))


def draw(*shown):
    """Draw the solution and its error."""
    pde.plot_comparison(*shown)


if __name__ == "__main__":
    from primad.gallery import run_file

    run_file(__file__)
