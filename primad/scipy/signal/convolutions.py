"""Convolution and correlation of arrays of any number of axes, directly and by Fourier transforms."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad import ops
from primad.errors import DomainError, ShapeError
from primad.numpy.axis_arguments import normalize_axis
from primad.numpy.elementwise.complex_numbers import conjugated
from primad.numpy.promotion import convert, traced_operands
from primad.scipy import fft
from primad.scipy.linear_filters.stencils import padded
from primad.scipy.mirrors import mirrors_of
from primad.system.tracebacks import entrance

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve", "oaconvolve"]

mirrors = mirrors_of("scipy.signal")


def _both(name: str, in1: Any, in2: Any) -> list[Any]:
    """Return two arrays of the same dtype and number of axes."""
    both = traced_operands(in1, in2)
    if both[0].ndim != both[1].ndim:
        raise ShapeError(
            f"scipy.signal.{name}: arrays of shapes {both[0].shape} and {both[1].shape}, of unlike axes",
            fix="give both as many axes: x[None] adds one.",
        )
    dtype = np.result_type(both[0].dtype, both[1].dtype)
    return [convert(x, dtype) for x in both]


def _parts(name: str, mode: Any, n: int, k: int) -> tuple[int, int]:
    """Return where in the full convolution of n and k elements a mode begins, and how many it has."""
    modes = {"full": (0, n + k - 1), "same": ((k - 1) // 2, n), "valid": (k - 1, n - k + 1)}
    if mode not in modes:
        raise DomainError(f"scipy.signal.{name}: mode={mode!r}", fix="use 'full', 'same' or 'valid'.")
    return modes[mode]


def _larger_first(name: str, x: Any, kernel: Any, mode: Any, axes: Any) -> tuple[Any, Any]:
    """Return arrays so that the first is the larger one, where only what overlaps wholly is asked for."""
    if mode != "valid" or all(x.shape[i] >= kernel.shape[i] for i in axes):
        return x, kernel
    if any(x.shape[i] > kernel.shape[i] for i in axes):
        raise ShapeError(
            f"scipy.signal.{name}: mode='valid' of shapes {x.shape} and {kernel.shape}, neither in the other",
            fix="use mode='full' or 'same'.",
        )
    return kernel, x


def _direct(name: str, x: Any, kernel: Any, mode: Any) -> Any:
    """Return a convolution as sums of products over windows."""
    axes = tuple(range(x.ndim))
    x, kernel = _larger_first(name, x, kernel, mode, axes)
    parts = [_parts(name, mode, n, k) for n, k in zip(x.shape, kernel.shape, strict=True)]
    shown = ops.windows(
        x, axes=axes, count=tuple([count for _, count in parts]), size=kernel.shape, step=(1,) * x.ndim,
        dilation=(1,) * x.ndim, low=tuple([k - 1 - start for k, (start, _) in zip(kernel.shape, parts, strict=True)]),
    )  # fmt: skip
    return pnp.tensordot(shown, pnp.flip(kernel), x.ndim)


@entrance
@mirrors
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """scipy.signal.convolve: of arrays of as many axes, directly or by Fourier transforms.

    Args:
        in1: an array.
        in2: another one, of as many axes.
        mode: 'full', 'same' (as large as in1) or 'valid'.
        method: 'direct', 'fft', or 'auto': that which SciPy would choose for arrays of these sizes.

    Raises:
        ShapeError: if the arrays do not have as many axes.

    Example:
        >>> import numpy as np, primad, primad.scipy.signal as signal
        >>> print(primad.grad(lambda k: np.sum(signal.convolve(np.arange(4.0), k, "valid")))(np.ones(2)))
        [6. 3.]
    """
    in1, in2 = _both("convolve", in1, in2)
    if in1.ndim == 0:
        return in1 * in2
    if method not in ("auto", "direct", "fft"):
        raise DomainError(f"scipy.signal.convolve: method={method!r}", fix="use 'auto', 'direct' or 'fft'.")
    _parts("convolve", mode, 1, 1)
    both = _larger_first("convolve", in1, in2, mode, range(in1.ndim))
    if method == "auto":
        sizes = [np.zeros(x.shape, x.dtype) for x in both]
        method = import_module("scipy.signal").choose_conv_method(*sizes, mode)
    if method == "direct":
        return _direct("convolve", in1, in2, mode)
    found = fftconvolve(in1, in2, mode)
    return found if in1.dtype.kind in "fc" else pnp.rint(found).astype(in1.dtype)


@entrance
@mirrors
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """scipy.signal.correlate: the convolution with the conjugate of in2, turned around along all axes.

    Args:
        in1: an array.
        in2: another one, of as many axes.
        mode: 'full', 'same' (as large as in1) or 'valid'.
        method: 'direct', 'fft' or 'auto'.
    """
    in1, in2 = _both("correlate", in1, in2)
    return convolve(in1, pnp.flip(conjugated(in2)), mode, method)


@entrance
@mirrors
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """scipy.signal.fftconvolve: a convolution by Fourier transforms along some axes; along others arrays broadcast.

    Args:
        in1: an array.
        in2: another one, of as many axes.
        mode: 'full', 'same' (as large as in1) or 'valid'.
        axes: along which; by default all.

    Raises:
        ShapeError: if shapes do not fit.
    """
    x, kernel = (convert(each, np.result_type(each.dtype, np.float32)) for each in _both("fftconvolve", in1, in2))
    if x.ndim == 0:
        return x * kernel
    if not x.size or not kernel.size:
        return pnp.zeros((0,))
    chosen = range(x.ndim) if axes is None else [axes] if np.ndim(axes) == 0 else list(axes)
    places = sorted({normalize_axis("fftconvolve", axis, x.ndim) for axis in chosen})
    places = [i for i in places if x.shape[i] != 1 and kernel.shape[i] != 1]
    x, kernel = _larger_first("fftconvolve", x, kernel, mode, places)
    parts = [_parts("fftconvolve", mode, x.shape[i], kernel.shape[i]) for i in places]
    if places:
        real = x.dtype.kind != "c"
        lengths = [fft.next_fast_len(x.shape[i] + kernel.shape[i] - 1, real) for i in places]
        there, back = (fft.rfftn, fft.irfftn) if real else (fft.fftn, fft.ifftn)
        found = back(there(x, lengths, places) * there(kernel, lengths, places), lengths, places)
    else:
        found = x * kernel
    index: list[Any] = [slice(None)] * found.ndim
    for place, (start, count) in zip(places, parts, strict=True):
        index[place] = slice(start, start + count)
    if mode == "same":
        index = [index[i] if i in places else slice((m - n) // 2, (m - n) // 2 + n)
                 for i, (m, n) in enumerate(zip(found.shape, x.shape, strict=True))]  # fmt: skip
    return found[tuple(index)]


@entrance
@mirrors
def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """scipy.signal.oaconvolve: the same numbers as `fftconvolve`, by one transform and not by many short ones.

    Args:
        in1: an array.
        in2: another one, of as many axes.
        mode: 'full', 'same' (as large as in1) or 'valid'.
        axes: along which; by default all.
    """
    return fftconvolve(in1, in2, mode, axes)


@entrance
@mirrors
def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """scipy.signal.convolve2d: of matrices, the first of which goes on beyond its ends.

    Args:
        in1: a matrix.
        in2: another one.
        mode: 'full', 'same' (as large as in1) or 'valid'.
        boundary: 'fill', 'wrap' or 'symm'.
        fillvalue: what is outside, for 'fill'.

    Raises:
        ShapeError: if the arrays are not matrices.
        DomainError: for boundaries that there are not.
    """
    in1, in2 = _both("convolve2d", in1, in2)
    return _of_matrices("convolve2d", in1, in2, mode, boundary, fillvalue, False)


def _of_matrices(name: str, x: Any, kernel: Any, mode: Any, boundary: Any, fillvalue: Any, turned: bool) -> Any:
    """Return a convolution of matrices; of kernels of even length that are turned, 'same' begins one place later."""
    extensions = {"fill": None, "wrap": "wrap", "circular": "wrap", "symm": "symmetric", "symmetric": "symmetric"}
    if boundary not in extensions:
        raise DomainError(f"scipy.signal.{name}: boundary={boundary!r}", fix="use 'fill', 'wrap' or 'symm'.")
    if x.ndim != 2:
        raise ShapeError(
            f"scipy.signal.{name} takes matrices, got shapes {x.shape} and {kernel.shape}",
            fix="use scipy.signal.convolve or correlate for arrays of any number of axes.",
        )
    x, kernel = _larger_first(name, x, kernel, mode, (0, 1))
    for axis in (0, 1):
        n, k = x.shape[axis], kernel.shape[axis]
        start, count = _parts(name, mode, n, k)
        start += turned and mode == "same" and k % 2 == 0
        low, high = k - 1 - start, start + count - n
        x = padded(x, axis, low, high, extensions[boundary], fillvalue)
    return _direct(name, x, kernel, "valid")


@entrance
@mirrors
def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """scipy.signal.correlate2d: `convolve2d` with the conjugate of in2, turned around along both axes.

    Args:
        in1: a matrix.
        in2: another one.
        mode: 'full', 'same' (as large as in1) or 'valid'.
        boundary: 'fill', 'wrap' or 'symm'.
        fillvalue: what is outside, for 'fill'.
    """
    in1, in2 = _both("correlate2d", in1, in2)
    return _of_matrices("correlate2d", in1, pnp.flip(conjugated(in2)), mode, boundary, fillvalue, True)
