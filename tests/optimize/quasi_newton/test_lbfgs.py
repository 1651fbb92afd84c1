"""L-BFGS: convergence, the Wolfe conditions, and searches that are saved and resumed bit for bit."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

import primad
from primad import nn
from primad.optimize import LBFGS
from primad.optimize.quasi_newton import search_step
from primad.optimize.quasi_newton.line_search import CURVATURE, DECREASE, LinePoint, strong_wolfe


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


ROSENBROCK = primad.jit(primad.value_and_grad(rosenbrock))


def search(rule: LBFGS, params: Any, function: Any, steps: int, tolerance: float = 0.0) -> Any:
    state = rule.init(params)
    while state.step < steps and not state.stalled:
        params, state = rule.update(params, state, function)
        if np.max(np.abs(state.gradient)) <= tolerance:
            break
    return params, state


@pytest.mark.parametrize("n", [2, 10, 50])
def test_rosenbrock_in_as_many_evaluations_as_scipy(n: int) -> None:
    start = np.linspace(-1, 1, n)
    x, state = search(LBFGS(), start, ROSENBROCK, 1000, 1e-8)
    np.testing.assert_allclose(x, 1.0, atol=1e-8)
    options = {"maxcor": 10, "gtol": 1e-8, "ftol": 0}
    peer = optimize.minimize(ROSENBROCK, start, jac=True, method="L-BFGS-B", options=options)
    assert state.evaluations < 1.3 * peer.nfev


def test_a_quadratic_ends_and_then_stalls_at_its_minimum() -> None:
    a = np.diag([1.0, 10.0, 100.0, 1e4])
    f = primad.value_and_grad(lambda x: 0.5 * x @ a @ x - np.sum(x))
    x, state = search(LBFGS(), np.ones(4), f, 200)
    assert state.step < 60 and not np.any(state.gradient)
    np.testing.assert_allclose(x, 1 / np.diag(a), rtol=1e-8)
    again, stuck = LBFGS().update(x, state, f)
    assert stuck.stalled and again is x


def test_every_step_of_a_rough_function_goes_down() -> None:
    def rough(x: Any) -> Any:
        return np.sum(np.sqrt(1.0 + 25 * x**2) + np.cos(3 * x) + 0.01 * x**4)

    f = primad.jit(primad.value_and_grad(rough))
    rng = np.random.default_rng(0)
    for _ in range(20):
        rule, x = LBFGS(memory=4), rng.normal(size=6) * 4
        state = rule.init(x)
        last = np.inf
        while not state.stalled and state.step < 60:
            x, state = rule.update(x, state, f)
            assert state.value <= last
            assert state.value == f(x)[0]
            last = state.value
        assert np.max(np.abs(state.gradient)) < 1e-5


def test_functions_with_edges() -> None:
    """Outside of its domain a function is NaN or infinite: the search steps back."""
    f = primad.value_and_grad(lambda x: np.sum(x - np.log(x)))
    with np.errstate(invalid="ignore", divide="ignore"):
        x, _ = search(LBFGS(first_length=1e3), np.array([50.0, 0.01]), f, 100, 1e-9)
    np.testing.assert_allclose(x, 1.0, rtol=1e-8)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(st.floats(-2, 2), min_size=4, max_size=4), st.floats(0.01, 20.0), st.floats(0.1, 5.0), st.floats(1e-3, 50)
)
def test_the_line_search_meets_the_strong_wolfe_conditions(
    weights: list[float], sharp: float, bend: float, first: float
) -> None:
    """On smooth functions that are bounded below, an acceptable step exists (Nocedal & Wright 2006, lemma 3.1)."""

    def f(t: float) -> Any:
        waves = sum(w * np.sin((k + 1) * bend * t) / (k + 1) for k, w in enumerate(weights))
        slopes = sum(w * bend * np.cos((k + 1) * bend * t) for k, w in enumerate(weights))
        return waves + sharp * (t - 1) ** 2, slopes + 2 * sharp * (t - 1)

    start = LinePoint(0.0, *map(float, f(0.0)))
    if start.slope > -1e-3:
        return
    found = strong_wolfe(lambda t: LinePoint(t, *map(float, f(t))), start, first, 60)
    assert found is not None
    assert found.value <= start.value + DECREASE * found.length * start.slope + 1e-12
    assert abs(found.slope) <= -CURVATURE * start.slope


def network(params: Any, x: Any) -> Any:
    hidden = np.tanh(x[:, None] @ params["w"] + params["b"])
    return np.sum(hidden * params["v"], axis=1)


def fitting() -> Any:
    x = np.linspace(-1, 1, 40)
    rng = np.random.default_rng(1)
    params = {
        "w": nn.initializers.xavier_normal(rng, (1, 12)),
        "b": rng.normal(size=12),
        "v": nn.initializers.normal(rng, (12,), np.float32, deviation=0.3),
    }
    return params, primad.jit(primad.value_and_grad(lambda p: nn.mse_loss(network(p, x), np.sin(3 * x))))


def test_trees_keep_their_dtypes() -> None:
    params, f = fitting()
    new, state = search(LBFGS(), params, f, 50)
    assert new["v"].dtype == np.float32 and new["w"].dtype == np.float64
    assert state.value < 1e-2 * f(params)[0]


def test_a_state_without_a_value_looks_at_the_function_first():
    rule = LBFGS()
    x, state = rule.update(np.ones(2), rule.init(np.ones(2)), primad.value_and_grad(lambda x: np.sum(x**2)))
    other = primad.value_and_grad(lambda x: np.sum((x - 3.0) ** 2))
    for _ in range(20):
        x, state = rule.update(x, replace(state, value=np.float64(np.nan)), other)
    np.testing.assert_allclose(x, 3.0)


RULES = [LBFGS(memory=5), nn.Adam(0.01), nn.Momentum(0.05, nesterov=True), nn.AdamW(0.01)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_a_resumed_search_continues_bit_for_bit(rule: Any, tmp_path: Path) -> None:
    params, f = fitting()

    def advance(params: Any, state: Any, steps: int) -> Any:
        for _ in range(steps):
            if isinstance(rule, LBFGS):
                params, state = rule.update(params, state, f)
            else:
                params, state = rule.update(params, f(params)[1], state)
        return params, state

    middle = advance(params, rule.init(params), 9)
    expected = advance(*middle, 14)
    nn.save(tmp_path / "middle", middle)
    resumed = nn.load(tmp_path / "middle", (params, rule.init(params)))
    found = advance(*resumed, 14)
    for a, b in zip(primad.recording.tree.leaves(expected), primad.recording.tree.leaves(found), strict=True):
        assert type(a) is type(b) and np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_a_state_belongs_to_its_parameters() -> None:
    rule = LBFGS()
    with pytest.raises(primad.ShapeError, match="does not fit"):
        rule.update(np.ones(3), rule.init(np.ones(2)), ROSENBROCK)
    with pytest.raises(primad.ShapeError, match="float parameters"):
        rule.init(np.arange(3))
    assert replace(rule, memory=3).init(np.ones(2)).moves.shape == (3, 2)


# -- files -------------------------------------------------------------------------------------------------------------


def test_files_hold_what_was_saved(tmp_path: Path) -> None:
    tree = {"a": [np.arange(3), np.float32(0.5)], "b": (np.ones((2, 0)), True, 7, 0.1), "c": np.array(2.5)}
    nn.save(tmp_path / "t.safetensors", tree)
    found = nn.load(tmp_path / "t.safetensors", tree)
    for a, b in zip(primad.recording.tree.leaves(tree), primad.recording.tree.leaves(found), strict=True):
        assert type(a) is type(b) and np.array_equal(a, b) and np.asarray(a).dtype == np.asarray(b).dtype
    found["a"][0][0] = 5  # memory of one's own
    assert set(nn.load(tmp_path / "t.safetensors")) == {"a/0", "a/1", "b/0", "b/1", "b/2", "b/3", "c"}


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    file = tmp_path / "t"
    nn.save(file, {"a": np.ones(3)})
    with pytest.raises(primad.ShapeError, match=r"lacks \['b'\] and has \['a'\]"):
        nn.load(file, {"b": np.ones(3)})
    with pytest.raises(primad.ShapeError, match=r"is float64\[3\], expected float32\[3\]"):
        nn.load(file, {"a": np.ones(3, np.float32)})
    file.write_bytes(b"\x80\x04K\x01.")
    with pytest.raises(primad.ShapeError, match="not a file of arrays"):
        nn.load(file)
    with pytest.raises(primad.ShapeError, match="same name"):
        nn.save(file, {"a/b": 1.0, "a": {"b": 2.0}})


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "t"
    nn.save(file, {"a": np.ones(3)})

    def full(descriptor: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        nn.save(file, {"a": np.zeros(3)})
    assert nn.load(file)["a"].tolist() == [1, 1, 1]
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


# -- initialisers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["xavier_normal", "xavier_uniform", "kaiming_normal", "kaiming_uniform"])
def test_variances_of_initialisers(name: str) -> None:
    for shape in ((400, 300), (200, 50, 3, 3)):
        found = getattr(nn.initializers, name)(np.random.default_rng(0), shape, np.float32)
        ins, outs = nn.initializers.fans(shape)
        expected = 2 / (ins + outs) if name.startswith("xavier") else 2 / ins
        assert found.dtype == np.float32 and found.shape == shape
        np.testing.assert_allclose(found.var(), expected, rtol=0.02)
        if name.endswith("uniform"):
            assert np.abs(found).max() <= np.sqrt(3 * expected) * (1 + 1e-6)
    with pytest.raises(primad.ShapeError, match="two axes"):
        getattr(nn.initializers, name)(np.random.default_rng(0), (3,))


def test_orthogonal_and_truncated() -> None:
    rng = np.random.default_rng(0)
    for shape in ((5, 3), (3, 5), (4, 2, 3)):
        m = nn.initializers.orthogonal(rng, shape, gain=2.0).reshape(shape[0], -1)
        small = m @ m.T if m.shape[0] <= m.shape[1] else m.T @ m
        np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-14)
    draws = nn.initializers.truncated_normal(rng, (10000,), mean=1.0, deviation=0.5)
    assert np.abs(draws - 1).max() <= 1.0 and abs(draws.mean() - 1) < 0.02
    assert nn.initializers.constant(rng, (2,), np.float32, 3.0).tolist() == [3, 3]
    assert nn.initializers.uniform(rng, (1000,), low=2, high=3).min() >= 2


@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), shift=st.floats(-1e3, 1e3), scale=st.sampled_from([0.01, 1.0, 100.0]))
def test_a_function_that_changes_is_minimised_and_its_value_is_never_that_of_the_old_one(
    seed: int, shift: float, scale: float
) -> None:
    """The offset, the scale and the minimum change, so that old values are too low, too high, or of another slope."""
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, 5))
    a, b = rng.normal(size=(2, 5, 5))

    def quadratic(m: Any, centre: Any, scale: float, offset: float) -> Any:
        h = 2 * scale * (m.T @ m + np.eye(5))
        return lambda x: (0.5 * (x - centre) @ h @ (x - centre) + offset, h @ (x - centre))

    functions = [quadratic(a, first, 1.0, 0.0), quadratic(b, second, scale, shift)]
    rule, x = LBFGS(), np.zeros(5)
    state = rule.init(x)
    for step in range(60):
        f = functions[step >= seed % 20]
        x, state = rule.update(x, state, f)
        if state.stalled or step > seed % 20 + 1:
            value, gradient = f(x)
            np.testing.assert_allclose(state.value, value, rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(state.gradient, gradient, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(x, second, atol=1e-3)


def test_a_function_that_changes_at_a_minimum_does_not_stall() -> None:
    rule, x = LBFGS(), np.ones(2)
    old, new = (primad.value_and_grad(lambda x, c=c: np.sum((x - c) ** 2) + c) for c in (0.0, 10.0))
    x, state = search(rule, x, old, 20)
    x, state = rule.update(x, state, new)
    assert not state.stalled and state.value > 9.0
    x, state = search(rule, x, new, 20)
    np.testing.assert_allclose(x, 10.0, atol=1e-6)


def test_a_function_that_stays_costs_hardly_more(monkeypatch: pytest.MonkeyPatch) -> None:
    for n in (2, 4, 10):
        x, state = search(LBFGS(), np.full(n, -1.0), ROSENBROCK, 200)
        assert (state.stalled or not np.any(state.gradient)) and state.value == ROSENBROCK(x)[0]
        with monkeypatch.context() as patched:
            patched.setattr(search_step, "_doubtful", lambda *_: False)
            same, careless = search(LBFGS(), np.full(n, -1.0), ROSENBROCK, 200)
        assert np.array_equal(x, same)
        assert careless.evaluations <= state.evaluations <= careless.evaluations + 2 + state.step // 8


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            rosenbrock,
            r"LBFGS.update: value_and_grad returned float64\[\], not a pair(?s:.*)primad\.value_and_grad\(loss\)",
        ),
        (primad.grad(rosenbrock), r"LBFGS.update: value_and_grad returned float64\[2\], not a pair"),
        (
            primad.value_and_grad(lambda x: (rosenbrock(x), x), has_aux=True),
            "the value is tuple, not one number(?s:.*)has_aux",
        ),
        (lambda x: (x, x), r"the value is float64\[2\], not one number"),
        (lambda x: None, "value_and_grad returned NoneType, not a pair"),
    ],
)
def test_other_functions_than_value_and_grad_are_refused_and_told_what_to_pass(function: Any, message: str) -> None:
    rule, x = LBFGS(), np.zeros(2)
    with pytest.raises(primad.ShapeError, match=message):
        rule.update(x, rule.init(x), function)


def test_a_step_that_decreases_enough_and_is_higher_than_a_shorter_one_ends_the_search_outwards() -> None:
    """Beyond a minimum that was passed the function may fall for ever."""
    given, lengths = iter([(-1.0, -1.0), (-0.9, -0.95), (-1.2, 0.0)]), []

    def evaluate(length: float) -> LinePoint:
        lengths.append(length)
        return LinePoint(length, *next(given))

    found = strong_wolfe(evaluate, LinePoint(0.0, 0.0, -1.0), 1.0)
    assert found is not None and lengths[0] < lengths[2] == found.length < lengths[1]


@pytest.mark.parametrize(
    "edge", [(-2.0, math.inf), (-2.0, -math.inf), (-2.0, math.nan), (math.inf, -1.0), (math.nan, -1.0)]
)
def test_a_trial_without_a_finite_value_or_slope_is_too_far(edge: tuple[float, float]) -> None:
    """The search goes on nearer to the start, however low the value is there."""
    lengths = []

    def evaluate(length: float) -> LinePoint:
        lengths.append(length)
        return LinePoint(length, *(edge if length > 0.5 else (length * (length - 1), 2 * length - 1)))

    found = strong_wolfe(evaluate, LinePoint(0.0, 0.0, -1.0), 1.0)
    assert found is not None and 0 < found.length <= 0.5 and max(lengths) == lengths[0]


@pytest.mark.parametrize("seed", range(40))
def test_brackets_are_those_of_the_algorithms(seed: int) -> None:
    """Each trial lies in the bracket that algorithms 3.5 and 3.6 have made of those before, whatever is found there."""
    rng = np.random.default_rng(seed)
    start = LinePoint(0.0, 0.0, -1.0)
    bracket: list[Any] = [start, None]
    ended = False

    def evaluate(length: float) -> LinePoint:
        nonlocal ended
        low, high = bracket
        ends = (low.length, math.inf) if high is None else sorted((low.length, high.length))
        assert not ended and ends[0] < length < ends[1]
        trial = LinePoint(length, low.value + rng.normal() * length, 3 * rng.normal())
        if trial.value > DECREASE * length * start.slope or trial.value >= low.value:
            bracket[1] = trial
        elif abs(trial.slope) <= CURVATURE:
            ended = True
        else:
            width = 1.0 if high is None else high.length - low.length
            bracket[:] = trial, low if trial.slope * width >= 0 else high
        return trial

    strong_wolfe(evaluate, start, 1.0, 12)
