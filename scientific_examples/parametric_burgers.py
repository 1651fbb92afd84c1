"""Burgers' equation for all viscosities of a range at once.

    u_t + u u_x = ν u_xx,    u(x, 0) = −sin πx,    0.05 ≤ ν ≤ 0.5

The logarithm of ν is one more coordinate of the network, which is trained once and then evaluated for any ν.

Reference: the exact solution by the Cole–Hopf transformation.
Reach: error 1e-3, seconds 120
Toy: error 0.3
"""

import numpy as np

from primad import pde
from primad.pde import references


def equation(u, logarithm):
    """Return u_t + u u_x − ν u_xx."""
    return u.t + u * u.x - np.exp(logarithm) * u.xx


def solve(toy=False, seed=0):
    """Return the largest relative error among viscosities, and what to draw."""
    domain = pde.Interval(-1, 1) * pde.Parameters(logarithm=(np.log(0.05), np.log(0.5))) * pde.Time(0, 1)
    conditions = [pde.Dirichlet(u=0), pde.Initial(u=lambda x: -np.sin(np.pi * x))]
    problem = pde.Problem(equation, domain, conditions, network=pde.MLP(16 if toy else 30, 2))
    found = problem.solve(steps=40 if toy else 200, points=300 if toy else 3000, seed=seed, progress=False)
    x, t = np.linspace(-1, 1, 201)[:, None], np.linspace(0, 1, 101)
    pairs, errors = [], []
    for nu in (0.05, 0.1, 0.2, 0.5):
        values, right = found.u(x=x, t=t, logarithm=np.log(nu)), references.burgers(x, t, nu)
        errors.append(np.linalg.norm(values - right) / np.linalg.norm(right))
        pairs.append((nu, values[:, 50], right[:, 50]))
    return {"error": max(errors)}, (x[:, 0], pairs)


def draw(x, pairs):
    """Draw the solution at t = ½ for four viscosities."""
    import matplotlib.pyplot as plt

    for nu, found, exact in pairs:
        (wide,) = plt.plot(x, exact, linewidth=4, alpha=0.35)
        plt.plot(x, found, linewidth=1, color=wide.get_color(), label=f"ν = {nu}")
    plt.gca().set(title="t = ½: network (thin), exact (wide)", xlabel="x", ylabel="u")
    plt.legend(frameon=False)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
