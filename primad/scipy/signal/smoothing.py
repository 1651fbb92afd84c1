"""Smoothing, trends, resampling and analytic signals."""

from __future__ import annotations

from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError, ShapeError
from primad.numpy.axis_arguments import normalize_axis
from primad.scipy import fft
from primad.scipy.linear_filters.stencils import extension_of, padded, weighted
from primad.scipy.mirrors import floats, mirrors_of
from primad.system.tracebacks import entrance

__all__ = ["detrend", "hilbert", "resample", "savgol_filter"]

mirrors = mirrors_of("scipy.signal")


def _own(name: str) -> Any:
    return getattr(import_module("scipy.signal"), name)


@entrance
@mirrors
def savgol_filter(
    x: Any, window_length: int, polyorder: int, deriv: int = 0, delta: Any = 1.0, axis: int = -1, mode: str = "interp",
    cval: Any = 0.0,
) -> Any:  # fmt: skip
    """scipy.signal.savgol_filter: values or derivatives of polynomials fitted around each sample.

    Args:
        x: the signal.
        window_length: of how many samples each polynomial is.
        polyorder: its degree.
        deriv: order of the derivative.
        delta: between samples.
        axis: along which.
        mode: 'interp' (polynomials of the first and last samples), 'mirror', 'constant', 'nearest' or 'wrap'.
        cval: what is outside, for 'constant'.

    Raises:
        ShapeError: if the window is longer than the signal, for 'interp'.
        DomainError: for modes that there are not, and for complex signals, of which SciPy drops the imaginary part.

    Example:
        >>> import numpy as np, primad, primad.scipy.signal as signal
        >>> slope = lambda x: signal.savgol_filter(x, 5, 2, deriv=1)[3]
        >>> print(primad.grad(slope)(np.zeros(7)).round(3))
        [ 0.  -0.2 -0.1  0.   0.1  0.2  0. ]
    """
    (x,) = floats(x, beside=[delta, cval])
    if x.dtype.kind == "c":
        raise DomainError(
            "scipy.signal.savgol_filter of a complex signal",
            why="SciPy drops its imaginary part.",
            fix="filter x.real and x.imag, and add them.",
        )
    place = normalize_axis("savgol_filter", axis, x.ndim)
    rows, half = pnp.moveaxis(x, place, 0), window_length // 2
    unit = np.eye(2 * window_length + 1, dtype=x.dtype)
    at_units = _own("savgol_filter")(unit, window_length, polyorder, deriv, 1.0, 0, "constant")
    stencil = at_units[window_length, window_length - half : window_length + half + 1]
    if mode == "interp":
        if window_length > rows.shape[0]:
            raise ShapeError(
                f"scipy.signal.savgol_filter: a window of {window_length} of {rows.shape[0]} samples",
                fix="use a shorter window, or another mode ('nearest').",
            )
        ends = _own("savgol_filter")(np.eye(window_length, dtype=x.dtype), window_length, polyorder, deriv, 1.0, 0)
        first = pnp.tensordot(ends[:half], rows[:window_length], 1)
        last = pnp.tensordot(ends[window_length - half :], rows[-window_length:], 1)
        inner = weighted(rows, stencil, 0) if rows.shape[0] > 2 * half else rows[:0]
        found = pnp.concatenate([first, inner, last])
    else:
        if mode not in ("mirror", "constant", "nearest", "wrap"):
            raise DomainError(
                f"scipy.signal.savgol_filter: mode={mode!r}",
                fix="use 'interp', 'mirror', 'constant', 'nearest' or 'wrap'.",
            )
        rows = padded(rows, 0, half, half, extension_of("savgol_filter", mode), cval)
        found = weighted(rows, stencil, 0)
    return pnp.moveaxis(found / delta**deriv, 0, place)


@entrance
@mirrors
def detrend(data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False) -> Any:
    """scipy.signal.detrend: without its mean, or without lines fitted by least squares between places.

    Args:
        data: the signal.
        axis: along which.
        type: 'linear' or 'constant'.
        bp: places at which another line begins, for 'linear'.
        overwrite_data: says nothing.

    Raises:
        DomainError: for types that there are not.
        ShapeError: if a place is outside of the signal.

    Example:
        >>> import numpy as np, primad, primad.scipy.signal as signal
        >>> print(primad.grad(lambda x: signal.detrend(x, type="constant")[0])(np.ones(4)))
        [ 0.75 -0.25 -0.25 -0.25]
    """
    (data,) = floats(data)
    if type in ("constant", "c"):
        return data - pnp.mean(data, axis, keepdims=True)
    if type not in ("linear", "l"):
        raise DomainError(f"scipy.signal.detrend: type={type!r}", fix="use 'linear' or 'constant'.")
    place = normalize_axis("detrend", axis, data.ndim)
    rows = pnp.moveaxis(data, place, 0)
    stops = np.unique([0, *np.atleast_1d(bp), rows.shape[0]])
    if stops[-1] > rows.shape[0]:
        raise ShapeError(
            f"scipy.signal.detrend: a line begins at {stops[-1]}, of {rows.shape[0]} samples",
            fix="give places in bp that lie within the samples.",
        )
    parts = []
    for start, stop in pairwise(stops):
        line = np.stack([np.ones(stop - start), np.arange(stop - start)], 1)[:, : stop - start]
        basis = np.linalg.qr(line)[0].astype(data.real.dtype)
        part = rows[start:stop]
        parts.append(part - pnp.tensordot(basis, pnp.tensordot(basis.T, part, 1), 1))
    return pnp.moveaxis(pnp.concatenate(parts), 0, place)


@entrance
@mirrors
def resample(x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time") -> Any:
    """scipy.signal.resample: at another number of points, by the Fourier transform.

    Args:
        x: the signal, or its transform for domain='freq'.
        num: of points.
        t: where samples are.
        axis: along which.
        window: weights of frequencies, or a name of SciPy's, or a function of frequencies.
        domain: 'time' or 'freq'.

    Returns:
        the samples; with `t` also where they are.

    Raises:
        DomainError: for domains that there are not.
        ShapeError: for windows of another length.
    """
    if domain not in ("time", "freq"):
        raise DomainError(f"scipy.signal.resample: domain={domain!r}", fix="use 'time' or 'freq'.")
    (x,) = floats(x, beside=[window, t])
    place = normalize_axis("resample", axis, x.ndim)
    rows = pnp.moveaxis(x, place, -1)
    n = rows.shape[-1]
    weights = _frequency_weights(window, n)
    if domain == "time" and x.dtype.kind != "c":
        spectrum = fft.rfft(rows)
        if weights is not None:
            half = spectrum.shape[-1]
            folded = (weights + pnp.roll(weights[::-1], 1)) / 2
            spectrum = spectrum * folded[:half]
        found = fft.irfft(_kept(spectrum, num, n, False), n=num)
    else:
        spectrum = fft.fft(rows) if domain == "time" else rows
        found = fft.ifft(_kept(spectrum if weights is None else spectrum * weights, num, n, True))
    found = pnp.moveaxis(found, -1, place)
    return found if t is None else (found, t[0] + (t[1] - t[0]) * (n / num) * np.arange(num))


def _frequency_weights(window: Any, n: int) -> Any:
    """Return weights of frequencies in the order of a transform, or None."""
    if window is None:
        return None
    if callable(window):
        return window(fft.fftfreq(n))
    if isinstance(window, (str, tuple, float, int)):
        return fft.fftshift(_own("get_window")(window, n))
    if window.shape != (n,):
        raise ShapeError(
            f"scipy.signal.resample: a window of shape {window.shape} for {n} frequencies",
            fix="give one weight for each frequency, the name of a window, or a function of frequencies.",
        )
    return window


def _kept(spectrum: Any, num: int, n: int, both_sides: bool) -> Any:
    """Return the frequencies that signals of n and of num samples have in common, in the order of the second."""
    common = min(num, n)
    inner = common // 2 + 1
    low = spectrum[..., :inner]
    weights = np.ones(inner)
    if common % 2 == 0 and num != n:  # the frequency in the middle stands for two in the longer signal
        weights[-1] = (1.0 if num < n else 0.5) if both_sides else 2.0 if num < n else 0.5
    low = low * weights * (num / n)
    if not both_sides:
        return low
    count = common - inner
    high = spectrum[..., spectrum.shape[-1] - count :] * (num / n)
    if common % 2 == 0 and num < n:
        low = pnp.concatenate([low[..., :-1], low[..., -1:] + spectrum[..., n - common // 2, None] * (num / n)], -1)
    if common % 2 == 0 and num > n:
        high = pnp.concatenate([low[..., -1:], high], -1)
    missing = num - low.shape[-1] - high.shape[-1]
    middle = np.zeros((*low.shape[:-1], missing), low.dtype)
    return pnp.concatenate([low, middle, high], -1)


@entrance
@mirrors
def hilbert(x: Any, N: Any = None, axis: int = -1) -> Any:
    """scipy.signal.hilbert: the analytic signal of a real one, without negative frequencies.

    Args:
        x: the signal.
        N: how many samples are transformed: the first ones, or with zeros after them.
        axis: along which.

    Raises:
        DomainError: for complex signals.

    Example:
        >>> import numpy as np, primad, primad.scipy.signal as signal
        >>> size = lambda x: np.sum(np.abs(signal.hilbert(x)) ** 2)
        >>> print(primad.grad(size)(np.array([1.0, 0.0, -1.0, 0.0])))
        [ 4.  0. -4.  0.]
    """
    (x,) = floats(x)
    if x.dtype.kind == "c":
        raise DomainError("scipy.signal.hilbert of a complex signal", fix="take its real part: x.real.")
    place = normalize_axis("hilbert", axis, x.ndim)
    rows = pnp.moveaxis(x, place, -1)
    n = rows.shape[-1] if N is None else N
    if n < 1:
        raise DomainError(f"scipy.signal.hilbert: N={n}", fix="transform one sample at least.")
    weights = np.zeros(n, x.dtype)
    weights[0], weights[1 : (n + 1) // 2] = 1, 2
    weights[n // 2] = weights[n // 2] if n % 2 or n == 1 else 1
    return pnp.moveaxis(fft.ifft(fft.fft(rows, n) * weights), -1, place)
