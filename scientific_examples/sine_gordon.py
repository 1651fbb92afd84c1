"""A sine–Gordon equation in the unit ball of very many dimensions, with the exact Laplacian.

    Δu + sin u = f  in |x| < 1,    u = 0 on |x| = 1,

with f such that u = (1 − |x|²) Σ cᵢ sin(xᵢ + cos xᵢ₊₁ + xᵢ₊₁ cos xᵢ). The network is u = (1 − |x|²) N(z), z = Wᵀx, with
H units in its first layer. Of D directions only WᵀW matters: those of a factor R with RRᵀ = WᵀW, which are H, give

    ΔN = Σⱼ (d/ds)² N(z + s Rⱼ),    Δu = (1 − |x|²) ΔN − 4 z·∂N/∂z − 2 D N,

exactly. So the Laplacian that others estimate from random directions costs 130 passes in any number of dimensions.

Reference: the same Laplacian from all D directions; the exact f.
Reach: error 1e-12, seconds_per_step 1, seconds 120
Toy: error 1e-12
Published: 1 063 MB at 100 000 dimensions with 16 random directions (STDE, on a GPU)
"""

import time
import tracemalloc

import numpy as np

import primad
from primad import nn


def exact(x, c):
    """Return the solution."""
    return (1 - np.sum(x**2)) * np.sum(c * np.sin(x[:-1] + np.cos(x[1:]) + x[1:] * np.cos(x[:-1])))


def source(x, c):
    """Return Δu + sin u of the solution, derived by hand: its terms couple neighbours only."""
    a, b = x[:-1], x[1:]
    s = a + np.cos(b) + b * np.cos(a)
    s_a, s_b = 1 - b * np.sin(a), np.cos(a) - np.sin(b)
    s_aa, s_bb = -b * np.cos(a), -np.cos(b)
    inner = np.sum(c * np.sin(s))
    slope = np.sum(c * np.cos(s) * (a * s_a + b * s_b))
    bent = np.sum(c * (np.cos(s) * (s_aa + s_bb) - np.sin(s) * (s_a**2 + s_b**2)))
    r = 1 - np.sum(x**2)
    return r * bent - 4 * slope - 2 * x.size * inner + np.sin(r * inner)


def network(params, z):
    """Return N of the first layer's sums."""
    for weights in params[1:]:
        z = np.tanh(z) @ weights
    return z[0]


def plain(params, x):
    """Return u at one point."""
    return (1 - np.sum(x**2)) * network(params, x @ params[0])


def laplacian(params, root, x):
    """Return Δu and u at one point, from the directions of the factor."""
    z = x @ params[0]
    bent = primad.laplacian(lambda s: network(params, z + root @ s))(np.zeros(root.shape[1]))
    value, radial = primad.jvp(lambda z: network(params, z), (z,), (z,))
    inside = 1 - np.sum(x**2)
    return inside * bent - 4 * radial - 2 * x.size * value, inside * value


def factor(weights):
    """Return R with RRᵀ = WᵀW."""
    d, h = weights.shape
    return np.linalg.cholesky(weights.T @ weights) if d > h else weights.T


def squares(params, x, f):
    """Return the mean square of the residuals at points."""
    bent, value = primad.vmap(laplacian, (None, None, 0))(params, factor(params[0]), x)
    return np.mean((bent + np.sin(value) - f) ** 2)


def solve(toy=False, seed=0):
    """Return the error of the compressed Laplacian, the time and the memory of a step, and what to draw."""
    rng = np.random.default_rng(seed)
    errors, shown = [], []
    for dimension in (20, 100) if toy else (100, 1000, 10_000, 100_000):
        width, count = (16, 10) if toy else (128, 100)
        params = [rng.normal(size=(dimension, width)) / np.sqrt(dimension)]
        params += [nn.initializers.xavier_normal(rng, (width, m)) for m in (width, width, 1)]
        c = rng.normal(size=dimension - 1)
        x = rng.normal(size=(count, dimension))
        x *= (rng.random((count, 1)) ** (1 / dimension)) / np.linalg.norm(x, axis=1, keepdims=True)
        f = np.array([source(point, c) for point in x])
        step = primad.jit(primad.value_and_grad(squares))
        began = time.perf_counter()
        step(params, x, f)
        first = time.perf_counter() - began
        tracemalloc.start()
        step(params, x, f)
        memory = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        began = time.perf_counter()
        step(params, x, f)
        shown.append((dimension, time.perf_counter() - began, memory, first))
        if dimension <= 100:
            point, right = x[0], source(x[0], c)
            directly = primad.laplacian(plain, 1)(params, point)
            compressed = laplacian(params, factor(params[0]), point)[0]
            by_hand = primad.laplacian(exact)(point, c) + np.sin(exact(point, c))
            errors += [abs(compressed / directly - 1), abs(by_hand / right - 1)]
    _, seconds, memory, first = shown[-1]
    figures = {"seconds_per_step": seconds, "megabytes": memory, "first_call": first}
    return {"error": max(errors), **figures}, (shown,)


def draw(shown):
    """Draw the time and the memory of a step."""
    import matplotlib.pyplot as plt

    dimensions, seconds, memory, _ = zip(*shown, strict=True)
    _, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    left.loglog(dimensions, seconds, "o-")
    left.set(title="Seconds a step: loss and gradient", xlabel="dimensions")
    right.loglog(dimensions, memory, "o-", label="exact Laplacian, here")
    right.plot([1e5], [1063], "s", label="STDE, 16 random directions")
    right.set(title="Memory of a step, MB", xlabel="dimensions")
    right.legend(frameon=False)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
