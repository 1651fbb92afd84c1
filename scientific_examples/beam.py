"""An Euler–Bernoulli beam, clamped at one end and free at the other, under its own weight.

    u_xxxx = −1  in (0, 1),    u(0) = u′(0) = 0,    u″(1) = u‴(1) = 0.

Reference: the exact solution −x⁴/24 + x³/6 − x²/4.
Reach: error 1e-7, seconds 10
Toy: error 1e-3
"""

import numpy as np

from primad import pde


def exact(x):
    """Return the deflection."""
    return -(x**4) / 24 + x**3 / 6 - x**2 / 4


def equation(u):
    """Return u_xxxx + 1."""
    return u.xxxx + 1.0


def solve(toy=False, seed=0):
    """Return the relative error, and what to draw."""
    conditions = [
        pde.Dirichlet(u=0, on="x-"),
        pde.Neumann(u=0, on="x-"),
        pde.Condition(lambda u: (u.xx, u.xxx), on="x+", name="free end"),
    ]
    problem = pde.Problem(equation, pde.Interval(0, 1), conditions, network=pde.MLP(8 if toy else 16, 2))
    found = problem.solve(steps=50 if toy else 300, points=40 if toy else 100, seed=seed, progress=False)
    x = np.linspace(0, 1, 201)
    return {"error": found.error(u=exact), "steps": len(found.history)}, (x, found.u(x), found.u.d("xx")(x), found)


def draw(x, u, bend, found):
    """Draw the deflection, its curvature and the losses."""
    import matplotlib.pyplot as plt

    _, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4))
    left.plot(x, exact(x), linewidth=4, alpha=0.35, label="exact")
    left.plot(x, u, linewidth=1, label="found")
    left.set(title="Deflection", xlabel="x")
    left.legend(frameon=False)
    middle.plot(x, -((1 - x) ** 2) / 2, linewidth=4, alpha=0.35)
    middle.plot(x, bend, linewidth=1)
    middle.set(title="Curvature u″", xlabel="x")
    pde.plot_losses(found, axes=right)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
