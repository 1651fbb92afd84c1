"""SciPy's special functions that are members of families, under its names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad import ops
from primad.errors import DomainError, TracingError
from primad.numpy.elementwise.ufuncs import binary
from primad.numpy.promotion import any_traced, as_float, harmonize, implements
from primad.ops.record.primitive import Primitive
from primad.system.deferred import Deferred, special

__all__ = [
    "airy", "beta", "betainc", "betaincc", "betainccinv", "betaincinv", "betaln", "binom", "dawsn", "erfcx", "expn",
    "exprel", "gammainc", "gammaincc", "gammainccinv", "gammaincinv", "iv", "j0", "j1", "jn", "jv", "k0", "k1", "kn",
    "kv", "poch", "y0", "y1", "yn", "yv",
]  # fmt: skip

beta = binary(ops.beta, special.beta, floats=True)
betaln = binary(ops.betaln, special.betaln, floats=True)
binom = binary(ops.binom, special.binom, floats=True)
gammaincc = binary(ops.gammaincc, special.gammaincc, floats=True)
gammaincinv = binary(ops.gammaincinv, special.gammaincinv, floats=True)
gammainccinv = binary(ops.gammainccinv, special.gammainccinv, floats=True)
poch = binary(ops.poch, special.poch, floats=True)


def _of_three(record: Primitive, original: Deferred) -> Any:
    """Return a function of three operands, registered for SciPy's of the same name."""

    def function(a: Any, b: Any, x: Any, /) -> Any:
        return record(*harmonize(record.name, a, b, x, floats=True))

    function.__name__ = function.__qualname__ = record.name
    function.__doc__ = f"scipy.special.{record.name}: {record.doc} Differentiable in all arguments."
    return implements(original, ufunc=True)(function)


betaincc = _of_three(ops.betaincc, special.betaincc)
betaincinv = _of_three(ops.betaincinv, special.betaincinv)
betainccinv = _of_three(ops.betainccinv, special.betainccinv)


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
        np.float64(-0.3134886378250788)
    """
    return ops.gammainc(*harmonize("gammainc", a, x, floats=True), n=0)


@implements(special.betainc, ufunc=True)
def betainc(a: Any, b: Any, x: Any, /) -> Any:
    """scipy.special.betainc: the regularised incomplete beta function, differentiable in all arguments to any order.

    Example:
        >>> import primad
        >>> primad.grad(primad.numpy.special.betainc, (0, 1))(2.0, 1.5, 0.4)
        (np.float64(-0.19628598111611595), np.float64(0.19395327304509002))
    """
    return ops.betainc(*harmonize("betainc", a, b, x, floats=True), n=(0, 0))
