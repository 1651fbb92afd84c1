"""Numbers of high precision: what a program computes, without the rounding of floats."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath

from primad.verify.exact.number_systems import CONSTANTS, SPECIAL, recognize


class UndefinedError(ArithmeticError):
    """What is computed has no value at the point."""


class Precise:
    """Real and complex numbers with `digits` decimal digits.

    Attributes:
        context: the mpmath context, private to this object.
        margin: the smallest gap of any comparison so far; how far the nearest kink is.
    """

    def __init__(self, digits: int = 60) -> None:
        self.context = c = mpmath.MPContext()
        c.dps = digits
        self.exp, self.log = c.exp, c.log
        self.sin, self.cos, self.tanh, self.atan, self.erf, self.erfc = c.sin, c.cos, c.tanh, c.atan, c.erf, c.erfc
        self.erfinv, self.loggamma, self.polygamma, self.besseli = c.erfinv, c.loggamma, c.psi, c.besseli
        self.airyaiprime, self.airybiprime = partial(c.airyai, derivative=1), partial(c.airybi, derivative=1)
        self.margin = float("inf")
        self._constants = {
            "2/√π": 2 / c.sqrt(c.pi),
            "π": c.pi,
            "log 2": c.log(2),
            "log 10": c.log(10),
            "√½": c.sqrt(c.mpf(1) / 2),
            "√(2π)": c.sqrt(2 * c.pi),
            "0.044715·√(2/π)": c.mpf("0.044715") * c.sqrt(2 / c.pi),
            **{name: c.mpf(repr(CONSTANTS[name])) for name in ("SELU scale", "SELU alpha")},
        }

    def __getattr__(self, name: str) -> Any:
        """Return one of mpmath's functions."""
        if name.startswith("_") or name == "context":
            raise AttributeError(name)
        return getattr(self.context, SPECIAL[name][0] if name in SPECIAL else name)

    def sqrt(self, x: Any) -> Any:
        """Return the square root, which has a kink at zero."""
        self._note(x, 0)
        return self.context.sqrt(x)

    def differentiated(self, function: Callable[..., Any], at: tuple[Any, ...], orders: tuple[int, ...]) -> Any:
        """Return the derivative of a function of as many numbers, of an order in each, at a point."""
        return self.context.diff(function, at, orders) if any(orders) else function(*at)

    def root(self, function: Callable[[Any], Any], start: float) -> Any:
        """Return the zero of a function of which a float is nearly all digits.

        Secants through points as near each other as that has so many digits more in each step.
        """
        near = self.context.mpf(float(start))
        return self.context.findroot(function, (near, near + self.context.ldexp(abs(near) or 1, -50)))

    def number(self, value: Any) -> Any:
        """Return the number that a scalar stands for."""
        if isinstance(value, complex):
            return self.context.mpc(self.number(value.real), self.number(value.imag))
        if isinstance(value, float) and (value != value or abs(value) == float("inf")):
            return self.context.mpf(value)
        ratio, names = recognize(float(value))
        result = self.exactly(ratio)
        for name in names:
            result = result * self._constants[name]
        return result

    def exactly(self, ratio: Fraction) -> Any:
        """Return the number that is a fraction."""
        return self.context.mpf(ratio.numerator) / ratio.denominator

    def divide(self, x: Any, y: Any) -> Any:
        """Return x / y; NaN where y is zero."""
        return self.context.nan if y == 0 else self.context.convert(x) / y

    def power(self, x: Any, y: Any) -> Any:
        """Return x to the power y; NaN where that is not a real number, of real ones."""
        if any(isinstance(z, self.context.mpc) for z in (x, y)):
            return self.context.power(x, y)
        if (x == 0 and y < 0) or (x < 0 and y != int(y)):
            return self.context.nan
        return self.context.mpf(x) ** y

    def less(self, x: Any, y: Any) -> bool:
        """Decide x < y."""
        self._note(x, y)
        return bool(x < y)

    def equal(self, x: Any, y: Any) -> bool:
        """Decide x = y."""
        self._note(x, y)
        return bool(x == y)

    def floor(self, x: Any) -> int:
        """Return the largest integer not above x.

        Raises:
            UndefinedError: if x is infinite or not a number.
        """
        if not self.context.isfinite(x):
            raise UndefinedError(f"{x} lies between no integers")
        result = int(self.context.floor(x))
        self.margin = min(self.margin, float(x - result), float(result + 1 - x))
        return result

    def choose(self, condition: Any, x: Any, y: Any) -> Any:
        """Return x if a condition holds, else y."""
        return x if condition else y

    def real(self, z: Any) -> Any:
        """Return the real part."""
        return self.context.re(z)

    def imag(self, z: Any) -> Any:
        """Return the imaginary part."""
        return self.context.im(z)

    def _note(self, x: Any, y: Any) -> None:
        gap = float(abs(x - y))
        self.margin = gap if gap < self.margin else self.margin if gap == gap else 0.0
