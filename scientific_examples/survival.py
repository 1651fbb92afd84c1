"""Survival with censoring: a generalised gamma regression, and standard errors from its exact Hessian.

A time is exp(x·β) times a number of the density c z^(a c − 1) exp(−zᶜ)/Γ(a); of those that are cut off only this is
known, and they count by the probability of more. The Hessian takes derivatives of the incomplete gamma function in its
shape a. Programs that have none of these take differences of the likelihood, whose step is a guess.

Reference: the Hessian of Weibull's distribution (a = 1) by hand; differences of the exact score.
Reach: error 1e-11, score 1e-6, score_differences 1e-6, seconds 30
Toy: error 1e-11, score 1e-5, score_differences 1e-5
"""

import numpy as np

import primad
import primad.scipy.stats as stats
from primad import optimize

TRUE = np.array([0.8, -0.7, 0.4, np.log(1.8), np.log(1.3)])
NAMES = ("β₀", "β treated", "β age", "log a", "log c")
STEPS = np.geomspace(1e-7, 1e-1, 13)


def loss(theta, x, time, died):
    """Return −log of the likelihood of times, of which some are cut off."""
    lifetimes = stats.gengamma(np.exp(theta[3]), np.exp(theta[4]), scale=np.exp(x @ theta[:3]))
    return -np.sum(np.where(died, lifetimes.logpdf(time), lifetimes.logsf(time)))


def by_hand(theta, x, time, died):
    """Return the Hessian in β and log c of Weibull's distribution."""
    c = np.exp(theta[4])
    u = c * (np.log(time) - x @ theta[:3])
    rows = np.column_stack([-c * x, u])
    upper = (rows.T * np.exp(u)) @ rows
    upper[3, 3] += np.sum(u * (np.exp(u) - died))
    upper[:3, 3] += x.T @ (-c * (np.exp(u) - died))
    upper[3, :3] = upper[:3, 3]
    return upper


def by_differences(f, at, h):
    """Return a Hessian by second differences of a function's values."""
    e = h * np.eye(len(at))
    return np.array(
        [[(f(at + a + b) - f(at + a - b) - f(at - a + b) + f(at - a - b)) / (4 * h * h) for b in e] for a in e]
    )


def errors(hessian):
    """Return standard errors, which are NaN where differences give a variance that is none."""
    with np.errstate(invalid="ignore"):
        return np.sqrt(np.diag(np.linalg.inv(hessian)))


def solve(toy=False, seed=0):
    """Return how exact the Hessians are, and what to draw."""
    n = 400 if toy else 4000
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), np.arange(n) % 2, rng.normal(size=n)])
    life = stats.gengamma.rvs(np.exp(TRUE[3]), np.exp(TRUE[4]), scale=np.exp(x @ TRUE[:3]), key=seed)
    end = rng.uniform(0.5, 9.0, size=n)
    time, died = np.minimum(life, end), life < end

    found = optimize.minimize(loss, np.zeros(5), args=(x, time, died), method="trust-exact", options={"gtol": 1e-9 * n})
    value, score = (primad.jit(f) for f in (loss, primad.grad(loss)))
    exact = np.asarray(primad.hessian(loss)(found.x, x, time, died))

    weibull = np.array([*found.x[:3], 0.0, found.x[4]])
    part = np.asarray(primad.hessian(loss)(weibull, x, time, died))[np.ix_([0, 1, 2, 4], [0, 1, 2, 4])]
    hand = by_hand(weibull, x, time, died)
    e = 1e-5 * np.eye(5)
    slopes = [(score(found.x + a, x, time, died) - score(found.x - a, x, time, died)) / 2e-5 for a in e]
    ours = errors(exact)
    guesses = np.array([errors(by_differences(lambda p: value(p, x, time, died), found.x, h)) for h in STEPS])
    figures = {
        "error": np.max(np.abs(part - hand)) / np.max(np.abs(hand)),
        "score": np.max(np.abs(found.jac)) / n,
        "score_differences": np.max(np.abs(errors(np.array(slopes)) / ours - 1)),
        "value_differences": np.nanmin(np.max(np.abs(guesses / ours - 1), axis=1)),
        "distance_in_standard_errors": np.max(np.abs(found.x - TRUE) / ours),
    }
    return figures, (x, time, died, found.x, ours, guesses)


def draw(x, time, died, theta, ours, guesses):
    """Draw survival by Kaplan and Meier and as fitted, and what the step of differences does to standard errors."""
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2))
    t = np.linspace(0.01, 9, 200)
    for group, name in ((0, "untreated"), (1, "treated")):
        own = x[:, 1] == group
        order = np.argsort(time[own])
        alive = np.cumprod(1 - died[own][order] / np.arange(own.sum(), 0, -1))
        line = left.step(time[own][order], alive, where="post", alpha=0.5)[0]
        scale = np.exp(x[own] @ theta[:3])[:, None]
        fitted = stats.gengamma.sf(t, np.exp(theta[3]), np.exp(theta[4]), scale=scale).mean(axis=0)
        left.plot(t, fitted, color=line.get_color(), label=name)
    left.set(title="Surviving: counted (steps), fitted (lines)", xlabel="time", xlim=(0, 9), ylim=(0, 1))
    left.legend()
    for guess, one, name, line in zip(guesses.T, ours, NAMES, ("-", "-", "-", "--", ":"), strict=True):
        right.loglog(STEPS, np.abs(guess / one - 1), f"o{line}", markersize=3, label=name)
    right.set(title="Relative error of standard errors", xlabel="step of the differences")
    right.legend()


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
