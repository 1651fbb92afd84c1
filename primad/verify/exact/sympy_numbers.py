"""SymPy expressions as numbers: what a program computes, as formulas.

Programs branch on values (the larger of two, the order of a sort). Each symbol therefore has a sample value, and a
comparison is decided there. Since a tie at the sample is refused, the decision is the same on an open region around it,
and the formulas hold on that region.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import sympy

from primad.verify.exact.number_systems import CONSTANTS, SPECIAL, recognize

DIGITS = 60
"""Decimal digits of numeric comparisons."""

_CONSTANTS = {
    "2/√π": 2 / sympy.sqrt(sympy.pi),
    "π": sympy.pi,
    "log 2": sympy.log(2),
    "log 10": sympy.log(10),
    "√½": 1 / sympy.sqrt(2),
    "√(2π)": sympy.sqrt(2 * sympy.pi),
    "0.044715·√(2/π)": sympy.Rational("0.044715") * sympy.sqrt(2 / sympy.pi),
    **{name: sympy.Rational(repr(CONSTANTS[name])) for name in ("SELU scale", "SELU alpha")},
}
assert _CONSTANTS.keys() == CONSTANTS.keys()


class UndecidedError(ArithmeticError):
    """Two different expressions are equal at the sample: the point lies on the edge of a region."""


class Symbols:
    """SymPy expressions, compared at a sample point.

    Attributes:
        sample: the value of each symbol.
    """

    exp, log, sqrt = sympy.exp, sympy.log, staticmethod(sympy.sqrt)
    sin, cos, tanh, atan = sympy.sin, sympy.cos, sympy.tanh, sympy.atan
    erf, erfc, erfinv = sympy.erf, sympy.erfc, sympy.erfinv
    loggamma, polygamma, besseli = sympy.loggamma, sympy.polygamma, sympy.besseli
    airyaiprime, airybiprime = sympy.airyaiprime, sympy.airybiprime

    def __init__(self, sample: Mapping[Any, Fraction] | None = None) -> None:
        self.sample: dict[Any, Any] = {}
        for symbol, value in (sample or {}).items():
            self.add(symbol, value)

    def __getattr__(self, name: str) -> Any:
        """Return one of SymPy's special functions."""
        if name not in SPECIAL:
            raise AttributeError(name)
        return getattr(sympy, SPECIAL[name][1])

    def add(self, symbol: Any, value: Fraction) -> None:
        """Give a symbol its sample value."""
        self.sample[symbol] = sympy.Rational(value.numerator, value.denominator)

    def number(self, value: Any) -> Any:
        """Return an exact number: a rational, or the irrational constant that was meant."""
        if isinstance(value, complex):
            return self.number(value.real) + sympy.I * self.number(value.imag)
        if isinstance(value, float) and value != value:
            return sympy.nan
        if isinstance(value, float) and abs(value) == float("inf"):
            return sympy.oo if value > 0 else -sympy.oo
        ratio, names = recognize(float(value))
        result: Any = sympy.Rational(ratio.numerator, ratio.denominator)
        for name in names:
            result = result * _CONSTANTS[name]
        return result

    def divide(self, x: Any, y: Any) -> Any:
        """Return x / y."""
        return sympy.sympify(x) / sympy.sympify(y)

    def power(self, x: Any, y: Any) -> Any:
        """Return x to the power y."""
        return sympy.sympify(x) ** sympy.sympify(y)

    def real(self, z: Any) -> Any:
        """Return the real part."""
        return sympy.re(z)

    def imag(self, z: Any) -> Any:
        """Return the imaginary part."""
        return sympy.im(z)

    def value(self, expression: Any) -> Any:
        """Return the value of an expression at the sample, to `DIGITS` digits."""
        expression = sympy.sympify(expression)
        if expression in self.sample:
            return self.sample[expression]
        if expression.is_number:
            return expression.evalf(DIGITS)
        return expression.evalf(DIGITS, subs=self.sample)

    def less(self, x: Any, y: Any) -> bool:
        """Decide x < y at the sample."""
        return False if x == y else bool(self._gap(x, y) < 0)

    def equal(self, x: Any, y: Any) -> bool:
        """Decide x = y: the same expression, or different at the sample."""
        return bool(x == y) or bool(self._gap(x, y) == 0)

    def floor(self, x: Any) -> int:
        """Return the integer below x, which is not an integer at the sample."""
        value = self.value(x)
        result = int(sympy.floor(value))
        if abs(value - round(float(value))) < 1e-20 and not sympy.sympify(x).is_number:
            raise UndecidedError(f"{x} is an integer at the sample")
        return result

    def choose(self, condition: Any, x: Any, y: Any) -> Any:
        """Return x if a condition holds at the sample, else y."""
        return x if condition else y

    def _gap(self, x: Any, y: Any) -> Any:
        if abs(y) in (sympy.oo,):
            return -y
        gap = sympy.sympify(x) - sympy.sympify(y)
        value = self.value(gap)
        if abs(value) < 1e-30 and not gap.is_number:
            raise UndecidedError(f"{x} and {y} are equal at the sample")
        return value
