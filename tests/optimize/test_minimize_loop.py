"""The loop around optimisers: why it ends, what is left then; and SciPy's solvers against SciPy without help."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize

import primad
from primad import nn
from primad.errors import NotFiniteError
from primad.optimize import (
    LBFGS,
    Descent,
    GaussNewtonCG,
    LevenbergMarquardt,
    NewtonCG,
    Residuals,
    SelfScaledBroyden,
    least_squares,
    minimize,
    parameter_vectors,
    root,
    solve,
    solve_ivp,
)


def residuals(p: Any, c: Any = 1.0) -> Any:
    return {"valley": 10 * (p["y"] - p["x"] ** 2), "end": c - p["x"]}


def loss(p: Any, c: Any = 1.0) -> Any:
    return 0.5 * sum(np.sum(r**2) for r in residuals(p, c).values())


START = {"x": np.array([-1.2, 0.5]), "y": np.array([1.0, 0.3])}
RULES = [LevenbergMarquardt(), GaussNewtonCG(), NewtonCG(), SelfScaledBroyden(), LBFGS(), Descent(nn.Adam(0.05))]


def function(rule: Any) -> Any:
    return residuals if isinstance(rule, (LevenbergMarquardt, GaussNewtonCG)) else loss


@pytest.mark.one_in(4)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_every_optimiser_in_the_loop(rule: Any) -> None:
    first = isinstance(rule, Descent)
    found = solve(rule, function(rule), START, steps=3000 if first else 200, target=1e-6 if first else 1e-16)
    assert found.reason == "target" and found.converged and len(found.values) == found.state.step
    for leaf in found.params.values():
        np.testing.assert_allclose(leaf, 1.0, atol=1e-2 if first else 1e-6)
    flat = solve(rule, function(rule), START, (np.float64(1.0),), steps=3000, tolerance=1e-3)
    assert flat.reason == "gradient" and np.max(np.abs(flat.state.gradient)) <= 1e-3
    few = solve(rule, function(rule), START, steps=2)
    assert few.reason == "steps" and not few.converged and few.state.step == 2
    # Resumed, it is the run without a break, bit for bit.
    again = solve(rule, function(rule), few.params, steps=3, state=few.state)
    whole = solve(rule, function(rule), START, steps=5)
    found, expected = [primad.recording.tree.leaves((result.params, result.state)) for result in (again, whole)]
    for a, b in zip(found, expected, strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
    stalled = solve(rule, function(rule), START, steps=0)
    assert stalled.params is START and stalled.reason == "steps" and np.isnan(stalled.value)


def test_a_minimum_ends_the_loop_unless_points_are_drawn_anew() -> None:
    rule = LevenbergMarquardt()
    found = solve(rule, lambda p, c: p - c, np.ones(2), (np.zeros(2),))
    assert found.reason in ("gradient", "stalled") and found.converged and found.state.step < 100
    moved = solve(rule, lambda p, c: p - c, np.ones(2), lambda step: (np.full(2, float(step // 5)),), steps=20)
    assert moved.reason == "steps"
    np.testing.assert_allclose(moved.params, 3.0, atol=1e-6)


def test_an_interrupt_leaves_what_was_found() -> None:
    def stop(params: Any, state: Any) -> None:
        if state.step == 4:
            signal.raise_signal(signal.SIGINT)

    found = solve(LevenbergMarquardt(), residuals, START, callback=stop)
    same = solve(LevenbergMarquardt(), residuals, START, steps=4)
    assert found.reason == "interrupted" and found.state.step == 4
    assert all(np.array_equal(found.params[k], same.params[k]) for k in START)
    asked = solve(LevenbergMarquardt(), residuals, START, callback=lambda params, state: state.step == 2)
    assert asked.reason == "callback" and asked.state.step == 2


def test_divergence_returns_the_last_good_parameters_and_names_the_value() -> None:
    def rooted(p: Any) -> Any:
        return np.sum(np.sqrt(p["w"])) + 0.0 * p["b"]

    wild = Descent(nn.SGD(1.0))
    with np.errstate(invalid="ignore"):
        found = solve(wild, rooted, {"w": np.array([1.0, 0.6]), "b": 0.0})
        assert found.reason == "diverged" and np.isfinite(rooted(found.params)) and "the loss is nan" in found.message
        with pytest.raises(NotFiniteError, match="the loss is nan"):
            solve(wild, rooted, {"w": np.array([-1.0, 0.6]), "b": 0.0})

    def points(step: int) -> Any:
        x = np.linspace(0.0, 1.0, 5)
        x[2] = np.nan if step == 3 else 0.5
        return (x,)

    for rule in (LevenbergMarquardt(), GaussNewtonCG()):
        bad = solve(rule, lambda p, x: p[0] * np.exp(p[1] * x) - np.cos(x), np.array([3.0, 1.0]), points)
        assert bad.reason == "diverged" and bad.state.step == 3 and "data[0][2] is nan" in bad.message
        assert np.isfinite(bad.value) and np.all(np.isfinite(bad.params))


def test_results_are_shown_in_a_line() -> None:
    found = solve(LevenbergMarquardt(), residuals, START, steps=2)
    assert repr(found) == f"<Result: value {found.value:.6g} after 2 steps, steps: all steps were made>"


def test_progress_is_shown_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    solve(LevenbergMarquardt(), residuals, START, steps=3, progress=True)
    shown = capsys.readouterr()
    assert "3/3" in shown.err and "value" in shown.err and not shown.out


def test_the_loop_takes_compiled_functions_and_refuses_nonsense() -> None:
    compiled = Residuals(residuals)
    assert solve(LevenbergMarquardt(), compiled, START, target=1e-16).reason == "target"
    with pytest.raises(primad.ShapeError, match="steps must be an integer"):
        solve(LBFGS(), loss, START, steps=-1)
    with pytest.raises(primad.TracingError, match=r"Adam is no optimiser(?s:.*)Descent"):
        solve(nn.Adam(), loss, START)
    with pytest.raises(primad.TracingError, match=r"LBFGS is a class(?s:.*)LBFGS\(\)"):
        solve(LBFGS, loss, START)
    with pytest.raises(primad.TracingError, match=r"function is no optimiser(?s:.*)solve\(optimiser, function"):
        solve(loss, START, LBFGS())
    with pytest.raises(primad.TracingError, match=r"data is a tuple(?s:.*)data=\(x,\)"):
        solve(LBFGS(), loss, START, np.ones(2))
    with pytest.raises(primad.ShapeError, match="a state for 4 parameters does not fit 1"):
        solve(LBFGS(), np.sum, np.ones(1), state=LBFGS().init(START))


# -- SciPy -------------------------------------------------------------------------------------------------------------

METHODS = [
    None, "BFGS", "CG", "L-BFGS-B", "TNC", "SLSQP", "Newton-CG", "trust-ncg", "trust-krylov", "trust-exact", "dogleg",
    "trust-constr", "Nelder-Mead", "Powell", "COBYLA", "COBYQA",
]  # fmt: skip
ROUGH = ("Nelder-Mead", "Powell", "COBYLA", "COBYQA", "CG", "TNC", None, "BFGS", "L-BFGS-B", "SLSQP")


def quartic(p: Any, shift: Any = 0.0, power: str = "four") -> Any:
    x, y = p["x"] - shift, p["y"]
    assert power == "four"
    return np.sum((x - 1.0) ** 2) + 2 * (y[0] - x[0]) ** 2 + np.sum((y - 1.0) ** 4) + np.sum((y - 1.0) ** 2)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("method", METHODS)
def test_minimize_by_every_method(method: str | None) -> None:
    start = {"x": np.array([0.5, 0.7]), "y": np.array([[0.6, 1.2]])[0]}
    found = minimize(quartic, start, (0.0, "four"), method)
    assert found.success
    assert set(found.x) == {"x", "y"}
    for leaf in found.x.values():
        np.testing.assert_allclose(leaf, 1.0, atol=1e-2 if method in ROUGH else 1e-4)
    if method not in ("Nelder-Mead", "Powell", "COBYLA", "COBYQA"):
        assert (found.grad if method == "trust-constr" else found.jac)["x"].shape == (2,)
        with pytest.raises(primad.TracingError):
            minimize(lambda p: p["x"][0] if p["x"][0] > 0 else 0.0, start, method=method)


def test_minimize_with_bounds_and_constraints() -> None:
    start = {"x": np.array([0.5, 0.7]), "y": np.array([0.6, 0.9])}
    upper = {"x": 0.8, "y": np.array([np.inf, 0.5])}
    for method in (None, "L-BFGS-B", "TNC", "SLSQP", "trust-constr"):
        found = minimize(quartic, start, method=method, bounds=(-np.inf, upper))
        plain = optimize.minimize(
            lambda v: quartic({"x": v[:2], "y": v[2:]}),
            [0.5, 0.7, 0.6, 0.9],
            bounds=[(None, 0.8)] * 2 + [(None, None), (None, 0.5)],
        )
        np.testing.assert_allclose(np.concatenate([found.x["x"], found.x["y"]]), plain.x, atol=1e-3)
    rules = [
        {"type": "eq", "fun": lambda p: p["x"] - p["y"] ** 2},
        {"type": "ineq", "fun": lambda p, top: (top - np.sum(p["x"]),), "args": (1.0,)},
    ]
    seen: list[Any] = []
    for method in (None, "SLSQP", "trust-constr"):
        found = minimize(quartic, start, method=method, constraints=rules, callback=seen.append)
        np.testing.assert_allclose(found.x["x"], found.x["y"] ** 2, atol=1e-5)
        assert np.sum(found.x["x"]) <= 1 + 1e-5
    assert all(set(x) == {"x", "y"} for x in seen) and seen
    branching = minimize(lambda p: (p - 1) ** 2 if p > 0 else 1 - p, 0.5, compiled=False)
    np.testing.assert_allclose(branching.x, 1.0, atol=1e-6)


def test_least_squares_and_root() -> None:
    t = np.linspace(0, 2, 25)
    start = {"size": np.float64(1.0), "rate": np.array([1.0])}

    def misfit(p: Any, y: Any) -> Any:
        return {"all": p["size"] * np.exp(-p["rate"][0] * t) - y, "one": 0.1 * (p["size"] - 3)}

    for options in ({}, {"products": True}, {"method": "lm"}, {"bounds": (0.0, {"size": 10.0, "rate": 1e3})}):
        found = least_squares(misfit, start, args=(3 * np.exp(-2 * t),), **options)
        assert found.success and found.fun["all"].shape == (25,) and found.active_mask["rate"].shape == (1,)
        np.testing.assert_allclose([found.x["size"], found.x["rate"][0]], [3, 2], rtol=1e-6)
    soft = least_squares(misfit, start, args=(3 * np.exp(-2 * t),), loss="soft_l1", compiled=False)
    np.testing.assert_allclose(soft.x["size"], 3, rtol=1e-5)
    for method in ("hybr", "lm", "krylov", "broyden1"):
        two = root(lambda p: (p["a"] ** 2 - p["b"], np.exp(p["b"]) - 2), {"a": 1.0, "b": 0.5}, method=method)
        assert two.success
        np.testing.assert_allclose([two.x["a"], two.x["b"]], [np.log(2) ** 0.5, np.log(2)], rtol=1e-5)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_solve_ivp_by_every_method(method: str) -> None:
    """Robertson's reactions, which are stiff, for a short while; keys may come in any order."""

    def reactions(t: Any, y: Any, rate: Any) -> Any:
        slow, fast = 0.04 * y["a"], rate * y["bc"][0] * y["bc"][1]
        quick = 3e7 * y["bc"][0] ** 2
        return {"bc": np.stack([slow - fast - quick, quick]), "a": fast - slow + 0.0 * t}

    def plain(t: float, y: Any) -> Any:
        found = reactions(t, {"a": y[0], "bc": y[1:]}, 1e4)
        return np.concatenate([[found["a"]], found["bc"]])

    def half(t: float, y: Any, rate: float) -> Any:
        return y["a"] - 0.999

    half.terminal = False  # type: ignore[attr-defined]
    start = {"a": 1.0, "bc": np.zeros(2)}
    settings: Any = {"rtol": 1e-6, "atol": 1e-10}
    found = solve_ivp(
        reactions, (0.0, 0.1), start, method, t_eval=np.linspace(0, 0.1, 5), dense_output=True, events=half,
        args=(1e4,), **settings,
    )  # fmt: skip
    expected = integrate.solve_ivp(plain, (0.0, 0.1), [1.0, 0.0, 0.0], "Radau", t_eval=found.t, rtol=1e-9, atol=1e-13)
    assert found.y["a"].shape == (5,) and found.y["bc"].shape == (2, 5)
    np.testing.assert_allclose(found.y["a"], expected.y[0], rtol=1e-5)
    np.testing.assert_allclose(found.y["bc"], expected.y[1:], rtol=1e-3, atol=1e-9)
    np.testing.assert_allclose(found.sol(0.05)["a"], np.interp(0.05, found.t, found.y["a"]), rtol=1e-4)
    assert found.sol(np.array([0.01, 0.02]))["bc"].shape == (2, 2)
    assert len(found.t_events[0]) == 1 and found.y_events[0]["a"] == pytest.approx(0.999)


def test_scipys_solvers_say_what_is_wrong() -> None:
    cases: list[tuple[Any, str]] = [
        (lambda: minimize(loss, {"x": 1j, "y": 2}), "a complex number"),
        (lambda: solve_ivp(lambda t, y: 1j * y, (0, 1), [1.0]), r"a part of the state of float64\[1\](.|\n)*complex"),
        (lambda: solve_ivp(lambda t, y: y, (0, 1), [1j], "BDF", jac=np.eye(1)), "derivative of your own by complex"),
        (lambda: least_squares(residuals, START, args=1.0), "args is a tuple"),
        (lambda: minimize(3, START), "expected a function"),
        (lambda: minimize(loss, START, bounds=[(0, 1)] * 4), "bounds are a pair"),
        (lambda: minimize(loss, START, bounds=({"x": 0.0}, 1.0)), "bounds: expected the tree"),
        (lambda: minimize(loss, START, bounds=(1.0, 0.0)), "above the upper"),
        (lambda: minimize(loss, START, bounds=({"x": np.zeros(3), "y": 0.0}, 1.0)), r"shape \(3,\)"),
        (lambda: minimize(loss, START, constraints={"fun": loss}), "'eq' or 'ineq'"),
        (lambda: least_squares(residuals, START, jac_sparsity=np.ones((9, 4))), r"jac_sparsity of shape \(9, 4\)"),
        (lambda: root(lambda p: p["x"], START), "2 results for 4 unknowns"),
        (lambda: solve_ivp(lambda t, y: {"x": y["x"]}, (0, 1), START), "the result of fun"),
        (lambda: solve_ivp(lambda t, y: {"x": y["x"][0], "y": y["y"]}, (0, 1), START), "a part of the state"),
    ]
    for call, message in cases:
        with pytest.raises(primad.PrimadError, match=message):
            call()


def test_other_processes_are_not_asked_what_is_finite_where_nothing_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would have to ask too, and none is there that hears."""

    def ranks() -> Any:
        raise AssertionError("asked")

    monkeypatch.setattr(parameter_vectors, "ranks", ranks)
    assert parameter_vectors.first_bad("data", (np.array([0.0, np.nan]), 1.0)) == "data[0][1] is nan"
    assert parameter_vectors.first_bad("data", (1.0, np.ones(2))) is None
