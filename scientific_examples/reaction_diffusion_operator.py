"""Reaction and diffusion for all sources at once: an operator, learned from the equation alone.

    u_t = 0.01 u_xx + 0.01 u² + v(x),    u = 0 at t = 0 and at both ends

The source v is a sample of a Gaussian process of length 0.2; after training, any other one is answered at once. The
problem is that of S. Wang, H. Wang & P. Perdikaris, Science Advances 7 (2021) eabi8605, without data.

Reference: finite differences of second order (Crank and Nicolson), for 20 sources that were not trained on; the error
    is the mean of the relative errors, the worst is the largest.
Reach: error 0.02, worst 0.05, seconds 120
Toy: error 0.3
"""

import numpy as np
from scipy.linalg import solve_banded

from primad import pde

SENSORS = 20


def equation(u, v):
    """Return u_t − 0.01 u_xx − 0.01 u² − v."""
    return u.t - 0.01 * u.xx - 0.01 * u * u - v


def reference(source, points, steps):
    """Return the solution at even steps of x and t, by finite differences."""
    r = 0.01 / steps / 2 * (points - 1) ** 2
    bands = np.array([np.full(points, -r), np.full(points, 1 + 2 * r), np.full(points, -r)])
    bands[1, [0, -1]], bands[0, 1], bands[2, -2] = 1.0, 0.0, 0.0
    u = np.zeros(points)
    rows = [u]
    for _ in range(steps):
        half = u + r * np.pad(np.diff(u, 2), 1)
        new = u
        for _ in range(3):  # the reaction at the middle of the step, which is small
            right = half + (0.01 * ((u + new) / 2) ** 2 + source) / steps
            right[[0, -1]] = 0.0
            new = solve_banded((1, 1), bands, right)
        u = new
        rows.append(u)
    return np.array(rows).T


def solve(toy=False, seed=0):
    """Return the mean and the largest relative error for new sources, and what to draw."""
    sources = pde.GaussianProcess("x", length=0.2, count=30 if toy else 60, sensors=SENSORS)
    width = 8 if toy else 20
    problem = pde.Problem(
        equation,
        pde.Interval(0, 1) * pde.Time(0, 1),
        [pde.Dirichlet(u=0), pde.Initial(u=0)],
        network=pde.DeepONet(width, branch=pde.MLP(width, 1), trunk=pde.MLP(width, 1 if toy else 2)),
        family={"v": sources},
    )
    found = problem.solve(steps=30 if toy else 40, points=40 if toy else 60, seed=seed, progress=False)
    x, t = np.linspace(0, 1, 101), np.linspace(0, 1, 101)
    new = pde.GaussianProcess("x", length=0.2, count=4 if toy else 20, sensors=101)
    drawn = new.drawn(x, np.random.default_rng(seed + 1))
    shown, errors = [], []
    for source in drawn:
        values = found.u(x[:, None], t, v=lambda at, source=source: np.interp(at, x, source))
        right = reference(source, 101, 200)[:, ::2]
        errors.append(np.linalg.norm(values - right) / np.linalg.norm(right))
        shown.append((x, t, source, values, right))
    return {"error": np.mean(errors), "worst": max(errors)}, shown[:2]


def draw(*shown):
    """Draw two sources, and for each the solution by finite differences, the operator's and their difference."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(len(shown), 4, figsize=(15, 3.4 * len(shown)), sharex=True, layout="constrained")
    for row, (x, t, source, values, right) in zip(panels, shown, strict=True):
        row[0].plot(x, source)
        row[0].set(title="source v(x)", xlabel="x")
        most = np.max(np.abs(right))
        for axes, map_, title in ((row[1], right, "finite differences"), (row[2], values, "operator")):
            mesh = axes.pcolormesh(x, t, map_.T, cmap="RdBu_r", vmin=-most, vmax=most, rasterized=True)
            axes.set(title=title, xlabel="x", ylabel="t")
        figure.colorbar(mesh, ax=row[2])
        wrong = row[3].pcolormesh(x, t, np.abs(values - right).T, cmap="magma", vmin=0, rasterized=True)
        row[3].set(title="|difference|", xlabel="x", ylabel="t")
        figure.colorbar(wrong, ax=row[3], format="%.0e")


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
