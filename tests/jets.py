"""Truncated Taylor series in several variables: what nested derivatives are, computed without differentiating."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

ORDER = 3
Table = Callable[[int, int, float, float], float]
"""(i, j, x, y) -> what a function of two variables says its derivative of order i in x and j in y is."""


class Jet:
    """A polynomial of degree `ORDER` in small changes of the inputs: coefficients by exponents."""

    def __init__(self, terms: dict[tuple[int, ...], float]) -> None:
        self.terms = terms

    @staticmethod
    def point(x: Any) -> Any:
        """Return the inputs at a point as an array of jets."""
        units = np.eye(len(x), dtype=int)
        zero = (0,) * len(x)
        jets = [Jet({zero: float(value), tuple(unit.tolist()): 1.0}) for value, unit in zip(x, units, strict=True)]
        return np.array(jets, object)

    @property
    def value(self) -> float:
        return next((c for e, c in self.terms.items() if not any(e)), 0.0)

    def derivatives(self, order: int, n: int) -> Any:
        """Return all partial derivatives of one order, as an array with that many axes."""
        found = np.zeros((n,) * order)
        for index in itertools.product(range(n), repeat=order):
            exponents = tuple(index.count(i) for i in range(n))
            found[index] = self.terms.get(exponents, 0.0) * math.prod(map(math.factorial, exponents))
        return found

    def __add__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            other = Jet(dict.fromkeys([tuple([0] * len(next(iter(self.terms))))], float(other)))
        return Jet({e: self.terms.get(e, 0.0) + other.terms.get(e, 0.0) for e in {*self.terms, *other.terms}})

    def __mul__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return Jet({e: c * float(other) for e, c in self.terms.items()})
        terms: dict[tuple[int, ...], float] = {}
        for (e, c), (f, d) in itertools.product(self.terms.items(), other.terms.items()):
            g = tuple(map(sum, zip(e, f, strict=True)))
            if sum(g) <= ORDER:
                terms[g] = terms.get(g, 0.0) + c * d
        return Jet(terms)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Jet:
        return self * -1.0

    def __sub__(self, other: Any) -> Jet:
        return self + -other

    def sin(self) -> Jet:
        x = self.value
        return through(lambda i, j, *_: [math.sin(x), math.cos(x), -math.sin(x), -math.cos(x)][i % 4], self)

    def exp(self) -> Jet:
        return through(lambda i, j, x, y: math.exp(x), self)

    def __truediv__(self, other: Jet) -> Jet:
        return self * through(lambda i, j, x, y: (-1) ** i * math.factorial(i) / x ** (i + 1), other)


def through(table: Table, x: Jet, y: Jet | None = None) -> Jet:
    """Return a function of jets, of one variable or two, which `table` describes at their values."""
    zero = (0,) * len(next(iter(x.terms)))
    moves = [Jet({**jet.terms, zero: 0.0}) if jet is not None else Jet({zero: 0.0}) for jet in (x, y)]
    at = x.value, (0.0 if y is None else y.value)
    total = Jet({zero: 0.0})
    for i in range(ORDER + 1):
        for j in range(ORDER + 1 - i if y is not None else 1):
            term = Jet({zero: table(i, j, *at) / (math.factorial(i) * math.factorial(j))})
            for move, times in zip(moves, (i, j), strict=True):
                for _ in range(times):
                    term = term * move
            total = total + term
    return total
