"""Small functions that plain gradients are taken of, call by call, once for arrays of any system.

Each takes the system's module of functions under NumPy's names and returns the function to differentiate, of one array.
"""


def valley(np):
    return lambda x: np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def likelihood(np):
    return lambda x: np.sum(np.log(1.0 + np.exp(-x))) + 0.5 * np.dot(x, x)


def softmax(np):
    def loss(x):
        e = np.exp(x - np.max(x))
        return -np.log(e[0] / np.sum(e))

    return loss


def normalized(np):
    return lambda x: np.sum(((x - np.mean(x)) / np.std(x)) ** 3)


def layer(np):
    def loss(x):
        weights, rest = np.reshape(x[:6], (2, 3)), x[6:]
        return np.sum(np.tanh(np.dot(weights, rest[:3])) ** 2)

    return loss


def rolled(np):
    return lambda x: np.sum((np.roll(x, 1) - 2.0 * x + np.roll(x, -1)) ** 2)


def quadratic(np):
    def loss(x):
        a = np.outer(x, x) + np.eye(10)
        return np.dot(x, np.dot(a, x))

    return loss


def angles(np):
    return lambda x: np.sum(np.arctan2(x[1:], x[:-1]))


def lengths(np):
    return lambda x: np.sum(np.sqrt(x[:5] ** 2 + x[5:] ** 2))


def pieces(np):
    return lambda x: np.sum(np.where(x > 0.5, x**2, np.sin(x)))


def clipped(np):
    return lambda x: np.sum(np.minimum(np.maximum(x, 0.2), 0.8) ** 2)


def matrix(np):
    return lambda x: np.linalg.det(np.reshape(x[:9], (3, 3)) + np.eye(3))


def solved(np):
    return lambda x: np.sum(np.linalg.solve(np.reshape(x[:9], (3, 3)) + 3.0 * np.eye(3), x[:3]))


def stacked(np):
    return lambda x: np.sum(np.concatenate([np.sin(x), np.cos(x)]) * np.concatenate([x, x]))


def running(np):
    return lambda x: np.sum(np.cumsum(x) ** 2)


def polynomial(np):
    def loss(x):
        total = 0.0
        for k in range(10):
            total = total * 0.5 + x[k]
        return total**2

    return loss


def distances(np):
    return lambda x: np.sum(np.exp(-((x[:, None] - x[None, :]) ** 2)))


def entropy(np):
    return lambda x: -np.sum(np.abs(x) * np.log(np.abs(x) + 0.1))


def single(np):
    return lambda x: np.sin(x[0]) * x[1]


def absolute(np):
    return lambda x: np.sum(np.abs(x) / (1.0 + np.abs(x)))


def powers(np):
    return lambda x: np.prod(1.0 + x**2)


SMALL = {
    function.__name__: function
    for function in (
        valley, likelihood, softmax, normalized, layer, rolled, quadratic, angles, lengths, pieces, clipped, matrix,
        solved, stacked, running, polynomial, distances, entropy, single, absolute, powers,
    )
}  # fmt: skip
"""Each by its name, which is the kind of its workload."""
