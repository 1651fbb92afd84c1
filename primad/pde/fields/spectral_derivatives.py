"""Derivatives of values on periodic grids, exact for all waves that the grid can carry."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.recording.foreign import plain
from primad.recording.traced_array import is_traced
from primad.system.tracebacks import entrance

__all__ = ["spectral_derivative"]


@entrance
def spectral_derivative(values: Any, period: float, order: int = 1, axis: int = -1) -> Any:
    """Return a derivative of a periodic function, given at equidistant points, by a Fourier transform.

    The wave of the wavenumber k is multiplied by (ik)ᵒʳᵈᵉʳ (Trefethen, Spectral Methods in MATLAB, 2000, chapter 3);
    the highest one of an even number of points, whose sign nobody knows, has odd derivatives 0. Errors fall faster than
    any power of the distance of the points where the function is smooth.

    Args:
        values: real or complex, at points of which the first one after the last would be the first again.
        period: length of the period.
        order: of the derivative.
        axis: along which the points lie.

    Returns:
        the derivative at the points, real where values are, in their precision.

    Raises:
        ShapeError: if the order is not a whole number from 0 on, or there is no such axis.

    Example:
        >>> import numpy as np, primad.pde
        >>> x = np.linspace(0, 2 * np.pi, 16, endpoint=False)
        >>> np.allclose(primad.pde.spectral_derivative(np.exp(1j * x), 2 * np.pi, 2), -np.exp(1j * x))
        True
    """
    array = values if is_traced(values) else plain(values)
    if isinstance(order, bool) or not isinstance(order, (int, np.integer)) or order < 0:
        raise ShapeError(
            f"spectral_derivative: the order is a whole number from 0 on, got {order!r}",
            fix="pass 1, 2, …: how often is differentiated.",
        )
    if not -array.ndim <= axis < array.ndim:
        raise ShapeError(
            f"spectral_derivative: there is no axis {axis} in the shape {array.shape}",
            fix="pass the axis along which the points lie; -1 is the last one.",
        )
    count, real = array.shape[axis], array.dtype.kind != "c"
    waves = np.fft.rfftfreq(count, 1 / count) if real else np.fft.fftfreq(count, 1 / count)
    if order % 2 and count % 2 == 0:
        waves = np.where(np.abs(waves) == count // 2, 0.0, waves)
    factors = (2j * np.pi / period * waves) ** order
    factors = np.reshape(factors, [-1 if place == axis % array.ndim else 1 for place in range(array.ndim)])
    spectrum = np.fft.rfft(array, axis=axis) if real else np.fft.fft(array, axis=axis)
    changed = factors.astype(spectrum.dtype) * spectrum  # in the precision of the values
    return np.fft.irfft(changed, count, axis=axis) if real else np.fft.ifft(changed, axis=axis)
