"""A double star below the resolution of its telescope: Airy patterns fitted to counted photons, with their errors.

The pattern of a ring-shaped aperture is (2J₁(k)/k − ε²·2J₁(εk)/(εk))²/(1 − ε²)² at the distance k from a star. Places,
brightnesses and the scale are those of the greatest likelihood of Poisson's counts; the Hessian there gives the errors.

Reference: the derivative of the pattern by hand, from (J₁(k)/k)′ = −J₂(k)/k; Fisher's information for the errors.
Reach: error 1e-12, deviation 4.5, information 0.05, seconds 30
Toy: error 1e-12, deviation 4.5, information 0.2
"""

import numpy as np
import scipy.special

import primad
from primad import optimize
from primad.scipy.special import xlogy

BLOCKED, SCALE = 0.3, 1.1
SEPARATION = 0.6 * 3.8317
"""0.6 of Rayleigh's distance, at which one star is in the first dark ring of the other, of an open aperture."""


def pattern(k):
    """Return the intensity at a distance k > 0 from the centre, which is 1 there."""
    open_, blocked = (2 * scipy.special.j1(s * k) / (s * k) for s in (1.0, BLOCKED))
    return ((open_ - BLOCKED**2 * blocked) / (1 - BLOCKED**2)) ** 2


def image(unknowns, x, y):
    """Return the expected counts of pixels, from places, logarithms of brightnesses, and of scale and background."""
    first, second = (np.hypot(x - unknowns[i], y - unknowns[i + 1]) for i in (0, 2))
    scale = np.exp(unknowns[6])
    stars = np.exp(unknowns[4]) * pattern(scale * first) + np.exp(unknowns[5]) * pattern(scale * second)
    return stars + np.exp(unknowns[7])


def loss(unknowns, x, y, counts):
    """Return −log of the likelihood of the counts, up to a constant."""
    expected = image(unknowns, x, y)
    return np.sum(expected - xlogy(counts, expected))


def slope_by_hand(k):
    """Return the derivative of the pattern."""
    parts = [(2 * scipy.special.j1(s * k) / (s * k), -2 * scipy.special.jv(2, s * k) / k) for s in (1.0, BLOCKED)]
    (open_, its), (blocked, other) = parts
    return 2 * (open_ - BLOCKED**2 * blocked) * (its - BLOCKED**2 * other) / (1 - BLOCKED**2) ** 2


def solve(toy=False, seed=0):
    """Return how exact derivatives are, how far the fit is from the truth in its own errors, and what to draw."""
    side = 24 if toy else 64
    axis = (np.arange(side) + 0.5) * 20 / side - 10
    x, y = np.meshgrid(axis, axis)
    bright = np.log(400.0 * (24 / side) ** 2)
    angle = 0.7
    away = SEPARATION / SCALE * np.array([np.cos(angle), np.sin(angle)])
    true = np.array([-0.31, 0.17, -0.31 + away[0], 0.17 + away[1], bright, bright - 0.9, np.log(SCALE), bright - 4.0])
    counts = np.random.default_rng(seed).poisson(image(true, x, y))

    start = true + np.array([0.4, -0.3, 0.5, 0.4, 0.3, -0.3, 0.1, 0.5])
    found = optimize.minimize(loss, start, args=(x, y, counts), method="trust-exact")
    errors = np.sqrt(np.diag(np.linalg.inv(np.asarray(primad.hessian(loss)(found.x, x, y, counts)))))
    slopes = np.asarray(primad.jacobian(lambda u: image(u, x, y))(true)).reshape(-1, 8)
    information = (slopes.T / image(true, x, y).ravel()) @ slopes
    expected = np.sqrt(np.diag(np.linalg.inv(information)))

    k = np.linspace(0.01, 40, 400)
    along = primad.jvp(pattern, (k,), (np.ones(400),))[1]
    figures = {
        "error": np.max(np.abs(along - slope_by_hand(k))),
        "deviation": np.max(np.abs(found.x - true) / errors),
        "information": np.max(np.abs(errors / expected - 1)),
        "separation_in_rayleigh": SEPARATION / 3.8317,
    }
    return figures, (axis, counts, image(found.x, x, y), true, found.x, errors)


def draw(axis, counts, fitted, true, found, errors):
    """Draw the counts, and what is left of them in standard deviations, with the two stars."""
    import matplotlib.pyplot as plt

    _, panels = plt.subplots(1, 2, figsize=(10, 4.2))
    left = (counts - fitted) / np.sqrt(fitted)
    shown = ((np.sqrt(counts), "Root of counted photons", "magma"), (left, "Residual in standard deviations", "RdBu_r"))
    for axes, (values, title, colours) in zip(panels, shown, strict=True):
        limits = {"vmin": -4, "vmax": 4} if colours == "RdBu_r" else {}
        mesh = axes.pcolormesh(axis, axis, values, cmap=colours, **limits)
        plt.colorbar(mesh, ax=axes)
        for i in (0, 2):
            axes.errorbar(*found[i : i + 2], *errors[[i + 1, i]], fmt="none", color="cyan")
            axes.plot(*true[i : i + 2], "+", color="lime", markersize=4)
        axes.set(title=title, aspect="equal")


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
