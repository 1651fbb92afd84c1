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
    runs = _runs(places)
    if len(runs) > 3:
        return pnp.take(x, places, axis=axis)
    before, shape = (slice(None),) * axis, [*x.shape]
    parts = []
    for start, step, count in runs:
        stop = start + step * count
        part = x[(*before, slice(start, None if stop < 0 else stop, step) if step else slice(start, start + 1))]
        shape[axis] = count
        parts.append(part if step else pnp.broadcast_to(part, shape))
    return pnp.concatenate(parts, axis=axis)


def _runs(places: Any) -> list[tuple[int, int, int]]:
    """Return start, step (1, 0 or −1) and length of runs that integers consist of, each as long as can be."""
    found: list[tuple[int, int, int]] = []
    steps = np.diff(places, append=places[-1] + 2)
    begin = 0
    while begin < len(places):
        step = int(steps[begin])
        step = step if step in (1, 0, -1) else 1
        others = np.flatnonzero(steps[begin:] != step)
        count = int(others[0]) + 1
        found.append((int(places[begin]), step, count))
        begin += count
    return found


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
