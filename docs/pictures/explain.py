"""Draw the picture of docs/explain.md: `python docs/pictures/explain.py`."""

import itertools
from pathlib import Path

import numpy as np

import primad


def u(parameters, x):
    for weights, bias in parameters[:-1]:
        x = np.tanh(x @ weights + bias)
    weights, bias = parameters[-1]
    return (x @ weights + bias)[..., 0]


def laplacian(parameters, points):
    return primad.vmap(lambda x: np.trace(primad.hessian(lambda y: u(parameters, y))(x)))(points)


def network(*widths):
    rng = np.random.default_rng(0)
    pairs = itertools.pairwise(widths)
    return [(rng.normal(size=pair) / np.sqrt(pair[0]), np.zeros(pair[1])) for pair in pairs]


if __name__ == "__main__":
    points = np.random.default_rng(1).normal(size=(256, 100))
    explanation = primad.explain(laplacian, network(100, 64, 64, 64, 64, 1), points)
    explanation.save(Path(__file__).with_suffix(".svg"))
    print(explanation)
