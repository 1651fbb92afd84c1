"""The workloads in CasADi: graphs of scalars, in its virtual machine."""

from __future__ import annotations

from typing import Any

import casadi
import numpy as np
from functions import MATRICES, PROGRAMS, points_of
from timing import Measured, digest, spent

NAME = f"CasADi {casadi.__version__}"


def rosenbrock(x: Any) -> Any:
    return casadi.sum1(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def brusselator(x: Any, n: int) -> Any:
    """Arrays of CasADi have columns first: the grid is transposed, which changes nothing here."""
    u, v = casadi.reshape(x[: n * n], n, n), casadi.reshape(x[n * n :], n, n)

    def spread(z: Any) -> Any:
        down, up = casadi.vertcat(z[-1, :], z[:-1, :]), casadi.vertcat(z[1:, :], z[0, :])
        right, left = casadi.horzcat(z[:, -1], z[:, :-1]), casadi.horzcat(z[:, 1:], z[:, 0])
        return 10.0 * n * n * (down + up + right + left - 4 * z)

    made = u * u * v
    return casadi.vertcat(casadi.vec(1 + made - 4.4 * u + spread(u)), casadi.vec(3.4 * u - made + spread(v)))


def banded(x: Any) -> Any:
    wide = casadi.vertcat(casadi.SX(4, 1), x, casadi.SX(4, 1))
    return sum([casadi.sin((k + 2) * wide[k : k + x.numel()]) for k in range(9)])


WRITTEN = {
    "rosenbrock 1e5": rosenbrock,
    "brusselator 32": lambda x: brusselator(x, 32),
    "banded 9072": banded,
}


def matrix(name: str) -> Measured:
    """Measure how the function of the entries is built, and how it is called with and without allocating results."""
    second, _, size = MATRICES[name]

    def built() -> Any:
        x = casadi.SX.sym("x", size)
        value = WRITTEN[name](x)
        return casadi.Function("m", [x], [casadi.hessian(value, x)[0] if second else casadi.jacobian(value, x)])

    first, function = spent(built)
    points = points_of(size)
    turns = iter(range(100))
    each, _ = spent(lambda: function(points[next(turns) % 6]), 12)
    places = function.sparsity_out(0)
    rows, columns = np.array(places.row()), np.repeat(np.arange(size), np.diff(places.colind()))
    buffer, trigger = function.buffer()
    data, point = np.zeros(places.nnz()), points[1].copy()
    buffer.set_arg(0, memoryview(point))
    buffer.set_res(0, memoryview(data))
    raw, _ = spent(trigger, 12)
    return {"entries": len(rows), "first": first, "each": each, "out=": raw, "digest": digest(rows, columns, data)}


def program(name: str) -> Measured:
    """Measure until objective, constraints and all derivatives of a nonlinear program were computed once."""
    size = PROGRAMS[name]
    start = np.where(np.arange(size) % 2 == 0, -1.2, 1.0)

    def built() -> Any:
        x, weights = casadi.SX.sym("x", size), casadi.SX.sym("w", size - 2)
        value = casadi.sum1(100 * (x[:-1] ** 2 - x[1:]) ** 2 + (x[:-1] - 1) ** 2)
        a, b, c = x[:-2], x[1:-1], x[2:]
        rows = 3 * b**3 + 2 * c - 5 + casadi.sin(b - c) * casadi.sin(b + c) + 4 * b - a * casadi.exp(a - b) - 3
        lagrangian = casadi.hessian(value + casadi.dot(weights, rows), x)[0]
        outputs = [value, casadi.gradient(value, x), rows, casadi.jacobian(rows, x)]
        plain, hessian = casadi.Function("p", [x], outputs), casadi.Function("h", [x, weights], [lagrangian])
        plain(start)
        hessian(start, np.ones(size - 2))
        return hessian

    first, hessian = spent(built)
    each, _ = spent(lambda: hessian(start, np.ones(size - 2)), 12)
    return {"first": first, "hessian": each}


KINDS = {**dict.fromkeys(WRITTEN, matrix), "luksan-vlcek 400": program}
