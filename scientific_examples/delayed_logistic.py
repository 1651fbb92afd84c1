"""Hutchinson's equation: the growth rate and the delay of a population that swings, from noisy counts.

    u′(t) = r u(t) (1 − u(t − τ)),    u = 0.5 for t ≤ 0

Births depend on how crowded it was a time τ ago. Both numbers are learned with the population itself: the delay is a
coefficient like any other, since a network is differentiated in the place where it is asked. A first search
follows the counts, so that the second begins with numbers that are nearly right. The band is that of six more fits,
each to counts with noise added anew.

Reference: r = 1.8 and τ = 1, with which the counts were made, by 4000 steps of Runge and Kutta.
Reach: error_r 0.02, error_tau 0.02, error 0.03, seconds 120
Toy: error_tau 0.1
"""

import numpy as np

from primad import pde

RATE, DELAY, BEFORE, END, NOISE, EACH = 1.8, 1.0, 0.5, 8.0, 0.03, 500


def reference():
    """Return times and the population, by steps that end where a delay does; between steps values are cubic."""
    h, u = DELAY / EACH, [BEFORE]
    slopes = [0.0] * EACH
    for n in range(round(END / h)):
        past = [u[n - EACH + i] if n >= EACH - i else BEFORE for i in (0, 1)]
        slope = [slopes[n + i] if n >= EACH - i else 0.0 for i in (0, 1)]
        middle = sum(past) / 2 + h * (slope[0] - slope[1]) / 8
        k1 = RATE * u[n] * (1 - past[0])
        k2 = RATE * (u[n] + h / 2 * k1) * (1 - middle)
        k3 = RATE * (u[n] + h / 2 * k2) * (1 - middle)
        k4 = RATE * (u[n] + h * k3) * (1 - past[1])
        u.append(u[n] + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
        slopes.append(k1)
    return np.linspace(0, END, len(u)), np.array(u)


def equation(u, t, r, tau):
    """Return u′ − r u (1 − u(t − τ))."""
    return u.t - r * u * (1 - u(t - tau))


def fitted(times, counts, toy, seed):
    """Return the population and the two numbers that fit counts."""
    problem = pde.Problem(
        equation,
        pde.Time(0, END),
        [pde.Past(u=BEFORE), pde.Data(t=times, u=counts, noise=NOISE)],
        coefficients={"r": 1.0, "tau": 0.5},
        network=pde.MLP(20, 1),
    )
    settings = {"steps": 40 if toy else 100, "points": 60 if toy else 300, "seed": seed}
    settings |= {"resample": 10, "refine": 0.5, "progress": False}
    begun = problem.solve(weights={"equation": 1.0}, **settings)
    return problem.solve(params=begun.params, **settings)


def solve(toy=False, seed=0):
    """Return the errors of both numbers and of the population, and what to draw."""
    times, right = reference()
    rng = np.random.default_rng(seed)
    seen = np.sort(rng.choice(len(times), 30 if toy else 60, replace=False))
    noise = NOISE * rng.normal(size=(1 if toy else 7, seen.size))
    counts = right[seen] + noise[0]
    found = fitted(times[seen], counts, toy, seed)
    others = [fitted(times[seen], counts + more, toy, seed) for more in noise[1:]]
    learned = found.coefficients
    figures = {
        "error_r": abs(learned["r"] - RATE) / RATE,
        "error_tau": abs(learned["tau"] - DELAY) / DELAY,
        "error": found.error(u=lambda t: np.interp(t, times, right)),
    }
    return figures, (times, right, pde.Ensemble([found, *others]) if others else found)


def draw(times, right, found):
    """Draw the counts, what was found, with a band of what other noise would have given, and the truth."""
    import matplotlib.pyplot as plt

    axes = found.plot(axes=plt.gca(), exact=lambda t: np.interp(t, times, right))
    learned = ", ".join(f"{name} = {value:.3f}" for name, value in found.coefficients.items())
    axes.set_title(f"A population with a delay: {learned}")


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
