"""Points of one's own for equations: they are those of the search, stay when others are drawn anew, and resume."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from primad import pde
from primad.errors import ProblemError, ShapeError

LINE, NETWORK = pde.Interval(0, 1), pde.MLP(6, 1)
OWN = np.concatenate([np.linspace(0, 1, 12), np.linspace(0.4, 0.6, 12)])


def poisson(u, x):
    return u.xx + np.pi**2 * np.sin(np.pi * x)


def problem(equation=poisson) -> pde.Problem:
    return pde.Problem(equation, LINE, pde.Dirichlet(u=0), network=NETWORK)


def test_points_that_are_given_are_those_of_the_search() -> None:
    found = problem().solve(points=OWN, steps=60, progress=True, resample=20)
    assert_array_equal(found.points["equation"]["at"], OWN[:, None])
    assert found.error(u=lambda x: np.sin(np.pi * x)) < 1e-4
    assert_array_equal(problem().points(OWN[:, None].tolist())["equation"]["at"], OWN[:, None])


def test_points_are_given_by_the_names_of_equations() -> None:
    both = {"left": pde.Within(pde.Interval(0, 0.5), poisson), "all": poisson}
    drawn = problem(both).points({"left": OWN})
    assert_array_equal(drawn["left"]["at"], OWN[OWN <= 0.5][:, None])
    assert len(drawn["all"]["at"]) == len(OWN), "as many as are given of the other"
    drawn = problem(both).points({"left": OWN[:5], "all": 130})
    assert len(drawn["left"]["at"]) == 5 and len(drawn["all"]["at"]) == 130
    with pytest.raises(ProblemError, match="none of the 1 point given lies where 'left' holds"):
        problem(both).points({"left": [0.7]})


def test_the_summary_counts_the_points_that_are_given(capsys) -> None:
    problem({"some": poisson, "more": poisson}).solve(points={"some": OWN[:7], "more": 19}, steps=1, progress=True)
    shown = capsys.readouterr()
    lines = [line.split()[:2] for line in (shown.out + shown.err).splitlines()]
    assert ["some", "7"] in lines and ["more", "19"] in lines


def test_points_that_are_drawn_anew_where_residuals_are_large_take_the_place_of_some() -> None:
    found = problem().solve(points=OWN, steps=12, resample=5, refine=0.5, progress=False)
    kept = np.isin(found.points["equation"]["at"][:, 0], OWN)
    assert kept.sum() == 12


def test_a_run_goes_on_with_the_same_points_only(tmp_path) -> None:
    settings = {"progress": False, "checkpoint": tmp_path}
    problem().solve(points=OWN, steps=2, **settings)
    assert len(problem().solve(points=OWN.tolist(), steps=4, **settings).history) == 4
    with pytest.raises(ProblemError, match="its points is"):
        problem().solve(points=OWN + 1e-6, steps=4, **settings)


def test_what_are_no_points_is_told() -> None:
    for points, words in (
        (np.zeros((3, 2)), "points of shape"),
        (OWN + 0.5, "12 of 24 points given are outside of the domain, one at x = 1.04"),
        ({"heat": OWN}, "which is no equation"),
        ({}, "there are no points"),
        ({"equation": 0}, "points must be an integer of at least 1, or points in rows, got 0"),
        ([], "points must be"),
        (1.5, "points must be"),
        (True, "points must be"),
    ):
        with pytest.raises((ProblemError, ShapeError), match=words):
            problem().solve(points=points, progress=False, steps=1)
