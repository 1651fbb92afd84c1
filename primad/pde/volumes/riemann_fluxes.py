"""The flux through a face between two states: Rusanov's, and that of Harten, Lax and van Leer.

V. V. Rusanov, USSR Comput. Math. Math. Phys. 1 (1961) 267; A. Harten, P. D. Lax & B. van Leer, SIAM Review 25 (1983)
35. Both need bounds of the speeds of waves, the eigenvalues of the Jacobian A of the flux. All are real, so that they
lie within √(m−1) standard deviations of their mean, which traces of A and A² give (H. Wolkowicz & G. P. H. Styan,
Linear Algebra Appl. 29 (1980) 471): exact of one and two unknowns, 1.15 times the speed of sound for a gas in one
dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.functional.derivatives.first_order import jvp

Flux = Callable[[Any], Any]
"""A function of the states at faces, unknowns along the first axis, to their fluxes."""
FLUXES = ("hll", "rusanov")


def speeds(flux: Flux, states: Any) -> tuple[Any, Any]:
    """Return bounds of the slowest and the fastest signed speed of a wave in each state."""
    count = states.shape[0]
    columns = []
    for place in range(count):
        unit = np.zeros(states.shape)
        unit[place] = 1.0
        columns.append(jvp(flux, (states,), (unit,))[1])
    if count == 1:
        return columns[0][0], columns[0][0]
    mean = sum(columns[i][i] for i in range(count)) / count
    squares = sum(columns[j][i] * columns[i][j] for i in range(count) for j in range(count)) / count
    variance = squares - mean**2
    apart = variance > 0.0
    spread = np.where(apart, np.sqrt(np.where(apart, (count - 1) * variance, 1.0)), 0.0)
    return mean - spread, mean + spread


def through_faces(flux: Flux, left: Any, right: Any, kind: str) -> tuple[Any, Any]:
    """Return the fluxes through faces, and the largest speeds there.

    Args:
        flux: of the conservation law.
        left: the states left of the faces.
        right: the states right of them.
        kind: "hll" or "rusanov".
    """
    slow, fast = zip(speeds(flux, left), speeds(flux, right), strict=True)
    low, high = np.minimum(*slow), np.maximum(*fast)
    size = np.maximum(np.maximum(-low, high), 0.0)
    ahead, behind = flux(left), flux(right)
    if kind == "rusanov":
        return 0.5 * (ahead + behind) - 0.5 * size * (right - left), size
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    moving = high > low
    width = np.where(moving, high - low, 1.0)
    found = (high * ahead - low * behind + low * high * (right - left)) / width
    return pnp.where(moving, found, 0.5 * (ahead + behind)), size
