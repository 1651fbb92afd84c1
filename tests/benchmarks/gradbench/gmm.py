"""The log-posterior of a mixture of normal distributions, with a Wishart prior of the inverse covariances QᵀQ."""

import math

import numpy as np
from scipy.special import multigammaln

import primad
import primad.numpy as pnp


def logsumexp(x):
    largest = np.max(x, axis=-1, keepdims=True)
    return np.squeeze(largest, -1) + np.log(np.sum(np.exp(x - largest), axis=-1))


def wishart(q, lower, gamma, m):
    k, d = q.shape
    n = d + m + 1
    constant = n * d * math.log(gamma / math.sqrt(2)) - multigammaln(n / 2, d)
    squares = np.sum(np.exp(2 * q)) + np.sum(lower**2)
    return k * constant - gamma**2 / 2 * squares + m * np.sum(q)


def objective(alpha, mu, q, lower, x, gamma, m):
    (n, d), k = x.shape, len(alpha)
    columns, rows = np.triu_indices(d, 1)
    factors = pnp.zeros((k, d, d))
    factors[:, rows, columns] = lower
    factors[:, np.arange(d), np.arange(d)] = np.exp(q)
    centred = x[:, None, :] - mu
    spread = np.einsum("kij,nkj->nki", factors, centred)
    terms = alpha + np.sum(q, axis=1) - np.sum(spread**2, axis=2) / 2
    likelihood = np.sum(logsumexp(terms)) - n * logsumexp(alpha) - n * d / 2 * math.log(2 * math.pi)
    return likelihood + wishart(q, lower, gamma, m)


FUNCTIONS = {
    "objective": primad.jit(objective, static_argnums=(5, 6)),
    "jacobian": primad.jit(primad.grad(objective, argnums=(0, 1, 2, 3)), static_argnums=(5, 6)),
}
