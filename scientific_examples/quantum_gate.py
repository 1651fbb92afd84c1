"""Pulses that turn a quantum bit: a gate on the two lowest of three levels, by the gradient through the evolution.

    i dU/dt = H(t) U,   H(t) = Δ |2⟩⟨2| + (x(t) (a + a†) + y(t) i (a† − a)) / 2,   U(0) = 1

Forty steps of two pulses drive an anharmonic oscillator; a is the lowering operator of three levels. The pulses are to
exchange the states 0 and 1 and leave nothing in state 2, which a simple pulse of this length does not do. Each step is
the exponential of a complex matrix, their product is a scan, and the loss is real, so its gradient needs no word.

Reference: the evolution by SciPy's `solve_ivp` with the pulses that were found.
Reach: error 1e-8, difference 1e-8, seconds 30
Toy: error 1e-3, difference 1e-6
"""

import numpy as np
import scipy.integrate

import primad
from primad import optimize
from primad.scipy import linalg

LEVELS, STEPS, DETUNING, LENGTH = 3, 40, -2.0, 8.0
LOWER = np.diag(np.sqrt(np.arange(1.0, LEVELS)), 1)
DRIFT = np.diag([0, 0, DETUNING])
TARGET = np.array([[0, 1], [1, 0]])


def hamiltonian(x, y):
    """Return H for the values of both pulses, which may be arrays."""
    return DRIFT + 0.5 * (x[..., None, None] * (LOWER + LOWER.T) + y[..., None, None] * 1j * (LOWER.T - LOWER))


def evolved(pulses):
    """Return U after each step."""
    steps = linalg.expm(-1j * (LENGTH / STEPS) * hamiltonian(*pulses))
    return primad.scan(lambda u, step: (step @ u, step @ u), np.eye(LEVELS) + 0j, steps)[1]


def infidelity(pulses):
    """Return 1 − |tr(X† U)|²/4 in the two lowest levels, whatever the common phase."""
    u = evolved(pulses)[-1, :2, :2]
    return 1 - np.abs(np.trace(TARGET @ u)) ** 2 / 4


def exactly(pulses):
    """Return the infidelity by SciPy's solver of differential equations, step by step."""
    u = np.eye(LEVELS, dtype=complex)
    for x, y in pulses.T:
        h = hamiltonian(np.array(x), np.array(y))
        found = scipy.integrate.solve_ivp(
            lambda t, v, h=h: (-1j * h @ v.reshape(LEVELS, LEVELS)).ravel(), (0, LENGTH / STEPS), u.ravel(),
            rtol=1e-11, atol=1e-12,
        )  # fmt: skip
        u = found.y[:, -1].reshape(LEVELS, LEVELS)
    return 1 - abs(np.trace(TARGET @ u[:2, :2])) ** 2 / 4


def solve(toy=False, seed=0):
    """Return the infidelity, its difference from SciPy's, and what to draw."""
    middle = (np.arange(STEPS) + 0.5) / STEPS
    start = np.stack([2 * np.pi / LENGTH * np.sin(np.pi * middle) ** 2, np.zeros(STEPS)])
    start = start + 0.05 * np.random.default_rng(seed).normal(size=start.shape)
    options = {"maxiter": 40 if toy else 400, "gtol": 1e-10, "ftol": 1e-15}
    found = optimize.minimize(infidelity, start, method="L-BFGS-B", options=options)
    pulses = found.x.reshape(start.shape)
    error = abs(float(infidelity(pulses)))
    figures = {
        "error": error, "difference": abs(exactly(pulses) - error), "before": float(infidelity(start)),
        "steps": found.nit,
    }  # fmt: skip
    return figures, (pulses, np.abs(np.asarray(evolved(pulses))[:, :, 0]) ** 2)


def draw(pulses, shares):
    """Draw both pulses, and how much of each level there is on the way from level 0."""
    import matplotlib.pyplot as plt

    time = np.linspace(0, LENGTH, STEPS + 1)
    _, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    for name, pulse in zip("xy", pulses, strict=True):
        left.stairs(pulse, time, label=name, baseline=None, linewidth=2)
    left.set(title="Pulses", xlabel="t")
    left.legend()
    right.plot(time, np.vstack([np.eye(LEVELS)[0], shares]), label=[f"level {i}" for i in range(LEVELS)])
    right.set(title="From level 0 to level 1", xlabel="t", ylabel="share")
    right.legend()


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
