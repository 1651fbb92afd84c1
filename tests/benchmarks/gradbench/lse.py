"""The logarithm of a sum of exponentials, by way of the largest."""

import numpy as np

import primad


def primal(x):
    largest = np.max(x)
    return largest + np.log(np.sum(np.exp(x - largest)))


FUNCTIONS = {"primal": primad.jit(primal), "gradient": primad.jit(primad.grad(primal))}
