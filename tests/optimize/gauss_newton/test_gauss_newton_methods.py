"""Optimisers of the second order: known answers from bad starts, blocks of points, resumption, memory, bad input."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
)
from primad.optimize.gauss_newton import residual_models
from primad.optimize.gauss_newton.newton_cg import conjugate_gradients
from primad.optimize.nan_origin import first_not_finite
from primad.optimize.parameter_vectors import Space

TIMES = np.linspace(0.0, 4.0, 30)
HILBERT = 1.0 / (1 + np.add.outer(np.arange(8), np.arange(6)))


def rosenbrock(x: Any) -> Any:
    return {"valley": 10 * (x[1:] - x[:-1] ** 2), "end": 1 - x[:-1]}


def powell_singular(x: Any) -> Any:
    first, second = np.stack([x[0] + 10 * x[1], np.sqrt(5.0) * (x[2] - x[3])]), (x[1] - 2 * x[2]) ** 2
    return [first, second, np.sqrt(10.0) * (x[0] - x[3]) ** 2]


def beale(p: Any) -> Any:
    x, y = p["x"], p["y"]
    return np.stack([1.5 - x * (1 - y), 2.25 - x * (1 - y**2), 2.625 - x * (1 - y**3)])


def exponentials(p: Any) -> Any:
    def curve(size: Any, rate: Any) -> Any:
        return size[0] * np.exp(-rate[0] * TIMES) + size[1] * np.exp(-rate[1] * TIMES)

    return curve(*p) - curve(np.array([2.0, -1.0]), np.array([0.5, 3.0]))


def steep(x: Any) -> Any:
    """A quadratic of condition 1e10."""
    return np.logspace(0, 5, 6) * (x - np.arange(6.0))


def hilbert(x: Any) -> Any:
    return HILBERT @ (x - 1)


def deficient(x: Any) -> Any:
    """A Jacobian of rank 2 for four parameters, one of which nothing depends on."""
    return np.stack([x[0] + x[1] - 3, (x[0] + x[1]) * x[2] - 6, x[2] - 2.0])


PROBLEMS: dict[str, tuple[Callable[..., Any], Any, float]] = {
    "rosenbrock": (rosenbrock, np.array([-1.2, 1.0]), 1e-20),
    "rosenbrock, long": (rosenbrock, np.linspace(-1, 1, 10), 1e-20),
    "powell singular": (powell_singular, np.array([3.0, -1.0, 0.0, 1.0]), 1e-14),
    "beale": (beale, {"x": 1.0, "y": 1.0}, 1e-20),
    "exponentials": (exponentials, (np.array([1.5, -0.5]), np.array([0.3, 2.0])), 1e-14),
    "steep": (steep, np.full(6, -7.0), 1e-14),
    "hilbert": (hilbert, np.full(6, 30.0), 1e-12),
    "deficient": (deficient, np.array([10.0, -3.0, 0.0, 1.0]), 1e-20),
}
"""Residuals that all vanish somewhere, a start, and the value that every rule reaches."""


def losses(residuals: Callable[..., Any]) -> Callable[..., Any]:
    return lambda params, *data: 0.5 * sum(np.sum(r**2) for r in primad.recording.tree.leaves(residuals(params, *data)))


def search(rule: Any, params: Any, function: Any, steps: int, *data: Any, target: float = 0.0) -> Any:
    state = rule.init(params)
    while state.step < steps and not state.stalled and not state.value <= target:
        params, state = rule.update(params, state, function, *data)
    return params, state


LEAST_SQUARES = {
    "parameters": LevenbergMarquardt(space="parameters"),
    "residuals": LevenbergMarquardt(space="residuals"),
    "straight": LevenbergMarquardt(acceleration=0.0),
    "levenberg": LevenbergMarquardt(scaling=0.0),
    "marquardt": LevenbergMarquardt(scaling=1.0),
    "undamped": LevenbergMarquardt(damping=1e-14),
    "overdamped": LevenbergMarquardt(damping=1e6),
    "products": GaussNewtonCG(),
    "products, marquardt": GaussNewtonCG(scaling=1.0),
    "products, exact": GaussNewtonCG(forcing=1e-8),
}
SMOOTH = {
    "lbfgs": LBFGS(),
    "ssbroyden": SelfScaledBroyden(),
    "ssbfgs": SelfScaledBroyden("bfgs"),
    "bfgs": SelfScaledBroyden("unscaled"),
    "newton": NewtonCG(),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", PROBLEMS)
def test_residuals_that_vanish_somewhere_vanish(name: str) -> None:
    residuals, start, target = PROBLEMS[name]
    compiled = Residuals(residuals)
    for which, rule in LEAST_SQUARES.items():
        _, state = search(rule, start, compiled, 100, target=target)
        assert state.value <= target, which


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", PROBLEMS)
def test_sums_of_squares_as_losses(name: str) -> None:
    residuals, start, target = PROBLEMS[name]
    f, model = LBFGS().compile(losses(residuals)), residual_models.Loss(losses(residuals))
    for which, rule in SMOOTH.items():
        _, state = search(rule, start, model if which == "newton" else f, 400, target=target)
        assert state.value <= target, which


def test_levenberg_marquardt_ends_at_a_minimum_that_is_not_zero() -> None:
    """The answer of linear least squares, from far away; then it stalls there, and its damping is as it was."""
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(40, 5)), rng.normal(size=40)
    expected = np.linalg.lstsq(a, b)[0]
    for space in ("parameters", "residuals"):
        rule = LevenbergMarquardt(space=space)
        f = rule.compile(lambda p, a, b: a @ p - b)
        x, state = search(rule, np.full(5, 1e3), f, 50, a, b)
        np.testing.assert_allclose(x, expected, rtol=1e-7)
        assert state.stalled and state.step < 50
        again, stuck = rule.update(x, state, f, a, b)
        assert again is x and stuck.damping == state.damping and stuck.stalled


@pytest.mark.parametrize("form", ["broyden", "bfgs", "unscaled"])
def test_what_is_learnt_meets_the_secant_equation_and_stays_positive(form: Any) -> None:
    rule, rng = SelfScaledBroyden(form), np.random.default_rng(3)
    for _ in range(50):
        root = rng.normal(size=(5, 5))
        inverse, hessian = root @ root.T + 0.1 * np.eye(5), np.diag(rng.uniform(0.1, 10, 5))
        move = rng.normal(size=5) * 10.0 ** rng.integers(-3, 3)
        change = hessian @ move
        stiffness = move @ np.linalg.solve(inverse, move)
        learnt = rule._learnt(inverse.copy(), move, change, stiffness, False)
        np.testing.assert_allclose(learnt @ change, move, rtol=1e-8, atol=1e-10 * np.abs(move).max())
        assert np.min(np.linalg.eigvalsh(learnt)) > 0
        if form == "unscaled":
            away = np.eye(5) - np.outer(move, change) / (move @ change)
            textbook = away @ inverse @ away.T + np.outer(move, move) / (move @ change)
            np.testing.assert_allclose(learnt, textbook, rtol=1e-6, atol=1e-8 * np.abs(textbook).max())


def test_conjugate_gradients_solve_stop_and_see_negative_curvature() -> None:
    rng = np.random.default_rng(5)
    q = np.linalg.qr(rng.normal(size=(7, 7)))[0]
    matrix, g = q @ np.diag(np.logspace(0, 3, 7)) @ q.T, rng.normal(size=7)
    for diagonal in (np.ones(7), np.diagonal(matrix)):
        found = conjugate_gradients(lambda v: matrix @ v, g, diagonal, 1e-12, 50)
        np.testing.assert_allclose(matrix @ found.move, -g, rtol=1e-8, atol=1e-8)
        assert found.promised == pytest.approx(0.5 * g @ np.linalg.solve(matrix, g))
        loose = conjugate_gradients(lambda v: matrix @ v, g, diagonal, 0.5, 50)
        assert loose.products < found.products and 0 < loose.promised < found.promised
        assert conjugate_gradients(lambda v: matrix @ v, g, diagonal, 1e-12, 2).products == 2
    wild = q @ np.diag([1.0, 2, 3, 4, 5, 6, -7]) @ q.T
    found = conjugate_gradients(lambda v: wild @ v, g, np.ones(7), 1e-12, 50)
    assert found.products < 7 and g @ found.move < 0
    first = conjugate_gradients(lambda v: -v, g, np.full(7, 2.0), 1e-12, 50)
    np.testing.assert_array_equal(first.move, -g / 2)
    assert first.promised == pytest.approx(0.5 * g @ g + 0.125 * g @ g)


def test_newton_leaves_a_saddle_and_a_maximum() -> None:
    rule = NewtonCG()
    f = rule.compile(lambda x: np.sum(x**4 / 4 - x**2 / 2))
    x, state = search(rule, np.full(4, 1e-3), f, 50, target=-2.0)
    np.testing.assert_allclose(np.abs(x), 1.0, atol=1e-8)
    assert state.value == pytest.approx(-1.0)


def test_a_diagonal_that_is_estimated_preconditions_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 12 000 numbers in the Jacobian, whose columns differ in size by 1e6: conditions of 1e12 without it."""
    rng = np.random.default_rng(5)
    a = rng.normal(size=(300, 40)) * np.logspace(0, 6, 40)
    data = (a, a @ np.ones(40))
    products = []
    for small in (residual_models.SMALL, 0):
        monkeypatch.setattr(residual_models, "SMALL", small)
        rule = GaussNewtonCG(damping=1e-10)
        _, state = search(rule, np.zeros(40), rule.compile(lambda x, a, b: a @ x - b), 60, *data, target=1e-8)
        assert state.value <= 1e-8
        products.append(int(state.products))
    assert products[1] < 4 * products[0]


# -- blocks of points --------------------------------------------------------------------------------------------------


def network(width: int, seed: int = 0, dtype: Any = np.float64) -> Any:
    rng = np.random.default_rng(seed)
    found = {
        "w": rng.normal(size=(1, width)) * 2,
        "b": rng.normal(size=width),
        "W": rng.normal(size=(width, width)) / np.sqrt(width),
        "v": rng.normal(size=width) * 0.3,
    }
    return primad.recording.tree.map(lambda leaf: leaf.astype(dtype), found)


def solution(p: Any, x: Any) -> Any:
    hidden = np.tanh(np.tanh(x * p["w"][0] + p["b"]) @ p["W"])
    return hidden @ p["v"] * x * (1 - x)


def poisson(p: Any, x: Any) -> Any:
    """Residuals of u″ = −π² sin πx, with u(0) = u(1) = 0 by construction."""

    def one(p: Any, x: Any) -> Any:
        half = primad.taylor(lambda x: solution(p, x), x, 1.0, order=2)[2]
        return 2 * half + np.pi**2 * np.sin(np.pi * x)

    return primad.vmap(one, in_axes=(None, 0))(p, x) / 10


def test_a_network_solves_poissons_equation() -> None:
    x = (np.arange(60) + 0.5) / 60
    for rule in (LevenbergMarquardt(), LevenbergMarquardt(space="parameters")):
        params, state = search(rule, network(10), rule.compile(poisson), 120, x, target=1e-13)
        grid = np.linspace(0, 1, 101)
        found = primad.vmap(solution, in_axes=(None, 0))(params, grid)
        assert np.max(np.abs(found - np.sin(np.pi * grid))) < 1e-8, state


def terms(p: Any, x: Any, ends: Any, weight: Any) -> Any:
    """Residuals of all kinds: by point, several of a point, of other points, coupled, and aware of their number."""
    r = poisson(p, x)
    return {
        "equation": r,
        "pairs": np.stack([r, weight * x], axis=1),
        "ends": primad.vmap(solution, in_axes=(None, 0))(p, ends[:, 0]) - ends[:, 1],
        "integral": weight * np.mean(r),
        "differences": r[1:] - r[:-1],
        "mean": r / np.sqrt(x.shape[0]),
        "centred": r - np.mean(x),
        "place": r * np.arange(x.shape[0]),
    }


def test_blocks_are_cut_where_points_are_independent_and_nowhere_else() -> None:
    rng = np.random.default_rng(5)
    p, x, ends = network(4), np.linspace(0.1, 0.9, 23), rng.normal(size=(5, 2))
    data = (x, ends, 2.0)
    compiled = Residuals(terms, block=4)
    names = list(terms(p, *data))
    found = [([names[i] for i in part.which], part.cut, part.points, part.each) for part in compiled.parts(p, data)]
    assert found == [
        (["equation", "pairs"], (0,), 23, 3),
        (["ends"], (1,), 5, 1),
        (["integral", "differences", "mean", "centred", "place"], (), 1, 1 + 22 + 3 * 23),
    ]
    blocks = [*compiled.rows(p, *data)]
    assert [len(residuals) for residuals, _ in blocks] == [12, 12, 12, 12, 12, 9, 3, 2, 92]

    def joined(p: Any) -> Any:
        return np.concatenate([np.reshape(leaf, -1) for leaf in primad.recording.tree.leaves(terms(p, *data))])

    space = Space.of(p)
    plain = np.concatenate(
        [np.reshape(leaf, (joined(p).size, -1)) for leaf in primad.jacfwd(joined)(p).values()], axis=1
    )
    residuals, rows = np.concatenate([r for r, _ in blocks]), np.concatenate([rows for _, rows in blocks])
    np.testing.assert_allclose(rows.T @ rows, plain.T @ plain, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(residuals @ rows, joined(p) @ plain, rtol=1e-10, atol=1e-12)
    v = rng.normal(size=space.size)
    np.testing.assert_allclose(compiled.product(p, v, *data), plain.T @ (plain @ v), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(compiled.bend(p, v, *data), compiled.bends(p, v, *data) @ rows, rtol=1e-9, atol=1e-9)
    value, gradient = compiled.value_and_gradient(p, *data)
    assert value == compiled.value(p, *data) == pytest.approx(0.5 * residuals @ residuals)
    np.testing.assert_allclose(gradient, residuals @ rows, rtol=1e-10, atol=1e-12)
    estimates = [compiled.diagonal(p, np.random.default_rng(i), *data) for i in range(150)]
    np.testing.assert_allclose(np.mean(estimates, axis=0), np.sum(rows**2, axis=0), rtol=0.5)


def test_steps_in_both_spaces_are_the_same_step() -> None:
    rng = np.random.default_rng(5)
    p, data = network(4), (np.linspace(0.1, 0.9, 23), rng.normal(size=(5, 2)), 2.0)
    found = []
    for space, block in (("parameters", None), ("parameters", 4), ("residuals", 5)):
        rule = LevenbergMarquardt(space=space, block=block)
        new, _ = rule.update(p, rule.init(p), rule.compile(terms), *data)
        found.append(Space.of(p).vector(new))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-6)


@pytest.mark.exhaustive
def test_memory_does_not_grow_with_the_points() -> None:
    code = """
import resource
import numpy as np
from tests.optimize.gauss_newton.test_gauss_newton_methods import network, poisson
from primad.optimize import GaussNewtonCG, LevenbergMarquardt
p = network(16)
for rule in (GaussNewtonCG(iterations=3, memory=2**22), LevenbergMarquardt()):
    f, state = rule.compile(poisson), rule.init(p)
    for count in (4_000, 4_000, 40_000):
        rule.update(p, state, f, np.linspace(0, 1, count))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
    root = Path(__file__).parents[3]
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root).stdout
    _, before, after, _, before_dense, after_dense = map(int, found.split())
    assert after - before < 20, "MiB more; the hidden values of 36 000 points have 10 each"
    assert after_dense - before_dense < 50, "MiB more, and the Jacobian has 98"


# -- states ------------------------------------------------------------------------------------------------------------


RULES = [LevenbergMarquardt(), GaussNewtonCG(), NewtonCG(probes=2), SelfScaledBroyden(), LBFGS(3)]
FORMS = [LevenbergMarquardt(space="parameters"), SelfScaledBroyden("bfgs"), SelfScaledBroyden("unscaled")]


def of_residuals(rule: Any) -> bool:
    return isinstance(rule, (LevenbergMarquardt, GaussNewtonCG))


@pytest.mark.parametrize("rule", RULES + FORMS, ids=lambda r: type(r).__name__)
def test_a_resumed_search_continues_bit_for_bit(rule: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    params = {"a": np.array([-1.2]), "b": [np.float64(1.0), np.full(2, np.float32(0.5))]}

    def residuals(p: Any) -> Any:
        return rosenbrock(np.concatenate([p["a"], np.reshape(p["b"][0], (1,)), p["b"][1].astype(float)]))

    monkeypatch.setattr(residual_models, "SMALL", 0)
    monkeypatch.setattr(residual_models, "FEW", 0)
    f = rule.compile(residuals if of_residuals(rule) else losses(residuals))

    def advance(params: Any, state: Any, steps: int) -> Any:
        for _ in range(steps):
            params, state = rule.update(params, state, f)
        return params, state

    middle = advance(params, rule.init(params), 5)
    expected = advance(*middle, 6)
    nn.save(tmp_path / "middle", middle)
    found = advance(*nn.load(tmp_path / "middle", (params, rule.init(params))), 6)
    assert not expected[1].stalled
    for a, b in zip(primad.recording.tree.leaves(expected), primad.recording.tree.leaves(found), strict=True):
        assert type(a) is type(b) and np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.exhaustive
def test_single_precision() -> None:
    """Parameters and data in float32: trees keep their dtypes, and the fit is as good as these allow."""
    x, params = np.linspace(0.05, 0.95, 30, dtype=np.float32), network(8, dtype=np.float32)
    for rule in RULES:
        least = of_residuals(rule)
        found, state = search(rule, params, rule.compile(poisson if least else losses(poisson)), 60, x)
        assert {leaf.dtype for leaf in primad.recording.tree.leaves(found)} == {np.dtype(np.float32)}
        assert state.value < (1e-3 if least else 1e-1) * Residuals(poisson).value(params, x)


def test_data_may_change_before_any_step() -> None:
    rule, rng = LevenbergMarquardt(), np.random.default_rng(0)
    f, params = rule.compile(poisson), network(8)
    state = rule.init(params)
    for step in range(40):
        params, state = rule.update(params, state, f, rng.uniform(size=50 if step % 2 else 60))
    grid = np.linspace(0, 1, 51)
    found = primad.vmap(solution, in_axes=(None, 0))(params, grid)
    assert np.max(np.abs(found - np.sin(np.pi * grid))) < 1e-3
    other = rule.compile(lambda p, c: p - c)
    x, state = search(rule, np.ones(2), other, 20, np.zeros(2))
    x, state = rule.update(x, state, other, np.full(2, 10.0))
    assert not state.stalled and state.value < 1


@pytest.mark.one_in(3)
@pytest.mark.parametrize("rule", [*RULES, *FORMS, Descent(nn.Adam(0.3))], ids=lambda r: type(r).__name__)
def test_every_search_goes_on_where_the_function_changes(rule: Any) -> None:
    """Data that change at a minimum, to lower and to higher values: no rule stalls, and none believes an old value."""
    least, first = of_residuals(rule), isinstance(rule, Descent)

    def residuals(x: Any, c: Any) -> Any:
        return [np.sqrt(np.arange(1.0, 4)) * (x - c), np.sqrt(200 + 0 * x[0] + np.sum(c))]

    f = rule.compile(residuals if least else losses(residuals))
    x, state = np.ones(3), rule.init(np.ones(3))
    for centre in (0.0, 10.0, -3.0):
        for step in range(400 if first else 30):
            x, state = rule.update(x, state, f, np.full(3, centre))
            assert step or not state.stalled
        np.testing.assert_allclose(x, centre, atol=1e-3 if first else 1e-6)
        assert state.value == pytest.approx(100 + 1.5 * centre, rel=1e-6)


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES, ids=lambda r: type(r).__name__)
def test_bad_parameters_and_states_are_refused(rule: Any) -> None:
    f = rule.compile(steep if of_residuals(rule) else losses(steep))
    with pytest.raises(primad.ShapeError, match="float parameters"):
        rule.init(np.arange(3))
    with pytest.raises(primad.ShapeError, match="no numbers in it"):
        rule.init({"w": np.zeros((0, 3))})
    with pytest.raises(primad.ShapeError, match="a state for 2 parameters does not fit 6"):
        rule.update(np.ones(6), rule.init(np.ones(2)), f)
    with pytest.raises(NotFiniteError, match=r"the parameter \[3\] is nan"):
        rule.update(np.array([1, 1, 1, np.nan, 1, 1]), rule.init(np.ones(6)), f)


def test_nan_says_where_it_comes_from() -> None:
    rule, params = LevenbergMarquardt(), network(3)
    f, state = rule.compile(terms), rule.init(params)
    x, ends = np.linspace(0.1, 0.9, 5), np.zeros((2, 2))
    x[3] = np.nan
    with pytest.raises(NotFiniteError, match=r"data\[0\]\[3\] is nan"):
        rule.update(params, state, f, x, ends, 1.0)
    roots = rule.compile(lambda p, x: {"a": p * x, "root": np.sqrt(p - x)})
    with np.errstate(invalid="ignore"), pytest.raises(NotFiniteError, match=r"the residual \['root'\]\[2\] is nan"):
        rule.update(np.ones(1), rule.init(np.ones(1)), roots, np.array([0.0, 0.5, 2.0]))
    loss = LBFGS().compile(lambda x: np.log(x))
    with np.errstate(invalid="ignore"), pytest.raises(NotFiniteError, match="the value is nan"):
        LBFGS().update(np.float64(-1.0), LBFGS().init(np.float64(1.0)), loss)


@pytest.mark.parametrize("rule", [LevenbergMarquardt(), GaussNewtonCG()], ids=lambda r: type(r).__name__)
def test_residuals_may_be_of_any_kind(rule: Any) -> None:
    """Numbers, constants, what depends on data only, nothing at all, and single precision among them."""

    def mixed(p: Any, x: Any, weight: Any) -> Any:
        found = {"a": weight * (p * x - 1), "b": np.ones(3), "c": 0.5, "d": None, "e": x}
        return [found, (p - 0.5).astype(np.float32)]

    x = np.array([1.0, 2.0, 4.0])
    p, _ = search(rule, np.array([3.0]), rule.compile(mixed), 30, x, 2)
    np.testing.assert_allclose(p, np.sum(4 * x) / np.sum(4 * x**2) * (84 / 85) + 0.5 / 85, rtol=1e-6)


@pytest.mark.parametrize(
    ("residuals", "error", "message"),
    [
        (lambda p: (), primad.ShapeError, "no residuals(?s:.*)an empty tree"),
        (lambda p: p[:0], primad.ShapeError, r"no residuals(?s:.*)float64\[0\]"),
        (lambda p: np.arange(3), primad.ShapeError, "must be a float array"),
        (lambda p: np.ones(3), primad.NotDifferentiableError, "no residual depends"),
    ],
)
def test_bad_residuals_are_refused(residuals: Any, error: Any, message: str) -> None:
    rule, x = LevenbergMarquardt(), np.ones(2)
    with pytest.raises(error, match=message):
        rule.update(x, rule.init(x), rule.compile(residuals))


def test_bad_settings_are_refused() -> None:
    x = np.ones(2)
    with pytest.raises(primad.ShapeError, match=r"expected compiled residuals, got function(?s:.*)rule\.compile"):
        LevenbergMarquardt().update(x, LevenbergMarquardt().init(x), rosenbrock)  # type: ignore[arg-type]
    for wrong in ({"damping": 0.0}, {"scaling": 2.0}, {"space": "both"}):
        with pytest.raises(primad.ShapeError, match="LevenbergMarquardt"):
            LevenbergMarquardt(**wrong)  # type: ignore[arg-type]
    for wrong in ({"forcing": 1.0}, {"probes": 0}, {"damping": -1.0}):
        with pytest.raises(primad.ShapeError, match="NewtonCG"):
            NewtonCG(**wrong)  # type: ignore[arg-type]
    with pytest.raises(primad.ShapeError, match="expected a compiled function, got Loss"):
        GaussNewtonCG().update(x, GaussNewtonCG().init(x), residual_models.Loss(np.sum))  # type: ignore[arg-type]
    with pytest.raises(primad.ShapeError, match="at least one point"):
        Residuals(rosenbrock, block=0)
    budgets: list[tuple[Any, str]] = [
        (lambda: LBFGS(memory=0), "memory"),
        (lambda: LBFGS(evaluations=0), "evaluations"),
        (lambda: LBFGS(first_length=0.0), "first_length"),
        (lambda: SelfScaledBroyden(evaluations=-3), "evaluations"),
        (lambda: LevenbergMarquardt(tries=0), "tries"),
        (lambda: LevenbergMarquardt(block=0), "block"),
        (lambda: LevenbergMarquardt(acceleration=-1.0), "acceleration"),
        (lambda: GaussNewtonCG(iterations=0), "iterations"),
        (lambda: NewtonCG(tries=1.5), "tries"),  # type: ignore[arg-type]
    ]
    for made, name in budgets:
        with pytest.raises(primad.ShapeError, match=name):
            made()
    with pytest.raises(primad.ShapeError, match="no form"):
        SelfScaledBroyden("dfp")  # type: ignore[arg-type]
    huge = LevenbergMarquardt()
    f, wide = huge.compile(lambda p, x: p[0] * x), np.zeros(10**6)
    with pytest.raises(primad.MemoryLimitError, match="GaussNewtonCG"):
        huge.update(wide, huge.init(wide), f, np.ones(2 * 10**6))


def test_what_makes_no_number_of_what_was_none_is_not_where_it_comes_from():
    assert first_not_finite(lambda x, y: x * y, np.array(np.inf), np.array(0.0)) is None
    assert "log" in first_not_finite(lambda x: np.sin(np.log(x)) + 1.0, np.array(-1.0))
