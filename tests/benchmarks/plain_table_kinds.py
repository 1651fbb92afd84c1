"""Tables that are filled cell by cell, as their users write them: in plain Python, and as `scan`."""

from __future__ import annotations

from typing import Any

import numpy as np

import primad


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


TABLES: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
    "alignment": (aligned, aligned_scan, (np.random.default_rng(6).normal(size=(40, 40)),)),
}
"""The plain form, the form with `scan` and the point of each kind."""
