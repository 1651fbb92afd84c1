"""Processor time, that of all threads."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

Measured = dict[str, float]
"""Seconds, and numbers of entries and directions, by name."""


MOST_DENSE = 5000
"""Unknowns of systems that are solved with a dense Jacobian too. Chosen: of more that takes minutes."""


def stiff_digest(y: Any) -> float:
    """Return a number that tells solutions apart, as exactly as they were computed."""
    return float(np.round(np.sum(np.asarray(y)) / np.size(y), 4))


def spent(work: Callable[[], Any], times: int = 1) -> tuple[float, Any]:
    """Return the least processor time of something, and what it gave at last."""
    best, found = float("inf"), None
    for _ in range(times):
        start = time.process_time()
        found = work()
        best = min(best, time.process_time() - start)
    return best, found


def digest(rows: Any, columns: Any, data: Any) -> float:
    """Return a number that tells matrices apart: a product with vectors from both sides."""
    return float(np.sum(np.cos(0.37 * np.asarray(rows)) * np.asarray(data) * np.sin(1.0 + 0.11 * np.asarray(columns))))
