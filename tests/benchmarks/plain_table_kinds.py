"""Tables that are filled cell by cell, as their users write them: in plain Python, and as `scan`."""

from __future__ import annotations

from typing import Any

import numpy as np

import primad
import primad.numpy as pnp


def aligned(score: Any) -> Any:
    """Needleman and Wunsch's alignment of two words, cell by cell."""
    n, gap = len(score), -0.5
    best = [[gap * (i + j) if i * j == 0 else 0.0 for j in range(n + 1)] for i in range(n + 1)]
    for i in range(n):
        for j in range(n):
            skip = np.maximum(best[i][j + 1] + gap, best[i + 1][j] + gap)
            best[i + 1][j + 1] = np.maximum(best[i][j] + score[i, j], skip)
    return best[n][n]


def aligned_scan(score: Any) -> Any:
    n, gap = len(score), -0.5

    def row(above: Any, each: Any) -> Any:
        def cell(left: Any, beside: Any) -> Any:
            up, corner, own = beside
            found = np.maximum(corner + own, np.maximum(up + gap, left + gap))
            return found, found

        first = gap * each[1]
        line = primad.scan(cell, first, (above[1:], above[:-1], each[0]))[1]
        return np.concatenate([first[None], line]), None

    return primad.scan(row, gap * np.arange(n + 1.0), (score, np.arange(1.0, n + 1)))[0][-1]


_RNG = np.random.default_rng(7)
SERIES = _RNG.normal(size=40)


def warped(x: Any) -> Any:
    """Dynamic time warping of two series, cell by cell."""
    n = len(SERIES)
    cost = [[np.inf] * (n + 1) for _ in range(n + 1)]
    cost[0][0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            least = np.minimum(cost[i - 1][j - 1], np.minimum(cost[i - 1][j], cost[i][j - 1]))
            cost[i][j] = (x[i - 1] - SERIES[j - 1]) ** 2 + least
    return cost[n][n]


def warped_scan(x: Any) -> Any:
    def row(above: Any, own: Any) -> Any:
        def cell(left: Any, beside: Any) -> Any:
            up, corner, other = beside
            found = (own - other) ** 2 + np.minimum(corner, np.minimum(up, left))
            return found, found

        line = primad.scan(cell, np.inf, (above[1:], above[:-1], SERIES))[1]
        return np.concatenate([np.full(1, np.inf), line]), None

    start = np.concatenate([np.zeros(1), np.full(len(SERIES), np.inf)])
    return primad.scan(row, start, x)[0][-1]


UNKNOWNS = 60


def substituted(m: Any) -> Any:
    """Solve a lower triangular system, element by element."""
    b = np.linspace(1.0, 2.0, UNKNOWNS)
    x: list[Any] = []
    for i in range(UNKNOWNS):
        s = b[i]
        for j in range(i):
            s = s - m[i, j] * x[j]
        x.append(s / (m[i, i] + 8.0))
    return np.sum(np.stack(x) ** 2)


def substituted_scan(m: Any) -> Any:
    def row(x: Any, each: Any) -> Any:
        own, diagonal, b, i = each
        return np.where(np.arange(UNKNOWNS) == i, (b - own @ x) / diagonal, x), None

    below = m * np.tril(np.ones((UNKNOWNS, UNKNOWNS)), -1)
    rows = below, np.diag(m) + 8.0, np.linspace(1.0, 2.0, UNKNOWNS), np.arange(UNKNOWNS)
    return np.sum(primad.scan(row, np.zeros(UNKNOWNS), rows)[0] ** 2)


def solved(m: Any) -> Any:
    """Solve an upper triangular system in an array, from its last row on."""
    b, x = np.linspace(1.0, 2.0, UNKNOWNS), pnp.zeros(UNKNOWNS)
    for i in range(UNKNOWNS - 1, -1, -1):
        x[i] = (b[i] - m[i, i + 1 :] @ x[i + 1 :]) / (m[i, i] + 8.0)
    return np.sum(x**2)


def solved_scan(m: Any) -> Any:
    def row(x: Any, each: Any) -> Any:
        own, diagonal, b, i = each
        return np.where(np.arange(UNKNOWNS) == i, (b - own @ x) / diagonal, x), None

    above = m * np.triu(np.ones((UNKNOWNS, UNKNOWNS)), 1)
    rows = above, np.diag(m) + 8.0, np.linspace(1.0, 2.0, UNKNOWNS), np.arange(UNKNOWNS)
    return np.sum(primad.scan(row, np.zeros(UNKNOWNS), rows, reverse=True)[0] ** 2)


LETTERS = _RNG.integers(0, 4, size=(2, 40))


def edited(price: Any) -> Any:
    """Edits from a word to another, at prices for a letter that is put in, left out or another; equal ones are free."""
    above = [price[0] * j for j in range(len(LETTERS[1]) + 1)]
    for i, one in enumerate(LETTERS[0]):
        line = [price[1] * (i + 1)]
        for j, other in enumerate(LETTERS[1]):
            kept = above[j] + (0.0 if one == other else price[2])
            line.append(np.minimum(kept, np.minimum(line[j] + price[0], above[j + 1] + price[1])))
        above = line
    return above[-1]


def edited_scan(price: Any) -> Any:
    n = len(LETTERS[1])

    def row(above: Any, each: Any) -> Any:
        def cell(left: Any, beside: Any) -> Any:
            up, corner, differ = beside
            kept = corner + differ * price[2]
            found = np.minimum(kept, np.minimum(left + price[0], up + price[1]))
            return found, found

        first = price[1] * each[1]
        line = primad.scan(cell, first, (above[1:], above[:-1], each[0]))[1]
        return np.concatenate([first[None], line]), None

    differ = (LETTERS[0][:, None] != LETTERS[1][None]).astype(float)
    return primad.scan(row, price[0] * np.arange(n + 1.0), (differ, np.arange(1.0, n + 1)))[0][-1]


TABLES: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
    "alignment": (aligned, aligned_scan, (np.random.default_rng(6).normal(size=(40, 40)),)),
    "warping": (warped, warped_scan, (_RNG.normal(size=40),)),
    "substitution": (substituted, substituted_scan, (_RNG.normal(size=(UNKNOWNS, UNKNOWNS)),)),
    "solve": (solved, solved_scan, (_RNG.normal(size=(UNKNOWNS, UNKNOWNS)),)),
    "edits": (edited, edited_scan, (np.array([1.0, 1.1, 0.9]),)),
}
"""The plain form, the form with `scan` and the point of each kind."""
