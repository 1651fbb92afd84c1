"""Frequency responses of filters."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError, ShapeError
from primad.scipy.mirrors import floats, mirrors_of
from primad.system.tracebacks import entrance

__all__ = ["freqs", "freqz", "freqz_sos", "freqz_zpk", "sosfreqz"]

mirrors = mirrors_of("scipy.signal")


def _angles(worN: Any, whole: bool, fs: Any, nyquist: bool = False) -> Any:
    """Return frequencies as angles of a sample."""
    if worN is None or isinstance(worN, (int, np.integer)):
        count = 512 if worN is None else operator.index(worN)
        return np.linspace(0, 2 * np.pi if whole else np.pi, count, endpoint=nyquist and not whole)
    return 2 * np.pi * pnp.atleast_1d(pnp.asarray(worN)) / fs


def _value(coefficients: Any, x: Any) -> Any:
    """Return a polynomial Σ cᵢ xⁱ at points, by Horner's rule."""
    found = coefficients[-1] + 0 * x
    for i in range(coefficients.shape[0] - 2, -1, -1):
        found = found * x + coefficients[i]
    return found


@entrance
@mirrors
def freqz(
    b: Any, a: Any = 1, worN: Any = 512, whole: bool = False, plot: Any = None, fs: Any = 2 * np.pi,
    include_nyquist: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """scipy.signal.freqz: the response of a digital filter at frequencies.

    Args:
        b: coefficients of the input.
        a: coefficients of the output.
        worN: at how many frequencies, or at which.
        whole: whether frequencies go around the circle.
        plot: a function of both results.
        fs: samples for each unit of time.
        include_nyquist: whether the last frequency is half of fs.

    Returns:
        frequencies and the response, complex numbers.

    Raises:
        ShapeError: if coefficients are no vectors.

    Example:
        >>> import numpy as np, primad, primad.scipy.signal as signal
        >>> gain = lambda b: np.abs(signal.freqz(b, worN=[0.5 * np.pi])[1][0])
        >>> print(primad.grad(gain)(np.array([1.0, 1.0])).round(4))
        [0.7071 0.7071]
    """
    w = _angles(worN, whole, fs, include_nyquist)
    b, a = (pnp.atleast_1d(pnp.asarray(each)) for each in (b, a))
    if b.ndim != 1 or a.ndim != 1:
        raise ShapeError(f"scipy.signal.freqz: coefficients of shapes {b.shape} and {a.shape}", fix="primad.vmap maps.")
    turned = pnp.exp(-1j * w)
    h = _value(b, turned) / _value(a, turned)
    w = w * (fs / (2 * np.pi))
    if plot is not None:
        plot(w, h)
    return w, h


@entrance
@mirrors
def freqs(b: Any, a: Any, worN: Any = 200, plot: Any = None) -> tuple[Any, Any]:
    """scipy.signal.freqs: the response of an analog filter; of a number of frequencies with plain coefficients.

    Args:
        b: coefficients of the input, the highest power first.
        a: coefficients of the output.
        worN: at which frequencies.
        plot: a function of both results.

    Returns:
        frequencies and the response, complex numbers.

    Raises:
        DomainError: for a number of frequencies, which SciPy chooses by the coefficients.
    """
    if worN is None or isinstance(worN, int):
        raise DomainError(
            "scipy.signal.freqs of traced coefficients at a number of frequencies",
            why="SciPy chooses them by the roots.",
            fix="pass the frequencies: worN=np.linspace(…).",
        )
    w = pnp.atleast_1d(pnp.asarray(worN))
    b, a = (pnp.atleast_1d(pnp.asarray(each))[::-1] for each in (b, a))
    h = _value(b, 1j * w) / _value(a, 1j * w)
    if plot is not None:
        plot(w, h)
    return w, h


@entrance
@mirrors
def freqz_zpk(z: Any, p: Any, k: Any, worN: Any = 512, whole: bool = False, fs: Any = 2 * np.pi) -> tuple[Any, Any]:
    """scipy.signal.freqz_zpk: the response of a digital filter with given zeros, poles and gain.

    Args:
        z: zeros.
        p: poles.
        k: gain.
        worN: at how many frequencies, or at which.
        whole: whether frequencies go around the circle.
        fs: samples for each unit of time.
    """
    w = _angles(worN, whole, fs)
    turned = pnp.exp(1j * w)
    above, below = (pnp.prod(turned[:, None] - pnp.atleast_1d(pnp.asarray(roots)), -1) for roots in (z, p))
    return w * (fs / (2 * np.pi)), k * above / below


def _of_sections(sos: Any, worN: Any, whole: bool, fs: Any) -> tuple[Any, Any]:
    (sos,) = floats(sos, beside=[worN])
    if sos.ndim != 2 or sos.shape[1] != 6 or not sos.shape[0]:
        raise ShapeError(
            f"scipy.signal.freqz_sos: sections of shape {sos.shape}; each has 6 coefficients",
            fix="give one row (b0, b1, b2, a0, a1, a2) for each section, as output='sos' of a design does.",
        )
    w = _angles(worN, whole, fs)
    turned, h = pnp.exp(-1j * w), 1.0
    for row in sos:
        h = h * (_value(row[:3], turned) / _value(row[3:], turned))
    return w * (fs / (2 * np.pi)), h


@entrance
@mirrors
def freqz_sos(sos: Any, worN: Any = 512, whole: bool = False, fs: Any = 2 * np.pi) -> tuple[Any, Any]:
    """scipy.signal.freqz_sos: the response of sections of second order.

    Args:
        sos: six coefficients for each section.
        worN: at how many frequencies, or at which.
        whole: whether frequencies go around the circle.
        fs: samples for each unit of time.
    """
    return _of_sections(sos, worN, whole, fs)


@entrance
@mirrors
def sosfreqz(sos: Any, worN: Any = 512, whole: bool = False, fs: Any = 2 * np.pi) -> tuple[Any, Any]:
    """scipy.signal.sosfreqz: `freqz_sos` by its other name.

    Args:
        sos: six coefficients for each section.
        worN: at how many frequencies, or at which.
        whole: whether frequencies go around the circle.
        fs: samples for each unit of time.
    """
    return _of_sections(sos, worN, whole, fs)
