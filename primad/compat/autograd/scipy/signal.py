"""What `autograd.scipy.signal` has: convolution along some axes of arrays, with others summed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from primad import numpy as pn
from primad.compat.autograd.importing import missing
from primad.errors import ShapeError

Axes = Sequence[Sequence[int]]


def convolve(A: Any, B: Any, axes: Axes | None = None, dot_axes: Axes = ((), ()), mode: str = "full") -> Any:
    """Return the convolution of two arrays.

    Args:
        A: an array.
        B: another.
        axes: the axes of A and those of B along which they are convolved, by default all.
        dot_axes: the axes of A and those of B over whose products is summed.
        mode: 'full', 'same' (as long as A) or 'valid' (where one lies within the other).

    Returns:
        an array with the other axes of A, then those of B, then those of the convolution.

    Raises:
        ShapeError: for another mode; for 'valid' if none of them is at least as long along all axes.

    Example:
        >>> from primad.compat.autograd.scipy.signal import convolve
        >>> convolve(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0]), mode="same")
        array([1., 3., 5.])
    """
    if mode not in ("full", "same", "valid"):
        raise ShapeError(f"convolve: the mode is {mode!r}", fix="take 'full', 'same' or 'valid'.")
    along = [list(range(np.ndim(A))), list(range(np.ndim(B)))] if axes is None else [list(axes[0]), list(axes[1])]
    longer = [np.shape(A)[a] >= np.shape(B)[b] for a, b in zip(*along, strict=True)]
    if mode != "valid" or all(longer):
        return _slid(A, B, along, dot_axes, mode)
    if any(np.shape(A)[a] > np.shape(B)[b] for a, b in zip(*along, strict=True)):
        raise ShapeError(
            f"convolve: of shapes {np.shape(A)} and {np.shape(B)} none contains the other along all axes",
            fix='pass mode="full", or the larger array as one of the two along every axis.',
        )
    found = _slid(B, A, along[::-1], dot_axes[::-1], mode)
    own = np.ndim(B) - len(along[1]) - len(dot_axes[1])
    return pn.moveaxis(found, list(range(own)), list(range(found.ndim - len(longer) - own, found.ndim - len(longer))))


def _slid(A: Any, B: Any, along: Axes, dot_axes: Axes, mode: str) -> Any:
    """Return the convolution for which B, reversed, slides over A."""
    over, of = along
    sizes = [np.shape(B)[b] for b in of]
    length = dict(zip(over, sizes, strict=True))
    more = [length.get(a, 1) - 1 if mode != "valid" else 0 for a in range(np.ndim(A))]
    widths = [((n + 1) // 2, n // 2) if mode == "same" else (n, n) for n in more]
    windows = sliding_window_view(pn.pad(A, widths), sizes, axis=tuple(over))
    summed = [*range(np.ndim(A), np.ndim(A) + len(sizes)), *dot_axes[0]]
    found = pn.tensordot(windows, pn.flip(B, tuple(of)), axes=(summed, [*of, *dot_axes[1]]))
    kept = [a for a in range(np.ndim(A)) if a not in dot_axes[0]]
    return pn.moveaxis(found, [kept.index(a) for a in over], list(range(found.ndim - len(over), found.ndim)))


__all__ = ["convolve"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
