"""Least squares of a polynomial with given coefficients and the sign, on n points between -1 and 1."""

import numpy as np

import primad


def primal(x, n):
    t = np.linspace(-1.0, 1.0, n)
    value = np.zeros(n)
    for coefficient in x[::-1]:
        value = value * t + coefficient
    return np.sum((np.sign(t) - value) ** 2) / 2


FUNCTIONS = {
    "primal": primad.jit(primal, static_argnums=1),
    "gradient": primad.jit(primad.grad(primal), static_argnums=1),
}
