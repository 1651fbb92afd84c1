"""Filters designed for frequencies that may be traced, by zeros and poles of SciPy's prototypes."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError, ShapeError
from primad.recording.traced_array import settled
from primad.scipy.mirrors import floats, mirrors_of
from primad.system.tracebacks import entrance

__all__ = ["bessel", "butter", "cheby1", "cheby2", "ellip", "iirfilter", "zpk2tf"]

mirrors = mirrors_of("scipy.signal")
BANDS = {
    **dict.fromkeys(("low", "lowpass", "lp", "l"), "lowpass"),
    **dict.fromkeys(("high", "highpass", "hp", "h"), "highpass"),
    **dict.fromkeys(("band", "bandpass", "pass", "bp"), "bandpass"),
    **dict.fromkeys(("bandstop", "bands", "stop", "bs"), "bandstop"),
}  # fmt: skip
"""SciPy's names of bands."""


def _own(name: str) -> Any:
    return getattr(import_module("scipy.signal"), name)


@entrance
@mirrors
def zpk2tf(z: Any, p: Any, k: Any) -> tuple[Any, Any]:
    """scipy.signal.zpk2tf: coefficients of zeros, poles and a gain; they are complex where roots are.

    Args:
        z: zeros.
        p: poles.
        k: gain.
    """
    return k * _monic(z), _monic(p)


def _monic(roots: Any) -> Any:
    """Return the coefficients of Π (x − root), the highest power first."""
    roots = settled(pnp.atleast_1d(pnp.asarray(roots)))
    found = pnp.ones(1, roots.dtype)
    for i in range(roots.shape[0]):
        found = pnp.concatenate([found, 0 * found[:1]]) - pnp.concatenate([0 * found[:1], found * roots[i]])
    return found


def _shifted(z: Any, p: Any, k: Any, band: str, warped: Any) -> tuple[Any, Any, Any]:
    """Return zeros, poles and gain of a band, of those of the lowpass with the cutoff 1."""
    degree = len(p) - len(z)
    if band == "lowpass":
        return warped * z, warped * p, k * warped**degree
    inverted = k * np.real(np.prod(-z) / np.prod(-p))
    if band == "highpass":
        return pnp.concatenate([warped / z, np.zeros(degree)]), warped / p, inverted
    width, middle = warped[1] - warped[0], pnp.sqrt(warped[0] * warped[1])
    z, p = (each * (width / 2) if band == "bandpass" else (width / 2) / each for each in (z, p))
    pairs = [
        pnp.concatenate([each + apart, each - apart])
        for each, apart in ((each, pnp.sqrt(each**2 - middle**2 + 0j)) for each in (z, p))
    ]
    if band == "bandpass":
        return pnp.concatenate([pairs[0], np.zeros(degree)]), pairs[1], k * width**degree
    centre = 1j * middle * np.repeat([1.0, -1.0], degree)
    return pnp.concatenate([pairs[0], centre]), pairs[1], inverted


def _designed(
    name: str, N: int, Wn: Any, prototype: tuple[Any, ...], btype: str, analog: bool, output: str, fs: Any
) -> Any:
    """Return a filter for traced frequencies, of a lowpass prototype of SciPy's.

    Raises:
        DomainError: for options that there are not, or that are not recorded.
        ShapeError: for another number of frequencies than the band has.
    """
    if btype.lower() not in BANDS or output not in ("ba", "zpk"):
        raise DomainError(
            f"scipy.signal.{name} for traced frequencies: btype={btype!r}, output={output!r}",
            fix="use a band of SciPy's, and output='ba' or 'zpk'; SciPy chooses the pairs of sections by their values.",
        )
    band, (Wn,) = BANDS[btype.lower()], floats(Wn)
    if Wn.shape not in ((), (1,)) if band in ("lowpass", "highpass") else Wn.shape != (2,):
        raise ShapeError(
            f"scipy.signal.{name}: frequencies of shape {Wn.shape} for btype={btype!r}",
            fix="give one frequency for 'lowpass' and 'highpass', two for 'bandpass' and 'bandstop'.",
        )
    Wn = Wn if fs is None else Wn / (fs / 2)
    Wn = pnp.reshape(Wn, ()) if band in ("lowpass", "highpass") else Wn
    z, p = (np.asarray(each, complex) for each in prototype[:2])
    z, p, k = _shifted(z, p, prototype[2], band, Wn if analog else 4 * pnp.tan(np.pi * Wn / 2))
    if not analog:
        degree = p.shape[0] - z.shape[0]
        k = k * pnp.real(pnp.prod(4 - z) / pnp.prod(4 - p))
        z, p = pnp.concatenate([(4 + z) / (4 - z), -np.ones(degree)]), (4 + p) / (4 - p)
    return (z, p, k) if output == "zpk" else (k * pnp.real(_monic(z)), pnp.real(_monic(p)))


@entrance
@mirrors
def butter(N: int, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba", fs: Any = None) -> Any:
    """scipy.signal.butter: for frequencies that may be traced, as 'ba' or 'zpk'; sections are of plain ones.

    Args:
        N: order.
        Wn: the cutoff, or both of a band.
        btype: the band.
        analog: whether the filter is analog.
        output: 'ba' or 'zpk'.
        fs: samples for each unit of time; by default frequencies are shares of half of that.

    Raises:
        DomainError: for other outputs.
        ShapeError: for another number of frequencies.

    Example:
        >>> import numpy as np, primad, primad.scipy.signal as signal
        >>> def gain(cutoff):
        ...     b, a = signal.butter(2, cutoff)
        ...     return np.abs(signal.freqz(b, a, worN=[0.3 * np.pi])[1][0])
        >>> print(f"{gain(0.3):.4f} {primad.grad(gain)(0.3):.4f}")
        0.7071 2.7459
    """
    return _designed("butter", N, Wn, _own("buttap")(N), btype, analog, output, fs)


@entrance
@mirrors
def cheby1(
    N: int, rp: Any, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba", fs: Any = None
) -> Any:
    """scipy.signal.cheby1: for frequencies that may be traced and plain ripples (see `butter`).

    Args:
        N: order.
        rp: ripple of the pass band, in decibels.
        Wn: the cutoff, or both of a band.
        btype: the band.
        analog: whether the filter is analog.
        output: 'ba' or 'zpk'.
        fs: samples for each unit of time.
    """
    return _designed("cheby1", N, Wn, _own("cheb1ap")(N, rp), btype, analog, output, fs)


@entrance
@mirrors
def cheby2(
    N: int, rs: Any, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba", fs: Any = None
) -> Any:
    """scipy.signal.cheby2: for frequencies that may be traced and a plain attenuation (see `butter`).

    Args:
        N: order.
        rs: attenuation of the stop band, in decibels.
        Wn: the cutoff, or both of a band.
        btype: the band.
        analog: whether the filter is analog.
        output: 'ba' or 'zpk'.
        fs: samples for each unit of time.
    """
    return _designed("cheby2", N, Wn, _own("cheb2ap")(N, rs), btype, analog, output, fs)


@entrance
@mirrors
def ellip(
    N: int, rp: Any, rs: Any, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba", fs: Any = None
) -> Any:
    """scipy.signal.ellip: for frequencies that may be traced and plain ripples (see `butter`).

    Args:
        N: order.
        rp: ripple of the pass band, in decibels.
        rs: attenuation of the stop band, in decibels.
        Wn: the cutoff, or both of a band.
        btype: the band.
        analog: whether the filter is analog.
        output: 'ba' or 'zpk'.
        fs: samples for each unit of time.
    """
    return _designed("ellip", N, Wn, _own("ellipap")(N, rp, rs), btype, analog, output, fs)


@entrance
@mirrors
def bessel(
    N: int, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba", norm: str = "phase", fs: Any = None
) -> Any:
    """scipy.signal.bessel: for frequencies that may be traced, as 'ba' or 'zpk' (see `butter`); not plain sections.

    Args:
        N: order.
        Wn: the cutoff, or both of a band.
        btype: the band.
        analog: whether the filter is analog.
        output: 'ba' or 'zpk'.
        norm: 'phase', 'delay' or 'mag'.
        fs: samples for each unit of time.
    """
    return _designed("bessel", N, Wn, _own("besselap")(N, norm=norm), btype, analog, output, fs)


@entrance
@mirrors
def iirfilter(
    N: int, Wn: Any, rp: Any = None, rs: Any = None, btype: str = "band", analog: bool = False, ftype: str = "butter",
    output: str = "ba", fs: Any = None,
) -> Any:  # fmt: skip
    """scipy.signal.iirfilter: a filter of a name, for frequencies that may be traced and plain ripples.

    Args:
        N: order.
        Wn: the cutoff, or both of a band.
        rp: ripple of the pass band, in decibels.
        rs: attenuation of the stop band, in decibels.
        btype: the band.
        analog: whether the filter is analog.
        ftype: 'butter', 'cheby1', 'cheby2', 'ellip' or 'bessel'.
        output: 'ba' or 'zpk'.
        fs: samples for each unit of time.

    Raises:
        DomainError: for filters that there are not.
    """
    kinds = {
        "butter": ("buttap", (N,)), "cheby1": ("cheb1ap", (N, rp)), "cheby2": ("cheb2ap", (N, rs)),
        "ellip": ("ellipap", (N, rp, rs)), "bessel": ("besselap", (N,)),
    }  # fmt: skip
    if ftype.lower() not in kinds:
        raise DomainError(f"scipy.signal.iirfilter: ftype={ftype!r}", fix=f"use one of {(*kinds,)}.")
    name, given = kinds[ftype.lower()]
    return _designed("iirfilter", N, Wn, _own(name)(*given), btype, analog, output, fs)
