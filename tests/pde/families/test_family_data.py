"""Solutions that are known for some functions of a family, alone and beside an equation."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import primad
from primad import pde
from primad.errors import PrimadError
from primad.pde.families.family import OF_EACH, key, single

SENSORS, FUNCTIONS = 12, 30
GRID, AT = np.linspace(0, 1, SENSORS), np.linspace(0, 1, 9)
LINE = pde.Interval(0, 1)
NETWORK = pde.DeepONet(6, branch=pde.MLP(6, 1), trunk=pde.MLP(6, 1))
FREE = [pde.Dirichlet(u=0, on="x-"), pde.Free("u", on="x+")]
FREQUENCIES = np.random.default_rng(0).uniform(0.5, 4, (FUNCTIONS, 1))
SLOPES, VALUES = np.cos(FREQUENCIES * GRID), np.sin(FREQUENCIES * AT) / FREQUENCIES


def of_data(*, network: pde.Network = NETWORK, **other: Any) -> pde.Problem:
    """Return the problem of an antiderivative that is known by data alone."""
    data = pde.FamilyData(**{"x": AT, "v": SLOPES, "u": VALUES, **other})
    return pde.Problem([], LINE, data, network=network, family={"v": pde.GivenFunctions("x", SLOPES)})


def with_equation(**other: Any) -> pde.Problem:
    """Return it with its equation, whose functions are others than those of the data."""
    data = pde.FamilyData(x=AT, v=SLOPES, u=VALUES, **other)
    process = pde.GaussianProcess("x", count=4, sensors=SENSORS)
    return pde.Problem(lambda u, v: u.x - v, LINE, [*FREE, data], network=NETWORK, family={"v": process})


def test_residuals_are_differences_from_the_data_for_each_function() -> None:
    problem = of_data(noise=0.1)
    params, points = problem.init(1), problem.points(5)
    found = problem.values(params, points)["data of a family"].reshape((FUNCTIONS, len(AT)))
    solution = pde.Solution(problem, params, None, points, None)
    np.testing.assert_allclose(found, (solution.u(AT, v=SLOPES) - VALUES) / 0.1, atol=1e-12)


def test_equations_have_functions_of_their_own_and_count_as_data_with_noise_ask() -> None:
    problem = with_equation(noise=0.1)
    points = problem.points(5)
    assert points["equation"][key("v")].shape == (4, SENSORS)
    np.testing.assert_array_equal(points["data of a family"][key("v")], SLOPES)
    assert problem.weights == {"equation": pytest.approx(100.0), "data of a family": 1.0}


def test_some_functions_at_a_time_are_drawn_with_their_own_values() -> None:
    problem = of_data(count=7)
    first, again, other = (problem.points(5, seed=seed)["data of a family"] for seed in (0, 0, 1))
    assert first[key("v")].shape == (7, SENSORS) and np.all(first[key("v")] == again[key("v")])
    assert np.any(first[key("v")] != other[key("v")])
    places = [int(np.flatnonzero(np.all(row == SLOPES, axis=1))[0]) for row in first[key("v")]]
    np.testing.assert_array_equal(first[OF_EACH + "u"], VALUES[places])
    assert len(set(places)) == 7


def test_a_residual_alone_has_the_function_the_point_and_the_value_that_belong_together() -> None:
    row = of_data().points(5)["data of a family"]
    function, point = 3, 4
    one = single(row, function * len(AT) + point)
    assert one["at"] == AT[point] and one[OF_EACH + "u"] == VALUES[function, point]
    np.testing.assert_array_equal(one[key("v")], SLOPES[[function]])


@pytest.mark.parametrize(
    "network", [NETWORK, pde.FNO(5, 4, 2, decoder=pde.MLP(8, 1))], ids=["DeepONet", "FNO"]
)  # fmt: skip
def test_an_operator_is_learned_from_data_alone(network: pde.Network) -> None:
    found = of_data(network=network).solve(steps=200, optimizer=primad.optimize.LBFGS(), progress=False)
    k = 2.2
    error = found.u(AT, v=lambda x: np.cos(k * x)) - np.sin(k * AT) / k
    assert np.sqrt(np.mean(error**2)) < 0.03


def test_data_that_are_not_fitted_are_told() -> None:
    """Neighbours are those of the same function: here each is off by another constant."""
    with pytest.warns(UserWarning, match="'data of a family' is not fitted"):
        with_equation(noise=1e-3, weight=1e-12).solve(steps=3, points=8, progress=False)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"u": VALUES.T}, r"shape \(9, 30\).*30 functions at 9 points.*\(30, 9\)"),
        ({"v": SLOPES[:, :5]}, r"input function v.*shape \(30, 5\)"),
        ({"v": SLOPES[0], "u": VALUES[:1]}, "one row.*v\\[None\\]"),
        ({"x": AT[:, None]}, r"one axis.*\(9, 1\) of x"),
        ({"x": AT + 1.0}, "outside"),
        ({"w": VALUES}, "'w' is neither"),
        ({"u": np.where(VALUES > 0.9, np.nan, VALUES)}, "NaN or infinite"),
        ({"noise": -1.0}, "positive"),
        ({"count": 0}, "count must be a positive integer, got 0"),
        ({"count": 2.5}, "count must be a positive integer, got 2.5"),
    ],
    ids=str,
)  # fmt: skip
def test_refusals_say_what_to_do(given: dict[str, Any], said: str) -> None:
    with pytest.raises(PrimadError, match=re.compile(said, re.DOTALL)) as error:
        of_data(**given)
    assert "Fix: " in str(error.value)


@pytest.mark.parametrize(("missing", "said"), [("x", "lack 'x'"), ("v", "lack 'v'"), ("u", "the unknown 'u'")])
def test_what_is_missing_is_named(missing: str, said: str) -> None:
    columns = {"x": AT, "v": SLOPES, "u": VALUES}
    data = pde.FamilyData(**{name: values for name, values in columns.items() if name != missing})
    with pytest.raises(PrimadError, match=said):
        pde.Problem([], LINE, data, network=NETWORK, family={"v": pde.GivenFunctions("x", SLOPES)})


def test_without_a_family_there_are_no_functions() -> None:
    with pytest.raises(PrimadError, match="'v' is neither"):
        pde.Problem([], LINE, pde.FamilyData(x=AT, v=SLOPES, u=VALUES))


def test_a_problem_has_an_equation_or_data() -> None:
    with pytest.raises(PrimadError, match="an equation, or data"):
        pde.Problem([], LINE, [pde.Dirichlet(u=0)])
    fitted = pde.Problem([], LINE, pde.Data(x=AT, u=AT**2), network=pde.MLP(8, 1)).solve(steps=40, progress=False)
    assert abs(fitted.u(0.55) - 0.55**2) < 1e-2
