"""Segments of signals: their weights, how they are cut, and their transforms."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from primad import numpy as pnp
from primad import ops
from primad.errors import DomainError, ShapeError, warn
from primad.recording.traced_array import settled
from primad.scipy import fft
from primad.scipy.signal.smoothing import detrend as without_trend


class Segments(NamedTuple):
    """How a signal is cut and transformed.

    Attributes:
        window: weights of the samples of a segment.
        step: between segments.
        length: of each transform.
        one_sided: whether only frequencies from 0 on are kept.
        detrend: what is taken off each segment: a name, a function, or False.
        scale: of spectral densities.
    """

    window: Any
    step: int
    length: int
    one_sided: bool
    detrend: Any
    scale: Any

    def frequencies(self, rate: Any) -> Any:
        """Return the frequencies of a transform."""
        return (fft.rfftfreq if self.one_sided else fft.fftfreq)(self.length, 1 / rate)

    def transformed(self, rows: Any) -> Any:
        """Return transforms (..., segment, frequency) of a signal whose time is the last axis."""
        size = self.window.shape[0]
        count = (rows.shape[-1] - size) // self.step + 1
        if count < 1:
            raise ShapeError(f"a segment of {size} samples, of a signal of {rows.shape[-1]}", fix="lower nperseg.")
        parts = ops.windows(
            rows, axes=(rows.ndim - 1,), count=(count,), size=(size,), step=(self.step,), dilation=(1,), low=(0,)
        )
        if callable(self.detrend):
            parts = self.detrend(parts)
        elif self.detrend:
            parts = without_trend(parts, -1, self.detrend)
        return (fft.rfft if self.one_sided else fft.fft)(parts * self.window, self.length)


def weights_of(name: str, window: Any, nperseg: Any, samples: int | None) -> Any:
    """Return weights, traced or plain, for a window that is a name or an array."""
    if isinstance(window, (str, tuple)):
        size = 256 if nperseg is None else int(nperseg)
        if samples is not None and size > samples:
            warn(f"nperseg = {size} is greater than {samples} samples")
            size = samples
        return import_module("scipy.signal").get_window(window, size)
    found = settled(pnp.array(window))
    if found.ndim != 1 or nperseg not in (None, found.shape[0]):
        raise ShapeError(
            f"scipy.signal.{name}: a window of shape {found.shape} for segments of {nperseg}",
            fix="give a vector, and leave nperseg out, or its name with nperseg.",
        )
    return found


def cut_of(
    name: str, window: Any, noverlap: Any, nfft: Any, one_sided: bool, detrend: Any, scaling: str, fs: Any
) -> Segments:
    """Return how a signal is cut, with SciPy's defaults.

    Raises:
        ShapeError: if lengths do not fit.
        DomainError: for scalings that there are not.
    """
    size = window.shape[0]
    length = size if nfft is None else int(nfft)
    overlap = size // 2 if noverlap is None else int(noverlap)
    if length < size or overlap >= size:
        raise ShapeError(
            f"scipy.signal.{name}: segments of {size}, transforms of {length}, {overlap} in common",
            fix=f"give nfft={size} or more, and a noverlap below {size}.",
        )
    if scaling not in ("density", "spectrum"):
        raise DomainError(f"scipy.signal.{name}: scaling={scaling!r}", fix="use 'density' or 'spectrum'.")
    total = fs * pnp.sum(window * window) if scaling == "density" else pnp.sum(window) ** 2
    return Segments(window, size - overlap, length, one_sided, detrend, 1.0 / total)
