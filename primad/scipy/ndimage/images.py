"""What functions of images take: floats, and options for each axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError, ShapeError
from primad.numpy.axis_arguments import normalize_axis
from primad.numpy.promotion import any_traced, as_traced, first_traced
from primad.recording.traced_array import TracedArray, settled


def image(name: str, given: Any, output: Any, *others: Any) -> tuple[Any, Any]:
    """Return an image as a traced array in double precision, and the dtype of the result.

    Raises:
        DomainError: for images of integers, whose results SciPy rounds; for an array to write to.
    """
    found = settled(pnp.array(given))
    if found.ndim < 1:
        raise ShapeError(f"scipy.ndimage.{name} of one number", fix="pass an array with one axis at least.")
    if isinstance(output, (np.ndarray, TracedArray)):
        raise DomainError(f"scipy.ndimage.{name}: output is an array", fix="assign the result, or pass a dtype.")
    dtype = np.dtype(found.dtype if output is None else output)
    if dtype.kind not in "fc":
        raise DomainError(
            f"scipy.ndimage.{name} with a result of dtype {dtype}",
            why="SciPy rounds it, which has no derivative.",
            fix="convert the image with .astype(float), or pass output=float.",
        )
    wide = found.astype(np.result_type(found.dtype, np.float64))
    if isinstance(wide, TracedArray):
        return wide, dtype
    return as_traced(wide, first_traced([other for other in others if any_traced([other])])), dtype


def for_each(name: str, given: Any, count: int) -> list[Any]:
    """Return an option for each of some axes: one for all, or a sequence.

    Raises:
        ShapeError: if a sequence has another length.
    """
    if isinstance(given, TracedArray) and given.ndim:
        given = list(given)
    if isinstance(given, str) or np.ndim(given) == 0:
        return [given] * count
    if len(given) != count:
        raise ShapeError(
            f"scipy.ndimage.{name}: {len(given)} options for {count} axes",
            fix="give one for all axes, or one for each.",
        )
    return list(given)


def chosen_axes(name: str, axes: Any, ndim: int) -> list[int]:
    """Return axes that are not negative; None means all."""
    if axes is None:
        return list(range(ndim))
    given: Sequence[Any] = [axes] if np.ndim(axes) == 0 else axes
    return [normalize_axis(name, axis, ndim) for axis in given]
