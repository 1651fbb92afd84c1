"""Heat in a material whose conductivity varies at random (after PINNacle's problem Heat2d-VC).

    u_t = a Δu + 200 sin πx sin 5πy sin πt,    u = 0 at t = 0 and on the boundary of the square (0, 1)²,    0 ≤ t ≤ 5.

PINNacle's conductivity is a file; here it is a smooth random field.

Reference: collocation at 30 × 30 of Chebyshev's points, and a matrix exponential (`primad.pde.references`).
Reach: error 0.02, seconds 180
Toy: error 0.7
Published: error 2.1e-1 with another random field, the best of eleven methods (Z. Hao et al., 2023)
"""

import numpy as np
import scipy.linalg

from primad import pde
from primad.pde import references

WAVES = np.random.default_rng(5).normal(size=(4, 4)) / 4


def conductivity(x, y):
    """Return a."""
    waves = np.pi * np.arange(4)
    return np.exp(sum(WAVES[i, j] * np.cos(waves[i] * x) * np.cos(waves[j] * y) for i in range(4) for j in range(4)))


def shape(x, y):
    """Return the source, but for sin πt."""
    return 200 * np.sin(np.pi * x) * np.sin(5 * np.pi * y)


def equation(u, x, y, t):
    """Return u_t − a Δu − f."""
    return (u.t - conductivity(x, y) * pde.laplacian(u) - shape(x, y) * np.sin(np.pi * t)) / 100


def reference(times, n):
    """Return points, and the solution there: of u, sin πt and cos πt together, a linear system."""
    x, y, laplacian = references.square_laplacian(n)
    count = x.size
    matrix = np.zeros((count + 2, count + 2))
    matrix[:count, :count] = conductivity(x, y)[:, None] * laplacian
    matrix[:count, count] = shape(x, y)
    matrix[count, count + 1], matrix[count + 1, count] = np.pi, -np.pi
    step = scipy.linalg.expm(matrix * (times[1] - times[0]))
    state = np.zeros(count + 2)
    state[-1] = 1
    found = [state]
    for _ in times[1:]:
        found.append(step @ found[-1])
    return x, y, np.stack(found, axis=-1)[:count]


def solve(toy=False, seed=0):
    """Return the relative error, and what to draw."""
    end = 1.0 if toy else 5.0
    problem = pde.Problem(
        equation,
        pde.Box(x=(0, 1), y=(0, 1)) * pde.Time(0, end),
        [pde.Dirichlet(u=0), pde.Initial(u=0)],
        network=pde.MLP(16 if toy else 32, 2),
    )
    found = problem.solve(steps=60 if toy else 250, points=500 if toy else 3000, seed=seed, progress=False)
    times = np.linspace(0, end, 21)
    x, y, right = reference(times, 16 if toy else 30)
    error = np.linalg.norm(found.u(x[:, None], y[:, None], times) - right) / np.linalg.norm(right)
    side = int(np.sqrt(x.size))
    x, y, right = (each.reshape(side, side) for each in (x, y, right[:, 18]))
    return {"error": error}, (x, y, found.u(x, y, times[18]), right)


def draw(*shown):
    """Draw the solution at nine tenths of the time, when the source is strong, and its error."""
    pde.plot_comparison(*shown)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
