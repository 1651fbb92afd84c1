"""Poisson's equation in five dimensions.

    −Δu = π² Σ cos πxᵢ  in (0, 1)⁵,     u = Σ cos πxᵢ on the boundary.

Five second derivatives at each point are a Laplacian, which costs seven passes through the network.

Reference: the exact solution Σ cos πxᵢ.
Reach: error 1e-6, seconds 80
Toy: error 0.01
Published: error 1e-6 after 80 s with natural gradients
"""

import numpy as np

from primad import optimize, pde

NAMES = ["x1", "x2", "x3", "x4", "x5"]


def exact(x1, x2, x3, x4, x5):
    """Return the solution."""
    return sum(np.cos(np.pi * x) for x in (x1, x2, x3, x4, x5))


def equation(u, x1, x2, x3, x4, x5):
    """Return −Δu − f."""
    return -pde.laplacian(u) - np.pi**2 * exact(x1, x2, x3, x4, x5)


def solve(toy=False, seed=0):
    """Return the relative error, and what to draw."""
    problem = pde.Problem(
        equation,
        pde.Box(**dict.fromkeys(NAMES, (0, 1))),
        [pde.Dirichlet(u=exact, hard=False)],
        network=pde.MLP(24 if toy else 64, 1),
    )
    found = problem.solve(
        optimizer=optimize.LevenbergMarquardt(),
        steps=40 if toy else 300,
        points=300 if toy else 3000,
        boundary_points=100 if toy else 200,
        seed=seed,
        progress=False,
    )
    line = np.linspace(0, 1, 101)
    cuts = [(name, found.u(**{**dict.fromkeys(NAMES, 0.3), name: line})) for name in NAMES]
    right = np.cos(np.pi * line) + 4 * np.cos(0.3 * np.pi)
    return {"error": found.error(u=exact), "steps": len(found.history)}, (line, cuts, right, found)


def draw(line, cuts, right, found):
    """Draw the error along the five axes, and the losses."""
    import matplotlib.pyplot as plt

    _, (left, middle, last) = plt.subplots(1, 3, figsize=(14, 4))
    for name, values in cuts:
        left.plot(line, values, label=name)
        middle.plot(line, values - right)
    left.set(title="u along each axis, the others at 0.3", xlabel="coordinate")
    left.legend(frameon=False)
    middle.set(title="error there", xlabel="coordinate")
    pde.plot_losses(found, axes=last)
    last.legend().remove()


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
