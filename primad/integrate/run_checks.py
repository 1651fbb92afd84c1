"""What can only be seen when an integration runs: values that were not reached, integrals that do not converge.

Each check is a callback that raises or returns True. The results are selected by that truth value, so the check stays
in the program, and runs, also where only a derivative is computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.errors import StepsError
from primad.functional.rules.opaque import opaque
from primad.ir.array_types import ArrayType

TRUTH = ArrayType((), np.bool_)


@opaque(result=TRUTH, name="reached")
def reached(inside: Any, times: Any, status: Any, t: Any, component: Any) -> Any:
    """Return True if the values at all times are known.

    Raises:
        StepsError: with the time at which the path ends, and the component of the value to blame.
    """
    missing = np.flatnonzero(~np.asarray(inside))
    if not len(missing):
        return np.True_
    time = np.ravel(times)[missing[0]]
    if status < 0:
        raise StepsError(
            f"solve_ivp: the value at t = {time:.16g} is not reached: {stopped(t, component)}",
            why="The solution may not exist there, or the slope is not defined: its derivative would be 0.",
            fix="ask for earlier times in t_eval, or look at success and message outside of transforms.",
        )
    where = f"an event ends the path at t = {t:.16g}" if status > 0 else "it lies outside of t_span"
    raise StepsError(
        f"solve_ivp: the value at t = {time:.16g} is not reached: {where}",
        fix="ask for times between in t_eval.",
    )


def stopped(t: float, component: int) -> str:
    """Say where and why the steps became too short."""
    at = f"at t = {t:.16g}"
    if component < 0:
        return f"Required step size is too small {at}: component {-1 - component} of the slope is not finite."
    return f"Required step size is too small {at}: component {component} changes fastest."


@opaque(result=TRUTH, name="enough")
def enough(unfinished: Any, t: Any, stop: Any, most: Any) -> Any:
    """Return True if the steps that may be taken were enough.

    Raises:
        StepsError: with the time at which the last one ends.
    """
    if not unfinished:
        return np.True_
    raise StepsError(
        f"solve_ivp: t = {stop:.16g} is not reached in max_steps={int(most)} steps; the last ends at {t:.16g}",
        fix="take a method for stiff systems ('RODAS4'), larger tolerances, or pass max_steps=100_000.",
    )


@opaque(result=TRUTH, name="single")
def single(count: Any) -> Any:
    """Return True if there is one event at most.

    Raises:
        StepsError: with the number of events.
    """
    if count <= 1:
        return np.True_
    raise StepsError(
        f"solve_ivp: an event happens {int(count)} times, and inside of a transform only one of them would be returned",
        why="Shapes of results do not depend on values there.",
        fix=f"pass max_events={int(count)} (times that do not happen are NaN), or max_events=1 for the first.",
    )


@opaque(result=TRUTH, name="converged")
def converged(error: Any, allowed: Any, left: Any, right: Any, limit: Any) -> Any:
    """Return True if the estimate of an integral's error is small enough.

    Raises:
        StepsError: naming where the integrand is not finite, or changes too fast.
    """
    if error <= allowed:
        return np.True_
    place = f"between {left:.6g} and {right:.6g}"
    if not np.isfinite(error):
        raise StepsError(f"quad: the integrand is not finite {place}", fix="split the interval there, or substitute.")
    raise StepsError(
        f"quad: the error is estimated as {error:.3g} after {int(limit)} intervals, which is more than {allowed:.3g}",
        why=f"The integrand changes fastest {place}.",
        fix="split the interval there, pass a greater limit, or larger epsabs and epsrel.",
    )
