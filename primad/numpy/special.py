"""SciPy's special functions over the primitives, under SciPy's names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad import ops
from primad.ir.array_types import is_complex
from primad.ir.law_families import scales
from primad.numpy.axis_arguments import keep_axes, normalize_axes
from primad.numpy.elementwise.complex_numbers import imag, real
from primad.numpy.elementwise.logic import isfinite
from primad.numpy.elementwise.rounding import fmin
from primad.numpy.elementwise.ufuncs import absolute, unary, where
from primad.numpy.promotion import as_float, convert, harmonize, implements
from primad.numpy.reduce.largest import max as largest
from primad.numpy.reduce.reductions import logsumexp_
from primad.numpy.reduce.reductions import sum as sum_
from primad.numpy.special_functions import (
    distributions,
    elliptic,
    families,
    formulas,
    members,
    others,
    spherical_harmonics,
)
from primad.numpy.special_functions.distributions import *
from primad.numpy.special_functions.elliptic import *
from primad.numpy.special_functions.families import *
from primad.numpy.special_functions.formulas import *
from primad.numpy.special_functions.members import *
from primad.numpy.special_functions.others import *
from primad.numpy.special_functions.spherical_harmonics import *
from primad.ops.record.kinds import composite
from primad.ops.record.primitive import Primitive, full
from primad.system.deferred import special

erf = unary(ops.erf, special.erf)
erfc = unary(ops.erfc, special.erfc)
ndtr = unary(ops.ndtr, special.ndtr)
expit = unary(ops.logistic, special.expit)
erfinv = unary(ops.erfinv, special.erfinv)
erfcinv = unary(ops.erfcinv, special.erfcinv)
erfi = unary(ops.erfi, special.erfi)
ndtri = unary(ops.ndtri, special.ndtri)
log_ndtr = unary(ops.log_ndtr, special.log_ndtr)
logit = unary(ops.logit, special.logit)
gamma = unary(ops.gamma, special.gamma)
rgamma = unary(ops.rgamma, special.rgamma)
exp1 = unary(ops.exp1, special.exp1)
expi = unary(ops.expi, special.expi)
gammaln = unary(ops.gammaln, special.gammaln)
# SciPy's own of what NumPy has too.
cbrt = unary(ops.cbrt, special.cbrt)
exp2 = unary(ops.exp2, special.exp2)
expm1 = unary(ops.expm1, special.expm1)
log1p = unary(ops.log1p, special.log1p)


@implements(special.psi, ufunc=True)
def digamma(x: Any, /) -> Any:
    """scipy.special.psi: the derivative of gammaln."""
    return ops.polygamma(as_float(x), n=0)


psi = digamma  # as SciPy calls it


@implements(special.polygamma)
def polygamma(n: int, x: Any) -> Any:
    """scipy.special.polygamma for one integer n: the derivative of order n + 1 of gammaln.

    Example:
        >>> import primad
        >>> primad.grad(primad.numpy.special.gammaln)(1.0)
        np.float64(-0.5772156649015329)
    """
    return ops.polygamma(as_float(x), n=int(n))


@implements(special.i0, np.i0, ufunc=True)
def i0(x: Any, /) -> Any:
    """scipy.special.i0: the modified Bessel function of the first kind and of order 0."""
    return ops.bessel_i(as_float(x), n=0)


@implements(special.i1, ufunc=True)
def i1(x: Any, /) -> Any:
    """scipy.special.i1: the modified Bessel function of order 1, the derivative of i0."""
    return ops.bessel_i(as_float(x), n=1)


def _softmax(x: Any, *, axis: int) -> Any:
    """Shifted by the largest element, or the largest real part, on which the result does not depend."""
    if scales():
        shift = convert(ops.stop_gradient(ops.reduce_max(real(x), axes=(axis,))), x.dtype)
        x = x - ops.broadcast(shift, shape=x.shape, axes=(axis,))
    e = ops.exp(x)
    return e / ops.broadcast(ops.sum(e, axes=(axis,)), shape=x.shape, axes=(axis,))


def _softmax_tangent(tangent: Any, out: Any, x: Any, *, axis: int) -> Any:
    """out·(t − Σ out·t)."""
    moved = out * tangent
    return moved - out * ops.broadcast(ops.sum(moved, axes=(axis,)), shape=x.shape, axes=(axis,))


def _harmless(x: Any, y: Any) -> Any:
    """Return y, and 1 where x is 0 and y has no finite logarithm (but NaN where y is)."""
    regular = isfinite(y) & ~ops.equal(y, 0) if is_complex(y.dtype) else (y > 0) & (y < math.inf)
    return ops.select(ops.equal(x, 0) & ops.equal(y, y) & ~regular, full(1.0, y), y)


softmax_: Primitive = composite(
    "softmax",
    numpy=lambda x, *, axis: special.softmax(x, axis),
    lower=_softmax,
    jvp=[_softmax_tangent],
    doc="exp(x)/Σ exp(x) along an axis.",
)
log_softmax_: Primitive = composite(
    "log_softmax",
    numpy=lambda x, *, axis: special.log_softmax(x, axis),
    lower=lambda x, *, axis: x - ops.broadcast(logsumexp_(x, axes=(axis,)), shape=x.shape, axes=(axis,)),
    doc="x − log Σ exp(x) along an axis.",
)
xlogy_: Primitive = composite(
    "xlogy",
    numpy=special.xlogy,
    lower=lambda x, y: x * ops.log(_harmless(x, y)),
    jvp=[
        lambda t, out, x, y: t * ops.log(_harmless(x, y)),
        lambda t, out, x, y: t * (x / _harmless(x, y)),
    ],
    doc="x·log y, and 0 where x = 0.",
)

COMPOSITES = [softmax_, log_softmax_, xlogy_]


@implements(special.softmax)
def softmax(x: Any, axis: Any = None) -> Any:
    """scipy.special.softmax: exp(x)/Σ exp(x), over one axis or (None) over all.

    Example:
        >>> import numpy as np, primad
        >>> primad.nn.softmax(np.zeros(4))
        array([0.25, 0.25, 0.25, 0.25])
    """
    return _along(softmax_, x, axis)


@implements(special.log_softmax)
def log_softmax(x: Any, axis: Any = None) -> Any:
    """scipy.special.log_softmax."""
    return _along(log_softmax_, x, axis)


def _along(record: Any, x: Any, axis: Any) -> Any:
    x = as_float(x)
    if axis is None:
        return ops.reshape(record(ops.reshape(x, shape=(x.size,)), axis=0), shape=x.shape)
    return record(x, axis=normalize_axes(record.name, axis, x.ndim)[0])


@implements(special.logsumexp)
def logsumexp(x: Any, axis: Any = None, b: Any = None, keepdims: bool = False) -> Any:
    """scipy.special.logsumexp: log Σ b·exp(x), without overflow; −inf elements have derivative 0."""
    if b is not None:
        x, b = harmonize("logsumexp", x, b, floats=True)
        return _weighted_logsumexp(x, b, axis, keepdims)
    x = as_float(x)
    axes = normalize_axes("logsumexp", axis, x.ndim)
    return keep_axes(logsumexp_(x, axes=axes), x, axes, keepdims)


def _weighted_logsumexp(x: Any, b: Any, axis: Any, keepdims: bool) -> Any:
    """Return m + log Σ b·exp(x − m), m the largest (real part of an) x that has a weight.

    It is NaN, as SciPy's, where a sum of real numbers is negative.
    """
    axes = normalize_axes("logsumexp", axis, x.ndim)
    without = b == 0
    peak = ops.stop_gradient(largest(where(without, -math.inf, real(x)), axes, keepdims=True))
    peak = where(absolute(peak) < math.inf, peak, 0.0)
    # The derivative by a weight of 0 is the exponential beside it, which may be too large for a number.
    most = math.log(np.finfo(x.dtype).max) - 1
    away = x - peak
    held = fmin(real(away), most)
    held = ops.complex_of(held, imag(away)) if is_complex(x.dtype) else held
    total = sum_(b * ops.exp(where(without, held, away)), axes, keepdims=True)
    found = ops.log(total) + peak
    return found if keepdims else ops.reshape(found, shape=tuple([n for i, n in enumerate(x.shape) if i not in axes]))


@implements(special.xlogy, ufunc=True)
def xlogy(x: Any, y: Any, /) -> Any:
    """scipy.special.xlogy: x·log y, and 0 where x = 0."""
    return xlogy_(*harmonize("xlogy", x, y, floats=True))


def softplus(x: Any) -> Any:
    """log(1 + eˣ), without overflow; its derivative is the logistic function at every order."""
    if hasattr(x, "node"):
        return ops.softplus(as_float(x))
    return np.logaddexp(x, 0.0)


__all__ = [
    "cbrt",
    "digamma",
    "erf",
    "erfc",
    "erfcinv",
    "erfi",
    "erfinv",
    "exp1",
    "exp2",
    "expi",
    "expit",
    "expm1",
    "gamma",
    "gammaln",
    "i0",
    "i1",
    "log1p",
    "log_softmax",
    "log_ndtr",
    "logit",
    "logsumexp",
    "ndtr",
    "ndtri",
    "polygamma",
    "rgamma",
    "softmax",
    "softplus",
    "xlogy",
    *distributions.__all__,
    *elliptic.__all__,
    *families.__all__,
    *formulas.__all__,
    *members.__all__,
    *others.__all__,
    *spherical_harmonics.__all__,
]


def __dir__() -> list[str]:
    return sorted(__all__)
