"""Programs as people write them to simulate, filter, price, transport and fit, once for arrays of any system.

Each takes the system's module of functions under NumPy's names and its `fold(step, carry, rows, length)`, a scan or a
loop of plain Python; `fold.add_at(n, index, values)` adds values up by index. It returns the function to differentiate.
"""

import numpy

STEP = 0.01
ROUNDS = 50
"""Of the transport's scaling, of the motion of bodies, of the spline's matrix."""
SMOOTH = 1e-6
WEIGHT = 0.1


def kalman(np, fold):
    """The negative logarithm of the likelihood of measurements of two of four states, by a Kalman filter."""

    def loss(motion, observed, spread, noise, measured):
        def step(carry, y):
            x, p, total = carry
            x, p = motion @ x, motion @ p @ motion.T + spread
            s, r = observed @ p @ observed.T + noise, y - observed @ x
            gain = np.linalg.solve(s, observed @ p).T
            total = total + r @ np.linalg.solve(s, r) + np.log(np.linalg.det(s))
            return x + gain @ r, p - gain @ observed @ p, total

        start = 0.0 * motion[0], spread, 0.0 * motion[0, 0]
        return fold(step, start, measured, len(measured))[2]

    return loss


def forward_pass(np, fold):
    """The logarithm of the likelihood of what a hidden Markov chain shows."""

    def loss(turning, shown):
        change = turning - np.log(np.sum(np.exp(turning), 1))[:, None]

        def step(belief, row):
            joint = belief[:, None] + change + row[None, :]
            largest = np.amax(joint, 0)
            return largest + np.log(np.sum(np.exp(joint - largest), 0))

        last = fold(step, shown[0], shown[1:], len(shown) - 1)
        return np.log(np.sum(np.exp(last)))

    return loss


def transport(np, fold):
    """The cost of moving points to others, by Sinkhorn's scaling."""

    def loss(x, y):
        cost = np.sum((x[:, None] - y[None]) ** 2, 2)
        kernel = np.exp(-cost)
        one = 0.0 * x[:, 0] + 1.0 / len(x)

        def step(v, _):
            return one / (kernel.T @ (one / (kernel @ v)))

        v = fold(step, one, None, ROUNDS)
        return np.sum((one / (kernel @ v))[:, None] * kernel * cost * v[None])

    return loss


def rollout(np, fold):
    """How far a planar drone ends from a point, with the effort: 6 states, 2 controls at each step."""

    def loss(controls, start):
        def step(state, u):
            x, z, turn, vx, vz, spin = state
            push = u[0] + u[1] + 9.81
            turned = vx - STEP * push * np.sin(turn), vz + STEP * (push * np.cos(turn) - 9.81)
            return x + STEP * vx, z + STEP * vz, turn + STEP * spin, *turned, spin + STEP * 5.0 * (u[0] - u[1])

        first = tuple(start[i] for i in range(6))
        x, z, turn, *_ = fold(step, first, controls, len(controls))
        return (x - 1.0) ** 2 + (z - 1.0) ** 2 + turn**2 + STEP * np.sum(controls**2)

    return loss


def bodies(np, fold):
    """The energy of bodies that attract each other, after leapfrog steps."""

    def loss(speeds, places, masses):
        def pulled(x):
            apart = x[None] - x[:, None]
            return np.sum(masses[None, :, None] * apart / (np.sum(apart**2, 2) + WEIGHT)[:, :, None] ** 1.5, 1)

        def step(carry, _):
            x, v = carry
            v = v + STEP / 2 * pulled(x)
            x = x + STEP * v
            return x, v + STEP / 2 * pulled(x)

        x, v = fold(step, (places, speeds), None, ROUNDS)
        return np.sum(masses[:, None] * v**2) + np.sum(x**2)

    return loss


def option(np, fold):
    """The price of an American put, by a binomial tree whose last prices are left alone once they are past."""

    def loss(market, ups):
        spot, strike, rate, spread = market[0], market[1], market[2], market[3]
        steps = len(ups) - 1
        up = np.exp(spread / steps**0.5)
        less = np.exp(-rate / steps)
        chance = (1.0 / less - 1.0 / up) / (up - 1.0 / up)
        prices = spot * up**ups
        gain = strike - prices

        def step(carry, _):
            value, prices = carry
            prices = prices / up
            later = less * (chance * value + (1.0 - chance) * np.concatenate((value[1:], value[-1:])))
            return np.maximum(later, strike - prices), prices

        return fold(step, (np.maximum(gain, 0.0 * gain), prices), None, steps)[0][0]

    return loss


def basket(np, fold):
    """The price of a call on a basket, by draws that are given."""

    def loss(spots, spreads, factor, draws):
        ends = spots * np.exp(spreads * (draws @ factor) - 0.5 * spreads**2)
        gain = np.mean(ends, 1) - 1.0
        return np.mean(np.maximum(gain, 0.0 * gain))

    return loss


def assembly(np, fold):
    """The square of the forces that triangles exert on the corners of a mesh, added up corner by corner."""

    def loss(u, stiffness, corners, slopes):
        at = u[corners]
        gradient = np.sum(slopes * at[:, :, None], 1)
        flux = (stiffness * (1.0 + np.sum(gradient**2, 1)))[:, None] * gradient
        forces = np.sum(slopes * flux[:, None, :], 2)
        return np.sum(fold.add_at(len(u), corners, forces) ** 2)

    return loss


def elastic(np, fold):
    """The energy of a neo-Hookean solid, of a 3×3 matrix at every point."""

    def loss(deformation):
        volume = np.linalg.det(deformation)
        return np.sum(0.5 * np.sum(deformation**2, (1, 2)) - np.log(volume) + (volume - 1.0) ** 2)

    return loss


def spline(np, fold):
    """The distance of a natural cubic spline from measurements, in its values at the knots."""

    def loss(values, matrix, interval, place, measured):
        jumps = np.concatenate((0.0 * values[:1], values[2:] - 2.0 * values[1:-1] + values[:-2], 0.0 * values[:1]))
        bends = np.linalg.solve(matrix, 6.0 * jumps)
        left, right, rest = values[interval], values[interval + 1], 1.0 - place
        bend = ((rest**3 - rest) * bends[interval] + (place**3 - place) * bends[interval + 1]) / 6.0
        return np.sum((rest * left + place * right + bend - measured) ** 2)

    return loss


def picture(np, fold):
    """The distance of a picture from a noisy one, with its total variation."""

    def loss(u, noisy):
        dx, dy = u[1:, :-1] - u[:-1, :-1], u[:-1, 1:] - u[:-1, :-1]
        return np.sum((u - noisy) ** 2) + WEIGHT * np.sum(np.sqrt(dx**2 + dy**2 + SMOOTH))

    return loss


SIMULATIONS = {
    "kalman": kalman, "forward-pass": forward_pass, "transport": transport, "rollout": rollout, "bodies": bodies,
    "option": option, "basket": basket, "assembly": assembly, "elastic": elastic, "spline": spline,
    "picture": picture,
}  # fmt: skip
"""By kind; the first six have a loop."""
MOVING = {"kalman": (0, 2, 3), "basket": (0, 1)}
"""The arguments that are differentiated, where it is not the first one."""


def of_simulations(kind, points):
    """Return the arguments."""
    rng = numpy.random.default_rng(0)
    if kind == "kalman":
        motion = numpy.eye(4) + 0.1 * numpy.eye(4, k=2)
        return motion, numpy.eye(2, 4), 0.1 * numpy.eye(4), 0.5 * numpy.eye(2), rng.normal(size=(points, 2))
    if kind == "forward-pass":
        return rng.normal(size=(16, 16)), rng.normal(size=(points, 16))
    if kind == "transport":
        return rng.normal(size=(points, 2)), rng.normal(size=(points, 2)) + 1.0
    if kind == "rollout":
        return 0.1 * rng.normal(size=(points, 2)), numpy.zeros(6)
    if kind == "bodies":
        return 0.1 * rng.normal(size=(points, 3)), rng.normal(size=(points, 3)), rng.uniform(0.5, 1.0, points) / points
    if kind == "option":
        return numpy.array([1.0, 1.1, 0.05, 0.2]), points - 2.0 * numpy.arange(points + 1)
    if kind == "basket":
        factor = numpy.eye(5) + 0.2 * numpy.tril(rng.normal(size=(5, 5)), -1)
        return rng.uniform(0.9, 1.1, 5), rng.uniform(0.1, 0.3, 5), factor, rng.normal(size=(points, 5))
    if kind == "assembly":
        side = round(points**0.5)
        i = numpy.arange(side * (side - 1)).reshape(side - 1, side)[:, :-1].ravel()
        corners = numpy.concatenate(
            (numpy.stack([i, i + 1, i + side], 1), numpy.stack([i + 1, i + side + 1, i + side], 1))
        )
        slopes = rng.normal(size=(len(corners), 3, 2))
        return rng.normal(size=side * side), rng.uniform(0.5, 1.5, len(corners)), corners, slopes
    if kind == "elastic":
        return (numpy.eye(3) + 0.1 * rng.normal(size=(points, 3, 3)),)
    if kind == "spline":
        matrix = 4.0 * numpy.eye(ROUNDS) + numpy.eye(ROUNDS, k=1) + numpy.eye(ROUNDS, k=-1)
        matrix[0, :2], matrix[-1, -2:] = (1.0, 0.0), (0.0, 1.0)
        interval = rng.integers(0, ROUNDS - 1, points)
        return rng.normal(size=ROUNDS), matrix, interval, rng.uniform(size=points), rng.normal(size=points)
    return tuple(rng.normal(size=(2, points, points)))
