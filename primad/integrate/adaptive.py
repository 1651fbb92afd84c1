"""The loop of adaptive steps, and of steps of equal length, with what values between the steps are computed from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from primad import numpy as pnp
from primad.functional.control.mapping import vmap
from primad.functional.control.user_loops import scan
from primad.functional.control.while_loops import while_rows
from primad.functional.recorded_values import stop_gradient
from primad.integrate.method_steps import Method
from primad.integrate.methods import METHODS, first_step
from primad.integrate.run_checks import enough

Function = Callable[..., Any]
SAFETY, SMALLEST, LARGEST = 0.9, 0.2, 10.0
"""A step is so much shorter than the estimate says, and at most so many times as long as the one before."""


class SolutionPath(NamedTuple):
    """The steps that were taken, as rows; those that were refused have no length.

    Attributes:
        count: how many rows there are.
        status: 0, 1 where an event ended it, or −1 where the steps became too short.
        component: which component is to blame for that; −1 − k if the k-th slope was not finite.
        stop: where the last step ends.
        t: where the steps begin.
        h: their lengths.
        end: where they end.
        y: the values at their beginnings.
        inside: what the values inside are computed from.
        last: the value at the end of the last step.
    """

    count: Any
    status: Any
    component: Any
    stop: Any
    t: Any
    h: Any
    end: Any
    y: Any
    inside: Any
    last: Any


@dataclass
class Piece:
    """A part of a path that is handed over when it is complete, so that the whole is never held.

    Attributes:
        length: the most steps of it, refused ones included.
        state: what is carried from step to step, where the next piece begins; None at the beginning.
    """

    length: int
    state: dict[str, Any] | None = None


def adaptive(
    fun: Function,
    start: Any,
    stop: Any,
    begin: tuple[Any, Any],
    method: Method,
    rtol: Any,
    atol: Any,
    first: Any,
    options: tuple[float, int, tuple[Any, Function]],
    piece: Piece | None = None,
) -> SolutionPath:
    """Take steps whose errors stay below the tolerances.

    Where they end is a constant to derivatives, but for the last one, which ends at `stop`.

    Args:
        fun: the slope at a time and value.
        start: the time at which to begin.
        stop: the time at which to end.
        begin: the value and the slope at the beginning.
        method: takes a step.
        rtol: relative tolerance.
        atol: absolute tolerance.
        first: length of the first step; None to estimate it.
        options: length of the longest step, the most steps, and what counts events: the counts at the beginning, and a
            function (counts, whether a step is taken, t, y, t after it, y after it) -> (counts after it, whether the
            path ends in it).
        piece: where to begin, and how many steps to take at most before the path is handed over. None: all of them.
    """
    longest, most, (counts, counted) = options
    direction = stop_gradient(np.sign(stop - start))
    begun = None if piece is None else piece.state
    if begun is None:
        y0, slope = begin
        if first is None:
            first = first_step(fun, start, y0, slope, stop - start, method.order, atol, rtol, longest)
        status = np.where(np.all(np.isfinite(slope)), 0, -1)
        begun = {
            "t": start, "y": y0, "slope": slope, "h": np.minimum(first, longest), "refused": np.bool_(False),
            "status": status, "component": _first_bad(slope), "events": counts,
        }  # fmt: skip
    longest_piece = most if piece is None else piece.length
    begun = {**begun, "left": np.int64(longest_piece)}

    def is_unfinished(state: Any) -> Any:
        return (direction * (stop - state["t"]) > 0) & (state["status"] == 0)

    def goes_on(state: Any) -> Any:
        return is_unfinished(state) & (state["left"] > 0)

    def step(state: Any) -> Any:
        t, y, h = state["t"], state["y"], state["h"]
        end = np.where(direction * (t + direction * h - stop) >= 0, stop, t + stop_gradient(direction * h))
        found = method.step(fun, t, y, state["slope"], end - t)
        good, length = _judged(found.error(atol, rtol), np.abs(end - t), state["refused"], method.order, longest)
        short = ~good & (length < 10 * np.finfo(np.float64).eps * np.abs(t) + 1e-300)
        happened, is_over = counted(state["events"], good, t, y, end, found.y)
        status = np.where(short, -1, np.where(is_over, 1, 0))
        after = {
            "t": np.where(good, end, t),
            "y": np.where(good, found.y, y),
            "slope": np.where(good, found.slope, state["slope"]),
            "h": length,
            "refused": ~good,
            "status": status,
            "component": stop_gradient(_to_blame(state["slope"], y, found)),
            "events": stop_gradient(happened),
            "left": state["left"] - 1,
        }
        return after, (t, np.where(good, end - t, 0.0), after["t"], y, found.inside)

    count, state, (t, h, end, y, inside) = while_rows(goes_on, step, begun, longest_piece)
    if piece is None:
        count = np.where(enough(is_unfinished(state), state["t"], stop, np.int64(most)), count, 0)
    else:
        piece.state = state
    return SolutionPath(count, state["status"], state["component"], state["t"], t, h, end, y, inside, state["y"])


def _judged(error: Any, taken: Any, refused: Any, order: int, longest: float) -> tuple[Any, Any]:
    """Say whether a step is good enough, and how long the next one is to be; both are constants to derivatives.

    Args:
        error: estimate of the step's error, in units of the tolerance.
        taken: length of the step.
        refused: whether the one before was not good enough: then the next one is no longer than this.
        order: of the method.
        longest: the longest step.
    """
    error = stop_gradient(error)
    good = error < 1
    wanted = SAFETY * np.where(error > 0, error, 1.0) ** (-1.0 / (order + 1))
    growth = np.where(error == 0, LARGEST, np.minimum(LARGEST, wanted))
    growth = np.where(refused, np.minimum(1.0, growth), growth)
    shrink = np.maximum(SMALLEST, np.where(np.isfinite(wanted), wanted, SMALLEST))
    return good, np.minimum(stop_gradient(taken) * np.where(good, growth, shrink), longest)


def _to_blame(slope: Any, y: Any, found: Any) -> Any:
    """Return the steepest component; or −1 − k, where the k-th one that a step found is the first not finite."""
    steep = np.argmax(np.abs(slope) / (1.0 + np.abs(y)))
    bad = np.where(np.isfinite(found.slope), found.y, found.slope)
    return np.where(np.all(np.isfinite(bad)), steep, _first_bad(bad))


def values_by_pieces(
    path_of: Callable[[Piece], SolutionPath], method: str, stop: Any, times: Any, size: int, most: int
) -> tuple[SolutionPath, int, Any]:
    """Take steps piece by piece, and keep of each the values at times that lie within it.

    Args:
        path_of: takes the steps of a piece.
        method: the method's name.
        stop: the time at which to end.
        times: at which values are wanted.
        size: how many numbers a value has.
        most: the most steps of all pieces.

    Returns:
        the last piece, how many steps were taken, and the values, a row for each time; NaN where the path ends before.

    Raises:
        StepsError: if the end is not reached in so many steps.
    """
    found, missing = np.zeros(0), np.ones(len(times), bool)
    piece, count = Piece(max(FEWEST_STEPS, NUMBERS // size)), 0
    while True:
        piece.length = min(piece.length, most - count)
        path = path_of(piece)
        found = found if found.size else np.full((len(times), size), np.nan, path.last.dtype)
        count += int(path.count)
        direction = np.sign(stop - path.t[0]) if path.count else 0.0
        wanted = np.flatnonzero(missing & (direction * (times - path.stop) <= 0))
        if path.count and len(wanted):
            found[wanted], inside = values(path, method, times[wanted], direction)
            missing[wanted] = ~inside
        if path.status != 0 or direction * (stop - path.stop) <= 0:
            return path, count, found
        enough(count == most, path.stop, stop, most)


FEWEST_STEPS, NUMBERS = 64, 2**18
"""A piece has so many steps, or as many as have values of so many numbers, which is 2 MB, if these are more."""


def _first_bad(values: Any) -> Any:
    """Return −1 − k, where the k-th value is the first that is not finite."""
    return -1 - np.argmax(~np.isfinite(values))


def equal(fun: Function, start: Any, stop: Any, y0: Any, steps: int) -> SolutionPath:
    """Take so many steps of equal lengths by the classical method of order 4."""
    h = (stop - start) / steps

    def step(state: Any, i: Any) -> Any:
        y, slope = state
        t = start + i * h
        k2 = fun(t + h / 2, y + h / 2 * slope)
        k3 = fun(t + h / 2, y + h / 2 * k2)
        k4 = fun(t + h, y + h * k3)
        new = y + h / 6 * (slope + 2 * k2 + 2 * k3 + k4)
        after = fun(t + h, new)
        return (new, after), (t, y, pnp.stack([slope, after, new]))

    (last, _), (t, y, inside) = scan(step, (y0, fun(start, y0)), np.arange(float(steps)))
    end = pnp.concatenate([t[1:], pnp.reshape(stop, (1,))])  # a last t + h may fall short of the end by rounding
    return SolutionPath(np.int64(steps), np.int64(0), np.int64(0), stop, t, end - t, end, y, inside, last)


def _between_equal(inside: Any, y: Any, h: Any, x: Any) -> Any:
    """Hermite's cubic through both values and slopes."""
    first, last, new = inside[0], inside[1], inside[2]
    cubic = x * (x - 1) * ((1 - 2 * x) * (new - y) + (x - 1) * h * first + x * h * last)
    return (1 - x) * y + x * new + cubic


def values(path: SolutionPath, method: str, times: Any, direction: Any) -> tuple[Any, Any]:
    """Return the values at times, one row for each, and whether the path comes there; NaN where it does not."""
    rows = path.t.shape[0]
    done = np.arange(rows) < path.count

    def at(time: Any) -> Any:
        before = done & (direction * (path.end - time) < 0)
        k = stop_gradient(np.sum(before * 1.0)).astype(np.int64)
        inside = (k < path.count) & (direction * (time - path.t[0]) >= 0)
        k = np.minimum(k, np.maximum(path.count - 1, 0))
        return np.where(inside, within(path, method, k, time), np.nan), inside

    found: tuple[Any, Any] = vmap(at)(times)
    return found


def within(path: SolutionPath, method: str, k: Any, time: Any) -> Any:
    """Return the value at a time within the k-th step."""
    between = _between_equal if method == "RK4" else METHODS[method].between
    t, h, y, part = (pnp.take(x, k, axis=0) for x in (path.t, path.h, path.y, path.inside))
    return between(part, y, h, (time - t) / np.where(h == 0, 1.0, h))
