"""Where a charge must stand so that another one, pushed by it and by a second, goes through the origin."""

import numpy as np

import primad

from .descent import MODES, MOST, argmin

H = 0.1


def potential(x, w):
    def distance(place):
        return np.sqrt(np.sum((x - place) ** 2))

    return 1 / distance(np.stack([10.0 + 0 * w, 10 - w])) + 1 / distance(np.array([10.0, 0.0]))


def miss(w, inner):
    """The square of the place at which the path crosses the axis, by Euler's steps and a line in the last one."""

    def above(carry):
        return (carry[0] + H * carry[1])[1] > 0

    def step(carry):
        x, speed = carry
        return x + H * speed, speed - H * inner(lambda y: potential(y, w))(x)

    x, speed = primad.while_loop(above, step, (np.array([0.0, 8.0]), np.array([0.75, 0.0])), MOST)
    return (x[0] - x[1] / speed[1] * speed[0]) ** 2


def particle(w, outer, inner):
    def of_vector(v):
        return miss(v[0], inner)

    return argmin(of_vector, outer(of_vector), np.stack([w]))[0]


def in_modes(outer, inner):
    return primad.jit(lambda w: particle(w, outer, inner))


FUNCTIONS = {a + b: in_modes(MODES[a], MODES[b]) for a in MODES for b in MODES}
