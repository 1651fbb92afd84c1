"""Spectra of signals over time, their means, and signals of spectra."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import numpy as pnp
from primad import ops
from primad.errors import DomainError, ShapeError
from primad.numpy.axis_arguments import normalize_axis
from primad.numpy.elementwise.complex_numbers import conjugated
from primad.scipy import fft
from primad.scipy.linear_filters.stencils import padded
from primad.scipy.mirrors import floats, mirrors_of
from primad.scipy.signal.segments import Segments, cut_of, weights_of
from primad.system.tracebacks import entrance

__all__ = ["coherence", "csd", "istft", "periodogram", "spectrogram", "stft", "welch"]

mirrors = mirrors_of("scipy.signal")

LEAST_WEIGHT = 1e-10
"""Sums of squared windows below which a sample is not divided by them. From SciPy."""


def _powers(cut: Segments, x: Any, y: Any, axis: int, fs: Any) -> tuple[Any, Any]:
    """Return frequencies, and cross spectra with frequencies where time was, and segments along the last axis."""
    here = cut.transformed(pnp.moveaxis(x, axis, -1))
    there = here if y is x else cut.transformed(pnp.moveaxis(y, axis, -1))
    found = pnp.real(here) ** 2 + pnp.imag(here) ** 2 if y is x else conjugated(here) * there
    doubled = np.ones(found.shape[-1])
    if cut.one_sided:
        doubled[1 : None if cut.length % 2 else -1] = 2.0
    found = found * (cut.scale * doubled)
    return cut.frequencies(fs), pnp.moveaxis(found, -1, axis if axis >= 0 else axis - 1)


@entrance
@mirrors
def welch(
    x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None, nfft: Any = None,
    detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density", axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:  # fmt: skip
    """scipy.signal.welch: the power spectrum, as mean or median of those of segments.

    Args:
        x: the signal.
        fs: samples for each unit of time.
        window: a name of SciPy's, or weights.
        nperseg: samples of a segment.
        noverlap: samples that two segments have in common.
        nfft: samples of a transform, with zeros after those of the segment.
        detrend: what is taken off each segment: 'constant', 'linear', a function, or False.
        return_onesided: whether only frequencies from 0 on are returned, of real signals.
        scaling: 'density' or 'spectrum'.
        axis: along which.
        average: 'mean' or 'median'.

    Returns:
        frequencies and powers.

    Raises:
        ShapeError: if lengths do not fit.
        DomainError: for options that there are not.

    Example:
        >>> import numpy as np, primad, primad.scipy.signal as signal
        >>> total = lambda x: np.sum(signal.welch(x, window="boxcar", detrend=False, nperseg=4)[1])
        >>> print(primad.grad(total)(np.array([1.0, 0.0, -1.0, 0.0])))
        [ 2.  0. -2.  0.]
    """
    return csd(x, x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)


@entrance
@mirrors
def csd(
    x: Any, y: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None, nfft: Any = None,
    detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density", axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:  # fmt: skip
    """scipy.signal.csd: the cross spectrum of two signals, as mean or median of those of segments (see `welch`).

    Args:
        x: a signal.
        y: another one.
        fs: samples for each unit of time.
        window: a name of SciPy's, or weights.
        nperseg: samples of a segment.
        noverlap: samples that two segments have in common.
        nfft: samples of a transform.
        detrend: what is taken off each segment.
        return_onesided: whether only frequencies from 0 on are returned, of real signals.
        scaling: 'density' or 'spectrum'.
        axis: along which.
        average: 'mean' or 'median'.

    Returns:
        frequencies and the spectrum.
    """
    if y is x:
        (x,) = floats(x, beside=[window, fs])
        y, samples = x, x.shape[axis]
    else:
        x, y = floats(x, y, beside=[window, fs])
        samples = max(x.shape[axis], y.shape[axis])
        x, y = (padded(each, axis % each.ndim, 0, samples - each.shape[axis], None) for each in (x, y))
    weights = weights_of("csd", window, nperseg, samples)
    one_sided = return_onesided and x.dtype.kind != "c"
    cut = cut_of("csd", weights, noverlap, nfft, one_sided, detrend, scaling, fs)
    frequencies, found = _powers(cut, x, y, axis, fs)
    if average not in ("mean", "median"):
        raise DomainError(f"scipy.signal.csd: average={average!r}", fix="use 'mean' or 'median'.")
    count = found.shape[-1]
    if average == "mean" or count == 1:
        return frequencies, pnp.mean(found, -1)
    odd = 2 * np.arange(1.0, (count - 1) // 2 + 1)
    bias = 1 + np.sum(1 / (odd + 1) - 1 / odd)  # of the median of exponential variables
    if found.dtype.kind != "c":
        return frequencies, pnp.median(found, -1) / bias
    return frequencies, (pnp.median(pnp.real(found), -1) + 1j * pnp.median(pnp.imag(found), -1)) / bias


@entrance
@mirrors
def periodogram(
    x: Any, fs: Any = 1.0, window: Any = "boxcar", nfft: Any = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1,
) -> tuple[Any, Any]:  # fmt: skip
    """scipy.signal.periodogram: the power spectrum of the whole signal (see `welch`).

    Args:
        x: the signal.
        fs: samples for each unit of time.
        window: a name of SciPy's, or weights.
        nfft: samples of the transform: the first ones, or with zeros after them.
        detrend: what is taken off.
        return_onesided: whether only frequencies from 0 on are returned, of real signals.
        scaling: 'density' or 'spectrum'.
        axis: along which.

    Returns:
        frequencies and powers.
    """
    (x,) = floats(x, beside=[window, fs])
    place = normalize_axis("periodogram", axis, x.ndim)
    if nfft is not None and nfft < x.shape[place]:
        x = x[(*[slice(None)] * place, slice(nfft))]
    size = x.shape[place]
    window = "boxcar" if window is None else window
    return welch(x, fs, window, size, 0, nfft, detrend, return_onesided, scaling, place)


@entrance
@mirrors
def coherence(
    x: Any, y: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None, nfft: Any = None,
    detrend: Any = "constant", axis: int = -1,
) -> tuple[Any, Any]:  # fmt: skip
    """scipy.signal.coherence: the squared cross spectrum as a share of both power spectra (see `welch`).

    Args:
        x: a signal.
        y: another one.
        fs: samples for each unit of time.
        window: a name of SciPy's, or weights.
        nperseg: samples of a segment.
        noverlap: samples that two segments have in common.
        nfft: samples of a transform.
        detrend: what is taken off each segment.
        axis: along which.

    Returns:
        frequencies and shares.
    """
    options = {"nperseg": nperseg, "noverlap": noverlap, "nfft": nfft, "detrend": detrend, "axis": axis}
    both = csd(x, y, fs, window, **options)[1]
    frequencies, first = welch(x, fs, window, **options)
    second = welch(y, fs, window, **options)[1]
    return frequencies, (pnp.real(both) ** 2 + pnp.imag(both) ** 2) / first / second


@entrance
@mirrors
def stft(
    x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = 256, noverlap: Any = None, nfft: Any = None,
    detrend: Any = False, return_onesided: bool = True, boundary: Any = "zeros", padded: bool = True, axis: int = -1,
    scaling: str = "spectrum",
) -> tuple[Any, Any, Any]:  # fmt: skip
    """scipy.signal.stft: transforms of segments.

    Args:
        x: the signal.
        fs: samples for each unit of time.
        window: a name of SciPy's, or weights.
        nperseg: samples of a segment.
        noverlap: samples that two segments have in common.
        nfft: samples of a transform.
        detrend: what is taken off each segment.
        return_onesided: whether only frequencies from 0 on are returned, of real signals.
        boundary: how the signal goes on at its ends: 'zeros', 'even', 'odd', 'constant' or None.
        padded: whether zeros make the last segment whole.
        axis: along which.
        scaling: 'spectrum' or 'psd'.

    Returns:
        frequencies, times, and transforms, with time as the last axis.

    Raises:
        ShapeError: if lengths do not fit.
        DomainError: for options that there are not.
    """
    if scaling not in ("spectrum", "psd"):
        raise DomainError(f"scipy.signal.stft: scaling={scaling!r}", fix="use 'spectrum' or 'psd'.")
    (x,) = floats(x, beside=[window, fs])
    weights = weights_of("stft", window, nperseg, x.shape[axis])
    one_sided = return_onesided and x.dtype.kind != "c"
    cut = cut_of("stft", weights, noverlap, nfft, one_sided, detrend, scaling.replace("psd", "density"), fs)
    return _over_time(cut, x, fs, boundary, padded, axis)


def _over_time(cut: Segments, x: Any, fs: Any, boundary: Any, whole: bool, axis: int) -> tuple[Any, Any, Any]:
    """Return frequencies, times and scaled transforms."""
    place = normalize_axis("stft", axis, x.ndim)
    rows, size = pnp.moveaxis(x, place, -1), cut.window.shape[0]
    kinds: dict[Any, dict[str, Any]] = {
        "even": {"mode": "reflect"}, "odd": {"mode": "reflect", "reflect_type": "odd"}, "constant": {"mode": "edge"},
        "zeros": {}, None: {},
    }  # fmt: skip
    if boundary not in kinds:
        raise DomainError(f"scipy.signal.stft: boundary={boundary!r}", fix=f"use one of {(*kinds,)}.")
    if boundary is not None and size > 1:
        rows = pnp.pad(rows, [*[(0, 0)] * (rows.ndim - 1), (size // 2, size // 2)], **kinds[boundary])
    if whole:
        rows = padded(rows, rows.ndim - 1, 0, (-(rows.shape[-1] - size) % cut.step) % size, None)
    times = np.arange(size / 2, rows.shape[-1] - size / 2 + 1, cut.step) / float(fs)
    times = times - (size / 2) / fs if boundary is not None else times
    return cut.frequencies(fs), times, pnp.moveaxis(cut.transformed(rows) * pnp.sqrt(cut.scale), -1, place)


@entrance
@mirrors
def spectrogram(
    x: Any, fs: Any = 1.0, window: Any = ("tukey", 0.25), nperseg: Any = None, noverlap: Any = None, nfft: Any = None,
    detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density", axis: int = -1,
    mode: str = "psd",
) -> tuple[Any, Any, Any]:  # fmt: skip
    """scipy.signal.spectrogram: power spectra of segments, or their transforms, sizes, angles or phases.

    Args:
        x: the signal.
        fs: samples for each unit of time.
        window: a name of SciPy's, or weights.
        nperseg: samples of a segment.
        noverlap: samples that two segments have in common; by default an eighth.
        nfft: samples of a transform.
        detrend: what is taken off each segment.
        return_onesided: whether only frequencies from 0 on are returned, of real signals.
        scaling: 'density' or 'spectrum'.
        axis: along which.
        mode: 'psd', 'complex', 'magnitude', 'angle' or 'phase'.

    Returns:
        frequencies, times, and spectra, with time as the last axis.

    Raises:
        ShapeError: if lengths do not fit.
        DomainError: for options that there are not.
    """
    if mode not in ("psd", "complex", "magnitude", "angle", "phase"):
        raise DomainError(f"scipy.signal.spectrogram: mode={mode!r}", fix="use 'psd', 'complex', 'magnitude', 'angle'.")
    (x,) = floats(x, beside=[window, fs])
    place = normalize_axis("spectrogram", axis, x.ndim)
    weights = weights_of("spectrogram", window, nperseg, x.shape[place])
    overlap = weights.shape[0] // 8 if noverlap is None else noverlap
    one_sided = return_onesided and x.dtype.kind != "c"
    cut = cut_of("spectrogram", weights, overlap, nfft, one_sided, detrend, scaling, fs)
    frequencies, times, found = _over_time(cut, x, fs, None, False, place)
    if mode == "psd":
        return frequencies, times, _powers(cut, x, x, place, fs)[1]
    if mode == "magnitude":
        return frequencies, times, pnp.abs(found)
    if mode == "complex":
        return frequencies, times, found
    angles = pnp.angle(found)
    return frequencies, times, pnp.unwrap(angles, axis=place) if mode == "phase" else angles


@entrance
@mirrors
def istft(
    Zxx: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None, nfft: Any = None,
    input_onesided: bool = True, boundary: bool = True, time_axis: int = -1, freq_axis: int = -2,
    scaling: str = "spectrum",
) -> tuple[Any, Any]:  # fmt: skip
    """scipy.signal.istft: the signal of which transforms of segments are given, as `stft` makes them.

    Args:
        Zxx: transforms.
        fs: samples for each unit of time.
        window: a name of SciPy's, or weights.
        nperseg: samples of a segment.
        noverlap: samples that two segments have in common.
        nfft: samples of a transform.
        input_onesided: whether only frequencies from 0 on are given.
        boundary: whether the signal went on at its ends.
        time_axis: that of segments.
        freq_axis: that of frequencies.
        scaling: 'spectrum' or 'psd'.

    Returns:
        times and the signal.

    Raises:
        ShapeError: if lengths do not fit.
        DomainError: for scalings that there are not.

    Example:
        >>> import numpy as np, primad, primad.scipy.signal as signal
        >>> def again(x):
        ...     return signal.istft(signal.stft(x, nperseg=4)[2], nperseg=4)[1]
        >>> print(primad.jvp(again, (np.zeros(4),), (np.arange(4.0),))[1].round(6))
        [0. 1. 2. 3.]
    """
    if scaling not in ("spectrum", "psd"):
        raise DomainError(f"scipy.signal.istft: scaling={scaling!r}", fix="use 'spectrum' or 'psd'.")
    (found,) = floats(Zxx, beside=[window, fs])
    if found.ndim < 2:
        raise ShapeError(
            f"scipy.signal.istft: transforms of shape {found.shape} have no axes of time and frequency",
            fix="give what scipy.signal.stft returns: frequencies, then times, as the last two axes.",
        )
    time, frequency = (normalize_axis("istft", axis, found.ndim) for axis in (time_axis, freq_axis))
    rows = pnp.moveaxis(found, (time, frequency), (-2, -1))
    count = rows.shape[-1]
    default = 2 * (count - 1) if input_onesided else count
    size = default if nperseg is None else int(nperseg)
    length = (size if input_onesided and size == default + 1 else default) if nfft is None else int(nfft)
    weights = weights_of("istft", window, size, None)
    overlap = size // 2 if noverlap is None else int(noverlap)
    if overlap >= size or length < size:
        raise ShapeError(
            f"scipy.signal.istft: segments of {size}, transforms of {length}, {overlap} in common",
            fix=f"give nfft={size} or more, and a noverlap below {size}.",
        )
    scale = pnp.sum(weights) if scaling == "spectrum" else pnp.sqrt(fs * pnp.sum(weights**2))
    parts = (fft.irfft if input_onesided else fft.ifft)(rows, length)[..., :size] * (weights * scale)
    step, segments = size - overlap, parts.shape[-2]
    total = size + (segments - 1) * step
    along = {"axes": (parts.ndim - 2,), "length": (total,), "step": (step,), "dilation": (1,), "low": (0,)}
    signal = ops.overlap_add(parts, **along)
    places = np.arange(segments)[:, None] * step + np.arange(size)
    norm = pnp.add_at(np.zeros(total), places, pnp.broadcast_to(weights**2, places.shape))
    if boundary:
        signal, norm = (each[..., size // 2 : total - size // 2] for each in (signal, norm))
    signal = signal / pnp.where(norm > LEAST_WEIGHT, norm, 1.0)
    axis = time - (frequency < time) if signal.ndim > 1 else 0
    signal = pnp.moveaxis(signal, -1, axis)
    return np.arange(signal.shape[0]) / float(fs), signal
