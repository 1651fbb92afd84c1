"""Programs that people write beside networks and matrices, once for arrays of any system.

Each takes the system's module of functions under NumPy's names, and its own `softmax` and `conv` by name; it returns
the function to differentiate.
"""

HEADS = 4


def forces(np, own):
    """The energy of atoms that repel and attract in pairs, which are listed by two indices."""

    def energy(x, i, j):
        inverse = 1.0 / np.sum((x[i] - x[j]) ** 2, 1)
        return np.sum(4.0 * (inverse**6 - inverse**3))

    return energy


def logsumexp(np, own):
    def loss(x):
        largest = np.max(x, 0)
        return largest + np.log(np.sum(np.exp(x - largest), 0))

    return loss


def attention(np, own):
    """Some heads over a sequence of rows."""

    def loss(query, key, value, x):
        def heads(weights):
            return np.swapaxes(np.reshape(x @ weights, (x.shape[0], HEADS, -1)), 0, 1)

        q, k, v = heads(query), heads(key), heads(value)
        weights = own["softmax"](q @ np.swapaxes(k, -1, -2) / k.shape[-1] ** 0.5)
        return np.sum((weights @ v) ** 2)

    return loss


def convolution(np, own):
    """Two layers of convolutions over a batch of pictures."""

    def loss(first, second, pictures):
        return np.sum(np.tanh(own["conv"](np.tanh(own["conv"](pictures, first)), second)) ** 2)

    return loss


def logistic(np, own):
    """The negative logarithm of the likelihood of labels ±1, with a weak prior."""

    def loss(weights, x, labels):
        return np.sum(np.log1p(np.exp(-labels * (x @ weights)))) + 0.5 * np.sum(weights**2)

    return loss


EVERYDAY = {
    "forces": forces,
    "logsumexp": logsumexp,
    "attention": attention,
    "convolution": convolution,
    "logistic": logistic,
}
MOVING = {"forces": (0,), "logsumexp": (0,), "attention": (0, 1, 2), "convolution": (0, 1)}
"""The arguments that gradients are taken in; the regression has a Hessian too, in the first."""
