"""What primad's derivatives are off by, at the points of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

import primad
import primad.scipy.special as recorded
from tests.accuracy.functions import FUNCTIONS
from tests.accuracy.reference import ORDERS

ULPS, MEDIAN, WORST = 10.0, 1e-12, 1e-8
"""Bounds over conditions: of values in units in the last place, of derivatives relative. Chosen: what is promised."""
EPS = float(np.finfo(np.float64).eps)
EXTREME = 1e290
"""Beyond it, and below its inverse, results may have overflowed or underflowed on the way."""


@dataclass(frozen=True)
class Table:
    """References of one function: a row for each point.

    Attributes:
        plain: which of the plain arguments hold there, by number.
        at: the differentiable arguments.
        exact: the value, and derivatives by argument and order; NaN where unknown.
        conditions: of each of them.
        missing: how many points of the grid have no reference.
    """

    plain: np.ndarray
    at: np.ndarray
    exact: np.ndarray
    conditions: np.ndarray
    missing: int = 0


def columns(arguments: int) -> Iterator[tuple[int, int, int]]:
    """Yield the column of exact numbers, the argument and the order of each derivative; the value is column 0."""
    for i in range(arguments):
        for order in range(1, ORDERS + 1):
            yield 1 + i * ORDERS + order - 1, i, order


def found(name: str, table: Table, namespace: Any, i: int = 0, order: int = 0) -> np.ndarray:
    """Return values, or derivatives in an argument, at the points of a table."""
    entry, result = FUNCTIONS[name], np.full(len(table.at), np.nan)
    for number, plain in enumerate(entry.plain):
        rows = table.plain == number
        if rows.any():
            at = list(table.at[rows].T)

            def function(x: Any, at: Any = at, plain: Any = plain) -> Any:
                return entry.of(namespace, name, *plain, *at[:i], x, *at[i + 1 :])

            with np.errstate(all="ignore"):
                result[rows] = function(at[i]) if namespace is scipy.special else _derivative(function, order, at[i])
    return result


def _derivative(function: Any, order: int, x: np.ndarray) -> np.ndarray:
    return np.asarray(primad.derivative(function, order)(x) if order else primad.jit(function)(x))


def errors(results: np.ndarray, exact: np.ndarray, conditions: np.ndarray) -> np.ndarray:
    """Return relative errors over 1 + condition; NaN where nothing is known, ∞ of what is not a number."""
    with np.errstate(all="ignore"):
        relative = np.abs(results - exact) / np.abs(exact) / (1.0 + conditions)
        large, small = np.abs(exact) > EXTREME, np.abs(exact) < 1.0 / EXTREME
        relative = np.where(large, np.where(np.abs(results) > EXTREME / 1e10, 0.0, np.inf), relative)
        relative = np.where(small, np.where(np.abs(results) < 1e10 / EXTREME, 0.0, np.inf), relative)
        relative = np.where(np.isnan(results), np.inf, relative)
    return np.where(np.isnan(exact), np.nan, relative)


def measured(name: str, table: Table, i: int, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Return errors of values or derivatives, and where they are beyond their bound."""
    column = 0 if not order else 1 + i * ORDERS + order - 1
    exact, conditions = table.exact[:, column], table.conditions[:, column]
    ours = errors(found(name, table, recorded, i, order), exact, conditions)
    if order:
        return ours, ours > WORST
    theirs = errors(found(name, table, scipy.special), exact, conditions)
    return ours, (ours > ULPS * EPS) & ~(ours <= theirs)
