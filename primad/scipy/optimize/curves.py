"""Fits of a model to data, by SciPy's name; of traced data they are differentiated."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ShapeError
from primad.functional.derivatives.lazy_matrices import jacobian
from primad.optimize.scipy_solvers.curve_fitting import check_real_fit
from primad.recording.traced_array import settled
from primad.scipy import linalg
from primad.scipy.optimize.minima import least_squares
from primad.scipy.optimize.systems import unknown_row
from primad.scipy.traced_calls import Function, is_recorded, refuse
from primad.system.tracebacks import entrance

__all__ = ["curve_fit"]


def _start(f: Function, p0: Any, bounds: Any) -> Any:
    """Return where SciPy starts: 1 for each parameter of the model, or within finite bounds."""
    if p0 is not None:
        return unknown_row(p0)
    names = [x for x in inspect.signature(f).parameters.values() if x.kind is x.POSITIONAL_OR_KEYWORD]
    if len(names) < 2 or is_recorded(bounds):
        raise ShapeError("curve_fit: where to start is not seen from the model and the bounds", fix="give p0.")
    lower, upper = (np.broadcast_to(np.asarray(end, float), (len(names) - 1,)) for end in bounds)
    start = np.ones(len(names) - 1)
    both, low, high = np.isfinite(lower) & np.isfinite(upper), np.isfinite(lower), np.isfinite(upper)
    start[both] = 0.5 * (lower[both] + upper[both])
    start[low & ~high] = lower[low & ~high] + 1
    start[high & ~low] = upper[high & ~low] - 1
    return start


def _whitened(sigma: Any, misfit: Any) -> Any:
    """Return residuals in units of their deviation: a number, one for each, or of a covariance matrix."""
    if sigma is None:
        return misfit
    if np.ndim(sigma) < 2:
        return misfit / sigma
    return linalg.solve_triangular(linalg.cholesky(sigma, lower=True), misfit, lower=True)


@entrance
def curve_fit(
    f: Function,
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: bool | None = None,
    bounds: Any = (-np.inf, np.inf),
    method: str | None = None,
    jac: Any = None,
    *,
    full_output: bool = False,
    nan_policy: str | None = None,
    **kwargs: Any,
) -> Any:
    """Return the parameters that fit a model to data, and their covariance, as functions of the data.

    Derivatives are those of the least sum of squares itself, in data, deviations and what the model closes over. Where
    nothing is traced it is SciPy's function, with differences for the Jacobian; `primad.optimize.curve_fit` has the
    exact one.

    Args:
        f: the model, a function (x, *parameters), written with NumPy.
        xdata: where the data were measured, as the model takes it.
        ydata: the data.
        p0: where to start; by default 1 for each parameter that the model names.
        sigma: standard deviations of the data, or their covariance matrix.
        absolute_sigma: whether `sigma` is taken as it is; otherwise it is scaled by the misfit.
        check_finite: as SciPy's, where nothing is traced.
        bounds: (lower, upper), each a number or an array; or `Bounds`.
        method: as SciPy's.
        jac: as SciPy's; of a traced model the exact Jacobian is taken.
        full_output: as SciPy's, where nothing is traced.
        nan_policy: as SciPy's, where nothing is traced.
        **kwargs: of SciPy's `least_squares`; of its `leastsq` where nothing is traced.

    Returns:
        the parameters and their covariance.

    Raises:
        ShapeError: for complex data, parameters and models: both parts are fitted as real numbers.
        DomainError: if no minimum was found.
        MatrixError: where a derivative is asked for and the data do not determine the parameters.

    Example:
        >>> import numpy as np, primad, primad.scipy.optimize
        >>> t = np.array([0.0, 1.0, 2.0])
        >>> def slope(y):
        ...     return primad.scipy.optimize.curve_fit(lambda t, a, b: a + b * t, t, y)[0][1]
        >>> print(primad.jvp(slope, (np.array([1.0, 3.0, 5.5]),), (np.array([0.0, 0.0, 1.0]),))[1].round(6))
        0.5
    """
    pair = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    check_real_fit("data", ydata)
    check_real_fit("parameters", p0)
    start = _start(f, p0, pair)
    xdata, ydata = (settled(pnp.array(x)) if isinstance(x, (list, tuple)) else x for x in (xdata, ydata))
    if not is_recorded((xdata, ydata, p0, sigma, pair), lambda: f(xdata, *start)):
        from scipy import optimize  # loads when it is called

        return optimize.curve_fit(
            f, xdata, ydata, p0, sigma, absolute_sigma, check_finite, bounds, method, jac, full_output=full_output,
            nan_policy=nan_policy, **kwargs,
        )  # fmt: skip
    refuse("optimize.curve_fit", full_output=full_output, nan_policy=nan_policy)

    def residuals(p: Any) -> Any:
        misfit = f(xdata, *[p[i] for i in range(len(start))]) - ydata
        check_real_fit("values of the model", misfit)
        return _whitened(sigma, misfit)

    if method is not None:
        kwargs["method"] = method
    p = least_squares(residuals, start, bounds=bounds, **kwargs).x
    J = jacobian(residuals)(p)[:, :]
    covariance = np.linalg.inv(J.T @ J)
    if not absolute_sigma:
        left = J.shape[0] - J.shape[1]
        covariance = covariance * (np.sum(residuals(p) ** 2) / left if left > 0 else np.inf)
    return p, covariance
