"""Initial value problems and integrals, computed by loops that are differentiated as all programs are."""

from primad.integrate import ivp, quadrature
from primad.integrate.ivp import *
from primad.integrate.quadrature import *

__all__: list[str] = []
__all__ += ivp.__all__
__all__ += quadrature.__all__


def __dir__() -> list[str]:
    return sorted(__all__)
