"""Eight schools, a hierarchical Bayesian model: sampled by Hamiltonian Monte Carlo, in one compiled loop.

    yⱼ ~ N(θⱼ, sⱼ),  θⱼ = μ + τ·ηⱼ,  ηⱼ ~ N(0, 1),  μ ~ N(0, 5),  τ ~ half-Cauchy(0, 5)

The gradient of the posterior drives a leapfrog step inside of a scan; chains are a vmap of one, and the keys of their
random numbers its argument. That chains agree is measured by r̂, which is 1 where they do.

Reference: given τ all is normal, so that the posterior means are quotients of integrals over τ, by quadrature
(A. Gelman et al., Bayesian Data Analysis (2013), section 5.5, whose data these are).
Reach: deviation 4, r_hat 1.02, seconds 60
Toy: deviation 5, r_hat 1.1
"""

import numpy as np
import scipy.integrate

import primad
import primad.scipy.stats as stats

EFFECT = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
CHAINS, LEAPS, STEP = 8, 12, 0.28


def log_posterior(q):
    """Return the logarithm of the posterior density of μ, log τ and η, up to a constant."""
    mu, log_tau, eta = q[0], q[1], q[2:]
    prior = stats.norm.logpdf(mu, 0.0, 5.0) + stats.halfcauchy.logpdf(np.exp(log_tau), scale=5.0) + log_tau
    return prior + np.sum(stats.norm.logpdf(eta) + stats.norm.logpdf(EFFECT, mu + np.exp(log_tau) * eta, ERROR))


def move(q, key):
    """Return where a trajectory ends, or its start where it is rejected; the next key, and whether it was taken."""
    following, for_momentum, for_step, for_choice = primad.nn.split(key, 4)
    slope = primad.grad(log_posterior)
    start = stats.norm.rvs(size=q.shape, key=for_momentum)
    step = STEP * stats.uniform.rvs(0.7, 0.6, key=for_step)

    def leap(state, _):
        q, p = state
        half = p + 0.5 * step * slope(q)
        q = q + step * half
        return (q, half + 0.5 * step * slope(q)), None

    (end, momentum), _ = primad.scan(leap, (q, start), None, length=LEAPS)
    gain = log_posterior(end) - log_posterior(q) + 0.5 * (np.sum(start**2) - np.sum(momentum**2))
    taken = np.log(stats.uniform.rvs(key=for_choice)) < gain
    return np.where(taken, end, q), following, taken


def chain(key, count):
    """Return the draws of a chain, and how many of its trajectories were taken."""

    def next_draw(state, _):
        q, key, taken = move(*state)
        return (q, key), (q, taken)

    first, key = primad.nn.split(key)
    _, (draws, taken) = primad.scan(next_draw, (0.5 * stats.norm.rvs(size=10, key=first), key), None, length=count)
    return draws, np.mean(taken * 1.0)


def r_hat(draws):
    """Return the square root of the variance of all draws over that within halves of chains (chain, draw, number)."""
    halves = np.concatenate(np.split(draws, 2, axis=1))
    within, between = halves.var(axis=1, ddof=1).mean(axis=0), halves.mean(axis=1).var(axis=0, ddof=1)
    return np.sqrt(1 - 1 / halves.shape[1] + between / within)


def exact_means():
    """Return the posterior means of μ and of all θ, by quadrature over τ."""

    def given(tau):
        width = tau**2 + ERROR**2
        precision = np.sum(1 / width) + 1 / 25
        mu = np.sum(EFFECT / width) / precision
        theta = (EFFECT * tau**2 + mu * ERROR**2) / width
        log_weight = -0.5 * (np.sum(np.log(width) + EFFECT**2 / width) + np.log(precision) - precision * mu**2)
        return np.exp(log_weight + 35.0) / (1 + (tau / 5) ** 2) * np.array([1.0, mu, *theta])

    found = scipy.integrate.quad_vec(given, 0, np.inf, epsrel=1e-10)[0]
    return found[1:] / found[0]


def solve(toy=False, seed=0):
    """Return how far the means of draws are from those of the posterior, whether chains agree, and what to draw."""
    count = 800 if toy else 8000
    keys = primad.nn.split(seed, CHAINS)
    draws, taken = primad.jit(primad.vmap(lambda key: chain(key, count)))(keys)
    kept = draws[:, count // 5 :]
    tau = np.exp(kept[..., 1:2])
    numbers = np.concatenate([kept[..., :1], kept[..., :1] + tau * kept[..., 2:]], axis=-1)
    exact, batches = exact_means(), numbers.reshape(CHAINS * 8, -1, 9).mean(axis=1)
    noise = batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
    figures = {
        "deviation": np.max(np.abs(batches.mean(axis=0) - exact) / noise),  # in standard errors of batches' means
        "r_hat": np.max(r_hat(np.concatenate([kept[..., :2], numbers], axis=-1))),
        "taken": np.mean(taken), "noise": np.max(noise),
    }  # fmt: skip
    return figures, (kept, numbers, exact)


def draw(kept, numbers, exact):
    """Draw the effects as measured and as found, and the spread of schools against the effect of one."""
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2))
    schools = np.arange(8)
    left.errorbar(schools - 0.12, EFFECT, ERROR, fmt="o", color="gray", label="measured")
    theta = numbers[..., 1:].reshape(-1, 8)
    left.errorbar(schools + 0.12, theta.mean(axis=0), theta.std(axis=0), fmt="o", label="found")
    left.plot(schools + 0.12, exact[1:], "k_", markersize=12, label="mean by quadrature")
    left.set(title="Effect of each school", xticks=schools, xticklabels="ABCDEFGH", ylim=(-22, 68))
    left.legend()
    right.plot(numbers[..., 1].ravel()[::10], kept[..., 1].ravel()[::10], ".", markersize=1, alpha=0.5)
    right.set(title="Draws", xlabel="effect of school A", ylabel="log τ", xlim=(-30, 60), ylim=(-4, 4))


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
