"""solve_ivp: SciPy's arguments and result, differentiable in initial values, parameters and times."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from primad import numpy as pnp
from primad.errors import NotDifferentiableError, ShapeError, TracingError, suggestion
from primad.functional.recorded_values import stop_gradient
from primad.integrate.adaptive import Path, Piece, adaptive, equal, values, values_by_pieces
from primad.integrate.events import before, end_of, events_of, found_events, is_end
from primad.integrate.methods import METHODS
from primad.integrate.run_checks import reached, stopped
from primad.recording import tree
from primad.recording.foreign import plain
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import check_function
from primad.system.tracebacks import entrance

__all__ = ["solve_ivp"]

Function = Callable[..., Any]
REACHED = "The solver successfully reached the end of the integration interval."
ENDED = "A termination event occurred."


@entrance
def solve_ivp(
    fun: Function,
    t_span: Sequence[Any],
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    args: Sequence[Any] | None = None,
    *,
    rtol: float = 1e-3,
    atol: float = 1e-6,
    first_step: float | None = None,
    max_step: float = np.inf,
    steps: int | None = None,
    max_steps: int = 10_000,
    max_events: int | None = None,
) -> OptimizeResult:
    """Integrate y′ = f(t, y) from a value at the beginning.

    It is differentiable in `y0`, `t_span`, `t_eval`, `args` and what `fun` closes over, in both modes and to any order.
    What is differentiated is what was computed: lengths of accepted steps are constants, but for the last one, which
    ends at the end of `t_span`.

    Args:
        fun: `(t, y, *args) -> slope`, an array, list or tuple, in NumPy; it is recorded once.
        t_span: the times at which to begin and to end.
        y0: the value at the beginning, an array with one axis.
        method: "RK45", "DOP853" (with SciPy's tableaux); "ROS23" or, of order 4, "RODAS4" (by Hairer and Wanner) for
            stiff systems, both L-stable and with an exact Jacobian; or "RK4": the classical method in `steps` steps of
            equal length.
        t_eval: times at which values are wanted. Inside of a transform it has to be given.
        dense_output: whether `sol` of the result is a function of time.
        events: a function `(t, y, *args) -> number`, or several: the times are found at which it changes its sign. It
            may have SciPy's attributes: `direction`, and `terminal`, if the first such time is the end of the path (not
            with "RK4").
        args: further arguments of `fun` and of events.
        rtol: relative tolerance of the adaptive methods.
        atol: absolute tolerance.
        first_step: length of the first step; by default it is estimated.
        max_step: length of the longest step.
        steps: how many steps "RK4" takes.
        max_steps: the most steps, refused ones included, that an adaptive method may take.
        max_events: how many times of each event are found: the first ones. By default all are; inside of a transform,
            an event that happens more than once needs this number.

    Returns:
        `t`, `y` (a column for each time), `t_events`, `y_events`, `sol`, `nfev`, `status`, `message` and `success`, as
        SciPy has them. Inside of a transform, there are always `max_events` times of an event, NaN where there were
        fewer. They are differentiable, as the implicit function is. With `t_eval`, and without `dense_output` and
        events, the path is not kept.

    Raises:
        ShapeError: for a `y0` that has not one axis, or a slope of another shape; for times in `t_eval` outside of
            `t_span`, tolerances and lengths of steps that are not positive, a `t_span` that is not finite.
        StepsError: if the end is not reached in `max_steps` steps; inside of a transform, if a value that is asked for
            is not reached: with the time and the component to blame.

    Example:
        >>> import numpy as np, primad
        >>> from primad.integrate import solve_ivp
        >>> def final(rate):
        ...     return solve_ivp(lambda t, y: -rate * y, (0.0, 2.0), np.ones(1), t_eval=[2.0], rtol=1e-9).y[0, 0]
        >>> round(final(0.5), 4), round(primad.grad(final)(0.5), 4)
        (np.float64(0.3679), np.float64(-0.7358))
    """
    check_function(fun, "solve_ivp: ")
    start, stop, y0 = _checked(t_span, y0)
    _check_times(t_eval, start, stop)
    if method not in (*METHODS, "RK4"):
        near = suggestion(method, [*METHODS, "RK4"]) if isinstance(method, str) else ""
        raise TracingError(f"solve_ivp: there is no method {method!r}", fix=near or f"choose from {[*METHODS, 'RK4']}.")

    def slope(t: Any, y: Any) -> Any:
        found = fun(t, y, *(args or ()))
        found = pnp.array(found) if isinstance(found, (list, tuple)) else found
        found = found if isinstance(found, TracedArray) else plain(found, np.float64)
        if found.shape != y.shape:
            raise ShapeError(f"solve_ivp: fun returns the shape {found.shape} for a value of shape {y.shape}")
        return found

    watched = events_of(events, args or ())
    if method == "RK4":
        if any(event.ends for event in watched):
            raise TracingError("solve_ivp: no event ends the steps of RK4", fix="choose an adaptive method.")
        path = equal(slope, start, stop, y0, _count(steps))
        evaluations = 4 * path.count
    else:
        most = operator.index(max_steps)
        path_of = _adaptive_path(
            slope, (start, stop), y0, method, rtol, atol, first_step, (max_step, most, is_end(watched))
        )
        whole = watched or dense_output or t_eval is None
        if not whole and _is_plain(start, stop, t_eval, first_step, slope(start, y0)):
            return _by_pieces(path_of, method, stop, plain(t_eval, np.float64), y0.size, most)
        path = path_of(None)
        evaluations = METHODS[method].evaluations * path.count + 2
    found = [found_events(event, path, method, max_events) for event in watched]
    end = end_of(watched, found, np.sign(stop - start))
    if end is not None:
        found = [before(end, times, y, np.sign(stop - start)) for times, y in found]
    result = _result(path, method, start, stop, t_eval, dense_output, end)
    result.nfev = evaluations
    traced = isinstance(path.count, TracedArray)
    result.t_events = [times if traced else times[np.isfinite(times)] for times, _ in found] if watched else None
    result.y_events = [y if traced else y[np.isfinite(times)] for times, y in found] if watched else None
    return result


def _is_plain(*values: Any) -> bool:
    return not any(isinstance(leaf, TracedArray) for leaf in tree.leaves(values))


def _adaptive_path(
    slope: Function,
    span: tuple[Any, Any],
    y0: Any,
    method: str,
    rtol: Any,
    atol: Any,
    first: Any,
    options: tuple[Any, int, Function],
) -> Callable[[Piece | None], Path]:
    """Return the function piece -> path of an adaptive method.

    Raises:
        ShapeError: for tolerances, and lengths of steps, that are not positive.
    """
    longest, most, ends = options
    for name, value, least in (("rtol", rtol, 0.0), ("atol", atol, 0.0), ("max_step", longest, 5e-324)):
        if not np.all(np.asarray(value) >= least):
            must = "positive" if least else "zero or more"
            raise ShapeError(f"solve_ivp: {name} must be {must}, got {value}")
    if rtol == 0 and np.any(np.asarray(atol) == 0):
        raise ShapeError("solve_ivp: rtol and atol are both 0, which no step meets", fix="pass rtol=1e-10, say.")
    if first is not None and _is_plain(first) and not first > 0:
        raise ShapeError(f"solve_ivp: first_step must be positive, got {first}")

    def path_of(piece: Piece | None) -> Path:
        bounds = float(longest), most, ends
        return adaptive(slope, *span, y0, METHODS[method], float(rtol), float(atol), first, bounds, piece)

    return path_of


def _by_pieces(
    path_of: Callable[[Piece | None], Path], method: str, stop: Any, times: Any, size: int, most: int
) -> OptimizeResult:
    """Return SciPy's result where values are wanted at given times only, so that the path need not be kept."""
    path, count, y = values_by_pieces(path_of, method, stop, times, size, most)
    result = OptimizeResult(t=times, y=y.T, sol=None, status=path.status, t_events=None, y_events=None)
    result.success, result.message = path.status >= 0, REACHED
    if path.status != 0:
        result.message = stopped(path.stop, int(path.component))
    result.nfev = METHODS[method].evaluations * count + 2
    return result


def _checked(t_span: Sequence[Any], y0: Any) -> tuple[Any, Any, Any]:
    if len(t_span) != 2:
        raise ShapeError(f"solve_ivp: t_span must be two times, got {len(t_span)}", fix="pass further times as t_eval.")
    start, stop = (t if isinstance(t, TracedArray) else plain(t, np.float64)[()] for t in t_span)
    y0 = pnp.array(y0) if isinstance(y0, (list, tuple)) else y0
    y0 = y0 if isinstance(y0, TracedArray) else plain(y0, np.float64)
    if len(y0.shape) != 1:
        raise ShapeError(f"solve_ivp: y0 must have one axis, its shape is {y0.shape}", fix="np.ravel joins its axes.")
    if not y0.size:
        raise ShapeError("solve_ivp: y0 is empty")
    if not all(np.isfinite(t) for t in (start, stop) if _is_plain(t)):
        raise ShapeError(
            f"solve_ivp: t_span must be finite, got {start} to {stop}",
            fix="end where the solution does not change any more: an event of the slope finds the time.",
        )
    return start, stop, y0


def _check_times(t_eval: Any, start: Any, stop: Any) -> None:
    """Refuse times outside of an interval, where they are known."""
    if t_eval is None or not _is_plain(t_eval, start, stop):
        return
    times = plain(t_eval, np.float64)
    if times.ndim != 1:
        raise ShapeError(f"solve_ivp: t_eval must have one axis, its shape is {times.shape}", fix="pass t_eval=[time].")
    outside = ~((times >= min(start, stop)) & (times <= max(start, stop)))
    if outside.any():
        raise ShapeError(
            f"solve_ivp: {times[outside][0]:.16g} in t_eval lies outside of t_span, {start:.16g} to {stop:.16g}",
            fix="integrate over a longer t_span.",
        )


def _count(steps: int | None) -> int:
    if steps is None or operator.index(steps) < 1:
        raise ShapeError(
            f"solve_ivp: the method RK4 needs the number of steps, got {steps}", fix="pass steps=100, say."
        )
    return operator.index(steps)


def _result(
    path: Path, method: str, start: Any, stop: Any, t_eval: Any, dense_output: bool, end: Any
) -> OptimizeResult:
    """Return SciPy's result; `end` is the time of the event that ends the path, NaN or None where none does."""
    traced = any(isinstance(x, TracedArray) for x in (path.last, path.status, stop, t_eval))
    direction = stop_gradient(np.sign(stop - start))

    def known(times: Any) -> tuple[Any, Any]:
        found, inside = values(path, method, times, direction)
        if end is not None:
            inside = inside & ~(direction * (times - end) > 0)
            found = np.where(inside[:, None], found, np.nan)
        if traced:
            there = reached(inside, times, path.status, path.stop if end is None else end, path.component)
            found = np.where(there, found, np.nan)
        return found, inside

    def sol(t: Any) -> Any:
        times = t if isinstance(t, TracedArray) else plain(t, np.float64)
        found, _ = known(times.reshape(-1))
        return found[0] if not times.shape else found.T

    if t_eval is not None:
        times = t_eval if isinstance(t_eval, TracedArray) else plain(t_eval, np.float64)
        y, inside = known(times)
        y = y.T
        if not traced and path.status == 1:
            times, y = times[inside], y[:, inside]
    elif traced:
        raise NotDifferentiableError(
            "solve_ivp: t_eval has to be given inside of a transform",
            why="How many steps are taken depends on values, and the shape of the result with it.",
            fix="pass t_eval=np.linspace(t0, t1, 100), or [t1] for the end.",
        )
    else:
        times, y = _steps(path, method, start, end, direction)
    result = OptimizeResult(t=times, y=y, sol=sol if dense_output else None, status=path.status)
    result.success, result.message = path.status >= 0, REACHED
    if not traced and path.status != 0:
        result.message = stopped(path.stop, int(path.component)) if path.status < 0 else ENDED
    return result


def _steps(path: Path, method: str, start: Any, end: Any, direction: Any) -> tuple[Any, Any]:
    """Return the times at which steps end, and the values there; an event which ends the path is the last one."""
    taken = np.flatnonzero(path.h[: path.count])
    times = np.concatenate([[start], path.end[taken]])
    y = np.concatenate([path.y[taken], path.last[None]]).T
    if end is None or np.isnan(end):
        return times, y
    before = direction * (times - end) < 0
    value, _ = values(path, method, np.array([end]), direction)
    return np.append(times[before], end), np.concatenate([y[:, before], value.T], axis=1)
