"""Nonlinear programs, as Ipopt asks for them, which itself is not needed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import NonlinearConstraint
from scipy.spatial import Delaunay

from primad.optimize import NonlinearProgram


def luksan_vlcek(n: int) -> NonlinearProgram:
    """Return a problem of Lukšan and Vlček (1999), which has a solution for every size."""

    def objective(x: Any) -> Any:
        return np.sum(100 * (x[:-1] ** 2 - x[1:]) ** 2 + (x[:-1] - 1) ** 2)

    def equations(x: Any) -> Any:
        a, b, c = x[:-2], x[1:-1], x[2:]
        return 3 * b**3 + 2 * c - 5 + np.sin(b - c) * np.sin(b + c) + 4 * b - a * np.exp(a - b) - 3

    start = np.where(np.arange(n) % 2 == 0, -1.2, 1.0)
    return NonlinearProgram(objective, start, constraints={"type": "eq", "fun": equations})


def power_flow(buses: int) -> NonlinearProgram:
    """Return an optimal power flow: of each bus an angle and a voltage, of each plant two powers; limits of lines."""
    rng = np.random.default_rng(7)
    places, plants, lines = rng.uniform(size=(buses, 2)), buses * 3 // 10, buses * 7 // 5
    triangles = Delaunay(places).simplices
    pairs = np.unique(np.sort(np.concatenate([triangles[:, [i, i - 1]] for i in range(3)]), axis=1), axis=0)
    length = np.linalg.norm(places[pairs[:, 0]] - places[pairs[:, 1]], axis=1)
    near = np.argsort(length)[:lines]
    first, last = (sparse.eye_array(buses, format="csr")[end] for end in pairs[near].T)
    admittance = 1 / ((0.02 + 0.1j) * (0.2 + np.sqrt(buses) * length[near]))
    drawn = sparse.csr_array(sparse.diags_array(admittance) @ (first - last))
    Y = sparse.csr_array((first - last).T @ drawn + 0.02j * sparse.eye_array(buses))
    demand, cost = rng.uniform(0.1, 0.6, buses) * (1 + 0.3j), rng.uniform(10, 40, plants)

    def price(x: Any) -> Any:
        return np.sum(cost * x["p"] + 5 * x["p"] ** 2)

    def balance(x: Any) -> Any:
        voltage = x["v"] * np.exp(1j * x["theta"])
        found = voltage * np.conj(Y @ voltage) + demand
        p, q = (np.pad(x[name], (0, buses - plants)) for name in "pq")
        return {"p": found.real - p, "q": found.imag - q}

    def loads(x: Any) -> Any:
        voltage = x["v"] * np.exp(1j * x["theta"])
        return np.abs((first @ voltage) * (drawn @ voltage)) ** 2

    start = {"theta": np.zeros(buses), "v": np.ones(buses), "p": np.full(plants, 1.0), "q": np.zeros(plants)}
    limits = [NonlinearConstraint(balance, 0.0, 0.0), NonlinearConstraint(loads, -np.inf, 1.0)]
    return NonlinearProgram(price, start, constraints=limits)


PROGRAMS: dict[str, tuple[Callable[[int], NonlinearProgram], int]] = {
    "luksan-vlcek 400": (luksan_vlcek, 400),
    "power flow 118": (power_flow, 118),
    "power flow 10000": (power_flow, 10_000),
}
"""A program of each name, and its size."""


def each(work: Callable[[], Any]) -> float:
    """Return the processor time of a call, the least of five means."""
    begin, count = time.process_time(), 0
    while time.process_time() - begin < 0.05:
        work()
        count += 1
    best = float("inf")
    for _ in range(5):
        begin = time.process_time()
        for _ in range(count):
            work()
        best = min(best, (time.process_time() - begin) / count)
    return best


def built(make: Callable[[int], NonlinearProgram], size: int) -> tuple[float, dict[str, Callable[[], Any]]]:
    """Return the processor time until all values and derivatives were computed once, and what computes them again."""
    begin = time.process_time()
    program = make(size)
    x, weights = program.start, np.ones(program.constraint_lower.size)
    calls = {
        "objective": lambda: program.objective(x), "gradient": lambda: program.gradient(x),
        "constraints": lambda: program.constraints(x), "jacobian": lambda: program.jacobian(x),
        "hessian": lambda: program.hessian(x, weights, 1.0),
    }  # fmt: skip
    for call in calls.values():
        call()
    return time.process_time() - begin, calls
