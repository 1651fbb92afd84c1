"""Functions that contain a solver, with the derivatives of what they solve."""

from primad.implicit import functions
from primad.implicit.functions import *

__all__: list[str] = []
__all__ += functions.__all__


def __dir__() -> list[str]:
    return sorted(__all__)
