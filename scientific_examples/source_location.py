"""Where is the source? Its place and strength, with their uncertainty, from forty noisy sensors.

    −Δu = q exp(−|x − c|² / 2w²)  in (0, 1)²,    u = 0 on the boundary,    w = 0.1;  q and c unknown.

Reference: c = (0.65, 0.4), q = 20, with which the measurements were made, by finite differences.
Reach: error_place 0.01, deviations 4, seconds 60
Toy: error_place 0.1
"""

import numpy as np
from scipy.sparse.linalg import spsolve

from primad import pde
from primad.pde import references

TRUE = {"q": 20.0, "a": 0.65, "b": 0.4}


def source(x, y, q, a, b):
    """Return the source."""
    return q * np.exp(-((x - a) ** 2 + (y - b) ** 2) / 0.02)


def equation(u, x, y, q, a, b):
    """Return −Δu − f."""
    return -pde.laplacian(u) - source(x, y, q, a, b)


def measured(seed, n, noise):
    """Return the sensors' places and what they show."""
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n), indexing="ij")
    inside = (x > 0) & (x < 1) & (y > 0) & (y < 1)
    u = np.zeros_like(x)
    u[inside] = spsolve(-references.masked_laplacian(inside, 1 / (n - 1)).tocsc(), source(x, y, **TRUE)[inside])
    rng = np.random.default_rng(seed)
    chosen = rng.choice(np.flatnonzero(inside), 40, replace=False)
    values = u.ravel()[chosen] + noise * rng.normal(size=40)
    return x.ravel()[chosen], y.ravel()[chosen], values


def solve(toy=False, seed=0):
    """Return the error of the place, the largest error in standard deviations, and what to draw."""
    noise = 0.005
    x, y, u = measured(seed, 61 if toy else 201, noise)
    problem = pde.Problem(
        equation,
        pde.Box(x=(0, 1), y=(0, 1)),
        [pde.Dirichlet(u=0), pde.Data(x=x, y=y, u=u, noise=noise)],
        network=pde.MLP(12 if toy else 24, 2),
        coefficients={"q": 10.0, "a": 0.5, "b": 0.5},
    )
    found = problem.solve(
        steps=40 if toy else 150, points=200 if toy else 1000, weights={"equation": 100.0}, seed=seed, progress=False
    )
    learned, bands = found.coefficients, found.confidence(0.6827)
    place = np.hypot(learned["a"] - TRUE["a"], learned["b"] - TRUE["b"])
    off = {name: abs(learned[name] - TRUE[name]) / (bands[name][1] - learned[name]) for name in TRUE}
    figures = {
        "error_place": place,
        "error_strength": abs(learned["q"] / TRUE["q"] - 1),
        "deviations": max(off.values()),
    }
    return figures, (found, x, y, bands)


def draw(found, x, y, bands):
    """Draw the field, the sensors, the place that was found and its uncertainty; and the search."""
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6))
    pde.plot(found, axes=left)
    left.plot(x, y, "k.", markersize=4, label="sensors")
    a, b = found.coefficients["a"], found.coefficients["b"]
    reach = [[(high - low)] for low, high in (bands["a"], bands["b"])]
    left.errorbar([a], [b], xerr=reach[0], yerr=reach[1], color="white", capsize=3, label="found, 2 σ")
    left.plot(TRUE["a"], TRUE["b"], "rx", label="true")
    left.legend(loc="upper left", fontsize="small")
    pde.plot_coefficients(found, axes=right, exact=TRUE)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
