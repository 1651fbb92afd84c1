"""SciPy's special functions that are members of families, and those that are formulas of others, under its names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primad import ops
from primad.errors import DomainError, TracingError
from primad.numpy.elementwise.ufuncs import absolute, binary, defined_where, expm1, hypot, log1p, sin, where
from primad.numpy.promotion import any_traced, as_float, harmonize, implements
from primad.ops.record.primitive import Primitive
from primad.system.deferred import Deferred, special

__all__ = [
    "airy", "beta", "betaln", "binom", "boxcox", "boxcox1p", "cosm1", "dawsn", "entr", "erfcx", "expn", "exprel",
    "gammainc", "gammaincc", "gammainccinv", "gammaincinv", "huber", "inv_boxcox", "inv_boxcox1p", "iv", "j0", "j1",
    "jn", "jv", "k0", "k1", "kl_div", "kn", "kv", "log_expit", "multigammaln", "poch", "pseudo_huber", "rel_entr",
    "xlog1py", "y0", "y1", "yn", "yv",
]  # fmt: skip

beta = binary(ops.beta, special.beta, floats=True)
betaln = binary(ops.betaln, special.betaln, floats=True)
binom = binary(ops.binom, special.binom, floats=True)
gammaincc = binary(ops.gammaincc, special.gammaincc, floats=True)
gammaincinv = binary(ops.gammaincinv, special.gammaincinv, floats=True)
gammainccinv = binary(ops.gammainccinv, special.gammainccinv, floats=True)
poch = binary(ops.poch, special.poch, floats=True)


def _member(record: Primitive, original: Deferred, n: float, said: str) -> Any:
    """Return one function of a family, registered for SciPy's of one operand."""

    def function(x: Any, /) -> Any:
        return record(as_float(x), n=n)

    function.__name__ = function.__qualname__ = original.name
    function.__doc__ = f"scipy.special.{original.name}: {said}"
    return implements(original, ufunc=True)(function)


erfcx = _member(ops.scaled_erfc, special.erfcx, 0, "exp(x²)·erfc(x).")
dawsn = _member(ops.dawsn, special.dawsn, 0, "Dawson's integral.")
exprel = _member(ops.exprel, special.exprel, 0, "(eˣ − 1)/x, 1 at 0.")
j0 = _member(ops.bessel_j, special.j0, 0, "the Bessel function of the first kind, of order 0.")
j1 = _member(ops.bessel_j, special.j1, 1, "the Bessel function of the first kind, of order 1.")
y0 = _member(ops.bessel_y, special.y0, 0, "the Bessel function of the second kind, of order 0.")
y1 = _member(ops.bessel_y, special.y1, 1, "the Bessel function of the second kind, of order 1.")
k0 = _member(ops.bessel_k, special.k0, 0, "the modified Bessel function of the second kind, of order 0.")
k1 = _member(ops.bessel_k, special.k1, 1, "the modified Bessel function of the second kind, of order 1.")


def plain_order(name: str, v: Any, least: float = -math.inf, whole: bool = False) -> Any:
    """Return an order, which must be one plain number.

    Raises:
        TracingError: for a traced order, and for several.
        DomainError: for one that the function is not recorded for.
    """
    if any_traced([v]):
        raise TracingError(
            f"{name} of a traced order",
            why="The derivative in the order is no function of this family.",
            fix="pass the order as a plain number, outside of what is differentiated (static_argnums, a closure).",
        )
    if np.ndim(v):
        raise TracingError(f"{name} of an array of orders, on a traced array", fix="call it for each.")
    n = int(v) if float(v) == int(v) else float(v)
    if n < least or (whole and not isinstance(n, int)):
        kind = "integer " if whole else ""
        raise DomainError(f"{name} of order {v}, on a traced array", fix=f"it has {kind}orders from {least} on.")
    return n


def _of_order(record: Primitive, name: str, said: str) -> Any:
    """Return a function of an order and a number, registered for SciPy's."""

    def function(v: Any, z: Any, /) -> Any:
        n = plain_order(name, v)  # what is traced is z, then
        return record(as_float(z), n=n)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""scipy.special.{name} for one plain real order v: {said}

    Raises:
        TracingError: for a traced order, and for several.
    """
    return implements(getattr(special, name), ufunc=True)(function)


iv = _of_order(ops.bessel_i, "iv", "the modified Bessel function of the first kind.")
jv = _of_order(ops.bessel_j, "jv", "the Bessel function of the first kind.")
yv = _of_order(ops.bessel_y, "yv", "the Bessel function of the second kind.")
kv = _of_order(ops.bessel_k, "kv", "the modified Bessel function of the second kind.")
jn = _of_order(ops.bessel_j, "jn", "the Bessel function of the first kind, as jv.")
yn = _of_order(ops.bessel_y, "yn", "the Bessel function of the second kind, of an integer order.")
kn = _of_order(ops.bessel_k, "kn", "the modified Bessel function of the second kind, of an integer order.")


@implements(special.expn, ufunc=True)
def expn(n: Any, x: Any, /) -> Any:
    """scipy.special.expn for one plain integer order n ≥ 1: the exponential integral Eₙ.

    Raises:
        TracingError: for a traced order, and for several.
        DomainError: for orders below 1.
    """
    order = plain_order("expn", n, 1, whole=True)  # what is traced is x, then
    return ops.expn(as_float(x), n=order)


@implements(special.airy, ufunc=True)
def airy(z: Any, /) -> tuple[Any, Any, Any, Any]:
    """scipy.special.airy: Ai, Ai′, Bi and Bi′ of real numbers.

    Example:
        >>> import primad
        >>> primad.grad(lambda x: primad.numpy.special.airy(x)[0])(0.0)
        np.float64(-0.2588194037928068)
    """
    z = as_float(z)
    return tuple([ops.airy(z, n=n) for n in range(4)])


@implements(special.gammainc, ufunc=True)
def gammainc(a: Any, x: Any, /) -> Any:
    """scipy.special.gammainc: the lower regularised incomplete gamma function, differentiable in both arguments.

    Example:
        >>> import primad
        >>> primad.grad(primad.numpy.special.gammainc)(2.0, 1.5)
        np.float64(-0.3134886378250793)
    """
    return ops.gamma_moment(*harmonize("gammainc", a, x, floats=True), n=0)


# -- formulas ----------------------------------------------------------------------------------------------------------


def _formula(*originals: Deferred) -> Callable[[Callable[..., Any]], Any]:
    """Register a formula of traced floats that have one shape."""

    def decorate(function: Callable[..., Any]) -> Any:
        def apply(*operands: Any) -> Any:
            return function(*harmonize(function.__name__, *operands, floats=True))

        apply.__name__ = apply.__qualname__ = function.__name__
        apply.__doc__ = function.__doc__
        return implements(*originals, ufunc=True)(apply)

    return decorate


@_formula(special.xlog1py)
def xlog1py(x: Any, y: Any) -> Any:
    """scipy.special.xlog1py: x·log(1 + y), and 0 where x = 0."""
    nothing = (x == 0) & (y == y) & ~((y > -1.0) & (y < math.inf))
    return where(nothing, 0.0 * x, x) * log1p(where(nothing, 0.0, y))


@_formula(special.log_expit)
def log_expit(x: Any) -> Any:
    """scipy.special.log_expit: log(1/(1 + e⁻ˣ)), without overflow."""
    return -ops.softplus(-x)


@_formula(special.entr)
def entr(x: Any) -> Any:
    """scipy.special.entr: −x·log x, 0 at 0 and −∞ below."""
    inside = where(x > 0, x, 1.0)
    return where(x > 0, -inside * ops.log(inside), where(x == 0, _steep_zero(x), where(x < 0, -math.inf, x)))


def _steep_zero(x: Any) -> Any:
    """Return 0 for 0, with the infinite slope to the right that x·log(1/x) has there, as √x has one."""
    return ops.sqrt(where(x == 0, x, 1.0))


@_formula(special.rel_entr)
def rel_entr(x: Any, y: Any) -> Any:
    """scipy.special.rel_entr: x·log(x/y), 0 where x = 0 ≤ y, and ∞ outside of the domain."""
    inside = (x > 0) & (y > 0)
    a, b = where(inside, x, 1.0), where(inside, y, 1.0)
    outside = where((x == 0) & (y >= 0), -_steep_zero(x), _infinite(x, y))
    return where(inside, a * _log_ratio(a, b), outside)


def _infinite(x: Any, y: Any) -> Any:
    """Return ∞, and NaN with derivatives that are NaN where x or y is NaN."""
    known = (x == x) & (y == y)
    return where(known, math.inf, defined_where(known, x + y))


def _log_ratio(a: Any, b: Any) -> Any:
    """Return log(a/b): by log1p of the difference where a and b are close, whose quotient is rounded."""
    ratio = a / b
    near = (ratio > 0.5) & (ratio < 2.0)
    close = log1p(where(near, (a - b) / b, 0.0))
    possible = (ratio > 1e-290) & (ratio < 1e290)
    return where(near, close, where(possible, ops.log(where(possible, ratio, 1.0)), ops.log(a) - ops.log(b)))


@_formula(special.kl_div)
def kl_div(x: Any, y: Any) -> Any:
    """scipy.special.kl_div: x·log(x/y) − x + y, y where x = 0 ≤ y, and ∞ outside of the domain."""
    inside = (x > 0) & (y > 0)
    a, b = where(inside, x, 1.0), where(inside, y, 1.0)
    outside = where((x == 0) & (y >= 0), y - _steep_zero(x), _infinite(x, y))
    return where(inside, a * _log_ratio(a, b) - a + b, outside)


@_formula(special.huber)
def huber(delta: Any, r: Any) -> Any:
    """scipy.special.huber: r²/2 for |r| ≤ delta, else delta·(|r| − delta/2); ∞ for negative delta."""
    size = absolute(r)
    inside = size <= delta
    found = where(inside, 0.5 * r * r, delta * (size - 0.5 * delta))
    return where(delta < 0, math.inf, found)


@_formula(special.pseudo_huber)
def pseudo_huber(delta: Any, r: Any) -> Any:
    """scipy.special.pseudo_huber: delta²·(√(1 + (r/delta)²) − 1), without cancellation; ∞ for negative delta."""
    positive = where(delta > 0, delta, 1.0)
    found = r * (r / positive) * positive / (hypot(r / positive, 1.0) + 1.0)
    beside = where(delta == 0, delta * absolute(r), where(r == 0, 0.0, found))  # it is linear near delta = 0
    return where(delta < 0, math.inf, where(delta > 0, found, beside))


@_formula(special.cosm1)
def cosm1(x: Any) -> Any:
    """scipy.special.cosm1: cos x − 1, accurate near 0."""
    half = sin(0.5 * x)
    return -2.0 * half * half


def _power_over(log_x: Any, lmbda: Any) -> Any:
    """Return (exp(lmbda·log x) − 1)/lmbda, smooth where lmbda is 0, and with its limits where log x is infinite."""
    far = absolute(log_x) == math.inf
    near = where(far, 0.0, log_x)
    limit = expm1(lmbda * where(far, log_x, 0.0)) / where(far & (lmbda != 0), lmbda, 1.0)
    return where(far & (lmbda != 0), limit, where(far, log_x, near * ops.exprel(lmbda * near, n=0)))


@_formula(special.boxcox)
def boxcox(x: Any, lmbda: Any) -> Any:
    """scipy.special.boxcox: (x**lmbda − 1)/lmbda, of x > 0; log x where lmbda is 0."""
    return _power_over(ops.log(x), lmbda)


@_formula(special.boxcox1p)
def boxcox1p(x: Any, lmbda: Any) -> Any:
    """scipy.special.boxcox1p: ((1 + x)**lmbda − 1)/lmbda, of x > −1; log(1 + x) where lmbda is 0."""
    return _power_over(log1p(x), lmbda)


def _log1p_over(x: Any, lmbda: Any) -> Any:
    """Return log(1 + lmbda·x)/lmbda; near 0, where that is x·(1 − lmbda·x/2 + …), by its series."""
    z = lmbda * x
    small = absolute(z) < SERIES
    divisor = where(small, 1.0, lmbda)
    series = 0.0 * z
    for k in range(TERMS, 0, -1):
        series = 1.0 / k - where(small, z, 0.0) * series
    return where(small, x * series, log1p(where(small, 0.0, z)) / divisor)


SERIES, TERMS = 0.05, 16
"""Below which size, and with how many terms, the series of log(1 + z)/z is taken: 0.05¹⁶ is below 2⁻⁶⁴. Derived."""


@_formula(special.inv_boxcox)
def inv_boxcox(y: Any, lmbda: Any) -> Any:
    """scipy.special.inv_boxcox: (1 + lmbda·y)**(1/lmbda); exp(y) where lmbda is 0."""
    return ops.exp(_log1p_over(y, lmbda))


@_formula(special.inv_boxcox1p)
def inv_boxcox1p(y: Any, lmbda: Any) -> Any:
    """scipy.special.inv_boxcox1p: (1 + lmbda·y)**(1/lmbda) − 1; exp(y) − 1 where lmbda is 0."""
    return expm1(_log1p_over(y, lmbda))


@implements(special.multigammaln)
def multigammaln(a: Any, d: int) -> Any:
    """scipy.special.multigammaln: the logarithm of the multivariate gamma function of dimension d."""
    a = as_float(a)
    return sum([ops.gammaln(a - 0.5 * j) for j in range(d)], 0.25 * d * (d - 1) * math.log(math.pi))
