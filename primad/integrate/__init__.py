"""Initial value problems, integrated by loops that are differentiated as all programs are."""

from primad.integrate import ivp
from primad.integrate.ivp import *

__all__: list[str] = []
__all__ += ivp.__all__


def __dir__() -> list[str]:
    return sorted(__all__)
