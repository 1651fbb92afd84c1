"""Optimisers of the second order for losses and residuals of trees, and SciPy's solvers with derivatives supplied."""

from typing import Any

from primad.optimize import minimize_loop
from primad.optimize.constrained import nonlinear_program
from primad.optimize.constrained.nonlinear_program import *
from primad.optimize.gauss_newton import (
    levenberg_marquardt,
    linearized_residuals,
    newton_cg,
    residual_models,
)
from primad.optimize.gauss_newton.levenberg_marquardt import *
from primad.optimize.gauss_newton.linearized_residuals import *
from primad.optimize.gauss_newton.newton_cg import *
from primad.optimize.gauss_newton.residual_models import *
from primad.optimize.minimize_loop import *
from primad.optimize.quasi_newton import broyden, lbfgs
from primad.optimize.quasi_newton.broyden import *
from primad.optimize.quasi_newton.lbfgs import *
from primad.optimize.scipy_solvers import (
    curve_fitting,
    other_names,
    residual_solvers,
    scipy_integration,
    scipy_minimizers,
)
from primad.optimize.scipy_solvers.curve_fitting import *
from primad.optimize.scipy_solvers.residual_solvers import *
from primad.optimize.scipy_solvers.scipy_integration import *
from primad.optimize.scipy_solvers.scipy_minimizers import *

__all__: list[str] = []
__all__ += broyden.__all__
__all__ += lbfgs.__all__
__all__ += levenberg_marquardt.__all__
__all__ += linearized_residuals.__all__
__all__ += residual_models.__all__
__all__ += newton_cg.__all__
__all__ += curve_fitting.__all__
__all__ += residual_solvers.__all__
__all__ += scipy_integration.__all__
__all__ += scipy_minimizers.__all__
__all__ += nonlinear_program.__all__
__all__ += minimize_loop.__all__


def __getattr__(name: str) -> Any:
    """Raise, with what to take in place of a name of scipy.optimize that is missing."""
    if name.startswith("__"):
        raise AttributeError(f"module 'primad.optimize' has no attribute {name!r}")
    raise other_names.missing(name, __all__)


def __dir__() -> list[str]:
    return sorted(__all__)
