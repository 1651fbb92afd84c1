"""Burgers' equation, solved by a small neural network and compared with the exact solution.

    u_t + u u_x = ν u_xx,  ν = 0.01/π,   −1 ≤ x ≤ 1,  0 ≤ t ≤ 1,
    u(x, 0) = −sin πx,     u(±1, t) = 0.

The wave steepens to a front at x = 0, about ν wide. It is odd, so it is enough to solve for 0 ≤ x ≤ 1 with u(0, t) = 0:
that keeps the front in its place. Initial and boundary values hold by construction; the loss is the residual of
the equation, at random points: half of them lie near the front, and they are drawn anew every twenty steps, because a
network can satisfy the equation at fixed points and be wrong in between. The steps are those of Levenberg and
Marquardt, with geodesic acceleration. Ctrl-C stops them and still draws what there is.

Reference: the exact solution by the Cole–Hopf transformation.
Reach: error 1e-6, seconds 60
Toy: error 0.5
Published: error 8e-9 with self-scaled Broyden steps and 2 000 parameters; 6.7e-4 with L-BFGS
    (M. Raissi et al., 2019); 1.5e-2, the best of eleven methods of PINNacle (Z. Hao et al., 2023)
"""

import numpy as np

from primad import pde
from primad.pde import references

NU = 0.01 / np.pi


def burgers(u):
    """Return u_t + u u_x − ν u_xx."""
    return u.t + u * u.x - NU * u.xx


def solve(toy=False, seed=0):
    """Return the relative L2 error, and what to draw."""
    time = pde.Time(0, 1)
    problem = pde.Problem(
        {"everywhere": burgers, "front": pde.Within(pde.Interval(0, 0.1) * time, burgers)},
        pde.Interval(0, 1) * time,
        [pde.Initial(u=lambda x: -np.sin(np.pi * x)), pde.Dirichlet(u=0)],
        network=pde.MLP(12 if toy else 20, 3),
        points_order="latin",
    )
    settings = {"steps": 40, "points": 250} if toy else {"steps": 300, "points": 1500}
    found = problem.solve(**settings, resample=20, seed=seed, progress=False)
    x, t = np.linspace(-1, 1, 256), np.linspace(0, 1, 101)
    exact = references.burgers(x[:, None], t, NU)
    values = np.sign(x[:, None]) * found.u(abs(x[:, None]), t)
    error = np.linalg.norm(values - exact) / np.linalg.norm(exact)
    return {"error": error}, (found, x, t, values, exact)


def draw(found, x, t, values, exact):
    """Draw the solution, its error, and the history of the training."""
    import matplotlib.pyplot as plt

    _, ((first, second), (third, fourth)) = plt.subplots(2, 2, figsize=(11, 8))
    first.pcolormesh(t, x, values, cmap="RdBu_r", rasterized=True)
    first.set(title="Network", xlabel="time t", ylabel="position x")
    for column, colour in ((0, "C7"), (25, "C0"), (50, "C1"), (75, "C2")):
        first.axvline(t[column], color=colour, linewidth=1.5, linestyle=":")
        second.plot(x, exact[:, column], color=colour, linewidth=4, alpha=0.35)
        second.plot(x, values[:, column], color=colour, linewidth=1, label=f"t = {t[column]:.2f}")
    second.set(title="Network (thin), exact (wide)", xlabel="position x", ylabel="u")
    second.legend(frameon=False)
    wrong = abs(values - exact)
    mesh = third.pcolormesh(t, x, np.maximum(wrong, wrong.max() / 1e4), norm="log", cmap="magma", rasterized=True)
    plt.colorbar(mesh, ax=third, label="|network − exact|", extend="min")
    third.set(title="Error of u", xlabel="time t", ylabel="position x")
    pde.plot_losses(found, axes=fourth)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
