"""Two problems of a well-known comparison of methods (PINNacle) with exact solutions: waves, and five dimensions.

    wave      u_tt = 4 u_xx,    u = sin πx + ½ sin 4πx at rest,    0 ≤ t ≤ 1
    poisson   −Δu = (π²/4) Σ sin(πxᵢ/2) in five dimensions

Initial and boundary values hold by construction where they can.

Reference: the exact solutions sin πx cos 2πt + ½ sin 4πx cos 8πt and Σ sin(πxᵢ/2).
Reach: wave 1e-4, poisson 1e-5, seconds 200
Toy: wave 0.7, poisson 0.01
"""

import numpy as np

from primad import pde


def wave(toy):
    """Return the problem of the string, and its solution."""

    def start(x):
        return np.sin(np.pi * x) + np.sin(4 * np.pi * x) / 2

    def exact(x, t):
        return np.sin(np.pi * x) * np.cos(2 * np.pi * t) + np.sin(4 * np.pi * x) * np.cos(8 * np.pi * t) / 2

    domain = pde.Interval(0, 1) * pde.Time(0, 1)
    conditions = [pde.Dirichlet(u=0), pde.Initial(u=start), pde.Initial(u=0, order=1)]
    network = pde.MLP(16 if toy else 24, 2, activation="sine", frequency=6.0)
    return pde.Problem(lambda u: (u.tt - 4 * u.xx) / 100, domain, conditions, network=network), exact


def poisson(toy):
    """Return the problem in five dimensions, and its solution."""

    def exact(v, w, x, y, z):
        return sum(np.sin(np.pi / 2 * each) for each in (v, w, x, y, z))

    def equation(u, v, w, x, y, z):
        return pde.laplacian(u) + np.pi**2 / 4 * exact(v, w, x, y, z)

    domain = pde.Box(**dict.fromkeys("vwxyz", (0, 1)))
    conditions = [pde.Dirichlet(u=exact, hard=False, weight=10.0)]
    return pde.Problem(equation, domain, conditions, network=pde.MLP(16 if toy else 48, 1)), exact


def solve(toy=False, seed=0):
    """Return both errors, and what to draw."""
    figures, shown = {}, []
    for make in (wave, poisson):
        problem, exact = make(toy)
        settings = {"steps": 30, "points": 200} if toy else {"steps": 250, "points": 2500}
        found = problem.solve(**settings, seed=seed, progress=False)
        figures[make.__name__] = found.error(u=exact)
        shown.append((make.__name__, found, exact))
    return figures, (shown,)


def draw(shown):
    """Draw each solution, its error and the losses."""
    import matplotlib.pyplot as plt

    _, rows = plt.subplots(2, 3, figsize=(13, 7.5))
    for (name, found, exact), (left, middle, right) in zip(shown, rows, strict=True):
        pde.plot(found, axes=left)
        pde.plot_error(found, axes=middle, u=exact)
        pde.plot_losses(found, axes=right)
        left.set_title(name)


if __name__ == "__main__":
    from primad.gallery import run_file

    run_file(__file__)
