"""Weighted sums of neighbours along an axis, and how an array goes on beyond its ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import numpy as pnp
from primad import ops
from primad.errors import DomainError

EXTENSIONS: dict[str, Any] = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap",
    "grid-wrap": "wrap", "constant": None, "grid-constant": None,
}  # fmt: skip
"""Modes of SciPy's filters, and the modes of `np.pad` that do the same; None for a constant."""


def extension_of(name: str, mode: Any) -> Any:
    """Return the mode of `np.pad` for one of SciPy's filters.

    Raises:
        DomainError: if there is none.
    """
    if mode not in EXTENSIONS:
        raise DomainError(f"{name}: mode={mode!r}", fix=f"use one of {(*EXTENSIONS,)}.")
    return EXTENSIONS[mode]


def padded(x: Any, axis: int, low: int, high: int, mode: Any, cval: Any = 0.0) -> Any:
    """Return an array with elements before and after an axis.

    Args:
        x: traced or plain.
        axis: which, not negative.
        low: how many before.
        high: how many after.
        mode: of `np.pad`; None for a constant.
        cval: the constant.
    """
    if not low and not high:
        return x
    if mode is None:
        widths = [(low, high) if i == axis else (0, 0) for i in range(x.ndim)]
        return pnp.pad(x, widths, constant_values=cval)
    places = np.pad(np.arange(x.shape[axis]), (low, high), mode)
    return pnp.take(x, places, axis=axis)


def weighted(x: Any, weights: Any, axis: int, step: int = 1) -> Any:
    """Return sums of as many neighbours as there are weights, Σⱼ weightsⱼ x[i·step + j], wherever all are there.

    Args:
        x: traced.
        weights: a vector.
        axis: along which, not negative.
        step: between sums.
    """
    size = weights.shape[0]
    count = (x.shape[axis] - size) // step + 1
    shown = ops.windows(x, axes=(axis,), count=(count,), size=(size,), step=(step,), dilation=(1,), low=(0,))
    return shown @ weights.astype(np.result_type(x.dtype, weights.dtype))
