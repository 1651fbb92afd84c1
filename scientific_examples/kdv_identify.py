"""Identifying an equation: both coefficients of Korteweg and de Vries, from noisy measurements of a wave.

    u_t + a u u_x + b u_xxx = 0,    a and b unknown;  u is measured at 2000 points with 1 % noise.

A network follows the measurements and the equation at once; a and b are learned with its parameters. The equation
weighs so much that the network cannot follow the noise instead. How well the data determine a and b is read off the
Hessian.

Reference: a = 1, b = 0.0025, with which the data were made, by a spectral method.
Reach: error_a 0.005, error_b 0.005, seconds 120
Toy: error_a 0.2, error_b 0.5
"""

import numpy as np

from primad import pde
from primad.pde import references


def equation(u, a, b):
    """Return u_t + a u u_x + b u_xxx, with b in thousandths."""
    return u.t + a * u * u.x + b / 1000 * u.xxx


def measured(seed, count):
    """Return places, times and measurements."""
    rng = np.random.default_rng(seed)
    x, t = np.linspace(-1, 1, 256, endpoint=False), np.linspace(0, 0.4, 81)
    u = references.periodic(
        np.cos(np.pi * x), 2.0, t, lambda k: 0.0025j * k**3, lambda u: -(u**2) / 2, lambda k: 1j * k, step=5e-4
    )
    i, j = rng.integers(256, size=count), rng.integers(81, size=count)
    noise = 0.01 * np.std(u)
    return x[i], t[j], u[i, j] + noise * rng.normal(size=count), noise


def solve(toy=False, seed=0):
    """Return the errors of the coefficients, also in standard deviations, and what to draw."""
    x, t, u, noise = measured(seed, 300 if toy else 2000)
    problem = pde.Problem(
        equation,
        pde.Interval(-1, 1) * pde.Time(0, 0.4),
        [pde.Periodic("x"), pde.Free("u"), pde.Data(x=x, t=t, u=u, noise=noise)],
        network=pde.MLP(16 if toy else 24, 2),
        coefficients={"a": 0.5, "b": 1.0},
    )
    found = problem.solve(
        steps=40 if toy else 200,
        points=300 if toy else 2000,
        weights={"equation": 1e2 if toy else 1e4},
        seed=seed,
        progress=False,
    )
    true = {"a": 1.0, "b": 2.5}
    figures = {f"error_{name}": abs(found.coefficients[name] / true[name] - 1) for name in true}
    return figures, (found, true, x, t, u)


def draw(found, true, x, t, u):
    """Draw the measurements, the wave and the coefficients."""
    import matplotlib.pyplot as plt

    _, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.2))
    points = left.scatter(t, x, c=u, s=4, cmap="RdBu_r")
    left.set(title="Measurements", xlabel="t", ylabel="x")
    plt.colorbar(points, ax=left)
    pde.plot(found, axes=middle, along=("t", "x"))
    pde.plot_coefficients(found, axes=right, exact=true)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
