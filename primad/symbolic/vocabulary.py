"""What SymPy's functions are in primad: those that primad has, and those that are written with them."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy

from primad import numpy as pnp
from primad.numpy import special
from primad.numpy.elementwise.ufuncs import defined_where


def square(x: Any) -> Any:
    """Return x·x."""
    return x * x


def reciprocal(x: Any) -> Any:
    """Return 1/x."""
    return 1.0 / x


def root(x: Any) -> Any:
    """Return the square root."""
    return pnp.sqrt(x)


def defined(condition: Any, x: Any, *others: Any) -> Any:
    """Return x where the condition holds; elsewhere NaN, which depends on x and others: its derivatives are NaN too."""
    return defined_where(condition, pnp.where(condition, x, functools.reduce(operator.add, others, x)))


def _log_gamma(x: Any) -> Any:
    """SciPy's is the logarithm of |Γ|; SymPy's is not real for negative x."""
    return defined_where(x >= 0, special.gammaln(x))


def _sinc(x: Any) -> Any:
    """NumPy's, of x/π, has a series near 0, where sin(x)/x has no derivatives."""
    return pnp.sinc(x / np.pi)


def _arccot(x: Any) -> Any:
    """SymPy's jumps at 0; on either side it is smooth, which atan(1/x) loses to 1/x."""
    side = pnp.where(x == 0, 1.0, pnp.sign(x))
    return pnp.arctan2(side, side * x)


def _gamma(x: Any) -> Any:
    sign = pnp.where(x > 0, 1.0, 1.0 - 2.0 * pnp.mod(pnp.floor(x), 2.0))
    return sign * pnp.exp(special.gammaln(x))


def _airy_ai(x: Any) -> Any:
    return special.airy(x)[0]


def _airy_ai_slope(x: Any) -> Any:
    return special.airy(x)[1]


def _airy_bi(x: Any) -> Any:
    return special.airy(x)[2]


def _airy_bi_slope(x: Any) -> Any:
    return special.airy(x)[3]


def _choose(condition: Any, x: Any, y: Any) -> Any:
    return pnp.where(condition, x, y)


def _not_equal(x: Any, y: Any) -> Any:
    return pnp.not_equal(x, y)


UNARY: dict[Any, Callable[[Any], Any]] = {
    sympy.exp: pnp.exp,
    sympy.log: pnp.log,
    sympy.sin: pnp.sin,
    sympy.cos: pnp.cos,
    sympy.tan: pnp.tan,
    sympy.asin: pnp.arcsin,
    sympy.acos: pnp.arccos,
    sympy.atan: pnp.arctan,
    sympy.acot: _arccot,
    sympy.sinc: _sinc,
    sympy.sinh: pnp.sinh,
    sympy.cosh: pnp.cosh,
    sympy.tanh: pnp.tanh,
    sympy.asinh: pnp.arcsinh,
    sympy.acosh: pnp.arccosh,
    sympy.atanh: pnp.arctanh,
    sympy.erf: special.erf,
    sympy.erfc: special.erfc,
    sympy.erfinv: special.erfinv,
    sympy.erfi: special.erfi,
    sympy.Ei: special.expi,
    sympy.airyai: _airy_ai,
    sympy.airyaiprime: _airy_ai_slope,
    sympy.airybi: _airy_bi,
    sympy.airybiprime: _airy_bi_slope,
    sympy.loggamma: _log_gamma,
    sympy.gamma: _gamma,
    sympy.Abs: pnp.abs,
    sympy.re: pnp.real,
    sympy.im: pnp.imag,
    sympy.conjugate: pnp.conj,
    sympy.arg: pnp.angle,
    sympy.sign: pnp.sign,
    sympy.floor: pnp.floor,
    sympy.Not: pnp.logical_not,
}
BINARY: dict[Any, Callable[[Any, Any], Any]] = {
    sympy.atan2: pnp.arctan2,
    sympy.Mod: pnp.mod,
    sympy.StrictLessThan: pnp.less,
    sympy.LessThan: pnp.less_equal,
    sympy.StrictGreaterThan: pnp.greater,
    sympy.GreaterThan: pnp.greater_equal,
    sympy.Equality: pnp.equal,
    sympy.Unequality: _not_equal,
}
CHAINED: dict[Any, Callable[[Any, Any], Any]] = {
    sympy.Max: pnp.maximum,
    sympy.Min: pnp.minimum,
    sympy.And: pnp.logical_and,
    sympy.Or: pnp.logical_or,
    sympy.Xor: pnp.logical_xor,
}
TERNARY: dict[Any, Callable[[Any, Any, Any], Any]] = {sympy.ITE: _choose}
TABLES: tuple[dict[Any, Callable[..., Any]], ...] = (UNARY, BINARY, CHAINED, TERNARY)

REWRITTEN: dict[Any, Callable[..., Any]] = {
    sympy.sec: lambda x: 1 / sympy.cos(x),
    sympy.csc: lambda x: 1 / sympy.sin(x),
    sympy.cot: lambda x: sympy.cos(x) / sympy.sin(x),
    sympy.sech: lambda x: 1 / sympy.cosh(x),
    sympy.csch: lambda x: 1 / sympy.sinh(x),
    sympy.coth: lambda x: 1 / sympy.tanh(x),
    sympy.asec: lambda x: sympy.acos(1 / x),
    sympy.acsc: lambda x: sympy.asin(1 / x),
    sympy.asech: lambda x: sympy.acosh(1 / x),
    sympy.acsch: lambda x: sympy.asinh(1 / x),
    sympy.acoth: lambda x: sympy.atanh(1 / x),
    sympy.ceiling: lambda x: -sympy.floor(-x),
    sympy.frac: lambda x: x - sympy.floor(x),
    sympy.erfcinv: lambda x: sympy.erfinv(1 - x),
    sympy.erf2: lambda x, y: sympy.erf(y) - sympy.erf(x),
    sympy.factorial: lambda x: sympy.gamma(x + 1),
    sympy.digamma: lambda x: sympy.polygamma(0, x),
    sympy.trigamma: lambda x: sympy.polygamma(1, x),
    sympy.Heaviside: lambda x, middle: sympy.Piecewise((0, x < 0), (middle, sympy.Eq(x, 0)), (1, True)),
    sympy.KroneckerDelta: lambda x, y, *_: sympy.Piecewise((1, sympy.Eq(x, y)), (0, True)),
}
"""Functions that are written with others."""


def _polygamma(order: int, x: Any) -> Any:
    """Compute it; SciPy has it for positive x only."""
    return special.polygamma(order, x) if order else special.digamma(x)


def _expint(order: int, x: Any) -> Any:
    """Compute it; SymPy's is not real for negative x."""
    return defined_where(x >= 0, special.exp1(x) if order == 1 else special.expn(order, x))


OF_AN_ORDER = {
    sympy.polygamma: _polygamma,
    sympy.expint: _expint,
    sympy.besseli: special.iv,
    sympy.besselj: special.jv,
    sympy.bessely: special.yv,
    sympy.besselk: special.kv,
}
"""Functions whose first argument is a number that must be given."""
LEAST_ORDER = {sympy.polygamma: 0, sympy.expint: 1}
"""Those whose orders are integers only, from which one on; of the others they are real numbers."""


class OfOrder:
    """A function of an order that is given; equal to another one of the same function and order."""

    def __init__(self, function: Any, order: float) -> None:
        self.function, self.order = function, order

    def __call__(self, x: Any) -> Any:
        """Compute it."""
        return OF_AN_ORDER[self.function](self.order, x)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OfOrder) and (self.function, self.order) == (other.function, other.order)

    def __hash__(self) -> int:
        return hash((OfOrder, self.function, self.order))


add, subtract, multiply, divide, negative = operator.add, operator.sub, operator.mul, operator.truediv, operator.neg
choose = _choose
power = pnp.power
exp2 = pnp.exp2
