"""Quantities in words: three digits, a prefix and a unit."""

from __future__ import annotations

import math


def several(number: int, name: str) -> str:
    """Return a number with the name of what it counts."""
    return f"{number} {name}{'' if number == 1 else 's'}"


def count(value: float) -> str:
    """Return a count with three digits and a prefix; above a thousand exa as a power of ten."""
    number, prefix = _scaled(value)
    return f"{number} {prefix}".rstrip()


def quantity(value: float, unit: str) -> str:
    """Return a count of units with three digits and a prefix."""
    number, prefix = _scaled(value)
    return f"{number} {prefix}{unit}"


def _scaled(value: float) -> tuple[str, str]:
    if value >= 9.995e20:  # which three digits round to 1e21; perhaps an integer that is too large for a float
        exponent, rest = divmod(math.log10(value), 1.0)
        mantissa, _, more = f"{10**rest:.1e}".partition("e+")
        return f"{mantissa}·10{str(int(exponent) + int(more)).translate(_RAISED)}", ""
    value = float(f"{value:.3g}")
    for scale, prefix in ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= scale:
            return f"{value / scale:.3g}", prefix
    return f"{value:.3g}", ""


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def size(value: float) -> str:
    """Return a number of bytes with three digits."""
    return quantity(value, "B") if value >= 1000 else f"{value:.0f} bytes"


def seconds(value: float) -> str:
    """Return a time with three digits."""
    value = float(f"{value:.3g}")
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= scale:
            return f"{value / scale:,.0f} {unit}" if value >= 100 * scale else f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"
