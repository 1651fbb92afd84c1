"""Short Fourier transforms in parts: so a loop with such a transform in its step is one native function."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import ops
from primad.native.complex_numbers.parts import Parts, Real, product, scaled, turned, turned_back
from primad.recording.traced_array import TracedArray

LONGEST = 4096
"""Numbers of a transform that is written in parts, at most. Chosen: its passes stay in a core's second cache; SciPy's
transforms have fewer passes over memory."""


def is_short(length: int) -> bool:
    """Say whether a transform of a length is written: of powers of two."""
    return 2 <= length <= LONGEST and length & (length - 1) == 0


def fft(z: Parts, *, axes: tuple[int, ...], inverse: bool, norm: str) -> Parts:
    """Return discrete Fourier transforms along axes."""
    count = 1
    for axis in axes:
        count *= z.real.shape[axis]
        z = _along(z, axis, inverse)
    power = {"backward": inverse, "forward": not inverse, "ortho": 0.5}[norm]
    return scaled(z, float(count) ** -power) if power else z


def _along(z: Parts, axis: int, inverse: bool) -> Parts:
    """Return transforms along an axis, without a factor.

    Source: T. G. Stockham, "High-speed convolution and correlation", Proceedings of the Spring Joint Computer
    Conference (1966), in passes of four where the length allows it: numbers come out in order.
    """
    shape = z.real.shape
    last = len(shape) - 1
    order = (*[i for i in range(last + 1) if i != axis], axis)
    z = _each(z, lambda x: ops.permute(x, order=order))
    lead, length = z.real.shape[:-1], shape[axis]
    left, done = length, 1
    z = _each(z, lambda x: ops.reshape(x, shape=(*lead, left, done)))
    while left > 1:
        radix = 4 if left % 4 == 0 else 2
        rows = left // radix
        taken = [_each(z, lambda x, k=k: _rows(x, k * rows, rows)) for k in range(radix)]
        joined = _small(taken, inverse)
        if rows > 1:
            joined = [joined[0], *[product(y, _turns(y, k, left, inverse)) for k, y in enumerate(joined) if k]]
        beside = [_each(y, lambda x: ops.reshape(x, shape=(*lead, rows, 1, done))) for y in joined]
        whole = Parts(*[ops.concatenate(*[y[i] for y in beside], axis=last + 1) for i in range(2)])
        left, done = rows, done * radix
        z = _each(whole, lambda x: ops.reshape(x, shape=(*lead, left, done)))
    z = _each(z, lambda x: ops.reshape(x, shape=(*lead, length)))
    back = tuple(np.argsort(order).tolist())
    return _each(z, lambda x: ops.permute(x, order=back))


def _each(z: Parts, apply: Any) -> Parts:
    return Parts(apply(z.real), apply(z.imag))


def _rows(x: Real, first: int, count: int) -> Real:
    """Return some rows along the last axis but one."""
    *lead, _, width = x.shape
    start, stop = (*[0] * len(lead), first, 0), (*lead, first + count, width)
    return ops.slice_(x, start=start, stop=stop, step=(1,) * len(stop))


def _small(x: list[Parts], inverse: bool) -> list[Parts]:
    """Return the transform of two numbers, or of four."""
    if len(x) == 2:
        return [_sum(x[0], x[1]), _difference(x[0], x[1])]
    even, odd = _sum(x[0], x[2]), _sum(x[1], x[3])
    across = _difference(x[1], x[3])
    across = turned(across) if inverse else turned_back(across)
    apart = _difference(x[0], x[2])
    return [_sum(even, odd), _sum(apart, across), _difference(even, odd), _difference(apart, across)]


def _sum(x: Parts, y: Parts) -> Parts:
    return Parts(x.real + y.real, x.imag + y.imag)


def _difference(x: Parts, y: Parts) -> Parts:
    return Parts(x.real - y.real, x.imag - y.imag)


def _turns(like: Parts, k: int, length: int, inverse: bool) -> Parts:
    """Return the factors of row p: exp(∓2πi·k·p/length)."""
    shape = like.real.shape
    rows = shape[-2]
    places = k * np.arange(rows) % length
    found = np.exp((2j if inverse else -2j) * np.pi * places / length)
    trace = like.real.node.trace
    axes = tuple([i for i in range(len(shape)) if i != len(shape) - 2])

    def part(values: Any) -> Real:
        known = TracedArray(trace.capture(np.ascontiguousarray(values, like.real.dtype)))
        return ops.broadcast(known, shape=shape, axes=axes)

    return Parts(part(found.real), part(found.imag))
