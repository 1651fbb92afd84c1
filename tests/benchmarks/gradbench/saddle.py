"""The saddle point min over x, max over y of f(x, y): a descent whose function is found by another one."""

import numpy as np

import primad

from .descent import MODES, argmax, argmin


def f(x, y):
    return np.sum(x**2) - np.sum(y**2)


def saddle(start, outer, inner):
    def highest(x):
        def along(y):
            return f(x, y)

        return along(argmax(along, inner(along), start))

    x = argmin(highest, outer(highest), start)
    y = argmax(lambda y: f(x, y), outer(lambda y: f(x, y)), start)
    return np.concatenate([x, y])


def in_modes(outer, inner):
    return primad.jit(lambda start: saddle(start, outer, inner))


FUNCTIONS = {a + b: in_modes(MODES[a], MODES[b]) for a in MODES for b in MODES}
