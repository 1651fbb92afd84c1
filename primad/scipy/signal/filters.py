"""Digital filters applied to signals: by coefficients, by sections of second order, forwards and backwards."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError, ShapeError
from primad.numpy.axis_arguments import normalize_axis
from primad.scipy.linear_filters.recursions import cascade
from primad.scipy.linear_filters.stencils import padded, weighted
from primad.scipy.mirrors import floats, known, mirrors_of
from primad.system.tracebacks import entrance

__all__ = ["filtfilt", "lfilter", "lfilter_zi", "sosfilt", "sosfilt_zi", "sosfiltfilt"]

mirrors = mirrors_of("scipy.signal")


def _vectors(name: str, b: Any, a: Any) -> tuple[Any, Any]:
    """Return coefficients as vectors of the same length, of which that of the output now is 1."""
    b, a = (pnp.atleast_1d(x) for x in (b, a))
    if b.ndim != 1 or a.ndim != 1 or not b.shape[0] or not a.shape[0]:
        raise ShapeError(
            f"scipy.signal.{name}: coefficients are vectors, got shapes {b.shape} and {a.shape}",
            fix="give the coefficients of one filter, one at least of each.",
        )
    b, a = b / a[0], a / a[0]
    length = max(b.shape[0], a.shape[0])
    return tuple(pnp.pad(x, (0, length - x.shape[0])) for x in (b, a))


@entrance
@mirrors
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """scipy.signal.lfilter: a recursion as one loop, differentiable in coefficients, signal and state.

    Args:
        b: coefficients of the input.
        a: coefficients of the output, of which the first is not 0.
        x: the signal.
        axis: along which.
        zi: the state before.

    Returns:
        the filtered signal; with `zi` also the state after it.

    Raises:
        ShapeError: if shapes do not fit.

    Example:
        >>> import numpy as np, primad, primad.scipy.signal as signal
        >>> step = np.ones(50)
        >>> print(primad.grad(lambda pole: signal.lfilter([1.0], [1.0, -pole], step)[-1])(0.5).round(6))
        4.0
    """
    operands = floats(b, a, x, *([] if zi is None else [zi]))
    b, a = _vectors("lfilter", *operands[:2])
    x = operands[2]
    place = normalize_axis("lfilter", axis, x.ndim)
    rows, order = pnp.moveaxis(x, place, 0), b.shape[0] - 1
    shape = (order, *rows.shape[1:])
    z = pnp.zeros(shape, rows.dtype) if zi is None else _state("lfilter", pnp.moveaxis(operands[3], place, 0), shape)
    if order == 0:
        y, after = b[0] * rows, z
    elif np.size(operands[1]) == 1:
        y = weighted(padded(rows, 0, order, 0, None), b[::-1], 0)
        y = y if zi is None else pnp.concatenate([y[:order] + z[: y.shape[0]], y[order:]])
        ends = weighted(padded(rows, 0, order, order, None), b[::-1], 0)[rows.shape[0] :]
        after = ends if zi is None else ends + pnp.pad(z, [(0, rows.shape[0]), *[(0, 0)] * (z.ndim - 1)])[-order:]
    else:
        y, states = cascade([(b, a)], rows, [[z[i] for i in range(order)]])
        after = pnp.stack(states[0])
    found = pnp.moveaxis(y, 0, place)
    return found if zi is None else (found, pnp.moveaxis(after, 0, place))


def _state(name: str, z: Any, shape: tuple[int, ...]) -> Any:
    """Return a state in its shape: axes of length 1 are repeated."""
    if (
        z.ndim != len(shape)
        or any(n not in (1, m) for n, m in zip(z.shape, shape, strict=True))
        or z.shape[0] != shape[0]
    ):
        raise ShapeError(
            f"scipy.signal.{name}: a state zi of shape {z.shape}, with that of time first; needs {shape}",
            fix="take lfilter_zi's, with an axis of length 1 for each other axis of x.",
        )
    return pnp.broadcast_to(z, shape)


@entrance
@mirrors
def lfilter_zi(b: Any, a: Any) -> Any:
    """scipy.signal.lfilter_zi: the state in which the response to a constant is constant.

    Args:
        b: coefficients of the input.
        a: coefficients of the output, of which the first is not 0.

    Example:
        >>> import numpy as np, primad, primad.scipy.signal as signal
        >>> print(primad.grad(lambda pole: signal.lfilter_zi([1.0], [1.0, -pole])[0])(0.5).round(6))
        4.0
    """
    b, a = _vectors("lfilter_zi", *floats(b, a))
    n = b.shape[0] - 1
    first = np.eye(1, n)[0]
    matrix = np.eye(n) - np.eye(n, k=1) + a[1:, None] * first
    return pnp.linalg.solve(matrix.astype(b.dtype), b[1:] - a[1:] * b[0])


def _sections(name: str, sos: Any) -> list[tuple[Any, Any]]:
    """Return (b, a) of sections of second order."""
    if sos.ndim != 2 or sos.shape[1] != 6 or not sos.shape[0]:
        raise ShapeError(
            f"scipy.signal.{name}: sections of shape {sos.shape}; each has 6 coefficients",
            fix="give one row (b0, b1, b2, a0, a1, a2) for each section, as output='sos' of a design does.",
        )
    return [(row[:3], row[3:]) for row in sos]


@entrance
@mirrors
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """scipy.signal.sosfilt: sections of second order, one behind the other, in one loop.

    Args:
        sos: six coefficients for each section, of which the fourth is 1.
        x: the signal.
        axis: along which.
        zi: the state before, two numbers for each section.

    Returns:
        the filtered signal; with `zi` also the state after it.

    Raises:
        ShapeError: if shapes do not fit.

    Example:
        >>> import numpy as np, primad, primad.scipy.signal as signal
        >>> sos = signal.butter(4, 0.2, output="sos")
        >>> response = primad.jacobian(lambda x: signal.sosfilt(sos, x)[-1])(np.ones(5))[:]
        >>> print(response.round(4))
        [0.2246 0.1679 0.0906 0.0307 0.0048]
    """
    sos, x, *given = floats(sos, x, *([] if zi is None else [zi]))
    sections = _sections("sosfilt", sos)
    place = normalize_axis("sosfilt", axis, x.ndim)
    rows, count = pnp.moveaxis(x, place, 0), len(sections)
    if zi is None:
        z = pnp.zeros((count, 2, *rows.shape[1:]), rows.dtype)
    else:
        z = pnp.moveaxis(given[0], place + 1, 1)
        if z.shape != (count, 2, *rows.shape[1:]):
            raise ShapeError(
                f"scipy.signal.sosfilt: a state of shape {given[0].shape} for {count} sections",
                fix=f"give {count} pairs, with the other axes of x in their places: 2 stands where its axis is.",
            )
    y, states = cascade(sections, rows, [[z[i, 0], z[i, 1]] for i in range(count)])
    found = pnp.moveaxis(y, 0, place)
    if zi is None:
        return found
    return found, pnp.moveaxis(pnp.stack([pnp.stack(state) for state in states]), 1, place + 1)


@entrance
@mirrors
def sosfilt_zi(sos: Any) -> Any:
    """scipy.signal.sosfilt_zi: the state of sections in which the response to a constant is constant.

    Args:
        sos: six coefficients for each section.
    """
    (sos,) = floats(sos)
    states, gain = [], 1.0
    for b, a in _sections("sosfilt_zi", sos):
        states.append(gain * lfilter_zi(b, a))
        gain = gain * pnp.sum(b) / pnp.sum(a)
    return pnp.stack(states)


def _extended(name: str, x: Any, axis: int, padtype: Any, padlen: int) -> tuple[Any, int]:
    """Return a signal that goes on at both ends, and how far."""
    kinds: dict[Any, dict[str, str]] = {
        "odd": {"mode": "reflect", "reflect_type": "odd"}, "even": {"mode": "reflect"}, "constant": {"mode": "edge"},
        None: {},
    }  # fmt: skip
    if padtype not in kinds:
        raise DomainError(f"scipy.signal.{name}: padtype={padtype!r}", fix=f"use one of {(*kinds,)}.")
    edge = 0 if padtype is None else padlen
    if x.shape[axis] <= edge:
        raise ShapeError(
            f"scipy.signal.{name}: a signal of {x.shape[axis]} samples goes on by {edge}", fix="lower padlen."
        )
    widths = [(edge, edge) if i == axis else (0, 0) for i in range(x.ndim)]
    return (pnp.pad(x, widths, **kinds[padtype]) if edge else x), edge


def _both_ways(x: Any, axis: int, edge: int, run: Any) -> Any:
    """Filter forwards, then backwards, each from the state of a constant signal; and cut what went on at the ends."""
    rows = pnp.moveaxis(x, axis, 0)
    for _ in range(2):
        rows = run(rows)[::-1]
    return pnp.moveaxis(rows[edge : rows.shape[0] - edge], 0, axis)


@entrance
@mirrors
def filtfilt(
    b: Any, a: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None, method: str = "pad",
    irlen: Any = None,
) -> Any:  # fmt: skip
    """scipy.signal.filtfilt: forwards and backwards, without a shift; method='gust' is for plain signals.

    Args:
        b: coefficients of the input.
        a: coefficients of the output.
        x: the signal.
        axis: along which.
        padtype: how the signal goes on at its ends: 'odd', 'even', 'constant' or None.
        padlen: how far.
        method: 'pad'.
        irlen: as SciPy's, where nothing is traced.

    Raises:
        DomainError: for method='gust'.
        ShapeError: if the signal is shorter than what is added.

    Example:
        >>> import numpy as np, primad, primad.scipy.signal as signal
        >>> b, a = signal.butter(2, 0.3)
        >>> smooth = lambda x: signal.filtfilt(b, a, x)
        >>> print(primad.jacobian(smooth)(np.zeros(20))[10, 8:13].round(4))
        [0.1175 0.2482 0.3131 0.2481 0.1175]
    """
    if method != "pad":
        raise DomainError(f"scipy.signal.filtfilt of a traced signal: method={method!r}", fix="use method='pad'.")
    b, a, x = floats(b, a, x)
    taps = max(np.size(b), np.size(a))
    place = normalize_axis("filtfilt", axis, x.ndim)
    x, edge = _extended("filtfilt", x, place, padtype, taps * 3 if padlen is None else padlen)
    state = lfilter_zi(b, a)

    def run(rows: Any) -> Any:
        return lfilter(b, a, rows, 0, pnp.reshape(state, (-1, *[1] * (x.ndim - 1))) * rows[:1])[0]

    return _both_ways(x, place, edge, run)


@entrance
@mirrors
def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None) -> Any:
    """scipy.signal.sosfiltfilt: sections of second order forwards and backwards; `jit` of traced ones needs a padlen.

    Args:
        sos: six coefficients for each section.
        x: the signal.
        axis: along which.
        padtype: how the signal goes on at its ends: 'odd', 'even', 'constant' or None.
        padlen: how far; by default by how many coefficients are not 0.

    Raises:
        ShapeError: if the signal is shorter than what is added.
    """
    if padlen is None:
        found = known(sos, "which coefficients are 0", "pass padlen=, by how much the signal goes on.")
        padlen = 3 * (2 * len(found) + 1 - min(np.sum(found[:, 2] == 0), np.sum(found[:, 5] == 0)))
    sos, x = floats(sos, x)
    place = normalize_axis("sosfiltfilt", axis, x.ndim)
    x, edge = _extended("sosfiltfilt", x, place, padtype, int(padlen))
    state = sosfilt_zi(sos)

    def run(rows: Any) -> Any:
        return sosfilt(sos, rows, 0, pnp.reshape(state, (*state.shape, *[1] * (x.ndim - 1))) * rows[:1])[0]

    return _both_ways(x, place, edge, run)
