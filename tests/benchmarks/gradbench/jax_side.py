"""The evaluations in JAX, as its users would write them."""

import math
from functools import partial
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from scipy.special import multigammaln

from .tool import Side

jax.config.update("jax_enable_x64", True)
SMALL, MOST = 1e-5, 1000


def lse(x):
    largest = jnp.max(x)
    return largest + jnp.log(jnp.sum(jnp.exp(x - largest)))


def llsq(x, n):
    t = jnp.linspace(-1.0, 1.0, n)
    return jnp.sum((jnp.sign(t) - jnp.polyval(x[::-1], t)) ** 2) / 2


def ode(x, steps):
    h = 2.0 / steps

    def slope(y):
        return jnp.concatenate([x[:1], x[1:] * y[:-1]])

    def step(y, _):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    return jax.lax.scan(step, jnp.zeros(len(x)), length=steps)[0]


def det(matrix):
    n = len(matrix)
    minors = matrix[n - 1]
    place = {(column,): column for column in range(n)}
    for size in range(2, n + 1):
        chosen = list(combinations(range(n), size))
        rest = np.array([[place[columns[:j] + columns[j + 1 :]] for j in range(size)] for columns in chosen])
        signs = (-1.0) ** np.arange(size)
        minors = jnp.sum(signs * matrix[n - size][np.array(chosen)] * minors[rest], axis=1)
        place = {columns: i for i, columns in enumerate(chosen)}
    return minors[0]


def kmeans(points, centroids):
    squares = jnp.sum(points**2, axis=1)[:, None] + jnp.sum(centroids**2, axis=1)
    return jnp.sum(jnp.min(squares - 2 * points @ centroids.T, axis=1))


def kmeans_direction(points, centroids):
    gradient = jax.grad(lambda c: kmeans(points, c))
    slope, diagonal = jax.jvp(gradient, (centroids,), (jnp.ones(centroids.shape),))
    return slope / diagonal


def gmm(alpha, mu, q, lower, x, gamma, m):
    (n, d), k = x.shape, len(alpha)
    columns, rows = np.triu_indices(d, 1)
    factors = jnp.zeros((k, d, d)).at[:, rows, columns].set(lower)
    factors = factors.at[:, np.arange(d), np.arange(d)].set(jnp.exp(q))
    spread = jnp.einsum("kij,nkj->nki", factors, x[:, None, :] - mu)
    terms = alpha + jnp.sum(q, axis=1) - jnp.sum(spread**2, axis=2) / 2
    likelihood = jnp.sum(logsumexp(terms, axis=1)) - n * logsumexp(alpha) - n * d / 2 * math.log(2 * math.pi)
    freedom = d + m + 1
    constant = freedom * d * math.log(gamma / math.sqrt(2)) - multigammaln(freedom / 2, d)
    squares = jnp.sum(jnp.exp(2 * q)) + jnp.sum(lower**2)
    return likelihood + k * constant - gamma**2 / 2 * squares + m * jnp.sum(q)


def lstm_layer(weights, biases, hidden, cell, x):
    forget = jax.nn.sigmoid(x * weights[0] + biases[0])
    ingate = jax.nn.sigmoid(hidden * weights[1] + biases[1])
    outgate = jax.nn.sigmoid(x * weights[2] + biases[2])
    change = jnp.tanh(hidden * weights[3] + biases[3])
    cell = cell * forget + ingate * change
    return outgate * jnp.tanh(cell), cell


def lstm(main, extra, state, sequence):
    bits = sequence.shape[1]
    parameters = jnp.reshape(main, (-1, 2, 4, bits))

    def step(state, characters):
        x, target = characters
        x = x * extra[0]
        after = []
        for (weights, biases), (hidden, cell) in zip(parameters, state, strict=True):
            x, cell = lstm_layer(weights, biases, hidden, cell, x)
            after.append((x, cell))
        predicted = x * extra[1] + extra[2]
        return after, jnp.sum(target * (predicted - jnp.log(jnp.sum(jnp.exp(predicted)) + 2)))

    start = [(state[i], state[i + 1]) for i in range(0, len(state), 2)]
    _, scores = jax.lax.scan(step, start, (sequence[:-1], sequence[1:]))
    return -jnp.sum(scores) / (len(scores) * bits)


def rotated(vector, x):
    square = jnp.sum(vector**2)
    turned = square > 0
    angle = jnp.sqrt(jnp.where(turned, square, 1.0))
    axis = vector / angle
    around = jnp.cos(angle) * x + jnp.sin(angle) * jnp.cross(axis, x) + (1 - jnp.cos(angle)) * jnp.dot(axis, x) * axis
    return jnp.where(turned, around, x + jnp.cross(vector, x))


def ba_residual(camera, x, weight, feature):
    seen = rotated(camera[:3], x - camera[3:6])
    flat = seen[:2] / seen[2]
    square = jnp.sum(flat**2)
    distorted = flat * (1 + camera[9] * square + camera[10] * square**2)
    return weight * (distorted * camera[6] + camera[7:9] - feature)


def ba(cameras, points, weights, features, camera_of, point_of):
    errors = jax.vmap(ba_residual)(cameras[camera_of], points[point_of], weights, features)
    return errors, 1 - weights**2


def ba_jacobian(cameras, points, weights, features, camera_of, point_of):
    blocks = jax.vmap(jax.jacrev(ba_residual, argnums=(0, 1, 2)))
    camera, point, weight = blocks(cameras[camera_of], points[point_of], weights, features)
    errors = jnp.concatenate([camera, point, weight[:, :, None]], axis=2)
    return errors, jax.vmap(jax.grad(lambda w: 1 - w**2))(weights)


def turns(angles):
    x, z, y = angles[:, 0], angles[:, 1], angles[:, 2]
    sx, cx, sy, cy, sz, cz = jnp.sin(x), jnp.cos(x), jnp.sin(y), jnp.cos(y), jnp.sin(z), jnp.cos(z)
    rows = [
        [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
        [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
        [-sy, cy * sx, cy * cx],
    ]
    found = jnp.zeros((len(angles), 4, 4)).at[:, 3, 3].set(1.0)
    return found.at[:, :3, :3].set(jnp.stack([jnp.stack(row, axis=1) for row in rows], axis=1))


def rotation(vector):
    angle = jnp.sqrt(jnp.sum(vector**2))
    x, y, z = vector / angle
    cross = jnp.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return jnp.eye(3) + jnp.sin(angle) * cross + (1 - jnp.cos(angle)) * (cross @ cross)


def surface(theta, parents, model):
    angles = jnp.zeros((len(parents), 3))
    for finger in range(5):
        first, free = 2 + 4 * finger, theta[6 + 4 * finger : 10 + 4 * finger]
        angles = angles.at[first, 0].set(free[0]).at[first, 1].set(free[1])
        angles = angles.at[first + 1, 0].set(free[2]).at[first + 2, 0].set(free[3])
    relatives = model["base_relatives"] @ turns(angles)
    absolutes = []
    for bone, parent in enumerate(parents):
        absolutes.append(relatives[bone] if parent < 0 else absolutes[parent] @ relatives[bone])
    transforms = jnp.stack(absolutes) @ model["inverse_base_absolutes"]
    skin = jnp.einsum("vb,bij,vj->vi", model["weights"], transforms[:, :3], model["base_positions"])
    return skin @ rotation(theta[:3]).T + theta[3:6]


def ht_residual(u, corners, point):
    return point - (u[0] * corners[0] + u[1] * corners[1] + (1 - u[0] - u[1]) * corners[2])


def ht(theta, us, parents, model, corners, points):
    vertices = surface(theta, parents, model)
    if us is None:
        return points - vertices[corners]
    return jax.vmap(ht_residual)(us, vertices[corners], points)


def ht_jacobian(theta, us, parents, model, corners, points):
    by_theta = jax.jacfwd(ht)(theta, us, parents, model, corners, points)
    if us is None:
        return by_theta
    by_u = jax.vmap(jax.jacfwd(ht_residual))(us, surface(theta, parents, model)[corners], points)
    return jnp.concatenate([by_u, by_theta], axis=2)


def bounded_while(condition, step, start):
    """A loop that reverse mode takes: of a fixed number of steps, of which the last do nothing."""

    def masked(carry, _):
        go = condition(carry)
        return jax.tree.map(lambda new, old: jnp.where(go, new, old), step(carry), carry), None

    return jax.lax.scan(masked, start, length=MOST)[0]


LOOPS = {"f": jax.lax.while_loop, "r": bounded_while}
MODES = {"f": jax.jacfwd, "r": jax.grad}


def norm(x):
    return jnp.sqrt(jnp.sum(x**2))


def argmin(function, gradient, start, loop=jax.lax.while_loop):
    def step(carry):
        _, x, value, slope, length, good = carry
        new = x - length * slope
        lower = function(new)
        lengthen = good == 10
        distance = jnp.sum((x - new) ** 2)  # compared as squares: a bounded loop goes on where the root has no slope
        going = (jnp.sum(slope**2) > SMALL**2) & (lengthen | (distance > SMALL**2))
        moves = going & ~lengthen & (lower < value)
        length = jnp.where(lengthen, 2 * length, jnp.where(lower < value, length, length / 2))
        x, value = jnp.where(moves, new, x), jnp.where(moves, lower, value)
        return going, x, value, jnp.where(moves, gradient(new), slope), length, jnp.where(moves, good + 1, 0)

    start = (jnp.array(True), start, function(start), gradient(start), jnp.array(SMALL), jnp.array(0))
    return loop(lambda carry: carry[0], step, start)[1]


def argmax(function, gradient, start, loop=jax.lax.while_loop):
    return argmin(lambda x: -function(x), lambda x: -gradient(x), start, loop)


def saddle(outer, inner):
    def f(x, y):
        return jnp.sum(x**2) - jnp.sum(y**2)

    def found(start):
        def highest(x):
            return f(x, argmax(lambda y: f(x, y), MODES[inner](lambda y: f(x, y)), start, LOOPS[outer]))

        x = argmin(highest, MODES[outer](highest), start)
        y = argmax(lambda y: f(x, y), MODES[outer](lambda y: f(x, y)), start)
        return jnp.concatenate([x, y])

    return jax.jit(found)


def particle(outer, inner):
    h = 0.1

    def potential(x, w):
        charges = [jnp.stack([10.0 + 0 * w, 10 - w]), jnp.array([10.0, 0.0])]
        return sum(1 / norm(x - charge) for charge in charges)

    def miss(w):
        def step(carry):
            x, speed = carry
            return x + h * speed, speed - h * MODES[inner](lambda y: potential(y, w[0]))(x)

        start = (jnp.array([0.0, 8.0]), jnp.array([0.75, 0.0]))
        x, speed = LOOPS[outer](lambda carry: (carry[0] + h * carry[1])[1] > 0, step, start)
        return (x[0] - x[1] / speed[1] * speed[0]) ** 2

    return jax.jit(lambda w: argmin(miss, MODES[outer](miss), jnp.stack([w]))[0])


def of_all_modes(evaluation):
    """The functions of an evaluation that are asked for in every mode."""
    return {a + b: evaluation(a, b) for a in MODES for b in MODES}


FUNCTIONS = {
    "hello": {"square": lambda x: x * x, "double": jax.grad(lambda x: x * x)},
    "lse": {"primal": jax.jit(lse), "gradient": jax.jit(jax.grad(lse))},
    "llsq": {
        "primal": partial(jax.jit, static_argnums=1)(llsq),
        "gradient": partial(jax.jit, static_argnums=1)(jax.grad(llsq)),
    },
    "ode": {
        "primal": partial(jax.jit, static_argnums=1)(ode),
        "gradient": partial(jax.jit, static_argnums=1)(jax.grad(lambda x, steps: ode(x, steps)[-1])),
    },
    "det": {"primal": jax.jit(det), "gradient": jax.jit(jax.grad(det))},
    "kmeans": {"cost": jax.jit(kmeans), "dir": jax.jit(kmeans_direction)},
    "gmm": {
        "objective": partial(jax.jit, static_argnums=(5, 6))(gmm),
        "jacobian": partial(jax.jit, static_argnums=(5, 6))(jax.grad(gmm, argnums=(0, 1, 2, 3))),
    },
    "lstm": {"objective": jax.jit(lstm), "jacobian": jax.jit(jax.grad(lstm, argnums=(0, 1)))},
    "ba": {"objective": jax.jit(ba), "jacobian": jax.jit(ba_jacobian)},
    "ht": {
        "objective": partial(jax.jit, static_argnums=2)(ht),
        "jacobian": partial(jax.jit, static_argnums=2)(ht_jacobian),
    },
    "saddle": of_all_modes(saddle),
    "particle": of_all_modes(particle),
}


def prepare(arguments):
    """JAX's arrays; numbers and tuples stay as they are."""
    return jax.tree.map(lambda x: jnp.asarray(x) if isinstance(x, np.ndarray) else x, arguments)


SIDE = Side("JAX", FUNCTIONS.__getitem__, prepare, jax.block_until_ready, lambda found: jax.tree.map(np.asarray, found))
