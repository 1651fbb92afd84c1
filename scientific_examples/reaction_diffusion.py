"""Recovering a map of feed rates of Gray and Scott's reaction–diffusion system through 1000 time steps.

    u′ = Dᵤ Δu − u v² + F (1 − u),   v′ = Dᵥ Δv + u v² − (F + k) v

The feed rate F varies over a periodic square. Only the field v is observed. A thousand explicit steps are one
`primad.scan`; its gradient takes the steps the other way, with what it needs of each kept in memory. L-BFGS fits the
map, a few Fourier modes, to the field after a fifth of the steps, then after half, then after all.

Reference: the map that the data were made with.
Reach: error 1e-6, seconds 60
Toy: error 1e-3
"""

import numpy as np

import primad
from primad import optimize

DIFFUSION, KILL = (0.16, 0.08), 0.06
MEAN = 0.04
"""Feed rate where the map is 0."""


def laplacian(x):
    """Return the five-point Laplacian on a periodic square."""
    return np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1) - 4 * x


def modes(n):
    """Return smooth functions on the square, one a row."""
    t = 2 * np.pi * np.arange(n) / n
    waves = [np.ones(n), np.cos(t), np.sin(t)]
    return np.stack([np.outer(a, b) for a in waves for b in waves])


def final(coefficients, basis, start, steps):
    """Return v after so many steps."""
    feed = MEAN * (1 + np.tensordot(coefficients, basis, 1))

    def step(state, _):
        u, v = state
        reaction = u * v * v
        u = u + DIFFUSION[0] * laplacian(u) - reaction + feed * (1 - u)
        v = v + DIFFUSION[1] * laplacian(v) + reaction - (feed + KILL) * v
        return (u, v), None

    (_, v), _ = primad.scan(step, start, length=steps)
    return v


def solve(toy=False, seed=0):
    """Return the relative error of the map, and what to draw."""
    n, steps = (16, 50) if toy else (48, 1000)
    rng = np.random.default_rng(seed)
    basis = modes(n)
    true = 0.05 * rng.normal(size=len(basis))
    u, v = np.ones((n, n)), np.zeros((n, n))
    for _ in range(12):
        i, j = rng.integers(0, n, 2)
        u[i : i + 6, j : j + 6], v[i : i + 6, j : j + 6] = 0.5, 0.5
    found = np.zeros(len(basis))
    for until in (steps // 5, steps // 2, steps):  # what was found early is where the search for more begins
        data = final(true, basis, (u, v), until)

        def loss(coefficients, data, until=until):
            return 1e3 * np.mean((final(coefficients, basis, (u, v), until) - data) ** 2)

        found = optimize.solve(optimize.LBFGS(), loss, found, (data,), steps=25, tolerance=1e-9).params
    error = np.linalg.norm(found - true) / np.linalg.norm(true)
    maps = [MEAN * (1 + np.tensordot(c, basis, 1)) for c in (true, found)]
    return {"error": error}, (data, *maps)


def draw(data, true, found):
    """Draw the observed field, the true map and the one that was found."""
    import matplotlib.pyplot as plt

    figure = plt.gcf()
    figure.set_size_inches(9, 3)
    for k, (title, field) in enumerate((("observed v", data), ("true F", true), ("found F", found))):
        axes = figure.add_subplot(1, 3, k + 1)
        figure.colorbar(axes.imshow(field.T, origin="lower", cmap="viridis"), ax=axes, shrink=0.7)
        axes.set(title=title, xticks=[], yticks=[])


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
