"""Points of one's own for conditions: those on each part, with the normals of every kind of domain."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from primad import pde
from primad.errors import ProblemError, ShapeError
from primad.pde.geometry.boundary_points import on_parts

SQUARE = pde.Box(x=(0, 1), y=(0, 1))
TRIANGLE = pde.Polygon([(0, 0), (2, 0), (0, 1)])
CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
TETRAHEDRON = pde.Mesh(CORNERS, [[0, 1, 2, 3]])
DOMAINS = {
    "an interval": pde.Interval(-1, 2),
    "a box": SQUARE,
    "a disk in time": pde.Disk((0.5, 0.5), 2.0) * pde.Time(0, 1),
    "a ball": pde.Ball((0, 1, 2), 0.5),
    "a polygon": TRIANGLE,
    "a mesh": pde.Mesh(np.array([[0.0, 0], [1, 0], [1, 1], [0, 2]]), [[0, 1, 2], [0, 2, 3]]),
    "a tetrahedron": TETRAHEDRON,
    "a union": SQUARE | pde.Disk((1, 1), 0.5),
    "a hole": SQUARE - pde.Disk((0.5, 0.5), 0.2),
    "a common part": pde.Disk((0, 0), 1.0) & pde.Box(x=(0, 2), y=(-2, 2)),
    "named pieces": SQUARE.named(inlet=lambda x, y: (x == 0) & (y > 0.5), rest=lambda x, y: y == 1),
    "a named hole in time": (SQUARE - pde.Disk((0.5, 0.5), 0.2)).named(up=lambda x, y: y > 0.6) * pde.Time(0, 1),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_points_that_are_drawn_on_parts_are_found_there_with_their_normals(name: str) -> None:
    domain = DOMAINS[name]
    for part in domain.parts:
        drawn = domain.boundary(part, 60, seed=3)
        found = on_parts(domain, [part], drawn.at)
        assert_array_equal(found.at, drawn.at)
        assert_allclose(found.normals, drawn.normals, atol=1e-9)
        inside = domain.interior(40).at
        assert len(on_parts(domain, [part], inside)) == 0
        for other in domain.parts:
            if other != part:
                assert len(on_parts(domain, [other], drawn.at)) <= 2, "corners only"


def poisson(u, x, y):
    return u.xx + u.yy + 2 * np.pi**2 * np.cos(np.pi * x) * np.cos(np.pi * y)


def exact(x, y):
    return np.cos(np.pi * x) * np.cos(np.pi * y)


EDGE = np.linspace(0, 1, 15)
ROWS = np.concatenate(
    [np.stack([EDGE**2, 0 * EDGE], 1), np.stack([EDGE, 1 + 0 * EDGE], 1), np.stack([0 * EDGE, EDGE], 1),
     np.stack([1 + 0 * EDGE, EDGE], 1)]
)  # fmt: skip


def problem() -> pde.Problem:
    conditions = [
        pde.Neumann(u=0, on=["x-", "x+"], hard=False),
        pde.Dirichlet(u=exact, on=["y-", "y+"], hard=False),
    ]
    return pde.Problem(poisson, SQUARE, conditions, network=pde.MLP(10, 2))


def test_each_condition_takes_the_points_on_its_parts_and_is_solved_with_them() -> None:
    found = problem().solve(boundary_points=ROWS, points=120, steps=60, resample=20, progress=True)
    slopes, values = found.points["du/dn on x- and x+"], found.points["u on y- and y+"]
    assert_array_equal(np.sort(values["at"], 0), np.sort(ROWS[(ROWS[:, 1] == 0) | (ROWS[:, 1] == 1)], 0))
    assert_array_equal(slopes["normal"][:, 0], 2 * slopes["at"][:, 0] - 1)
    assert found.error(u=exact) < 2e-3


def test_points_are_given_by_the_names_of_conditions() -> None:
    drawn = problem().points(50, {"du/dn on x- and x+": ROWS[30:34], "u on y- and y+": 33})
    assert_array_equal(drawn["du/dn on x- and x+"]["at"], ROWS[30:34])
    assert len(drawn["u on y- and y+"]["at"]) in (32, 33, 34)
    drawn = problem().points(50, {"du/dn on x- and x+": ROWS[30:34]})
    assert len(drawn["u on y- and y+"]["at"]) == 20, "as many as without"


def test_points_at_the_start_and_on_an_interface() -> None:
    left = pde.Interval(0, 0.5)
    line = pde.Interval(0, 1) * pde.Time(0, 1)
    jump = pde.Interface(lambda u: u.x - 1, of=left * pde.Time(0, 1), on="x+")
    of = pde.Problem(lambda u: u.t - u.xx, line, [pde.Dirichlet(u=0, hard=False), pde.Initial(u=0, hard=False), jump])
    rows = np.array([[0.5, 0.3], [0.2, 0.0], [0.0, 0.7], [1.0, 0.1], [0.0, 0.0]])
    drawn = of.points(9, rows)
    assert_array_equal(drawn["interface"]["at"], rows[:1])
    assert_array_equal(drawn["u at the start"]["at"], rows[[1, 4]])
    assert_array_equal(np.sort(drawn["u on boundary"]["at"], 0), np.sort(rows[[2, 3, 4]], 0))


def test_a_run_goes_on_with_the_same_points_only(tmp_path) -> None:
    settings = {"progress": False, "checkpoint": tmp_path, "points": 30}
    problem().solve(boundary_points=ROWS, steps=2, **settings)
    assert len(problem().solve(boundary_points=ROWS.tolist(), steps=4, **settings).history) == 4
    with pytest.raises(ProblemError, match="boundary"):
        problem().solve(boundary_points=ROWS[:-1], steps=4, **settings)


def test_what_are_no_points_of_the_boundary_is_told() -> None:
    for points, words in (
        (np.zeros((3, 3)), "points of shape"),
        (ROWS * 0.9, "points given for conditions are not on the boundary, one at x = "),
        (ROWS[1:14], "none of the 13 points .* lies where 'du/dn on x- and"),
        ({"heat": ROWS}, "which is no condition that is fitted"),
        ({"u on y- and y+": ROWS[31:40]}, "none of the 9 points"),
        ({}, "there are no points"),
        (0, "boundary_points must be an integer of at least 1, or points in rows, got 0"),
        (2.5, "boundary_points must be"),
    ):
        with pytest.raises((ProblemError, ShapeError), match=words):
            problem().solve(boundary_points=points, progress=False, steps=1)
    held = pde.Problem(poisson, SQUARE, pde.Dirichlet(u=0), network=pde.MLP(4, 1))
    with pytest.raises(ProblemError, match="none is fitted on the boundary"):
        held.points(9, ROWS)
