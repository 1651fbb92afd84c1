"""What points count: weights add up to the measure, grids have as many points as cells, weights of terms go slowly."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from primad import pde
from primad.pde.geometry.sampling import Sequences, generator, unit_points
from primad.pde.problem.weighting import KEPT, Balance
from tests.pde.geometry.test_domains import DOMAINS


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", DOMAINS)
def test_weights_add_up_to_the_measure(name: str) -> None:
    """However points are drawn, and of a domain that is cut out of another one as of a whole one."""
    domain, *_ = DOMAINS[name]
    drawn = [domain.interior(count, how) for how in Sequences for count in (7, 60)]
    order = 9 if domain.dimension < 4 else 3
    for points in [*drawn, domain.quadrature(order)]:
        assert np.sum(points.weights) == pytest.approx(domain.measure, rel=1e-12)
    for part in domain.parts:
        drawn = [domain.boundary(part, 20, how) for how in Sequences]
        for points in [*drawn, domain.boundary_quadrature(part, order)]:
            assert np.sum(points.weights) == pytest.approx(domain.part_measure(part), rel=1e-12)


@pytest.mark.parametrize("dimension", range(1, 7))
def test_a_grid_of_as_many_points_as_asked_for_has_no_more(dimension: int) -> None:
    """A root that rounding moves above a whole number is that number."""
    for each in range(1, 8 if dimension < 6 else 5):
        assert len(unit_points("grid", each**dimension, dimension, generator(0))) == each**dimension
        assert len(unit_points("grid", each**dimension + 1, dimension, generator(0))) == (each + 1) ** dimension


def test_weights_of_terms_go_a_tenth_of_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine tenths of the old weights stay, as in the paper: a gradient of one batch is noisy."""
    assert KEPT == 0.9
    problem = pde.Problem(lambda u: u.x - 1, pde.Interval(0, 1), [pde.Dirichlet(u=0, hard=False)])
    params, points = problem.init(), problem.points(10)
    balance = Balance(problem, problem.computed_by(None))
    first, second = balance._slopes
    lengths = {first: 3.0, second: 1.0}
    slopes = {name: lambda *_, size=size: np.array([size]) for name, size in lengths.items()}
    monkeypatch.setattr(balance, "_slopes", slopes)
    space = SimpleNamespace(of=lambda params: SimpleNamespace(vector=lambda x: x))
    monkeypatch.setattr("primad.pde.problem.weighting.Space", space)
    found = balance.balanced(params, points, {first: 1.0, second: 1.0})
    wanted = {first: 0.9 + 0.1 * 4 / 3, second: 0.9 + 0.1 * 4 / 1}
    assert found[second] / found[first] == pytest.approx(wanted[second] / wanted[first], rel=1e-12)
