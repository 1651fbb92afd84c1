"""Functions with loops as their users write them: in plain Python, and as `scan`; `plain_loops` times them."""

from __future__ import annotations

from typing import Any

import numpy as np

import primad
import primad.numpy as pnp
from tests.benchmarks.plain_short_kinds import SHORT
from tests.benchmarks.plain_table_kinds import TABLES

STEPS = 1000
DATA = np.random.default_rng(0).normal(size=(STEPS, 3))


def swing(p: Any, y: Any) -> Any:
    """Take a step of a damped oscillation in three numbers."""
    return y + 0.01 * np.stack([p[0] * (y[1] - y[0]), y[0] * (p[1] - y[2]) - y[1], y[0] * y[1] - p[2] * y[2]])


P, START = np.array([1.0, 2.0, 0.5]), np.array([1.0, 1.0, 1.0])


def rows_of_data(p: Any) -> Any:
    y, s = START, 0.0
    for n in range(STEPS):
        y = swing(p, y)
        s = s + np.sum((y - DATA[n]) ** 2)
    return s


def rows_of_data_scan(p: Any) -> Any:
    def step(c: Any, row: Any) -> Any:
        y = swing(p, c[0])
        return (y, c[1] + np.sum((y - row) ** 2)), None

    return primad.scan(step, (START, 0.0), DATA)[0][1]


def rows_of_inputs(x: Any) -> Any:
    z, total = np.tanh(x), 0.0
    y = 0.0 * z[0]
    for n in range(len(x)):
        y = 0.9 * y + np.sin(z[n]) * y * 0.1 + z[n]
        total = total + np.sum(y**2)
    return total


def rows_of_inputs_scan(x: Any) -> Any:
    z = np.tanh(x)

    def step(c: Any, row: Any) -> Any:
        y = 0.9 * c[0] + np.sin(row) * c[0] * 0.1 + row
        return (y, c[1] + np.sum(y**2)), None

    return primad.scan(step, (0.0 * z[0], 0.0), z)[0][1]


def filled_array(p: Any) -> Any:
    u = pnp.zeros((STEPS + 1, 3))
    u[0] = START
    for n in range(STEPS):
        u[n + 1] = swing(p, u[n])
    return np.sum(u**2)


def filled_array_scan(p: Any) -> Any:
    def step(y: Any, _: Any) -> Any:
        y = swing(p, y)
        return y, y

    return np.sum(START**2) + np.sum(primad.scan(step, START, length=STEPS)[1] ** 2)


def appended(p: Any) -> Any:
    y, path = START, []
    for _ in range(STEPS):
        y = swing(p, y)
        path.append(y)
    return np.sum((np.stack(path) - DATA) ** 2)


def appended_scan(p: Any) -> Any:
    def step(y: Any, _: Any) -> Any:
        y = swing(p, y)
        return y, y

    return np.sum((primad.scan(step, START, length=STEPS)[1] - DATA) ** 2)


def every_tenth(p: Any) -> Any:
    y, s = START, 0.0
    for n in range(STEPS):
        y = swing(p, y)
        if n % 10 == 0:
            s = s + np.sum((y - DATA[n]) ** 2)
    return s


def every_tenth_scan(p: Any) -> Any:
    def outer(c: Any, row: Any) -> Any:
        y = swing(p, c[0])
        s = c[1] + np.sum((y - row) ** 2)
        return (primad.fori_loop(0, 9, lambda i, y: swing(p, y), y), s), None

    return primad.scan(outer, (START, 0.0), DATA[::10])[0][1]


def delay(p: Any) -> Any:
    y = [1.0 + 0.1 * p[0] * k for k in range(5)]
    for _ in range(STEPS):
        y.append(y[-1] + 0.01 * (p[1] * y[-5] / (1 + y[-5] ** 4) - p[2] * y[-1]))
    return y[-1] ** 2


def delay_scan(p: Any) -> Any:
    def step(c: Any, _: Any) -> Any:
        new = c[4] + 0.01 * (p[1] * c[0] / (1 + c[0] ** 4) - p[2] * c[4])
        return (*c[1:], new), None

    start = tuple([1.0 + 0.1 * p[0] * k for k in range(5)])
    return primad.scan(step, start, length=STEPS)[0][4] ** 2


def inner_solver(a: Any) -> Any:
    x, total = a, 0.0
    for n in range(100):
        for _ in range(5):
            x = x - (x**3 + x - a - 0.01 * n) / (3 * x**2 + 1)
        total = total + np.sum(x)
    return total


def inner_solver_scan(a: Any) -> Any:
    def step(c: Any, n: Any) -> Any:
        x = primad.fori_loop(0, 5, lambda i, x: x - (x**3 + x - a - 0.01 * n) / (3 * x**2 + 1), c[0])
        return (x, c[1] + np.sum(x)), None

    return primad.scan(step, (a, 0.0), np.arange(100.0))[0][1]


TREE = 400


def tree(p: Any) -> Any:
    """An American put in a binomial tree, whose arrays shrink by one at each step."""
    s, strike, sigma = p[0], p[1], p[2]
    dt, rate = 1.0 / TREE, 0.05
    up = np.exp(sigma * np.sqrt(dt))
    q = (np.exp(rate * dt) - 1 / up) / (up - 1 / up)
    k = np.arange(TREE + 1)
    value = np.maximum(strike - s * up ** (2.0 * k - TREE), 0)
    for n in range(TREE - 1, -1, -1):
        value = np.exp(-rate * dt) * (q * value[1:] + (1 - q) * value[:-1])
        value = np.maximum(value, strike - s * up ** (2.0 * np.arange(n + 1) - n))
    return value[0]


def tree_scan(p: Any) -> Any:
    s, strike, sigma = p[0], p[1], p[2]
    dt, rate = 1.0 / TREE, 0.05
    up = np.exp(sigma * np.sqrt(dt))
    q = (np.exp(rate * dt) - 1 / up) / (up - 1 / up)
    k = np.arange(TREE + 1)
    value = np.maximum(strike - s * up ** (2.0 * k - TREE), 0)

    def step(value: Any, n: Any) -> Any:
        later = np.concatenate([value[1:], value[-1:]])
        value = np.exp(-rate * dt) * (q * later + (1 - q) * value)
        return np.where(k <= n, np.maximum(value, strike - s * up ** (2.0 * k - n)), 0.0), None

    return primad.scan(step, value, np.arange(TREE - 1.0, -1.0, -1.0))[0][0]


UNKNOWNS = 1000


def thomas(d: Any) -> Any:
    """Solve a tridiagonal system by elimination, element by element."""
    n = UNKNOWNS
    c, x = [None] * n, [None] * n
    g = [None] * n
    b = 2.0 + d * d
    c[0], g[0] = -1.0 / b[0], d[0] / b[0]
    for i in range(1, n):
        w = b[i] + c[i - 1]
        c[i] = -1.0 / w
        g[i] = (d[i] + g[i - 1]) / w
    x[n - 1] = g[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = g[i] - c[i] * x[i + 1]
    return np.sum(np.stack(x) ** 2)


def thomas_scan(d: Any) -> Any:
    b = 2.0 + d * d

    def forward(s: Any, each: Any) -> Any:
        w = each[0] + s[0]
        s = (-1.0 / w, (each[1] + s[1]) / w)
        return s, s

    start = -1.0 / b[0], d[0] / b[0]
    _, (c, g) = primad.scan(forward, start, (b[1:], d[1:]))

    def back(x: Any, each: Any) -> Any:
        x = each[0] - each[1] * x
        return x, x

    c, g = np.concatenate([start[0][None], c]), np.concatenate([start[1][None], g])
    _, x = primad.scan(back, g[-1], (g[:-1], c[:-1]), reverse=True)
    return np.sum(x**2) + g[-1] ** 2


SEEN = np.random.default_rng(1).integers(0, 4, size=500)


def hidden_markov(w: Any) -> Any:
    """Log-likelihood of a hidden Markov model of 8 states and 4 symbols."""
    a = np.exp(w[:8]) / np.sum(np.exp(w[:8]), axis=1, keepdims=True)
    b = np.exp(w[8:12]).T / np.sum(np.exp(w[8:12]), axis=0)[:, None]
    alpha = b[:, SEEN[0]] / 8
    total = 0.0
    for n in range(1, len(SEEN)):
        alpha = (alpha @ a) * b[:, SEEN[n]]
        size = np.sum(alpha)
        total = total + np.log(size)
        alpha = alpha / size
    return total


def hidden_markov_scan(w: Any) -> Any:
    a = np.exp(w[:8]) / np.sum(np.exp(w[:8]), axis=1, keepdims=True)
    b = np.exp(w[8:12]).T / np.sum(np.exp(w[8:12]), axis=0)[:, None]

    def step(c: Any, symbol: Any) -> Any:
        alpha = (c[0] @ a) * b.T[symbol]
        size = np.sum(alpha)
        return (alpha / size, c[1] + np.log(size)), None

    return primad.scan(step, (b[:, SEEN[0]] / 8, 0.0), SEEN[1:])[0][1]


POINTS = np.random.default_rng(2).normal(size=(2, 24, 2))


def sinkhorn(x: Any) -> Any:
    """Entropic transport between two clouds of points by 150 scalings, in logarithms."""
    cost = np.sum((x[:, None] - POINTS[1][None]) ** 2, axis=-1) / 0.5
    f, g = np.zeros(24), np.zeros(24)
    for _ in range(150):
        z = f[:, None] - cost
        m = np.max(z, axis=0)
        g = -m - np.log(np.sum(np.exp(z - m), axis=0)) - np.log(24.0)
        z = g[None] - cost
        m = np.max(z, axis=1)
        f = -m - np.log(np.sum(np.exp(z - m[:, None]), axis=1)) - np.log(24.0)
    return np.sum(f) + np.sum(g)


def sinkhorn_scan(x: Any) -> Any:
    cost = np.sum((x[:, None] - POINTS[1][None]) ** 2, axis=-1) / 0.5

    def step(c: Any, _: Any) -> Any:
        z = c[0][:, None] - cost
        m = np.max(z, axis=0)
        g = -m - np.log(np.sum(np.exp(z - m), axis=0)) - np.log(24.0)
        z = g[None] - cost
        m = np.max(z, axis=1)
        return (-m - np.log(np.sum(np.exp(z - m[:, None]), axis=1)) - np.log(24.0), g), None

    f, g = primad.scan(step, (np.zeros(24), np.zeros(24)), length=150)[0]
    return np.sum(f) + np.sum(g)


FIELD = np.random.default_rng(3).normal(size=(48, 48))


def potts(j: Any) -> Any:
    """Mean-field sweeps of a Potts model of four colours on a grid: steps on large arrays."""
    m = np.stack([FIELD * k for k in (0.1, 0.2, -0.1, 0.3)])
    for _ in range(60):
        around = np.roll(m, 1, 1) + np.roll(m, -1, 1) + np.roll(m, 1, 2) + np.roll(m, -1, 2)
        e = np.exp(j * around + 0.1 * FIELD)
        m = 0.5 * m + 0.5 * e / np.sum(e, axis=0)
    return np.sum(m**2)


def potts_scan(j: Any) -> Any:
    def step(m: Any, _: Any) -> Any:
        around = np.roll(m, 1, 1) + np.roll(m, -1, 1) + np.roll(m, 1, 2) + np.roll(m, -1, 2)
        e = np.exp(j * around + 0.1 * FIELD)
        return 0.5 * m + 0.5 * e / np.sum(e, axis=0), None

    return np.sum(primad.scan(step, np.stack([FIELD * k for k in (0.1, 0.2, -0.1, 0.3)]), length=60)[0] ** 2)


def cart(y: Any, force: Any) -> Any:
    """Return the state of a cart with a pole after a short time."""
    x, v, a, w = y[0], y[1], y[2], y[3]
    s, c = np.sin(a), np.cos(a)
    t = (force + 0.1 * w * w * s) / 1.1
    turn = (9.8 * s - c * t) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
    return np.stack([x + 0.02 * v, v + 0.02 * (t - 0.05 * turn * c), a + 0.02 * w, w + 0.02 * turn])


def cart_pole(u: Any) -> Any:
    y, cost = np.array([0.0, 0.0, 0.1, 0.0]), 0.0
    for force in u:
        y = cart(y, force)
        cost = cost + y[0] ** 2 + 10 * y[2] ** 2 + 0.01 * force**2
    return cost


def cart_pole_scan(u: Any) -> Any:
    def step(c: Any, force: Any) -> Any:
        y = cart(c[0], force)
        return (y, c[1] + y[0] ** 2 + 10 * y[2] ** 2 + 0.01 * force**2), None

    return primad.scan(step, (np.array([0.0, 0.0, 0.1, 0.0]), 0.0), u)[0][1]


MASSES = np.random.default_rng(4).normal(size=(12, 3))


def bodies(q: Any) -> Any:
    """Twelve bodies by leapfrog."""
    v = 0.0 * q
    for _ in range(200):
        d = q[None] - q[:, None]
        r = np.sum(d**2, axis=-1) + 0.05
        v = v + 0.005 * np.sum(d / (r * np.sqrt(r))[..., None], axis=1)
        q = q + 0.005 * v
    return np.sum(q**2)


def bodies_scan(q: Any) -> Any:
    def step(c: Any, _: Any) -> Any:
        q, v = c
        d = q[None] - q[:, None]
        r = np.sum(d**2, axis=-1) + 0.05
        v = v + 0.005 * np.sum(d / (r * np.sqrt(r))[..., None], axis=1)
        return (q + 0.005 * v, v), None

    return np.sum(primad.scan(step, (q, 0.0 * q), length=200)[0][0] ** 2)


def heat(u: Any) -> Any:
    """Explicit heat steps on a rod of 600 cells, whose ends are written into the array."""
    u = pnp.asarray(u).copy()
    for _ in range(300):
        u[1:-1] = u[1:-1] + 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


def heat_scan(u: Any) -> Any:
    def step(u: Any, _: Any) -> Any:
        return np.concatenate([u[:1], u[1:-1] + 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2]), u[-1:]]), None

    return np.sum(primad.scan(step, u, length=300)[0] ** 2)


_RNG = np.random.default_rng(5)
KINDS: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
    "rows of data": (rows_of_data, rows_of_data_scan, (P,)),
    "rows of inputs": (rows_of_inputs, rows_of_inputs_scan, (_RNG.normal(size=(STEPS, 3)),)),
    "filled array": (filled_array, filled_array_scan, (P,)),
    "appended": (appended, appended_scan, (P,)),
    "every tenth": (every_tenth, every_tenth_scan, (P,)),
    "delay": (delay, delay_scan, (P,)),
    "inner solver": (inner_solver, inner_solver_scan, (_RNG.normal(size=20),)),
    "tree": (tree, tree_scan, (np.array([100.0, 100.0, 0.2]),)),
    "thomas": (thomas, thomas_scan, (_RNG.normal(size=UNKNOWNS),)),
    "hidden markov": (hidden_markov, hidden_markov_scan, (0.3 * _RNG.normal(size=(12, 8)),)),
    "sinkhorn": (sinkhorn, sinkhorn_scan, (POINTS[0],)),
    "potts": (potts, potts_scan, (0.3,)),
    "cart-pole": (cart_pole, cart_pole_scan, (0.1 * _RNG.normal(size=300),)),
    "bodies": (bodies, bodies_scan, (MASSES,)),
    "heat": (heat, heat_scan, (_RNG.normal(size=600),)),
    **TABLES,
    **SHORT,
}
"""The plain form, the form with `scan` and the point of each kind."""
