"""Domains, problems and runs where what decides is met exactly, or where several answers are not all alike."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from primad import pde
from primad.errors import NotFiniteError, ProblemError
from primad.pde.geometry.cutting import ACROSS, NEAR, _refined, edges
from primad.pde.geometry.triangulations import triangulated
from primad.pde.solve.history import History
from primad.pde.solve.marching import _joined
from primad.pde.solve.misfit import imbalance
from primad.pde.solve.progress import Bar
from primad.pde.solve.solving import Run

NET = pde.MLP(3, 1)
LINE = pde.Interval(0, 1)
SQUARE = pde.Box(x=(0, 1), y=(0, 1))

# -- domains -----------------------------------------------------------------------------------------------------------


def test_points_of_a_whole_boundary_are_shared_by_measure() -> None:
    normals = np.asarray(pde.Box(x=(0, 1), y=(0, 3)).boundary(count=80).normals)
    sides, counts = np.unique(normals, axis=0, return_counts=True)
    assert dict(zip(map(tuple, sides.tolist()), counts.tolist(), strict=True)) == {
        (-1.0, 0.0): 30, (1.0, 0.0): 30, (0.0, -1.0): 10, (0.0, 1.0): 10
    }  # fmt: skip
    assert len(LINE.boundary(count=10).at) == 2


def test_a_piece_may_lie_on_parts_of_different_kinds() -> None:
    """A prism's ends are taken from a cube of another dimension than its sides."""
    prism = pde.Polygon([(0, 0), (2, 0), (0, 1)]) * pde.Interval(0, 1, "z")
    assert len({prism.edge_spread(part) for part in prism.parts}) == 2
    low = prism.named(low=lambda x, y, z: z < 0.5)
    found = low.boundary("low", 200)
    at, normals = found.at, np.asarray(found.normals)
    assert np.all(at[:, 2] < 0.5) and np.any(at[:, 2] == 0.0) and np.any(at[:, 2] > 0.0)
    assert np.all(prism.contains(at)) and not np.any(prism.contains(at + 1e-3 * normals))


@pytest.mark.parametrize("size", ["0.1", (0.1,), 0, -1.0, np.nan, np.inf])
def test_cells_have_a_size(size: Any) -> None:
    with pytest.raises(ProblemError, match="size of cells is a positive number"):
        triangulated(LINE, size)


NO_SPACE: dict[str, pde.Domain] = {
    "with a time": LINE * pde.Time(0, 1),
    "of times and parameters": pde.Time(0, 1) * pde.Parameters(k=(1, 2)),
    "with a disk": pde.Disk() * pde.Interval(0, 1, "z"),
    "of four coordinates": pde.Box(a=(0, 1), b=(0, 1), c=(0, 1)) * pde.Interval(0, 1, "d"),
    "of four intervals": pde.Interval(0, 1, "a") * pde.Interval(0, 1, "b") * pde.Interval(0, 1, "c") * LINE,
}


@pytest.mark.parametrize("name", NO_SPACE)
def test_what_is_no_space_of_three_dimensions_is_not_cut(name: str) -> None:
    with pytest.raises(ProblemError, match="is not cut into simplices"):
        triangulated(NO_SPACE[name])


def test_edges_are_no_longer_than_asked_for() -> None:
    def longest(mesh: Any) -> float:
        ends = edges(mesh.cells)[0]
        return float(np.max(np.linalg.norm(mesh.points[ends[:, 0]] - mesh.points[ends[:, 1]], axis=1)))

    triangle = pde.Polygon([(0, 0), (4, 0), (0, 3)])
    assert 2 / ACROSS[2] < longest(triangulated(triangle)) <= 4 / ACROSS[2]
    assert 0.5 < longest(triangulated(triangle, 1.0)) <= 1.0
    assert longest(triangulated(LINE)) == pytest.approx(1 / ACROSS[1])


def test_an_edge_of_just_the_size_is_not_cut() -> None:
    for base, count in ((1 + NEAR, 1), (np.nextafter(1 + NEAR, 2), 4)):
        corners = np.array([(0.0, 0.0), (base, 0.0), (0.5, 0.1)])
        assert len(_refined(corners, np.array([[0, 1, 2]]), 1.0)[1]) == count


def test_series_are_periodic_wherever_their_coordinate_begins() -> None:
    series, grid = pde.FourierSeries("x", terms=3, count=4), np.linspace(0.0, 1.0, 64)
    found, moved = (series.drawn(at, np.random.default_rng(0)) for at in (grid, 2.0 + 3.0 * grid))
    np.testing.assert_allclose(moved, found, atol=1e-12)
    np.testing.assert_allclose(moved[:, 0], moved[:, -1], atol=1e-12)


# -- fields ------------------------------------------------------------------------------------------------------------


def test_the_curl_in_the_plane_is_the_component_across_it() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 5))
    v = pde.Field(lambda x, y: np.stack([x * y**2, np.sin(x) * y]), "x y")
    np.testing.assert_allclose(pde.curl(v(x, y)), np.cos(x) * y - 2 * x * y, rtol=1e-12)


def test_unknowns_of_families_are_no_vectors() -> None:
    ring = pde.Box(r=(1, 2), theta=(0, 1))
    family = {"v": pde.GaussianProcess("r", count=3, sensors=8)}
    problem = pde.Problem(
        lambda u, v: pde.laplacian(u, system=pde.polar) - v, ring, [pde.Dirichlet(u=0)], network=NET, family=family
    )
    points = problem.points(5)
    values = problem.evaluated(problem.init(), points)
    assert all(np.all(np.isfinite(one)) for one in values.values())


# -- coefficients that nothing tells -----------------------------------------------------------------------------------


def plate(*more: pde.Condition) -> pde.Problem:
    conditions = [pde.Dirichlet(u=0, hard=False), pde.Neumann(u=0, hard=False), *more]
    return pde.Problem(lambda u, k: pde.biharmonic(u) - k, pde.Disk(), conditions, coefficients={"k": 1.0}, network=NET)


@pytest.mark.filterwarnings("error")
def test_a_plate_needs_two_conditions_and_a_third_tells_its_load() -> None:
    with pytest.warns(UserWarning, match="nothing tells the value of k"):
        plate()
    plate(pde.Condition(lambda u: pde.laplacian(u)))


@pytest.mark.filterwarnings("error")
def test_one_condition_more_of_any_unknown_tells_a_coefficient() -> None:
    def of(*more: pde.Condition) -> pde.Problem:
        return pde.Problem(
            {"a": lambda u, k: u.xx - k, "b": lambda u, v: v.xx - u},
            LINE, [pde.Dirichlet(u=0, v=0), *more], unknowns="u v", coefficients={"k": 1.0}, network=NET,
        )  # fmt: skip

    with pytest.warns(UserWarning, match="nothing tells the value of k"):
        of()
    for name in "uv":
        of(pde.Neumann(on="x-", **{name: 0}))


# -- marches and runs --------------------------------------------------------------------------------------------------


def history(names: str, *rows: list[float], seconds: float = 1.0, **coefficients: list[float]) -> Any:
    times = [seconds * (i + 1) for i in range(len(rows))]
    found = History(tuple(names.split()), [*rows], [sum(row) for row in rows], times, {**coefficients})
    return SimpleNamespace(history=found)


def test_windows_have_the_residuals_that_all_have() -> None:
    first = history("a b c", [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], k=[1.0, 2.0])
    second = history("c a", [7.0, 8.0], seconds=0.5, k=[3.0])
    third = history("a d c", [9.0, 10.0, 11.0])
    found = _joined([first, second, third])  # type: ignore[list-item]
    assert found.names == ("a", "c")
    assert found.losses == [[1.0, 3.0], [4.0, 6.0], [8.0, 7.0], [9.0, 11.0]]
    assert found.seconds == [1.0, 2.0, 2.5, 3.5] and found.coefficients == {"k": [1.0, 2.0, 3.0]}


@pytest.mark.parametrize("moved", [(0.1, 0.0), (0.0, 0.1), (-0.1, 0.0), (0.0, -0.1)])
def test_windows_are_in_the_time_that_they_are_given(moved: tuple[float, float]) -> None:
    def window(time: Any, start: Any) -> pde.Problem:
        own = LINE * pde.Time(time.low + moved[0], time.high + moved[1])
        return pde.Problem(lambda u: u.t + u.value, own, [pde.Initial(**start), pde.Free("u")], network=NET)

    with pytest.raises(ProblemError, match="the problem of the window from 1 to 2 goes from"):
        pde.march(window, {"u": lambda x: x}, [1.0, 2.0], steps=1, points=5, progress=False)


@pytest.mark.parametrize(("place", "told"), [(0, True), (1, True), (None, False)])
def test_one_equation_of_several_outweighs_data(place: int | None, told: bool) -> None:
    def equation(u: Any, k: Any) -> Any:
        return tuple((1e6 if i == place else 1e-3) * (u.x - k + 1.0 - (3 + i) * u.value) for i in range(2))

    x = np.linspace(0, 1, 40)
    problem = pde.Problem(
        equation, LINE, [pde.Free("u"), pde.Data(x=x, u=1 + 2 * x)], coefficients={"k": 1.0}, network=NET
    )
    assert bool(imbalance(problem, problem.init(), problem.points(9), problem.weights)) == told


@pytest.mark.parametrize(("left", "seconds", "shown"), [
    ("of steps", None, "0:30"), ("of steps", 1000.0, "0:30"), ("of seconds", 30.0, "0:10"), ("none", 15.0, "0:00"),
])  # fmt: skip
def test_a_bar_says_how_long_a_run_will_still_be(left: str, seconds: float | None, shown: str) -> None:
    """Ten steps were made before, in 10 seconds; ten more took 10 seconds, and 30 are left."""
    bar = Bar(pde.Settings(steps=50, seconds=seconds), 10)
    losses = [[1.0, 2.0]] * 20
    bar.show(History(("a", "b"), losses, [3.0] * 20, [float(i + 1) for i in range(20)]), 10.0)
    fields = bar._bar.tasks[0].fields
    assert fields["rate"] == "1/s" and fields["left"] == f"{shown} left", left


@pytest.mark.parametrize(("last", "rests"), [((1.0, 1.0), True), ((1.0, 9.0), False), ((9.0, 1.0), False)])
def test_a_run_rests_where_all_data_are_fitted(last: tuple[float, float], rests: bool) -> None:
    terms = {"data": SimpleNamespace(noise=0.1), "equation": SimpleNamespace(noise=None)}
    problem = SimpleNamespace(terms=terms, labels={"data": ["of u", "of v"], "equation": ["equation"]})
    past = History(("of u", "of v", "equation"), [[*last, 99.0]] * 4, [1.0] * 4, [1.0] * 4)
    run = SimpleNamespace(history=past, problem=problem, now=SimpleNamespace(points={"data": {"at": np.zeros(50)}}))
    assert Run._rests(run, 2) == rests  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_residuals_of_which_the_squares_are_infinite_are_named() -> None:
    problem = pde.Problem(lambda u: 1e200 * (u.xx - 1), LINE, [pde.Dirichlet(u=0)], network=NET)
    with pytest.raises(NotFiniteError, match="a sum of the values overflows: mul of"):
        problem.solve(steps=1, points=5, progress=False)
