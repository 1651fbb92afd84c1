"""The nonlinear Schrödinger equation as a real pair: two solitons in one, which breathe.

    i h_t + h_xx / 2 + |h|² h = 0,    h(x, 0) = 2 sech x,    −10 ≤ x ≤ 10 periodic,  0 ≤ t ≤ π/2,

with h = u + i v.

Reference: a spectral method with 512 points and exponential time differencing (`primad.pde.references`).
Reach: error 1e-4, seconds 300
Toy: error 0.02
"""

import numpy as np

from primad import pde
from primad.pde import references


def equation(u, v):
    """Return the real and the imaginary part of −(i h_t + h_xx / 2 + |h|² h)."""
    square = u.value**2 + v.value**2
    return v.t - u.xx / 2 - square * u.value, u.t + v.xx / 2 + square * v.value


def start(x):
    """Return 2 sech x."""
    return 2 / np.cosh(x)


def solve(toy=False, seed=0):
    """Return the relative error of |h| and h, and what to draw."""
    end = 0.1 if toy else np.pi / 2

    def window(time, initial):
        conditions = [pde.Periodic("x"), pde.Initial(**initial)]
        network = pde.MLP(16 if toy else 30, 2)
        return pde.Problem(equation, pde.Interval(-10, 10) * time, conditions, unknowns="u v", network=network)

    found = pde.march(
        window,
        {"u": start, "v": lambda x: 0.0 * x},
        np.linspace(0, end, 2 if toy else 11),
        steps=25 if toy else 100,
        points=200 if toy else 1500,
        seed=seed,
        progress=False,
    )
    x, t = np.linspace(-10, 10, 512, endpoint=False), np.linspace(0, end, 101)
    right = references.periodic(
        start(x) + 0j, 20.0, t, lambda k: -0.5j * k**2, lambda h: 1j * np.abs(h) ** 2 * h, step=1e-3
    )
    h = found.u(x[:, None], t) + 1j * found.v(x[:, None], t)
    figures = {
        "error": np.linalg.norm(h - right) / np.linalg.norm(right),
        "error_of_modulus": np.linalg.norm(abs(h) - abs(right)) / np.linalg.norm(right),
    }
    return figures, (t, x, abs(h), abs(right), ("t", "x"))


def draw(*shown):
    """Draw |h| and its error."""
    pde.plot_comparison(*shown)


if __name__ == "__main__":
    from primad.gallery import run_file

    run_file(__file__)
