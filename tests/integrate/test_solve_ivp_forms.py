"""SciPy's documented forms of solve_ivp and quad: each gives what SciPy gives, or says what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate

import primad
from primad import optimize
from primad.integrate import events, quad, solve_ivp
from primad.integrate.run_checks import converged, single
from tests.sweeps import thinned

Case = dict[str, Any]


def swing(t: Any, y: Any) -> Any:
    return [y[1], -y[0]]


def swing_slopes(t: Any, y: Any) -> Any:
    return [[0.0, 1.0], [-1.0, 0.0]]


def event(level: float, terminal: Any = False, direction: float = 0) -> Any:
    def passes(t: Any, y: Any, *args: Any) -> Any:
        return y[0] - level

    passes.terminal, passes.direction = terminal, direction  # type: ignore[attr-defined]
    return passes


FORMS: dict[str, Case] = {
    "integers": {"t_span": (0, 3), "y0": [1, 0], "t_eval": [1, 2, 3]},
    "tuples": {"fun": lambda t, y: (y[1], -y[0]), "t_span": [0, 3], "y0": (1.0, 0)},
    "an array of integers": {"y0": np.array([1, 0]), "t_eval": np.array([1, 3])},
    "args": {"fun": lambda t, y, a, b: [a * y[1], -b * y[0]], "args": (2, 0.5), "dense_output": True},
    "args as a list": {"fun": lambda t, y, a: [y[1], -a * y[0]], "args": [2.0], "events": event(0.1)},
    "vectorized": {"vectorized": True},
    "vectorized, by axis": {"fun": lambda t, y: np.stack([y[1, :], -y[0, :]]), "vectorized": True},
    "a constant slope": {"fun": lambda t, y: [1.0, 2], "t_eval": [3]},
    "tolerances by component": {"atol": [1e-9, 1e-6], "rtol": 1e-6},
    "relative tolerances by component": {"rtol": np.array([1e-6, 1e-4])},
    "steps": {"first_step": 0.05, "max_step": 0.2},
    "backwards": {"t_span": (3, 0), "t_eval": [2, 1]},
    "several events": {"t_span": (0, 20), "events": [event(0), event(0.3, direction=1)]},
    "a tuple of events": {"t_span": (0, 20), "events": (event(0),), "t_eval": [20]},
    "an end": {"t_span": (0, 20), "events": event(0, True, -1), "t_eval": np.linspace(0, 20, 9)},
    "the third is the end": {"t_span": (0, 30), "events": [event(0.5), event(0, 3)]},
    "the third is the last": {"t_span": (0, 9), "events": event(0, 3)},
    "the third from above": {"t_span": (0, 30), "events": event(0, np.int64(3), -1)},
    "whichever comes first": {"t_span": (0, 30), "events": [event(0.5, 4), event(-0.5, 2), event(0, False)]},
    "an end that is not reached": {"t_span": (0, 5), "events": event(0, 7)},
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("solver", [solve_ivp, optimize.solve_ivp], ids=lambda f: f.__module__)
def test_solve_ivp_takes_what_scipys_takes(solver: Any, name: str) -> None:
    case = {"fun": swing, "t_span": (0.0, 3.0), "y0": [1.0, 0.0], **FORMS[name]}
    found, expected = solver(**case), scipy.integrate.solve_ivp(**case)
    assert found.status == expected.status and found.success and found.y.shape == expected.y.shape
    np.testing.assert_allclose(found.t, expected.t, rtol=1e-7)
    np.testing.assert_allclose(found.y, expected.y, rtol=1e-6, atol=1e-9)
    if case.get("dense_output"):
        np.testing.assert_allclose(found.sol([0.3, 2.7]), expected.sol([0.3, 2.7]), rtol=1e-6)
    if "events" in case:
        for mine, its in zip(found.t_events, expected.t_events, strict=True):
            np.testing.assert_allclose(mine, its, rtol=1e-6)


IMPLICIT: dict[str, Case] = {
    "exact": {},
    "jac": {"jac": swing_slopes},
    "jac as a matrix": {"jac": np.array(swing_slopes(0, 0))},
    "jac with args": {
        "fun": lambda t, y, a: np.array([y[1], -a * y[0]]),
        "jac": lambda t, y, a: [[0, 1], [-a, 0]],
        "args": (1.5,),
    },
    "vectorized": {"vectorized": True},
    "tolerances by component": {"atol": [1e-8, 1e-7], "rtol": 1e-6},
    "a step that is not too short": {"jac": None, "min_step": 1e-9},
}


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA", scipy.integrate.Radau], ids=str)
@pytest.mark.parametrize("name", IMPLICIT)
def test_implicit_methods_take_a_jacobian_or_the_exact_one(name: str, method: Any) -> None:
    case = {"fun": swing, "t_span": (0, 3), "y0": [1, 0], "method": method, "t_eval": [1, 2, 3], **IMPLICIT[name]}
    if "min_step" in case and method != "LSODA":
        del case["min_step"]
    if name == "jac as a matrix" and method == "LSODA":  # which takes functions only
        case["jac"] = swing_slopes
    found, expected = optimize.solve_ivp(**case), scipy.integrate.solve_ivp(**case)
    assert found.success
    np.testing.assert_allclose(found.y, expected.y, atol=1e-4)


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853", scipy.integrate.RK45], ids=str)
def test_explicit_methods_take_functions_that_cannot_be_recorded(method: Any) -> None:
    case: Case = {
        "fun": lambda t, y: np.array([y[1], -y[0]]) if t < 1 else np.array([0.0, 0.0]),
        "t_span": (0, 3),
        "y0": [1, 0],
        "method": method,
        "max_step": 0.5,
    }
    np.testing.assert_array_equal(optimize.solve_ivp(**case).y, scipy.integrate.solve_ivp(**case).y)


def test_a_path_between_times_is_given_where_it_is_asked() -> None:
    for dense in (False, True):
        found = solve_ivp(swing, (0, 3), [1.0, 0.0], t_eval=[1.0, 2.0], dense_output=dense, rtol=1e-8)
        assert (found.sol is not None) is dense
        np.testing.assert_allclose(found.y[0], np.cos([1.0, 2.0]), atol=1e-5)
    np.testing.assert_allclose(found.sol([0.7, 2.5])[0], np.cos([0.7, 2.5]), atol=1e-5)


@pytest.mark.parametrize(("most", "terminal"), [(3, True), (1, 2)])
def test_as_many_events_as_are_asked_have_places_in_a_transform(most: int, terminal: Any) -> None:
    def times(x: Any) -> Any:
        options = {"events": event(0.1, terminal), "max_events": most, "t_eval": [20.0], "rtol": 1e-2}
        return solve_ivp(swing, (0, 20), [x, 0.0], **options).t_events[0]

    found = np.asarray(primad.jit(times)(1.0))
    assert found.shape == (most,)
    np.testing.assert_allclose(found[np.isfinite(found)], times(1.0))


def test_the_time_of_a_later_end_is_differentiable() -> None:
    def third(w: Any, most: int | None = None) -> Any:
        found = solve_ivp(
            lambda t, y: [y[1], -w * w * y[0]], (0, 30), [1.0, 0.0], t_eval=[0.1], events=event(0, 3),
            rtol=1e-8, atol=1e-10, max_events=most,
        )  # fmt: skip
        return found.t_events[0]

    np.testing.assert_allclose(primad.grad(lambda w: third(w)[2])(1.0), -2.5 * np.pi, rtol=1e-5)
    assert primad.jit(lambda w: third(w, 2))(1.0).shape == (2,)


@pytest.mark.parametrize("terminal", [False, 2])
@pytest.mark.parametrize("span", [(0.0, 3.0), (3.0, 0.0)])
def test_an_event_where_two_steps_meet_is_counted_once_and_found_there(span: Any, terminal: Any) -> None:
    """Steps of 1/4 end where the event is 0: at 1 and 2, where it falls and rises."""

    def twice(t: Any, y: Any) -> Any:
        return (t - 1) * (t - 2) + 0 * y[0]

    twice.terminal = terminal  # type: ignore[attr-defined]
    found = solve_ivp(lambda t, y: 0 * y, span, [1.0], first_step=0.25, max_step=0.25, events=twice)
    assert found.status == (1 if terminal else 0) and 1.0 in found.t
    np.testing.assert_allclose(np.sort(found.t_events[0]), [1.0, 2.0], atol=1e-12)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "jac": (lambda: solve_ivp(swing, (0, 1), [1, 0], "RODAS4", jac=swing_slopes), "leave jac out(?s:.*)exact Jacobian"),
    "jac_sparsity": (lambda: solve_ivp(swing, (0, 1), [1, 0], jac_sparsity=np.eye(2)), "leave jac_sparsity out"),
    "lband": (lambda: solve_ivp(swing, (0, 1), [1, 0], lband=1), "leave lband out"),
    "uband": (lambda: solve_ivp(swing, (0, 1), [1, 0], uband=1), "leave uband out"),
    "min_step": (lambda: solve_ivp(swing, (0, 1), [1, 0], min_step=1e-6), "leave min_step out"),
    "an option": (lambda: solve_ivp(swing, (0, 1), [1, 0], rtoll=1e-6), "no option 'rtoll'(?s:.*)did you mean rtol"),
    "another option": (lambda: solve_ivp(swing, (0, 1), [1, 0], solver=1), "the options are rtol, atol"),
    "Radau": (lambda: solve_ivp(swing, (0, 1), [1, 0], "Radau"), "RODAS4(?s:.*)primad.optimize.solve_ivp"),
    "BDF": (lambda: solve_ivp(swing, (0, 1), [1, 0], scipy.integrate.BDF), "RODAS4"),
    "LSODA": (lambda: solve_ivp(swing, (0, 1), [1, 0], "LSODA"), "DOP853"),
    "RK23": (lambda: solve_ivp(swing, (0, 1), [1, 0], "RK23"), "take 'RK45'"),
    "a class": (lambda: solve_ivp(swing, (0, 1), [1, 0], scipy.integrate.RK45), "pass the name: method='RK45'"),
    "a number as method": (lambda: solve_ivp(swing, (0, 1), [1, 0], 45), "choose from"),
    "args": (lambda: solve_ivp(swing, (0, 1), [1, 0], args=2.0), r"args is a tuple(?s:.*)args=\(value,\)"),
    "args of SciPy's": (lambda: optimize.solve_ivp(swing, (0, 1), [1, 0], args=2.0), r"args=\(value,\)"),
    "a method of SciPy's": (lambda: optimize.solve_ivp(swing, (0, 1), [1, 0], "RK54"), "did you mean RK45"),
    "atol": (lambda: solve_ivp(swing, (0, 1), [1, 0], atol=[1e-6] * 3), r"atol has the shape \(3,\)"),
    "atol of SciPy's": (lambda: optimize.solve_ivp(swing, (0, 1), [1, 0], atol=[1e-6] * 3), r"atol of shape \(3,\)"),
    "no tolerance": (lambda: solve_ivp(swing, (0, 1), [1, 0], rtol=[0, 1e-3], atol=0), "both 0"),
    "a negative tolerance": (lambda: solve_ivp(swing, (0, 1), [1, 0], atol=[1e-6, -1]), "atol must be zero or more"),
    "complex slopes": (lambda: solve_ivp(lambda t, y: [1j], (0, 1), [1]), "begin with complex numbers"),
    "complex times": (lambda: solve_ivp(swing, (0, 1j), [1, 0]), "dtype complex128 are not"),
    "a number": (lambda: solve_ivp(lambda t, y: -y, (0, 1), 1.0), r"write \[value\]"),
    "a negative count": (lambda: solve_ivp(swing, (0, 1), [1, 0], events=event(0, -1)), "a truth value or a count"),
    "half a count": (lambda: solve_ivp(swing, (0, 1), [1, 0], events=event(0, 2.5)), "terminal = True"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_what_to_write_instead(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(primad.PrimadError, match=message):
        call()


def test_a_time_span_of_no_length_is_its_start() -> None:
    assert solve_ivp(swing, (1, 1), [1, 0]).y[:, -1].tolist() == [1.0, 0.0]
    assert solve_ivp(swing, (1, 1), [1, 0], t_eval=[1]).y.tolist() == [[1.0], [0.0]]
    found = solve_ivp(swing, (1, 1), [1, 0], dense_output=True, events=event(0))
    assert found.sol(1.0).tolist() == [1.0, 0.0] and found.sol([1.0]).shape == (2, 1) and not len(found.t_events[0])
    assert primad.grad(lambda y: solve_ivp(swing, (1, 1), y, t_eval=[1]).y[0, 0])(np.ones(2)).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("solver", [solve_ivp, optimize.solve_ivp], ids=lambda f: f.__module__)
def test_no_times_have_no_values(solver: Any) -> None:
    assert solver(swing, (0, 1), [1, 0], t_eval=[]).y.shape == (2, 0)


def test_quad_takes_one_argument_without_a_tuple() -> None:
    for args in (2.0, (2,), (2.0,)):
        assert quad(lambda x, a: a * x, 0, 1, args)[0] == pytest.approx(1.0)
    assert quad(lambda x, a: a[0] + a[1] * x, 0, 1, [1.0, 2.0])[0] == pytest.approx(2.0)


SLOPES = {
    "a list": lambda y, k: [y[1], -k * y[0]],
    "a tuple": lambda y, k: (y[1], -k * y[0]),
    "an array of NumPy's": lambda y, k: np.array([y[1], -k * y[0]]),
    "an array of primad's": lambda y, k: primad.numpy.array([y[1], -k * y[0]]),
}
BEGINNINGS = {
    "integers": lambda k: [1, 0],
    "a tuple of both": lambda k: (1, 0.0),
    "an array of integers": lambda k: np.array([1, 0]),
    "traced ones in a list": lambda k: [k / k, 0],
    "traced ones in an array of NumPy's": lambda k: np.array([k / k, 0.0]),
}


@pytest.mark.one_in(4)
@thinned(2, method=["RK45", "RODAS4", "RK4"], form=list(SLOPES))
def test_slopes_starts_and_times_may_be_written_in_any_way(method: str, form: str) -> None:
    """Outside of transforms, under `grad` and under `jit`, times traced in lists too."""
    options: dict[str, Any] = {"steps": 200} if method == "RK4" else {"rtol": 1e-8, "atol": 1e-8}

    def last(k: Any, start: Any) -> Any:
        found = solve_ivp(
            lambda t, y, k: SLOPES[form](y, k),
            (0, k / 2),
            start(k),
            t_eval=[k / 4, k / 2],
            args=(k,),
            method=method,
            **options,
        )
        return found.y[0, -1]

    for start in BEGINNINGS.values():
        assert np.isclose(last(2.0, start), np.cos(np.sqrt(2.0)), atol=1e-6)
        assert np.isclose(primad.jit(lambda k, s=start: last(k, s))(2.0), np.cos(np.sqrt(2.0)), atol=1e-6)
    slope = -np.sin(np.sqrt(2.0)) * (np.sqrt(2.0) / 2 + 1 / (2 * np.sqrt(2.0)))
    assert np.isclose(primad.grad(lambda k: last(k, BEGINNINGS["integers"]))(2.0), slope, atol=1e-5)


def test_a_number_is_the_slope_of_one_unknown_and_an_array_is_taken_as_arguments() -> None:
    assert np.isclose(solve_ivp(lambda t, y: -y[0], (0, 1), [1], t_eval=[1]).y[0, 0], np.exp(-1), atol=1e-3)

    def last(p: Any) -> Any:
        return solve_ivp(lambda t, y, a, b: [b - a * y[0]], (0, 1), [1], t_eval=[1], args=p).y[0, 0]

    assert np.isclose(last(np.array([1.0, 2.0])), 2 - np.exp(-1), atol=1e-3)
    np.testing.assert_allclose(
        primad.grad(last)(np.array([1.0, 2.0])), [-2 + 3 * np.exp(-1), 1 - np.exp(-1)], atol=2e-2
    )


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "transform",
    [lambda f: f, primad.jit, primad.grad, primad.value_and_grad, lambda f: lambda x: primad.jvp(f, (x,), (1.0,))],
)
@pytest.mark.parametrize("what", ["values", "events"])
def test_too_few_steps_are_said_by_solve_ivp(transform: Any, what: str) -> None:
    """Also where everything that is read lies before the time that is reached."""

    def early(rate: Any) -> Any:
        options: dict[str, Any] = {"rtol": 1e-10, "max_steps": 5, "events": event(0.99) if what == "events" else None}
        found = solve_ivp(lambda t, y: [rate * y[1], -rate * y[0]], (0.0, 9.0), [1.0, 0.0], t_eval=[0.01], **options)
        return found.t_events[0][0] if what == "events" else found.y[0, 0]

    with pytest.raises(primad.StepsError, match=r"^solve_ivp: t = 9 is not reached in max_steps=5"):
        transform(early)(1.0)


@pytest.mark.parametrize("first", [0.0, float("nan")])
def test_a_first_step_is_positive_where_it_is_known_and_may_be_traced(first: float) -> None:
    with pytest.raises(primad.ShapeError, match="first_step must be positive"):
        solve_ivp(swing, (0, 1), [1.0, 0.0], first_step=first)

    def end(step: Any) -> Any:
        return solve_ivp(swing, (0, 1), [1.0, 0.0], first_step=step, t_eval=[1.0], rtol=1e-6).y[0, -1]

    np.testing.assert_allclose(primad.jit(end)(0.01), np.cos(1.0), atol=1e-4)


@pytest.mark.parametrize("before", [-1.0, 0.0, 2.0])
@pytest.mark.parametrize("after", [-2.0, 0.0, 1.0])
def test_an_event_is_a_change_of_sign(before: float, after: float) -> None:
    """And reaching 0, or leaving it, but not staying there: a value may be 0 on a stretch of the path."""
    rise = np.sign(after) - np.sign(before)
    for direction, happens in ((1.0, rise > 0), (-1.0, rise < 0), (0.0, rise != 0)):
        assert events.Event(lambda t, y: y[0], 1, direction).happens(before, after) == happens


@pytest.mark.one_in(2)
@pytest.mark.parametrize("options", [{}, {"method": "RODAS4"}, {"method": "RK4", "steps": 20}])
def test_traced_values_of_32_bits_are_integrated_as_plain_ones_are(options: dict[str, Any]) -> None:
    y0 = np.array([1.0, 0.5], np.float32)

    def total(y0: Any, end: Any) -> Any:
        found = solve_ivp(lambda t, y: np.stack([y[1], -t * y[0]]), (0.0, end), y0, t_eval=[0.5, 1.0], **options)
        return np.sum(found.y)

    wide = primad.value_and_grad(total)(y0.astype(np.float64), 1.0)
    value, slope = primad.jit(primad.value_and_grad(total))(y0, np.float32(1.0))
    assert value == pytest.approx(wide[0], rel=1e-12)
    assert slope.dtype == np.float32
    np.testing.assert_allclose(slope, wide[1], rtol=1e-6)


def test_a_state_in_a_tuple_has_its_slope_in_a_tuple() -> None:
    x, v = optimize.solve_ivp(lambda t, y: (y[1], -y[0]), (0, 2), (np.ones(2), np.zeros(2)), rtol=1e-8, atol=1e-8).y
    np.testing.assert_allclose(np.asarray(x)[..., -1].ravel(), np.cos(2.0), atol=1e-6)
    np.testing.assert_allclose(np.asarray(v)[..., -1].ravel(), -np.sin(2.0), atol=1e-6)


@pytest.mark.parametrize("t_eval", [None, [0.0], [0.0, 0.5, 1.0]])
def test_a_slope_that_is_not_a_number_fails_before_the_first_step(t_eval: Any) -> None:
    found = solve_ivp(lambda t, y: y * np.nan, (0.0, 1.0), [1.0], t_eval=t_eval)
    assert not found.success and "the slope is not finite" in found.message
    assert t_eval is None or np.all(np.isnan(found.y))


def test_a_number_of_steps_is_one_at_least() -> None:
    found = solve_ivp(lambda t, y: -y, (0.0, 0.1), [1.0], "RK4", steps=1)
    assert found.t.tolist() == [0.0, 0.1]
    for steps in (None, 0, -1):
        with pytest.raises(primad.ShapeError, match=f"the number of steps, got {steps}"):
            solve_ivp(lambda t, y: -y, (0.0, 0.1), [1.0], "RK4", steps=steps)


@pytest.mark.parametrize("args", [2.0, np.array(2.0), "ab", np.float64(1.0)])
def test_further_arguments_are_several(args: Any) -> None:
    with pytest.raises(primad.TracingError, match=f"args is a tuple, got {type(args).__name__}"):
        solve_ivp(lambda t, y, *given: -y, (0.0, 0.1), [1.0], args=args)


def test_a_number_is_no_slope_of_two_unknowns() -> None:
    with pytest.raises(primad.ShapeError, match=r"the shape \(\) for a value of shape \(2,\)"):
        solve_ivp(lambda t, y: np.sum(y), (0.0, 0.1), [1.0, 2.0])


def test_as_many_events_and_as_large_an_error_as_are_allowed_are_enough() -> None:
    assert single(1) and single(0) and converged(0.5, 0.5, 0.0, 1.0, 3)
    with pytest.raises(primad.PrimadError, match="happens 2 times"):
        single(2)
    with pytest.raises(primad.PrimadError, match=r"estimated as 0\.5"):
        converged(0.5, 0.25, 0.0, 1.0, 3)
