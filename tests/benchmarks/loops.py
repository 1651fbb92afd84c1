"""Loops: time integration, recurrences and iteration, written once for arrays of any system.

Each is a function of (np, loop) that returns the function to differentiate; `loop(step, carry, length)` applies a step
so often, with a `scan`, a `fori_loop`, Python's own loop or another.
"""

LORENZ_STEPS, FIELD_STEPS, MATRIX_STEPS, LSTM_STEPS = 2000, 500, 1000, 20
LONG_STEPS = 1_000_000
TOLERANCE = 1e-12


def lorenz_slope(np, p, state):
    x, y, z = state[0], state[1], state[2]
    return np.stack([p[0] * (y - x), x * (p[1] - z) - y, x * y - p[2] * z])


def lorenz(np, loop, length=LORENZ_STEPS):
    h = 0.001

    def loss(p, start):
        def step(state):
            k1 = lorenz_slope(np, p, state)
            k2 = lorenz_slope(np, p, state + h / 2 * k1)
            k3 = lorenz_slope(np, p, state + h / 2 * k2)
            k4 = lorenz_slope(np, p, state + h * k3)
            return state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

        return np.sum(loop(step, start, length) ** 2)

    return loss


def laplace(np, u):
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u


def reaction_diffusion(np, loop):
    """Gray and Scott's equations; the field's square sum at the end, of the initial field."""

    def loss(u):
        def step(state):
            u, v = state[0], state[1]
            reaction = u * v * v
            return np.stack(
                [
                    u + 0.16 * laplace(np, u) - reaction + 0.04 * (1 - u),
                    v + 0.08 * laplace(np, v) + reaction - 0.1 * v,
                ]
            )

        return np.sum(loop(step, np.stack([u, 0.5 * u]), FIELD_STEPS) ** 2)

    return loss


def lstm(np, loop):
    """One layer of 256 cells, of 1024 inputs that are the same in all steps."""

    def loss(weights, bias, x):
        cells = bias.shape[0] // 4

        def gate(v):
            return 0.5 + 0.5 * np.tanh(0.5 * v)

        def step(state):
            hidden, cell = state[0], state[1]
            z = np.concatenate([x, hidden]) @ weights + bias
            cell = gate(z[:cells]) * cell + gate(z[cells : 2 * cells]) * np.tanh(z[2 * cells : 3 * cells])
            return np.stack([gate(z[3 * cells :]) * np.tanh(cell), cell])

        return np.sum(loop(step, np.stack([0 * bias[:cells], 0 * bias[:cells]]), LSTM_STEPS) ** 2)

    return loss


def matrices(np, loop):
    def loss(a):
        return np.sum(loop(lambda m: a @ np.tanh(m) + 0.1, 0 * a + 0.5, MATRIX_STEPS) ** 2)

    return loss


def long(np, loop):
    def loss(x):
        return np.sum(loop(lambda c: c + 1e-3 * (np.sin(c) - c * np.flip(c, (0,))), x, LONG_STEPS) ** 2)

    return loss


def root(loop):
    """The root of x³ + x = a by Newton's method; `loop(condition, step, carry)`."""

    def of(a):
        return loop(lambda x: abs(x * x * x + x - a) > TOLERANCE * (1 + abs(a)), lambda x: newton(x, a), a)

    return of


def newton(x, a):
    return x - (x * x * x + x - a) / (3 * x * x + 1)


LOSSES = {
    "lorenz": lorenz,
    "lorenz-hessian": lorenz,
    "lorenz-python": lorenz,
    "reaction-diffusion": reaction_diffusion,
    "lstm": lstm,
    "matrices": matrices,
    "long": long,
}
"""The functions to differentiate, by kind: in their first argument, "lstm" in the first two."""


def unrolled(step, carry, length):
    """Take the steps by a loop of Python."""
    for _ in range(length):
        carry = step(carry)
    return carry


def looped(step, carry, rows, length):
    """Take the steps by a loop of Python, with a row of some arrays each, if there are any."""
    for i in range(length):
        carry = step(carry, None if rows is None else rows[i])
    return carry
