"""Domains: points lie inside, boundaries separate in from out, sums approximate integrals, factors vanish."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from primad import pde
from primad.errors import ProblemError, ShapeError
from primad.pde.geometry import domains, sampling
from primad.pde.geometry.sampling import Sequences, generator, unit_points

SQUARE = pde.Box(x=(0, 2), y=(-1, 1))
L_SHAPE = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
GRID = [(i, j) for i in range(3) for j in range(3)]
CELLS = [
    cell for i in (0, 1) for j in (0, 1)
    for cell in ((3 * i + j, 3 * i + j + 3, 3 * i + j + 4), (3 * i + j, 3 * i + j + 4, 3 * i + j + 1))
]  # fmt: skip
CUBE = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
TETRAHEDRA = [(0, 1, 3, 7), (0, 1, 5, 7), (0, 2, 3, 7), (0, 2, 6, 7), (0, 4, 5, 7), (0, 4, 6, 7)]
DOMAINS = {
    "interval": (pde.Interval(-1, 3), 4.0, 2.0),
    "box": (pde.Box(x=(0, 1), y=(0, 2), z=(0, 3)), 6.0, 22.0),
    "disk": (pde.Disk((1, 1), 2), 4 * np.pi, 4 * np.pi),
    "ball": (pde.Ball((0, 0, 1), 2), 32 * np.pi / 3, 16 * np.pi),
    "ball of one dimension": (pde.Ball((1,), 2), 4.0, 2.0),
    "ball of five dimensions": (pde.Ball((0,) * 5, 1), 8 * np.pi**2 / 15, 8 * np.pi**2 / 3),
    "polygon": (pde.Polygon(L_SHAPE), 3.0, 8.0),
    "polygon the other way round": (pde.Polygon(L_SHAPE[::-1]), 3.0, 8.0),
    "a fork": (pde.Polygon([(0, 0), (3, 0), (3, 2), (2, 2), (2, 1), (1, 1), (1, 3), (0, 3)]), 6.0, 14.0),
    "corners on an edge": (pde.Polygon([(0, 0), (0.5, 0), (2, 0), (2, 0.5), (2, 1), (0, 1)]), 2.0, 6.0),
    "L of boxes": (pde.Box(x=(0, 2), y=(0, 2)) - pde.Box(x=(1, 2), y=(1, 2)), 3.0, 8.0),
    "room with a column": (SQUARE - pde.Disk((1, 0), 0.5), 4 - np.pi / 4, 8 + np.pi),
    "two boxes that touch": (pde.Box(x=(0, 1), y=(0, 1)) | pde.Box(x=(1, 2), y=(0, 1)), 2.0, 6.0),
    "frame": (SQUARE - pde.Box(x=(0.5, 1), y=(-0.5, 0.5)), 3.5, 11.0),
    "a bite": (SQUARE - pde.Disk((0, 0), 0.5), 4 - np.pi / 8, 7 + np.pi / 2),
    "half of a disk": (pde.Disk() & pde.Box(x=(-2, 2), y=(0, 2)), np.pi / 2, np.pi + 2),
    "two disks without a third": (
        (pde.Disk((0, 0), 0.5) | pde.Disk((1, 1), 0.6)) - pde.Disk((1, 1), 0.3),
        0.52 * np.pi,
        2.8 * np.pi,
    ),
    "hole after hole": (
        (SQUARE - pde.Disk((0.5, 0), 0.25)) - pde.Disk((1.5, 0), 0.4),
        4 - 0.2225 * np.pi,
        8 + 1.3 * np.pi,
    ),
    "half of a square with a hole": (
        (SQUARE - pde.Disk((0.5, 0), 0.25)) & pde.Box(x=(-1, 1), y=(-2, 2)),
        2 - np.pi / 16,
        6 + np.pi / 2,
    ),
    "three pieces in time": (
        ((SQUARE - pde.Disk((0.5, 0), 0.25)) | pde.Box(x=(2, 3), y=(-1, 1))) * pde.Time(0, 2),
        2 * (6 - np.pi / 16),
        None,
    ),
    "in time": ((SQUARE - pde.Disk((1, 0), 0.5)) * pde.Time(0, 3), 12 - 3 * np.pi / 4, None),
    "a family": (pde.Interval(0, 1) * pde.Time(0, 1) * pde.Parameters(nu=(1, 2)), 1.0, 3.0),
    "a mesh": (pde.Mesh(GRID, CELLS, parts={"left": [(0, 1), (1, 2)]}), 4.0, 8.0),
    "a mesh of a line": (pde.Mesh([(0.0,), (2.0,), (0.5,)], [(0, 2), (2, 1)], parts={"end": [(1,)]}), 2.0, 2.0),
    "a mesh in space": (pde.Mesh(CUBE, TETRAHEDRA), 1.0, 6.0),
    "with names": (SQUARE.named(inlet=lambda x, y: (x == 0) & (y > 0), walls=lambda y: abs(y) == 1), 4.0, 8.0),
}


@pytest.mark.parametrize("how", Sequences)
@pytest.mark.parametrize("name", DOMAINS)
def test_points_lie_inside_and_fill_the_domain(name: str, how: str) -> None:
    domain, measure, _ = DOMAINS[name]
    assert domain.measure == pytest.approx(measure, rel=5e-3)
    points = domain.interior(300, how, seed=3)
    assert len(points) >= 300 if how == "grid" else len(points) == 300
    assert np.all(domain.contains(points.at))
    assert np.all((points.at >= domain.bounds[:, 0]) & (points.at <= domain.bounds[:, 1]))
    again = domain.interior(300, how, seed=3)
    assert np.array_equal(points.at, again.at)
    if how in ("sobol", "latin", "uniform"):
        assert not np.array_equal(points.at, domain.interior(300, how, seed=4).at)
    for i, column in enumerate(domain.names):
        assert np.array_equal(points[column], points.at[:, i])


@pytest.mark.parametrize("name", DOMAINS)
def test_a_boundary_separates_in_from_out(name: str) -> None:
    domain, _, area = DOMAINS[name]
    total = sum(domain.part_measure(part) for part in domain.parts)
    if area is not None:
        assert total == pytest.approx(area, rel=2e-2)
    for part in domain.parts:
        for how in ("sobol", "grid"):
            points = domain.boundary(part, 50, how)
            normals = points.normals
            assert np.allclose(np.linalg.norm(normals, axis=1), 1)
            step = 1e-5 * normals
            if part != "initial" and "nu" not in domain.names and "t" not in domain.names:
                assert not np.any(domain.contains(points.at + step))
                assert np.all(domain.contains(points.at - step))
    assert {"initial"} & set(domain.parts) == ({"initial"} if "t" in domain.names else set())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", DOMAINS)
def test_the_divergence_theorem_holds(name: str) -> None:
    """∫ div F = ∫ F·n over all parts, for F = (x², xy, …): quadrature, normals and measures in one."""
    domain, *_ = DOMAINS[name]
    if "t" in domain.names:
        return
    exact = name in ("interval", "box", "disk", "polygon", "polygon the other way round", "a mesh")
    inside = domain.quadrature(12 if exact else 64 if domain.dimension < 4 else 9)
    x = inside.at[:, 0]
    volume = np.sum(inside.weights * (2 * x + (domain.dimension - 1) * x))
    flux = 0.0
    for part in domain.parts:
        edge = domain.boundary_quadrature(part, 64 if domain.dimension < 4 else 9)
        flow = np.concatenate([edge.at[:, :1] ** 2, edge.at[:, :1] * edge.at[:, 1:]], axis=1)
        flux += np.sum(edge.weights * np.sum(flow * edge.normals, axis=1))
    smooth = exact and name != "a mesh"  # whose edges have no map without kinks
    assert flux == pytest.approx(volume, abs=(1e-10 if smooth else 2e-2) * domain.measure)


def _values(domain: pde.Domain, which: str) -> dict[str, object]:
    """Return what parts of the boundary are given: one function, or for each its own."""
    shared = lambda p: 1.0 + p[domain.names[0]] ** 2  # noqa: E731
    others = {part: lambda p, k=k: k + 2.0 * p[domain.names[-1]] for k, part in enumerate(domain.parts)}
    return {part: shared if which == "one" else others[part] for part in domain.parts}


@pytest.mark.parametrize("which", ["one", "its own"])
@pytest.mark.parametrize("name", DOMAINS)
def test_what_is_extended_has_the_values_of_its_part(name: str, which: str) -> None:
    """On each part alone, and on all at once where a smooth function is known that meets them at the edges."""
    domain, *_ = DOMAINS[name]
    values = _values(domain, which)
    for parts in [*[[part] for part in domain.parts], list(domain.parts)]:
        meeting = which == "one" or len(parts) == 1
        for part in parts:
            for row in domain.boundary(part, 5).at:
                at = dict(zip(domain.names, row, strict=True))
                found = domain.extended({each: values[each] for each in parts}, at)
                if found is not None and (meeting or domain.dimension == 1):
                    assert found == pytest.approx(values[part](at), rel=1e-12, abs=1e-12)
                if found is None and len(parts) == 1:  # a piece of a part that others share
                    assert "named" in type(domain).__name__.lower() or domain.vanishing(parts, at) is None
    if which == "its own" and not isinstance(domain, pde.Interval | pde.Ball) and "box" not in name:
        found = domain.extended(values, at)
        rest = [factor for factor in getattr(domain, "factors", (domain,)) if len(factor.parts) > 1]
        intervals = all(isinstance(factor, pde.Interval) for factor in rest)
        assert (found is None) == (not intervals)


def test_product_rules_integrate_polynomials_exactly() -> None:
    box = pde.Box(x=(0, 1), y=(1, 3)) * pde.Time(0, 2)
    points = box.quadrature(4)
    found = np.sum(points.weights * points["x"] ** 5 * points["y"] ** 3 * points["t"])
    assert found == pytest.approx((1 / 6) * 20 * 2, rel=1e-13)
    disk = pde.Disk((0, 0), 2).quadrature(6)
    assert np.sum(disk.weights * disk["x"] ** 4) == pytest.approx(np.pi * 2**6 / 8, rel=1e-13)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", DOMAINS)
def test_what_vanishes_on_parts_vanishes_there_only(name: str) -> None:
    domain, *_ = DOMAINS[name]
    for parts in [domain.parts, *[[part] for part in domain.parts]]:
        inside = [dict(zip(domain.names, row, strict=True)) for row in domain.interior(200).at]
        if domain.vanishing(parts, inside[0]) is None:
            assert name in ("polygon", "polygon the other way round", "corners on an edge", "L of boxes", "frame",
                            "two boxes that touch",
                            "with names", "a mesh", "a mesh of a line", "a mesh in space", "two disks without a third",
                            "three pieces in time", "a fork")  # fmt: skip
            continue
        assert {bool(domain.vanishing(parts, point) > 0) for point in inside} == {True}
        for part in domain.parts:
            edge = [dict(zip(domain.names, row, strict=True)) for row in domain.boundary(part, 8).at]
            zero = [abs(domain.vanishing(parts, point)) < 1e-12 for point in edge]
            assert all(zero) if part in parts else not any(zero)
            if part in parts:  # once: twice would say something of the slope as well
                at = domain.boundary(part, 8)
                near = [dict(zip(domain.names, row, strict=True)) for row in at.at - 1e-6 * at.normals]
                assert min(float(domain.vanishing(parts, point)) for point in near) > 1e-6 * 1e-4, part


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pde.Interval(2, 1), "is empty"),
        (lambda: pde.Interval(0, np.inf), "has no end"),
        (lambda: pde.Box(), "needs coordinates"),
        (lambda: pde.Box(x=1), "is a pair"),
        (lambda: pde.Disk(radius=0), "is empty"),
        (lambda: pde.Disk((0, 0, 0)), "has 3 coordinates"),
        (lambda: pde.Ball((0, np.nan), 1), "is a point"),
        (lambda: pde.Polygon([(0, 0), (1, 1)]), "three corners"),
        (lambda: pde.Polygon([(0, 0), (1, 1), (2, 2)]), "is empty"),
        (lambda: pde.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)]), "area|line|cross"),
        (lambda: pde.Polygon([(0, 0), (2, 2), (2, 0), (0, 1)]), "cross"),
        (lambda: pde.Interval(0, 1) * pde.Interval(0, 1), "different names"),
        (lambda: pde.Interval(0, 1) - pde.Disk(), "have no union, difference or intersection"),
        (lambda: SQUARE.named(inlet=lambda x: x > 5), "is empty"),
        (lambda: SQUARE.named(inlet=lambda z: z > 5), "asks for 'z'"),
        (lambda: SQUARE.boundary("top"), "no part 'top'"),
        (lambda: SQUARE.interior(0), "at least one point"),
        (lambda: SQUARE.interior(5, "halton"), "cannot be drawn in the order 'halton'"),
        (lambda: pde.Interval(0, 1, "x y"), "a name that can be an argument"),
        (lambda: pde.Mesh(GRID, np.zeros((0, 3), int)), "consists of triangles"),
        (lambda: pde.Mesh(GRID, [(0, 1, 9)]), "the corner 9"),
        (lambda: pde.Mesh(GRID, [(0, 1, 2)]), "is flat"),
        (lambda: pde.Mesh(GRID, CELLS, parts={"left": [(0, 4)]}), "no piece of the boundary"),
        (lambda: pde.Polygon([(0, 0, 0), (1, 0, 0), (0, 1, 0)]), "three corners"),
        (lambda: pde.Mesh(GRID, [(0, 1, -1)]), "the corner -1"),
        (lambda: pde.Mesh(GRID, CELLS, parts={"left": [(0, 1), (1, 0)]}), r"(?s)\(0, 1\): no piece .*once"),
        (lambda: pde.Mesh(GRID, CELLS, parts={"left": [(0, 1)], "boundary": [(1, 0)]}), "no piece"),
        (lambda: pde.Mesh(GRID, CELLS, parts={"left": []}), "'left' of the mesh has no piece"),
        (lambda: pde.Mesh(GRID, CELLS, parts={"boundary": []}), "'boundary' of the mesh has no piece"),
        (lambda: pde.Mesh(GRID, CELLS, parts={"boundary": [(0, 1)]}), "'boundary' of the mesh is not all of it"),
        (lambda: pde.Mesh([(0.0, np.nan)], [(0, 0, 0)]), "in the plane or in space"),
        (lambda: SQUARE.interior(3)["z"], "no coordinate 'z'"),
    ],
)
def test_what_is_no_domain_is_named(make, words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        make()


def test_the_whole_boundary_of_a_mesh_may_have_its_name() -> None:
    edges = {"boundary": [(0, 1), (1, 2), (2, 0)]}
    assert pde.Mesh([(0, 0), (3, 0), (0, 4)], [(0, 1, 2)], parts=edges).part_measure("boundary") == 12.0
    two = pde.Mesh([(0, 0), (3, 0), (0, 4)], [(0, 1, 2)], parts={"left": [(2, 0)], "boundary": edges["boundary"][:2]})
    assert two.parts == ("left", "boundary") and two.part_measure("boundary") == 8.0


def test_a_mesh_is_read_from_a_file_with_its_named_parts(tmp_path) -> None:
    meshio = pytest.importorskip("meshio")
    lines = [(0, 1), (1, 2), (6, 7)]
    meshio.Mesh(
        [(*point, 0.0) for point in GRID],
        [("line", lines), ("triangle", CELLS)],
        cell_data={
            "gmsh:physical": [np.array([1, 1, 2]), np.full(8, 3)],
            "gmsh:geometrical": [np.ones(3, int), np.ones(8, int)],
        },
        field_data={"inlet": np.array([1, 1]), "outlet": np.array([2, 1]), "fluid": np.array([3, 2])},
    ).write(tmp_path / "square.msh", file_format="gmsh22")
    mesh = pde.Mesh.read(tmp_path / "square.msh")
    assert mesh.parts == ("inlet", "outlet", "boundary")
    assert [mesh.part_measure(part) for part in mesh.parts] == [2, 1, 5]
    assert np.all(mesh.boundary("inlet", 9).normals == [-1, 0])
    (tmp_path / "bad.msh").write_text("no mesh")
    for name in ("bad.msh", "missing.vtk"):
        with pytest.raises(ProblemError, match="cannot be read"):
            pde.Mesh.read(tmp_path / name)
    meshio.Mesh(GRID, [("line", lines)]).write(tmp_path / "lines.vtk")
    with pytest.raises(ProblemError, match="no triangles or tetrahedra"):
        pde.Mesh.read(tmp_path / "lines.vtk")


def test_without_meshio_the_extra_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "meshio", None)
    with pytest.raises(ImportError, match=r"primad\[mesh\]"):
        pde.Mesh.read("square.msh")


def test_a_polygon_may_repeat_its_first_corner_as_closed_rings_do():
    ring = pde.Polygon([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)])
    assert ring.parts == ("edge 0", "edge 1", "edge 2", "edge 3")
    assert all(np.all(np.isfinite(ring.boundary(part, 4).normals)) for part in ring.parts)


@pytest.mark.parametrize("name", DOMAINS)
def test_points_are_taken_in_every_form_and_of_other_coordinates_refused(name: str) -> None:
    domain = DOMAINS[name][0]
    points = domain.interior(6)
    forms = [points.at, points, points.at.tolist(), points[::-1][::-1]]
    if len(domain.names) == 1:
        forms.append(points.at[:, 0])
    for form in forms:
        assert np.all(domain.contains(form)), form
    np.testing.assert_array_equal(np.asarray(points), points.at)
    np.testing.assert_array_equal(points[2], points.at[2])
    for wrong in (np.zeros((3, len(domain.names) + 1)), np.zeros((2, 3, len(domain.names))), 0.5):
        with pytest.raises(ShapeError, match="where each row is one of"):
            domain.contains(wrong)


RINGS = {
    "an L": L_SHAPE,
    "a square with corners within its sides": [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2), (0, 1)],
    "a comb": [(0, 0), (6, 0), (6, 3), (5, 3), (5, 1), (4, 1), (4, 3), (3, 3), (3, 1), (2, 1), (2, 3), (0, 3)],
    "a spiral": [(0, 0), (5, 0), (5, 5), (1, 5), (1, 2), (3, 2), (3, 3), (2, 3), (2, 4), (4, 4), (4, 1), (0, 1)],
    "a corner on an edge": [(0, 0), (4, 0), (4, 2), (2, 0), (0, 2)],
    "an edge on an edge": [(0, 0), (3, 0), (3, 1), (2, 1), (2, 0), (1, 0), (1, 1), (0, 1)],
    "a corner on the diagonal": [(0, 0), (2, 0), (4, 0), (4, 4), (2, 2), (0, 4)],
    "a wide mouth": [(0, 0), (4, 0), (4, 4), (3, 1), (1, 1), (0, 4)],
    "a U": [(0, 0), (4, 0), (4, 4), (0, 4), (0, 3), (3, 3), (3, 1), (0, 1)],
    "an hourglass on its side": [(0, 0), (6, 0), (3, 1), (6, 2), (0, 2), (2, 1)],
}


@pytest.mark.parametrize("name", RINGS)
def test_a_polygon_is_cut_into_triangles_from_every_corner_and_both_ways(name: str) -> None:
    """What they have together is the area, and each has some; edges keep the numbers of their corners."""
    ring = np.array(RINGS[name], float)
    x, y = ring.T
    area = abs(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)) / 2
    for way in (1, -1):
        for start in range(len(ring)):
            corners = np.roll(ring[::way], start, axis=0)
            found = pde.Polygon(corners)
            assert np.all(found._areas > 0) and found._areas.sum() == pytest.approx(area) == found.measure
            assert np.sum(found.quadrature(6).weights) == pytest.approx(area)
            for i, (a, b) in enumerate(zip(corners, np.roll(corners, -1, axis=0), strict=True)):
                assert found.part_measure(f"edge {i}") == pytest.approx(np.linalg.norm(b - a))


@pytest.mark.parametrize("dimension", [2, 3])
def test_in_more_dimensions_than_sobol_has_points_are_drawn(dimension: int, monkeypatch) -> None:
    """His sequence has one point in each of as many equal slices; independent draws do not."""
    monkeypatch.setattr(sampling, "SOBOL_MOST", 2)
    found = unit_points("sobol", 64, dimension, generator(0))
    each = [len(np.unique(np.floor(64 * column))) for column in found.T]
    assert found.shape == (64, dimension) and (min(each) == 64) == (dimension == 2)


def test_a_part_without_points_is_looked_for_only_so_long(monkeypatch) -> None:
    monkeypatch.setattr(domains, "MOST_DRAWN", 256)
    piece = pde.Box(x=(0, 1), y=(0, 1)).named(piece=lambda x, y: (x == 0) & (y > 0.99))
    assert len(piece.boundary("piece", 1)) == 1
    with pytest.raises(ProblemError, match="no 9 points were found among 256"):
        piece.boundary("piece", 9)


@pytest.mark.parametrize(("count", "known"), [(domains.MOST_FACTORS, True), (domains.MOST_FACTORS + 1, False)])
def test_products_of_many_factors_are_none(count: int, known: bool) -> None:
    names = [f"x{i}" for i in range(count)]
    cube = pde.Box(**dict.fromkeys(names, (0, 1)))
    assert (cube.vanishing(cube.parts, dict.fromkeys(names, 0.5)) is not None) == known


@pytest.mark.parametrize(("count", "known"), [(domains.FEW_FACTORS, True), (domains.FEW_FACTORS + 1, False)])
def test_values_on_many_factors_have_no_extension(count: int, known: bool) -> None:
    names = [f"x{i}" for i in range(count)]
    cube = pde.Box(**dict.fromkeys(names, (0, 1)))
    values = {part: lambda point, i=i: i * point["x0"] for i, part in enumerate(cube.parts)}
    assert (cube.extended(values, dict.fromkeys(names, 0.5)) is not None) == known


def _read(monkeypatch, **content) -> pde.Mesh:
    """Return the mesh of a file, as meshio would have read it."""
    height = content.pop("height", lambda x, y: 0.0)
    kinds = content.pop("cells", [("line", [(0, 1), (1, 2), (6, 7)]), ("triangle", CELLS)])
    cells = {kind: np.array(each) for kind, each in kinds}
    file = SimpleNamespace(
        points=np.array([(*point, height(*point)) for point in GRID]),
        cells=[SimpleNamespace(type=kind, data=each) for kind, each in cells.items()],
        cells_dict=cells,
        **{"cell_sets_dict": {}, "cell_data_dict": {}, "field_data": None, **content},
    )
    monkeypatch.setitem(sys.modules, "meshio", SimpleNamespace(read=lambda path: file, ReadError=ValueError))
    return pde.Mesh.read("file")


TAGS = {"gmsh:physical": {"line": np.array([1, 1, 2])}}
NUMBERS = {"inlet": (1, 1), "outlet": (2, 1), "fluid": (1, 2), "none": (7, 1)}
GROUPS = {
    "sets": ({"cell_sets_dict": {"inlet": {"line": [0, 1]}, "gmsh:bounding": {"line": [2]}}}, {"inlet": 2.0}),
    "sets of something else": ({"cell_sets_dict": {"fluid": {"triangle": [0, 1]}}}, {}),
    "an empty set": ({"cell_sets_dict": {"inlet": {"line": []}}}, {}),
    "numbers": ({"cell_data_dict": TAGS, "field_data": NUMBERS}, {"inlet": 2.0, "outlet": 1.0}),
    "names without numbers": ({"field_data": NUMBERS}, {}),
    "both": (
        {"cell_data_dict": TAGS, "field_data": NUMBERS, "cell_sets_dict": {"inlet": {"line": [0]}}},
        {"inlet": 1.0, "outlet": 1.0},
    ),
}


@pytest.mark.parametrize("name", GROUPS)
def test_parts_of_the_boundary_are_the_named_groups_of_a_file(name: str, monkeypatch) -> None:
    content, lengths = GROUPS[name]
    mesh = _read(monkeypatch, **content)
    assert mesh.measure == 4.0
    assert {part: mesh.part_measure(part) for part in mesh.parts if part != "boundary"} == lengths


@pytest.mark.parametrize(("cells", "words"), [([("line", [(0, 1)])], "are line"), ([], "are none")])
def test_a_file_without_an_area_is_refused(cells, words: str, monkeypatch) -> None:
    with pytest.raises(ProblemError, match=rf"(?s)has no triangles or tetrahedra.*Its cells {words}"):
        _read(monkeypatch, cells=cells)


def test_a_surface_in_space_is_no_domain_in_the_plane(monkeypatch) -> None:
    assert _read(monkeypatch, height=lambda x, y: 2.0 + 1e-9 * x).measure == 4.0
    with pytest.raises(ProblemError, match=r"(?s)surface in space.*tetrahedra"):
        _read(monkeypatch, height=lambda x, y: 0.1 * x * y)
