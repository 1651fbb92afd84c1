"""The adapters of primad to other projects' benchmarks, on meshes whose solutions are known."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import primad
from tests.benchmarks.geodesics.__main__ import table as geodesics_table
from tests.benchmarks.mosaic import hexahedra
from tests.benchmarks.mosaic.__main__ import tables as mosaic_tables
from tests.benchmarks.operators.families import FAMILIES, TRAINED, arrays, parabola, sine, solutions
from tests.benchmarks.scikit_fem.__main__ import table as elements_table
from tests.benchmarks.scikit_fem.serve import SIZES, by_primad


def _block(sizes: tuple[int, int, int], lengths: tuple[float, float, float]) -> dict[str, Any]:
    """Return hexahedra of a box in the order of Mosaic's meshes, with room for more, which is not used."""
    counts = [size + 1 for size in sizes]
    axes = [np.linspace(0.0, length, count) for length, count in zip(lengths, counts, strict=True)]
    z, y, x = np.meshgrid(*axes[::-1], indexing="ij")
    points = np.stack([x, y, z], -1).reshape(-1, 3)
    first = np.arange(len(points)).reshape(z.shape)[:-1, :-1, :-1].ravel()
    steps = hexahedra.CORNERS @ [1, counts[0], counts[0] * counts[1]]
    cells = first[:, None] + steps
    spare = np.full((3, 3), 9.0), np.zeros((2, 8), int)
    return {
        "points": np.concatenate([points, spare[0]]),
        "faces": np.concatenate([cells, spare[1]]),
        "n_points": len(points),
        "n_faces": len(cells),
    }


def _conditions(mesh: dict[str, Any], held: Any, flow: Any) -> dict[str, Any]:
    """Return conditions: what is held at the least x, and what flows in at the largest."""
    x = mesh["points"][: mesh["n_points"], 0]
    groups = {"dirichlet": (x == x.min(), held), "neumann": (x == x.max(), flow)}
    return {
        name: {"mask": mask.astype(int), "values": None if values is None else np.array([values])}
        for name, (mask, values) in groups.items()
    }


@pytest.mark.parametrize("held", [None, [0.5]])
def test_heat_through_a_block_and_sources_in_it(held: Any) -> None:
    mesh = _block((4, 3, 2), (2.0, 1.5, 0.5))
    system = hexahedra.system(mesh, _conditions(mesh, held, [3.0]), "conduction", 2.0)
    conductivity = 2.0 * (1e-3 + 0.999 * 0.6**3)
    x = mesh["points"][: mesh["n_points"], 0]
    at_wall = 0.0 if held is None else 0.5
    found = system.solve(np.full(24, 0.6), np.full(24, 0.25))
    np.testing.assert_allclose(found, at_wall + (3.0 * x + 0.25 * (2.0 * x - x**2 / 2)) / conductivity, rtol=1e-12)
    np.testing.assert_allclose(np.sum(system.loads), 3.0 * 1.5 * 0.5)


def test_a_bar_that_is_drawn() -> None:
    """Held along its axis only, it grows by the stress over the modulus, and thins by Poisson's ratio."""
    mesh = _block((3, 2, 2), (3.0, 1.0, 1.0))
    points = mesh["points"][: mesh["n_points"]]
    strain = np.diag([1.0, -hexahedra.RATIO, -hexahedra.RATIO]) * 7.0 / 50.0
    ends = np.isclose(points[:, 0], 0.0)
    mask = np.where(ends, np.cumsum(ends), 0)
    conditions = _conditions(mesh, None, [7.0, 0.0, 0.0])
    conditions["dirichlet"] = {"mask": mask, "values": (points @ strain)[ends]}
    system = hexahedra.system(mesh, conditions, "elasticity", 50.0)
    found = system.solve(np.ones(12))
    np.testing.assert_allclose(found.reshape(-1, 3), points @ strain, atol=1e-14)


@pytest.mark.parametrize("kind", ["conduction", "elasticity"])
def test_gradients_of_the_work_of_loads(kind: str) -> None:
    """The work's gradient is that of the energy with the other sign, and equals differences."""
    mesh = _block((4, 2, 2), (2.0, 1.0, 1.0))
    flow = [1.0] if kind == "conduction" else [0.2, 0.0, -1.0]
    system = hexahedra.system(mesh, _conditions(mesh, None, flow), kind, 10.0)
    random = np.random.default_rng(0)
    densities, along = random.uniform(0.2, 0.9, 16), random.standard_normal(16)

    def work(densities: Any) -> Any:
        return np.dot(system.loads, system.solve(densities))

    slope = primad.grad(work)(densities)
    step = 1e-6
    differences = (work(densities + step * along) - work(densities - step * along)) / (2 * step)
    np.testing.assert_allclose(slope @ along, differences, rtol=1e-7)
    assert np.all(slope < 0.0)


def test_tables_name_what_was_measured() -> None:
    told = {"first": 0.2, "each": 1e-5, "geomstats": "2.8.0"}
    assert "| autograd | 200 ms | 10 µs | 100 µs |" in geodesics_table({"primad": told, "autograd": told})
    check = {"references": 1e-7, "differences": 2e-5, "mosaic": "0.2.0"}
    cost = {"forward": 1e-3, "pullback": 2e-3, "memory": 3_000_000, "cells": 128}
    text = mosaic_tables([("thermal", "primad", check)], [("thermal", "primad", cost)])
    assert "| thermal | primad | 1.0e-07 | 2.0e-05 |" in text
    assert "| thermal | 128 | primad | 1 ms | 2 ms | 3 MB |" in text


def test_the_problem_beside_scikit_fem_is_the_one_that_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Poisson's equation in a square with u = 0 around it has 0.0736713 in the middle."""
    monkeypatch.setitem(SIZES, "poisson P2", 8)
    solved, _ = by_primad("poisson P2")()
    assert solved().max() == pytest.approx(0.0736713, rel=1e-4)
    told = {"values": [1.0, 2.0], "prepare": 0.01, "first": 0.2, "each": 1e-3}
    lines = elements_table(
        {"poisson P2": {"scikit-fem": told, "primad": {**told, "values": [1.0, 2.002]}}}
    ).splitlines()
    assert lines[-1] == "| poisson P2 | 8 | primad | 10 ms | 200 ms | 1 ms | 1.0e-03 |"


@pytest.mark.parametrize(("families", "factor"), [(FAMILIES, sine), (TRAINED, parabola)])
def test_the_plate_is_held_by_the_factor_of_the_published_runs(families: Any, factor: Any) -> None:
    """Short runs, whose times are published, had sines, and the long ones, whose errors are, x(1 - x) y(1 - y)."""
    x, y = at = np.array([[0.3, 0.5, 0.0, 0.7], [0.8, 0.1, 0.4, 1.0]])
    written = np.sin(np.pi * x) * np.sin(np.pi * y) if factor is sine else x * (1 - x) * y * (1 - y)
    parameters, codes = arrays("plate", 1, "float64")["parameters"], np.random.default_rng(1).normal(size=(3, 128))
    free = solutions(np, replace(families["plate"], transform=None), parameters, codes, at.T)
    assert np.all(np.abs(free) > 1e-3)
    np.testing.assert_allclose(solutions(np, families["plate"], parameters, codes, at.T), free * written, atol=1e-12)


def test_operators_whose_errors_are_told_are_trained_with_that_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])  # the module that trains lengthens it
    training = import_module("tests.benchmarks.operators.trained")
    taken: list[Any] = []

    def seen(family: Any) -> Any:
        taken.append(family.transform.__name__)
        raise LookupError

    monkeypatch.setattr(training.forms, "adam_step", seen)
    with pytest.raises(LookupError):
        training.trained("plate", 0, 1)
    assert taken == ["parabola"]
