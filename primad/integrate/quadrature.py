"""quad: adaptive quadrature of a traced integrand, differentiable in its limits and parameters."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ShapeError, TracingError
from primad.functional.control.mapping import vmap
from primad.functional.control.while_loops import while_rows
from primad.functional.recorded_values import stop_gradient
from primad.integrate.run_checks import converged
from primad.recording.foreign import plain
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import check_function
from primad.system.tracebacks import entrance

__all__ = ["quad"]

Function = Callable[..., Any]


@entrance
def quad(
    func: Function,
    a: Any,
    b: Any,
    args: Any = (),
    *,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Sequence[Any] | None = None,
    **unknown: Any,
) -> tuple[Any, Any]:
    """Integrate a function of one variable from `a` to `b`.

    The interval is halved where the error is largest, by the rule of Gauss and Kronrod with 21 points. Where it is
    halved, in shares of the whole, is a constant to derivatives: what is differentiated is the sum that was computed.
    So it is differentiable in `a`, `b`, `args` and what `func` closes over, in both modes and to any order. Where the
    integrand has a kink, derivatives in the limits have fewer digits than the integral.

    Args:
        func: `(x, *args) -> number`, in NumPy; it is recorded once.
        a: where to begin. An infinite limit must be a Python number.
        b: where to end.
        args: further arguments of `func`; one that is no tuple is the only one, as in SciPy.
        epsabs: absolute tolerance.
        epsrel: relative tolerance; one of the two suffices.
        limit: the most intervals.
        points: where the integrand has kinks or jumps, in order from `a` to `b`: each part is integrated on its own, to
            its share of `epsabs`. Of numbers, those outside are left out.
        **unknown: SciPy's other options are refused: a weight, for one, is a factor of `func`.

    Returns:
        the integral, and an estimate of its error.

    Raises:
        ShapeError: if the integrand is no number.
        TracingError: for another option, with what to do instead.
        StepsError: if the estimate is too large after `limit` intervals, or the integrand is not finite: where.

    Example:
        >>> import numpy as np, primad
        >>> from primad.integrate import quad
        >>> bell = lambda width: quad(lambda x: np.exp(-((x / width) ** 2)), -np.inf, np.inf)[0]
        >>> round(bell(2.0) ** 2 / 4, 12), round(primad.grad(bell)(2.0) ** 2, 12)
        (np.float64(3.14159265359), np.float64(3.14159265359))
    """
    check_function(func, "quad: ")
    for name in unknown:
        raise TracingError(f"quad: there is no option {name!r}", fix=OPTIONS.get(name, "pass none of this name."))
    if points is not None:
        ends = _parts(a, b, points)
        tolerance = epsabs / (len(ends) - 1)
        found = [
            quad(func, *part, args, epsabs=tolerance, epsrel=epsrel, limit=limit) for part in itertools.pairwise(ends)
        ]
        return functools.reduce(lambda x, y: (x[0] + y[0], x[1] + y[1]), found)
    args = args if isinstance(args, tuple) else (args,)
    limit = operator.index(limit)
    if limit < 1:
        raise ShapeError(f"quad: limit must be at least 1, got {limit}", fix="leave it out for 50 subintervals.")
    start, stop = (x if isinstance(x, TracedArray) else plain(x, np.float64)[()] for x in (a, b))

    def value(x: Any) -> Any:
        found = func(x, *args)
        if np.shape(found) != ():
            raise ShapeError(f"quad: func returns the shape {np.shape(found)}", fix="integrate one number at a time.")
        return found

    integrand, start, stop = _finite(value, start, stop)
    nodes, weights, coarse = _rule()
    width = stop - start

    def on(left: Any, length: Any) -> tuple[Any, Any]:
        """The integral over a part of the interval, given in shares of it, and an estimate of its error."""
        values = vmap(integrand)(start + width * (left + length * nodes))
        found = width * length * np.sum(weights * values)
        return found, np.abs(found - width * length * np.sum(coarse * values))

    with np.errstate(all="ignore"):  # of plain arguments, as in programs
        return _summed(on, start, width, epsabs, epsrel, limit)


OPTIONS = {
    "weight": "multiply func by the weight.",
    "wvar": "multiply func by the weight.",
    "full_output": "the result is the integral and an estimate of its error.",
    "complex_func": "leave it out: an integrand may be complex.",
}
"""What to do instead of giving an option of SciPy's."""


def _parts(a: Any, b: Any, points: Sequence[Any]) -> list[Any]:
    """Return the ends of parts, from the first to the last."""
    inner = [x if isinstance(x, TracedArray) else float(x) for x in points]
    if not any(isinstance(x, TracedArray) for x in (a, b, *inner)):
        low, high = sorted((float(a), float(b)))
        inner = sorted({x for x in inner if low < x < high}, reverse=bool(a > b))
    return [a, *inner, b]


def _summed(on: Function, start: Any, width: Any, epsabs: float, epsrel: float, limit: int) -> tuple[Any, Any]:
    """Return the integral and the estimate of its error, from integrals over parts of the interval."""
    left, length, found, error = stop_gradient(_intervals(on, epsabs, epsrel, limit))
    total = np.sum(error)
    worst = np.argmax(np.where(np.isfinite(error), error, np.inf))
    allowed = np.maximum(epsabs, epsrel * np.abs(np.sum(found)))
    ends = [
        stop_gradient(start + width * (pnp.take(left, worst) + share * pnp.take(length, worst))) for share in (0, 1)
    ]
    good = converged(total, allowed, *ends, np.int64(limit))
    used = length > 0
    parts, _ = vmap(on)(np.where(used, left, left[0]), np.where(used, length, length[0]))
    return np.where(good, np.sum(np.where(used, parts, 0.0)), np.nan)[()], total


def _finite(integrand: Function, start: Any, stop: Any) -> tuple[Function, Any, Any]:
    """Return an integrand and limits without infinite ones: x is t/(1 − t²), or beyond a limit t/(1 − t)."""
    first, last = (not isinstance(x, TracedArray) and bool(np.isinf(x)) for x in (start, stop))
    if first and last:
        ends = [np.float64(np.sign(x)) for x in (start, stop)]
        return lambda t: integrand(t / (1 - t * t)) * (1 + t * t) / (1 - t * t) ** 2, ends[0], ends[1]
    if not first and not last:
        return integrand, start, stop
    end, sign = (stop, np.sign(start)) if first else (start, np.sign(stop))

    def beyond(t: Any) -> Any:
        return sign * integrand(end + sign * t / (1 - t)) / (1 - t) ** 2

    return beyond, np.float64(first), np.float64(last)


def _intervals(on: Function, epsabs: float, epsrel: float, limit: int) -> tuple[Any, Any, Any, Any]:
    """Halve the interval with the largest error until the sum of all is small enough.

    Returns:
        where intervals begin and how long they are, in shares of the whole; integrals over them; their errors. What is
        behind the last interval has no length.
    """
    value, error = on(np.float64(0.0), np.float64(1.0))
    places = np.arange(limit)
    first = places == 0
    begun = {
        "count": np.int64(1), "left": np.zeros(limit), "length": np.where(first, 1.0, 0.0),
        "value": np.where(first, value, 0.0), "error": np.where(first, error, 0.0),
    }  # fmt: skip

    def goes_on(state: Any) -> Any:
        total = np.sum(state["error"])
        allowed = np.maximum(epsabs, epsrel * np.abs(np.sum(state["value"])))
        return (total > allowed) & (state["count"] < limit)

    def halve(state: Any) -> Any:
        worst = np.argmax(state["error"])
        half = pnp.take(state["length"], worst) / 2
        left = pnp.take(state["left"], worst)
        values, errors = vmap(on)(pnp.stack([left, left + half]), pnp.stack([half, half]))

        def put(old: Any, first: Any, second: Any) -> Any:
            return np.where(places == worst, first, np.where(places == state["count"], second, old))

        after = {
            "count": state["count"] + 1,
            "left": put(state["left"], left, left + half),
            "length": put(state["length"], half, half),
            "value": put(state["value"], values[0], values[1]),
            "error": put(state["error"], errors[0], errors[1]),
        }
        return after, None

    _, state, _ = while_rows(goes_on, halve, begun, limit)
    return state["left"], state["length"], state["value"], state["error"]


@cache
def _rule() -> tuple[Any, Any, Any]:
    """Return the nodes of Gauss and Kronrod's rule on [0, 1], its weights, and those of Gauss's rule in it."""
    from scipy.integrate import quad_vec  # loads when it is called

    found: list[float] = []

    def noted(x: float) -> float:
        found.append(x)
        return 0.0

    quad_vec(noted, -1.0, 1.0, quadrature="gk21")
    nodes = np.sort(found[:21])  # it goes on with parts of the interval
    moments = np.zeros(len(nodes))
    moments[0] = 2.0
    weights = np.linalg.solve(np.polynomial.legendre.legvander(nodes, len(nodes) - 1).T, moments)
    coarse = np.zeros(len(nodes))
    coarse[1::2] = np.polynomial.legendre.leggauss(len(nodes) // 2)[1]
    return (nodes + 1) / 2, weights / 2, coarse / 2
