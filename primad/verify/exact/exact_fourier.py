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
