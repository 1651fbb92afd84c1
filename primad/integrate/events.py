"""Events: times at which a function of time and value changes its sign on the path of an integration.

In which step it does is a constant to derivatives; the time within the step is the root of the function of what is
computed inside of the step, so it moves as the implicit function does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from primad import numpy as pnp
from primad.errors import ShapeError
from primad.functional.control.mapping import vmap
from primad.functional.control.user_loops import fori_loop, scan
from primad.functional.derivatives.first_order import jvp
from primad.functional.recorded_values import stop_gradient
from primad.integrate.adaptive import SolutionPath, within
from primad.integrate.run_checks import single
from primad.numpy.elementwise.ufuncs import defined_where
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import check_function

Function = Callable[..., Any]
HALVINGS = 60
"""Times that an interval is halved. Chosen: it is then as short as rounding lets it be."""
NEWTON_STEPS = 2
"""Steps of Newton's method, from the root as a constant. Chosen: they have its derivatives up to order 3."""


class Event(NamedTuple):
    """An event.

    Attributes:
        function: of (t, y), a number.
        ends: how often it happens on a path, which ends there; 0 if it does not end one.
        direction: 1 or −1 if only a change from below, or from above, is meant; else 0.
    """

    function: Function
    ends: int
    direction: float

    def happens(self, before: Any, after: Any) -> Any:
        """Say whether a change from one value to another is this event."""
        rises, falls = (before <= 0) & (after > 0), (before >= 0) & (after < 0)
        rises, falls = rises | ((before < 0) & (after == 0)), falls | ((before > 0) & (after == 0))
        if self.direction > 0:
            return rises
        return falls if self.direction < 0 else rises | falls


def events_of(given: Any, args: Sequence[Any]) -> list[Event]:
    """Return what a user gave as events, with SciPy's attributes `terminal` and `direction`.

    Raises:
        ShapeError: for one whose value is no number, when it is recorded; for another `terminal` than a truth value
            or a count.
    """
    functions = [given] if callable(given) else list(given or ())
    return [_event(function, args) for function in functions]


def _event(function: Function, args: Sequence[Any]) -> Event:
    check_function(function, "solve_ivp: an event: ")
    ends = getattr(function, "terminal", None) or 0
    if not isinstance(ends, (int, np.integer, np.bool_)) or ends < 0:
        raise ShapeError(
            f"solve_ivp: terminal must be a truth value or a count, got {ends!r}",
            fix="write event.terminal = True to end at the first event, or 3 to end at the third.",
        )

    def value(t: Any, y: Any) -> Any:
        found = function(t, y, *args)
        if np.shape(found) != ():
            raise ShapeError(f"solve_ivp: an event returns the shape {np.shape(found)}", fix="return a number.")
        return found

    return Event(value, int(ends), float(getattr(function, "direction", 0)))


class Count(NamedTuple):
    """How often an event has happened on a path so far.

    Attributes:
        hits: how often.
        last: whether it did in the last step.
    """

    hits: Any
    last: Any


def counts(events: Sequence[Event]) -> tuple[Count, ...]:
    """Return the counts at the beginning of a path, of the events that may end it."""
    return tuple(Count(np.int64(0), np.bool_(False)) for event in events if event.ends)


def counter(events: Sequence[Event]) -> Function:
    """Return what counts the events that may end a path.

    It is a function (counts, whether a step is taken, t, y, t after it, y after it) -> (counts after it, whether the
    path ends in it).
    """
    ending = [event for event in events if event.ends]

    def counted(known: tuple[Count, ...], taken: Any, t: Any, y: Any, later: Any, new: Any) -> Any:
        found, over = [], np.bool_(False)
        for event, count in zip(ending, known, strict=True):
            first = event.function(t, y)
            again = count.last & (first == 0)  # it was found at the end of the step before
            hit = event.happens(first, event.function(later, new)) & ~again
            hits = count.hits + np.where(taken & hit, 1, 0)
            found.append(Count(hits, np.where(taken, hit, count.last)))
            over = over | (taken & hit & (hits >= event.ends))
        return tuple(found), over

    return counted


def found_events(event: Event, path: SolutionPath, method: str, most: int | None) -> tuple[Any, Any]:
    """Return the times of the first events, and the values there; NaN where there are fewer.

    Args:
        event: which.
        path: of the integration.
        method: its method's name.
        most: how many times to return, or those up to the one that ends the path if these are more. None: all that
            there are; inside of a transform, where shapes cannot depend on values, the only one.

    Raises:
        StepsError: inside of a transform, if there are several and `most` does not say how many to return.
    """
    rows = path.t.shape[0]
    taken = np.arange(rows) < path.count
    after = pnp.concatenate([path.y[1:], path.last[None]])
    k = np.maximum(path.count - 1, 0)
    after = np.where((np.arange(rows) == k)[:, None], path.last, after)
    first, later = vmap(event.function)(path.t, path.y), vmap(event.function)(path.end, after)
    hits = taken & (path.h != 0) & event.happens(first, later)
    hits = hits & ~_found_before(path.h != 0, hits, first == 0)
    number = np.cumsum(hits * 1.0)  # counts events up to each step
    if most is None and event.ends and isinstance(number, TracedArray):
        most = event.ends
    elif most is None and isinstance(number, TracedArray):
        most, hits = 1, hits & single(number[-1])
    elif most is None:
        most = 1 << int(np.max(number, initial=1.0) - 1).bit_length()  # few lengths, so that programs are found again

    def one(i: Any) -> tuple[Any, Any]:
        is_it = hits & (number == i + 1.0)
        there = np.any(is_it)
        k = np.argmax(is_it)

        def value(t: Any) -> Any:
            return event.function(t, within(path, method, k, t))

        time = _root(value, pnp.take(path.t, k), pnp.take(path.end, k))
        return defined_where(there, time), defined_where(there, within(path, method, k, time))

    found: tuple[Any, Any] = vmap(one)(np.arange(float(max(operator.index(most), event.ends))))
    return found


def _found_before(taken: Any, hits: Any, at_start: Any) -> Any:
    """Say at which rows an event lies at the beginning of a step, at the end of which it was found the step before."""

    def step(found: Any, row: Any) -> tuple[Any, Any]:
        was_taken, hit, starts = row
        again = found & starts
        return np.where(was_taken, hit & ~again, found), again

    return scan(step, np.bool_(False), (taken, hits, at_start))[1]


def end_of(events: Sequence[Event], found: Sequence[tuple[Any, Any]], direction: Any) -> Any:
    """Return the time of the event that ends the path: of all that may, the first on the way; None if none may.

    Args:
        events: the events.
        found: their times, NaN where there are fewer, and values.
        direction: 1, or −1 where time runs backwards.
    """
    end: Any = None
    for event, (times, _) in zip(events, found, strict=True):
        if event.ends:
            first = times[event.ends - 1]
            earlier = first if end is None else np.where(direction * (first - end) < 0, first, end)
            end = first if end is None else np.where(np.isnan(end), first, earlier)
    return end


def before(end: Any, times: Any, y: Any, direction: Any) -> tuple[Any, Any]:
    """Return times and values with NaN where the path has ended already; `end` is NaN where it does not."""
    known = ~(direction * (times - end) > 0)
    return defined_where(known, times), defined_where(known[:, None], y)


def _root(value: Function, left: Any, right: Any) -> Any:
    """Return where a function changes its sign between two places."""
    first, last = stop_gradient(value(left)), stop_gradient(value(right))
    rises = (last > 0) | ((last == 0) & (first < 0))

    def halve(_: Any, ends: Any) -> Any:
        left, right = ends
        middle = (left + right) / 2
        found = stop_gradient(value(middle))
        is_right = np.where(rises, found > 0, found < 0)
        return np.where(is_right, left, middle), np.where(is_right, middle, right)

    left, right = fori_loop(0, HALVINGS, halve, (stop_gradient(left), stop_gradient(right)))
    time = stop_gradient((left + right) / 2)
    for _ in range(NEWTON_STEPS):
        found, slope = jvp(value, (time,), (np.ones_like(time),))
        time = time - found / slope
    return time
