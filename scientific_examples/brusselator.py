"""The Brusselator on a square: 2048 stiff equations, and the zeros of their Jacobian.

    u′ = 1 + u² v − 4.4 u + α Δu + f(x, y, t),   v′ = 3.4 u − u² v + α Δv

on a periodic square with α = 10; f is 5 within a disk from t = 1.1 on. The right-hand side is written with whole arrays
and `np.roll`. SciPy's implicit method gets its Jacobian from `primad.optimize.solve_ivp`: it is found that a row has
six entries, and twelve directions give all of them, so that steps solve sparse systems. A small steady state of the
same reaction, and how it moves with the rate 3.4, is a root with a derivative (`primad.implicit`).

Reference: the same method with tolerances a thousand times as small; of the root's derivative the exact one, 0 and 1.
Reach: error 1e-3, slope 1e-12, seconds 60
Toy: error 1e-3, slope 1e-12
"""

import numpy as np

import primad
from primad import implicit, optimize

ALPHA, RATE, END = 10.0, 3.4, 11.5


def laplacian(z):
    """Return the five-point Laplacian on a periodic square of length 1."""
    near = np.roll(z, 1, 0) + np.roll(z, -1, 0) + np.roll(z, 1, 1) + np.roll(z, -1, 1)
    return len(z) ** 2 * (near - 4 * z)


def reaction(u, v, rate):
    """Return what the reaction makes of both substances."""
    made = u * u * v
    return 1 + made - (rate + 1) * u, rate * u - made


def right_hand_side(t, state, disk):
    """Return the derivative of u and v, one row of numbers."""
    u, v = state.reshape(2, *disk.shape)
    du, dv = reaction(u, v, RATE)
    du = du + ALPHA * laplacian(u) + np.where(t >= 1.1, 5.0, 0.0) * disk
    return np.stack([du, dv + ALPHA * laplacian(v)]).ravel()


def steady(rate):
    """Return where the reaction alone rests: u = 1, v = rate."""
    return np.stack(implicit.root(lambda s: reaction(*s, rate), (1.2, 3.0)))


def solve(toy=False):
    """Return the relative error at the end, that of the slope of the steady state, and what to draw."""
    n = 8 if toy else 32
    x, y = np.meshgrid(np.arange(n) / n, np.arange(n) / n, indexing="ij")
    disk = ((x - 0.3) ** 2 + (y - 0.6) ** 2 <= 0.01).astype(float)
    start = np.stack([22 * (y * (1 - y)) ** 1.5, 27 * (x * (1 - x)) ** 1.5]).ravel()
    times = np.array([0.0, 0.002, 1.1, 1.2, END])
    ends = [
        optimize.solve_ivp(
            right_hand_side, (0.0, END), start, "BDF", times, args=(disk,), rtol=rtol, atol=rtol, max_step=0.5
        ).y
        for rtol in (1e-6, 1e-9)
    ]
    error = np.linalg.norm(ends[0][:, -1] - ends[1][:, -1]) / np.linalg.norm(ends[1][:, -1])
    slope = np.max(np.abs(primad.jvp(steady, (RATE,), (1.0,))[1] - [0.0, 1.0]))
    pattern = primad.jacobian(right_hand_side, argnums=1)(0.0, start, disk).pattern()
    fields = [ends[1][: n * n, i].reshape(n, n) for i in (0, 1, 3)]
    return {"error": error, "slope": slope}, (times[[0, 1, 3]], fields, pattern)


def draw(times, fields, pattern):
    """Draw u at three times, and where the Jacobian has entries."""
    import matplotlib.pyplot as plt

    figure = plt.gcf()
    figure.set_size_inches(9, 2.3)
    for k, (time, field) in enumerate(zip(times, fields, strict=True)):
        axes = figure.add_subplot(1, 4, k + 1)
        shown = axes.imshow(field.T, origin="lower", extent=(0, 1, 0, 1), cmap="viridis")
        axes.set_title(f"u at t = {time:g}")
        axes.set_xticks([0, 1], ["0", "1"])
        axes.set_yticks([0, 1], ["0", "1"])
        figure.colorbar(shown, ax=axes, fraction=0.046)
    axes = figure.add_subplot(1, 4, 4)
    axes.spy(pattern.toarray(), markersize=0.3)
    axes.set_title("the Jacobian")
    axes.set_xticks([])
    axes.set_yticks([])


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
