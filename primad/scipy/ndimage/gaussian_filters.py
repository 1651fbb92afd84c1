"""Filters of images by bells, the densities of normal distributions, and by their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError
from primad.numpy.axis_arguments import normalize_axis
from primad.scipy.mirrors import known, mirrors_of
from primad.scipy.ndimage.filters import along_axis
from primad.scipy.ndimage.images import chosen_axes, for_each, image
from primad.system.tracebacks import entrance

__all__ = ["gaussian_filter", "gaussian_filter1d", "gaussian_gradient_magnitude", "gaussian_laplace"]

mirrors = mirrors_of("scipy.ndimage")

LEAST_SIGMA = 1e-15
"""Standard deviations below which an axis is not smoothed. From SciPy."""


def _bell(sigma: Any, order: int, radius: int) -> Any:
    """Return a derivative of a normal density at −radius, …, radius, whose values add to 1: q(x) exp(−x²/2σ²)."""
    x = np.arange(-radius, radius + 1.0)
    inverse = 1.0 / (sigma * sigma)
    density = pnp.exp(-0.5 * inverse * x**2)
    density = density / pnp.sum(density)
    q: list[Any] = [1.0]
    for _ in range(order):  # (q exp)′ = (q′ − q x/σ²) exp
        slope = [power * q[power] for power in range(1, len(q))] + [0.0, 0.0]
        q = [a - b for a, b in zip(slope, [0.0, *[inverse * each for each in q]], strict=True)]
    return density * sum(each * x**power for power, each in enumerate(q))


def _known(sigma: Any) -> float:
    """Return a standard deviation on which depends how many neighbours there are."""
    return float(known(sigma, "how far a bell reaches", "pass radius=, how many elements the bell reaches."))


def _smoothed(
    name: str, x: Any, sigma: Any, axis: int, order: int, mode: Any, cval: Any, truncate: Any, radius: Any
) -> Any:
    """Return an image smoothed along an axis."""
    if radius is None:
        radius = int(truncate * _known(sigma) + 0.5)
    if radius < 0 or order < 0:
        raise DomainError(f"scipy.ndimage.{name}: radius={radius}, order={order}", fix="neither may be negative.")
    return along_axis(name, x, _bell(sigma, order, int(radius))[::-1], axis, mode, cval)


@entrance
@mirrors
def gaussian_filter1d(
    input: Any, sigma: Any, axis: int = -1, order: int = 0, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, truncate: float = 4.0, *, radius: Any = None,
) -> Any:  # fmt: skip
    """scipy.ndimage.gaussian_filter1d: smoothed, or a derivative of that; `jit` takes a plain sigma, or a radius.

    Args:
        input: the image.
        sigma: standard deviation of the bell, differentiable at a given number of neighbours.
        axis: along which.
        order: of the derivative.
        output: a dtype.
        mode: how the image goes on.
        cval: what is outside, for 'constant'.
        truncate: how far the bell reaches, in standard deviations.
        radius: how far it reaches, in elements.

    Raises:
        DomainError: for negative orders and radii, and for results of integers.

    Example:
        >>> import numpy as np, primad
        >>> from primad.scipy import ndimage
        >>> peak = lambda sigma: ndimage.gaussian_filter1d(np.eye(1, 9, 4)[0], sigma, mode="constant", radius=4)[4]
        >>> print(f"{peak(1.0):.4f} {primad.grad(peak)(1.0):.4f}")
        0.3989 -0.3989
    """
    x, dtype = image("gaussian_filter1d", input, output, sigma, cval)
    place = normalize_axis("gaussian_filter1d", axis, x.ndim)
    return _smoothed("gaussian_filter1d", x, sigma, place, order, mode, cval, truncate, radius).astype(dtype)


@entrance
@mirrors
def gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    """scipy.ndimage.gaussian_filter: smoothed along all axes, or derivatives (see `gaussian_filter1d`).

    Args:
        input: the image.
        sigma: standard deviation of the bell, along each axis.
        order: of the derivative along each axis.
        output: a dtype.
        mode: how the image goes on, along each axis.
        cval: what is outside, for 'constant'.
        truncate: how far the bell reaches, in standard deviations.
        radius: how far it reaches, in elements, along each axis.
        axes: along which; by default all.
    """
    x, dtype = image("gaussian_filter", input, output, sigma, cval)
    return _bells("gaussian_filter", x, sigma, order, mode, cval, truncate, radius, axes).astype(dtype)


def _bells(
    name: str, x: Any, sigma: Any, order: Any, mode: Any, cval: Any, truncate: Any = 4.0, radius: Any = None,
    axes: Any = None,
) -> Any:  # fmt: skip
    """Return an image smoothed along axes."""
    places = chosen_axes(name, axes, x.ndim)
    options = [for_each(name, option, len(places)) for option in (sigma, order, mode, radius)]
    for axis, width, derivative, way, reach in zip(places, *options, strict=True):
        if reach is not None or _known(width) > LEAST_SIGMA:
            x = _smoothed(name, x, width, axis, derivative, way, cval, truncate, reach)
    return x


def _each_in_turn(
    name: str, x: Any, sigma: Any, mode: Any, cval: Any, order: int, axes: Any, options: Any
) -> list[Any]:
    """Return derivatives of an order along each axis of a smoothed image."""
    places = chosen_axes(name, axes, x.ndim)
    widths = dict(zip(places, for_each(name, sigma, len(places)), strict=True))
    every = [widths.get(axis, 0.0) for axis in range(x.ndim)]
    modes = for_each(name, mode, len(places))
    return [
        _bells(name, x, every, [order * (axis == i) for i in range(x.ndim)], way, cval, **options)
        for axis, way in zip(places, modes, strict=True)
    ]


@entrance
@mirrors
def gaussian_laplace(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None,
    **kwargs: Any,
) -> Any:  # fmt: skip
    """scipy.ndimage.gaussian_laplace: the Laplacian of a smoothed image (see `gaussian_filter`).

    Args:
        input: the image.
        sigma: standard deviation of the bell, along each axis.
        output: a dtype.
        mode: how the image goes on, along each axis.
        cval: what is outside, for 'constant'.
        axes: along which; by default all.
        **kwargs: further options of `gaussian_filter`.
    """
    x, dtype = image("gaussian_laplace", input, output, sigma, cval)
    parts = _each_in_turn("gaussian_laplace", x, sigma, mode, cval, 2, axes, kwargs)
    return (sum(parts) if parts else x).astype(dtype)


@entrance
@mirrors
def gaussian_gradient_magnitude(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None,
    **kwargs: Any,
) -> Any:  # fmt: skip
    """scipy.ndimage.gaussian_gradient_magnitude: the size of the gradient of a smoothed image (see `gaussian_filter`).

    Args:
        input: the image.
        sigma: standard deviation of the bell, along each axis.
        output: a dtype.
        mode: how the image goes on, along each axis.
        cval: what is outside, for 'constant'.
        axes: along which; by default all.
        **kwargs: further options of `gaussian_filter`.
    """
    x, dtype = image("gaussian_gradient_magnitude", input, output, sigma, cval)
    parts = _each_in_turn("gaussian_gradient_magnitude", x, sigma, mode, cval, 1, axes, kwargs)
    return (pnp.sqrt(sum(part * part for part in parts)) if parts else x).astype(dtype)
