"""Burgers' equations in the plane, from a random start (after PINNacle's problem Burgers2d-C).

    u_t + u u_x + v u_y = ν Δu,    v_t + u v_x + v v_y = ν Δv    in (0, 4)², periodic,  0 ≤ t ≤ 1.

PINNacle's start is a file and ν = 0.001; here it is a random field of waves as long as the square and half as long, and
ν = 0.01, whose fronts a network of this size can follow.

Reference: a spectral method with 256 × 256 points and exponential time differencing (`primad.pde.references`).
Reach: error 0.03, seconds 300
Toy: error 0.1
Published: error 2.6e-1 with the other start and ν, the best of eleven methods (Z. Hao et al., 2023)
"""

import numpy as np

from primad import pde
from primad.pde import references

NU, SIZE = 0.01, 4.0
WAVES = np.random.default_rng(1).normal(size=(2, 3, 3, 2)) / 8


def start(which):
    """Return u, or v, at the start, as a function."""

    def field(x, y):
        at = [(i, j, np.pi / 2 * (i * x + j * y)) for i in range(3) for j in range(3)]
        return sum(WAVES[which, i, j, 0] * np.cos(k) + WAVES[which, i, j, 1] * np.sin(k) for i, j, k in at)

    return field


def equation(u, v):
    """Return what is left of both equations."""
    return tuple([w.t + u * w.x + v * w.y - NU * pde.laplacian(w) for w in (u, v)])


def reference(n, times):
    """Return points along a side, and u and v there."""
    line = np.linspace(0, SIZE, n, endpoint=False)
    x, y = np.meshgrid(line, line, indexing="ij")
    k = 2j * np.pi / SIZE * np.fft.fftfreq(n, 1 / n)

    def carried(w):
        modes = np.fft.fft2(w)
        along_x, along_y = (np.fft.ifft2(factor * modes).real for factor in (k[:, None], k))
        return -w[0] * along_x - w[1] * along_y

    start_values = np.stack([start(0)(x, y), start(1)(x, y)])
    return line, references.periodic(
        start_values, SIZE, times, lambda k, m: -NU * (k**2 + m**2), carried, step=5e-3, dimensions=2
    )


def solve(toy=False, seed=0):
    """Return the relative error, and what to draw."""
    end = 0.2 if toy else 1.0
    problem = pde.Problem(
        equation,
        pde.Box(x=(0, SIZE), y=(0, SIZE)) * pde.Time(0, end),
        [pde.Periodic("x", "y"), pde.Initial(u=start(0), v=start(1))],
        unknowns="u v",
        network=pde.MLP(16 if toy else 32, 2),
    )
    found = problem.solve(steps=20 if toy else 150, points=200 if toy else 2500, seed=seed, progress=False)
    times = np.linspace(0, end, 6)
    line, right = reference(64 if toy else 256, times)
    right = right[:, :: line.size // 64, :: line.size // 64]
    x, y = np.meshgrid(*2 * [line[:: line.size // 64]], indexing="ij")
    values = np.stack([w(x[..., None], y[..., None], times) for w in (found.u, found.v)])
    error = np.linalg.norm(values - right) / np.linalg.norm(right)
    return {"error": error}, (x, y, values[0, ..., -1], right[0, ..., -1])


def draw(*shown):
    """Draw u at the end, and its error."""
    pde.plot_comparison(*shown)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
