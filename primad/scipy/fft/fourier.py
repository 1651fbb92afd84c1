"""Of scipy.fft: Fourier transforms along one axis or several, and the order of frequencies."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.numpy import fft as numpy_fft
from primad.numpy.elementwise.complex_numbers import conjugated
from primad.numpy.promotion import convert, traced_operands
from primad.ops.arrays.fourier_laws import SWAPPED
from primad.scipy.mirrors import mirrors_of

__all__ = [
    "fft", "fft2", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft",
    "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftn",
]  # fmt: skip

mirrors = mirrors_of("scipy.fft")


Transform = Callable[..., Any]


def _operand(x: Any) -> Any:
    """Return what is transformed; of 16 bit floats SciPy makes those of 32 bits."""
    (x,) = traced_operands(x)
    return convert(x, np.float32) if x.dtype == np.float16 else x


def _along_one(name: str, what: str) -> Transform:
    """Return a transform along one axis."""

    def transform(
        x: Any, n: Any = None, axis: Any = -1, norm: Any = None, overwrite_x: bool = False, workers: Any = None, *,
        plan: Any = None,
    ) -> Any:  # fmt: skip
        return getattr(numpy_fft, name)(_operand(x), n, axis, norm)

    return _named(transform, name, what)


def _along_several(name: str, what: str) -> Transform:
    """Return a transform along several axes, by default all."""

    def transform(
        x: Any, s: Any = None, axes: Any = None, norm: Any = None, overwrite_x: bool = False, workers: Any = None, *,
        plan: Any = None,
    ) -> Any:  # fmt: skip
        return _several(name, _operand(x), s, axes, norm)

    return _named(transform, name, what)


def _along_two(name: str, what: str) -> Transform:
    """Return a transform along two axes, by default the last ones."""

    def transform(
        x: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, overwrite_x: bool = False, workers: Any = None,
        *, plan: Any = None,
    ) -> Any:  # fmt: skip
        return _several(f"{name[:-1]}n", _operand(x), s, axes, norm)

    return _named(transform, name, what)


def _named(transform: Transform, name: str, what: str) -> Transform:
    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = f"scipy.fft.{name}: {what}"
    return mirrors(transform)


def _several(name: str, x: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Transform along axes, which must all be different, as SciPy has it; NumPy takes an axis twice."""
    s, axes = (None if each is None else tuple(np.atleast_1d(each).tolist()) for each in (s, axes))
    places = [] if axes is None else [operator.index(axis) % max(1, x.ndim) for axis in axes]
    if len({*places}) != len(places) or (s is not None and min(s, default=1) < 1):
        raise ShapeError(
            f"scipy.fft.{name}: the axes {axes} are not all different, or the lengths {s} not positive",
            fix="give each axis once, and lengths of at least 1.",
        )
    if "h" not in name:
        return getattr(numpy_fft, name)(x, s, axes, norm)
    if norm not in (None, *SWAPPED):
        raise ShapeError(
            f"scipy.fft.{name}: norm is 'backward', 'ortho' or 'forward', not {norm!r}", fix="use one of these."
        )
    norm = SWAPPED[norm or "backward"]
    return (
        numpy_fft.irfftn(conjugated(x), s, axes, norm)
        if name == "hfftn"
        else conjugated(numpy_fft.rfftn(x, s, axes, norm))
    )


fft = _along_one("fft", "Σⱼ xⱼ exp(−2πi jk/n) along an axis, as np.fft.fft.")
ifft = _along_one("ifft", "the inverse of `fft`.")
rfft = _along_one("rfft", "the transform of real numbers, the frequencies from 0 to n/2.")
irfft = _along_one("irfft", "the n real numbers with given frequencies from 0 to n/2.")
hfft = _along_one("hfft", "the n real frequencies of Hermitian numbers, of which the first half is given.")
ihfft = _along_one("ihfft", "the inverse of `hfft`, the first half.")
fftn = _along_several("fftn", "`fft` along several axes, by default all.")
ifftn = _along_several("ifftn", "the inverse of `fftn`.")
rfftn = _along_several("rfftn", "`rfft` along the last of several axes, then `fft` along the others.")
irfftn = _along_several("irfftn", "the inverse of `rfftn`.")
hfftn = _along_several("hfftn", "`fft` along several axes, and `hfft` along the last of them.")
ihfftn = _along_several("ihfftn", "the inverse of `hfftn`.")
fft2 = _along_two("fft2", "`fftn` along the last two axes.")
ifft2 = _along_two("ifft2", "`ifftn` along the last two axes.")
rfft2 = _along_two("rfft2", "`rfftn` along the last two axes.")
irfft2 = _along_two("irfft2", "`irfftn` along the last two axes.")
hfft2 = _along_two("hfft2", "`hfftn` along the last two axes.")
ihfft2 = _along_two("ihfft2", "`ihfftn` along the last two axes.")


@mirrors
def fftshift(x: Any, axes: Any = None) -> Any:
    """scipy.fft.fftshift: the frequency 0 moved to the middle."""
    return numpy_fft.fftshift(x, axes)


@mirrors
def ifftshift(x: Any, axes: Any = None) -> Any:
    """scipy.fft.ifftshift: the inverse of `fftshift`."""
    return numpy_fft.ifftshift(x, axes)
