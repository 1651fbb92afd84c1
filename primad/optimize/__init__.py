"""Optimisers of the second order for losses and residuals of trees, and SciPy's solvers with derivatives supplied."""

from primad.optimize import (
    broyden,
    lbfgs,
    levenberg_marquardt,
    linearized,
    models,
    newton_cg,
    scipy_integration,
    scipy_minimizers,
    solving,
)
from primad.optimize.broyden import *
from primad.optimize.lbfgs import *
from primad.optimize.levenberg_marquardt import *
from primad.optimize.linearized import *
from primad.optimize.models import *
from primad.optimize.newton_cg import *
from primad.optimize.scipy_integration import *
from primad.optimize.scipy_minimizers import *
from primad.optimize.solving import *

__all__: list[str] = []
__all__ += broyden.__all__
__all__ += lbfgs.__all__
__all__ += levenberg_marquardt.__all__
__all__ += linearized.__all__
__all__ += models.__all__
__all__ += newton_cg.__all__
__all__ += scipy_integration.__all__
__all__ += scipy_minimizers.__all__
__all__ += solving.__all__


def __dir__() -> list[str]:
    return sorted(__all__)
