"""Why a search ended, in words that hold: a minimum, a function that falls without bound, or neither."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from primad.optimize.gauss_newton.residual_models import Loss, Residuals
from primad.optimize.parameter_vectors import Space, Tree

Reason = Literal["target", "gradient", "stalled", "unbounded", "steps", "interrupted", "diverged", "callback"]
WORDS: dict[str, str] = {
    "target": "the value is as low as asked for",
    "gradient": "the gradient is as small as asked for",
    "stalled": "no lower value was found: a minimum, up to rounding",
    "steps": "all steps were made",
    "interrupted": "interrupted",
    "diverged": "a value is not finite",
    "callback": "the callback asked for it",
}
SMALL = 1e-3
"""A gradient is small if it is no larger than this share of the largest one of a search, and a slope, of the mean slope
from its start. Chosen: at minima of losses in float64 it is 1e-6 and less, at kinks and poles 1 and more."""
FURTHER = (1000.0, 2.0)
"""So many times as far from the start a function is looked at; the second where the first overflows. Chosen."""
SLOWEST = 1 / 6
"""A function falls without bound if it falls at least as this power of the distance. Chosen: bounded functions that
still fall, as −arctan does, are flat at a thousand times the distance, and logarithms never stall."""


def reason_of(state: Any, target: float, tolerance: float, same_data: bool) -> Reason:
    """Return why a search ends after the step that led to a state; "steps" where it goes on."""
    value = float(state.value)
    if value == -math.inf:
        return "unbounded"
    if value <= target:
        return "target"
    if np.max(np.abs(state.gradient)) <= tolerance and (tolerance or same_data):
        return "gradient"
    return "stalled" if state.stalled and same_data else "steps"


def ending(
    reason: Reason, function: Any, start: Tree, end: Tree, data: Sequence[Any], state: Any, steepest: float
) -> tuple[Reason, str]:
    """Return a reason and its words, after a look at the function where no lower value was found.

    Args:
        reason: why the search ended.
        function: what the optimiser made of it.
        start: where this search started.
        end: where it ended.
        data: the function's other arguments.
        state: of the optimiser at the end.
        steepest: the largest element of a gradient that was seen.
    """
    value, gradient = float(state.value), float(np.max(np.abs(state.gradient)))
    if reason not in ("stalled", "unbounded") or isinstance(function, Residuals):
        return reason, WORDS[reason]
    cure = (
        "look at its sign, or keep the parameters within bounds: "
        'minimize(fun, x0, method="L-BFGS-B", bounds=…), or "SLSQP" with constraints'
    )
    if reason == "unbounded":
        return reason, f"the function falls without bound: it is {value:g} at the parameters; {cure}"
    beyond = _beyond(_value(function), start, end, data, state)
    if beyond is not None:
        further, low = beyond
        told = f"it is {value:.4g} at the parameters and {low:.4g} at {further:g} times the distance from the start"
        return "unbounded", f"the function falls without bound: {told}; {cure}"
    if gradient <= SMALL * steepest:
        return reason, WORDS[reason]
    return reason, (
        f"no lower value was found, though the gradient is not small (its largest element is {gradient:.3g}): "
        "a minimum up to rounding, a kink, a pole, or parameters of very different scales"
    )


def _value(function: Any) -> Callable[..., float]:
    """Return the function (parameters, *data) of the value, of what an optimiser takes."""
    if isinstance(function, Loss):
        return function.value
    return lambda params, *data: float(np.reshape(function(params, *data)[0], ()))


def _beyond(
    value: Callable[..., float], start: Tree, end: Tree, data: Sequence[Any], state: Any
) -> tuple[float, float] | None:
    """Return how far beyond its end a search still finds less in proportion, and what; None if it does not.

    It looks only where the function still falls at the end, so a minimum is one, whatever lies behind it.
    """
    space = Space.of(end)
    first, move = space.vector(start), space.vector(end) - space.vector(start)
    with np.errstate(all="ignore"):
        high = value(start, *data)
        fall = high - float(state.value)
        if not -float(np.asarray(state.gradient) @ move) > SMALL * fall:
            return None
        for further in FURTHER:
            low = value(space.tree(first + further * move), *data)
            if not math.isnan(low):
                return (further, low) if high - low >= further**SLOWEST * fall else None
    return None
