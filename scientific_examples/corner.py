"""A corner that points inwards, by finite elements and by a network.

    Δu = 0  in an L,     u = r^(2/3) sin 2φ/3 on the boundary.

The derivatives of the solution are infinite at the corner (r = 0). `problem.solve()` learns it, and
`problem.solve(method="elements")` brings the same equation into a weak form and solves it on triangles of degree 2.
Each checks the other: what both find was made by neither method.

Reference: the exact solution r^(2/3) sin 2φ/3, with φ from one edge of the corner.
Reach: elements 1e-3, network 1e-2, seconds 60
Toy: elements 3e-3, network 0.05
"""

import numpy as np

from primad import pde

CORNERS = [(0, 0), (0, -1), (1, -1), (1, 1), (-1, 1), (-1, 0)]


def exact(x, y):
    """Return the solution."""
    angle = np.arctan2(y - x, x + y) + 3 * np.pi / 4
    return np.hypot(x, y) ** (2 / 3) * np.sin(2 / 3 * angle)


def solve(toy=False, seed=0):
    """Return the relative errors of both, how far they are apart, and the solutions."""
    problem = pde.Problem(
        lambda u: pde.laplacian(u), pde.Polygon(CORNERS), [pde.Dirichlet(u=exact, hard=False)], network=pde.MLP(16, 2)
    )
    elements = problem.solve(method="elements", size=0.2 if toy else 0.1, degree=2)
    settings = {"steps": 40, "points": 300} if toy else {"steps": 80, "points": 600}
    network = problem.solve(resample=10, refine=0.5, boundary_points=200, seed=seed, progress=False, **settings)
    errors = {"elements": elements.error(u=exact), "network": network.error(u=exact)}
    return {**errors, "apart": network.error(u=lambda x, y: elements.u(x, y))}, (elements, network)


def draw(elements, network):
    """Draw the solution by elements, and the errors of both."""
    import matplotlib.pyplot as plt

    figure = plt.gcf()
    figure.set_size_inches(9, 2.8)
    left, middle, right = figure.subplots(1, 3)
    elements.plot(axes=left)
    elements.plot_error(u=exact, axes=middle)
    network.plot_error(u=exact, axes=right)
    for axes, title in ((left, "elements"), (middle, "their error"), (right, "the network's")):
        axes.set_title(title)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
