"""A NaN that stands for what is not defined: its derivatives are NaN where it is read, and 0 where it is not."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy

import primad
from primad.integrate import solve_ivp

X, Y = sympy.symbols("x y")
NONE = np.array([1.0, np.nan, np.nan])


def times(rate: Any, most: int | None = None, value: bool = False) -> Any:
    """Return when exp(−rate t) falls to 0.1, up to t = 1; or the value there."""
    found = solve_ivp(
        lambda t, y: [-rate * y[0]], (0.0, 1.0), [1.0], events=lambda t, y: y[0] - 0.1, t_eval=[1.0], max_events=most
    )
    return found.y_events[0][:, 0] if value else found.t_events[0]


def after_the_end(rate: Any) -> Any:
    """Return when another event happens on a path that the first one ends before."""

    def ends(t: Any, y: Any) -> Any:
        return y[0] - 0.5

    ends.terminal = True  # type: ignore[attr-defined]
    events = [ends, lambda t, y: y[0] - 0.1]
    return solve_ivp(lambda t, y: -rate * y, (0.0, 9.0), [1.0], events=events, t_eval=[0.1]).t_events[1][0]


UNDEFINED = {
    "the value at an event that never happens": (lambda x: times(x, value=True)[0], 1.0),
    "a further event that never happens": (lambda x: times(x, 3)[1], 3.0),
    "an event after the end": (after_the_end, 2.0),
    "a constant piece": (primad.from_sympy(sympy.Piecewise((1, X < 0)), X), 1.0),
    "a piece": (primad.from_sympy(sympy.Piecewise((X**2, X < 0), (3, X < 0.5)), X), 1.0),
    "a piece of two": (lambda x: primad.from_sympy(sympy.Piecewise((Y, X < 0)), (X, Y))(1.0, x), 2.0),
    "a condition on another": (lambda x: primad.from_sympy(sympy.Piecewise((Y, X < 0)), (X, Y))(x, 2.0), 1.0),
    "log gamma": (primad.from_sympy(sympy.loggamma(X), X), -1.5),
    "median": (np.median, NONE),
    "quantile": (lambda x: np.quantile(x, 0.3), NONE),
    "weighted quantile": (lambda x: np.quantile(x, 0.3, weights=[0.0] * 3, method="inverted_cdf"), np.arange(3.0)),
    "variance of one number": (lambda x: np.nanvar(x, ddof=1), NONE),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", UNDEFINED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_derivative_of_what_is_not_defined_is_nan(name: str) -> None:
    function, at = UNDEFINED[name]
    assert np.isnan(primad.jit(function)(at))
    assert np.isnan(primad.grad(function)(at)).any()
    assert np.isnan(primad.jvp(function, (at,), (np.ones_like(at),))[1])
    second = primad.grad(lambda x: np.sum(primad.grad(function)(x)))
    assert np.isnan(primad.vmap(second)(np.stack([at, at]))).any()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("rate", [1.0, 3.0])
def test_what_leaves_nan_out_has_derivatives(rate: float, most: int) -> None:
    """The time at which exp(−rate t) is 0.1 is log(10)/rate; only the first event happens, or none."""
    slope = -np.log(10) / rate**2 if rate > 2.4 else 0.0
    for function in (
        lambda x: np.nansum(times(x, most)),
        lambda x: np.sum(np.where(np.isnan(times(x, most)), 0.0, times(x, most))),
        lambda x: np.nan_to_num(times(x, most)[0]),
    ):
        assert primad.grad(function)(rate) == pytest.approx(slope, rel=1e-2)
        assert primad.jvp(function, (rate,), (1.0,))[1] == pytest.approx(slope, rel=1e-2)


MADE = {
    "integrate/ivp.py": "a value that is not reached is an error",
    "integrate/quadrature.py": "an integral that does not converge is an error",
    "pde/report/picture_grids.py": "nothing is differentiated: pictures have no value there",
    "pde/elements/element_solution.py": "points are plain, and outside of its material nothing is there",
    "scipy/optimize/linear_fits.py": "it marks what is free; derivatives are those of the solution",
    "integrate/adaptive.py": "as integrate/ivp.py, which asks it",
    "numpy/reduce/nans.py": "what is left out has derivative 0, also if all is",
    "numpy/elementwise/ufuncs.py": "heaviside, whose derivative is 0, and defined_where of arrays that are not traced",
}
"""Where a NaN may be chosen by a condition, and why its derivative is no silent zero."""
RECORDED = ("functional", "integrate", "nn", "numpy", "pde", "scipy", "symbolic")


def test_no_condition_chooses_a_constant_nan() -> None:
    """The derivative of a constant is 0: `defined_where` makes NaN with derivatives that are NaN."""
    root = Path(primad.__file__).parent
    found = set()
    for path in (path for folder in RECORDED for path in (root / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("where", "select", "choose"):
                chosen = [ast.unparse(part) for part in node.args[1:]]
                if any(part in ("np.nan", "math.nan") for part in chosen):
                    found.add(path.relative_to(root).as_posix())
    assert found == set(MADE)
