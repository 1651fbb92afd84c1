"""Identifying the parameters of Lorenz's system from noisy observations, with their uncertainty from the Hessian.

    x′ = σ (y − x),   y′ = x (ρ − z) − y,   z′ = x y − β z

The integrator of Runge and Kutta is a `primad.scan`: its gradient takes as long as a few runs of the loop in C, and so
does the Hessian, whose inverse is the covariance of what was found. Newton's method with a line search fits the
logarithms of the parameters.

Reference: the parameters that the data were made with: they should lie within four standard deviations.
Reach: deviations 4, gradient_norm 1e-6, seconds 10
Toy: deviations 4
"""

import numpy as np

import primad

TRUE = np.log([10.0, 28.0, 8.0 / 3.0])
"""Logarithms of σ, ρ and β: what is positive stays positive."""
START, NOISE = np.array([-5.0, -7.0, 22.0]), 0.5
STEP, EVERY = 0.005, 10
"""Length of a step, and how many there are between two observations."""


def slope(p, state):
    """Return the right-hand side."""
    sigma, rho, beta = np.exp(p)
    x, y, z = state
    return primad.numpy.stack([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def observed(p, count):
    """Return the states at so many times."""

    def step(state, _):
        k1 = slope(p, state)
        k2 = slope(p, state + STEP / 2 * k1)
        k3 = slope(p, state + STEP / 2 * k2)
        k4 = slope(p, state + STEP * k3)
        state = state + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return state, state

    _, states = primad.scan(step, START, length=count * EVERY)
    return states[EVERY - 1 :: EVERY]


def solve(toy=False, seed=0):
    """Return the errors of the parameters, in themselves and in standard deviations, and what to draw."""
    count = 20 if toy else 60
    rng = np.random.default_rng(seed)
    data = observed(TRUE, count) + NOISE * rng.normal(size=(count, 3))

    def misfit(p, data):
        return 0.5 * np.sum((observed(p, count) - data) ** 2) / NOISE**2

    loss = primad.jit(misfit)
    gradient = primad.jit(primad.grad(misfit))
    curvature = primad.jit(lambda p, data: primad.hessian(misfit)(p, data)[:])
    p = np.log([9.6, 27.5, 2.75])
    steps = 0
    while steps < 40:
        slope_at, matrix = gradient(p, data), curvature(p, data)
        values, vectors = np.linalg.eigh(matrix)
        move = -vectors @ (vectors.T @ slope_at / np.maximum(np.abs(values), 1.0))
        length, before = 1.0, loss(p, data)
        while not loss(p + length * move, data) < before and length > 1e-8:
            length /= 2
        p, steps = p + length * move, steps + 1
        if np.linalg.norm(slope_at) < 1e-6 * np.linalg.norm(data):
            break
    deviation = np.sqrt(np.diag(np.linalg.inv(curvature(p, data))))
    off = np.abs(p - TRUE)
    figures = {
        "error": np.max(off),
        "deviations": np.max(off / deviation),
        "gradient_norm": np.linalg.norm(gradient(p, data)) / np.linalg.norm(data),
        "steps": steps,
    }
    return figures, (data, observed(p, count), np.exp(p), np.exp(p) * deviation)


def draw(data, fitted, found, deviation):
    """Draw the observations and the fitted path, and what was found."""
    import matplotlib.pyplot as plt

    axes = plt.gcf().add_subplot(projection="3d")
    axes.plot(*fitted.T, color="C0", linewidth=1, label="fitted")
    axes.plot(*data.T, ".", color="C1", markersize=3, label="observed")
    names = zip(("σ", "ρ", "β"), found, deviation, strict=True)
    axes.set(title=",  ".join(f"{name} = {value:.3f} ± {2 * off:.3f}" for name, value, off in names))
    axes.legend(frameon=False)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
