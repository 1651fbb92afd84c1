"""Short Fourier transforms in parts: so a loop with such a transform in its step is one native function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.native.complex_numbers.complex_arithmetic import Parts, Real, product, scaled, turned, turned_back
from primad.recording.traced_array import TracedArray
from primad.system.machine import SECOND_CACHE

MOST = SECOND_CACHE.share(1, 8) // 16
"""Complex numbers of all transforms of an array together, at most: their passes stay in a core's second cache, and of
longer arrays SciPy reads each number less often. The last bits of results depend on it."""


def are_short(lengths: Sequence[int], size: int) -> bool:
    """Say whether transforms of these lengths, of an array of so many complex numbers, are written: powers of two."""
    return 0 < size <= MOST and all(n >= 2 and n & (n - 1) == 0 for n in lengths)


def fft(z: Parts, *, axes: tuple[int, ...], inverse: bool, norm: str) -> Parts:
    """Return discrete Fourier transforms along axes."""
    count = 1
    for axis in axes:
        count *= z.real.shape[axis]
        z = _last(_transform(_last(z, axis), inverse), axis, back=True)
    return _normalised(z, count, inverse, norm)


def rfft(x: Real, *, axis: int, norm: str) -> Parts:
    """Return the transform of an even number of real numbers: that of half as many pairs of them, taken apart.

    Source: H. V. Sorensen et al., "Real-valued fast Fourier transform algorithms", IEEE Transactions on Acoustics,
    Speech, and Signal Processing 35 (1987).
    """
    (x,) = _last((x,), axis)
    n = x.shape[-1]
    pairs = ops.reshape(x, shape=(*x.shape[:-1], n // 2, 2))
    z = _transform(Parts(*[_only(pairs, k) for k in range(2)]), False)
    z = Parts(*[ops.concatenate(part, _piece(part, 0, 1), axis=x.ndim - 1) for part in z])
    even, odd = _halves(z)
    found = scaled(_sum(even, product(turned_back(odd), _turns(odd, -1, 1, n, False))), 0.5)
    return _normalised(_last(found, axis, back=True), n, False, norm)


def irfft(z: Parts, *, axis: int, n: int, norm: str) -> Real:
    """Return the even number of real numbers of which this is the transform, as half as many pairs."""
    z = _last(z, axis)
    shape, half = z.real.shape, n // 2
    ends = {"low": (*[0] * (len(shape) - 1), 1), "high": (*[0] * (len(shape) - 1), 1), "interior": (0,) * len(shape)}
    z = Parts(z.real, ops.pad(_piece(z.imag, 1, half), **ends))  # the ends stand for real numbers
    even, odd = _halves(z)
    whole = _sum(even, product(turned(odd), _turns(odd, -1, 1, n, True)))
    found = _transform(_each(whole, lambda x: _piece(x, 0, half)), True)
    pairs = [ops.reshape(x, shape=(*shape[:-1], half, 1)) for x in found]
    x = ops.reshape(ops.concatenate(*pairs, axis=len(shape)), shape=(*shape[:-1], n))
    (x,) = _last((x,), axis, back=True)
    power = {"backward": 1.0, "forward": 0.0, "ortho": 0.5}[norm]
    return x * float(n) ** -power if power else x


def _normalised(z: Parts, count: int, inverse: bool, norm: str) -> Parts:
    power = {"backward": float(inverse), "forward": float(not inverse), "ortho": 0.5}[norm]
    return scaled(z, float(count) ** -power) if power else z


def _halves(z: Parts) -> tuple[Parts, Parts]:
    """Return the sum of numbers and the conjugates of those from the end, and the difference."""
    last = z.real.ndim - 1
    other = _each(z, lambda x: ops.flip(x, axes=(last,)))
    other = Parts(other.real, -other.imag)
    return _sum(z, other), _difference(z, other)


def _last(z: Any, axis: int, back: bool = False) -> Any:
    """Return arrays with an axis moved to the end, or from there."""
    n = z[0].ndim
    order = (*[i for i in range(n) if i != axis], axis)
    if axis == n - 1:
        return z
    order = tuple(np.argsort(order).tolist()) if back else order
    moved = [ops.permute(x, order=order) for x in z]
    return Parts(*moved) if isinstance(z, Parts) else tuple(moved)


def _transform(z: Parts, inverse: bool) -> Parts:
    """Return transforms along the last axis, without a factor.

    With real and imaginary parts exchanged before and after, a transform is its inverse: one text serves both.

    Source: T. G. Stockham, "High-speed convolution and correlation", Proceedings of the Spring Joint Computer
    Conference (1966), in passes of four where the length allows it: numbers come out in order.
    """
    if inverse:
        return _exchanged(_transform(_exchanged(z), False))
    *lead, length = z.real.shape
    left, done = length, 1
    z = _reshaped(z, (*lead, left, done))
    while left > 1:
        radix = 4 if left % 4 == 0 else 2
        rows = left // radix
        joined = _small([_rows(z, k * rows, rows) for k in range(radix)])
        if rows > 1:
            joined = [joined[0], *[product(y, _turns(y, -2, k, left, False)) for k, y in enumerate(joined) if k]]
        beside = [_reshaped(y, (*lead, rows, 1, done)) for y in joined]
        whole = Parts(*[ops.concatenate(*[y[i] for y in beside], axis=len(lead) + 1) for i in range(2)])
        left, done = rows, done * radix
        z = _reshaped(whole, (*lead, left, done))
    return _reshaped(z, (*lead, length))


def _exchanged(z: Parts) -> Parts:
    return Parts(z.imag, z.real)


def _each(z: Parts, apply: Callable[[Real], Real]) -> Parts:
    return Parts(apply(z.real), apply(z.imag))


def _reshaped(z: Parts, shape: tuple[int, ...]) -> Parts:
    return _each(z, lambda x: ops.reshape(x, shape=shape))


def _rows(z: Parts, first: int, count: int) -> Parts:
    """Return some rows along the last axis but one."""
    *lead, _, width = z.real.shape
    start, stop = (*[0] * len(lead), first, 0), (*lead, first + count, width)
    return _each(z, lambda x: ops.slice_(x, start=start, stop=stop, step=(1,) * len(stop)))


def _piece(x: Real, first: int, end: int) -> Real:
    """Return some elements along the last axis."""
    *lead, _ = x.shape
    return ops.slice_(x, start=(*[0] * len(lead), first), stop=(*lead, end), step=(1,) * x.ndim)


def _only(x: Real, place: int) -> Real:
    """Return one element along the last axis, without that axis."""
    return ops.reshape(_piece(x, place, place + 1), shape=x.shape[:-1])


def _small(x: list[Parts]) -> list[Parts]:
    """Return the transform of two numbers, or of four."""
    if len(x) == 2:
        return [_sum(x[0], x[1]), _difference(x[0], x[1])]
    even, odd = _sum(x[0], x[2]), _sum(x[1], x[3])
    across = turned_back(_difference(x[1], x[3]))
    apart = _difference(x[0], x[2])
    return [_sum(even, odd), _sum(apart, across), _difference(even, odd), _difference(apart, across)]


def _sum(x: Parts, y: Parts) -> Parts:
    return Parts(x.real + y.real, x.imag + y.imag)


def _difference(x: Parts, y: Parts) -> Parts:
    return Parts(x.real - y.real, x.imag - y.imag)


def _turns(like: Parts, axis: int, k: int, length: int, inverse: bool) -> Parts:
    """Return the factors at place p along an axis: exp(∓2πi·k·p/length)."""
    shape = like.real.shape
    rows = shape[axis]
    places = k * np.arange(rows) % length
    found = np.exp((2j if inverse else -2j) * np.pi * places / length)
    trace = like.real.node.trace
    axes = tuple([i for i in range(len(shape)) if i != len(shape) + axis])

    def part(values: Any) -> Real:
        known = TracedArray(trace.capture(np.ascontiguousarray(values, like.real.dtype)))
        return ops.broadcast(known, shape=shape, axes=axes)

    return Parts(part(found.real), part(found.imag))
