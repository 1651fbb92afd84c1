"""What solve_ivp is given, looked at before anything runs: what cannot be integrated is refused with a way out."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from primad.errors import ShapeError, TracingError, suggestion
from primad.ir.array_types import is_complex
from primad.numpy.promotion import joined
from primad.recording import tree
from primad.recording.foreign import plain
from primad.recording.traced_array import TracedArray, settled

OF_SCIPY = "primad.optimize.solve_ivp calls SciPy's, which is not differentiable."
INSTEAD = {
    "Radau": f"take 'RODAS4', which is for stiff systems too; {OF_SCIPY}",
    "BDF": f"take 'RODAS4', which is for stiff systems too; {OF_SCIPY}",
    "LSODA": f"take 'RODAS4' for stiff systems, 'DOP853' for others; {OF_SCIPY}",
    "RK23": f"take 'RK45'; {OF_SCIPY}",
}
"""What to take in place of SciPy's methods that are missing."""
OPTIONS = {
    "jac": "leave jac out: the methods for stiff systems take the exact Jacobian of fun.",
    "jac_sparsity": "leave jac_sparsity out: the Jacobian is exact, not made of differences.",
    "lband": "leave lband out: the Jacobian is exact, and a whole matrix.",
    "uband": "leave uband out: the Jacobian is exact, and a whole matrix.",
    "min_step": "leave min_step out: a step that becomes too short ends the path, and the message says where.",
}
"""What to do in place of SciPy's options that are missing."""


def is_plain(*values: Any) -> bool:
    """Say whether there is no traced array among values."""
    return not any(isinstance(leaf, TracedArray) for leaf in tree.leaves(values))


def as_floats(value: Any) -> Any:
    """Return a number, an array, or a list of numbers, traced or not, as an array of floats of 64 bits."""
    found = settled(joined(value))
    if not isinstance(found, TracedArray):
        return plain(found, np.float64)
    return found if found.dtype == np.float64 else found.astype(np.float64)


def as_numbers(value: Any) -> Any:
    """Return a number, an array or a list as an array of floats, or of complex numbers where it has some."""
    found = settled(joined(value))
    found = found if isinstance(found, TracedArray) else plain(found)
    return found.astype(np.complex128) if is_complex(found.dtype) else as_floats(found)


def as_slope(found: Any, y: Any) -> Any:
    """Return what a slope's function gave, in numbers of the kind that the value has.

    Raises:
        TracingError: where the slope is complex and the value real.
    """
    found = as_numbers(found)
    if is_complex(found.dtype) and not is_complex(y.dtype):
        raise TracingError(
            "solve_ivp: fun returns complex numbers for a value of real ones",
            fix="begin with complex numbers: np.asarray(y0, complex).",
        )
    return found if found.dtype == y.dtype else found.astype(y.dtype)


def check_method(method: Any, known: Sequence[str]) -> None:
    """Refuse a method that is not known.

    Raises:
        TracingError: with the one to take.
    """
    if isinstance(method, str) and method in known:
        return
    name = method if isinstance(method, str) else getattr(method, "__name__", "")
    fix = INSTEAD.get(name) or (f"pass the name: method={name!r}." if name in known else suggestion(name, known))
    raise TracingError(f"solve_ivp: there is no method {method!r}", fix=fix or f"choose from {list(known)}.")


def check_options(given: Mapping[str, Any]) -> None:
    """Refuse options that are not known.

    Raises:
        TracingError: with what to do instead.
    """
    for name in given:
        known = ("rtol", "atol", "first_step", "max_step", "steps", "max_steps", "max_events")
        fix = OPTIONS.get(name) or suggestion(name, known) or f"the options are {', '.join(known)}."
        raise TracingError(f"solve_ivp: there is no option {name!r}", fix=fix)


def checked_args(args: Any) -> tuple[Any, ...]:
    """Return further arguments as a tuple: those that SciPy would pass on, the elements of an array too.

    Raises:
        TracingError: if they are none, as a number is not.
    """
    if args is None:
        return ()
    several = isinstance(args, (tuple, list)) or (isinstance(args, (np.ndarray, TracedArray)) and len(args.shape) > 0)
    if not several:
        raise TracingError(f"solve_ivp: args is a tuple, got {type(args).__name__}", fix="write args=(value,).")
    return tuple(args)


def checked_start(t_span: Sequence[Any], y0: Any) -> tuple[Any, Any, Any]:
    """Return the times at which to begin and to end, and the value at the beginning.

    Raises:
        ShapeError: if the times are not two and finite, or the value is no array with one axis.
        TracingError: if a time is not a real number, or the value not made of numbers.
    """
    if len(t_span) != 2:
        raise ShapeError(f"solve_ivp: t_span must be two times, got {len(t_span)}", fix="pass further times as t_eval.")
    start, stop = (as_floats(t)[()] for t in t_span)
    y0 = as_numbers(y0)
    if len(y0.shape) != 1:
        raise ShapeError(
            f"solve_ivp: y0 must have one axis, its shape is {y0.shape}",
            fix="np.ravel joins its axes." if y0.shape else "write [value] for one number.",
        )
    if not y0.size:
        raise ShapeError("solve_ivp: y0 is empty", fix="give a start value for each component, at least one.")
    if not all(np.isfinite(t) for t in (start, stop) if is_plain(t)):
        raise ShapeError(
            f"solve_ivp: t_span must be finite, got {start} to {stop}",
            fix="end where the solution does not change any more: an event of the slope finds the time.",
        )
    return start, stop, y0


def check_times(t_eval: Any, start: Any, stop: Any) -> None:
    """Refuse times, an array, outside of an interval, where they are known.

    Raises:
        ShapeError: with the first such time.
    """
    if t_eval is None or not is_plain(t_eval, start, stop):
        return
    times = t_eval
    if times.ndim != 1:
        raise ShapeError(f"solve_ivp: t_eval must have one axis, its shape is {times.shape}", fix="pass t_eval=[time].")
    outside = ~((times >= min(start, stop)) & (times <= max(start, stop)))
    if outside.any():
        raise ShapeError(
            f"solve_ivp: {times[outside][0]:.16g} in t_eval lies outside of t_span, {start:.16g} to {stop:.16g}",
            fix="integrate over a longer t_span.",
        )


def checked_tolerances(rtol: Any, atol: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return tolerances: numbers, or one for each component.

    Raises:
        ShapeError: if one is negative, or has another shape, or both are 0.
    """
    found = []
    for name, value in (("rtol", rtol), ("atol", atol)):
        array = plain(value, np.float64)
        if array.shape not in ((), (1,), shape):
            raise ShapeError(
                f"solve_ivp: {name} has the shape {array.shape} for a value of shape {shape}",
                fix="give one number, or one for each component of y0.",
            )
        if not np.all(array >= 0):
            raise ShapeError(
                f"solve_ivp: {name} must be zero or more, got {value}", fix="write a small positive number, as 1e-6."
            )
        found.append(array[()])
    if np.any(found[0] + found[1] == 0):
        raise ShapeError("solve_ivp: rtol and atol are both 0, which no step meets", fix="pass rtol=1e-10, say.")
    return found[0], found[1]


def check_lengths(longest: Any, first: Any) -> None:
    """Refuse lengths of steps that are not positive.

    Raises:
        ShapeError: with the one that is not.
    """
    if not np.all(np.asarray(longest) > 0):
        raise ShapeError(
            f"solve_ivp: max_step must be positive, got {longest}", fix="leave it out for steps of any length."
        )
    if first is not None and is_plain(first) and not first > 0:
        raise ShapeError(f"solve_ivp: first_step must be positive, got {first}", fix="leave it out: it is chosen then.")


def checked_count(steps: int | None) -> int:
    """Return the number of steps.

    Raises:
        ShapeError: if there is none.
    """
    if steps is None or operator.index(steps) < 1:
        raise ShapeError(
            f"solve_ivp: the method RK4 needs the number of steps, got {steps}", fix="pass steps=100, say."
        )
    return operator.index(steps)
