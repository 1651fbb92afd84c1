"""Solids within surfaces of triangles: what lies inside, files, what encloses nothing, and a problem in one."""

import itertools
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from primad import pde
from primad.errors import ProblemError

CORNERS = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
CUBE = np.array(
    [
        (0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
        (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3),
    ]
)  # fmt: skip
RANDOM = np.random.default_rng(0)


def ball(times: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return an octahedron whose triangles were divided into four, with corners on the unit sphere."""
    points = [np.array(one, float) for one in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))]
    found = [[points[x], points[y], points[z]] for x in (0, 1) for y in (2, 3) for z in (4, 5)]
    found = [one if np.linalg.det(one) > 0 else one[::-1] for one in found]
    for _ in range(times):
        divided = []
        for a, b, c in found:
            ab, bc, ca = ((p + q) / np.linalg.norm(p + q) for p, q in ((a, b), (b, c), (c, a)))
            divided += [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
        found = divided
    return np.concatenate(found), np.arange(3 * len(found)).reshape(-1, 3)


def torus(m: int = 24, n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Return a ring of radius 2 and thickness 1, which is not convex and has a hole to look through."""
    u, v = np.meshgrid(2 * np.pi * np.arange(m) / m, 2 * np.pi * np.arange(n) / n, indexing="ij")
    r = 2 + 0.5 * np.cos(v)
    points = np.stack([r * np.cos(u), r * np.sin(u), 0.5 * np.sin(v)], axis=-1).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(m), np.arange(n), indexing="ij")
    a, b, c, d = (((i + p) % m * n + (j + q) % n).ravel() for p, q in ((0, 0), (1, 0), (1, 1), (0, 1)))
    return points, np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


SOLIDS = {
    "a cube": (CORNERS, CUBE, lambda *at: np.max(np.abs(np.array(at) - 0.5), axis=0) - 0.5),
    "a cube that turns inward": (CORNERS, CUBE[:, ::-1], lambda *at: np.max(np.abs(np.array(at) - 0.5), axis=0) - 0.5),
    "a ball": (*ball(2), lambda x, y, z: np.sqrt(x**2 + y**2 + z**2) - 0.95),
    "a ring": (*torus(), lambda x, y, z: np.hypot(np.hypot(x, y) - 2, z) - 0.48),
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", SOLIDS)
def test_what_is_inside(name) -> None:
    points, triangles, distance = SOLIDS[name]
    solid = pde.Solid(points, triangles)
    low, high = solid.bounds.T
    at = RANDOM.uniform(low - 0.2, high + 0.2, (400, 3))
    off = distance(*at.T)
    clear = np.abs(off) > 0.05
    assert np.any(off[clear] < 0)
    np.testing.assert_array_equal(solid.contains(at)[clear], off[clear] < 0)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", SOLIDS)
def test_points_and_normals_of_the_boundary(name) -> None:
    points, triangles, _ = SOLIDS[name]
    solid = pde.Solid(points, triangles)
    edge = solid.boundary("boundary", 64)
    assert solid.contains(edge.at).all() and solid.contains(points).all()
    step = 1e-5 * np.asarray(edge.normals)
    assert solid.contains(edge.at - step).all() and not solid.contains(edge.at + step).any()
    flux = np.sum(np.asarray(edge.weights) * np.sum(edge.at * np.asarray(edge.normals), axis=1)) / 3
    assert_allclose(flux, solid.measure, rtol=0.1, err_msg="the theorem of Gauss")
    inner = solid.interior(100)
    assert len(inner) == 100 and solid.contains(inner.at).all()
    for of, size in (
        (inner, solid.measure),
        (solid.quadrature(6), solid.measure),
        (edge, solid.part_measure("boundary")),
        (solid.boundary_quadrature("boundary", 6), solid.part_measure("boundary")),
    ):
        assert_allclose(np.sum(of.weights), size)


def test_volumes_and_areas() -> None:
    cube = pde.Solid(CORNERS, CUBE)
    assert_allclose([cube.measure, cube.part_measure("boundary")], [1.0, 6.0])
    round_one = pde.Solid(*ball())
    assert_allclose([round_one.measure, round_one.part_measure("boundary")], [4 * np.pi / 3, 4 * np.pi], rtol=0.03)
    assert_allclose(pde.Solid(*torus(48, 24)).measure, 2 * np.pi**2 * 2 * 0.25, rtol=0.02)
    hollow = pde.Solid(np.concatenate([CORNERS, 0.25 + CORNERS / 2]), np.concatenate([CUBE, 8 + CUBE[:, ::-1]]))
    assert_allclose(hollow.measure, 7 / 8)
    assert not hollow.contains([[0.5, 0.5, 0.5]])[0] and hollow.contains([[0.1, 0.5, 0.5]])[0]


def test_solids_are_combined_named_and_have_a_time() -> None:
    cube = pde.Solid(CORNERS, CUBE, names="a b c")
    floor = (cube - pde.Ball((0.5, 0.5, 0.5), 0.25, names="a b c")).named(floor=lambda c: c == 0)
    assert floor.parts == ("floor", "boundary", "boundary 2")
    assert_allclose(floor.measure, 1 - np.pi / 48, rtol=0.01)
    timely = cube * pde.Time(0, 2)
    assert timely.parts == ("boundary", "initial") and timely.names == ("a", "b", "c", "t")
    assert timely.contains([[0.5, 0.5, 0.5, 1.0]])[0] and repr(cube) == "Solid of 12 triangles"


def test_a_problem_in_a_solid_is_solved() -> None:
    """−Δu = 6 in a ball of triangles, with u = 1 − r² on its boundary."""
    exact = lambda x, y, z: 1 - x**2 - y**2 - z**2  # noqa: E731
    solid = pde.Solid(*ball(1))
    problem = pde.Problem(lambda u: pde.laplacian(u) + 6, solid, pde.Dirichlet(u=exact), network=pde.MLP(10, 1))
    found = problem.solve(steps=30, points=60, boundary_points=40, progress=False)
    assert found.error(u=exact, points=200) < 0.02


def test_files_of_surfaces(tmp_path, monkeypatch) -> None:
    block = SimpleNamespace(type="triangle", data=CUBE)
    file = SimpleNamespace(points=CORNERS.astype(np.float32), cells=[block])
    monkeypatch.setitem(sys.modules, "meshio", SimpleNamespace(read=lambda path: file, ReadError=ValueError))
    assert pde.Solid.read("cube.stl").measure == 1.0
    with pytest.raises(ProblemError, match=r"(?s)surface in space.*pde.Solid.read"):
        pde.Mesh.read("cube.stl")
    block.type = "quad"
    with pytest.raises(ProblemError, match=r"(?s)no triangles.*cells are quad"):
        pde.Solid.read("cube.stl")


def test_a_file_of_stl_is_read(tmp_path) -> None:
    meshio = pytest.importorskip("meshio")
    meshio.Mesh(CORNERS, [("triangle", CUBE)]).write(tmp_path / "cube.stl")
    assert_allclose(pde.Solid.read(tmp_path / "cube.stl").measure, 1.0)


WRONG = {
    "not closed": (CORNERS, CUBE[1:]),
    "turn otherwise": (CORNERS, np.concatenate([CUBE[1:], CUBE[:1, ::-1]])),
    "encloses nothing": (CORNERS, np.concatenate([CUBE[:1], CUBE[:1, ::-1]])),
    r"one a row, got the shape \(8, 2\)": (CORNERS[:, :2], CUBE),
    "consists of triangles": (CORNERS, CUBE[:, :2]),
    "has the corner 8": (CORNERS, CUBE + 1),
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_no_surface_of_a_solid_is_told(words) -> None:
    with pytest.raises(ProblemError, match=words):
        pde.Solid(*WRONG[words])
    with pytest.raises(ProblemError, match="got 2 names"):
        pde.Solid(CORNERS, CUBE, names="x y")
