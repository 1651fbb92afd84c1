"""Functions that contain a solver, with the derivatives of what they solve."""

from primad.implicit import krylov_methods, solver_functions
from primad.implicit.krylov_methods import *
from primad.implicit.solver_functions import *

__all__: list[str] = []
__all__ += krylov_methods.__all__ + solver_functions.__all__


def __dir__() -> list[str]:
    return sorted(__all__)
