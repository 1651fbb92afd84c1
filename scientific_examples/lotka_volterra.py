"""Identifying the parameters of predators and prey from noisy counts, with bands of confidence.

    h′ = a h − b h l,   l′ = −c l + d h l

A Runge–Kutta method of fourth order, as a loop in Python, is part of the model: Levenberg–Marquardt gets the
derivatives of its result in the rates and the initial state. The inverse of JᵀJ is the covariance of what was found,
and J of the curve times its root the band.

Reference: the rates that the data were made with: they should lie within four standard deviations.
Reach: deviations 4, seconds 20
Toy: deviations 4
"""

import numpy as np

import primad
from primad import optimize

TRUE = {"rates": np.log([0.55, 0.028, 0.84, 0.026]), "start": np.log([30.0, 4.0])}
"""Logarithms: what is positive stays positive."""
YEARS, NOISE = 20, 0.05


@primad.jit
def step(y, h, rates):
    """Return the logarithms of hares and lynxes a time h later."""
    a, b, c, d = np.exp(rates)

    def slope(y):
        hares, lynxes = np.exp(y)
        return np.stack([a - b * lynxes, d * hares - c])

    k1 = slope(y)
    k2 = slope(y + h / 2 * k1)
    k3 = slope(y + h / 2 * k2)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(y + h * k3))


def model(p, each):
    """Return the logarithms year by year; `each` steps of Runge and Kutta a year."""
    y, found = p["start"], [p["start"]]
    for _ in range(YEARS):
        for _ in range(each):
            y = step(y, 1 / each, p["rates"])
        found.append(y)
    return np.stack(found)


def solve(toy=False, seed=0):
    """Return the errors of the rates, in themselves and in standard deviations, and what to draw."""
    each = 1 if toy else 8
    rng = np.random.default_rng(seed)
    data = model(TRUE, each) + NOISE * rng.normal(size=(YEARS + 1, 2))

    def misfit(p, data):
        return (model(p, each) - data) / NOISE

    guess = {"rates": np.log([0.5, 0.02, 1.0, 0.02]), "start": data[0]}
    found = optimize.solve(optimize.LevenbergMarquardt(), misfit, guess, (data,), steps=50, tolerance=1e-6)

    def curve(v):
        return np.ravel(model({"rates": v[:4], "start": v[4:]}, each))

    vector = np.concatenate([found.params["rates"], found.params["start"]])
    jacobian = np.asarray(primad.jacobian(curve)(vector))
    covariance = NOISE**2 * np.linalg.inv(jacobian.T @ jacobian)
    deviation = np.sqrt(np.diag(covariance))
    band = np.sqrt(np.einsum("ni,ij,nj->n", jacobian, covariance, jacobian)).reshape(-1, 2)
    off = np.abs(found.params["rates"] - TRUE["rates"])
    figures = {"error": np.max(off), "deviations": np.max(off / deviation[:4]), "steps": int(found.state.step)}
    return figures, (data, curve(vector).reshape(-1, 2), band)


def draw(data, fitted, band):
    """Draw the counts, the fit and two standard deviations around it."""
    import matplotlib.pyplot as plt

    years = np.arange(YEARS + 1)
    for k, label in enumerate(("hares", "lynxes")):
        plt.plot(years, np.exp(data[:, k]), "o", color=f"C{k}", markersize=4, label=f"{label}, counted")
        plt.plot(years, np.exp(fitted[:, k]), color=f"C{k}", label=f"{label}, fitted")
        low, high = (np.exp(fitted[:, k] + s * band[:, k]) for s in (-2, 2))
        plt.fill_between(years, low, high, color=f"C{k}", alpha=0.25)
    plt.gca().set(title="Predators and prey", xlabel="year", ylabel="thousands")
    plt.legend(frameon=False)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
