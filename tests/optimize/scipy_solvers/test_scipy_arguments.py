"""Arguments of SciPy's solvers: all are taken, or refused with a way out; trees stand in place of vectors."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize as theirs
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

import primad
from primad import optimize as ours

TWO = [0.3, 0.2]
T = np.linspace(0, 4, 40)
Y = 2.5 * np.exp(-1.3 * T) + 0.5 + 0.05 * np.random.default_rng(2).normal(size=40)
ERRORS = 0.05 + 0.02 * T


def valley(x: Any, a: Any = 1.0, b: Any = 100.0) -> Any:
    return (a - x[0]) ** 2 + b * (x[1] - x[0] ** 2) ** 2


def decay(t: Any, size: Any, rate: Any, rest: Any) -> Any:
    return size * np.exp(-rate * t) + rest


def misfit(x: Any, t: Any = T, y: Any = Y) -> Any:
    return decay(t, x[0], x[1], x[2]) - y


def crossing(x: Any) -> Any:
    return [x[0] + x[1] - 3, x[0] * x[1] - 2]


PAIRS: list[tuple[Any, Any]] = [
    (ours.minimize, theirs.minimize),
    (ours.least_squares, theirs.least_squares),
    (ours.root, theirs.root),
    (ours.curve_fit, theirs.curve_fit),
    (ours.solve_ivp, scipy.integrate.solve_ivp),
    (primad.integrate.solve_ivp, scipy.integrate.solve_ivp),
]


@pytest.mark.parametrize("index", range(len(PAIRS)), ids=lambda i: f"{PAIRS[i][0].__module__}.{PAIRS[i][0].__name__}")
def test_signatures_are_scipys_and_what_primad_adds_has_a_name(index: int) -> None:
    """So that every call of SciPy's means the same, whatever is given by its place."""
    mine, its = (list(inspect.signature(f).parameters.values()) for f in PAIRS[index])
    positional = [p.name for p in its if p.kind is p.POSITIONAL_OR_KEYWORD]
    found = [p.name for p in mine if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert found[: len(positional)] == positional
    assert set(found[len(positional) :]) <= {"callback", "workers"}  # which an older SciPy lacks
    assert {p.name for p in mine if p.kind is p.KEYWORD_ONLY} >= {p.name for p in its if p.kind is p.KEYWORD_ONLY}


def bent(x: Any) -> Any:
    return np.sum((x - 1) ** 2) if x[0] > 0 else np.sum((x - 1) ** 2) + 1


BRANCHING: list[Callable[..., Any]] = [
    lambda **given: ours.minimize(bent, TWO, **given).x[0],
    lambda **given: ours.minimize(bent, TWO, method="trust-exact", **given).x[0],
    lambda **given: ours.least_squares(lambda x: x - 1 if x[0] > 0 else x - 2, TWO, **given).x[0],
    lambda **given: ours.root(lambda x: x - 1 if x[0] > 0 else x - 2, TWO, **given).x[0],
    lambda **given: ours.curve_fit(lambda t, a: a * t if a > 0 else a - t, T, T, **given)[0][0],
]


@pytest.mark.parametrize("solve", BRANCHING)
def test_a_function_that_branches_names_the_option_that_lets_it(solve: Callable[..., Any]) -> None:
    with pytest.raises(primad.TracingError, match="Fix: compiled=False") as caught:
        solve()
    assert __file__ in str(caught.value)
    assert abs(solve(compiled=False) - 1) < 1e-6


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "jac_sparsity": (
        lambda: ours.least_squares(misfit, [1.0] * 3, jac_sparsity=np.eye(40, 3)),
        "misses an entry(?s:.*)pattern",
    ),
    "args by place": (lambda: ours.least_squares(misfit, [1.0] * 3, (T, Y)), r"jac is a function(?s:.*)args=\(…\)"),
    "a method of least squares": (lambda: ours.least_squares(misfit, [1.0] * 3, method="LBFGS"), "LevenbergMarquardt"),
    "a method": (lambda: ours.minimize(valley, TWO, method="BGFS"), "no method 'BGFS'(?s:.*)did you mean bfgs"),
    "a method of roots": (lambda: ours.root(crossing, TWO, method="newton"), "no method 'newton'"),
    "jac as a matrix": (lambda: ours.minimize(valley, TWO, jac=np.ones(2)), "jac is a function(?s:.*)leave jac out"),
    "hess as a matrix": (lambda: ours.minimize(valley, TWO, hess=np.ones((2, 2))), "hess is a function"),
    "jac of roots": (lambda: ours.root(crossing, TWO, jac="2-point"), "jac is a function"),
    "jac of a curve": (lambda: ours.curve_fit(decay, T, Y, jac="exact"), "jac is a function(?s:.*)leave jac out"),
    "a gradient too short": (lambda: ours.minimize(valley, TWO, jac=lambda x: [1.0]), "1 numbers for 2 parameters"),
    "a pair that is none": (lambda: ours.minimize(valley, TWO, jac=True), r"fun returns \(value, gradient\)"),
    "a vector to minimise": (lambda: ours.minimize(lambda x: x, TWO), r"the shape \(2,\), not one number(?s:.*)np.sum"),
    "a dict to minimise": (lambda: ours.minimize(lambda x: {"a": x[0], "b": 0.0}, TWO), "2 results, not one number"),
    "bounds in two readings": (lambda: ours.minimize(valley, TWO, bounds=(np.zeros(2), np.ones(2))), "or two pairs"),
    "too few bounds": (lambda: ours.minimize(valley, TWO, bounds=[(0, 1)]), "1 entries for 2 parameters"),
    "a number as bounds": (lambda: ours.minimize(valley, TWO, bounds=1.0), "bounds are a pair(?s:.*)It got float"),
    "bounds that are NaN": (lambda: ours.minimize(valley, TWO, bounds=[(np.nan, 1), (0, 1)]), "a bound is NaN"),
    "a matrix too wide": (
        lambda: ours.minimize(valley, TWO, constraints=LinearConstraint(np.ones((1, 3)))),
        r"shape \(1, 3\) for 2 parameters",
    ),
    "a constraint that is none": (lambda: ours.minimize(valley, TWO, constraints=[valley]), "or one of SciPy's"),
    "complex numbers": (lambda: ours.minimize(valley, [1j, 0.0]), "a complex number(?s:.*)real number, as"),
    "words": (lambda: ours.minimize(valley, ["a", "b"]), "dtype <U1 are not supported"),
    "lists of different lengths": (lambda: ours.minimize(valley, [[1.0], [1.0, 2.0]]), "different lengths"),
    "nothing": (lambda: ours.minimize(valley, []), "no numbers in it"),
    "a function of SciPy's": (lambda: ours.minimize(theirs.rosen, TWO), "optimize.rosen cannot be recorded(?s:.*)jac"),
    "a bound of another tree": (
        lambda: ours.minimize(lambda p: p["x"], {"x": 1.0}, bounds=({"y": 0.0}, 1.0)),
        r"expected the tree \{'x': \*\}, got \{'y': \*\}",
    ),
    "a method of ours with bounds": (
        lambda: ours.minimize(valley, TWO, method="LBFGS", bounds=[(0, 1)] * 2),
        "the method LBFGS takes no bounds(?s:.*)L-BFGS-B",
    ),
    "a method of ours with jac": (
        lambda: ours.minimize(valley, TWO, jac=valley, method="LBFGS"),
        "takes no jac(?s:.*)exact",
    ),
    "a method of ours for residuals": (
        lambda: ours.minimize(valley, TWO, method=ours.LevenbergMarquardt()),
        "takes residuals(?s:.*)least_squares",
    ),
    "a method of ours as a class": (lambda: ours.minimize(valley, TWO, method=ours.LBFGS), r"a class(?s:.*)LBFGS\(\)"),
    "an old name": (lambda: ours.fsolve, r"no attribute 'fsolve'(?s:.*)root\("),
    "another name": (lambda: ours.brentq, r"scipy.optimize.brentq takes(?s:.*)primad.grad"),
    "a name that nobody has": (lambda: ours.minimise, r"did you mean minimize"),
    "an option of another method": (
        lambda: ours.minimize(valley, TWO, method="LBFGS", options={"maxcor": 5}),
        r"option 'maxcor'(?s:.*)LBFGS\(…\)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_why_and_what_to_do(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(primad.PrimadError, match=message) as info:
        call()
    assert "PyTreeSpec" not in str(info.value) and "test_scipy_arguments.py" in str(info.value)


@pytest.mark.parametrize("recordable", [True, False])
def test_methods_without_derivatives_record_a_function_where_that_is_possible(recordable: bool) -> None:
    calls = []

    def bowl(x: Any) -> Any:
        calls.append(x)
        return np.sum((x - 0.5) ** 2) if recordable else float((x[0] - 0.5) ** 2 + (x[1] - 0.5) ** 2)

    found = ours.minimize(bowl, [0.0, 1.0], method="Nelder-Mead")
    np.testing.assert_allclose(found.x, 0.5, atol=1e-3)
    assert (len(calls) < found.nfev) is recordable


@pytest.mark.one_in(2)
@pytest.mark.parametrize("method", ["BFGS", "trust-constr", "TNC", "SLSQP", "COBYLA", "Nelder-Mead", "LBFGS"])
def test_callbacks_are_called_in_the_form_that_their_arguments_ask_for(method: str) -> None:
    start = {"x": np.array(TWO)}
    plain: list[Any] = []
    results: list[Any] = []
    states: list[Any] = []

    def with_result(intermediate_result: Any) -> None:
        results.append(getattr(intermediate_result, "x", intermediate_result))

    def with_state(x: Any, state: Any) -> None:
        states.append((x, state.x))

    def stop(x: Any) -> None:
        raise StopIteration

    def loss(p: Any) -> Any:
        return np.sum((p["x"] - 1) ** 4)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours.minimize(loss, start, method=method, callback=plain.append)
        ours.minimize(loss, start, method=method, callback=with_result)
    assert plain and all(set(x) == {"x"} and x["x"].shape == (2,) for x in plain)
    assert len(results) == len(plain) and all(set(x) == {"x"} for x in results)
    if method == "trust-constr":
        ours.minimize(loss, start, method=method, callback=with_state)
        assert states and all(set(x) == set(y) == {"x"} for x, y in states)
    if method in ("BFGS", "LBFGS", "Nelder-Mead"):
        assert ours.minimize(loss, start, method=method, callback=stop).nit <= 2


def test_trees_in_all_that_scipy_calls_vectors() -> None:
    """Integers, a named limit of a constraint, scales; bounds by SciPy's object in the order of the leaves."""

    def loss(p: Any) -> Any:
        return (p["a"] - 1) ** 2 + np.sum((p["b"] - 2) ** 2)

    start = {"a": 0, "b": np.array([0, 0])}
    free = ours.minimize(loss, start)
    assert free.x["a"].dtype == np.float64 and free.x["b"].shape == (2,)
    held = ours.minimize(loss, start, bounds=Bounds(-np.inf, [0.5, 1.0, np.inf]))
    np.testing.assert_allclose([held.x["a"], *held.x["b"]], [0.5, 1.0, 2.0], atol=1e-6)
    limit = NonlinearConstraint(lambda p: {"s": p["a"], "v": p["b"]}, -np.inf, {"s": 0.5, "v": np.array([1.0, 9.0])})
    for method in ("SLSQP", "trust-constr"):
        held = ours.minimize(loss, start, constraints=limit, method=method)
        np.testing.assert_allclose([held.x["a"], *held.x["b"]], [0.5, 1.0, 2.0], atol=1e-4)
    scales, bounds = {"a": 2.0, "b": np.ones(2)}, (None, {"a": 0.5, "b": 9})
    scaled = ours.least_squares(lambda p: {"u": p["a"] - 1, "v": p["b"] - 2}, start, x_scale=scales, bounds=bounds)
    np.testing.assert_allclose([scaled.x["a"], *scaled.x["b"]], [0.5, 2.0, 2.0], atol=1e-6)
    two = ours.root(lambda p: {"u": p[0] - 1, "v": p[1] * 2 - 4}, (np.zeros(2), np.float64(0.0)))
    np.testing.assert_allclose(two.x[0], 1.0)
    pair = ours.minimize(lambda p: (loss(p), {"a": 2 * (p["a"] - 1), "b": 2 * (p["b"] - 2)}), start, jac=True)
    np.testing.assert_allclose(pair.x["b"], 2.0)


@pytest.mark.parametrize(
    "method", ["LBFGS", "NewtonCG", "SelfScaledBroyden", ours.Descent(primad.nn.Adam(0.1))], ids=str
)
def test_optimisers_of_this_module_are_methods_of_minimize(method: Any) -> None:
    calls: list[Any] = []
    found = ours.minimize(valley, [0, 0], (1.0, 10.0), method, tol=1e-4, callback=calls.append)
    assert found.success and found.status == 0 and found.nit == len(calls) and np.max(np.abs(found.jac)) <= 1e-4
    np.testing.assert_allclose(found.x, 1.0, atol=1e-3)
    few = ours.minimize(valley, [0, 0], method=method, options={"maxiter": 2})
    assert not few.success and few.status == 1 and few.nit == 2
    assert few.nit <= few.nfev <= found.nfev


@pytest.mark.parametrize("absolute", [False, True])
def test_the_covariance_is_that_of_curve_fit(absolute: bool) -> None:
    popt, pcov = theirs.curve_fit(decay, T, Y, sigma=ERRORS, absolute_sigma=absolute)

    def weighed(p: Any) -> Any:
        return (decay(T, p["size"], p["rate"], p["rest"]) - Y) / ERRORS

    start = {"size": 1.0, "rate": 1.0, "rest": 0.0}
    by_scipy = ours.least_squares(weighed, start).x
    by_us = ours.solve(ours.LevenbergMarquardt(), weighed, start).params
    for fit in (by_scipy, by_us):
        np.testing.assert_allclose(list(fit.values()), popt, rtol=1e-4)
        np.testing.assert_allclose(ours.covariance(weighed, fit, absolute_sigma=absolute), pcov, rtol=1e-3)


def test_a_covariance_that_does_not_exist_is_an_error() -> None:
    def blind(p: Any, t: Any) -> Any:
        return p["a"] * t + 1e3 * (p["b"] + p["c"]) * t**2

    fit = {"a": 1.0, "b": np.float64(1.0), "c": 0.5}
    with pytest.raises(primad.errors.MatrixError, match=r"do not determine the parameters: the parameter \['[bc]'\]"):
        ours.covariance(blind, fit, (T,))
    with pytest.raises(primad.ShapeError, match=r"3 residuals do not tell(?s:.*)absolute_sigma=True"):
        ours.covariance(lambda x: x, np.ones(3))
    with pytest.raises(primad.ShapeError, match=r"2 residuals do not tell(?s:.*)more data"):
        ours.covariance(lambda x: x[:2], np.ones(3), absolute_sigma=True)
    np.testing.assert_allclose(ours.covariance(lambda x: 2 * x, np.ones(3), absolute_sigma=True), np.eye(3) / 4)


NOT_FINITE: dict[str, tuple[Callable[[], Any], str]] = {
    "a residual": (
        lambda: ours.least_squares(lambda p: {"r": np.sqrt(p["x"] - 1), "s": p["x"]}, {"x": np.array([2.0, 0.0])}),
        r"at the start: the residual \['r'\]\[1\] is nan: sqrt of -1 is nan at \[1\], in .*arguments.py",
    ),
    "a parameter": (
        lambda: ours.least_squares(lambda p: p["x"] - 1, {"x": np.array([1.0, np.nan])}),
        r"the parameter \['x'\]\[1\] is nan",
    ),
    "data": (
        lambda: ours.least_squares(misfit, [1.0] * 3, args=(T, np.append(Y[1:], np.inf))),
        r"args\[1\]\[39\] is inf",
    ),
    "named data": (
        lambda: ours.least_squares(misfit, [1.0] * 3, kwargs={"y": Y * np.nan}),
        r"kwargs\['y'\]\[0\] is nan",
    ),
    "a derivative": (
        lambda: ours.least_squares(lambda x: [np.sqrt(x[0]), x[0] - x[1]], [0, 1]),
        "the derivative of residual 0 in parameter 0 is not finite",
    ),
    "a given derivative": (
        lambda: ours.least_squares(lambda x: x - 1, [0.0], jac=lambda x: np.full((1, 1), np.nan)),
        "the function is not finite at",
    ),
    "a function that is not recorded": (
        lambda: ours.least_squares(lambda x: np.log(x) if x[0] else x, [-1.0], compiled=False),
        r"the residual \[0\] is nan",
    ),
    "lm": (lambda: ours.least_squares(np.log, [-1.0], method="lm"), r"the residual \[0\] is nan: log of -1 is nan"),
    "products": (lambda: ours.least_squares(np.log, [-1.0], products=True), r"the residual \[0\] is nan"),
    "a root": (lambda: ours.root(lambda x: np.log(x) - 1, [-1.0]), r"the residual \[0\] is nan: log of -1"),
    "a loop": (
        lambda: ours.least_squares(
            lambda x: primad.scan(lambda c, t: (c / 2, np.log(t - c)), x[0], np.arange(1.0, 4.0))[1], [1.0]
        ),
        r"the residual \[0\] is -inf: scan is -inf at \[0\] of result 1, in .*arguments.py",
    ),
    "a model": (
        lambda: ours.curve_fit(lambda t, a: np.log(t - a), T, Y, [2.0]),
        r"the model at data point \[0\] is nan: log of -2 is nan at \[0\], in .*arguments.py(?s:.*)are \[2.0\]",
    ),
    "a model that branches": (
        lambda: ours.curve_fit(lambda t, a: np.log(t - a) if a > 0 else t, T, Y, [2.0], compiled=False),
        r"the model at data point \[0\] is nan(?s:.*)are \[2.0\]",
    ),
    "a model with a derivative": (
        lambda: ours.curve_fit(
            lambda t, a: np.log(t - a) if a > 0 else t, T, Y, [2.0], jac=lambda t, a: 1 / (a - t)[:, None]
        ),
        r"the model at data point \[0\] is nan(?s:.*)are \[2.0\]",
    ),
    "a model's derivative": (
        lambda: ours.curve_fit(lambda t, a: np.sqrt(a) * t, T, Y, [0.0]),
        "the derivative of the model at data point 0 in parameter 0 is nan",
    ),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NOT_FINITE)
def test_a_value_that_is_not_finite_is_named(name: str) -> None:
    call, message = NOT_FINITE[name]
    with pytest.raises(primad.errors.NotFiniteError, match=message) as info:
        call()
    assert "test_scipy_arguments.py" in str(info.value) and "Fix: " in str(info.value)


SOLVERS: dict[str, Callable[[Any], Any]] = {
    "minimize": lambda a: ours.minimize(lambda x: (x[0] - a) ** 2, [0.0]).x,
    "minimize, args": lambda a: ours.minimize(lambda x, a: (x[0] - a) ** 2, [0.0], args=(a,)).x,
    "minimize, x0": lambda a: ours.minimize(lambda x: x[0] ** 2, [a]).x,
    "minimize, Nelder-Mead": lambda a: ours.minimize(lambda x: (x[0] - a) ** 2, [0.0], method="Nelder-Mead").x,
    "minimize, jac": lambda a: ours.minimize(lambda x: (x[0] - a) ** 2, [0.0], jac=lambda x: 2 * (x - a)).x,
    "minimize, as it is": lambda a: ours.minimize(lambda x: (x[0] - a) ** 2, [0.0], compiled=False).x,
    "minimize, LBFGS": lambda a: ours.minimize(lambda x: (x[0] - a) ** 2, [0.0], method="LBFGS").x,
    "solve": lambda a: ours.solve(ours.LBFGS(), lambda x: (x[0] - a) ** 2, np.zeros(1)).params,
    "solve, data": lambda a: ours.solve(ours.LevenbergMarquardt(), lambda x, a: x - a, np.zeros(1), (a,)).params,
    "solve, residuals": lambda a: ours.solve(ours.LevenbergMarquardt(), lambda x: x - a, np.zeros(1)).params,
    "solve, drawn data": lambda a: (
        ours.solve(ours.NewtonCG(), lambda x, a: x @ x - a, np.zeros(1), lambda i: (a,)).params
    ),
    "solve, start": lambda a: ours.solve(ours.SelfScaledBroyden(), lambda x: x @ x, {"x": a}).params["x"],
    "least_squares": lambda a: ours.least_squares(lambda x: x - a, [0.0]).x,
    "root": lambda a: ours.root(lambda x: x - a, [0.0]).x,
    "root, krylov": lambda a: ours.root(lambda x: x - a, [0.0], method="krylov").x,
    "curve_fit": lambda a: ours.curve_fit(lambda t, b: a * b * t, T, Y)[0],
    "curve_fit, data": lambda a: ours.curve_fit(lambda t, b: b * t, T, Y * a)[0],
    "covariance": lambda a: ours.covariance(lambda x: x - a * T[:, None], [0.0])[0],
    "solve_ivp": lambda a: ours.solve_ivp(lambda t, y: -a * y, (0, 1), [1.0]).y,
    "solve_ivp, Radau": lambda a: ours.solve_ivp(lambda t, y: -a * y, (0, 1), [1.0], "Radau").y,
    "solve_ivp, y0": lambda a: ours.solve_ivp(lambda t, y: -y, (0, 1), [a]).y,
}


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("transform", [primad.grad, primad.jit, primad.vmap], ids=lambda f: f.__name__)
def test_a_traced_argument_is_refused_with_what_to_do(name: str, transform: Any) -> None:
    solver = SOLVERS[name]
    value = np.ones(2) if transform is primad.vmap else 1.5
    way = "primad.integrate.solve_ivp" if "ivp" in name else "primad.opaque"
    with pytest.raises(primad.NotDifferentiableError, match=f"got a traced array(?s:.*){way}"):
        transform(lambda a: np.sum(solver(a)))(value)


def test_what_to_do_with_a_traced_argument_works() -> None:
    """The root of x³ + a x = 2 and the minimum of a loss, each with the derivative of the implicit function."""

    def equation(x: Any, a: Any) -> Any:
        return x**3 + a[0] * x - 2 * a[1]

    def loss(x: Any, a: Any) -> Any:
        return np.sum(0.25 * x**4 + 0.5 * a[0] * x**2 - 2 * a[1] * x)

    def root(a: Any) -> Any:
        return ours.root(equation, np.ones(1), args=(a,), tol=1e-13).x

    def minimum(a: Any) -> Any:
        return ours.minimize(loss, np.ones(1), args=(a,), method="trust-exact", options={"gtol": 1e-12}).x

    for solver in (root, minimum):

        @primad.custom_jvp
        @primad.opaque(result=lambda a: primad.ArrayType((1,), np.float64))
        def solution(a: Any, solver: Any = solver) -> Any:
            return solver(a)

        @solution.defjvp
        def rule(primals: Any, tangents: Any, solution: Any = solution) -> Any:
            (a,), (t,) = primals, tangents
            x = solution(a)
            _, along = primad.jvp(lambda a: equation(x, a), (a,), (t,))
            return x, -np.linalg.solve(primad.jacobian(equation)(x, a)[:, :], along)

        a = np.array([1.0, 1.0])
        np.testing.assert_allclose(solution(a), 1.0)
        np.testing.assert_allclose(primad.grad(lambda a: np.sum(solution(a)))(a), [-0.25, 0.5], rtol=1e-6)


def test_every_name_of_scipys_is_here_or_says_what_to_take() -> None:
    for name in theirs.__all__:
        if name not in ours.__all__:
            with pytest.raises(AttributeError, match=f"no attribute '{name}'(?s:.*)Fix: "):
                getattr(ours, name)


PASSED_ON: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = {
    "minimize": (ours.minimize, (valley, TWO), {"method": "BFGS", "tol": 1e-3, "options": {"maxiter": 7}}),
    "least_squares": (
        ours.least_squares,
        (misfit, [1.0] * 3),
        {
            "method": "dogbox", "ftol": 1e-3, "xtol": 1e-4, "gtol": 1e-5, "loss": "cauchy", "f_scale": 0.3,
            "tr_solver": "exact", "tr_options": {"a": 1}, "max_nfev": 9, "verbose": 2, "x_scale": "jac",
        },
    ),
    "root": (ours.root, (crossing, TWO), {"method": "lm", "tol": 1e-3, "options": {"maxiter": 7}}),
    "curve_fit": (
        ours.curve_fit,
        (decay, T, Y),
        {
            "p0": 3.0, "sigma": ERRORS, "absolute_sigma": True, "check_finite": False, "bounds": (0, 9),
            "method": "trf", "full_output": True, "nan_policy": "omit", "maxfev": 3,
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PASSED_ON)
def test_what_primad_does_not_look_at_is_passed_on(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call, args, options = PASSED_ON[name]
    seen: dict[str, Any] = {}

    def note(*args: Any, **kwargs: Any) -> None:
        seen.update(kwargs)
        if name == "curve_fit":
            seen["p0"] = args[3]
        raise RecursionError

    monkeypatch.setattr(theirs, name, note)
    with pytest.raises(RecursionError):
        call(*args, **options)
    assert {key: seen[key] for key in options} == options


@pytest.mark.parametrize("given", [{"bounds": np.array([[0, 1], [0, 1]])}, {"jac": False}, {"bounds": [(0, 1)]}])
def test_our_own_methods_take_no_bounds_in_any_form(given: Any) -> None:
    with pytest.raises(primad.TracingError, match=f"the method LBFGS takes no {next(iter(given))}"):
        ours.minimize(valley, TWO, method="LBFGS", **given)
    assert ours.minimize(valley, TWO, method="LBFGS", constraints=(), bounds=None).success


@pytest.mark.parametrize("result", [lambda x: x, lambda x: (x[0], x[1]), lambda x: {"a": x}, lambda x: x[None, :1] + x])
def test_what_is_no_number_has_no_minimum(result: Any) -> None:
    with pytest.raises(primad.ShapeError, match=r"fun returns .* not one number"):
        ours.minimize(result, TWO)
