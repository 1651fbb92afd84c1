"""Images at other places: at given coordinates, moved, turned and zoomed, by splines."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError, ShapeError
from primad.numpy.axis_arguments import normalize_axis
from primad.numpy.promotion import any_traced
from primad.recording.traced_array import settled
from primad.scipy import special
from primad.scipy.linear_filters.stencils import EXTENSIONS, extension_of, padded
from primad.scipy.linear_filters.tensor_products import summed
from primad.scipy.mirrors import known, mirrors_of
from primad.scipy.ndimage.images import for_each, image
from primad.scipy.ndimage.spline_coefficients import check_order, coefficients, spline_mode
from primad.system.tracebacks import entrance

__all__ = ["affine_transform", "map_coordinates", "rotate", "shift", "zoom"]

mirrors = mirrors_of("scipy.ndimage")

MARGIN = 12
"""Elements by which an image goes on before its splines are made, where these would go on otherwise. From SciPy."""


def _weights(order: int, fraction: Any) -> list[Any]:
    """Return the B-splines of an order on integers that are not 0 at a fraction of an interval (Cox and de Boor)."""
    values: list[Any] = [1.0 - fraction, fraction] if order else [1.0 + 0 * fraction]
    for degree in range(2, order + 1):
        falling = [value * ((r + 1 - fraction) / degree) for r, value in enumerate(values)]
        rising = [value * ((fraction + degree - 1 - r) / degree) for r, value in enumerate(values)]
        middle = [one + other for one, other in zip(falling[1:], rising[:-1], strict=True)]
        values = [falling[0], *middle, rising[-1]]
    return values


def _placed(first: Any, count: int, n: int, mode: str, near: bool) -> list[Any]:
    """Return so many places within an axis from any integers on, by how the axis goes on.

    Args:
        first: the integers.
        count: how many.
        n: length of the axis.
        mode: how it goes on.
        near: whether no place is farther outside than `count`.
    """
    if n == 1:
        return [first * 0] * count
    if mode in ("nearest", "grid-constant"):
        return [pnp.clip(first + r, 0, n - 1) for r in range(count)]
    period = {"grid-wrap": n, "mirror": 2 * n - 2}.get(mode, 2 * n)
    before = -1 if mode == "reflect" else 0  # what the element 0 is mirrored to

    def turned(i: Any) -> Any:
        """Return the equal place that is less than n, and not less by more than the period."""
        i = i % period
        return i if period == n else pnp.where(i < n, i, i - period)

    def folded(i: Any) -> Any:
        if period == n:
            return pnp.where(i < n, i, i - n)
        i = pnp.where(i < 0, before - i, i)
        return pnp.where(i < n, i, period + before - i)

    if n <= count:  # a division for each place, and not for the first of them alone
        return [folded(turned(first + r)) for r in range(count)]
    first = first if near and period != n else turned(first)
    return [folded(first + r) for r in range(count)]


def _neighbours(x: Any, n: int, order: int, mode: str) -> tuple[list[tuple[Any, Any]], Any, list[Any]]:
    """Return the places of splines along an axis and their weights, what is inside, and which places are inside.

    Args:
        x: coordinates.
        n: length of the axis.
        order: of the splines.
        mode: how the image goes on.
    """
    within = (x >= 0) & (x <= n - 1) if mode == "constant" else None
    if mode == "constant":
        x = pnp.clip(x, 0, n - 1)
    elif mode == "wrap":
        x = pnp.where(x < 0, n - 1 - (-x) % (n - 1), pnp.where(x > n - 1, x % (n - 1), x)) if n > 1 else x * 0
    moved = x if order % 2 else x + 0.5
    start = pnp.floor(moved)
    fraction, first = moved - start, start.astype(np.int64) - order // 2
    way = mode if mode in ("nearest", "grid-constant") else spline_mode(mode)
    weights = _weights(order, fraction)
    there = [(first + r >= 0) & (first + r < n) for r in range(order + 1)] if mode == "grid-constant" else []
    found = _placed(first, order + 1, n, way, near=mode in ("constant", "wrap"))
    return [*zip(found, weights, strict=True)], within, there


def _sampled(name: str, x: Any, places: list[Any], order: int, mode: Any, cval: Any, prefilter: bool) -> Any:
    """Return an image at coordinates, one array for each of its first axes; these broadcast.

    Raises:
        DomainError: for orders and modes that there are not.
    """
    check_order(name, order)
    extension_of(f"scipy.ndimage.{name}", mode)
    mode = "reflect" if mode == "grid-mirror" else mode
    margin = MARGIN if prefilter and order > 1 and mode in ("nearest", "grid-constant") else 0
    shown = x - cval if mode == "grid-constant" else x  # what is outside is 0 then
    for axis in range(len(places)):
        shown = padded(shown, axis, margin, margin, EXTENSIONS[mode], 0.0)
    if prefilter:
        for axis in range(len(places)):
            shown = coefficients(shown, order, axis, spline_mode(mode))
    choices: list[Any] = []
    outside: Any = False
    for axis, place in enumerate(places):
        found, within, there = _neighbours(place + margin, shown.shape[axis], order, mode)
        if there:
            found = [(i, pnp.where(here, w, 0.0)) for (i, w), here in zip(found, there, strict=True)]
        choices.append(found)
        outside = outside if within is None else outside | ~within
    values = summed(shown, choices)
    if mode == "grid-constant":
        return values + cval
    return values if outside is False else pnp.where(outside[(..., *[None] * (x.ndim - len(places)))], cval, values)


@entrance
@mirrors
def map_coordinates(
    input: Any, coordinates: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:  # fmt: skip
    """scipy.ndimage.map_coordinates: at coordinates, by splines; differentiable in image and coordinates.

    Args:
        input: the image.
        coordinates: (axis, ...), one for each axis of the image.
        output: a dtype.
        order: of the splines, up to 5.
        mode: how the image goes on: 'constant', 'nearest', 'mirror', 'reflect', 'wrap', 'grid-constant', 'grid-wrap'.
        cval: what is outside, for 'constant' and 'grid-constant'.
        prefilter: whether splines go through the elements; otherwise these are their coefficients.

    Raises:
        ShapeError: if there are not as many coordinates as axes.
        DomainError: for orders and modes that there are not, and for results of integers.

    Example:
        >>> import numpy as np, primad
        >>> from primad.scipy import ndimage
        >>> image = np.arange(16.0).reshape(4, 4)
        >>> height = lambda point: ndimage.map_coordinates(image, point[:, None], order=1)[0]
        >>> print(primad.grad(height)(np.array([1.5, 2.25])))
        [4. 1.]
    """
    x, dtype = image("map_coordinates", input, output, coordinates, cval)
    points = settled(pnp.array(coordinates)).astype(np.float64)
    if points.ndim < 2 or points.shape[0] != x.ndim:
        raise ShapeError(
            f"scipy.ndimage.map_coordinates: coordinates of shape {points.shape} for {x.ndim} axes",
            fix="give one row of coordinates for each axis, as np.stack or np.indices do.",
        )
    return _sampled("map_coordinates", x, list(points), order, mode, cval, prefilter).astype(dtype)


def _grid(shape: tuple[int, ...]) -> list[Any]:
    """Return the coordinates of elements along each axis, to broadcast."""
    return [np.arange(float(n)).reshape(-1, *[1] * (len(shape) - 1 - i)) for i, n in enumerate(shape)]


@entrance
@mirrors
def shift(
    input: Any, shift: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:  # fmt: skip
    """scipy.ndimage.shift: moved by a distance, which may be traced (see `map_coordinates`).

    Args:
        input: the image.
        shift: how far, along each axis.
        output: a dtype.
        order: of the splines, up to 5.
        mode: how the image goes on.
        cval: what is outside.
        prefilter: whether splines go through the elements.

    Example:
        >>> import numpy as np, primad
        >>> from primad.scipy import ndimage
        >>> line = lambda distance: ndimage.shift(np.arange(6.0) ** 2, distance)[3]
        >>> print(f"{line(0.5):.4f} {primad.grad(line)(0.5):.4f}")
        6.3636 -5.1316
    """
    x, dtype = image("shift", input, output, shift, cval)
    distances = for_each("shift", settled(shift), x.ndim)
    places = [place - far for place, far in zip(_grid(x.shape), distances, strict=True)]
    return _sampled("shift", x, places, order, mode, cval, prefilter).astype(dtype)


@entrance
@mirrors
def zoom(
    input: Any, zoom: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True, *, grid_mode: bool = False,
) -> Any:  # fmt: skip
    """scipy.ndimage.zoom: with more or fewer elements, by plain factors (see `map_coordinates`).

    Args:
        input: the image.
        zoom: factors of the lengths of axes; `affine_transform` takes traced ones.
        output: a dtype.
        order: of the splines, up to 5.
        mode: how the image goes on.
        cval: what is outside.
        prefilter: whether splines go through the elements.
        grid_mode: whether elements have a size, so that it is the whole of them that is zoomed.

    Raises:
        DomainError: for traced factors.
    """
    if any_traced([zoom]):
        raise DomainError(
            "scipy.ndimage.zoom by traced factors",
            why="They only say how many elements there are.",
            fix="use affine_transform(image, 1 / factors, output_shape=…).",
        )
    x, dtype = image("zoom", input, output, cval)
    shape = tuple([round(n * factor) for n, factor in zip(x.shape, for_each("zoom", zoom, x.ndim), strict=True)])
    places = []
    for n, m, place in zip(x.shape, shape, _grid(shape), strict=True):
        whole = m if grid_mode else m - 1
        step = (n if grid_mode else n - 1) / whole if whole else 1.0
        places.append((place + 0.5) * step - 0.5 if grid_mode else place * step)
    if prefilter and shape == x.shape and np.all(np.asarray(zoom) == 1):
        return x.astype(dtype)
    return _sampled("zoom", x, places, order, mode, cval, prefilter).astype(dtype)


@entrance
@mirrors
def affine_transform(
    input: Any, matrix: Any, offset: Any = 0.0, output_shape: Any = None, output: Any = None, order: int = 3,
    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """scipy.ndimage.affine_transform: at matrix @ place + offset, which may be traced (see `map_coordinates`).

    Args:
        input: the image.
        matrix: square, its diagonal alone, or with the offset as its last column.
        offset: of coordinates.
        output_shape: of the result; by default that of the image.
        output: a dtype.
        order: of the splines, up to 5.
        mode: how the image goes on.
        cval: what is outside.
        prefilter: whether splines go through the elements.

    Raises:
        ShapeError: if the matrix does not fit.

    Example:
        >>> import numpy as np, primad
        >>> from primad.scipy import ndimage
        >>> image = np.arange(16.0).reshape(4, 4)
        >>> moved = lambda offset: ndimage.affine_transform(image, np.eye(2), offset, order=1)[1, 1]
        >>> print(primad.grad(moved)(np.array([0.5, 0.25])))
        [4. 1.]
    """
    x, dtype = image("affine_transform", input, output, matrix, offset, cval)
    found = _moved(
        "affine_transform", x, settled(pnp.array(matrix)), offset, output_shape, order, mode, cval, prefilter
    )
    return found.astype(dtype)


def _moved(
    name: str, x: Any, matrix: Any, offset: Any, output_shape: Any, order: int, mode: Any, cval: Any, prefilter: bool
) -> Any:
    """Return an image at matrix @ place + offset."""
    shape = x.shape if output_shape is None else tuple(np.atleast_1d(output_shape).tolist())
    n = x.ndim
    if matrix.ndim == 2 and matrix.shape in ((n, n + 1), (n + 1, n + 1)):
        matrix, offset = matrix[:n, :n], matrix[:n, n]
    if matrix.shape not in ((n,), (n, len(shape))) or (matrix.ndim == 1 and len(shape) != n):
        raise ShapeError(
            f"scipy.ndimage.{name}: a matrix of shape {matrix.shape} for {n} axes and a result {shape}",
            fix="give a row for each axis of the image, a column for each of the result; or a number for each axis.",
        )
    offsets, grid = for_each(name, settled(offset), n), _grid(shape)
    if matrix.ndim == 1:
        places = [matrix[i] * grid[i] + offsets[i] for i in range(n)]
    else:
        places = [sum(matrix[i, j] * place for j, place in enumerate(grid)) + offsets[i] for i in range(n)]
    return _sampled(name, x, places, order, mode, cval, prefilter)


@entrance
@mirrors
def rotate(
    input: Any, angle: Any, axes: Any = (1, 0), reshape: bool = True, output: Any = None, order: int = 3,
    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """scipy.ndimage.rotate: turned by an angle in degrees; `jit` takes a plain one, or reshape=False.

    Args:
        input: the image.
        angle: in degrees.
        axes: the plane.
        reshape: whether the result is as large as the turned image.
        output: a dtype.
        order: of the splines, up to 5.
        mode: how the image goes on.
        cval: what is outside.
        prefilter: whether splines go through the elements.

    Raises:
        ShapeError: for axes that are no plane.

    Example:
        >>> import numpy as np, primad
        >>> from primad.scipy import ndimage
        >>> image = np.arange(25.0).reshape(5, 5)
        >>> corner = lambda angle: ndimage.rotate(image, angle, reshape=False, order=1)[1, 2]
        >>> print(f"{primad.grad(corner)(10.0):.4f}")
        0.0323
    """
    x, dtype = image("rotate", input, output, angle, cval)
    plane = sorted({normalize_axis("rotate", axis, x.ndim) for axis in axes})
    if len(plane) != 2:
        raise ShapeError(f"scipy.ndimage.rotate: axes {axes} are no plane", fix="give two different axes.")
    c, s = special.cosdg(angle), special.sindg(angle)
    sizes = np.array([x.shape[axis] for axis in plane])
    shape = sizes
    if reshape:
        a, b = (np.asarray(known(each, "how large the turned image is", "pass reshape=False.")) for each in (c, s))
        corners = np.array([[a, b], [-b, a]]) @ np.array([[0, 0, sizes[0], sizes[0]], [0, sizes[1], 0, sizes[1]]])
        shape = (np.ptp(corners, axis=1) + 0.5).astype(int)
    middle, centre = (sizes - 1) / 2, (shape - 1) / 2
    offset = [middle[0] - (c * centre[0] + s * centre[1]), middle[1] - (c * centre[1] - s * centre[0])]
    rows = pnp.moveaxis(x, plane, (0, 1))
    first, second = _grid(tuple(shape))
    places = [c * first + s * second + offset[0], c * second - s * first + offset[1]]
    found = _sampled("rotate", rows, places, order, mode, cval, prefilter)
    return pnp.moveaxis(found, (0, 1), plane).astype(dtype)
