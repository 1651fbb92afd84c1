"""The biharmonic operator in five dimensions, and how many passes through a network it costs.

    Δ²u = Σᵢⱼ ∂⁴u / ∂xᵢ² ∂xⱼ²

Written as the Laplacian of the Laplacian it is collapsed twice; as a sum of fifteen derivatives, by
`primad.pde.biharmonic`,
each mixed one is taken once. The passes are counted in matrix products.

Reference: the exact operator on a sum of sines; the count.
Reach: error 1e-10, streams 50, seconds 30
Toy: error 1e-10, streams 50
Published: 109 passes with collapsed Taylor mode, 49 nested in JAX
"""

import time
from itertools import pairwise

import numpy as np

import primad
from primad import nn, pde

NAMES = "x1 x2 x3 x4 x5"


def network(params):
    """Return a network of the five coordinates."""

    def u(*x):
        a = np.stack(x)
        for weights in params[:-1]:
            a = np.tanh(a @ weights)
        return (a @ params[-1])[0]

    return u


def waves(*x):
    """Return a function whose biharmonic is known."""
    return np.sin(sum((i + 1) * each for i, each in enumerate(x)))


def operator(params, points):
    """Return Δ²u of the network at points."""
    return pde.biharmonic(pde.Field(network(params), NAMES).on(points))


def solve(toy=False, seed=0):
    """Return the error, the passes and the time, and what to draw."""
    rng = np.random.default_rng(seed)
    sizes = [5, 16, 16, 1] if toy else [5, 256, 256, 128, 1]
    params = [nn.initializers.xavier_normal(rng, (n, m)) for n, m in pairwise(sizes)]
    points = rng.uniform(-1, 1, (8 if toy else 64, 5))

    found = pde.biharmonic(pde.Field(waves, NAMES).on(points))
    right = 55.0**2 * waves(*points.T)

    def cost(function):
        return primad.simplify(primad.lower(primad.trace(function)(params, points))).cost().matmul_flops

    plain = cost(lambda params, points: pde.Field(network(params), NAMES).on(points).value)
    nested = primad.vmap(
        lambda params, point: primad.laplacian(primad.laplacian(lambda x: network(params)(*x)))(point), (None, 0)
    )
    streams = {"fifteen derivatives": cost(operator) / plain, "Laplacian twice": cost(nested) / plain}
    compiled = primad.jit(operator)
    compiled(params, points)
    began = time.perf_counter()
    values = compiled(params, points)
    figures = {
        "error": np.max(np.abs(found - right)) / np.max(np.abs(right)),
        "streams": streams["Laplacian twice"],
        "streams_of_derivatives": streams["fifteen derivatives"],
        "nested_difference": np.max(np.abs(values - nested(params, points))) / np.max(np.abs(values)),
        "seconds_per_call": time.perf_counter() - began,
    }
    return figures, ({**streams, "nested in JAX": 49, "collapsed Taylor mode": 109},)


def draw(streams):
    """Draw the counts."""
    import matplotlib.pyplot as plt

    plt.figure(figsize=(7, 3))
    bars = plt.barh(list(streams), list(streams.values()), color=["C0", "C0", "C7", "C7"])
    plt.bar_label(bars, fmt="%.0f")
    plt.gca().set(title="Biharmonic in five dimensions", xlabel="passes through the network", xlim=(0, 120))
    plt.gca().invert_yaxis()


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
