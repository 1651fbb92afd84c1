"""Black and Scholes' equation of a European call, with the Greeks as derivatives of the solution.

    V_τ = ½ σ² V_zz + (r − ½ σ²) V_z − r V,    z = log(S/K),  τ the time to expiry,

for all volatilities σ from 0.2 to 0.4 at once: σ is one more coordinate. The payoff has a kink, so the network stands
for what is added to the price of τ = ¼ on.

Reference: the closed formula, and its Greeks.
Reach: error 1e-4, error_delta 1e-3, error_gamma 1e-2, error_vega 1e-2, seconds 120
Toy: error 0.02
"""

import numpy as np
from scipy.special import erfc

from primad import pde

RATE = 0.05


def normal(d):
    """Return the normal distribution function."""
    return erfc(-d / np.sqrt(2)) / 2


def price(z, tau, sigma):
    """Return the value of the call for a strike of 1."""
    width = sigma * np.sqrt(tau)
    d = (z + RATE * tau) / width + width / 2
    return np.exp(z) * normal(d) - np.exp(-RATE * tau) * normal(d - width)


def equation(v, sigma):
    """Return the residual of the equation."""
    return v.tau - sigma**2 / 2 * v.zz - (RATE - sigma**2 / 2) * v.z + RATE * v.value


def solve(toy=False, seed=0):
    """Return the errors of the price and the Greeks, and what to draw."""
    ends = (-1.0, 1.0)
    domain = pde.Interval(*ends, name="z") * pde.Parameters(sigma=(0.2, 0.4)) * pde.Time(0.25, 1.0, name="tau")
    conditions = [
        pde.Initial(v=lambda z, sigma: price(z, 0.25, sigma)),
        pde.Dirichlet(v=price, hard=False),
    ]
    problem = pde.Problem(equation, domain, conditions, unknowns="v", network=pde.MLP(12 if toy else 30, 2))
    found = problem.solve(steps=40 if toy else 200, points=200 if toy else 2000, seed=seed, progress=False)

    s = np.linspace(0.6, 1.6, 101)
    z, tau, sigma = np.log(s), 0.75, 0.3
    width = sigma * np.sqrt(tau)
    d = (z + RATE * tau) / width + width / 2
    density = np.exp(-(d**2) / 2) / np.sqrt(2 * np.pi)
    slope, bend, vega = (found.v.d(name)(z=z, tau=tau, sigma=sigma) for name in ("z", "z z", "sigma"))
    greeks = {
        "delta": (slope / s, normal(d)),
        "gamma": ((bend - slope) / s**2, density / (s * width)),
        "vega": (vega, s * density * np.sqrt(tau)),
    }
    errors = {f"error_{name}": np.linalg.norm(a - b) / np.linalg.norm(b) for name, (a, b) in greeks.items()}
    return {"error": found.error(v=price), **errors}, (s, found.v(z=z, tau=tau, sigma=sigma), greeks)


def draw(s, value, greeks):
    """Draw the price and the Greeks."""
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2))
    left.plot(s, value)
    left.plot(s, np.maximum(s - 1, 0), color="C7", linestyle=":", label="payoff")
    left.set(title="Call, nine months to expiry", xlabel="price of the share / strike", ylabel="value / strike")
    left.legend(frameon=False)
    for name, (found, exact) in greeks.items():
        (wide,) = right.plot(s, exact, linewidth=4, alpha=0.35, label=name)
        right.plot(s, found, linewidth=1, color=wide.get_color())
    right.set(title="Greeks: found (thin), exact (wide)", xlabel="price of the share / strike")
    right.legend(frameon=False)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
