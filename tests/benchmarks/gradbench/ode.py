"""Runge and Kutta's steps for y₀′ = x₀, yᵢ′ = xᵢ·yᵢ₋₁ from zero to time 2, and the last component's gradient."""

import numpy as np

import primad


def slope(x, y):
    return np.concatenate([x[:1], x[1:] * y[:-1]])


def primal(x, steps):
    h = 2.0 / steps

    def step(i, y):
        k1 = slope(x, y)
        k2 = slope(x, y + h / 2 * k1)
        k3 = slope(x, y + h / 2 * k2)
        k4 = slope(x, y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return primad.fori_loop(0, steps, step, np.zeros(len(x)))


def last(x, steps):
    return primal(x, steps)[-1]


FUNCTIONS = {
    "primal": primad.jit(primal, static_argnums=1),
    "gradient": primad.jit(primad.grad(last), static_argnums=1),
}
