"""Integrals of sampled functions, and of functions at fixed points: rules that are linear in the samples."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ShapeError
from primad.scipy.traced_calls import as_args, is_recorded, refuse
from primad.system.tracebacks import entrance

__all__ = ["cumulative_simpson", "cumulative_trapezoid", "fixed_quad", "romb", "simpson", "trapezoid"]


def _own(name: str) -> Any:
    return getattr(import_module("scipy.integrate"), name)


def _moved(name: str, y: Any, x: Any, dx: Any, axis: int) -> tuple[Any, Any]:
    """Return samples with their axis last, and the widths between them."""
    y = pnp.moveaxis(pnp.array(y), axis, -1)
    count = y.shape[-1]
    if x is None:
        return y, dx * pnp.ones(max(0, count - 1))
    x = pnp.array(x)
    x = pnp.moveaxis(x, axis, -1) if x.ndim > 1 else x
    if x.shape[-1] != count:
        raise ShapeError(
            f"{name}: {x.shape[-1]} points for {count} samples along the axis", fix="give one point for each sample."
        )
    return y, pnp.diff(x, axis=-1)


def _trapezia(y: Any, width: Any) -> Any:
    """Return the area below each two samples in a row."""
    return width * (y[..., 1:] + y[..., :-1]) / 2


@entrance
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate samples by the trapezoidal rule, as SciPy does; recorded in samples and points.

    Args:
        y: samples.
        x: where they are; by default evenly spaced.
        dx: how far apart, where there is no x.
        axis: along which.

    Returns:
        the integral.

    Example:
        >>> import numpy as np, primad, primad.scipy.integrate
        >>> print(primad.grad(lambda y: primad.scipy.integrate.trapezoid(y, dx=0.5))(np.ones(4)))
        [0.25 0.5  0.5  0.25]
    """
    if not is_recorded((y, x, dx)):
        return _own("trapezoid")(y, x, dx, axis)
    y, width = _moved("trapezoid", y, x, dx, axis)
    return pnp.sum(_trapezia(y, width), axis=-1)


@entrance
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate samples by Simpson's rule, as SciPy does; recorded in samples and points.

    Of an even number of samples the last interval is integrated with the parabola of the last three (Cartwright 2017).

    Args:
        y: samples.
        x: where they are; by default evenly spaced.
        dx: how far apart, where there is no x.
        axis: along which.

    Returns:
        the integral.

    Example:
        >>> import numpy as np, primad, primad.scipy.integrate
        >>> print(primad.grad(lambda y: primad.scipy.integrate.simpson(y, dx=3.0))(np.ones(5)))
        [1. 4. 2. 4. 1.]
    """
    if not is_recorded((y, x, dx)):
        return _own("simpson")(y, x, dx=dx, axis=axis)
    y, width = _moved("simpson", y, x, dx, axis)
    count = y.shape[-1]
    if count < 3:
        return pnp.sum(_trapezia(y, width), axis=-1)
    pairs = count - 1 - (count - 1) % 2
    h, k = width[..., :pairs:2], width[..., 1:pairs:2]
    first, middle, last = (y[..., i : pairs + i - 1 + (i > 1) : 2] for i in range(3))
    both = h + k
    found = pnp.sum(both / 6 * (first * (2 - k / h) + middle * both**2 / (h * k) + last * (2 - h / k)), axis=-1)
    if count % 2:
        return found
    h, k = width[..., -2], width[..., -1]
    weights = (k * (2 * k + 3 * h) / (6 * (h + k)), k * (k + 3 * h) / (6 * h), -(k**3) / (6 * h * (h + k)))
    return found + sum(weight * y[..., -1 - i] for i, weight in enumerate(weights))


def _cumulative(parts: Any, initial: Any, axis: int, added: bool) -> Any:
    """Return running sums, behind what they begin with."""
    found = pnp.cumsum(parts, axis=-1)
    if initial is not None:
        first = pnp.broadcast_to(pnp.array(initial, found.dtype), (*found.shape[:-1], 1))
        found = pnp.concatenate([first, found + first if added else found], axis=-1)
    return pnp.moveaxis(found, -1, axis)


@entrance
def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """Integrate samples up to each of them by the trapezoidal rule, as SciPy does; recorded in samples and points.

    Args:
        y: samples.
        x: where they are; by default evenly spaced.
        dx: how far apart, where there is no x.
        axis: along which.
        initial: None, or 0, which is the first of the integrals then.

    Returns:
        the integrals, one less than samples without `initial`.

    Example:
        >>> import numpy as np, primad, primad.scipy.integrate
        >>> integrals = lambda y: primad.scipy.integrate.cumulative_trapezoid(y, initial=0)
        >>> print(primad.jvp(integrals, (np.arange(3.0),), (np.ones(3),)))
        (array([0. , 0.5, 2. ]), array([0., 1., 2.]))
    """
    if not is_recorded((y, x, dx)):
        return _own("cumulative_trapezoid")(y, x, dx, axis, initial)
    if initial is not None and initial != 0:
        raise ShapeError(
            f"cumulative_trapezoid: initial is 0 or None, got {initial!r}",
            fix="use 0, and add another start to the result.",
        )
    y, width = _moved("cumulative_trapezoid", y, x, dx, axis)
    return _cumulative(_trapezia(y, width), initial, axis, False)


def _first_halves(y: Any, width: Any) -> Any:
    """Return integrals over the first interval of each parabola through three samples in a row."""
    h, k = width[..., :-1], width[..., 1:]
    share, bend = h / (h + k), h * h / ((h + k) * k)
    return h / 6 * ((3 - share) * y[..., :-2] + (3 + bend + share) * y[..., 1:-1] - bend * y[..., 2:])


@entrance
def cumulative_simpson(y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """Integrate samples up to each of them by Simpson's rule, as SciPy does; recorded in samples and points.

    Args:
        y: samples.
        x: where they are; by default evenly spaced.
        dx: how far apart, where there is no x.
        axis: along which.
        initial: what is added to all integrals, and the first of them then.

    Returns:
        the integrals, one less than samples without `initial`.

    Example:
        >>> import numpy as np, primad, primad.scipy.integrate
        >>> integrals = lambda y: primad.scipy.integrate.cumulative_simpson(y)
        >>> print(primad.jvp(integrals, (np.arange(3.0) ** 2,), (np.ones(3),))[1])
        [1. 2.]
    """
    if not is_recorded((y, x, dx, initial)):
        return _own("cumulative_simpson")(y, x=x, dx=dx, axis=axis, initial=initial)
    y, width = _moved("cumulative_simpson", y, x, dx, axis)
    count = y.shape[-1]
    if count < 3:
        return _cumulative(_trapezia(y, width), initial, axis, True)
    firsts = _first_halves(y, width)
    seconds = _first_halves(y[..., ::-1], width[..., ::-1])[..., ::-1]
    places = np.arange(count - 1)
    parts = pnp.where(
        (places % 2 == 0) & (places < count - 2),
        pnp.concatenate([firsts, firsts[..., -1:]], axis=-1),
        pnp.concatenate([seconds[..., :1], seconds], axis=-1),
    )
    return _cumulative(parts, initial, axis, True)


@entrance
def romb(y: Any, dx: Any = 1.0, axis: int = -1, show: bool = False) -> Any:
    """Integrate 2ᵏ + 1 evenly spaced samples by Romberg's rule, as SciPy does; recorded in samples and distance.

    Args:
        y: samples.
        dx: how far apart.
        axis: along which.
        show: whether to print the table, of plain samples.

    Returns:
        the integral.

    Raises:
        ShapeError: for another number of samples.
        NotDifferentiableError: for show with traced samples.

    Example:
        >>> import numpy as np, primad, primad.scipy.integrate
        >>> print(primad.grad(lambda y: primad.scipy.integrate.romb(y, dx=3.0))(np.ones(3)))
        [1. 4. 1.]
    """
    if not is_recorded((y, dx)):
        return _own("romb")(y, dx, axis, show)
    refuse("integrate.romb", show=show)
    y, _ = _moved("romb", y, None, 1.0, axis)
    count = y.shape[-1] - 1
    if count < 1 or count & (count - 1):
        raise ShapeError(f"romb: {count + 1} samples", fix="give one more than a power of two.")
    table = [0.5 * count * (y[..., 0] + y[..., -1])]
    step = count
    while step > 1:
        half = step // 2
        row = [0.5 * table[0] + half * pnp.sum(y[..., half::step], axis=-1)]
        for order, before in enumerate(table, 1):
            row.append(row[-1] + (row[-1] - before) / (4.0**order - 1.0))
        table, step = row, half
    return dx * table[-1]


@entrance
def fixed_quad(func: Any, a: Any, b: Any, args: Any = (), n: int = 5) -> tuple[Any, None]:
    """Integrate a function by the Gauss-Legendre rule of n points, as SciPy does; recorded in all it depends on.

    Args:
        func: (x, *args) -> values along the last axis, at an array of points.
        a: the lower end.
        b: the upper end.
        args: further arguments of func.
        n: how many points.

    Returns:
        the integral, and None.

    Example:
        >>> import primad, primad.scipy.integrate
        >>> integral = lambda k: primad.scipy.integrate.fixed_quad(lambda x: k * x**3, 0.0, 2.0)[0]
        >>> float(round(primad.grad(integral)(1.0), 12))
        4.0
    """
    args = as_args(args)
    if not is_recorded((a, b, args), lambda: func(0.5 * (a + b) + np.zeros(n), *args)):
        found: tuple[Any, None] = _own("fixed_quad")(func, a, b, args, n)
        return found
    places, weights = import_module("scipy.special").roots_legendre(n)
    half = 0.5 * (b - a)
    values = func(half * (places + 1.0) + a, *args)
    return half * pnp.sum(weights * values, axis=-1), None
