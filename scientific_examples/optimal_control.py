"""How high a rocket gets: Goddard's problem, and a body that must not pass a wall, by direct collocation and Ipopt.

    h′ = v,   v′ = (T − D(h, v)) / m − 1/h²,   m′ = −2 T,   0 ≤ T ≤ 3.5,   h(t_f) → largest

States and the thrust at all times, and the time t_f, are unknowns; Hermite and Simpson's equations tie each interval
to the next. They are written with whole arrays, and `primad.optimize.NonlinearProgram` finds that the Jacobian and the
Hessian have few bands and a column for t_f, and computes them by few directions. The optimal thrust is
full, then on a singular arc, then none. Bryson and Denham's problem has an exact solution: minimise ½ ∫ u² where
x″ = u, x(0) = x(1) = 0, x′(0) = −x′(1) = 1 and x ≤ 1/9.

Needs: cyipopt (pip install 'primad[ipopt,plot]')
Reference: the exact cost 4 of the second problem; the altitude 1.01283 of the first (Dolan, Moré and Munson, COPS 3.0).
Reach: wall 1e-6, altitude 1e-5, seconds 60
Toy: wall 1e-6, altitude 1e-4
"""

import numpy as np

from primad.optimize import NonlinearProgram


def dynamics(x, thrust):
    """Return the derivatives of height, speed and mass."""
    h, v, m = x.T
    drag = 310 * v**2 * np.exp(-500 * (h - 1))
    return np.stack([v, (thrust - drag) / m - 1 / h**2, -2 * thrust], axis=1)


def simpson(slope, x, u, step):
    """Return by how much Hermite and Simpson's rule misses the state at the end of each interval.

    Args:
        slope: function of states and controls, one row for each time.
        x: states.
        u: controls, which are linear in each interval.
        step: length of an interval.
    """
    dx = slope(x, u)
    middle = (x[1:] + x[:-1]) / 2 - step / 8 * np.diff(dx, axis=0)
    return np.diff(x, axis=0) - step / 6 * (dx[1:] + 4 * slope(middle, (u[1:] + u[:-1]) / 2) + dx[:-1])


def rocket(n):
    """Return the highest flight: Ipopt's result."""

    def balance(p):
        return simpson(dynamics, p["x"], p["thrust"], p["end"] / n)

    along = np.linspace(0, 1, n + 1)
    start = {
        "x": np.stack([np.ones(n + 1), along * (1 - along), 1 - 0.4 * along], 1),
        "thrust": 1.75 + 0 * along,
        "end": 0.2,
    }
    lower, upper = np.tile([1.0, 0.0, 0.6], (n + 1, 1)), np.tile([np.inf, np.inf, 1.0], (n + 1, 1))
    lower[0] = upper[0] = 1.0, 0.0, 1.0
    upper[-1, 2] = 0.6
    bounds = {"x": lower, "thrust": 0.0, "end": 0.01}, {"x": upper, "thrust": 3.5, "end": 1.0}
    program = NonlinearProgram(lambda p: -p["x"][-1, 0], start, (), bounds, {"type": "eq", "fun": balance})
    return program.solve(tol=1e-9), program


def wall(n):
    """Return the least effort under a wall: Ipopt's result."""

    def effort(p):
        u = p["u"]
        return np.sum(u[1:] ** 2 + u[1:] * u[:-1] + u[:-1] ** 2) / (6 * n)

    def balance(p):
        return simpson(lambda x, u: np.stack([x[:, 1], u], axis=1), p["x"], p["u"], 1 / n)

    lower, upper = np.full((n + 1, 2), -np.inf), np.tile([1 / 9, np.inf], (n + 1, 1))
    lower[[0, -1]] = upper[[0, -1]] = [[0.0, 1.0], [0.0, -1.0]]
    start = {"x": np.zeros((n + 1, 2)), "u": np.zeros(n + 1)}
    bounds = {"x": lower, "u": -np.inf}, {"x": upper, "u": np.inf}
    return NonlinearProgram(effort, start, (), bounds, {"type": "eq", "fun": balance}).solve(tol=1e-10)


def solve(toy=False):
    """Return errors of the least effort and of the altitude, and what to draw."""
    least, (flight, program) = wall(30 if toy else 120), rocket(50 if toy else 400)
    figures = {"wall": abs(least.fun - 4), "altitude": abs(flight.fun + 1.01283)}
    return figures, (flight.x, least.x, program.hessianstructure())


def draw(flight, least, entries):
    """Draw the flight, its thrust, the Hessian's entries, and the path under the wall."""
    import matplotlib.pyplot as plt

    figure = plt.gcf()
    figure.set_size_inches(9, 4.5)
    (first, second), (third, fourth) = figure.subplots(2, 2)
    time = np.linspace(0, flight["end"], len(flight["x"]))
    first.plot(time, flight["thrust"], label="thrust T")
    first.plot(time, flight["x"][:, 2], label="mass m")
    first.legend()
    second.plot(time, flight["x"][:, 0], label="height")
    second.plot(time, 1 + flight["x"][:, 1] / 10, label="1 + speed / 10")
    second.legend()
    for axes in (first, second):
        axes.set_xlabel("t")
    third.plot(entries[1], entries[0], ".", markersize=1)
    third.invert_yaxis()
    third.set(title="the Lagrangian's Hessian", xticks=[], yticks=[])
    time = np.linspace(0, 1, len(least["u"]))
    fourth.plot(time, least["x"][:, 0] * 9, label="9 x")
    fourth.plot(time, least["u"], label="u")
    fourth.set_xlabel("t")
    fourth.legend()


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
