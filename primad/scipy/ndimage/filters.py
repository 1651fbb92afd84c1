"""Linear filters of images: weighted sums of neighbours along one axis or several."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import numpy as pnp
from primad import ops
from primad.errors import ShapeError
from primad.numpy.axis_arguments import normalize_axis
from primad.numpy.elementwise.complex_numbers import conjugated
from primad.recording.traced_array import settled
from primad.scipy.linear_filters.stencils import extension_of, padded, weighted
from primad.scipy.mirrors import mirrors_of
from primad.scipy.ndimage.images import chosen_axes, for_each, image
from primad.system.tracebacks import entrance

__all__ = [
    "convolve", "convolve1d", "correlate", "correlate1d", "laplace", "prewitt", "sobel", "uniform_filter",
    "uniform_filter1d",
]  # fmt: skip

mirrors = mirrors_of("scipy.ndimage")


def _before(name: str, size: int, origin: int) -> int:
    """Return how many neighbours come before an element.

    Raises:
        ShapeError: if the element itself is none of them.
    """
    low = size // 2 + origin
    if not 0 <= low < max(size, 1) or size < 1:
        raise ShapeError(
            f"scipy.ndimage.{name}: origin {origin} for {size} weights",
            fix=f"give an origin from {-(size // 2)} to {size - 1 - size // 2}."
            if size > 0
            else "give one weight at least.",
        )
    return low


def along_axis(name: str, x: Any, weights: Any, axis: int, mode: Any, cval: Any, origin: int = 0) -> Any:
    """Return the sums of neighbours along an axis."""
    size = weights.shape[0]
    low = _before(name, size, origin)
    x = padded(x, axis, low, size - 1 - low, extension_of(f"scipy.ndimage.{name}", mode), cval)
    return weighted(x, weights, axis)


def _turned(weights: Any, origin: int, size: int) -> tuple[Any, int]:
    """Return weights and origin of the correlation that is a convolution."""
    return pnp.flip(weights), -origin - (size % 2 == 0)


def _vector(name: str, weights: Any) -> Any:
    found = settled(pnp.array(weights))
    if found.ndim != 1:
        raise ShapeError(
            f"scipy.ndimage.{name}: weights of shape {found.shape} along one axis",
            fix="give a vector of weights, or use scipy.ndimage.correlate and convolve for several axes.",
        )
    return found


@entrance
@mirrors
def correlate1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    """scipy.ndimage.correlate1d: weighted sums of neighbours along an axis.

    Args:
        input: the image.
        weights: of neighbours.
        axis: along which.
        output: a dtype.
        mode: how the image goes on: 'reflect', 'constant', 'nearest', 'mirror' or 'wrap'.
        cval: what is outside, for 'constant'.
        origin: how far the neighbours are moved.

    Raises:
        ShapeError: if weights are no vector, or the origin is outside of it.
        DomainError: for modes that there are not, and for results of integers.

    Example:
        >>> import numpy as np, primad
        >>> from primad.scipy import ndimage
        >>> print(primad.grad(lambda w: ndimage.correlate1d(np.arange(5.0), w)[2])(np.ones(3)))
        [1. 2. 3.]
    """
    x, dtype = image("correlate1d", input, output, weights, cval)
    weights = conjugated(_vector("correlate1d", weights))
    return along_axis(
        "correlate1d", x, weights, normalize_axis("correlate1d", axis, x.ndim), mode, cval, origin
    ).astype(dtype)


@entrance
@mirrors
def convolve1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    """scipy.ndimage.convolve1d: the convolution with weights along an axis (see `correlate1d`).

    Args:
        input: the image.
        weights: of neighbours.
        axis: along which.
        output: a dtype.
        mode: how the image goes on.
        cval: what is outside, for 'constant'.
        origin: how far the neighbours are moved.
    """
    x, dtype = image("convolve1d", input, output, weights, cval)
    weights = _vector("convolve1d", weights)
    weights, origin = _turned(weights, origin, weights.shape[0])
    return along_axis("convolve1d", x, weights, normalize_axis("convolve1d", axis, x.ndim), mode, cval, origin).astype(
        dtype
    )


def _around(name: str, x: Any, weights: Any, mode: Any, cval: Any, origin: Any, axes: Any, turned: bool) -> Any:
    """Return the sums of neighbours along several axes at once."""
    places = chosen_axes(name, axes, x.ndim)
    if weights.ndim != len(places):
        raise ShapeError(
            f"scipy.ndimage.{name}: weights of shape {weights.shape} along the axes {places}",
            fix="give weights with an axis for each.",
        )
    weights = pnp.moveaxis(weights, range(weights.ndim), np.argsort(np.argsort(places)))
    origins = dict(zip(places, for_each(name, origin, len(places)), strict=True))
    for size, axis in zip(weights.shape, sorted(places), strict=True):
        moved = -origins[axis] - (size % 2 == 0) if turned else origins[axis]
        low = _before(name, size, moved)
        x = padded(x, axis, low, size - 1 - low, extension_of(f"scipy.ndimage.{name}", mode), cval)
    along = tuple(sorted(places))
    count = tuple([x.shape[axis] - size + 1 for axis, size in zip(along, weights.shape, strict=True)])
    ones = (1,) * len(along)
    shown = ops.windows(x, axes=along, count=count, size=weights.shape, step=ones, dilation=ones, low=(0,) * len(along))
    return pnp.tensordot(shown, pnp.flip(weights) if turned else weights, weights.ndim)


@entrance
@mirrors
def correlate(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    """scipy.ndimage.correlate: weighted sums of neighbours along all axes.

    Args:
        input: the image.
        weights: of neighbours, of as many axes.
        output: a dtype.
        mode: how the image goes on: 'reflect', 'constant', 'nearest', 'mirror' or 'wrap'.
        cval: what is outside, for 'constant'.
        origin: how far the neighbours are moved, along each axis.
        axes: along which; by default all.

    Raises:
        ShapeError: if weights do not have as many axes.
        DomainError: for modes that there are not, and for results of integers.
    """
    x, dtype = image("correlate", input, output, weights, cval)
    weights = conjugated(settled(pnp.array(weights)))
    return _around("correlate", x, weights, mode, cval, origin, axes, False).astype(dtype)


@entrance
@mirrors
def convolve(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    """scipy.ndimage.convolve: the convolution with weights along all axes (see `correlate`).

    Args:
        input: the image.
        weights: of neighbours, of as many axes.
        output: a dtype.
        mode: how the image goes on.
        cval: what is outside, for 'constant'.
        origin: how far the neighbours are moved, along each axis.
        axes: along which; by default all.

    Example:
        >>> import numpy as np, primad
        >>> from primad.scipy import ndimage
        >>> kernel = np.array([[0.0, 1.0], [2.0, 3.0]])
        >>> print(primad.grad(lambda x: ndimage.convolve(x, kernel)[1, 1])(np.zeros((3, 3))))
        [[0. 0. 0.]
         [0. 3. 2.]
         [0. 1. 0.]]
    """
    x, dtype = image("convolve", input, output, weights, cval)
    return _around("convolve", x, settled(pnp.array(weights)), mode, cval, origin, axes, True).astype(dtype)


@entrance
@mirrors
def uniform_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: int = 0
) -> Any:
    """scipy.ndimage.uniform_filter1d: means of neighbours along an axis.

    Args:
        input: the image.
        size: how many neighbours.
        axis: along which.
        output: a dtype.
        mode: how the image goes on.
        cval: what is outside, for 'constant'.
        origin: how far the neighbours are moved.
    """
    x, dtype = image("uniform_filter1d", input, output, cval)
    weights = np.full(size, 1 / size) if size > 0 else np.zeros(0)
    place = normalize_axis("uniform_filter1d", axis, x.ndim)
    return along_axis("uniform_filter1d", x, weights, place, mode, cval, origin).astype(dtype)


@entrance
@mirrors
def uniform_filter(
    input: Any, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    """scipy.ndimage.uniform_filter: means of neighbours along all axes.

    Args:
        input: the image.
        size: how many neighbours, along each axis.
        output: a dtype.
        mode: how the image goes on, along each axis.
        cval: what is outside, for 'constant'.
        origin: how far the neighbours are moved, along each axis.
        axes: along which; by default all.
    """
    x, dtype = image("uniform_filter", input, output, cval)
    places = chosen_axes("uniform_filter", axes, x.ndim)
    options = (for_each("uniform_filter", option, len(places)) for option in (size, mode, origin))
    for axis, length, way, moved in zip(places, *options, strict=True):
        if length > 1:
            x = along_axis("uniform_filter", x, np.full(int(length), 1 / int(length)), axis, way, cval, moved)
    return x.astype(dtype)


@entrance
@mirrors
def laplace(input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None) -> Any:
    """scipy.ndimage.laplace: the sum of second differences along all axes.

    Args:
        input: the image.
        output: a dtype.
        mode: how the image goes on, along each axis.
        cval: what is outside, for 'constant'.
        axes: along which; by default all.
    """
    x, dtype = image("laplace", input, output, cval)
    places = chosen_axes("laplace", axes, x.ndim)
    second, modes = np.array([1.0, -2.0, 1.0]), for_each("laplace", mode, len(places))
    parts = [along_axis("laplace", x, second, axis, way, cval) for axis, way in zip(places, modes, strict=True)]
    return (sum(parts) if parts else x).astype(dtype)


def _edges(name: str, input: Any, axis: int, output: Any, mode: Any, cval: Any, across: list[float]) -> Any:
    """Return differences along an axis, smoothed along the others."""
    x, dtype = image(name, input, output, cval)
    place, modes = normalize_axis(name, axis, x.ndim), for_each(name, mode, x.ndim)
    x = along_axis(name, x, np.array([-1.0, 0.0, 1.0]), place, modes[place], cval)
    for i in range(x.ndim):
        x = x if i == place else along_axis(name, x, np.array(across), i, modes[i], cval)
    return x.astype(dtype)


@entrance
@mirrors
def sobel(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    """scipy.ndimage.sobel: differences along an axis, with weights 1, 2, 1 along the others.

    Args:
        input: the image.
        axis: along which.
        output: a dtype.
        mode: how the image goes on, along each axis.
        cval: what is outside, for 'constant'.
    """
    return _edges("sobel", input, axis, output, mode, cval, [1.0, 2.0, 1.0])


@entrance
@mirrors
def prewitt(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    """scipy.ndimage.prewitt: differences along an axis, with weights 1, 1, 1 along the others.

    Args:
        input: the image.
        axis: along which.
        output: a dtype.
        mode: how the image goes on, along each axis.
        cval: what is outside, for 'constant'.
    """
    return _edges("prewitt", input, axis, output, mode, cval, [1.0, 1.0, 1.0])
