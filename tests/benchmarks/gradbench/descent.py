"""Gradient descent whose steps lengthen after ten that were good and shorten after one that was not."""

import numpy as np

import primad

SMALL, MOST = 1e-5, 1000
MODES = {"f": primad.jacfwd, "r": primad.grad}
"""How a gradient is found, by the letter that the evaluations have for it."""


def norm(x):
    return np.sqrt(np.sum(x**2))


def argmin(function, gradient, start):
    """Return where a function is least.

    Args:
        function: of a vector.
        gradient: its gradient.
        start: a vector.
    """

    def step(carry):
        _, x, value, slope, length, good = carry
        new = x - length * slope
        lower = function(new)
        lengthen = good == 10
        going = (norm(slope) > SMALL) & (lengthen | (norm(x - new) > SMALL))
        moves = going & ~lengthen & (lower < value)
        length = np.where(lengthen, 2 * length, np.where(lower < value, length, length / 2))
        x, value = np.where(moves, new, x), np.where(moves, lower, value)
        return going, x, value, np.where(moves, gradient(new), slope), length, np.where(moves, good + 1, 0)

    first = (True, start, function(start), gradient(start), SMALL, 0)
    return primad.while_loop(lambda carry: carry[0], step, first, max_steps=MOST)[1]


def argmax(function, gradient, start):
    """Return where a function is greatest."""
    return argmin(lambda x: -function(x), lambda x: -gradient(x), start)
