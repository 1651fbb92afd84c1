"""Line search for the strong Wolfe conditions (Nocedal & Wright 2006, algorithms 3.5 and 3.6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

EPSILON = 2.0**-52
DECREASE = 1e-4
"""The share of the decrease that the slope at the start promises, which a step must reach."""
CURVATURE = 0.9
"""The share of the start's slope, in absolute value, that may be left at the end of a step."""


@dataclass(frozen=True)
class LinePoint:
    """A point on the line.

    Attributes:
        length: how far from the start.
        value: the function there.
        slope: its derivative along the line.
        data: what else the caller computed there.
    """

    length: float
    value: float
    slope: float
    data: Any = None


def strong_wolfe(
    evaluate: Callable[[float], LinePoint], start: LinePoint, length: float, most: int = 25
) -> LinePoint | None:
    """Find a step that decreases the function enough and leaves little of its slope.

    Args:
        evaluate: the trial at a length; a value that is not finite counts as too large.
        start: the trial at length 0, with a negative slope.
        length: of the first trial.
        most: how many trials are made.

    Returns:
        a trial with value ≤ start + 1e-4·length·slope, up to rounding, and |slope| ≤ 0.9·|start's slope|; where trials
        run out, the best one that decreases the function; None if there is none.
    """
    # Near a minimum the decrease drowns in the rounding of the values; the slopes still tell.
    slack = 4 * EPSILON * abs(start.value)

    def too_high(trial: LinePoint) -> bool:
        return not trial.value <= start.value + DECREASE * trial.length * start.slope + slack

    def flat(trial: LinePoint) -> bool:
        return abs(trial.slope) <= -CURVATURE * start.slope

    low, high = start, None
    for _ in range(most):
        trial = evaluate(length)
        if not math.isfinite(trial.value) or not math.isfinite(trial.slope):
            trial = LinePoint(length, math.inf, math.inf)
        if too_high(trial) or trial.value > low.value + slack:
            high = trial
        elif flat(trial):
            return trial
        else:
            if trial.slope * (1.0 if high is None else high.length - low.length) >= 0:
                high = low
            previous, low = low, trial
        if high is None:
            length = min(max(_minimum_of_cubic(previous, low, math.inf), 1.1 * low.length), 10 * low.length)
            continue
        width = high.length - low.length
        found = _minimum_of_cubic(low, high, low.length + 0.5 * width)
        inner, outer = sorted((low.length + 0.1 * width, low.length + 0.9 * width))
        length = min(max(found, inner), outer)
        if length in (low.length, high.length):  # no number is left between them
            break
    return low if low.value < start.value else None


def _minimum_of_cubic(a: LinePoint, b: LinePoint, otherwise: float) -> float:
    """Return where the cubic through both values and slopes has its minimum (Nocedal & Wright, equation 3.59).

    Another length is returned where it has none, or where numbers are too large to tell.
    """
    step = b.length - a.length
    first = a.slope + b.slope - 3 * (b.value - a.value) / step
    square = first * first - a.slope * b.slope
    if not 0 <= square < math.inf:
        return otherwise
    second = math.copysign(math.sqrt(square), step)
    below = b.slope - a.slope + 2 * second
    return b.length - step * (b.slope + second - first) / below if below else otherwise
