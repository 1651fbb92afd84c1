"""Of numpy.fft: discrete Fourier transforms of complex, real and Hermitian arrays, along one axis or several."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError, TracingError
from primad.ir.array_types import real_dtype
from primad.numpy.axis_arguments import normalize_axis
from primad.numpy.elementwise.complex_numbers import conjugated
from primad.numpy.promotion import convert, implements, refuse_out
from primad.numpy.shapes.shaping import roll
from primad.ops.arrays.fourier_laws import SWAPPED
from primad.ops.arrays.frequency_pairs import hermitian_ends, weigh_pairs

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip


COMPOSITES = [weigh_pairs, hermitian_ends]

fftfreq, rfftfreq = np.fft.fftfreq, np.fft.rfftfreq  # plain arrays, of lengths

# -- what all have in common -------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _complex_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of NumPy's transforms of a dtype."""
    return np.fft.fft(np.zeros(1, dtype)).dtype


@lru_cache(maxsize=64)
def _real_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of NumPy's transforms to real numbers of a dtype."""
    return np.fft.irfft(np.zeros(2, dtype)).dtype


def _norm(name: str, norm: Any) -> str:
    if norm is not None and norm not in SWAPPED:
        raise ShapeError(
            f"np.fft.{name}: norm is 'backward', 'ortho' or 'forward', not {norm!r}", fix="leave it out for 'backward'."
        )
    return norm or "backward"


def _length(name: str, n: Any, default: int) -> int:
    found = default if n is None else operator.index(n)
    if found < 1:
        raise ShapeError(f"np.fft.{name}: a transform of {found} numbers", fix="give one number at least, or n=.")
    return found


def resized(x: Any, axis: int, n: int) -> Any:
    """Return an array of n elements along an axis: the first ones, or all and zeros after them."""
    have, none = x.shape[axis], (0,) * x.ndim
    if n < have:
        stop = tuple([n if i == axis else length for i, length in enumerate(x.shape)])
        return ops.slice_(x, start=none, stop=stop, step=(1,) * x.ndim)
    high = tuple([n - have if i == axis else 0 for i in range(x.ndim)])
    return x if n == have else ops.pad(x, low=none, high=high, interior=none)


def _lengths(name: str, x: Any, s: Any, axes: Any) -> tuple[list[int | None], list[int]]:
    """Return how many numbers along each axis are transformed, None for all, and the axes."""
    if axes is None:
        axes = range(-len(s), 0) if s is not None else range(x.ndim)
    places = [normalize_axis(f"np.fft.{name}", axis, x.ndim) for axis in axes]
    lengths: list[int | None] = [None] * len(places) if s is None else list(s)
    if len(lengths) != len(places):
        raise ShapeError(
            f"np.fft.{name}: s has {len(lengths)} lengths for {len(places)} axes",
            fix="give one length for each of the axes.",
        )
    # Those that are −1 are asked before any transform, which an axis that is there twice may lengthen.
    return [x.shape[axis] if n == -1 else n for n, axis in zip(lengths, places, strict=True)], places


def _along(name: str, x: Any, lengths: Sequence[int | None], axes: Sequence[int], inverse: bool, norm: Any) -> Any:
    """Transform complex numbers along axes, one after the other where one is there twice; no axis leaves them alone."""
    if not axes:
        return x
    norm, dtype = _norm(name, norm), _complex_of(x.dtype)
    left = list(zip(lengths, axes, strict=True))
    while left:
        last: dict[int, int | None] = {}
        while left and left[-1][1] not in last:
            n, axis = left.pop()
            last[axis] = n
        for axis, n in last.items():
            x = resized(x, axis, _length(name, n, x.shape[axis]))
        x = ops.fft(convert(x, dtype), axes=tuple(sorted(last)), inverse=inverse, norm=norm)
    return convert(x, dtype)


def _real(name: str, x: Any) -> Any:
    """Return real numbers in the precision of their transform."""
    if x.dtype.kind == "c":
        raise TracingError(
            f"np.fft.{name} of complex numbers", why="It is the transform of real ones.", fix="use np.fft.fft."
        )
    return convert(x, real_dtype(_complex_of(x.dtype)))


# -- one axis ----------------------------------------------------------------------------------------------------------


@implements(np.fft.fft)
def fft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    """np.fft.fft: Σⱼ aⱼ exp(−2πi jk/n) along an axis, of the first n numbers, or with zeros after them.

    Its transpose is itself; `norm` is 'backward' (no factor), 'ortho' (1/√n) or 'forward' (1/n).

    Example:
        >>> import numpy as np, primad
        >>> power = lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2)
        >>> primad.grad(power)(np.array([1.0, 2.0, 3.0]))  # by Parseval's theorem 2 n x
        array([ 6., 12., 18.])
    """
    refuse_out("np.fft.fft", out)
    return _along("fft", a, [n], [normalize_axis("np.fft.fft", axis, a.ndim)], False, norm)


@implements(np.fft.ifft)
def ifft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    """np.fft.ifft: the inverse of `fft`, with the factor 1/n unless `norm` says otherwise."""
    refuse_out("np.fft.ifft", out)
    return _along("ifft", a, [n], [normalize_axis("np.fft.ifft", axis, a.ndim)], True, norm)


@implements(np.fft.rfft)
def rfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    """np.fft.rfft: the transform of real numbers, the frequencies from 0 to n/2."""
    refuse_out("np.fft.rfft", out)
    place = normalize_axis("np.fft.rfft", axis, a.ndim)
    x = resized(_real("rfft", a), place, _length("rfft", n, a.shape[place]))
    return ops.rfft(x, axis=place, norm=_norm("rfft", norm))


@implements(np.fft.irfft)
def irfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    """np.fft.irfft: the n real numbers with given frequencies from 0 to n/2; by default n is even."""
    refuse_out("np.fft.irfft", out)
    place = normalize_axis("np.fft.irfft", axis, a.ndim)
    count = _length("irfft", n, 2 * (a.shape[place] - 1))
    z = resized(convert(a, _complex_of(a.dtype)), place, count // 2 + 1)
    return convert(ops.irfft(z, axis=place, n=count, norm=_norm("irfft", norm)), _real_of(a.dtype))


@implements(np.fft.hfft)
def hfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    """np.fft.hfft: the n real frequencies of numbers with a Hermitian symmetry, of which the first half is given."""
    refuse_out("np.fft.hfft", out)
    return irfft(conjugated(a), n, axis, SWAPPED[_norm("hfft", norm)])


@implements(np.fft.ihfft)
def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    """np.fft.ihfft: the inverse of `hfft`, the first half."""
    refuse_out("np.fft.ihfft", out)
    return conjugated(rfft(a, n, axis, SWAPPED[_norm("ihfft", norm)]))


# -- several axes ------------------------------------------------------------------------------------------------------


@implements(np.fft.fftn)
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """np.fft.fftn: `fft` along several axes, by default all; `s` are the lengths, −1 for all of an axis."""
    refuse_out("np.fft.fftn", out)
    return _along("fftn", a, *_lengths("fftn", a, s, axes), False, norm)


@implements(np.fft.ifftn)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """np.fft.ifftn: the inverse of `fftn`."""
    refuse_out("np.fft.ifftn", out)
    return _along("ifftn", a, *_lengths("ifftn", a, s, axes), True, norm)


@implements(np.fft.rfftn)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """np.fft.rfftn: `rfft` along the last of several axes, then `fft` along the others."""
    refuse_out("np.fft.rfftn", out)
    lengths, places = _lengths("rfftn", a, s, axes)
    lengths = [a.shape[axis] if n is None else n for n, axis in zip(lengths, places, strict=True)]  # before any of them
    z = rfft(a, lengths[-1], places[-1], norm)
    return _along("rfftn", z, lengths[:-1], places[:-1], False, norm) if places[:-1] else z


@implements(np.fft.irfftn)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """np.fft.irfftn: the inverse of `rfftn`; by default the last length is even."""
    refuse_out("np.fft.irfftn", out)
    lengths, places = _lengths("irfftn", a, s, axes)
    z = _along("irfftn", a, lengths[:-1], places[:-1], True, norm)
    return irfft(z, lengths[-1], places[-1], norm)


@implements(np.fft.fft2)
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """np.fft.fft2: `fftn` along the last two axes."""
    return fftn(a, s, axes, norm, out)


@implements(np.fft.ifft2)
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """np.fft.ifft2: `ifftn` along the last two axes."""
    return ifftn(a, s, axes, norm, out)


@implements(np.fft.rfft2)
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """np.fft.rfft2: `rfftn` along the last two axes."""
    return rfftn(a, s, axes, norm, out)


@implements(np.fft.irfft2)
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """np.fft.irfft2: `irfftn` along the last two axes."""
    return irfftn(a, s, axes, norm, out)


# -- the order of frequencies ------------------------------------------------------------------------------------------


@implements(np.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Any:
    """np.fft.fftshift: the frequency 0 moved to the middle."""
    return _shifted(x, axes, 1)


@implements(np.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Any:
    """np.fft.ifftshift: the inverse of `fftshift`, which for odd lengths is another one."""
    return _shifted(x, axes, -1)


def _shifted(x: Any, axes: Any, sign: int) -> Any:
    chosen = range(x.ndim) if axes is None else (axes,) if isinstance(axes, (int, np.integer)) else axes
    places = [normalize_axis("np.fft.fftshift", axis, x.ndim) for axis in chosen]
    shifts = [sign * (x.shape[axis] // 2) for axis in places]
    return roll(x, tuple(shifts), tuple(places))
