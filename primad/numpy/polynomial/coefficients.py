"""NumPy's functions of polynomials, given by their coefficients from the highest power down."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import is_complex
from primad.numpy.elementwise.complex_numbers import real
from primad.numpy.elementwise.ufuncs import sqrt
from primad.numpy.linalg.least_squares import lstsq
from primad.numpy.linalg.linear_systems import inv
from primad.numpy.linalg.products import matmul
from primad.numpy.linalg.spectra import eigvals
from primad.numpy.promotion import as_float, convert, implements, traced_operands
from primad.numpy.reduce.reductions import sum
from primad.numpy.reduce.signals import convolve
from primad.numpy.shapes.arranging import vander
from primad.numpy.shapes.shaping import atleast_1d, concatenate, stack, transpose

__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "roots"]


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """np.polyval, by Horner's rule, of a number or an array."""
    p, x = traced_operands(p, x)
    if not p.shape[0]:
        return np.zeros(x.shape, x.dtype)
    found = p[0] + np.zeros(x.shape, x.dtype)
    for coefficient in p[1:]:
        found = found * x + coefficient
    return found


def _aligned(a1: Any, a2: Any) -> list[Any]:
    """Give both polynomials the same number of coefficients, as NumPy does."""
    both = [atleast_1d(x) for x in traced_operands(a1, a2)]
    length = max(x.shape[0] for x in both)
    return [concatenate([np.zeros(length - x.shape[0], x.dtype), x]) if x.shape[0] < length else x for x in both]


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    """np.polyadd."""
    first, second = _aligned(a1, a2)
    return first + second


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    """np.polysub."""
    first, second = _aligned(a1, a2)
    return first - second


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    """np.polymul; leading coefficients that are 0 stay, since whether they are is a question of values."""
    return convolve(*[atleast_1d(x) for x in traced_operands(a1, a2)])


def _order(name: str, m: Any) -> int:
    count = operator.index(m)
    if count < 0:
        raise ShapeError(
            f"{name}: the order {count} must not be negative", fix="write 0 or more; np.polyint integrates."
        )
    return count


@implements(np.polyder)
def polyder(p: Any, m: int = 1) -> Any:
    """np.polyder."""
    for _ in range(_order("polyder", m)):
        p = p[:-1] * np.arange(p.shape[0] - 1, 0, -1)
    return p


@implements(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """np.polyint, with constants of integration: one, or one for each time."""
    count = _order("polyint", m)
    p, k = traced_operands(p, 0.0 if k is None else k)
    constants = list(atleast_1d(k))
    constants = constants * count if len(constants) == 1 else constants
    if len(constants) < count:
        raise ShapeError(
            f"polyint: {len(constants)} constants for {count} integrations",
            fix="give one constant, or one for each integration.",
        )
    for i in range(count):
        p = concatenate([p / np.arange(p.shape[0], 0, -1), atleast_1d(constants[i])])
    return p


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """np.poly of roots, or of a square matrix, by its eigenvalues: its characteristic polynomial.

    That of complex roots is complex, where NumPy's is real if they are each other's conjugates. Derivatives by a matrix
    exist where its eigenvalues are simple.
    """
    (roots,) = traced_operands(seq_of_zeros)
    if roots.ndim > 1:
        found = poly(eigvals(roots))
        return found if is_complex(roots.dtype) else real(found)
    single = roots.dtype in (np.float32, np.complex64)
    roots = roots if single else convert(roots, np.result_type(roots.dtype, np.float64))
    found, nothing = np.ones(1, roots.dtype), np.zeros(1, roots.dtype)
    for root in atleast_1d(roots):
        found = concatenate([found, nothing]) - concatenate([nothing, found * root])
    return found


@implements(np.roots)
def roots(p: Any) -> Any:
    """np.roots: the roots of a polynomial, by the eigenvalues of its companion matrix; always complex numbers.

    Args:
        p: coefficients, shape (n + 1,), of which the first is not 0 (NumPy leaves such out, which is a question of
            values).

    Returns:
        shape (n,), in LAPACK's order. Derivatives exist at roots that are simple.

    Example:
        >>> import numpy as np, primad
        >>> larger = lambda c: np.max(np.roots(np.stack([np.ones(()), -3.0 * np.ones(()), c])).real)
        >>> primad.grad(larger)(2.0)  # x² − 3x + 2, with the roots 1 and 2
        np.float64(-1.0)
    """
    p = as_float(p)
    if p.ndim != 1:
        raise ShapeError(
            f"np.roots takes the coefficients of one polynomial, got shape {p.shape}",
            fix="call it for one row after the other.",
        )
    n = p.shape[0] - 1
    if n < 1:
        return np.zeros(0, np.result_type(p.dtype, np.complex64))
    first = -p[1:] / p[0]
    return eigvals(concatenate([first[None, :], np.eye(n - 1, n, dtype=p.dtype)]))


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """np.polydiv: quotient and remainder.

    The remainder has as many coefficients as its degree may need; that leading ones are 0 is a question of values.
    """
    rest, v = (as_float(atleast_1d(x)) for x in traced_operands(u, v))
    if rest.ndim > 1 or v.ndim > 1 or not rest.shape[0] or not v.shape[0]:
        raise ShapeError(
            f"polydiv: coefficients of shapes {rest.shape} and {v.shape}", fix="give two vectors that are not empty."
        )
    dtype = np.result_type(rest.dtype, v.dtype)
    rest, v = convert(rest, dtype), convert(v, dtype)
    degree, quotient = v.shape[0] - 1, []
    scale = 1.0 / v[0]
    while rest.shape[0] > degree:
        factor = scale * rest[0]
        quotient.append(factor)
        rest = concatenate([rest[1 : degree + 1] - factor * v[1:], rest[degree + 1 :]])
    nothing = np.zeros(1, dtype)
    return stack(quotient) if quotient else nothing, rest if rest.shape[0] else nothing


@implements(np.polyfit)
def polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:  # fmt: skip
    """np.polyfit: the coefficients, from the highest power down, of the polynomials that fit points best.

    Points, values and weights may be traced; with the same rank, derivatives are those of the solution of the normal
    equations.

    Args:
        x: shape (m,).
        y: shape (m,), or (m, k) for k polynomials.
        deg: their degree.
        rcond: singular values up to this times the largest count as 0; by default the precision times m.
        full: whether to return residuals, rank, singular values and rcond too.
        w: weights of the residuals, not squared: shape (m,).
        cov: whether to return the covariance of the coefficients too; "unscaled" takes 1/w for standard deviations.

    Raises:
        ShapeError: for shapes that do not fit, a negative degree, and too few points for a covariance.

    Example:
        >>> import numpy as np, primad
        >>> x = np.array([0.0, 1.0, 3.0])
        >>> primad.jacobian(lambda y: np.polyfit(x, y, 1))(x).round(3)
        array([[-0.286, -0.071,  0.357],
               [ 0.714,  0.429, -0.143]])
    """
    given = [as_float(z) for z in traced_operands(*([x, y] if w is None else [x, y, w]))]
    x, y, weights = given[0], given[1], given[2] if w is not None else None
    order = _order("polyfit", deg) + 1
    if x.ndim != 1 or not x.shape[0] or y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        raise ShapeError(
            f"polyfit: points of shape {x.shape} and values of shape {y.shape}",
            fix="give a vector of points, and a value, or a row of values, for each.",
        )
    if weights is not None and weights.shape != x.shape:
        raise ShapeError(
            f"polyfit: weights of shape {weights.shape} for points of shape {x.shape}",
            fix="give a weight for each point.",
        )
    rcond = x.shape[0] * float(np.finfo(x.dtype).eps) if rcond is None else rcond
    found, residuals, rank, singular, powers, scale = fitted(vander(x, order), y, weights, rcond)
    if full:
        return found, residuals, rank, singular, rcond
    if not cov:
        return found
    return found, _covariance(powers, scale, residuals, y.ndim, cov)


def fitted(columns: Any, y: Any, weights: Any, rcond: Any) -> tuple[Any, ...]:
    """Fit values by columns of values, which are made of size 1 for it.

    Args:
        columns: shape (m, n).
        y: shape (m,) or (m, k).
        weights: of the residuals, not squared: shape (m,), or None.
        rcond: singular values up to this times the largest count as 0.

    Returns:
        coefficients, residuals, rank, singular values, the weighted columns of size 1, and their sizes.
    """
    if weights is not None:
        columns = columns * weights[:, None]
        y = y * (weights[:, None] if y.ndim == 2 else weights)
    scale = sqrt(sum(columns * columns, 0))
    columns = columns / scale
    found, *rest = lstsq(columns, y, rcond)
    return (found / (scale[:, None] if y.ndim == 2 else scale), *rest, columns, scale)


def _covariance(powers: Any, scale: Any, residuals: Any, ndim: int, cov: Any) -> Any:
    """Return the covariance of fitted coefficients, of one polynomial or several along a last axis."""
    count, order = powers.shape
    base = inv(matmul(transpose(powers), powers)) / (scale[:, None] * scale)
    if cov == "unscaled":
        return base if ndim == 1 else base[:, :, None]
    if count <= order:
        raise ShapeError(
            f"polyfit: {count} points are too few for the covariance of {order} coefficients",
            fix="write cov='unscaled', or give more points.",
        )
    return base * (residuals / (count - order)) if ndim == 1 else base[:, :, None] * (residuals / (count - order))
