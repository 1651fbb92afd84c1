"""SciPy's curve_fit with the exact Jacobian, and the covariance of a least-squares fit."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import MatrixError, NotFiniteError, ShapeError, TracingError
from primad.functional.derivatives.lazy_matrices import jacobian
from primad.ir.array_types import check_dtype, check_real
from primad.numpy.shapes.shaping import reshape
from primad.optimize.nan_origin import first_not_finite
from primad.optimize.parameter_vectors import Tree, check_plain, first_bad
from primad.optimize.scipy_solvers.derivatives import SCHEMES
from primad.optimize.scipy_solvers.flat_functions import Function, Plain, recorded_once
from primad.recording import tree
from primad.recording.foreign import refuse_among
from primad.recording.tracing import check_function
from primad.system.tracebacks import entrance

__all__ = ["covariance", "curve_fit"]


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
    compiled: bool = True,
    **kwargs: Any,
) -> Any:
    """Call `scipy.optimize.curve_fit` on a plain model; the Jacobian is supplied.

    It takes what SciPy's takes, and returns what it returns.

    Args:
        f: the model, a function (x, *parameters) of an array, written with NumPy.
        xdata: where the data were measured: an array, or whatever the model takes. A list or tuple is an array.
        ydata: the data, an array with one axis.
        p0: where to start, a number for each parameter. By default 1, or within the bounds; how many parameters there
            are is read off the signature of the model then.
        sigma: standard deviations of the data, or their covariance matrix; by default they are equal.
        absolute_sigma: whether `sigma` is in the units of the data; otherwise it only weighs them, and the covariance
            of the parameters is scaled by the variance of the weighted residuals.
        check_finite: whether data that are NaN or infinite are refused; by default they are, unless `nan_policy` says
            what becomes of them.
        bounds: (lower, upper), each a number or an array; or `Bounds`.
        method: "lm", or with bounds "trf" or "dogbox".
        jac: as SciPy's: a function (x, *parameters) of the matrix is used, and `f` is called as it is. By default, and
            for the names of differences, it is exact.
        full_output: whether `infodict`, `mesg` and `ier` are returned too.
        nan_policy: as SciPy's: "raise", "omit" or None.
        compiled: whether `f` is recorded once; otherwise it is at each call, and may branch on values.
        **kwargs: of `scipy.optimize.leastsq` for the method "lm", otherwise of `scipy.optimize.least_squares`.

    Returns:
        the parameters `popt` and their covariance `pcov`: np.sqrt(np.diag(pcov)) are their standard deviations. With
        `full_output`, also SciPy's `infodict`, `mesg` and `ier`.

    Raises:
        ShapeError: for complex data, parameters and models: both parts are fitted as real numbers.
        NotFiniteError: if the model, or its derivative, is NaN or infinite at the start: where, and in which parameter.
        TracingError: for a `jac` that is neither a function nor a name of differences.
        NotDifferentiableError: in `grad`, `jit` or `vmap`.
        RuntimeError: of SciPy's, if no minimum is found.
        ValueError: of SciPy's, if data are not finite, or options do not fit each other.

    Example:
        >>> import numpy as np, primad
        >>> def model(t, size, rate):
        ...     return size * np.exp(-rate * t)
        >>> t = np.linspace(0.0, 4.0, 50)
        >>> noise = np.random.default_rng(0).normal(size=50)
        >>> popt, pcov = primad.optimize.curve_fit(model, t, model(t, 2.5, 1.3) + 0.1 * noise)
        >>> print(popt.round(2), np.sqrt(np.diag(pcov)).round(2))
        [2.53 1.34] [0.06 0.04]
    """
    from scipy import optimize  # loads when it is called

    check_function(f, "curve_fit: ")
    check_plain("curve_fit", (xdata, ydata, p0, sigma))
    if not callable(jac) and jac is not None and jac not in SCHEMES:
        raise TracingError(
            f"curve_fit: jac is a function or one of {SCHEMES}, got {jac!r}", fix="leave jac out: it is exact."
        )
    check_real_fit("data", ydata)
    check_real_fit("parameters", p0)
    xdata, ydata, p0, sigma = (_column(value) for value in (xdata, ydata, p0, sigma))
    if sigma is not None and np.size(sigma) == 1:  # SciPy's Jacobian takes no number
        sigma = np.full(np.size(ydata), np.asarray(sigma, np.float64).item())
    model = _Model(f, xdata, compiled, callable(jac))
    options = {"sigma": sigma, "absolute_sigma": absolute_sigma, "check_finite": check_finite, "bounds": bounds}

    @functools.wraps(f)  # SciPy counts the parameters of its signature
    def values(x: Any, *params: Any) -> Any:
        found = model.values(x, *params)
        check_real_fit("values of the model", found)
        return found

    return optimize.curve_fit(
        values, xdata, ydata, p0, method=method, jac=jac if callable(jac) else model.matrix,
        full_output=full_output, nan_policy=nan_policy, **options, **kwargs,
    )  # fmt: skip


def check_real_fit(what: str, values: Any) -> None:
    """Refuse complex numbers, of which SciPy drops the imaginary parts or says what it cannot cast.

    Raises:
        ShapeError: with how to fit both parts.
    """
    if values is not None and np.iscomplexobj(values):
        raise ShapeError(
            f"curve_fit: the {what} are complex",
            why="It fits real data by real parameters.",
            fix="fit both parts, np.concatenate([y.real, y.imag]) of data and model, complex parameters being two "
            "real ones; or give residuals to primad.optimize.least_squares, which takes complex unknowns.",
        )


def _column(value: Any) -> Any:
    """Return a column of a table as an array, as SciPy does, and any other value as it is.

    Raises:
        TracingError: for arrays with units or a mask, which SciPy would drop, and for what are no real numbers.
    """
    if getattr(value, "ndim", 0) == 1 and hasattr(value, "to_numpy"):
        return value.to_numpy()
    if hasattr(value, "to_numpy") or value is None:  # a table that the model takes apart
        return value
    refuse_among((value,))
    if isinstance(value, (list, tuple, np.ndarray)):
        value = np.asarray(value)
        check_real(check_dtype(value.dtype))
    return value


class _Model:
    """A model as SciPy calls it; its first values and all its derivatives are checked for NaN and infinity.

    Args:
        function: (x, *parameters).
        xdata: what SciPy hands over: an argument of what is recorded if it is an array, otherwise a part of it.
        compiled: whether it is recorded once.
        as_it_is: whether it is called without being recorded.
    """

    def __init__(self, function: Function, xdata: Any, compiled: bool, as_it_is: bool) -> None:
        is_array = isinstance(xdata, (list, tuple, np.ndarray))

        def value(x: Any, p: Any) -> Any:
            return function(x if is_array else xdata, *(p[i] for i in range(p.shape[0])))

        def rows(x: Any, p: Any) -> Any:
            return jacobian(lambda p: reshape(pnp.asarray(value(x, p)), (-1,)))(p)[:, :]

        self._takes_data, self._compiled, self._as_it_is, self._checked = is_array, compiled, as_it_is, False
        self._value = recorded_once(value) if compiled and not as_it_is else value
        self._rows = recorded_once(rows) if compiled else rows

    def values(self, x: Any, *params: Any) -> Any:
        """Return the model's values."""
        p = np.array(params, np.float64)
        found = self._value(x if self._takes_data else None, p)
        check_plain("curve_fit", found)
        found = np.asarray(found)
        if not self._checked and not np.all(np.isfinite(found)):
            recorded = self._compiled and not self._as_it_is
            origin = first_not_finite(lambda p: self._value(x, p), p) if recorded else None
            what = first_bad("the model at data point ", found)
            raise _not_finite(f"{what}: {origin}" if origin else str(what), p, "p0")
        self._checked = True
        return found

    def matrix(self, x: Any, *params: Any) -> Any:
        """Return the Jacobian."""
        p = np.array(params, np.float64)
        found = np.asarray(self._rows(x if self._takes_data else None, p))
        if not np.all(np.isfinite(found)):
            row, column = np.argwhere(~np.isfinite(found))[0]
            what = f"the derivative of the model at data point {row} in parameter {column} is {found[row, column]}"
            raise _not_finite(what, p, "bounds")
        return found


def _not_finite(what: str, params: Any, cure: str) -> NotFiniteError:
    return NotFiniteError(
        f"curve_fit: {what}",
        why=f"The parameters are {params.tolist()} there.",
        fix=f"keep the parameters where the model is defined, by {cure}.",
    )


@entrance
def covariance(
    fun: Function,
    x: Tree,
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    absolute_sigma: bool = False,
    compiled: bool = True,
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the covariance of the parameters of a least-squares fit, by the Jacobian J of the residuals there.

    It is s² (JᵀJ)⁻¹ with the variance s² = Σ r² / (m − n) of m residuals and n parameters: that of a model which fits,
    is nearly linear as far as the errors reach, and has independent errors of one size. This is what `curve_fit`
    returns, for whatever found the parameters: `least_squares`, or `solve` with `LevenbergMarquardt`.

    Args:
        fun: the function (x, *args, **kwargs) of the residuals, as of `least_squares`.
        x: the parameters of the fit.
        args: other arguments of `fun`.
        kwargs: other arguments of `fun`, by name.
        absolute_sigma: whether the residuals are in units of their standard deviations: then s² is 1.
        compiled: whether `fun` is recorded.

    Returns:
        a matrix with a row for each number of the parameters, in the order of the leaves, and two for the parts of a
        complex one. The square roots of its diagonal are the standard deviations.

    Raises:
        ShapeError: if there are not more residuals than parameters, and s² is not given.
        MatrixError: if the residuals do not determine the parameters; it names the one that is determined least.
        NotFiniteError: if residuals or their derivatives are NaN or infinite.

    Example:
        >>> import numpy as np, primad
        >>> t = np.linspace(0.0, 1.0, 20)
        >>> noise = np.random.default_rng(0).normal(size=20)
        >>> def misfit(p, y):
        ...     return p["a"] + p["b"] * t - y
        >>> data = (1.0 + 2.0 * t + 0.1 * noise,)
        >>> found = primad.optimize.least_squares(misfit, {"a": 0.0, "b": 0.0}, args=data)
        >>> c = primad.optimize.covariance(misfit, found.x, data)
        >>> print(np.sqrt(np.diag(c)).round(3))
        [0.038 0.065]
    """
    flat = Plain(fun, x, args, "covariance", compiled, kwargs, parts=True)
    residuals, rows = flat.values()(flat.start), flat.matrix()(flat.start)
    if not (np.all(np.isfinite(residuals)) and np.all(np.isfinite(rows))):
        raise flat.not_finite(flat.start, "at the parameters", rows=rows)
    count, size = rows.shape
    free = count - size
    if free < 0 or (not absolute_sigma and free == 0):
        raise ShapeError(
            f"covariance: {count} residuals do not tell the spread of {size} parameters",
            why="Their variance is what is left of the residuals beyond the parameters.",
            fix="pass absolute_sigma=True if the residuals are in units of their errors, and there are enough of them."
            if free == 0
            else "fit fewer parameters, or more data.",
        )
    lengths = np.sqrt(np.sum(rows**2, axis=0))
    _, singular, directions = np.linalg.svd(rows / np.where(lengths > 0, lengths, 1.0), full_matrices=False)
    if singular[-1] <= np.finfo(np.float64).eps * max(rows.shape) * singular[0]:
        worst = int(np.argmax(np.abs(directions[-1])))
        name = "".join(f"[{part!r}]" for part in _place(flat, worst))
        raise MatrixError(
            f"covariance: the residuals do not determine the parameters: the parameter {name} may change with others",
            why="The Jacobian has no full rank there, so that a variance is infinite.",
            fix="fix that parameter, or add residuals that depend on it.",
        )
    inverse = (directions.T / singular) / lengths[:, None]
    variance = 1.0 if absolute_sigma else float(residuals @ residuals) / free
    found: np.ndarray[Any, np.dtype[np.float64]] = variance * (inverse @ inverse.T)
    return found


def _place(flat: Plain, number: int) -> tuple[Any, ...]:
    """Return the path and index of a number of the parameters."""
    for path, kind in zip(tree.paths(flat.space.structure), flat.space.types, strict=True):
        if number < kind.size:
            return (*path, *(int(i) for i in np.unravel_index(number, kind.shape)))
        number -= kind.size
    raise IndexError(number)
