"""Taylor coefficients of high precision: exact derivatives of a recorded program, by no rule of primad.

`Jets` is a number system (see `primad.verify.exact.object_arrays`). Its numbers are polynomials in a small step, cut
off behind `ORDER`, whose coefficients have so many digits that no cancellation matters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from primad.verify.exact.high_precision import Precise

ORDER = 3
DIGITS = 500
"""Derivatives to order 3 of functions of squares, at arguments between 1e-300 and 1e300."""


class Jet:
    """A polynomial c[0] + c[1]·h + … of the step h."""

    __slots__ = ("c",)

    def __init__(self, coefficients: Sequence[Any]) -> None:
        self.c = list(coefficients)

    @staticmethod
    def of(value: Any) -> Jet:
        """Return a number as a constant."""
        return value if isinstance(value, Jet) else Jet([value, *[0] * ORDER])

    def constant(self) -> bool:
        """Say whether the step has no influence."""
        return not any(self.c[1:])

    def __add__(self, other: Any) -> Jet:
        return Jet([a + b for a, b in zip(self.c, Jet.of(other).c, strict=True)])

    def __neg__(self) -> Jet:
        return Jet([-a for a in self.c])

    def __sub__(self, other: Any) -> Jet:
        return self + -Jet.of(other)

    def __rsub__(self, other: Any) -> Jet:
        return Jet.of(other) + -self

    def __mul__(self, other: Any) -> Jet:
        a, b = self.c, Jet.of(other).c
        return Jet([sum((a[j] * b[k - j] for j in range(k + 1) if a[j] and b[k - j]), 0) for k in range(ORDER + 1)])

    def __truediv__(self, other: Any) -> Jet:
        a, b = self.c, Jet.of(other).c
        quotient: list[Any] = []
        for k in range(ORDER + 1):
            quotient.append((a[k] - sum((quotient[j] * b[k - j] for j in range(k) if b[k - j]), 0)) / b[0])
        return Jet(quotient)

    def __rtruediv__(self, other: Any) -> Jet:
        return Jet.of(other) / self

    def __pow__(self, n: int) -> Jet:
        result = Jet.of(1)
        for _ in range(n):
            result = result * self
        return result

    __radd__, __rmul__ = __add__, __mul__


class Jets(Precise):
    """Numbers that are jets.

    Attributes:
        kink: whether a comparison was decided by a tie, so that a derivative may not exist.
    """

    def __init__(self, digits: int = DIGITS) -> None:
        super().__init__(digits)
        self.kink = False
        c = self.context
        self.exp = self._function(self._exp)
        self.log = self._function(lambda a: [c.log(a), *(-((-1 / a) ** k) / k for k in range(1, ORDER + 1))])
        self.sqrt = self._function(lambda a: self._powers(a, c.mpf(1) / 2))
        self.sin = self._function(lambda a: self._cycle(c.sin(a), c.cos(a)))
        self.cos = self._function(lambda a: self._cycle(c.cos(a), -c.sin(a)))
        self.tanh = self._function(self._tanh)
        self.atan = self._function(self._atan)
        self.erf = self._function(lambda a: [c.erf(a), *self._bell(a)])
        self.erfc = self._function(lambda a: [self._erfc(a), *(-k for k in self._bell(a))])
        self.erfinv = self._function(self._erfinv)
        self.besseli = lambda n, x: self._function(lambda a: self._besseli(n, a))(x)

    def variable(self, value: Any) -> Jet:
        """Return value + h."""
        return Jet([self.context.mpf(value), self.context.mpf(1), *[0] * (ORDER - 1)])

    def number(self, value: Any) -> Any:
        """Return the number that a scalar stands for."""
        return Jet.of(value if isinstance(value, self.context.mpf) else super().number(value))

    def _function(self, coefficients: Callable[[Any], Sequence[Any]]) -> Callable[[Any], Jet]:
        """Make a function of jets from its Taylor coefficients at a number."""

        def function(x: Any) -> Jet:
            x = Jet.of(x)
            first, *rest = coefficients(self.context.mpf(x.c[0])) if not x.constant() else coefficients(x.c[0])
            total, power = Jet.of(first), Jet.of(1)
            step = Jet([0, *x.c[1:]])
            for coefficient in rest if not x.constant() else ():
                power = power * step
                total = total + power * coefficient
            return total

        return function

    def _exp(self, a: Any) -> Sequence[Any]:
        e = self.context.exp(a)
        return [e / math.factorial(k) for k in range(ORDER + 1)]

    def _cycle(self, f: Any, g: Any) -> Sequence[Any]:
        """Return the coefficients of a function with derivatives g, −f, −g, …"""
        return [f, g, -f / 2, -g / 6]

    def _powers(self, a: Any, exponent: Any) -> Sequence[Any]:
        found = [a**exponent]
        for k in range(ORDER):
            found.append(found[-1] * (exponent - k) / (k + 1) / a)
        return found

    def _tanh(self, a: Any) -> Sequence[Any]:
        t, s = self.context.tanh(a), self.context.sech(a) ** 2
        return [t, s, -s * t, s * (2 * t * t - s) / 3]

    def _atan(self, a: Any) -> Sequence[Any]:
        d = 1 / (1 + a * a)
        return [self.context.atan(a), d, -a * d * d, d * d * d * (3 * a * a - 1) / 3]

    def _bell(self, a: Any) -> Sequence[Any]:
        d = 2 / self.context.sqrt(self.context.pi) * self.context.exp(-a * a)
        return [d, -a * d, d * (2 * a * a - 1) / 3]

    def _erfc(self, a: Any) -> Any:
        return self.context.erfc(a) if abs(a) < 1e9 else 1 - self.context.sign(a)

    def _besseli(self, n: int, a: Any) -> Sequence[Any]:
        """Return the derivatives as binomial sums of the neighbours (DLMF 10.29.5), over the factorials."""
        near = [self.context.besseli(abs(n + i), a) for i in range(-ORDER, ORDER + 1)]
        sums = [sum(math.comb(k, i) * near[ORDER - k + 2 * i] for i in range(k + 1)) for k in range(ORDER + 1)]
        return [x / (2**k * math.factorial(k)) for k, x in enumerate(sums)]

    def _erfinv(self, a: Any) -> Sequence[Any]:
        y = self.context.erfinv(a)
        d = self.context.sqrt(self.context.pi) / 2 * self.context.exp(y * y)
        return [y, d, y * d * d, d**3 * (1 + 4 * y * y) / 3]

    def divide(self, x: Any, y: Any) -> Any:
        """Return x / y; a ZeroDivisionError where y is zero."""
        return Jet.of(x) / y

    def power(self, x: Any, y: Any) -> Any:
        """Return x to the power y."""
        x, y = Jet.of(x), Jet.of(y)
        if not y.constant():
            return self.exp(y * self.log(x))
        exponent = y.c[0]
        if exponent == int(exponent) and exponent >= 0 and exponent <= 8:
            return x ** int(exponent)
        return self._function(lambda a: self._powers(a, exponent))(x)

    def less(self, x: Any, y: Any) -> bool:
        """Decide x < y."""
        return bool(self._gap(x, y) < 0)

    def equal(self, x: Any, y: Any) -> bool:
        """Decide x = y."""
        return bool(self._gap(x, y) == 0)

    def floor(self, x: Any) -> int:
        """Return the largest integer not above x."""
        x = Jet.of(x)
        result = int(self.context.floor(x.c[0]))
        self.kink |= result == x.c[0] and not x.constant()
        return result

    def _gap(self, x: Any, y: Any) -> Any:
        gap = Jet.of(x) - y
        self.kink |= gap.c[0] == 0 and not gap.constant()
        return gap.c[0]
