"""What a run does at its edges: before its first step, in a process that does not lead, at limits of its settings."""

from __future__ import annotations

import copy
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from primad import nn, optimize, pde
from primad.errors import PrimadError, ProblemError
from primad.pde.problem.weighting import refined
from primad.pde.solve import confidence as confidences
from primad.pde.solve import run_checkpoints
from primad.pde.solve.confidence import confidence
from primad.pde.solve.misfit import Residual, _share, alike, imbalance, unseen
from primad.pde.solve.progress import Bar
from primad.pde.solve.run_checkpoints import Checkpoint, restored
from primad.pde.solve.shared_points import OneProcess
from primad.pde.solve.solving import default_optimizer

LINE = pde.Interval(0, 1)
X = np.linspace(0, 1, 40)


class Powers(pde.Network):
    """A polynomial of the coordinate."""

    def init(self, key, inputs, outputs):
        return {"powers": np.zeros((2, outputs))}

    def apply(self, params, x):
        return np.stack([x[0] ** i for i in range(2)]) @ params["powers"]


def line(*conditions: Any, equation: Any = lambda u, k: u.x - k, **more: Any) -> pde.Problem:
    """Return a problem of a straight line with a slope that is learned."""
    more.setdefault("coefficients", {"k": 0.5})
    given = conditions or [pde.Free("u"), pde.Data(x=X, u=1 + 2 * X)]
    return pde.Problem(equation, LINE, given, network=Powers(), **more)


def solved(problem: pde.Problem, **settings: Any) -> pde.Solution:
    return problem.solve(**{"points": 9, "steps": 2, "progress": False, **settings})


@pytest.mark.parametrize(
    ("size", "rule"),
    [(2500, "LevenbergMarquardt"), (2501, "SelfScaledBroyden"), (6000, "SelfScaledBroyden"), (6001, "GaussNewtonCG")],
)
def test_the_optimiser_fits_the_number_of_parameters(size: int, rule: str) -> None:
    assert type(default_optimizer(size)).__name__ == rule


def test_a_run_goes_on_to_its_limit() -> None:
    """The plateau of some steps is known one step later."""
    problem = line(pde.Free("u"), pde.Data(x=X, u=1 + 2 * X, noise=10.0))
    rule = optimize.Descent(nn.Adam(1e-9))
    assert solved(problem, optimizer=rule, seconds=1e9).reason == "steps"
    found = solved(problem, optimizer=rule, plateau=2, steps=5)
    assert (found.reason, len(found.history)) == ("plateau", 3)


def outweighed() -> pde.Problem:
    """Return a problem of which a run warns."""
    return line(equation=lambda u, k: 1e6 * (u.x - k * 3.0 - u.value))


def test_a_run_is_warned_of_weights_unless_it_is_broken_off() -> None:
    problem = outweighed()
    with pytest.warns(UserWarning, match="count .* times as much"):
        assert solved(problem).writes
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert solved(problem, callback=lambda _: True).reason == "callback"


def test_a_process_that_does_not_lead_says_and_writes_nothing(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(OneProcess, "leads", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = solved(outweighed(), progress=True, log=tmp_path / "log")
    found.save(tmp_path / "file")
    assert not found.writes and not [*tmp_path.iterdir()] and not capsys.readouterr().err


def test_nothing_is_kept_of_a_run_without_a_step(tmp_path: Path) -> None:
    problem = line(equation=lambda u, k: np.log(u.value - 1) + k)
    with pytest.raises(PrimadError, match=r"is .* at x = "), np.errstate(all="ignore"):
        solved(problem, checkpoint=tmp_path)
    assert not (tmp_path / run_checkpoints.STATE).exists()


def test_an_integral_that_is_not_finite_is_blamed() -> None:
    """Its value is one, and its points are many."""
    bad = pde.Integral(lambda u: np.log(u.value - 1), 1.0)
    with pytest.raises(PrimadError, match=r"'integral' is \[nan\] at x = .*log"), np.errstate(all="ignore"):
        solved(line(pde.Free("u"), bad, equation=lambda u: u.x, coefficients={}))


@pytest.mark.parametrize(("left", "refused"), [((), False), (("about",), True), (("about", "other"), True)])
def test_a_checkpoint_without_a_state_is_none_but_must_be_of_this_run(left, refused, tmp_path: Path) -> None:
    about = {"seed": 0}
    if left:
        (tmp_path / run_checkpoints.ABOUT).write_text(json.dumps({"seed": 1} if "other" in left else about))
    if "other" in left:
        with pytest.raises(ProblemError, match="its seed is 1, that of this run 0"):
            Checkpoint(tmp_path, about).load()
    else:
        assert Checkpoint(tmp_path, about).load() is None


def test_arrays_of_a_checkpoint_have_the_shapes_of_the_run() -> None:
    like = {"a": np.zeros(3)}
    assert restored({"p/a": np.ones(2)}, "p", like, sizes=False)["a"].shape == (2,)
    for given in ({"p/a": np.ones(2)}, {}):
        with pytest.raises(ProblemError, match="does not fit: p/a is"):
            restored(given, "p", like)


def test_a_bar_shows_terms_where_there_are_several() -> None:
    for names in (("equation",), ("equation", "data")):
        bar, history = Bar(pde.Settings(), 0), pde.History(names)
        history.add([0.5] * len(names), 0.5, 1.0, {"coefficients": {}})
        bar.show(history, 0.0)
        assert bool(bar._terms.plain) == (len(names) > 1)


# -- solutions ---------------------------------------------------------------------------------------------------------


def test_solutions_and_their_unknowns_are_copied(tmp_path: Path) -> None:
    solution = solved(line(equation=slope))
    for again in (copy.copy(solution), copy.deepcopy(solution)):
        assert again.u(0.5) == solution.u(0.5) == copy.copy(solution.u)(0.5) == copy.deepcopy(again.u)(0.5)
    for one in (solution, solution.u):
        assert not hasattr(one, "_ipython_display_") and not hasattr(one, "__array__")
    solution.save(tmp_path / "first")
    loaded = solution.problem.load(tmp_path / "first")
    assert loaded.settings is None
    loaded.save(tmp_path / "second")
    assert (tmp_path / "second").exists()


def slope(u, k):
    return u.x - k


SURE = {
    "data and a coefficient": (line, True),
    "no coefficient": (lambda: line(equation=lambda u: u.x - 1, coefficients={}), False),
    "no data": (lambda: line(pde.Dirichlet(u=0, on="x-"), pde.Free("u")), False),
}


@pytest.mark.parametrize("name", SURE)
def test_whether_there_is_a_confidence(name: str) -> None:
    make, sure = SURE[name]
    problem = make()
    assert pde.Solution(problem, problem.init(), None, problem.points(9), pde.History(())).is_sure == sure


def test_named_terms_have_their_names() -> None:
    left, right = pde.Interval(0, 0.5), pde.Interval(0.5, 1)
    for names in (("probe", "mass", "jump"), (None, None, None)):
        conditions = [
            pde.Data(x=X, u=X, name=names[0]),
            pde.Integral(lambda u: u.value, 1.0, name=names[1]),
            pde.Interface(lambda u, v: u.value - v.value, of=left, on="x+", name=names[2]),
        ]
        equations = {"left": pde.Within(left, lambda u: u.x), "right": pde.Within(right, lambda v: v.x)}
        problem = pde.Problem(equations, LINE, [*conditions, pde.Free("u v")], unknowns="u v")
        assert tuple(problem.terms)[2:] == (names if names[0] else ("data", "integral", "interface"))
    everywhere = pde.Interface(lambda u, v: u.value - v.value, of=left)
    problem = pde.Problem(equations, LINE, [everywhere, pde.Free("u v")], unknowns="u v")
    assert set(problem.points(8)["interface"]["at"][:, 0]) == {0.0, 0.5}
    assert list(pde.Problem([lambda u: u.x], LINE, pde.Free("u")).terms) == ["equation"]


def test_one_unknown_may_repeat_beside_another() -> None:
    networks = {"u": pde.MLP(4, 1), "v": pde.MLP(4, 1)}

    def periodic(**which: Any) -> list[bool]:
        conditions = [pde.Periodic("x", **which), *([pde.Dirichlet(v=0)] if which else [])]
        problem = pde.Problem(lambda u, v: (u.xx - u.value, v.xx - u.value), LINE, conditions, unknowns=networks)
        return [bool(group.inputs.periodic) for group in problem.groups]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert periodic(unknowns="u") == [True, False]
        assert periodic() == [True, True]


# -- what is told of a solution ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "told"), [(1, False), (2, False), (40, True)])
def test_neighbours_of_few_points_tell_nothing(count: int, told: bool) -> None:
    at = np.linspace(0, 1, count)[:, None]
    found = alike(Residual("data", 0, "data", "data", at, np.ones(count), np.ones(count)), np.array([[0.0, 1.0]]))
    assert (found > 0) == told


def test_shares_are_told_where_they_are_numbers() -> None:
    assert [_share(*pair) for pair in ((0.5, 1.0), (9.9, 1.0), (10.1, 1.0), (1.0, 0.0))] == [
        "50%", "990%", "many times", "many times"
    ]  # fmt: skip


def test_data_that_do_not_vary_are_not_outweighed() -> None:
    """There is no scale beside which equations would be large; nor are those that are off by noise alone."""
    for values, told in ((1 + 0 * X, False), (1 + 1e-3 * X, True), (1 + 2 * X + np.cos(39 * np.pi * X), False)):
        problem = line(pde.Free("u"), pde.Data(x=X, u=values), equation=lambda u, k: 1e6 * (u.x - k - 3 * u.value))
        params = problem.init()
        params["networks"]["u"]["powers"] = np.array([[1.0], [2.0]])
        assert bool(imbalance(problem, params, problem.points(9), problem.weights)) == told


def test_residuals_that_were_zero_from_the_start_have_no_size() -> None:
    """Of one that is a product with a coefficient, which begins as 0, nothing tells how large it may be."""
    problem = line(equation=lambda u, k: k * u.x, coefficients={"k": 0.0})
    points, params = problem.points(9), problem.init()
    new = {name: np.full(len(labels), 1e-30) for name, labels in problem.labels.items()}
    assert unseen(problem, params, points, points, {name: 0 * new[name] for name in new}, new) == ""


@pytest.mark.parametrize("values", [np.zeros(72), np.full(72, np.nan), np.where(np.arange(72) < 3, np.inf, 1.0)])
def test_refined_points_without_a_size_are_any(values: np.ndarray) -> None:
    problem = line()
    points = problem.points(18)
    some = refined(problem, problem.init(), points, 0.5, (1,), lambda params, rows: {"equation": values[:, None]})
    assert (
        some["equation"]["at"].shape == points["equation"]["at"].shape and LINE.contains(some["equation"]["at"]).all()
    )
    none = refined(problem, problem.init(), points, 0.01, (1,), lambda params, rows: 1 / 0)
    assert np.array_equal(none["equation"]["at"], points["equation"]["at"])


def test_the_hessian_is_made_of_just_so_many_parameters(monkeypatch) -> None:
    solution = solved(line(pde.Free("u"), pde.Data(x=X, u=1 + 2 * X + 0.1 * np.sin(40 * X))), steps=8)
    monkeypatch.setattr(confidences, "MOST", solution.size)
    assert confidence(solution).values
    monkeypatch.setattr(confidences, "MOST", solution.size - 1)
    with pytest.raises(ProblemError, match="is too large"):
        confidence(solution)


def test_hardly_more_data_than_parameters_is_a_doubt() -> None:
    for count, doubted in ((2, True), (5, False)):
        x = np.linspace(0, 1, count)
        found = confidence(solved(line(pde.Free("u"), pde.Data(x=x, u=1 + 2 * x + 0.1 * np.cos(9 * x))), steps=9))
        assert any("hardly more data" in one for one in found.doubts) == doubted
    apart = line(pde.Free("u"), pde.Data(x=x[:2], u=x[:2]), equation=lambda u, k: (u.x - k, u.x - k - 3))
    assert "hardly" not in (said := " ".join(confidence(solved(apart, steps=9)).doubts)) and "of its terms" in said


def test_data_where_all_is_known_tell_nothing_of_coefficients() -> None:
    held = [pde.Dirichlet(u=1, on="x-"), pde.Free("u"), pde.Data(x=[0.0] * 3, u=[1.0, 1.1, 0.9])]
    found = confidence(solved(line(*held)))
    assert not np.isfinite(found.deviations["k"])
