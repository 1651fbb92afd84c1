"""Coefficients of splines through the elements of an image, by recursions in both directions (Unser 1999)."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError
from primad.functional.control.user_loops import scan
from primad.numpy.axis_arguments import normalize_axis
from primad.scipy.linear_filters.stencils import extension_of
from primad.scipy.mirrors import mirrors_of
from primad.scipy.ndimage.images import image
from primad.system.tracebacks import entrance

__all__ = ["spline_filter", "spline_filter1d"]

mirrors = mirrors_of("scipy.ndimage")

POLES = {
    0: (), 1: (), 2: (sqrt(8.0) - 3.0,), 3: (sqrt(3.0) - 2.0,),
    4: tuple(sqrt(664.0 + s * sqrt(438976.0)) - s * sqrt(304.0) - 19.0 for s in (-1, 1)),
    5: tuple(sqrt(67.5 + s * sqrt(4436.25)) - s * sqrt(26.25) - 6.5 for s in (-1, 1)),
}  # fmt: skip
"""Poles of the recursions for each order: roots within the unit circle of sampled B-splines (Unser 1999)."""
_MIRRORED = {"constant": "mirror", "grid-constant": "mirror", "wrap": "mirror", "nearest": "reflect"}
"""How splines go on where an image goes on otherwise: as in SciPy."""


def spline_mode(mode: str) -> str:
    """Return how the coefficients of a spline go on, for a mode of the image: 'mirror', 'reflect' or 'grid-wrap'."""
    mode = "reflect" if mode == "grid-mirror" else mode
    return _MIRRORED.get(mode, mode)


def _recursed(x: Any, z: float, mode: str) -> Any:
    """Return Σ over all neighbours of z^|distance| times them, up to a factor, along the first axis.

    Args:
        x: rows.
        z: a pole.
        mode: how rows go on.
    """
    n = x.shape[0]
    period = {"mirror": 2 * n - 2, "reflect": 2 * n, "grid-wrap": n}[mode]
    places = np.pad(np.arange(n), (period, 0), extension_of("", mode))[period - np.arange(period)]
    first = np.zeros(n)
    np.add.at(first, places, z ** np.arange(period) / (1 - z**period))
    start = pnp.tensordot(first, x, 1)
    _, ahead = scan(lambda before, row: (row + z * before,) * 2, start, x[1:])
    ahead = pnp.concatenate([start[None], ahead])
    if mode == "mirror":
        last = (z * ahead[-2] + ahead[-1]) * (z / (z * z - 1))
    elif mode == "reflect":
        last = ahead[-1] * (z / (z - 1))
    else:
        last = pnp.tensordot(-(z ** np.append(np.arange(2.0, n + 1), 1.0)) / (1 - z**n), ahead, 1)
    _, back = scan(lambda behind, row: (z * (behind - row),) * 2, last, ahead[:-1], reverse=True)
    return pnp.concatenate([back, last[None]])


def coefficients(x: Any, order: int, axis: int, mode: str) -> Any:
    """Return coefficients of splines along an axis; `mode` is that of the spline."""
    if x.shape[axis] == 1 or not POLES[order]:
        return x
    rows = pnp.moveaxis(x, axis, 0)
    for z in POLES[order]:
        rows = _recursed(rows * ((1 - z) * (1 - 1 / z)), z, mode)
    return pnp.moveaxis(rows, 0, axis)


def check_order(name: str, order: Any, least: int = 0) -> None:
    """Raise unless there are splines of an order."""
    if order not in POLES or order < least:
        raise DomainError(f"scipy.ndimage.{name}: order={order}", fix=f"use an order from {least} to 5.")


@entrance
@mirrors
def spline_filter1d(input: Any, order: int = 3, axis: int = -1, output: Any = float, mode: str = "mirror") -> Any:
    """scipy.ndimage.spline_filter1d: coefficients of splines through the elements, along an axis.

    Args:
        input: the image.
        order: of the splines, up to 5.
        axis: along which.
        output: a dtype.
        mode: how the image goes on.

    Raises:
        DomainError: for other orders and modes.
    """
    check_order("spline_filter1d", order)
    extension_of("scipy.ndimage.spline_filter1d", mode)
    x, dtype = image("spline_filter1d", input, output)
    dtype = np.result_type(dtype, x.dtype if x.dtype.kind == "c" else dtype)
    return coefficients(x, order, normalize_axis("spline_filter1d", axis, x.ndim), spline_mode(mode)).astype(dtype)


@entrance
@mirrors
def spline_filter(input: Any, order: int = 3, output: Any = float, mode: str = "mirror") -> Any:
    """scipy.ndimage.spline_filter: coefficients of splines through the elements, along all axes.

    Args:
        input: the image.
        order: of the splines, from 2 to 5.
        output: a dtype.
        mode: how the image goes on.

    Raises:
        DomainError: for other orders and modes.

    Example:
        >>> import numpy as np, primad
        >>> from primad.scipy import ndimage
        >>> print(primad.grad(lambda x: ndimage.spline_filter(x)[2])(np.zeros(5)).round(3))
        [ 0.125 -0.5    1.75  -0.5    0.125]
    """
    check_order("spline_filter", order, 2)
    extension_of("scipy.ndimage.spline_filter", mode)
    x, dtype = image("spline_filter", input, output)
    dtype = np.result_type(dtype, x.dtype if x.dtype.kind == "c" else dtype)
    for axis in range(x.ndim):
        x = coefficients(x, order, axis, spline_mode(mode))
    return x.astype(dtype)
