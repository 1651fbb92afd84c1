"""The workloads in primad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from functions import (
    CONTROLLERS,
    FIELDS,
    MATRICES,
    NETWORKS,
    PROGRAMS,
    STIFF,
    brusselator,
    controlled,
    network,
    points_of,
    reacting,
    start_of,
)
from scipy import integrate
from timing import MOST_DENSE, Measured, digest, spent, stiff_digest

import primad
import primad.numpy as pnp
from primad import optimize
from primad.integrate import solve_ivp
from tests.benchmarks.sparse import nonlinear_programs

NAME = "primad"


def matrix(name: str) -> Measured:
    """Measure how entries are found, coloured, and computed for the first time and at further points."""
    second, make, size = MATRICES[name]
    for small in (lambda x: np.roll(x, 1) * x * np.roll(x, -1), lambda x: np.append(np.sum(x**2), x[1:] * x[0])):
        primad.jacobian(small)(np.ones(40)).coloring()  # loads what a process loads once
    of, points = (primad.hessian if second else primad.jacobian)(make(np)), points_of(size)
    record, lazy = spent(lambda: of(points[0]))
    find, _ = spent(lazy.pattern)
    color, coloring = spent(lazy.coloring)
    first, found = spent(lazy.sparse)
    turns = iter(range(10**6))
    each, _ = spent(lambda: of(points[next(turns) % 6]).sparse(), 12)
    kept, _ = spent(lambda: of(points[next(turns) % 6]).sparse(out=found), 12)
    compiled = primad.jit(lambda x: of(x).sparse())
    compiled(points[0])
    jitted, at = spent(lambda: compiled(points[next(turns) % 6]), 12)
    copy, _ = spent(at.copy, 12)
    at = of(points[1]).sparse().tocoo()
    return {
        "entries": at.nnz, "directions": coloring.directions, "find": record + find, "colour": color, "first": first,
        "each": each, "out=": kept, "jit": jitted, "copy": copy, "digest": digest(*at.coords, at.data),
    }  # fmt: skip


def controller(name: str) -> Measured:
    """Measure the entries of a Hessian that may not be zero, everywhere and at a point, and what these take."""
    cost, given = controlled(np, CONTROLLERS[name])
    lazy = primad.hessian(cost)(*given)
    find, found = spent(lambda: lazy.pattern(local=True))
    lazy.sparse(local=True)
    each, _ = spent(lambda: primad.hessian(cost)(given[0] + 1, *given[1:]).sparse(local=True), 12)
    return {"entries": lazy.pattern().nnz, "local entries": found.nnz, "find": find, "each": each}


def program(name: str) -> Measured:
    """Measure what a solver waits for: until all was computed once, and each call of the derivatives."""
    make, size = nonlinear_programs.PROGRAMS[name]
    nonlinear_programs.built(nonlinear_programs.luksan_vlcek, 10)  # loads what a process loads once
    first, calls = nonlinear_programs.built(make, size)
    return {"first": first, **{each: nonlinear_programs.each(call) for each, call in calls.items()}}


def reaction_network(name: str) -> Measured:
    """Measure the gradient of a stiff solution in all rates, the first one and the next."""
    slope, rates, start = network(pnp, NETWORKS[name])

    def last(k: Any) -> Any:
        return np.sum(solve_ivp(slope, (0.0, 100.0), start, "RODAS4", t_eval=[100.0], args=(k,)).y[::2] ** 2)

    gradient = primad.grad(last)
    first, found = spent(lambda: gradient(rates))
    turns = iter(range(10))
    each, _ = spent(lambda: gradient(rates * (1 + 0.01 * next(turns))), 3)
    return {"first": first, "each": each, "digest": digest(0.0, np.arange(len(found)), found * rates)}


def stiff(name: str) -> Measured:
    """Measure a stiff solution, and that of a small system with a Jacobian that is written by hand, and a dense one."""
    n = STIFF[name]
    slope, start = brusselator(np, n), start_of(n)
    given = by_hand(n)

    def run(method: Callable[..., Any], **more: Any) -> Any:
        return method(lambda t, y: slope(y), (0.0, 11.5), start, "BDF", t_eval=[11.5], rtol=1e-6, atol=1e-6, **more)

    first, found = spent(lambda: run(optimize.solve_ivp))
    measured = {"each": first, "digest": stiff_digest(found.y)}
    if len(start) > MOST_DENSE:
        return measured
    measured["each"], _ = spent(lambda: run(optimize.solve_ivp), 2)
    measured["by hand"], other = spent(lambda: run(integrate.solve_ivp, jac=lambda t, y: given(y)), 2)
    matrix = primad.jit(lambda y: primad.jacobian(slope)(y)[:, :])
    measured["dense"], _ = spent(lambda: run(integrate.solve_ivp, jac=lambda t, y: matrix(y)))
    np.testing.assert_allclose(found.y, other.y, rtol=1e-3)
    return {"first": first, **measured}


def by_hand(n: int) -> Callable[[Any], Any]:
    """Return the Jacobian of the Brusselator, as SciPy's users write it."""
    from scipy import sparse

    ring = sparse.diags_array([1, 1, -2, 1, 1], offsets=[-n + 1, -1, 0, 1, n - 1], shape=(n, n))
    spread = 10.0 * n * n * (sparse.kron(ring, sparse.eye_array(n)) + sparse.kron(sparse.eye_array(n), ring))

    def jacobian(state: Any) -> Any:
        u, v = state.reshape(2, -1)
        uu, uv = sparse.diags_array(u * u), sparse.diags_array(2 * u * v)
        one = sparse.eye_array(n * n)
        return sparse.block_array([[spread + uv - 4.4 * one, uu], [3.4 * one - uv, spread - uu]], format="csc")

    return jacobian


def fields(name: str) -> Measured:
    """Measure the gradient of a stiff solution in fields of rates, and what differences would take."""
    n = FIELDS[name]
    slope, start = reacting(np, n), start_of(n)
    at = np.stack([np.full((n, n), 3.4), np.full((n, n), 1.0), np.full((n, n), 10.0)])

    def last(p: Any) -> Any:
        found = solve_ivp(lambda t, y, p: slope(y, *p), (0.0, 11.5), start, "RODAS4", t_eval=[11.5], args=(p,))
        return np.sum(found.y**2)

    gradient = primad.grad(last)
    first, found = spent(lambda: gradient(at))
    each, _ = spent(lambda: gradient(at * 1.001), 3)
    value, _ = spent(lambda: last(at), 3)
    return {
        "first": first, "each": each, "differences": value * (at.size + 1),
        "digest": digest(0.0, np.arange(at.size), found.ravel()),
    }  # fmt: skip


KINDS = {
    **dict.fromkeys(MATRICES, matrix), **dict.fromkeys(PROGRAMS, program), **dict.fromkeys(NETWORKS, reaction_network),
    **dict.fromkeys(STIFF, stiff), **dict.fromkeys(FIELDS, fields), **dict.fromkeys(CONTROLLERS, controller),
}  # fmt: skip
