"""Triangles in shapes of the plane: they fill these, their outer edges are the boundary, and none is thin."""

from __future__ import annotations

import numpy as np
import pytest

from primad import pde
from primad.errors import ProblemError
from primad.pde.geometry.plane_meshes import _numbered
from primad.pde.geometry.triangulations import triangulated

SHAPES = {
    "disk": (pde.Disk((1, 2), 1.5), np.pi * 1.5**2, {"boundary": 3 * np.pi}),
    "ring": (pde.Disk(radius=2) - pde.Disk(), 3 * np.pi, {"boundary": 4 * np.pi, "boundary 2": 2 * np.pi}),
    "hole": (pde.Box(x=(0, 4), y=(0, 2)) - pde.Disk((2, 1), 0.5), 8 - np.pi / 4, {"y+": 4, "boundary": np.pi}),
    "bite": (
        pde.Box(x=(0, 2), y=(0, 1)) - pde.Disk((2, 0.5), 0.25),
        2 - np.pi / 32,
        {"x+": 0.5, "x-": 1, "boundary": np.pi / 4},
    ),
    "lens": (
        pde.Disk() & pde.Disk((1, 0)),
        2 * np.pi / 3 - np.sqrt(3) / 2,
        {"boundary": 2 * np.pi / 3, "boundary 2": 2 * np.pi / 3},
    ),
    "union": (
        pde.Box(x=(0, 2), y=(-1, 1)) | pde.Disk((2, 0), 1),
        4 + np.pi / 2,
        {"x-": 2, "y+": 2, "boundary": np.pi},
    ),
}


def sides(points, facets):
    return np.linalg.norm(np.diff(points[facets], axis=1)[:, 0], axis=1)


def thinnest(points, cells):
    """Return by how much the worst triangle falls behind one with equal sides, which has 1."""
    corners = points[cells]
    areas = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])) / 2
    squares = np.sum((corners - np.roll(corners, 1, axis=1)) ** 2, axis=(1, 2))
    return areas, np.min(4 * np.sqrt(3) * areas / squares)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", SHAPES)
def test_areas_and_lengths_of_parts_are_those_of_the_shape(name: str) -> None:
    domain, area, lengths = SHAPES[name]
    for size in (0.2, 0.05):
        mesh = triangulated(domain, size)
        areas, thin = thinnest(mesh.points, mesh.cells)
        assert abs(np.sum(areas) / area - 1) < size**2 and thin > 0.5
        for part, length in lengths.items():
            own = sides(mesh.points, mesh.facets[part])
            assert np.sum(own) == pytest.approx(length, rel=size**2) and np.max(own) < size * 1.001
        assert sum(len(own) for own in mesh.facets.values()) == len(np.unique(np.concatenate([*mesh.facets.values()])))


@pytest.mark.one_in(16)
@pytest.mark.parametrize("seed", range(20))
def test_random_shapes_are_filled(seed: int) -> None:
    """The area is right, and outer edges close: each corner there has two, or four where two corners meet."""
    rng = np.random.default_rng(seed)

    def drawn():
        x, y, r = *rng.uniform(-0.5, 0.5, 2), rng.uniform(0.4, 1.0)
        corners = np.array([x, y]) + r * np.array([(1, 0), (0.2, 0.9), (-0.8, 0.1), (0.1, -0.7)])
        return [pde.Disk((x, y), r), pde.Box(x=(x - r, x + r), y=(y - r, y + r)), pde.Polygon(corners)][rng.integers(3)]

    domain = drawn()
    for _ in range(2):
        other, word = drawn(), rng.integers(3)
        try:
            domain = [domain | other, domain - other, domain & other][word] if rng.integers(4) else domain - other
        except ProblemError:  # nothing is left
            return
    mesh = triangulated(domain, 0.05)
    areas, _ = thinnest(mesh.points, mesh.cells)
    assert np.sum(areas) == pytest.approx(domain.measure, rel=0.03, abs=3e-3)  # a measure is of points
    facets = np.concatenate([*mesh.facets.values()])
    assert set(np.bincount(facets.ravel())) <= {0, 2, 4}
    for part, own in mesh.facets.items():
        assert len(own), part


def test_edges_that_are_too_long_are_an_error() -> None:
    thin = pde.Disk(radius=1) - pde.Disk(radius=0.98)
    with pytest.raises(ProblemError, match=r"take smaller ones: size=0\.25"):
        triangulated(thin, 0.5)
    assert len(triangulated(thin, 0.02).cells) > 300


def test_any_count_of_inclusions_is_told_apart() -> None:
    """More than a machine's integer has bits, as composites have."""
    disks = [pde.Disk((i, 0), 0.4) for i in range(140)]
    at = np.array([[i, 0.0] for i in range(140)] + [[0.5, 0.0]])
    numbers = _numbered(disks, at)
    assert len(set(numbers.tolist())) == 141 and numbers[-1] == 0
