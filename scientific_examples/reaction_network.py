"""A stiff network of 200 chemical species, integrated with its exact Jacobian.

    yᵢ′ = Σ_r ν_ri k_r y_a(r) y_b(r)

Eight hundred random reactions A + B → C + D with rates from 10⁻³ to 10³. The right-hand side gathers the reactants
and multiplies by the matrix of what each reaction makes and uses up; its Jacobian, which Radau's method factorises,
is derived from this. The figures have the time with it and the time with SciPy's finite differences.

Reference: the same with a tolerance a thousand times smaller; the total amount, which no reaction changes.
Reach: error 1e-6, total 1e-10, seconds 60
Toy: error 1e-4, total 1e-10
"""

import time

import numpy as np
from scipy.integrate import solve_ivp

from primad import optimize


def network(seed, species, reactions):
    """Return the rates, the reactants and the matrix of what each reaction makes and uses up."""
    rng = np.random.default_rng(seed)
    rates = 10.0 ** rng.uniform(-3, 3, reactions)
    taken, made = rng.integers(species, size=(2, 2, reactions))
    change = np.zeros((species, reactions))
    for side, sign in ((taken, -1), (made, 1)):
        np.add.at(change, (side, np.arange(reactions)), sign)
    return rates, taken, change


def solve(toy=False, seed=0):
    """Return the errors, the times with exact Jacobian and with differences, and the solution."""
    species, end, sharp = (40, 10.0, 1e-4) if toy else (200, 1e3, 1e-7)
    rates, (first, second), change = network(seed, species, 4 * species)

    def slope(t, y):
        return change @ (rates * y[first] * y[second])

    start = np.random.default_rng(seed).dirichlet(np.ones(species))
    settings = {"method": "Radau", "t_eval": np.geomspace(1e-2, end, 60), "rtol": sharp, "atol": sharp / 1e4}
    span = (0.0, end)
    before = time.perf_counter()
    found = optimize.solve_ivp(slope, span, start, **settings)
    between = time.perf_counter()
    solve_ivp(slope, span, start, **settings)
    after = time.perf_counter()
    best = optimize.solve_ivp(slope, span, start, **{**settings, "rtol": sharp / 1e3, "atol": sharp / 1e7})
    figures = {
        "error": np.linalg.norm(found.y - best.y) / np.linalg.norm(best.y),
        "total": np.max(np.abs(found.y.sum(axis=0) - 1)),
        "exact_seconds": between - before,
        "differences_seconds": after - between,
    }
    return figures, (found.t, found.y)


def draw(t, y):
    """Draw all concentrations."""
    import matplotlib.pyplot as plt

    plt.loglog(t, np.maximum(y.T, 1e-12), linewidth=0.6, alpha=0.7)
    plt.gca().set(title=f"{len(y)} species", xlabel="time t", ylabel="concentration", ylim=(1e-8, None))


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
