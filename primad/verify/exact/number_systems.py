"""What a number system provides for exact runs of programs, and the number that the float of a literal stands for."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from typing import Any, Protocol

from primad.nn.activations import GELU_CUBIC, SELU_ALPHA, SELU_SCALE

SPECIAL = {
    "erfi": ("erfi", "erfi"),
    "gamma": ("gamma", "gamma"),
    "besselj": ("besselj", "besselj"),
    "bessely": ("bessely", "bessely"),
    "besselk": ("besselk", "besselk"),
    "airyai": ("airyai", "airyai"),
    "airybi": ("airybi", "airybi"),
    "expint": ("expint", "expint"),
    "ei": ("ei", "Ei"),
}
"""Special functions of the systems by the names that meanings use: mpmath's names, and SymPy's."""


class Numbers(Protocol):
    """A number system: how to make a number, the elementary functions, and how to compare."""

    exp: Callable[[Any], Any]
    log: Callable[[Any], Any]
    sin: Callable[[Any], Any]
    cos: Callable[[Any], Any]
    tanh: Callable[[Any], Any]
    atan: Callable[[Any], Any]
    erf: Callable[[Any], Any]
    erfc: Callable[[Any], Any]
    erfinv: Callable[[Any], Any]
    loggamma: Callable[[Any], Any]
    polygamma: Callable[[int, Any], Any]
    besseli: Callable[[int, Any], Any]

    def __getattr__(self, name: str) -> Any:
        """Return one of the special functions of `SPECIAL`; of numbers of high precision, any function of mpmath's."""

    def sqrt(self, x: Any) -> Any:
        """Return the square root."""

    def number(self, value: Any) -> Any:
        """Return the exact number that a Python scalar stands for."""

    def divide(self, x: Any, y: Any) -> Any:
        """Return x / y, where x / 0 is no error."""

    def power(self, x: Any, y: Any) -> Any:
        """Return x to the power y."""

    def real(self, z: Any) -> Any:
        """Return the real part."""

    def imag(self, z: Any) -> Any:
        """Return the imaginary part."""

    def less(self, x: Any, y: Any) -> bool:
        """Decide x < y."""

    def equal(self, x: Any, y: Any) -> bool:
        """Decide x = y."""

    def floor(self, x: Any) -> int:
        """Return the largest integer not above x."""

    def choose(self, condition: Any, x: Any, y: Any) -> Any:
        """Return x where a condition (of `less`, `equal`) holds, else y."""


CONSTANTS = {
    "2/√π": 2.0 / math.sqrt(math.pi),
    "π": math.pi,
    "log 2": math.log(2.0),
    "log 10": math.log(10.0),
    "√½": math.sqrt(0.5),
    "√(2π)": math.sqrt(2.0 * math.pi),
    "0.044715·√(2/π)": GELU_CUBIC,
    "SELU scale": SELU_SCALE,
    "SELU alpha": SELU_ALPHA,
}
"""Numbers that rules contain as floats and that no float is; a proof needs the number that was meant."""


@cache
def _products() -> dict[tuple[str, ...], float]:
    names = [*((name,) for name in CONSTANTS), *combinations_with_replacement(CONSTANTS, 2)]
    return {product: math.prod(CONSTANTS[name] for name in product) for product in names}


@cache
def recognize(value: float) -> tuple[Fraction, tuple[str, ...]]:
    """Split the float of a literal into a rational factor and the irrational constants it was computed from.

    Laws multiply literals in floating point, so a product of known constants and a simple fraction is recognized up to
    rounding. Other floats are taken for exactly what they are.
    """
    exact = Fraction(value)
    if exact.denominator <= 2**20:
        return exact, ()
    for names, constant in _products().items():
        ratio = Fraction(value / constant).limit_denominator(1024)
        if ratio and abs(float(ratio) * constant - value) <= 4e-16 * abs(value):
            return ratio, names
    return exact, ()
