"""Discrete Fourier transforms in exact arithmetic, by their sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.verify.exact.number_systems import Numbers

Array = np.ndarray[Any, Any]


def _root(n: Numbers, turns: int, count: int) -> Any:
    """Return the number of size 1 with so many turns of a count."""
    angle = n.divide(2 * n.number(math.pi) * (turns % count), count)
    return n.cos(angle) + n.number(1j) * n.sin(angle)


def _scale(n: Numbers, count: int, inverse: bool, norm: str) -> Any:
    if norm == "ortho":
        return n.divide(1, n.sqrt(n.number(count)))
    return n.divide(1, n.number(count)) if (norm == "backward") == inverse else n.number(1)


def _along(n: Numbers, z: Array, axis: int, inverse: bool, norm: str) -> Array:
    count = z.shape[axis]
    rows = np.moveaxis(z, axis, 0)
    out = np.empty(rows.shape, object)
    scale, sign = _scale(n, count, inverse, norm), 1 if inverse else -1
    for k in range(count):
        out[k] = sum((rows[j] * (scale * _root(n, sign * j * k, count)) for j in range(1, count)), rows[0] * scale)
    return np.moveaxis(out, 0, axis)


def fft(n: Numbers, z: Array, *, axes: tuple[int, ...], inverse: bool, norm: str) -> Array:
    """Σⱼ zⱼ exp(∓2πi jk/n) along axes, scaled."""
    for axis in axes:
        z = _along(n, z, axis, inverse, norm)
    return z


def rfft(n: Numbers, x: Array, *, axis: int, norm: str) -> Array:
    """The first half of the transform of real numbers."""
    return np.take(_along(n, x, axis, False, norm), range(x.shape[axis] // 2 + 1), axis)


def irfft(numbers: Numbers, z: Array, /, *, axis: int, n: int, norm: str) -> Array:
    """The real numbers of which the first half of the transform is given; what its imaginary parts lack counts as 0."""
    rows = np.moveaxis(z, axis, 0)
    whole = np.empty((n, *rows.shape[1:]), object)
    for k in range(n):
        for place in np.ndindex(rows.shape[1:]):
            value = rows[(min(k, n - k), *place)]
            other = 0 if 2 * k in (0, n) else numbers.imag(value) * (1 if 2 * k < n else -1)
            whole[(k, *place)] = numbers.real(value) + numbers.number(1j) * other
    found = _along(numbers, whole, 0, True, norm)
    for place in np.ndindex(found.shape):
        found[place] = numbers.real(found[place])
    return np.moveaxis(found, 0, axis)


def dct(n: Numbers, x: Array, *, axes: tuple[int, ...], type: int) -> Array:
    """Multiply by the orthogonal matrices of cosines along axes."""
    for axis in axes:
        x = _multiplied(_cosines(n, x.shape[axis], type), x, axis)
    return x


def dst(n: Numbers, x: Array, *, axes: tuple[int, ...], type: int) -> Array:
    """Multiply by the orthogonal matrices of sines along axes."""
    for axis in axes:
        x = _multiplied(_sines(n, x.shape[axis], type), x, axis)
    return x


def _multiplied(matrix: Array, x: Array, axis: int) -> Array:
    return np.moveaxis(np.tensordot(matrix, x, ((1,), (axis,))), 0, axis)


def _cosines(n: Numbers, count: int, type: int) -> Array:
    """Return √(2/m) cos(π (j + a)(k + b)/m), with a and b of 0 or ½; the ends with an angle of 0 or π, over √2."""
    size, row, column = (count - 1 if type == 1 else count), *_HALVES[type]
    ends = (0, count - 1) if type == 1 else (0,)
    lighter = ({*ends} if type in (1, 2) else set(), {*ends} if type in (1, 3) else set())
    return _wave(n, n.cos, count, size, (row, column), lighter)


def _sines(n: Numbers, count: int, type: int) -> Array:
    """Return √(2/m) sin(π (j + a)(k + b)/m), with a and b of ½ or 1; the end with an angle of π/2, over √2."""
    size, halves = (count + 1 if type == 1 else count), _HALVES[type]
    row, column = (half if half else 2 for half in halves)
    end = {count - 1}
    return _wave(n, n.sin, count, size, (row, column), (end if type == 2 else set(), end if type == 3 else set()))


_HALVES = {1: (0, 0), 2: (0, 1), 3: (1, 0), 4: (1, 1)}
"""By how many halves rows and columns are moved, by types."""


def _wave(n: Numbers, function: Any, count: int, size: int, halves: Any, lighter: Any) -> Array:
    out = np.empty((count, count), object)
    for j, k in np.ndindex(count, count):
        turns = (2 * j + halves[0]) * (2 * k + halves[1])
        weight = (2 - (j in lighter[0])) * (2 - (k in lighter[1]))
        out[j, k] = function(n.divide(n.number(math.pi) * turns, 4 * size)) * n.sqrt(n.divide(weight, 2 * size))
    return out
