"""Names of scipy.optimize and primad.nn that primad.optimize does not have, and what to take instead."""

from __future__ import annotations

from collections.abc import Sequence

from primad import nn
from primad.errors import MissingAttributeError, no_attribute

INSTEAD = {
    "fsolve": "root(fun, x0, method='hybr').x is what fsolve returns, and the Jacobian is exact.",
    "leastsq": "least_squares(fun, x0, method='lm') is the same method, and the Jacobian is exact.",
    "fmin": "minimize(fun, x0, method='Nelder-Mead') is the same method.",
    "fmin_powell": "minimize(fun, x0, method='Powell') is the same method.",
    "fmin_bfgs": "minimize(fun, x0, method='BFGS') is the same method, and the gradient is exact.",
    "fmin_cg": "minimize(fun, x0, method='CG') is the same method, and the gradient is exact.",
    "fmin_ncg": "minimize(fun, x0, method='Newton-CG') is the same method, and derivatives are exact.",
    "fmin_l_bfgs_b": "minimize(fun, x0, method='L-BFGS-B') is the same method, and the gradient is exact.",
    "fmin_tnc": "minimize(fun, x0, method='TNC') is the same method, and the gradient is exact.",
    "fmin_slsqp": "minimize(fun, x0, method='SLSQP') is the same method, and derivatives are exact.",
    "fmin_cobyla": "minimize(fun, x0, method='COBYLA') is the same method.",
    "approx_fprime": "primad.grad(fun)(x) is exact.",
    "check_grad": "primad.check_grads(fun, (x,)) compares derivatives with differences.",
    "Bounds": "from scipy.optimize import Bounds: primad's solvers take it.",
    "LinearConstraint": "from scipy.optimize import LinearConstraint: primad's minimize takes it.",
    "NonlinearConstraint": "from scipy.optimize import NonlinearConstraint: primad's minimize takes it.",
}
"""What does the same, by SciPy's name."""


def missing(name: str, known: Sequence[str]) -> MissingAttributeError:
    """Return the error for a name that primad.optimize does not have.

    Args:
        name: which.
        known: the names that it has.
    """
    from scipy import optimize  # loads when it is called

    fix = INSTEAD.get(name, "")
    if not fix and name in optimize.__all__:
        fix = f"scipy.optimize.{name} takes primad's functions, compiled by primad.jit, and derivatives by primad.grad."
    if not fix and hasattr(getattr(nn, name, None), "update"):
        fix = f"it is a rule of primad.nn, and optimize.Descent(nn.{name}(1e-3)) an optimiser by it."
    return no_attribute("primad.optimize", name, known, fix)
