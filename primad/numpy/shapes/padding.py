"""numpy.pad: what goes around an array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.numpy.axis_arguments import normalize_axis
from primad.numpy.elementwise.rounding import around
from primad.numpy.promotion import any_traced, as_traced, convert, expand, implements, joined, traced_operands
from primad.numpy.reduce.largest import max, min
from primad.numpy.reduce.quantiles import median
from primad.numpy.reduce.reductions import mean
from primad.numpy.shapes.creation import linspace
from primad.numpy.shapes.shaping import concatenate, flip, moveaxis, reshape
from primad.recording.traced_array import TracedArray

__all__ = ["pad"]

_PLACED = ("edge", "reflect", "symmetric", "wrap")
"""Modes in which each element that goes around is one of the array's."""
_OPTIONS = {
    "constant": {"constant_values"}, "linear_ramp": {"end_values"}, "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"}, "maximum": {"stat_length"}, "mean": {"stat_length"}, "minimum": {"stat_length"},
    "median": {"stat_length"}, "edge": set(), "wrap": set(), "empty": set(),
}  # fmt: skip


@implements(np.pad)
def pad(x: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Any:
    """np.pad with every mode of NumPy's that has a name.

    Constants may be traced: one, or as many as `constant_values` takes.
    """
    if mode not in _OPTIONS or kwargs.keys() - _OPTIONS[mode]:
        raise ShapeError(
            f"pad: mode {mode!r} with {sorted(kwargs) or 'no options'} is not supported on traced arrays",
            fix=f"{', '.join(map(repr, _OPTIONS))} are modes, each with its options;"
            " np.concatenate joins what else goes around.",
        )
    constants = kwargs.get("constant_values", 0)
    x = traced_operands(x, constants)[0]
    if isinstance(pad_width, dict):
        named = {normalize_axis("pad", axis, x.ndim): width for axis, width in pad_width.items()}
        pad_width = [np.broadcast_to(named.get(axis, 0), 2) for axis in range(x.ndim)]
    widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)).tolist()
    if mode in _PLACED and kwargs.get("reflect_type", "even") == "even":
        if all(min(ends) >= 0 and max(ends) <= _widest(mode, n) for ends, n in zip(widths, x.shape, strict=True)):
            for axis, (low, high) in enumerate(widths):
                x = concatenate(_around(x, axis, low, high, mode), axis) if low or high else x
            return x
        places = np.pad(np.arange(x.size).reshape(x.shape), widths, mode)  # type: ignore[call-overload]
        return ops.gather(reshape(x, (x.size,)), as_traced(places, x), axis=0, batch=0)
    if mode in ("constant", "empty"):
        return _with_constants(x, widths, constants)
    for axis, (low, high) in enumerate(widths):
        here = {key: value if key == "reflect_type" or value is None else np.broadcast_to(value, (x.ndim, 2))[axis]
                for key, value in kwargs.items()}  # fmt: skip
        if low or high:
            x = _ALONG[mode](x, axis, low, high, mode, here)
    return x


def _widest(mode: str, length: int) -> float:
    """Return how wide an end may be for its elements to be one part of an axis."""
    return {"edge": math.inf if length else 0, "reflect": length - 1}.get(mode, length)


def _around(x: Any, axis: int, low: int, high: int, mode: str) -> list[Any]:
    """Return an array and what is put before and behind it along an axis: views of its own parts."""
    length = x.shape[axis]

    def part(start: int, stop: int) -> Any:
        return x[(*[slice(None)] * axis, slice(start, stop))]

    if mode == "edge":
        shapes = [(*x.shape[:axis], count, *x.shape[axis + 1 :]) for count in (low, high)]
        ends = [expand(part(0, 1), shapes[0]), expand(part(length - 1, length), shapes[1])]
    elif mode == "wrap":
        ends = [part(length - low, length), part(0, high)]
    else:
        kept = int(mode == "reflect")
        ends = [flip(part(kept, kept + low), axis), flip(part(length - kept - high, length - kept), axis)]
    return [end for end, count in ((ends[0], low), (x, 1), (ends[1], high)) if count]


def _with_constants(x: Any, widths: list[list[int]], constants: Any) -> Any:
    low, high = tuple(a for a, _ in widths), tuple(b for _, b in widths)
    constants = joined(constants)
    if isinstance(constants, TracedArray) and constants.ndim:
        values = expand(convert(constants, x.dtype), (x.ndim, 2))
        for axis, count in enumerate(zip(low, high, strict=True)):
            ends = [expand(values[axis, i], (*x.shape[:axis], count[i], *x.shape[axis + 1 :])) for i in (0, 1)]
            x = concatenate([ends[0], x, ends[1]], axis)
        return x
    padded = ops.pad(x, low=low, high=high, interior=(0,) * x.ndim)
    if any_traced([constants]):
        around = expand(convert(constants, x.dtype), padded.shape)
    elif np.ndim(constants) == 0 and constants == 0:
        return padded
    else:
        around = as_traced(np.pad(np.zeros(x.shape, x.dtype), widths, constant_values=constants), x)
    inside = np.pad(np.ones(x.shape, bool), widths)
    return ops.select(as_traced(inside, x), padded, around)


def _with_statistics(x: Any, axis: int, low: int, high: int, mode: str, options: Any) -> Any:
    """Put a statistic of the first and the last elements along an axis around it."""
    length = x.shape[axis]
    counts = options.get("stat_length")
    first, last = (length, length) if counts is None else np.minimum(counts, length).tolist()
    rows, statistic = moveaxis(x, axis, 0), _STATISTICS[mode]
    ends = []
    for part, count in ((rows[:first], low), (rows[length - last :], high)):
        found = statistic(part, 0, keepdims=True)
        found = around(found) if x.dtype.kind in "iu" else found
        ends.append(expand(convert(found, x.dtype), (count, *rows.shape[1:])))
    return moveaxis(concatenate([ends[0], rows, ends[1]]), 0, axis)


def _with_ramps(x: Any, axis: int, low: int, high: int, mode: str, options: Any) -> Any:
    """Put even steps from given ends to the first and from the last element along an axis around it."""
    rows, (start, stop) = moveaxis(x, axis, 0), options.get("end_values", (0, 0))
    before = linspace(start, rows[0], low, endpoint=False, dtype=x.dtype)
    after = flip(linspace(stop, rows[-1], high, endpoint=False, dtype=x.dtype), 0)
    return moveaxis(concatenate([before, rows, after]), 0, axis)


def _with_odd_reflections(x: Any, axis: int, low: int, high: int, mode: str, options: Any) -> Any:
    """Put what is reflected in the point at each end of an axis around it, as often as the widths ask for."""
    rows, on_edge = moveaxis(x, axis, 0), int(mode == "symmetric")
    period = len(rows) - 1 + on_edge
    if len(rows) == 1:
        return moveaxis(expand(rows, (low + 1 + high, *rows.shape[1:])), 0, axis)
    while low or high:
        length = len(rows) - 1 + on_edge
        whole = length // period * period  # only a multiple of what was given is reflected
        a, b = np.minimum((low, high), whole).tolist()
        before = 2 * rows[:1] - flip(rows[1 - on_edge : 1 - on_edge + a], 0)
        after = 2 * rows[-1:] - flip(rows[length - b : length], 0)
        rows = convert(concatenate([before, rows, after]), x.dtype)
        low, high = low - a, high - b
    return moveaxis(rows, 0, axis)


_STATISTICS = {"maximum": max, "minimum": min, "mean": mean, "median": median}
_ALONG = {
    **dict.fromkeys(_STATISTICS, _with_statistics), "linear_ramp": _with_ramps, "reflect": _with_odd_reflections,
    "symmetric": _with_odd_reflections,
}  # fmt: skip
