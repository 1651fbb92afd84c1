"""Functions of series in orthogonal polynomials: values in several variables, derivatives, integrals and fits.

All follow from the polynomials' recurrence, from what sums a series, and from NumPy's functions of unit vectors: what
is linear in the coefficients is a matrix.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, reduce
from types import ModuleType
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.numpy.axis_arguments import normalize_axis
from primad.numpy.linalg.products import tensordot
from primad.numpy.polynomial.coefficients import fitted
from primad.numpy.promotion import as_float, traced_operands
from primad.numpy.shapes.index_updates import set_at
from primad.numpy.shapes.shaping import atleast_1d, concatenate, moveaxis, reshape, stack

Recurrence = Callable[[int], tuple[float, float, float]]


def functions(module: ModuleType, evaluate: Any, recurrence: Recurrence) -> dict[str, Callable[..., Any]]:
    """Return what the functions of a module of numpy.polynomial record, by their names there.

    Args:
        module: of NumPy's.
        evaluate: the function that sums a series of traced values, with `tensor` as NumPy's have it.
        recurrence: k → (a, b, c) of pₖ₊₁ = (a x + b) pₖ − c pₖ₋₁.
    """
    prefix = evaluate.__name__.removesuffix("val")
    powers = partial(_vander, recurrence)
    return {
        f"{prefix}vander": lambda x, deg: powers(x, deg),
        f"{prefix}vander2d": lambda x, y, deg: _products(powers, (x, y), deg),
        f"{prefix}vander3d": lambda x, y, z, deg: _products(powers, (x, y, z), deg),
        f"{prefix}val2d": lambda x, y, c: _at_points(evaluate, c, x, y),
        f"{prefix}val3d": lambda x, y, z, c: _at_points(evaluate, c, x, y, z),
        f"{prefix}grid2d": lambda x, y, c: evaluate(y, evaluate(x, c)),
        f"{prefix}grid3d": lambda x, y, z, c: evaluate(z, evaluate(y, evaluate(x, c))),
        f"{prefix}der": partial(_derived, getattr(module, f"{prefix}der")),
        f"{prefix}int": partial(_integrated, getattr(module, f"{prefix}int"), evaluate),
        f"{prefix}fit": partial(_fit, powers),
    }


def _vander(recurrence: Recurrence, x: Any, deg: Any) -> Any:
    """Return the polynomials up to a degree, along a new last axis."""
    if operator.index(deg) < 0:
        raise ShapeError(f"the degree {deg} must not be negative", fix="write 0 or more.")
    x = as_float(atleast_1d(traced_operands(x)[0]))
    found = [x * 0 + 1]
    for k in range(operator.index(deg)):
        a, b, c = recurrence(k)
        following = (a * x + b if b else a * x) * found[-1]
        found.append(following - c * found[-2] if k and c else following)
    return stack(found, -1)


def _products(powers: Callable[[Any, int], Any], points: tuple[Any, ...], degrees: Any) -> Any:
    """Return all products of the polynomials of several variables, along one last axis."""
    if len(degrees) != len(points):
        raise ShapeError(f"{len(degrees)} degrees for {len(points)} variables", fix="give a degree for each variable.")
    each = [powers(x, deg) for x, deg in zip(traced_operands(*points), degrees, strict=True)]
    if any(x.shape[:-1] != each[0].shape[:-1] for x in each):
        raise ShapeError(
            f"points of shapes {[x.shape[:-1] for x in each]} differ",
            fix="broadcast them to one shape, as np.meshgrid does.",
        )
    points_shape = each[0].shape[:-1]
    return reduce(lambda x, y: reshape(x[..., :, None] * y[..., None, :], (*points_shape, -1)), each)


def _at_points(evaluate: Any, c: Any, *points: Any) -> Any:
    """Sum a series in several variables at points, one coordinate after the other."""
    first, *others = traced_operands(*points, c)[:-1]
    if any(x.shape != first.shape for x in others):
        raise ShapeError(
            f"points of shapes {[x.shape for x in (first, *others)]} differ",
            fix="broadcast them to one shape, as np.meshgrid does.",
        )
    return reduce(lambda found, x: evaluate(x, found, tensor=False), others, evaluate(first, c))


def _count(what: str, m: Any) -> int:
    if operator.index(m) < 0:
        raise ShapeError(f"the order of {what}, {m}, must not be negative", fix="write 0 or more.")
    return operator.index(m)


def _moved(c: Any, axis: Any) -> tuple[Any, int]:
    """Return coefficients as floats, with the axis of their numbers first, and which it was."""
    c = as_float(atleast_1d(c))
    place = normalize_axis("coefficients", axis, c.ndim)
    return moveaxis(c, place, 0), place


def _linear(plain: Callable[..., Any], c: Any) -> Any:
    """Apply a function of NumPy's that is linear in the coefficients."""
    return tensordot(plain(np.eye(c.shape[0])).astype(c.dtype), c, 1)


def _derived(plain: Callable[..., Any], c: Any, m: Any = 1, scl: Any = 1, axis: Any = 0) -> Any:
    c, place = _moved(traced_operands(c, scl)[0], axis)
    for _ in range(_count("derivation", m)):
        c = _linear(plain, c * scl)
    return moveaxis(c, 0, place)


def _integrated(
    plain: Callable[..., Any],
    evaluate: Any,
    c: Any,
    m: Any = 1,
    k: Any = (),
    lbnd: Any = 0,
    scl: Any = 1,
    axis: Any = 0,
) -> Any:
    count, constants = _count("integration", m), list(k) if np.iterable(k) else [k]
    if len(constants) > count or np.ndim(lbnd) or np.ndim(scl):
        raise ShapeError(
            f"{len(constants)} constants for {count} integrations, or a bound or a scale that is no number",
            fix="give one constant for each integration at most, and numbers for lbnd and scl.",
        )
    c, place = _moved(traced_operands(c, lbnd, scl, *constants)[0], axis)
    for constant in [*constants, *[0] * (count - len(constants))]:
        c = _linear(plain, c * scl)
        c = concatenate([c[:1] + (constant - evaluate(lbnd, c)), c[1:]])
    return moveaxis(c, 0, place)


def _fit(
    powers: Callable[[Any, int], Any], x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None
) -> Any:
    x, y, *weights = [as_float(z) for z in traced_operands(*([x, y] if w is None else [x, y, w]))]
    degrees = np.asarray(deg)
    if degrees.ndim > 1 or degrees.dtype.kind not in "iu" or not degrees.size or degrees.min() < 0:
        raise ShapeError(
            f"fit: the degree must be a number or some numbers that are not negative, got {deg!r}",
            fix="write one degree, or a list of the degrees that the fit has.",
        )
    if x.ndim != 1 or not x.shape[0] or y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        raise ShapeError(
            f"fit: points of shape {x.shape} and values of shape {y.shape}",
            fix="give a vector of points, and a value, or a row of values, for each.",
        )
    if weights and weights[0].shape != x.shape:
        raise ShapeError(
            f"fit: weights of shape {weights[0].shape} for points of shape {x.shape}",
            fix="give a weight for each point.",
        )
    rcond = x.shape[0] * float(np.finfo(x.dtype).eps) if rcond is None else rcond
    columns, chosen = powers(x, int(degrees.max())), np.sort(degrees, axis=None)
    columns = columns[:, chosen] if degrees.ndim else columns
    found, residuals, rank, singular, _, _ = fitted(columns, y, weights[0] if weights else None, rcond)
    if degrees.ndim:
        found = set_at(np.zeros((int(degrees.max()) + 1, *found.shape[1:]), found.dtype), chosen, found)
    return (found, [residuals, rank, singular, rcond]) if full else found
