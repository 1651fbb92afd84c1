"""Initial value problems: SciPy's steps, and derivatives in initial values, parameters and times."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.integrate

import primad
from primad import numpy as pnp
from primad.integrate import quad, solve_ivp
from tests.sweeps import thinned

ALL: dict[str, dict[str, Any]] = {
    "RK45": {"rtol": 1e-9, "atol": 1e-10},
    "DOP853": {"rtol": 1e-10, "atol": 1e-11},
    "ROS23": {"rtol": 1e-6, "atol": 1e-9},
    "RODAS4": {"rtol": 1e-7, "atol": 1e-9},
    "RK4": {"steps": 200},
}


def predators(t: Any, y: Any, a: Any = 1.5) -> Any:
    return primad.numpy.stack([a * y[0] - y[0] * y[1], -3 * y[1] + y[0] * y[1] + 0.1 * np.sin(t)])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("method", ["RK45", "DOP853"])
@pytest.mark.parametrize("span", [(0.0, 4.0), (4.0, 1.0)])
def test_steps_and_values_are_scipys(method: str, span: tuple[float, float]) -> None:
    """All accepted steps, values at times, and the dense output; forward and backward in time."""
    times = np.linspace(*span, 5)
    for options in ({"rtol": 1e-3, "atol": 1e-6}, {"rtol": 1e-7, "atol": 1e-9, "max_step": 0.4, "first_step": 0.01}):
        found = solve_ivp(predators, span, [1.0, 0.5], method, dense_output=True, **options)
        wanted = scipy.integrate.solve_ivp(
            lambda t, y: np.asarray(predators(t, y)), span, [1.0, 0.5], method, dense_output=True, **options
        )
        assert found.success and found.message == wanted.message
        np.testing.assert_allclose(found.t, wanted.t, rtol=1e-6)
        np.testing.assert_allclose(found.y, wanted.y, rtol=1e-6)
        np.testing.assert_allclose(found.sol(times), wanted.sol(times), rtol=1e-6)
        np.testing.assert_allclose(found.sol(2.2), wanted.sol(2.2), rtol=1e-6)
        at = solve_ivp(predators, span, [1.0, 0.5], method, t_eval=times, **options)
        np.testing.assert_allclose(at.y, wanted.sol(times), rtol=1e-6)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("method", ALL)
def test_derivatives_in_values_parameters_and_times(method: str) -> None:
    """y = y₀ exp(−a t): both modes, two orders, stacks whose elements take other steps."""
    precise = 1e-3 if method == "ROS23" else 1e-6

    def final(q: Any) -> Any:
        stop = q[2]
        found = solve_ivp(lambda t, y: -q[1] * y, (0.0, stop), q[:1], method, primad.numpy.stack([stop]), **ALL[method])
        return found.y[0, 0]

    def exact(q: Any) -> Any:
        return q[0] * np.exp(-q[1] * q[2])

    q, v = np.array([1.3, 0.7, 1.2]), np.array([1.0, -0.5, 0.2])
    np.testing.assert_allclose(final(q), exact(q), rtol=precise)
    np.testing.assert_allclose(primad.grad(final)(q), primad.grad(exact)(q), rtol=precise)
    np.testing.assert_allclose(primad.jvp(final, (q,), (v,))[1], primad.jvp(exact, (q,), (v,))[1], rtol=10 * precise)
    if method == "RK45":
        np.testing.assert_allclose(primad.hvp(final, q, v), primad.hvp(exact, q, v), rtol=1e-4)
    if method in ("RK45", "RK4"):
        stack = np.stack([q, 3 * q])
        np.testing.assert_allclose(primad.vmap(final)(stack), [exact(x) for x in stack], rtol=1e-5)
        found = primad.jit(primad.vmap(primad.grad(final)))(stack)
        np.testing.assert_allclose(found, [primad.grad(exact)(x) for x in stack], rtol=1e-4)


def test_times_between_steps_and_arguments() -> None:
    times = np.array([0.5, 1.1, 2.0])

    def loss(a: Any, times: Any) -> Any:
        found = solve_ivp(predators, (0.0, 2.0), [1.0, 0.5], t_eval=times, args=(a,), rtol=1e-9, atol=1e-10)
        return np.sum(found.y * np.array([[1.0], [2.0]]))

    step = 1e-5
    slope = (loss(1.5 + step, times) - loss(1.5 - step, times)) / (2 * step)
    assert primad.grad(loss)(1.5, times) == pytest.approx(slope, rel=1e-5)
    y = solve_ivp(predators, (0.0, 2.0), [1.0, 0.5], t_eval=times, rtol=1e-9, atol=1e-10).y
    slopes = np.stack([predators(t, y[:, i]) for i, t in enumerate(times)])
    np.testing.assert_allclose(primad.grad(loss, 1)(1.5, times), slopes @ [1.0, 2.0], rtol=1e-5)


def test_a_stiff_system_takes_few_steps() -> None:
    def stiff(t: Any, y: Any, rate: Any = 1e6) -> Any:
        return -rate * (y - np.cos(t))

    found = solve_ivp(stiff, (0.0, 3.0), [0.0], "ROS23")
    assert found.success and len(found.t) < 100
    assert abs(found.y[0, -1] - np.cos(3.0)) < 1e-2

    def final(rate: Any) -> Any:
        return solve_ivp(stiff, (0.0, 0.01), [0.0], "ROS23", [0.01], args=(rate,), rtol=1e-6, atol=1e-9).y[0, 0]

    step = 0.01
    slope = (final(100.0 + step) - final(100.0 - step)) / (2 * step)
    assert primad.grad(final)(100.0) == pytest.approx(slope, rel=1e-3)


def test_what_cannot_be_reached_is_said() -> None:
    found = solve_ivp(lambda t, y: np.stack([0.0 * t, y[1] ** 2]), (0.0, 2.0), [1.0, 1.0], t_eval=[0.5, 1.5])
    assert not found.success and found.status == -1
    assert "t = 0.9999" in found.message and "component 1" in found.message
    assert found.y[1, 0] == pytest.approx(2.0, rel=1e-2) and np.isnan(found.y[1, 1])
    found = solve_ivp(lambda t, y: np.sqrt(0.5 - t) * y, (0.0, 1.0), [1.0])
    assert found.status == -1 and "t = 0.49999" in found.message
    with pytest.raises(primad.StepsError, match="max_steps=5"):
        solve_ivp(predators, (0.0, 5.0), [1.0, 0.5], max_steps=5)
    for call, message in (
        (lambda: primad.grad(lambda y: solve_ivp(predators, (0.0, 1.0), y).y[0, 1])(np.ones(2)), "t_eval"),
        (lambda: solve_ivp(predators, (0.0, 1.0), [1.0, 0.5], "RK54"), "RK45"),
        (lambda: solve_ivp(predators, (0.0, 1.0), [1.0, 0.5], "RK4"), "steps"),
        (lambda: solve_ivp(predators, (0.0, 1.0), 1.0), "one axis"),
        (lambda: solve_ivp(lambda t, y: y[:1], (0.0, 1.0), [1.0, 0.5]), "shape"),
    ):
        with pytest.raises(primad.PrimadError, match=message) as caught:
            call()
        assert f"in {__file__}:" in str(caught.value)


def test_the_end_is_reached_whatever_rounding_makes_of_steps() -> None:
    """A value at each end is no NaN, forward and backward, under every method."""
    spans = [*np.random.default_rng(0).normal(size=(40, 2)).tolist(), [0.1, 1 / 3], [1 / 3, 0.1], [0.1, 0.1 + 0.2]]
    options = {
        "RK45": {"max_step": 0.3},
        "DOP853": {"max_step": 0.3},
        "RK4": {"steps": 10},
        "ROS23": {"rtol": 1e-4},
        "RODAS4": {},
    }

    def ends(span: Any) -> Any:
        given = options.items()
        times = primad.numpy.stack([span[0], span[1]])
        return [solve_ivp(lambda t, y: -y, (span[0], span[1]), np.ones(1), m, t_eval=times, **o).y for m, o in given]

    jitted = primad.jit(ends)
    for span in np.array(spans):
        for found in jitted(span):
            np.testing.assert_allclose(found, [[1.0, np.exp(span[0] - span[1])]], rtol=1e-2)


def oscillate(t: Any, y: Any) -> Any:
    return np.stack([y[1], -y[0]])


def fall(t: Any, y: Any, gravity: Any = 9.81) -> Any:
    return np.stack([y[1], -gravity + 0.0 * y[0]])


def hits_the_ground(t: Any, y: Any, gravity: Any = 9.81) -> Any:
    return y[0]


hits_the_ground.terminal = True  # type: ignore[attr-defined]
hits_the_ground.direction = -1  # type: ignore[attr-defined]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("method", ["RK45", "DOP853", "ROS23", "RODAS4", "RK4"])
def test_events_are_those_of_sine_and_cosine(method: str) -> None:
    """All, only the rising ones, no more than asked for; none is no error."""

    def rising(t: Any, y: Any) -> Any:
        return y[0]

    rising.direction = 1  # type: ignore[attr-defined]
    options: dict[str, Any] = {"steps": 2000} if method == "RK4" else {"rtol": 1e-7, "atol": 1e-7}
    events = [lambda t, y: y[0], rising, lambda t, y: y[1] - 2.0]
    found = solve_ivp(oscillate, (0.0, 9.0), [1.0, 0.0], method, events=events, max_events=2, **options)
    np.testing.assert_allclose(found.t_events[0], [np.pi / 2, 3 * np.pi / 2], atol=1e-4)
    np.testing.assert_allclose(found.t_events[1], [3 * np.pi / 2], atol=1e-4)
    np.testing.assert_allclose(found.y_events[1], [[0.0, 1.0]], atol=1e-4)
    assert found.t_events[2].shape == (0,) and found.status == 0 and found.t[-1] == 9.0


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(8))
def test_a_path_ends_with_the_first_of_several_events_and_nothing_is_found_behind(seed: int) -> None:
    """Both ways in time, in long steps that have several events: sin t passes a level at two known times."""
    rng = np.random.default_rng(seed)
    start, stop = (0.0, np.pi) if seed % 2 else (np.pi, 0.0)
    levels, ends = rng.uniform(0.3, 0.9, 4), rng.integers(0, 2, 4) > 0

    def event(level: float, terminal: bool) -> Any:
        def passes(t: Any, y: Any) -> Any:
            return y[0] - level

        passes.terminal = terminal  # type: ignore[attr-defined]
        return passes

    crossings = [np.sort([np.arcsin(level), np.pi - np.arcsin(level)])[:: 1 if seed % 2 else -1] for level in levels]
    way = np.sign(stop - start)
    firsts = [way * times[0] for times, terminal in zip(crossings, ends, strict=True) if terminal]
    last = min(firsts, default=np.inf)
    events = [event(level, terminal) for level, terminal in zip(levels, ends, strict=True)]
    y0 = [np.sin(start), np.cos(start)]
    options: dict[str, Any] = {"events": events, "max_events": 2, "rtol": 1e-9, "atol": 1e-11}
    found = solve_ivp(oscillate, (start, stop), y0, "DOP853", **options)
    for times, known in zip(found.t_events, crossings, strict=True):
        np.testing.assert_allclose(times, [t for t in known if way * t <= last + 1e-12], atol=1e-6)
    assert found.status == int(last < np.inf)
    assert found.t[-1] == pytest.approx(way * last if firsts else stop, abs=1e-6)


def test_an_event_where_two_steps_meet_is_one() -> None:
    """With steps that meet exactly there, and at the start, where it counts as well."""

    def at_one(t: Any, y: Any) -> Any:
        return t - 1.0

    for first in (0.0, 1.0):
        found = solve_ivp(oscillate, (first, 2.0), [0.0, 1.0], "RK4", steps=4, events=at_one, max_events=3)
        np.testing.assert_array_equal(found.t_events[0], [1.0])


def test_the_time_of_an_event_moves_as_the_implicit_function_does() -> None:
    """A fall from the ground upwards takes 2 v / g; to order 3, in both modes; the path ends with it, as SciPy's."""

    def time(v: Any, g: Any) -> Any:
        start = np.stack([0.0 * v, v])
        found = solve_ivp(fall, (0.0, 10.0), start, events=hits_the_ground, args=(g,), rtol=1e-8, t_eval=[0.1])
        return found.t_events[0][0]

    v, g = 7.0, 9.81
    assert time(v, g) == pytest.approx(2 * v / g, rel=1e-12)
    np.testing.assert_allclose(primad.jit(primad.grad(time, (0, 1)))(v, g), (2 / g, -2 * v / g**2), rtol=1e-9)
    second = primad.grad(primad.grad(time, 1), 1)
    assert second(v, g) == pytest.approx(4 * v / g**3, rel=1e-9)
    assert primad.jvp(second, (v, g), (0.0, 1.0))[1] == pytest.approx(-12 * v / g**4, rel=1e-8)
    found = solve_ivp(fall, (0.0, 10.0), [0.0, v], events=hits_the_ground, t_eval=[0.5, 1.0, 5.0])
    same = scipy.integrate.solve_ivp(fall, (0.0, 10.0), [0.0, v], events=hits_the_ground, t_eval=[0.5, 1.0, 5.0])
    assert found.status == same.status == 1 and found.success and found.message == same.message
    np.testing.assert_allclose(found.y, same.y, rtol=1e-9)
    found = solve_ivp(fall, (0.0, 10.0), [0.0, v], events=hits_the_ground)
    assert found.t[-1] == found.t_events[0][0]
    np.testing.assert_allclose(found.y[:, -1], [0.0, -v], atol=1e-9)


@pytest.mark.exhaustive
def test_a_value_that_is_not_reached_is_an_error_in_every_mode() -> None:
    """It is NaN, and its derivative would be 0; the time and the component are named."""

    def blows_up(y: Any) -> Any:
        return np.sum(solve_ivp(lambda t, y: y * y * np.array([0.0, 1.0]), (0.0, 2.0), y, t_eval=[0.5, 1.5]).y)

    def undefined(y: Any) -> Any:
        return np.sum(solve_ivp(lambda t, y: np.sqrt(y - 2.0), (0.0, 1.0), y, t_eval=[1.0]).y)

    def after_its_end(y: Any) -> Any:
        return np.sum(solve_ivp(fall, (0.0, 9.0), y, events=hits_the_ground, t_eval=[8.0]).y)

    for f, y, message in (
        (blows_up, np.ones(2), "t = 1.5 is not reached.*at t = 0.999.*component 1"),
        (undefined, np.array([3.0, 1.0]), "at t = 0: component 1 of the slope is not finite"),
        (after_its_end, np.array([0.0, 7.0]), "an event ends the path at t = 1.427"),
    ):
        ways: tuple[Any, ...] = (
            primad.jit(f),
            primad.grad(f),
            primad.jit(primad.grad(f)),
            lambda y, f=f: primad.jvp(f, (y,), (y,)),
            lambda y, f=f: primad.hvp(f, y, y),
            lambda y, f=f: primad.vmap(primad.grad(f))(np.stack([y, y])),
        )
        for way in ways:
            with pytest.raises(primad.StepsError, match=message):
                way(y)
    with np.errstate(invalid="ignore"):
        found = solve_ivp(lambda t, y: np.sqrt(y - 2.0 + 0.0 * t), (0.0, 1.0), [3.0, 1.0])
    assert found.status == -1 and "at t = 0: component 1 of the slope is not finite" in found.message


def test_rodas_has_order_four() -> None:
    """On a stiff system it takes fewer steps than the method of order 2, and its derivative is that of the solution."""

    def slope(t: Any, y: Any) -> Any:
        return np.stack([y[1], -np.sin(y[0]) + 0.2 * np.cos(t)])

    times = [2.0]
    exact = scipy.integrate.solve_ivp(slope, (0, 2), [1, 0], "DOP853", times, rtol=1e-13, atol=1e-14).y
    errors = []
    for n in (20, 40):
        options = {"rtol": 1e3, "atol": 1e3, "max_step": 2 / n, "first_step": 2 / n}
        found = solve_ivp(slope, (0.0, 2.0), [1.0, 0.0], "RODAS4", times, **options)
        errors.append(np.max(np.abs(found.y - exact)))
    assert 3.7 < np.log2(errors[0] / errors[1]) < 4.5

    def stiff(t: Any, y: Any) -> Any:
        return np.stack([y[1], 50.0 * (1 - y[0] ** 2) * y[1] - y[0]])

    steps = [len(solve_ivp(stiff, (0.0, 3.0), [2.0, 0.0], m, rtol=1e-6, atol=1e-8).t) for m in ("RODAS4", "ROS23")]
    assert 2 * steps[0] < steps[1]
    rate = primad.grad(lambda p: solve_ivp(lambda t, y: -p * y, (0.0, 1.0), [1.0], "RODAS4", [1.0], rtol=1e-9).y[0, 0])
    assert rate(1.0) == pytest.approx(-np.exp(-1.0), rel=1e-5)


INTEGRALS: list[tuple[Any, float, float]] = [
    (np.exp, 0.0, 1.0),
    (np.sqrt, 0.0, 1.0),
    (lambda x: np.exp(-x * x), -np.inf, np.inf),
    (lambda x: np.exp(-x * x), np.inf, -np.inf),
    (lambda x: 1 / (1 + x * x), 0.0, np.inf),
    (lambda x: 1 / (1 + x * x), -np.inf, 1.0),
    (lambda x: np.exp(-x), np.inf, 0.0),
    (lambda x: np.sin(50 * x), 0.0, 3.0),
    (np.cos, 2.0, -1.0),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("case", range(len(INTEGRALS)))
def test_integrals_are_scipys(case: int) -> None:
    f, a, b = INTEGRALS[case]
    expected = scipy.integrate.quad(f, a, b)[0]
    for way in (quad, primad.jit(lambda: quad(f, a, b))):
        value, error = way(f, a, b) if way is quad else way()
        assert abs(value - expected) <= max(error, 1e-14)
        assert type(value) is type(error) is np.float64


def test_integrals_are_differentiable_in_limits_and_parameters() -> None:
    """Leibniz's rule, and Gauss's bell, whose integral is its width times √π; to order 2, on stacks."""

    def f(a: Any, b: Any, p: Any) -> Any:
        return quad(lambda x: np.sin(p * x) * x, a, b)[0]

    a, b, p = 0.3, 2.0, 1.5
    slopes = primad.grad(f, (0, 1, 2))(a, b, p)
    inside = quad(lambda x: x * x * np.cos(p * x), a, b)[0]
    np.testing.assert_allclose(slopes, (-np.sin(p * a) * a, np.sin(p * b) * b, inside), rtol=1e-7)
    mixed = primad.grad(primad.grad(f, 1), 2)(a, b, p)
    assert mixed == pytest.approx(b * b * np.cos(p * b), rel=1e-6)
    assert primad.jvp(f, (a, b, p), (0.0, 1.0, 0.0))[1] == pytest.approx(slopes[1], rel=1e-9)
    stack = primad.vmap(primad.grad(f, 1), (None, 0, None))(a, np.array([1.0, b]), p)
    np.testing.assert_allclose(stack, [np.sin(p), slopes[1]], rtol=1e-6)

    def bell(width: Any) -> Any:
        return quad(lambda x: np.exp(-((x / width) ** 2)), -np.inf, np.inf)[0]

    assert primad.jit(primad.grad(bell))(0.7) == pytest.approx(np.sqrt(np.pi), rel=1e-9)


def test_integrals_that_do_not_converge_are_errors() -> None:
    """Also where a derivative is asked for that does not need the value."""
    for f, message in (
        (lambda p: quad(lambda x: p / x, 0.0, 1.0)[0], "after 50 intervals.*\n.*between 0 and"),
        (lambda p: quad(lambda x: p * np.log(x - 0.5), 0.0, 1.0)[0], "not finite between 0 and 1"),
    ):
        for way in (f, primad.jit(f), primad.grad(f), primad.jit(primad.grad(f))):
            with pytest.raises(primad.StepsError, match=message):
                way(2.0)
    with pytest.raises(primad.ShapeError, match="one number"):
        quad(lambda x: np.stack([x, x]), 0.0, 1.0)
    with pytest.raises(primad.ShapeError, match="limit"):
        quad(np.sin, 0.0, 1.0, limit=0)


# -- in SciPy's words ------------------------------------------------------------------------------------------------


@pytest.mark.one_in(2)
@thinned(3, kind=[list, tuple, np.stack], method=["RK45", "DOP853", "ROS23", "RODAS4", "RK4"])
def test_slopes_and_values_are_lists_and_tuples_as_well(method: str, kind: Any) -> None:
    options: dict[str, Any] = {"steps": 200} if method == "RK4" else {"rtol": 1e-8, "atol": 1e-8}

    def last(rate: Any) -> Any:
        def slope(t: Any, y: Any) -> Any:
            return kind([rate * y[1], -rate * y[0]])

        return solve_ivp(slope, [0.0, 1.0], kind([1.0, 0.0 * rate]), method, t_eval=[1.0], **options).y[0, 0]

    assert last(1.0) == pytest.approx(np.cos(1.0), abs=1e-5)
    assert primad.grad(last)(1.0) == pytest.approx(-np.sin(1.0), abs=1e-5)


@pytest.mark.parametrize("times", [1, 3, 10])
def test_all_events_are_found_as_scipy_finds_them(times: int) -> None:
    import scipy.integrate

    def passes(t: Any, y: Any) -> Any:
        return y[0]

    span = (0.0, times * np.pi - 0.1)
    ours = solve_ivp(oscillate, span, [1.0, 0.0], events=passes, t_eval=[span[1]], rtol=1e-8)
    theirs = scipy.integrate.solve_ivp(lambda t, y: [y[1], -y[0]], span, [1.0, 0.0], events=passes, rtol=1e-8)
    np.testing.assert_allclose(ours.t_events[0], theirs.t_events[0], atol=1e-5)
    assert len(ours.t_events[0]) == times


def test_an_event_that_happens_again_is_not_lost_in_a_transform() -> None:
    def first(rate: Any, **options: Any) -> Any:
        found = solve_ivp(
            lambda t, y: [rate * y[1], -rate * y[0]], (0.0, 9.0), [1.0, 0.0], events=lambda t, y: y[0], t_eval=[9.0],
            rtol=1e-8, **options,
        )  # fmt: skip
        return found.t_events[0][0]

    with pytest.raises(primad.StepsError, match=r"happens 3 times(?s:.)*max_events=3"):
        primad.grad(first)(1.0)
    for most in (1, 3, 4):
        assert primad.grad(lambda rate, most=most: first(rate, max_events=most))(1.0) == pytest.approx(-np.pi / 2, 1e-5)


@pytest.mark.one_in(2)
@thinned(2, method=["RK45", "ROS23"], backwards=[False, True])
def test_a_path_that_is_not_kept_has_the_same_values(
    method: str, backwards: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In pieces of few steps, from times at ends of steps and between, out of order, twice, at both ends."""
    monkeypatch.setattr("primad.integrate.adaptive.FEWEST_STEPS", 3)
    monkeypatch.setattr("primad.integrate.adaptive.NUMBERS", 1)
    span = (5.0, 0.0) if backwards else (0.0, 5.0)
    steps = solve_ivp(oscillate, span, [1.0, 0.5], method, rtol=1e-6)
    times = np.concatenate([steps.t[::-1], np.random.default_rng(0).uniform(0.0, 5.0, 30), [0.0, 5.0, 5.0]])
    kept = solve_ivp(oscillate, span, [1.0, 0.5], method, t_eval=times, dense_output=True, rtol=1e-6)
    pieces = solve_ivp(oscillate, span, [1.0, 0.5], method, t_eval=times, rtol=1e-6)
    assert len(steps.t) > 9
    np.testing.assert_allclose(pieces.y, kept.y, rtol=1e-13, atol=1e-13)
    assert (pieces.nfev, pieces.status, pieces.message) == (kept.nfev, kept.status, kept.message)
    with pytest.raises(primad.StepsError):
        solve_ivp(oscillate, span, [1.0, 0.5], method, t_eval=times, rtol=1e-6, max_steps=len(steps.t) - 4)


@pytest.mark.exhaustive
def test_memory_of_a_path_that_is_not_kept_does_not_grow_with_time() -> None:
    peaks = []
    for stop in (0.5, 5.0):  # of hundreds and of thousands of steps, in pieces of 131
        tracemalloc.start()
        solve_ivp(lambda t, y: -y * np.arange(1.0, 2001.0), (0.0, stop), np.ones(2000), t_eval=[stop], max_steps=10**6)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0], peaks


@pytest.mark.parametrize(
    ("said", "options"),
    {
        "t_eval lies outside": {"t_eval": [0.5, 1.5]},
        "-0.1 in t_eval": {"t_eval": [-0.1]},
        "nan in t_eval": {"t_eval": [np.nan]},
        "t_eval must have one axis": {"t_eval": 1.0},
        "rtol must be zero or more": {"rtol": -1.0},
        "atol must be": {"atol": np.nan},
        "both 0": {"rtol": 0.0, "atol": 0.0},
        "max_step must be positive": {"max_step": 0.0},
        "first_step must be positive": {"first_step": -1.0},
        "t_span must be finite": {"t_span": (0.0, np.inf)},
        "t_span must be two times": {"t_span": (0.0, 1.0, 2.0)},
        "y0 is empty": {"y0": []},
    }.items(),
)
def test_what_no_integration_can_meet_is_refused(said: str, options: dict[str, Any]) -> None:
    given: dict[str, Any] = {"t_span": (0.0, 1.0), "y0": [1.0, 0.0], **options}
    with pytest.raises(primad.ShapeError, match=said):
        solve_ivp(oscillate, **given)


@pytest.mark.parametrize("time", [-0.5, 1.5])
def test_a_time_outside_is_refused_in_transforms_too(time: float) -> None:
    with pytest.raises(primad.StepsError, match="outside of t_span"):
        primad.grad(lambda t: solve_ivp(oscillate, (0.0, 1.0), [1.0, 0.0], t_eval=pnp.array([t])).y[0, 0])(time)


@pytest.mark.parametrize("method", ["RK45", "DOP853", "RODAS4", "RK4"])
def test_values_between_steps_know_the_time(method: str) -> None:
    """Of a slope that depends on it alone, with few long steps."""
    at = np.linspace(0.0, 2.0, 9)
    found = solve_ivp(lambda t, y: [3 * t**2 - t], (0, 2), [1.0], method=method, t_eval=at, steps=4, rtol=1e-6)
    np.testing.assert_allclose(found.y[0], 1 + at**3 - at**2 / 2, atol=2e-4)
