"""Tangents are sums of the matrices of elements, with no directions, and they are the derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
from primad import pde
from primad.programs.sparsity.compressed import Compressed, SumsKey
from tests.sweeps import chosen

SQUARE = pde.Box(x=(0, 1), y=(0, 1))
CUBE = pde.Box(x=(0, 1), y=(0, 1), z=(0, 1))
NET = pde.MLP(4, 1)


def poisson(domain: Any) -> Any:
    return pde.Problem(lambda u: pde.laplacian(u) + 1, domain, [pde.Dirichlet(u=0)], network=NET)


def nonlinear(domain: Any) -> Any:
    conditions = [pde.Dirichlet(u=1, on="x-"), pde.Condition(lambda u, n: u.x * n.x + u.y * n.y + u**2, on="x+")]
    return pde.Problem(
        lambda u: (1 + u**2) * pde.laplacian(u) + 2 * u * (u.x**2 + u.y**2) + u * u.x,
        domain,
        [*conditions, pde.Robin(u=1, a=2, on=["y-", "y+"])],
        network=NET,
    )


def ring(domain: Any) -> Any:
    return pde.Problem(
        lambda u: pde.laplacian(u) - u**3 + 1,
        domain,
        [pde.Periodic("x"), pde.Neumann(u=0, on=["y-", "y+"])],
        network=NET,
    )


def elastic(domain: Any) -> Any:
    def at_rest(u: Any, v: Any) -> Any:
        return 3 * u.xx + u.yy + 2 * v.d("xy"), 3 * v.yy + v.xx + 2 * u.d("xy") - 1

    def free(u: Any, v: Any, n: Any) -> Any:
        return (3 * u.x + v.y) * n.x + (u.y + v.x) * n.y, (3 * v.y + u.x) * n.y + (u.y + v.x) * n.x

    conditions = [pde.Dirichlet(u=0, v=0, on="x-"), pde.Condition(free, on=["x+", "y-", "y+"])]
    return pde.Problem(at_rest, domain, conditions, unknowns="u v", network=NET)


def flow(domain: Any) -> Any:
    def navier_stokes(u: Any, v: Any, p: Any) -> Any:
        return (
            u * u.x + v * u.y + p.x - pde.laplacian(u),
            u * v.x + v * v.y + p.y - pde.laplacian(v),
            u.x + v.y,
        )

    at_walls = pde.Dirichlet(u=lambda x, y: y * (1 - y), v=0, on=["x-", "y-", "y+"])
    leaving = pde.Condition(lambda u, v, p, n: (u.x * n.x - p, v.x), on="x+")
    return pde.Problem(
        navier_stokes, domain, [at_walls, leaving, pde.Free("p", on=["x-", "y-", "y+"])], unknowns="u v p", network=NET
    )


CASES = {
    "interval": (poisson, pde.Interval(0, 1), 0.1, 1),
    "interval 2": (poisson, pde.Interval(0, 1), 0.1, 2),
    "square": (poisson, SQUARE, 0.2, 1),
    "square 2": (poisson, SQUARE, 0.2, 2),
    "cube": (poisson, CUBE, 0.125, 1),
    "cube 2": (poisson, CUBE, 0.25, 2),
    "nonlinear": (nonlinear, SQUARE, 0.2, 1),
    "nonlinear 2": (nonlinear, SQUARE, 0.25, 2),
    "ring": (ring, SQUARE, 0.2, 2),
    "elastic": (elastic, SQUARE, 0.25, 1),
    "elastic 2": (elastic, SQUARE, 0.25, 2),
    "flow": (flow, SQUARE, 0.25, 2),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", chosen(CASES, {"interval 2", "cube", "nonlinear 2", "ring", "flow"}))
def test_tangents_are_sums_of_the_matrices_of_elements(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    direct: list[bool] = []
    fill = Compressed._fill

    def watched(key: Any, *rest: Any) -> None:
        direct.append(isinstance(key, SumsKey))
        fill(key, *rest)

    monkeypatch.setattr(Compressed, "_fill", staticmethod(watched))
    stated, domain, size, degree = CASES[name]
    elements = pde.Elements(stated(domain), size, degree)
    held = elements.held.at(None, {})

    def residual(free: Any) -> Any:
        return elements.gathered(elements.residual(elements.whole(free, held), {}))

    at = np.random.default_rng(0).normal(size=len(elements.free))
    matrix = primad.jacobian(residual)(at).sparse()
    assert direct == [True]
    np.testing.assert_allclose(matrix.toarray(), primad.jacfwd(residual)(at), rtol=1e-9, atol=1e-10)


def test_equations_are_recorded_once() -> None:
    """A second solution for other numbers asks nothing of the equation, and is another one."""
    asked = []

    def equation(u: Any, k: Any) -> Any:
        asked.append(k)
        return k * pde.laplacian(u) + 1

    problem = pde.Problem(equation, SQUARE, [pde.Dirichlet(u=0)], constants={"k": 1.0}, network=NET)
    elements = pde.Elements(problem, 0.1)
    first, count = elements.values(), len(asked)
    second = elements.values(k=2.0)
    assert len(asked) == count
    np.testing.assert_allclose(second, first / 2, rtol=1e-12, atol=1e-15)


def test_what_is_zero_or_fixed_is_in_no_equation() -> None:
    """Of constant factors no divergence is left, and fluxes that depend on nothing are added as numbers."""
    sides = ["y-", "y+", "x+"]

    def ops(conditions: list[Any], equation: Any = lambda u: 3 * u.xx + 2 * u.d("xy") + u.yy + 1) -> list[str]:
        problem = pde.Problem(equation, SQUARE, [pde.Dirichlet(u=0, on="x-"), *conditions], network=NET)
        elements = pde.Elements(problem, 0.25)
        program = primad.trace(lambda values: elements.residual(values, {}))(np.zeros(25))
        return sorted([node.op.name for node in primad.lower(program).nodes])

    free = ops([pde.Condition(lambda u, n: (3 * u.x + u.y) * n.x + (u.x + u.y) * n.y, on=sides)])
    pulled = ops([pde.Condition(lambda u, n, x: (3 * u.x + u.y) * n.x + (u.x + u.y) * n.y - x, on=sides)])
    assert free == ops([pde.Dirichlet(u=0, on=sides)])
    assert pulled == sorted([*free, "add", "captured"])
    assert "solve" not in "".join(free)
    changing = ops([pde.Dirichlet(u=0, on=sides)], lambda u, x: (3 + x) * u.xx + 2 * u.d("xy") + u.yy + 1)
    assert len(changing) > len(free)


def test_parts_of_the_boundary_with_the_same_conditions_are_one() -> None:
    """Three sides that are free are one part, and sides on which different things are said are not."""

    def solved(conditions: list[Any]) -> tuple[int, Any]:
        problem = pde.Problem(lambda u: pde.laplacian(u) - u, SQUARE, conditions, network=NET)
        elements = pde.Elements(problem, 0.5, 2)
        return len(elements.edges._edges), elements.values()

    sides = ["x-", "x+", "y-", "y+"]
    together, values = solved([pde.Robin(u=1, a=2, on=sides)])
    apart, others = solved([pde.Robin(u=1, a=2, on=side) for side in sides])
    assert (together, apart) == (1, 4)
    np.testing.assert_allclose(values, others, rtol=1e-12)
    count, unlike = solved([pde.Robin(u=1, a=2, on=sides[:2]), pde.Robin(u=2, a=2, on=sides[2:])])
    assert count == 2
    assert not np.allclose(values, unlike)


def test_factors_are_numbers_where_they_depend_on_nothing() -> None:
    """Those that a constant, a coordinate or an unknown is in are not."""

    def factors(equation: Any) -> list[list[float | None]]:
        problem = pde.Problem(equation, SQUARE, [pde.Dirichlet(u=0)], constants={"k": 1.0}, network=NET)
        return [[*row] for row in pde.Elements(problem, 0.5).form.uniform]

    assert factors(lambda u, k: 3 * u.xx + k * u.yy + 1) == [[3.0], [None]]
    assert factors(lambda u, x, k: x * u.xx + 2 * u.yy + k) == [[None], [2.0]]
    assert factors(lambda u, k: u.xx + u**2 * u.yy + k) == [[1.0], [None]]
