"""solve_ivp: SciPy's arguments and result, differentiable in initial values, parameters and times."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ShapeError, TracingError
from primad.functional.control.replaying import Replayed
from primad.functional.recorded_values import stop_gradient
from primad.integrate.adaptive import Piece, SolutionPath, adaptive, equal, values, values_by_pieces
from primad.integrate.argument_checks import (
    as_floats,
    as_slope,
    check_lengths,
    check_method,
    check_options,
    check_times,
    checked_args,
    checked_count,
    checked_start,
    checked_tolerances,
    is_plain,
)
from primad.integrate.events import before, counter, counts, end_of, events_of, found_events
from primad.integrate.mass_matrices import check_consistent, checked_mass, with_mass
from primad.integrate.method_steps import Method
from primad.integrate.methods import METHODS
from primad.integrate.run_checks import reached, stopped
from primad.integrate.unknown_steps import UnknownSteps
from primad.recording.foreign import plain
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import check_function
from primad.system.tracebacks import entrance

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

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
    vectorized: bool = False,
    args: Sequence[Any] | None = None,
    *,
    rtol: Any = 1e-3,
    atol: Any = 1e-6,
    first_step: float | None = None,
    max_step: float = np.inf,
    steps: int | None = None,
    max_steps: int = 10_000,
    max_events: int | None = None,
    mass: Any = None,
    **unknown: Any,
) -> OptimizeResult:
    """Integrate y′ = f(t, y) from a value at the beginning.

    It is differentiable in `y0`, `t_span`, `t_eval`, `args` and what `fun` closes over, in both modes and to any order.
    What is differentiated is what was computed: lengths of accepted steps are constants, but for the last one, which
    ends at the end of `t_span`.

    Args:
        fun: `(t, y, *args) -> slope`, an array, list or tuple, in NumPy; it is recorded once.
        t_span: the times at which to begin and to end.
        y0: the value at the beginning, an array with one axis, of real or complex numbers, of which the slope need not
            be analytic.
        method: "RK45", "DOP853" (with SciPy's tableaux); "ROS23" or, of order 4, "RODAS4" (by Hairer and Wanner) for
            stiff systems, both L-stable and with an exact Jacobian; or "RK4": the classical method in `steps` steps of
            equal length.
        t_eval: times at which values are wanted. Without them, inside of a transform only `y[:, -1]` is
            there.
        dense_output: whether `sol` of the result is a function of time.
        events: a function `(t, y, *args) -> number`, or several: the times are found at which it changes its sign. It
            may have SciPy's attributes: `direction`, and `terminal`: True if the first such time is the end of the
            path, 3 if the third is (not with "RK4").
        vectorized: whether `fun` is written for values with one more axis: it gets one of length 1.
        args: further arguments of `fun` and of events.
        rtol: relative tolerance of the adaptive methods, a number or one for each component.
        atol: absolute tolerance, likewise.
        first_step: length of the first step; by default it is estimated.
        max_step: length of the longest step.
        steps: how many steps "RK4" takes.
        max_steps: the most steps, refused ones included, that an adaptive method may take.
        max_events: how many times of each event are found: the first ones. By default all are; inside of a transform,
            an event that happens more than once needs this number.
        mass: a constant matrix M, for M y′ = f(t, y), with "ROS23" and "RODAS4". It may be singular: the equations
            without derivatives have to hold at the beginning, and to determine as many unknowns (index 1). Of a sparse
            one of many values these are the rows and columns without entries, and its entries may be traced.
        **unknown: SciPy's other options are refused: `jac`, for one, is exact.

    Returns:
        `t`, `y` (a column for each time), `t_events`, `y_events`, `sol`, `nfev`, `status`, `message` and `success`, as
        SciPy has them. Inside of a transform, there are always `max_events` times of an event, NaN where there were
        fewer, and so are their derivatives where they are read (`np.nansum` leaves them out). They are differentiable,
        as the implicit function is. With `t_eval`, and without `dense_output` and events, the path is not kept.

    Raises:
        TracingError: if there is no such method or option: what to take instead.
        ShapeError: for a `y0` that has not one axis, or a slope of another shape; for times in `t_eval` outside of
            `t_span`, tolerances and lengths of steps that are not positive, a `t_span` that is not finite;
            for a mass matrix of another shape, a `y0` at which the equations without derivatives do not hold, as far as
            it is known (under `jit` it is not), and a system of a higher index.
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
    start, stop, y0 = checked_start(t_span, y0)
    t_eval = None if t_eval is None else as_floats(t_eval)
    check_times(t_eval, start, stop)
    check_method(method, [*METHODS, "RK4"])
    check_options(unknown)
    args = checked_args(args)

    weights = checked_mass(mass, method, y0)
    slope = _slope_of(fun, args, vectorized)
    if weights is not None:
        check_consistent(slope, start, y0, weights, *checked_tolerances(rtol, atol, y0.shape))
    watched = events_of(events, args)
    if is_plain(start, stop) and start == stop:
        return _unmoved(start, y0, t_eval, dense_output, len(watched))
    if method == "RK4":
        if any(event.ends for event in watched):
            raise TracingError("solve_ivp: no event ends the steps of RK4", fix="choose an adaptive method.")
        path = equal(slope, start, stop, y0, checked_count(steps))
        evaluations = 4 * path.count
    else:
        most = operator.index(max_steps)
        options = max_step, most, (counts(watched), counter(watched))
        first, path_of = _adaptive_path(
            slope, (start, stop), y0, with_mass(METHODS[method], weights), rtol, atol, first_step, options
        )
        whole = watched or dense_output or t_eval is None
        if not whole and is_plain(start, stop, t_eval, first_step, first, getattr(weights, "data", None)):
            return _by_pieces(path_of, method, stop, t_eval, y0.size, most)
        path = path_of(None)
        evaluations = METHODS[method].evaluations * path.count + 2
    found, end = _happened(watched, path, method, max_events, np.sign(stop - start))
    result = _result(path, method, start, stop, t_eval, dense_output, end)
    result.nfev = evaluations
    traced = isinstance(path.count, TracedArray)
    result.t_events = [times if traced else times[np.isfinite(times)] for times, _ in found] if watched else None
    result.y_events = [y if traced else y[np.isfinite(times)] for times, y in found] if watched else None
    return result


def _happened(
    watched: Sequence[Any], path: Any, method: str, most: int | None, direction: Any
) -> tuple[list[tuple[Any, Any]], Any]:
    """Return the times and values of each event up to the one that ends the path, and that one; None if none does."""
    found = [found_events(event, path, method, most) for event in watched]
    end = end_of(watched, found, direction)
    if end is not None:
        found = [before(end, times, y, direction) for times, y in found]
    return [(times[:most], y[:most]) for times, y in found], end


def _slope_of(fun: Function, args: Sequence[Any], vectorized: bool) -> Function:
    """Return the slope as a function (t, y) of arrays with one axis."""

    def slope(t: Any, y: Any) -> Any:
        found = as_slope(fun(t, pnp.expand_dims(y, -1) if vectorized else y, *args), y)
        found = pnp.reshape(found, (-1,)) if vectorized or (found.shape == () and y.shape == (1,)) else found
        if found.shape != y.shape:
            raise ShapeError(
                f"solve_ivp: fun returns the shape {found.shape} for a value of shape {y.shape}",
                fix="return dy/dt, with one number for each component of y.",
            )
        return found

    return Replayed(slope)


def _unmoved(start: Any, y0: Any, t_eval: Any, dense_output: bool, events: int) -> OptimizeResult:
    """Return SciPy's result over no time."""

    def sol(t: Any) -> Any:
        return pnp.reshape(y0, (-1, *(1,) * np.ndim(t))) + 0 * np.asarray(t, np.float64)

    times = np.array([start]) if t_eval is None else t_eval
    result = _reached(t=times, y=sol(times), sol=sol if dense_output else None, status=0, nfev=0)
    result.t_events = [np.zeros(0)] * events if events else None
    result.y_events = [np.zeros((0, y0.shape[0]), y0.dtype)] * events if events else None
    return result


def _reached(status: Any, **fields: Any) -> OptimizeResult:
    """Return SciPy's result with the message of a run that reached its end; a negative status is no success."""
    from scipy.optimize import OptimizeResult  # loads when it is called

    return OptimizeResult(status=status, success=status >= 0, message=REACHED, **fields)


def _adaptive_path(
    slope: Function,
    span: tuple[Any, Any],
    y0: Any,
    method: Method,
    rtol: Any,
    atol: Any,
    first: Any,
    options: tuple[Any, int, tuple[Any, Function]],
) -> tuple[Any, Callable[[Piece | None], SolutionPath]]:
    """Return the first slope, and the function piece -> path of an adaptive method.

    Raises:
        ShapeError: for tolerances, and lengths of steps, that are not positive.
    """
    longest, most, counted = options
    tolerances = checked_tolerances(rtol, atol, y0.shape)
    check_lengths(longest, first)
    begin = y0, slope(span[0], y0)

    def path_of(piece: Piece | None) -> SolutionPath:
        bounds = float(longest), most, counted
        return adaptive(slope, *span, begin, method, *tolerances, first, bounds, piece)

    return begin[1], path_of


def _by_pieces(
    path_of: Callable[[Piece | None], SolutionPath], method: str, stop: Any, times: Any, size: int, most: int
) -> OptimizeResult:
    """Return SciPy's result where values are wanted at given times only, so that the path need not be kept."""
    path, count, y = values_by_pieces(path_of, method, stop, times, size, most)
    result = _reached(t=times, y=y.T, sol=None, status=path.status, t_events=None, y_events=None)
    if path.status != 0:
        result.message = stopped(path.stop, int(path.component))
    result.nfev = METHODS[method].evaluations * count + 2
    return result


def _result(
    path: SolutionPath, method: str, start: Any, stop: Any, t_eval: Any, dense_output: bool, end: Any
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
        times = t_eval
        y, inside = known(times)
        y = y.T
        if not traced and path.status == 1:
            times, y = times[inside], y[:, inside]
    elif traced:
        ends = pnp.reshape(stop if end is None else np.where(np.isnan(end), stop, end), (1,))
        times, y = UnknownSteps(lambda: ends[0], 0), UnknownSteps(lambda: known(ends)[0][0], 1)
    else:
        times, y = _steps(path, method, start, end, direction)
    result = _reached(t=times, y=y, sol=sol if dense_output else None, status=path.status)
    if not traced and path.status != 0:
        result.message = stopped(path.stop, int(path.component)) if path.status < 0 else ENDED
    return result


def _steps(path: SolutionPath, method: str, start: Any, end: Any, direction: Any) -> tuple[Any, Any]:
    """Return the times at which steps end, and the values there; an event which ends the path is the last one."""
    taken = np.flatnonzero(path.h[: path.count])
    times = np.concatenate([[start], path.end[taken]])
    y = np.concatenate([path.y[taken], path.last[None]]).T
    if end is None or np.isnan(end):
        return times, y
    before = direction * (times - end) < 0
    value, _ = values(path, method, np.array([end]), direction)
    return np.append(times[before], end), np.concatenate([y[:, before], value.T], axis=1)
