"""Time SymPy's expressions as functions: `python -m tests.benchmarks.expressions [--rounds N]`.

The Hessian of an expression with 30 terms in four variables, at one point and at many: `primad.from_sympy` beside
SymPy's `lambdify` with NumPy, with and without common subexpressions taken out. Rounds are interleaved and the fastest
call of each side counts; the values must agree.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import sympy

import primad

POINTS = (1, 100, 10_000)
FACTORS: list[Callable[[Any], Any]] = [
    sympy.sin,
    sympy.cos,
    sympy.exp,
    sympy.tanh,
    lambda x: sympy.log(2 + x**2),
    lambda x: 1 / (1 + x**2),
]


def expression(terms: int = 30) -> tuple[Any, tuple[Any, ...]]:
    """Return a sum of products of powers and functions, and its variables."""
    choose = random.Random(0)
    variables = sympy.symbols("x:4")
    total = sympy.Integer(0)
    for _ in range(terms):
        a, b, c = (choose.choice(variables) for _ in range(3))
        factor = choose.choice(FACTORS)(a * b / 3 + choose.randint(1, 3) * c)
        number = sympy.Rational(choose.randint(1, 9), choose.randint(1, 9))
        total += number * factor * choose.choice([1, a ** choose.randint(1, 4), b * c])
    return total, variables


def fastest(sides: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the shortest time of a call of each side, in seconds."""
    times = dict.fromkeys(sides, float("inf"))
    for _ in range(rounds):
        for name, call in sides.items():
            start = time.perf_counter()
            call()
            times[name] = min(times[name], time.perf_counter() - start)
    return times


def main() -> None:
    """Print a table of times."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.expressions", description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    rounds = parser.parse_args().rounds
    formula, variables = expression()
    hessian = sympy.hessian(formula, variables)
    functions = {
        "from_sympy": primad.from_sympy(hessian, variables),
        "lambdify": sympy.lambdify(variables, hessian, "numpy"),
        "lambdify, cse=True": sympy.lambdify(variables, hessian, "numpy", cse=True),
    }
    for count in POINTS:
        columns = np.random.default_rng(0).uniform(0.1, 1.0, (4, count))
        point = list(columns if count > 1 else columns[:, 0])
        values = {name: np.asarray(function(*point)) for name, function in functions.items()}
        own = values["from_sympy"] if count == 1 else np.moveaxis(values["from_sympy"], 0, -1)
        for name in functions:
            if name != "from_sympy":
                np.testing.assert_allclose(own, values[name], rtol=1e-9, atol=1e-9, err_msg=name)
        sides = {name: partial(function, *point) for name, function in functions.items()}
        times = fastest(sides, rounds)
        shown = ", ".join(f"{name} {1e6 * t:.1f} µs ({t / times['from_sympy']:.1f}×)" for name, t in times.items())
        print(f"{count} points: {shown}")


if __name__ == "__main__":
    main()
