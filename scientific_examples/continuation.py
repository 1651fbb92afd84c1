"""A path of steady states through its fold: pseudo-arclength continuation of Bratu's problem, and how the fold moves.

    u″ + λ exp(u / (1 + ε u)) = 0,   u(0) = u(1) = 0

Below a heating λ* a reacting layer has two steady states, above it none: it ignites. Along the path neither λ nor u is
given, but the distance: the states and λ together are the root of the equation and of a plane ahead
(`primad.implicit.root`, with sparse factors), and the derivative of that root by the distance is the next direction.
The fold is a root too, of the equation and of its derivative along a direction that keeps it: it has a derivative by ε.

Reference: the exact solution for ε = 0 (λ* = 3.5138307); of the fold's derivative a difference quotient.
Reach: path 1e-8, fold 1e-8, slope 1e-6, seconds 60
Toy: path 1e-5, fold 1e-5, slope 1e-6
"""

import numpy as np

import primad
from primad import implicit


def balance(u, heating, epsilon=0.0):
    """Return what is not in balance at inner points of the layer: the compact difference of fourth order."""
    u = np.pad(u, 1)
    made = np.exp(u / (1 + epsilon * u))
    return (len(u) - 1) ** 2 * np.diff(u, 2) + heating * (made[:-2] + 10 * made[1:-1] + made[2:]) / 12


def ahead(distance, state, direction):
    """Return the state and the heating at a distance from others, along a direction."""

    def system(x):
        u, heating = x
        along = (u - state[0]) @ direction[0] / len(u) + (heating - state[1]) * direction[1]
        return balance(u, heating), along - distance

    start = tuple([s + distance * d for s, d in zip(state, direction, strict=True)])
    return implicit.root(system, start)


def path(n, step, count):
    """Return heatings and states along the path, from where nothing is heated."""
    state, direction, found = (np.zeros(n), 0.0), (np.zeros(n), 1.0), []
    follow = primad.jit(lambda *given: primad.jvp(lambda d: ahead(d, *given[1:]), given[:1], (1.0,)))
    for _ in range(count):
        state, tangent = follow(step, state, direction)
        size = np.sqrt(tangent[0] @ tangent[0] / n + tangent[1] ** 2)
        direction = (tangent[0] / size, tangent[1] / size)
        found.append(state)
    return np.array([heating for _, heating in found]), np.stack([u for u, _ in found])


def fold(epsilon, near):
    """Return the heating of the fold: where a direction changes the state, and not the balance."""

    def system(x):
        u, heating, v = x
        change = primad.jvp(lambda u: balance(u, heating, epsilon), (u,), (v,))[1]
        return balance(u, heating, epsilon), np.mean(v * near[2]) - np.mean(near[2] ** 2), change

    return implicit.root(system, near)[1]


def exact(middle):
    """Return the heating of the state with a value in the middle: θ²/(2 cosh²(θ/4)) with cosh(θ/4) = exp(middle/2)."""
    return 8 * np.arccosh(np.exp(middle / 2)) ** 2 * np.exp(-middle)


def solve(toy=False):
    """Return errors of the path, of the fold and of its derivative, and what to draw."""
    n, step = (39, 0.4) if toy else (239, 0.1)
    heatings, states = path(n, step, 24 if toy else 110)
    middles = states[:, n // 2]
    error = np.max(np.abs(heatings - exact(middles)))
    turn = int(np.argmax(heatings))
    along = (states[turn + 1] - states[turn - 1]) / (middles[turn + 1] - middles[turn - 1])
    near = states[turn], heatings[turn], along
    critical = exact(2 * np.log(np.cosh(1.1996786402577339)))  # θ/4 · tanh(θ/4) = 1
    slope = primad.grad(fold)(0.0, near)
    difference = (fold(1e-4, near) - fold(-1e-4, near)) / 2e-4
    figures = {"path": error, "fold": abs(fold(0.0, near) - critical), "slope": abs(slope - difference)}
    epsilons = np.linspace(0.0, 0.12, 7)
    return figures, (heatings, states, critical, epsilons, [fold(e, near) for e in epsilons], slope)


def draw(heatings, states, critical, epsilons, folds, slope):
    """Draw the path with its fold, states along it, and where the fold is for other ε."""
    import matplotlib.pyplot as plt

    figure = plt.gcf()
    figure.set_size_inches(9, 3)
    left, middle, right = (figure.add_subplot(1, 3, k) for k in (1, 2, 3))
    left.plot(heatings, states.max(axis=1), color="gray", linewidth=1)
    left.axvline(critical, color="gray", linewidth=0.8, linestyle="--")
    left.set_xlabel("heating λ")
    left.set_ylabel("largest u")
    x = np.linspace(0, 1, states.shape[1] + 2)
    chosen = range(0, len(states), max(1, len(states) // 10))
    for number in chosen:
        color = plt.cm.viridis(number / len(states))
        left.plot(heatings[number], states[number].max(), "o", color=color)
        middle.plot(x, np.pad(states[number], 1), color=color, linewidth=1.5)
    middle.set_xlabel("x")
    middle.set_ylabel("u along the path")
    right.plot(epsilons, folds, "o", markersize=4, label="fold λ*")
    right.plot(epsilons, folds[0] + slope * epsilons, linewidth=1, label="its derivative at 0")
    right.set_xlabel("ε")
    right.legend(loc="lower right")


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
