"""Functions through values: sums of products of sines and cosines, or of Chebyshev's polynomials."""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad.numpy.shapes.shaping import concatenate, expand_dims, reshape
from primad.pde.geometry.point_arguments import numbers
from primad.pde.geometry.sampling import Array

__all__ = ["chebyshev", "trigonometric"]

Function = Callable[..., Any]


@dataclass(frozen=True)
class Basis(ABC):
    """Functions of one coordinate.

    Attributes:
        low: where the coordinate begins.
        high: where it ends.
    """

    low: float
    high: float

    @abstractmethod
    def nodes(self, count: int) -> Array:
        """Return the points whose values decide a sum of so many functions."""

    @abstractmethod
    def coefficients(self, values: Array) -> Array:
        """Return the coefficients of values at the nodes, which are the first axis."""

    @abstractmethod
    def functions(self, x: Any, count: int) -> Any:
        """Return the first functions, so many, at points: their last axis."""


class TrigonometricBasis(Basis):
    """Cosines and sines of period high − low, in the order 1, cos 1, sin 1, cos 2, and so on."""

    def nodes(self, count: int) -> Array:
        """Return equidistant points without the last end."""
        return np.linspace(self.low, self.high, count, endpoint=False)

    def coefficients(self, values: Array) -> Array:
        """Return the coefficients of an odd number of functions."""
        count = len(values)
        c = np.fft.rfft(values, axis=0) / count
        found = np.zeros((2 * ((count - 1) // 2) + 1, *values.shape[1:]))
        found[0] = c[0].real
        found[1::2], found[2::2] = 2 * c[1 : len(found) // 2 + 1].real, -2 * c[1 : len(found) // 2 + 1].imag
        return found

    def functions(self, x: Any, count: int) -> Any:
        """Return cosines and sines, those of a frequency beside each other."""
        k = 2 * np.pi / (self.high - self.low) * np.arange(1, count // 2 + 1)
        phase = k * expand_dims(x - self.low, -1)
        pairs = concatenate([expand_dims(np.cos(phase), -1), expand_dims(np.sin(phase), -1)], axis=-1)
        waves = reshape(pairs, (*np.shape(x), 2 * len(k)))
        return concatenate([1.0 + 0.0 * expand_dims(x, -1), waves], axis=-1)[..., :count]


class ChebyshevBasis(Basis):
    """Chebyshev's polynomials of the coordinate, moved to [−1, 1]."""

    def nodes(self, count: int) -> Array:
        """Return Chebyshev's points, the highest first, both ends included."""
        s = np.cos(np.linspace(0.0, np.pi, count))
        return np.asarray((self.low + self.high) / 2 + (self.high - self.low) / 2 * s)

    def coefficients(self, values: Array) -> Array:
        """Return the coefficients of as many polynomials as there are values."""
        from scipy.fft import dct  # loads when a march goes on

        c = np.asarray(dct(values, type=1, axis=0)) / (len(values) - 1)
        c[[0, -1]] /= 2
        return c

    def functions(self, x: Any, count: int) -> Any:
        """Return the polynomials, twice as many with each step: T of m + j is 2 T of m T of j − T of m − j."""
        s = expand_dims((x - (self.low + self.high) / 2) * (2 / (self.high - self.low)), -1)
        found, m = concatenate([1.0 + 0.0 * s, s], axis=-1), 1
        while m + 1 < count:
            more = 2.0 * found[..., m:] * found[..., 1:] - found[..., :m][..., ::-1]
            found, m = concatenate([found, more], axis=-1), 2 * m
        return found[..., :count]


class Interpolant:
    """A sum of products of functions of single coordinates, written with NumPy, so that it can be differentiated.

    Args:
        names: of the coordinates, by which it can be called.
        bases: of each coordinate.
        coefficients: an array with an axis for each coordinate.
        accuracy: the largest size, relative to the largest one, of coefficients of last functions that are left out.
    """

    def __init__(self, names: Sequence[str], bases: Sequence[Basis], coefficients: Array, accuracy: float) -> None:
        size = np.abs(coefficients)
        kept = []
        for axis in range(size.ndim):
            most = np.max(size, axis=tuple([other for other in range(size.ndim) if other != axis]))
            kept.append(slice(0, 1 + int(np.max(np.flatnonzero(most > accuracy * np.max(size)), initial=1))))
        self.names, self.bases, self.coefficients = tuple(names), tuple(bases), coefficients[tuple(kept)]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Return the value at points whose coordinates have one shape."""
        bound = self.__signature__.bind(*given, **named).arguments
        shape, c = np.shape(bound[self.names[0]]), self.coefficients
        first, *rest = self.names
        found = self.bases[0].functions(bound[first], c.shape[0]) @ c.reshape(c.shape[0], -1)
        for i, name in enumerate(rest, start=1):
            table = reshape(found, (*shape, c.shape[i], math.prod(c.shape[i + 1 :])))
            found = np.sum(expand_dims(self.bases[i].functions(bound[name], c.shape[i]), -1) * table, axis=-2)
        return reshape(found, shape)


def through(names: Sequence[str], bases: Sequence[Basis], values: Array, accuracy: float) -> Interpolant:
    """Return the function that has given values at all combinations of the nodes of bases."""
    found = numbers(values)
    for axis, basis in enumerate(bases):
        moved = np.moveaxis(found, axis, 0)
        parts = basis.coefficients(moved.real)
        if np.iscomplexobj(moved):
            parts = parts + 1j * basis.coefficients(moved.imag)
        found = np.moveaxis(parts, 0, axis)
    return Interpolant(names, bases, found, accuracy)


def near(
    names: Sequence[str], bases: Sequence[Basis], at: Array, values: Array, counts: Sequence[int], accuracy: float
) -> Interpolant:
    """Return the sum that comes nearest to values at points, one a row, which may fill any part of the box of bases.

    Args:
        names: of the coordinates.
        bases: of each coordinate.
        at: the points.
        values: at the points.
        counts: of functions of each coordinate.
        accuracy: which coefficients, and singular values, are left out.
    """
    table = np.ones((len(at), 1))
    for i, (basis, count) in enumerate(zip(bases, counts, strict=True)):
        table = (table[:, :, None] * basis.functions(at[:, i], count)[:, None, :]).reshape(len(at), -1)
    found = np.linalg.lstsq(table, values, rcond=accuracy)[0]
    return Interpolant(names, bases, found.reshape(counts), 0.0)


def trigonometric(values: Array, low: float, high: float, accuracy: float = 1e-14) -> Function:
    """Return the function of period high − low that has given values at equidistant points, the first at low.

    It is a sum of sines and cosines, written with NumPy, so it can be differentiated.

    Args:
        values: at low, low + h, …, high − h.
        low: where the period begins.
        high: where it ends.
        accuracy: the largest size, relative to the largest one, of high frequencies that are left out.

    Example:
        >>> import numpy as np, primad
        >>> x = np.linspace(-1, 1, 16, endpoint=False)
        >>> f = primad.pde.trigonometric(np.sin(np.pi * x), -1, 1)
        >>> np.allclose([f(0.3), primad.grad(f)(0.3)], [np.sin(0.3 * np.pi), np.pi * np.cos(0.3 * np.pi)])
        True
    """
    return through(("x",), (TrigonometricBasis(low, high),), values, accuracy)


def chebyshev(values: Array, low: float, high: float, accuracy: float = 1e-14) -> Function:
    """Return the polynomial that has given values at Chebyshev's points, the highest first, both ends included.

    It is a sum of Chebyshev's polynomials, written with NumPy, so it can be differentiated.

    Args:
        values: at the points (low + high)/2 + (high − low)/2·cos(iπ/n), i = 0, …, n.
        low: where the interval begins.
        high: where it ends.
        accuracy: the largest size, relative to the largest one, of high orders that are left out.

    Example:
        >>> import numpy as np, primad
        >>> s = np.cos(np.linspace(0, np.pi, 25))
        >>> f = primad.pde.chebyshev(np.exp(1 + s), 0.0, 2.0)
        >>> np.allclose([f(0.3), primad.grad(f)(2.0)], [np.exp(0.3), np.exp(2.0)])
        True
    """
    return through(("x",), (ChebyshevBasis(low, high),), values, accuracy)
