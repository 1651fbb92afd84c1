"""Guaranteed bounds: programs in interval arithmetic, ranges by subdivision, and all roots in a box."""

from primad.enclosures.enclosing import IntervalArray as IntervalArray
from primad.enclosures.enclosing import enclose as enclose
from primad.enclosures.ranges import Range as Range
from primad.enclosures.ranges import range_of as range_of
from primad.enclosures.roots import Roots as Roots
from primad.enclosures.roots import roots as roots
from primad.errors import EnclosureError as EnclosureError

__all__ = ["EnclosureError", "IntervalArray", "Range", "Roots", "enclose", "range_of", "roots"]


def __dir__() -> list[str]:
    return sorted(__all__)
