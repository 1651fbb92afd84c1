"""The determinant by expansion along rows, from the last row up; a minor that is met again is not computed again."""

from itertools import combinations

import numpy as np

import primad


def primal(matrix):
    n = len(matrix)
    minors = matrix[n - 1]
    place = {(column,): column for column in range(n)}
    for size in range(2, n + 1):
        chosen = list(combinations(range(n), size))
        rest = np.array([[place[columns[:j] + columns[j + 1 :]] for j in range(size)] for columns in chosen])
        signs = (-1.0) ** np.arange(size)
        minors = np.sum(signs * matrix[n - size][np.array(chosen)] * minors[rest], axis=1)
        place = {columns: i for i, columns in enumerate(chosen)}
    return minors[0]


FUNCTIONS = {"primal": primad.jit(primal), "gradient": primad.jit(primad.grad(primal))}
