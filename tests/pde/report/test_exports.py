"""Columns and files have what a solution answers at their points, with all digits; cells of VTK fill the domain."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primad.numpy as pnp
from primad import pde
from primad.errors import ProblemError

SMALL = pde.MLP(4, 1)
HOLE = pde.Box(x=(0, 2), y=(0, 1)) - pde.Disk((1, 0.5), 0.25)


def solved(domain: Any, conditions: Any, equation: Any, **more: Any) -> pde.Solution:
    problem = pde.Problem(equation, domain, conditions, **{"network": SMALL, **more})
    return problem.solve(steps=2, points=30, progress=False)


@pytest.fixture(scope="module")
def plate(code: None) -> pde.Solution:
    return solved(HOLE, pde.Dirichlet(u=0), lambda u: pde.laplacian(u) + 1)


def read(path: Path) -> dict[str, Any]:
    """Return the blocks of a file of VTK."""
    words = path.read_text(encoding="ascii").split("\n", 3)[3].split()
    found: dict[str, Any] = {"kind": words[1]}
    i = 2
    while i < len(words):
        if words[i] == "POINTS":
            count = 3 * int(words[i + 1])
            found["points"] = np.array(words[i + 3 : i + 3 + count], float).reshape(-1, 3)
            i += 3 + count
        elif words[i] == "CELLS":
            count = int(words[i + 2])
            found["cells"] = np.array(words[i + 3 : i + 3 + count], int).reshape(int(words[i + 1]), -1)
            i += 3 + count
        elif words[i] == "CELL_TYPES":
            count = int(words[i + 1])
            found["types"] = set(words[i + 2 : i + 2 + count])
            i += 2 + count
        elif words[i] == "POINT_DATA":
            assert int(words[i + 1]) == len(found["points"])
            i += 2
        else:
            assert words[i] == "SCALARS" and words[i + 2 : i + 6] == ["double", "1", "LOOKUP_TABLE", "default"]
            count = len(found["points"])
            found[words[i + 1]] = np.array(words[i + 6 : i + 6 + count], float)
            i += 6 + count
    return found


def test_columns_are_what_is_answered_inside(plate: pde.Solution, tmp_path: Path) -> None:
    columns = plate.table(points=9, names="u u.x")
    at = np.stack([columns["x"], columns["y"]], axis=1)
    assert list(columns) == ["x", "y", "u", "u.x"] and np.all(HOLE.contains(at)) and 70 < len(at) < 81
    np.testing.assert_array_equal(columns["u"], plate.at(at, "u"))
    np.testing.assert_array_equal(columns["u.x"], plate.at(at, "u", "x"))
    plate.save_csv(tmp_path / "u.csv", points=9, names="u u.x")
    with (tmp_path / "u.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for name, column in columns.items():
        np.testing.assert_array_equal([float(row[name]) for row in rows], column)
    own = plate.table(points=at[:5])
    np.testing.assert_array_equal(own["u"], columns["u"][:5])
    chosen = plate.table(points={"x": [0.1, 0.2], "y": 3})
    assert chosen["x"].tolist() == [0.1, 0.1, 0.1, 0.2, 0.2, 0.2] and chosen["y"].tolist() == [0, 0.5, 1, 0, 0.5, 1]


def test_cells_of_vtk_fill_the_domain(plate: pde.Solution, tmp_path: Path) -> None:
    plate.save_vtk(tmp_path / "u.vtk", points={"x": 81, "y": 41}, names="u u.y")
    found = read(tmp_path / "u.vtk")
    assert found["kind"] == "UNSTRUCTURED_GRID" and found["types"] == {"9"} and set(found["cells"][:, 0]) == {4}
    x, y, z = found["points"].T
    a, b, c, d = found["cells"][:, 1:].T
    areas = 0.5 * ((x[c] - x[a]) * (y[d] - y[b]) - (x[d] - x[b]) * (y[c] - y[a]))
    np.testing.assert_allclose(areas, 0.025**2)
    assert 0.97 * HOLE.measure < np.sum(areas) < HOLE.measure and not np.any(z)
    np.testing.assert_array_equal(found["u"], plate.at(found["points"][:, :2], "u"))
    np.testing.assert_array_equal(found["u.y"], plate.at(found["points"][:, :2], "u", "y"))
    plate.save_vtk(tmp_path / "points.vtk", points=found["points"][:7, :2])
    few = read(tmp_path / "points.vtk")
    assert few["types"] == {"1"} and few["cells"].tolist() == [[1, i] for i in range(7)]


def test_hexahedra_have_positive_volume_and_time_is_an_axis_or_one_value(tmp_path: Path) -> None:
    start = pde.Initial(u=lambda x, y: pnp.sin(np.pi * x) * pnp.sin(np.pi * y))
    domain = pde.Box(x=(0, 1), y=(0, 1)) * pde.Time(0, 2)
    heat = solved(domain, [pde.Dirichlet(u=0), start], lambda u: u.t - pde.laplacian(u))
    heat.save_vtk(tmp_path / "all.vtk", points=4)
    found = read(tmp_path / "all.vtk")
    assert found["types"] == {"12"} and len(found["cells"]) == 27
    corners = found["points"][found["cells"][:, 1:]]
    edges = corners[:, [1, 3, 4]] - corners[:, :1]
    np.testing.assert_allclose(np.linalg.det(edges), 2 / 27)
    np.testing.assert_allclose(corners[:, 6] - corners[:, 0], [[1 / 3, 1 / 3, 2 / 3]] * 27)
    heat.save_vtk(tmp_path / "one.vtk", points={"t": [0.5], "x": 4, "y": 4})
    one = read(tmp_path / "one.vtk")
    assert one["types"] == {"9"} and not np.any(one["points"][:, 2])
    assert (tmp_path / "one.vtk").read_text(encoding="ascii").splitlines()[1] == "u, t = 0.5"
    at = np.concatenate([one["points"][:, :2], np.full((16, 1), 0.5)], axis=1)
    np.testing.assert_array_equal(one["u"], heat.at(at, "u"))


def test_more_axes_than_vtk_has_are_refused(tmp_path: Path) -> None:
    domain = pde.Box(x=(0, 1), y=(0, 1), z=(0, 1)) * pde.Time(0, 1)
    heat = solved(domain, [pde.Dirichlet(u=0), pde.Initial(u=0)], lambda u: u.t - pde.laplacian(u))
    with pytest.raises(ProblemError, match="there are 4 axes") as error:
        heat.save_vtk(tmp_path / "u.vtk", points=3)
    assert 'points={"t": [0.5]}' in str(error.value) and not (tmp_path / "u.vtk").exists()
    heat.save_vtk(tmp_path / "u.vtk", points={"x": 3, "y": 3, "z": 3, "t": [0.5]})
    assert len(read(tmp_path / "u.vtk")["cells"]) == 8


def test_complex_unknowns_are_two_columns_of_files(tmp_path: Path) -> None:
    line = solved(pde.Interval(0, 1), pde.Dirichlet(h=1j), lambda h: h.xx, unknowns="h", network=pde.Complex(SMALL))
    assert np.iscomplexobj(line.table(points=3)["h"])
    line.save_csv(tmp_path / "h.csv", points=3)
    assert (tmp_path / "h.csv").read_text(encoding="utf-8").splitlines()[0] == "x,h.real,h.imag"
    line.save_vtk(tmp_path / "h.vtk", points=3)
    assert {"h.real", "h.imag"} <= set(read(tmp_path / "h.vtk")) and read(tmp_path / "h.vtk")["types"] == {"3"}


def test_solutions_on_grids_are_exported_alike() -> None:
    problem = pde.Problem(lambda u: u.xx + 2, pde.Interval(0, 1), pde.Dirichlet(u=0))
    columns = problem.solve(method="elements", size=0.1, degree=2).table(points=5)
    np.testing.assert_allclose(columns["u"], columns["x"] * (1 - columns["x"]), atol=1e-12)


def test_slips_are_told(plate: pde.Solution, tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="no coordinate 'z'"):
        plate.table(points={"z": 3})
    with pytest.raises(ProblemError, match="no number of points along x"):
        plate.table(points=0)
    with pytest.raises(ProblemError, match="'v' is no unknown"):
        plate.table(points=3, names="v")
    with pytest.raises(ProblemError, match="none of the 3 points lies in"):
        plate.table(points={"x": [9.0], "y": 3})
    with pytest.raises(ProblemError, match="outside of the domain"):
        plate.table(points=[[1.0, 0.5]])
    with pytest.raises(ProblemError, match="none of the cells"):
        plate.save_vtk(tmp_path / "none.vtk", points={"x": [0.1, 1.0], "y": [0.5]})
