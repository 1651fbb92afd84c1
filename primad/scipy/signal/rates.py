"""Other rates of samples, by filters of few coefficients, and the design of these."""

from __future__ import annotations

import math
import operator
from importlib import import_module
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError, ShapeError
from primad.numpy.axis_arguments import normalize_axis
from primad.scipy.mirrors import floats, mirrors_of
from primad.scipy.signal.filters import lfilter, sosfilt, sosfiltfilt
from primad.system.tracebacks import entrance

__all__ = ["decimate", "firwin", "resample_poly", "upfirdn"]

mirrors = mirrors_of("scipy.signal")
BACKGROUNDS: dict[str, Any] = {"mean": np.mean, "median": np.median, "minimum": np.min, "maximum": np.max}
"""What is taken off before a signal is filtered, by SciPy's names."""


def _factor(name: str, what: str, value: Any) -> int:
    found = operator.index(value)
    if found < 1:
        raise DomainError(
            f"scipy.signal.{name}: {what} must be 1 at least, got {found}", fix="give a number of 1 or more."
        )
    return found


@entrance
@mirrors
def firwin(
    numtaps: int, cutoff: Any, *, width: Any = None, window: Any = "hamming", pass_zero: Any = True, scale: Any = True,
    fs: Any = None,
) -> Any:  # fmt: skip
    """scipy.signal.firwin: a filter of the ideal one's coefficients times a window, differentiable in its cutoffs.

    Args:
        numtaps: how many coefficients.
        cutoff: a frequency, or several that ascend.
        width: of the transition, a plain number, which chooses a Kaiser window.
        window: its name, or name and parameters.
        pass_zero: whether frequency 0 passes, or the name of a kind.
        scale: whether the response is 1 at the middle of the first band that passes.
        fs: samples for each unit of time; 2 by default.

    Returns:
        the coefficients.

    Raises:
        DomainError: where Nyquist's frequency passes and `numtaps` is even.

    Example:
        >>> import numpy as np, primad, primad.scipy.signal as signal
        >>> print(primad.derivative(lambda f: signal.firwin(3, f, window="boxcar", scale=False)[1])(0.4))
        1.0
    """
    edges = pnp.atleast_1d(*floats(cutoff, beside=[fs])) / (0.5 * (2.0 if fs is None else fs))
    if edges.ndim != 1 or not edges.shape[0]:
        raise ShapeError(f"scipy.signal.firwin: cutoff of shape {edges.shape}", fix="give one frequency, or a list.")
    if isinstance(pass_zero, str):
        kinds = {"lowpass": (True, 1), "bandstop": (True, 0), "highpass": (False, 1), "bandpass": (False, 0)}
        if pass_zero not in kinds or kinds[pass_zero][1] != edges.shape[0] % 2:
            raise DomainError(
                f"scipy.signal.firwin: pass_zero={pass_zero!r} with {edges.shape[0]} frequencies",
                fix="lowpass and highpass have an odd number of them, bandpass and bandstop an even one.",
            )
        pass_zero = kinds[pass_zero][0]
    ends_open = bool(edges.shape[0] % 2) ^ bool(pass_zero)
    if ends_open and numtaps % 2 == 0:
        raise DomainError(
            "scipy.signal.firwin: a filter of an even length has no response at Nyquist's frequency",
            fix="make numtaps odd.",
        )
    one = np.ones(1, edges.dtype)
    bands = pnp.concatenate([0.0 * one] * bool(pass_zero) + [edges] + [one] * ends_open)
    left, right = bands[::2, None], bands[1::2, None]
    place = np.arange(numtaps) - 0.5 * (numtaps - 1)
    ideal = pnp.sum(right * pnp.sinc(right * place) - left * pnp.sinc(left * place), axis=0)
    own = import_module("scipy.signal")
    if width is not None:
        window = "kaiser", own.kaiser_beta(own.kaiser_atten(numtaps, float(width) / (1.0 if fs is None else 0.5 * fs)))
    found = ideal * own.get_window(window, numtaps, fftbins=False)
    if not scale:
        return found
    middle = 0.0 if pass_zero else 1.0 if ends_open and edges.shape[0] == 1 else 0.5 * (left[0, 0] + right[0, 0])
    return found / pnp.sum(found * pnp.cos(math.pi * middle * place))


@entrance
@mirrors
def upfirdn(h: Any, x: Any, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant", cval: float = 0) -> Any:
    """scipy.signal.upfirdn: zeros between the samples, a filter, and of that each `down`-th.

    Args:
        h: coefficients of the filter.
        x: the signal.
        up: one more than how many zeros.
        down: which of the samples are left.
        axis: along which.
        mode: "constant": what is beyond the ends is 0.
        cval: must be 0.
    """
    if mode not in ("constant", "zero") or cval:
        raise DomainError(
            f"scipy.signal.upfirdn of traced arrays with mode={mode!r}, cval={cval}",
            fix="extend the signal by np.pad before, and cut the result.",
        )
    up, down = _factor("upfirdn", "up", up), _factor("upfirdn", "down", down)
    h, x = floats(h, x)
    if h.ndim != 1 or not h.shape[0]:
        raise ShapeError(f"scipy.signal.upfirdn: coefficients of shape {h.shape}", fix="give a vector of them.")
    place = normalize_axis("upfirdn", axis, x.ndim)
    rows = pnp.moveaxis(x, place, -1)
    n = rows.shape[-1]
    if up > 1:
        gaps = np.zeros((*rows.shape, up - 1), rows.dtype)
        rows = pnp.reshape(pnp.concatenate([rows[..., None], gaps], -1), (*rows.shape[:-1], n * up))
    length = (n - 1) * up + h.shape[0]
    rows = pnp.concatenate([rows, np.zeros((*rows.shape[:-1], max(length - n * up, 0)), rows.dtype)], -1)
    found = lfilter(h, np.ones(1), rows[..., :length])[..., ::down]
    return pnp.moveaxis(found, -1, place)


@entrance
@mirrors
def resample_poly(
    x: Any, up: int, down: int, axis: int = 0, window: Any = ("kaiser", 5.0), padtype: str = "constant",
    cval: Any = None,
) -> Any:  # fmt: skip
    """scipy.signal.resample_poly: another rate, by a filter between zeros.

    Args:
        x: the signal.
        up: by which the rate is multiplied.
        down: by which it is divided.
        axis: along which.
        window: of the filter, or its coefficients, which may be traced.
        padtype: what the signal is beyond its ends: "constant" (0), or its "mean", "median", "minimum" or "maximum".
        cval: must be None or 0.

    Example:
        >>> import numpy as np, primad, primad.scipy.signal as signal
        >>> middle = lambda x: signal.resample_poly(x, 2, 1)[4]  # the third sample stays
        >>> print(primad.grad(middle)(np.ones(4)).round(2) + 0.0)
        [0. 0. 1. 0.]
    """
    up, down = _factor("resample_poly", "up", up), _factor("resample_poly", "down", down)
    if padtype not in ("constant", *BACKGROUNDS) or cval:
        raise DomainError(
            f"scipy.signal.resample_poly of traced arrays with padtype={padtype!r}, cval={cval}",
            fix="extend the signal by np.pad before, and cut the result.",
        )
    common = math.gcd(up, down)
    up, down = up // common, down // common
    designed = isinstance(window, str | tuple)
    (x,) = floats(x, beside=[window])
    if up == down == 1:
        return x
    place = normalize_axis("resample_poly", axis, x.ndim)
    half = 10 * max(up, down)
    if designed:
        h = import_module("scipy.signal").firwin(2 * half + 1, 1.0 / max(up, down), window=window).astype(x.real.dtype)
    else:
        h = pnp.asarray(window)
        half = (h.shape[0] - 1) // 2
    rows = pnp.moveaxis(x, place, -1)
    n = rows.shape[-1]
    background = BACKGROUNDS[padtype](rows, axis=-1, keepdims=True) if padtype in BACKGROUNDS else 0.0
    before = down - half % down
    first, count = (half + before) // down, -(-n * up // down)
    after = max(0, (first + count - 1) * down + 1 - ((n - 1) * up + h.shape[0] + before))
    found = upfirdn(pnp.concatenate([np.zeros(before), h * up, np.zeros(after)]), rows - background, up, down)
    return pnp.moveaxis(found[..., first : first + count] + background, -1, place)


@entrance
@mirrors
def decimate(x: Any, q: int, n: Any = None, ftype: Any = "iir", axis: int = -1, zero_phase: bool = True) -> Any:
    """scipy.signal.decimate: each q-th sample of a signal, after a filter against aliases.

    Args:
        x: the signal.
        q: by which the rate is divided.
        n: the filter's order; by default 8, and 20·q of "fir".
        ftype: "iir", Chebyshev's filter, or "fir", one by a Hamming window.
        axis: along which.
        zero_phase: whether the filter is applied both ways, or its delay taken off.
    """
    q = _factor("decimate", "q", q)
    if ftype not in ("iir", "fir"):
        raise DomainError(
            "scipy.signal.decimate of traced signals with a system", fix="filter by filtfilt(b, a, x), and take [::q]."
        )
    (x,) = floats(x)
    place, own = normalize_axis("decimate", axis, x.ndim), import_module("scipy.signal")
    rows = pnp.moveaxis(x, place, -1)
    if ftype == "iir":
        sos = own.cheby1(8 if n is None else operator.index(n), 0.05, 0.8 / q, output="sos").astype(x.real.dtype)
        found = (sosfiltfilt if zero_phase else sosfilt)(sos, rows)[..., ::q]
    else:
        h = own.firwin((20 * q if n is None else operator.index(n)) + 1, 1.0 / q, window="hamming")
        h = h.astype(x.real.dtype)
        found = resample_poly(rows, 1, q, axis=-1, window=h) if zero_phase else upfirdn(h, rows, 1, q)
        found = found[..., : -(-rows.shape[-1] // q)]
    return pnp.moveaxis(found, -1, place)
