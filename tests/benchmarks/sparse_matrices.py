"""Time sparse Jacobians and Hessians: `python -m tests.benchmarks.sparse_matrices [NAME…]`.

For each workload it prints, in processor time, how long it takes to record and find the entries, to colour, and to
compute them at the first and at a further point, with the number of entries and of directions. With CasADi installed,
it prints what that takes for Rosenbrock's function.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import primad
from primad.system.quantities import seconds

Function = Callable[[Any], Any]


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def brusselator(n: int) -> Function:
    """Return the right-hand side of two substances on a periodic grid of n × n points."""

    def slope(state: Any) -> Any:
        u, v = state.reshape(2, n, n)

        def spread(z: Any) -> Any:
            return 10.0 * n * n * (np.roll(z, 1, 0) + np.roll(z, -1, 0) + np.roll(z, 1, 1) + np.roll(z, -1, 1) - 4 * z)

        made = u * u * v
        return np.stack([1 + made - 4.4 * u + spread(u), 3.4 * u - made + spread(v)]).ravel()

    return slope


def banded(x: Any) -> Any:
    """Return a system of nine diagonals."""
    return sum([np.sin((k + 2) * np.pad(x, 4)[k : k + len(x)]) for k in range(9)])


def bundle(cameras: int, points: int, views: int) -> Function:
    """Return where points of a scene are in pictures: of a camera its turn, its place, and three of its lens."""
    rng = np.random.default_rng(0)
    camera, point = np.sort(rng.integers(cameras, size=views)), rng.integers(points, size=views)
    lens = np.array([0, 0, 0, 0, 0, -9.0, 500, 0, 0])

    def seen(x: Any) -> Any:
        of = x[: 9 * cameras].reshape(-1, 9)[camera] * 0.1 + lens
        place = x[9 * cameras :].reshape(-1, 3)[point]
        angle = np.sqrt(np.sum(of[:, :3] ** 2, axis=1, keepdims=True))
        axis, cos = of[:, :3] / angle, np.cos(angle)
        turned = place * cos + np.cross(axis, place) * np.sin(angle)
        turned = turned + axis * np.sum(axis * place, axis=1, keepdims=True) * (1 - cos) + of[:, 3:6]
        flat = -turned[:, :2] / turned[:, 2:]
        far = np.sum(flat**2, axis=1, keepdims=True)
        return (of[:, 6:7] * (1 + of[:, 7:8] * far + of[:, 8:9] * far**2) * flat).ravel()

    return seen


WORKLOADS: dict[str, tuple[Callable[..., Any], Function, int]] = {
    "rosenbrock 1e5": (primad.hessian, rosenbrock, 10**5),
    "rosenbrock 1e6": (primad.hessian, rosenbrock, 10**6),
    "brusselator 32": (primad.jacobian, brusselator(32), 2 * 32**2),
    "brusselator 256": (primad.jacobian, brusselator(256), 2 * 256**2),
    "banded 9072": (primad.jacobian, banded, 9072),
    "bundle 49": (primad.jacobian, bundle(49, 7776, 31843), 9 * 49 + 3 * 7776),
}
"""The matrix of a workload, its function, and how many unknowns it has."""


def spent(work: Callable[[], Any], times: int = 1) -> tuple[float, Any]:
    """Return the least processor time of something, and what it gave."""
    best, found = float("inf"), None
    for _ in range(times):
        start = time.process_time()
        found = work()
        best = min(best, time.process_time() - start)
    return best, found


def measured(name: str) -> str:
    """Return a line of the table."""
    matrix, function, size = WORKLOADS[name]
    rng = np.random.default_rng(0)
    of = matrix(function)
    find, lazy = spent(lambda: of(rng.normal(size=size)))
    more, pattern = spent(lazy.pattern)
    color, coloring = spent(lazy.coloring)
    first, _ = spent(lazy.sparse)
    points = iter(rng.normal(size=(6, size)))
    each, _ = spent(lambda: of(next(points)).sparse(), 6)
    parts = (find + more, color, first, each)
    return f"{name:16} {pattern.nnz:9} {coloring.directions:5} " + " ".join(f"{seconds(x):>9}" for x in parts)


def of_casadi(size: int) -> str:
    """Return what CasADi's sparse Hessian of Rosenbrock's function takes."""
    import casadi

    x = casadi.SX.sym("x", size)
    value = casadi.sum1(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    build, function = spent(lambda: casadi.Function("h", [x], [casadi.hessian(value, x)[0]]))
    points = iter(np.random.default_rng(0).normal(size=(6, size)))
    each, _ = spent(lambda: function(next(points)), 6)
    return f"casadi, {size}: built in {seconds(build)}, each {seconds(each)}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    names = parser.parse_args().names or list(WORKLOADS)
    print(f"{'':16} {'entries':>9} {'dir.':>5} {'find':>9} {'colour':>9} {'first':>9} {'each':>9}")
    for name in names:
        print(measured(name), flush=True)
    if importlib.util.find_spec("casadi"):
        print(of_casadi(10**5))


if __name__ == "__main__":
    main()
