"""The evaluations in PyTorch, as its users would write them."""

import math
from functools import cache
from itertools import combinations, pairwise

import numpy as np
import torch
from scipy.special import multigammaln
from torch.func import grad, jacfwd, jacrev, jvp, vmap

from .tool import Side

SMALL = 1e-5
torch.set_default_dtype(torch.float64)


def gradient(function, argnums=(0,)):
    """What computes a function's gradient by a backward pass."""

    def found(*arguments):
        inputs = [x.detach().requires_grad_() if i in argnums else x for i, x in enumerate(arguments)]
        slopes = torch.autograd.grad(function(*inputs), [inputs[i] for i in argnums])
        return slopes if len(argnums) > 1 else slopes[0]

    return found


def lse(x):
    largest = torch.max(x)
    return largest + torch.log(torch.sum(torch.exp(x - largest)))


def llsq(x, n):
    t = torch.linspace(-1.0, 1.0, n)
    value = torch.zeros(n)
    for coefficient in reversed(x.unbind()):
        value = value * t + coefficient
    return torch.sum((torch.sign(t) - value) ** 2) / 2


def ode(x, steps):
    h = 2.0 / steps

    def slope(y):
        return torch.cat([x[:1], x[1:] * y[:-1]])

    y = torch.zeros(len(x))
    for _ in range(steps):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def det(matrix):
    n = len(matrix)
    minors = matrix[n - 1]
    for size, (chosen, rest, signs) in enumerate(tables(n), start=2):
        minors = torch.sum(signs * matrix[n - size][chosen] * minors[rest], dim=1)
    return minors[0]


@cache
def tables(n):
    """Which columns each minor has, where the minors without one of them stand, and their signs: made once."""
    place, found = {(column,): column for column in range(n)}, []
    for size in range(2, n + 1):
        chosen = list(combinations(range(n), size))
        rest = [[place[columns[:j] + columns[j + 1 :]] for j in range(size)] for columns in chosen]
        found.append((torch.tensor(chosen), torch.tensor(rest), (-1.0) ** torch.arange(size)))
        place = {columns: i for i, columns in enumerate(chosen)}
    return found


def kmeans(points, centroids):
    squares = torch.sum(points**2, 1)[:, None] + torch.sum(centroids**2, 1)
    return torch.sum(torch.min(squares - 2 * points @ centroids.T, 1).values)


def kmeans_direction(points, centroids):
    centroids = centroids.detach().requires_grad_()
    (slope,) = torch.autograd.grad(kmeans(points, centroids), centroids, create_graph=True)
    (diagonal,) = torch.autograd.grad(slope.sum(), centroids)
    return slope.detach() / diagonal


def gmm(alpha, mu, q, lower, x, gamma, m):
    (n, d), k = x.shape, len(alpha)
    columns, rows = np.triu_indices(d, 1)
    factors = torch.zeros((k, d, d))
    factors[:, rows, columns] = lower
    factors[:, range(d), range(d)] = torch.exp(q)
    spread = torch.einsum("kij,nkj->nki", factors, x[:, None, :] - mu)
    terms = alpha + torch.sum(q, 1) - torch.sum(spread**2, 2) / 2
    likelihood = torch.sum(torch.logsumexp(terms, 1)) - n * torch.logsumexp(alpha, 0)
    freedom = d + m + 1
    constant = freedom * d * math.log(gamma / math.sqrt(2)) - multigammaln(freedom / 2, d)
    squares = torch.sum(torch.exp(2 * q)) + torch.sum(lower**2)
    return likelihood - n * d / 2 * math.log(2 * math.pi) + k * constant - gamma**2 / 2 * squares + m * torch.sum(q)


def lstm_layer(weights, biases, hidden, cell, x):
    forget = torch.sigmoid(x * weights[0] + biases[0])
    ingate = torch.sigmoid(hidden * weights[1] + biases[1])
    outgate = torch.sigmoid(x * weights[2] + biases[2])
    change = torch.tanh(hidden * weights[3] + biases[3])
    cell = cell * forget + ingate * change
    return outgate * torch.tanh(cell), cell


def lstm(main, extra, state, sequence):
    count, bits = sequence.shape
    parameters = torch.reshape(main, (-1, 2, 4, bits))
    states = [(state[i], state[i + 1]) for i in range(0, len(state), 2)]
    total = 0.0
    for x, target in pairwise(sequence):
        x = x * extra[0]
        after = []
        for (weights, biases), (hidden, cell) in zip(parameters, states, strict=True):
            x, cell = lstm_layer(weights, biases, hidden, cell, x)
            after.append((x, cell))
        states = after
        predicted = x * extra[1] + extra[2]
        total = total + torch.sum(target * (predicted - torch.log(torch.sum(torch.exp(predicted)) + 2)))
    return -total / ((count - 1) * bits)


def rotated(vector, x):
    square = torch.sum(vector**2)
    turned = square > 0
    angle = torch.sqrt(torch.where(turned, square, 1.0))
    axis = vector / angle
    crossed = torch.linalg.cross(axis, x)
    around = torch.cos(angle) * x + torch.sin(angle) * crossed + (1 - torch.cos(angle)) * torch.sum(axis * x) * axis
    return torch.where(turned, around, x + torch.linalg.cross(vector, x))


def ba_residual(camera, x, weight, feature):
    seen = rotated(camera[:3], x - camera[3:6])
    flat = seen[:2] / seen[2]
    square = torch.sum(flat**2)
    distorted = flat * (1 + camera[9] * square + camera[10] * square**2)
    return weight * (distorted * camera[6] + camera[7:9] - feature)


def ba(cameras, points, weights, features, camera_of, point_of):
    errors = vmap(ba_residual)(cameras[camera_of], points[point_of], weights, features)
    return errors, 1 - weights**2


def ba_jacobian(cameras, points, weights, features, camera_of, point_of):
    blocks = vmap(jacrev(ba_residual, argnums=(0, 1, 2)))
    camera, point, weight = blocks(cameras[camera_of], points[point_of], weights, features)
    return torch.cat([camera, point, weight[:, :, None]], 2), vmap(grad(lambda w: 1 - w**2))(weights)


def turns(angles):
    x, z, y = angles.T
    sx, cx, sy, cy, sz, cz = torch.sin(x), torch.cos(x), torch.sin(y), torch.cos(y), torch.sin(z), torch.cos(z)
    zero, one = torch.zeros_like(x), torch.ones_like(x)
    rows = [
        [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx, zero],
        [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx, zero],
        [-sy, cy * sx, cy * cx, zero],
        [zero, zero, zero, one],
    ]
    return torch.stack([torch.stack(row, 1) for row in rows], 1)


def rotation(vector):
    angle = torch.sqrt(torch.sum(vector**2))
    x, y, z = vector / angle
    zero = torch.zeros_like(x)
    cross = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero]).reshape(3, 3)
    return torch.eye(3) + torch.sin(angle) * cross + (1 - torch.cos(angle)) * (cross @ cross)


def surface(theta, parents, model):
    zero = torch.zeros_like(theta[0])
    angles = [[zero, zero, zero] for _ in parents]
    for finger in range(5):
        first, free = 2 + 4 * finger, theta[6 + 4 * finger : 10 + 4 * finger]
        angles[first][:2], angles[first + 1][0], angles[first + 2][0] = [free[0], free[1]], free[2], free[3]
    relatives = model["base_relatives"] @ turns(torch.stack([torch.stack(three) for three in angles]))
    absolutes = []
    for bone, parent in enumerate(parents):
        absolutes.append(relatives[bone] if parent < 0 else absolutes[parent] @ relatives[bone])
    transforms = torch.stack(absolutes) @ model["inverse_base_absolutes"]
    skin = torch.einsum("vb,bij,vj->vi", model["weights"], transforms[:, :3], model["base_positions"])
    return skin @ rotation(theta[:3]).T + theta[3:6]


def ht_residual(u, corners, point):
    return point - (u[0] * corners[0] + u[1] * corners[1] + (1 - u[0] - u[1]) * corners[2])


def ht(theta, us, parents, model, corners, points):
    vertices = surface(theta, parents, model)
    if us is None:
        return points - vertices[corners]
    return vmap(ht_residual)(us, vertices[corners], points)


def ht_jacobian(theta, us, parents, model, corners, points):
    by_theta = jacfwd(ht)(theta, us, parents, model, corners, points)
    if us is None:
        return by_theta
    by_u = vmap(jacfwd(ht_residual))(us, surface(theta, parents, model)[corners], points)
    return torch.cat([by_u, by_theta], 2)


def forward(function):
    """The gradient by a forward pass for each element."""
    return lambda x: torch.stack([jvp(function, (x,), (unit,))[1] for unit in torch.eye(len(x))])


MODES = {"f": forward, "r": grad}


def argmin(function, slope_of, x):
    value, slope, length, good = function(x), slope_of(x), SMALL, 0
    while torch.linalg.norm(slope) > SMALL:
        if good == 10:
            length, good = 2 * length, 0
            continue
        new = x - length * slope
        if torch.linalg.norm(x - new) <= SMALL:
            break
        lower = function(new)
        if lower < value:
            x, value, slope, good = new, lower, slope_of(new), good + 1
        else:
            length, good = length / 2, 0
    return x


def argmax(function, slope_of, x):
    return argmin(lambda y: -function(y), lambda y: -slope_of(y), x)


def saddle(outer, inner):
    def f(x, y):
        return torch.sum(x**2) - torch.sum(y**2)

    def found(start):
        def highest(x):
            return f(x, argmax(lambda y: f(x, y), MODES[inner](lambda y: f(x, y)), start))

        x = argmin(highest, MODES[outer](highest), start)
        y = argmax(lambda y: f(x, y), MODES[outer](lambda y: f(x, y)), start)
        return torch.cat([x, y])

    return found


def particle(outer, inner):
    h = 0.1

    def potential(x, w):
        charges = [torch.stack([10.0 + 0 * w, 10 - w]), torch.tensor([10.0, 0.0])]
        return sum(1 / torch.linalg.norm(x - charge) for charge in charges)

    def miss(w):
        x, speed = torch.tensor([0.0, 8.0]), torch.tensor([0.75, 0.0])
        while (x + h * speed)[1] > 0:
            x, speed = x + h * speed, speed - h * MODES[inner](lambda y: potential(y, w[0]))(x)
        return (x[0] - x[1] / speed[1] * speed[0]) ** 2

    return lambda w: argmin(miss, MODES[outer](miss), w.reshape(1))[0]


def of_all_modes(evaluation):
    """The functions of an evaluation that are asked for in every mode."""
    return {a + b: evaluation(a, b) for a in MODES for b in MODES}


FUNCTIONS = {
    "hello": {"square": lambda x: x * x, "double": lambda x: gradient(lambda y: y * y)(torch.tensor(x))},
    "lse": {"primal": lse, "gradient": gradient(lse)},
    "llsq": {"primal": llsq, "gradient": gradient(llsq)},
    "ode": {"primal": ode, "gradient": gradient(lambda x, steps: ode(x, steps)[-1])},
    "det": {"primal": det, "gradient": gradient(det)},
    "kmeans": {"cost": kmeans, "dir": kmeans_direction},
    "gmm": {"objective": gmm, "jacobian": gradient(gmm, (0, 1, 2, 3))},
    "lstm": {"objective": lstm, "jacobian": gradient(lstm, (0, 1))},
    "ba": {"objective": ba, "jacobian": ba_jacobian},
    "ht": {"objective": ht, "jacobian": ht_jacobian},
    "saddle": of_all_modes(saddle),
    "particle": of_all_modes(particle),
}


def mapped(function, value):
    """The function of every array of tuples and dicts; what else there is stays as it is."""
    if isinstance(value, dict):
        return {name: mapped(function, item) for name, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(mapped(function, item) for item in value)
    return function(value) if isinstance(value, (np.ndarray, torch.Tensor)) else value


SIDE = Side(
    "PyTorch",
    FUNCTIONS.__getitem__,
    lambda arguments: mapped(torch.from_numpy, arguments),
    to_numpy=lambda found: mapped(lambda x: x.detach().numpy(), found),
)
