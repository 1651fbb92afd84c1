"""The functions, written once for arrays of any system: each takes its module of functions by NumPy's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

Function = Callable[[Any], Any]


def rosenbrock(np: Any) -> Function:
    return lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def brusselator(np: Any, n: int) -> Function:
    """Return the right-hand side of two substances on a periodic grid of n × n points."""
    slope = reacting(np, n)
    return lambda state: slope(state, 3.4, 1.0, 10.0)


def reacting(np: Any, n: int) -> Callable[..., Any]:
    """Return the same as a function of the two rates and the diffusion too, numbers or arrays on the grid."""

    def slope(state: Any, rate: Any, supply: Any, diffusion: Any) -> Any:
        u, v = state.reshape(2, n, n)

        def spread(z: Any) -> Any:
            near = np.roll(z, 1, 0) + np.roll(z, -1, 0) + np.roll(z, 1, 1) + np.roll(z, -1, 1)
            return diffusion * n * n * (near - 4 * z)

        made = u * u * v
        return np.stack([supply + made - (rate + 1) * u + spread(u), rate * u - made + spread(v)]).ravel()

    return slope


def banded(np: Any) -> Function:
    """Return a system of nine diagonals."""
    return lambda x: sum([np.sin((k + 2) * np.pad(x, 4)[k : k + len(x)]) for k in range(9)])


def bundle(np: Any, cameras: int, points: int, views: int) -> Function:
    """Return where points of a scene are in pictures: of a camera its turn, its place, and three of its lens."""
    rng = numpy.random.default_rng(0)
    camera, point = numpy.sort(rng.integers(cameras, size=views)), rng.integers(points, size=views)
    lens = numpy.array([0, 0, 0, 0, 0, -9.0, 500, 0, 0])

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


def elastic(np: Any, n: int) -> Function:
    """Return the energy of a sheet of rubber, whose n × n points in the plane are the corners of triangles."""
    corners = numpy.arange(n * n).reshape(n, n)
    a, b, c, d = [corners[i : n - 1 + i, j : n - 1 + j].ravel() for i in (0, 1) for j in (0, 1)]
    cells = numpy.concatenate([numpy.stack([a, c, d], axis=1), numpy.stack([a, d, b], axis=1)])
    rest = numpy.stack(numpy.meshgrid(numpy.arange(n), numpy.arange(n), indexing="ij"), axis=-1).reshape(-1, 2) / n
    edges = rest[cells][:, 1:] - rest[cells][:, :1]
    inverse = numpy.linalg.inv(numpy.swapaxes(edges, 1, 2))

    def energy(x: Any) -> Any:
        places = (rest + 0.01 / n * x.reshape(-1, 2))[cells]
        stretch = np.swapaxes(places[:, 1:] - places[:, :1], 1, 2) @ inverse
        change = stretch[:, 0, 0] * stretch[:, 1, 1] - stretch[:, 0, 1] * stretch[:, 1, 0]
        return np.sum(0.5 * np.sum(stretch**2, axis=(1, 2)) - np.log(change) + 0.5 * np.log(change) ** 2)

    return energy


class SparseMatrix(NamedTuple):
    """A workload.

    Attributes:
        second: whether it is the Hessian, and not the Jacobian.
        make: module -> function.
        size: how many unknowns there are.
    """

    second: bool
    make: Callable[[Any], Function]
    size: int


MATRICES: dict[str, SparseMatrix] = {
    "rosenbrock 1e5": SparseMatrix(True, rosenbrock, 10**5),
    "rosenbrock 1e6": SparseMatrix(True, rosenbrock, 10**6),
    "brusselator 32": SparseMatrix(False, lambda np: brusselator(np, 32), 2 * 32**2),
    "brusselator 256": SparseMatrix(False, lambda np: brusselator(np, 256), 2 * 256**2),
    "banded 9072": SparseMatrix(False, banded, 9072),
    "elastic 60": SparseMatrix(True, lambda np: elastic(np, 60), 2 * 60**2),
    "bundle 49": SparseMatrix(False, lambda np: bundle(np, 49, 7776, 31843), 9 * 49 + 3 * 7776),
}
CONTROLLERS = {"predictive control 65": 20}
"""Steps of a course, whose cost takes unknowns by matrices that are arguments: their zeros count at a point only."""
PROGRAMS = {"luksan-vlcek 400": 400, "power flow 118": 118, "power flow 10000": 10_000}
"""Nonlinear programs, whose derivatives a solver waits for before it starts."""
NETWORKS = {"network 50": 50, "network 200": 200}
"""Species of reaction networks, of which the gradient in all rates is wanted."""
STIFF = {"stiff solve 32": 32, "stiff solve 128": 128, "stiff solve 256": 256}
"""Points along the sides of a square on which two substances react, until t = 11.5."""
FIELDS = {"stiff gradient 5": 5, "stiff gradient 8": 8, "stiff gradient 10": 10}
"""The same, of which the gradient in both rates and the diffusion at all points is wanted."""


def controlled(np: Any, steps: int) -> tuple[Callable[..., Any], Any]:
    """Return what a course costs, of increments, a slack variable and three numbers at each step, and its arguments."""
    rows = numpy.eye(5 + 3 * steps)

    def cost(z: Any, increments: Any, states: Any, weights: Any) -> Any:
        x = (states @ z).reshape(-1, 3)
        seen = np.sin(x[:, 0]) * x[:, 1] + np.exp(0.1 * x[:, 2]) * x[:, 0] * x[:, 1]
        return seen @ weights @ seen + np.sum((increments @ z) ** 2) + 1e4 * z[4] ** 2

    return cost, (numpy.sin(numpy.arange(1.0, len(rows) + 1)), rows[:4], rows[5:], numpy.eye(steps))


def network(np: Any, species: int) -> tuple[Callable[..., Any], Any, Any]:
    """Return the slope of a random network of reactions, rates and a start; its text has a line for each reaction."""
    rng = numpy.random.default_rng(0)
    lines, terms = ["def slope(t, y, k):"], [""] * species
    for j in range(4 * species):
        a, b, c, d = rng.choice(species, 4, replace=False)
        speed, made, used = [
            (f"k[{j}]*y[{a}]*y[{b}]", [c, d], [a, b]),
            (f"k[{j}]*y[{a}]", [b], [a]),
            (f"k[{j}]*y[{a}]**2", [b, c], [a, a]),
            (f"k[{j}]*y[{a}]/(0.5 + y[{a}])", [b], [a]),
        ][j % 4]
        lines.append(f"    r{j} = {speed}")
        for i in made:
            terms[i] += f" + r{j}"
        for i in used:
            terms[i] += f" - r{j}"
    lines += [f"    dy{i} ={each or ' 0.0*y[0]'}" for i, each in enumerate(terms)]
    names = ", ".join(f"dy{i}" for i in range(species))
    scope: dict[str, Any] = {"np": np}
    exec("\n".join([*lines, f"    return np.array([{names}])"]), scope)
    return scope["slope"], 10.0 ** rng.uniform(-3, 3, 4 * species), rng.dirichlet(numpy.ones(species))


def points_of(size: int) -> Any:
    """Return points at which a matrix is asked for, the same ones in all systems."""
    return numpy.random.default_rng(0).normal(size=(6, size))


def start_of(n: int) -> Any:
    """Return what the two substances are at the beginning."""
    x, y = numpy.meshgrid(numpy.arange(n) / n, numpy.arange(n) / n, indexing="ij")
    return numpy.stack([22 * (y * (1 - y)) ** 1.5, 27 * (x * (1 - x)) ** 1.5]).ravel()
