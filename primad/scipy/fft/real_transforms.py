"""Of scipy.fft: discrete cosine and sine transforms, and the fast Hankel transform."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.numpy import fft as numpy_fft
from primad.numpy.axis_arguments import normalize_axis
from primad.numpy.fft import resized
from primad.numpy.promotion import convert, traced_operands
from primad.numpy.shapes.shaping import flip
from primad.ops.arrays.cosine_sine_transforms import INVERSE
from primad.ops.arrays.fourier_laws import SWAPPED
from primad.scipy.mirrors import floats, mirrors_of

__all__ = ["dct", "dctn", "dst", "dstn", "fht", "idct", "idctn", "idst", "idstn", "ifht"]

mirrors = mirrors_of("scipy.fft")


# -- cosines and sines -------------------------------------------------------------------------------------------------


@mirrors
def dct(
    x: Any, type: int = 2, n: Any = None, axis: Any = -1, norm: Any = None, overwrite_x: bool = False,
    workers: Any = None, orthogonalize: Any = None,
) -> Any:  # fmt: skip
    """scipy.fft.dct: the discrete cosine transform of type 1, 2, 3 or 4 along an axis.

    Args:
        x: an array; of complex numbers both parts are transformed.
        type: which.
        n: how many numbers: the first ones, or with zeros after them.
        axis: along which.
        norm: 'backward' (no factor), 'ortho', or 'forward' (the factor of the inverse).
        overwrite_x: says nothing.
        workers: says nothing.
        orthogonalize: whether the first and last elements are weighed so that the matrix is orthogonal, but for a
            factor; by default with norm='ortho'.

    Example:
        >>> import numpy as np, primad, primad.scipy.fft
        >>> smooth = lambda x: primad.scipy.fft.idct(primad.scipy.fft.dct(x) * np.array([1.0, 0.5, 0.0]))
        >>> primad.jacobian(smooth)(np.ones(3))[:]
        array([[0.58333333, 0.33333333, 0.08333333],
               [0.33333333, 0.33333333, 0.33333333],
               [0.08333333, 0.33333333, 0.58333333]])
    """
    return _transformed("dct", x, type, [n], [axis], norm, orthogonalize)


@mirrors
def idct(
    x: Any, type: int = 2, n: Any = None, axis: Any = -1, norm: Any = None, overwrite_x: bool = False,
    workers: Any = None, orthogonalize: Any = None,
) -> Any:  # fmt: skip
    """scipy.fft.idct: the inverse of `dct`."""
    return _transformed("idct", x, type, [n], [axis], norm, orthogonalize)


@mirrors
def dst(
    x: Any, type: int = 2, n: Any = None, axis: Any = -1, norm: Any = None, overwrite_x: bool = False,
    workers: Any = None, orthogonalize: Any = None,
) -> Any:  # fmt: skip
    """scipy.fft.dst: the discrete sine transform of type 1, 2, 3 or 4 along an axis."""
    return _transformed("dst", x, type, [n], [axis], norm, orthogonalize)


@mirrors
def idst(
    x: Any, type: int = 2, n: Any = None, axis: Any = -1, norm: Any = None, overwrite_x: bool = False,
    workers: Any = None, orthogonalize: Any = None,
) -> Any:  # fmt: skip
    """scipy.fft.idst: the inverse of `dst`."""
    return _transformed("idst", x, type, [n], [axis], norm, orthogonalize)


@mirrors
def dctn(
    x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None, overwrite_x: bool = False,
    workers: Any = None, *, orthogonalize: Any = None,
) -> Any:  # fmt: skip
    """scipy.fft.dctn: `dct` along several axes, by default all."""
    return _transformed("dctn", x, type, s, axes, norm, orthogonalize)


@mirrors
def idctn(
    x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None, overwrite_x: bool = False,
    workers: Any = None, orthogonalize: Any = None,
) -> Any:  # fmt: skip
    """scipy.fft.idctn: the inverse of `dctn`."""
    return _transformed("idctn", x, type, s, axes, norm, orthogonalize)


@mirrors
def dstn(
    x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None, overwrite_x: bool = False,
    workers: Any = None, orthogonalize: Any = None,
) -> Any:  # fmt: skip
    """scipy.fft.dstn: `dst` along several axes, by default all."""
    return _transformed("dstn", x, type, s, axes, norm, orthogonalize)


@mirrors
def idstn(
    x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None, overwrite_x: bool = False,
    workers: Any = None, orthogonalize: Any = None,
) -> Any:  # fmt: skip
    """scipy.fft.idstn: the inverse of `dstn`."""
    return _transformed("idstn", x, type, s, axes, norm, orthogonalize)


def _transformed(name: str, x: Any, type: Any, s: Any, axes: Any, norm: Any, orthogonalize: Any) -> Any:
    """Return a transform of SciPy's: the orthogonal one, between products with weights of the elements along each axis.

    Source: the definitions in SciPy's documentation of dct and dst.
    """
    if type not in INVERSE or norm not in (None, *SWAPPED):
        raise ShapeError(
            f"scipy.fft.{name}: type {type!r} (of 1, 2, 3, 4) with norm={norm!r} is not known",
            fix="use a type from 1 to 4, and norm 'backward', 'ortho' or 'forward'.",
        )
    (x,) = traced_operands(x)
    orthogonal = norm == "ortho" if orthogonalize is None else bool(orthogonalize)
    if x.dtype.kind == "c" and orthogonal != (norm == "ortho"):
        raise ShapeError(
            f"scipy.fft.{name} of complex numbers with orthogonalize={orthogonalize} and norm={norm!r}",
            why="SciPy leaves orthogonalize out there.",
            fix="transform x.real and x.imag.",
        )
    if x.dtype.kind != "c":
        (x,) = floats(x)
        x = convert(x, np.float32) if x.dtype == np.float16 else x
    places, lengths = _places(name, x, s, axes)
    for axis, length in zip(places, lengths, strict=True):
        x = resized(x, axis, length)
    inverse, sine = name[0] == "i", "st" in name
    kind = INVERSE[type] if inverse else type
    before, after = _ends(kind, sine, orthogonal)
    scale = math.prod(_scale(kind, sine, length, norm or "backward", inverse) for length in lengths)
    for axis in places:
        x = _weighed(x, axis, before, 1.0)
    x = (ops.dst if sine else ops.dct)(x, axes=tuple(sorted(places)), type=kind) if places else x
    for axis in places:
        x, scale = _weighed(x, axis, after, scale), 1.0
    return x


def _places(name: str, x: Any, s: Any, axes: Any) -> tuple[list[int], list[int]]:
    """Return the axes, and how many numbers along each are transformed."""
    given = None if s is None else [None if n is None else operator.index(n) for n in np.atleast_1d(s)]
    if axes is None:
        axes = range(x.ndim) if given is None else range(x.ndim - len(given), x.ndim)
    places = [normalize_axis(f"scipy.fft.{name}", axis, x.ndim) for axis in np.atleast_1d(axes)]
    given = [None] * len(places) if given is None else given
    if len(given) != len(places) or len({*places}) != len(places):
        raise ShapeError(
            f"scipy.fft.{name}: axes {tuple(places)} and lengths {s} do not fit",
            fix="give each axis once, and a length of at least 1 for each.",
        )
    lengths = [x.shape[axis] if n is None else n for axis, n in zip(places, given, strict=True)]
    if min(lengths, default=1) < 1:
        raise ShapeError(
            f"scipy.fft.{name}: a transform of {min(lengths)} numbers", fix="give at least one number along each axis."
        )
    return places, lengths


def _scale(kind: int, sine: bool, length: int, norm: str, inverse: bool) -> float:
    """Return what SciPy's transform along an axis is, times the orthogonal one."""
    size = math.sqrt(2 * (length + (sine - (not sine) if kind == 1 else 0)))
    return {"backward": 1 / size if inverse else size, "ortho": 1.0, "forward": size if inverse else 1 / size}[norm]


Ends = tuple[tuple[int, ...], float]
"""Places of elements, and what they are multiplied by."""


def _ends(kind: int, sine: bool, orthogonal: bool) -> tuple[Ends, Ends]:
    """Return which elements have other weights than in the orthogonal transform, before it and after it."""
    none: Ends = ((), 1.0)
    if orthogonal or kind == 4 or (sine and kind == 1):
        return none, none
    places = (0, -1) if kind == 1 else (-1,) if sine else (0,)
    less, more = (places, math.sqrt(0.5)), (places, math.sqrt(2.0))
    return less if kind in (1, 3) else none, more if kind in (1, 2) else none


def _weighed(x: Any, axis: int, ends: Ends, scale: float) -> Any:
    """Multiply elements along an axis by the weights of the ends, and all by a scale."""
    places, weight = ends
    if not places:
        return x if scale == 1.0 else x * scale
    weights = np.full(x.shape[axis], scale, x.real.dtype if x.dtype.kind == "c" else x.dtype)
    weights[list(places)] *= weight
    return x * weights.reshape([-1 if i == axis else 1 for i in range(x.ndim)])


# -- Hankel ------------------------------------------------------------------------------------------------------------


@mirrors
def fht(a: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Any:
    """scipy.fft.fht: the discrete Hankel transform of samples at logarithmic steps, by one convolution.

    Args:
        a: shape (…, n), which alone may be traced.
        dln: the logarithmic step.
        mu: the order of the Bessel function.
        offset: of the output's grid.
        bias: the exponent of a power law that is taken off.

    Example:
        >>> import numpy as np, primad, primad.scipy.fft
        >>> total = lambda a: np.sum(primad.scipy.fft.fht(a, 0.5, 0.0))
        >>> print(primad.grad(total)(np.ones(8)).shape)
        (8,)
    """
    return _hankel("fht", a, (dln, mu, offset, bias))


@mirrors
def ifht(A: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Any:
    """scipy.fft.ifht: the inverse of `fht`."""
    return _hankel("ifht", A, (dln, mu, offset, bias))


def _hankel(name: str, a: Any, settings: Sequence[Any]) -> Any:
    """Convolve with what SciPy's function makes of a unit vector: it is a circular convolution that comes out reversed.

    Before and after it are the powers of the bias.

    Source: A. J. S. Hamilton, "Uncorrelated modes of the non-linear power spectrum", MNRAS 312 (2000).
    """
    from scipy import fft as scipy_fft

    if any(not isinstance(value, (int, float, np.number)) for value in settings):
        raise ShapeError(
            f"scipy.fft.{name}: dln, mu, offset and bias are plain numbers, also beside a traced array",
            fix="give Python numbers.",
        )
    dln, _, offset, bias = map(float, settings)
    (a,) = floats(a)
    n = a.shape[-1]
    powers = bias * (np.arange(n) - (n - 1) / 2) * dln
    before, after = (-powers, -powers - bias * offset) if name == "fht" else (powers + bias * offset, powers)
    unit = np.zeros(n)
    unit[0] = math.exp(-before[0])
    kernel = np.fft.rfft((getattr(scipy_fft, name)(unit, *settings) * np.exp(-after))[::-1])
    found = numpy_fft.irfft(numpy_fft.rfft(a * np.exp(before).astype(a.dtype)) * kernel, n)
    return flip(found, -1) * np.exp(after).astype(a.dtype)
