"""Elements of several materials: equations in parts of a domain, and conditions between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad import pde
from primad.errors import ProblemError
from tests.sweeps import thinned

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

NET = pde.MLP(4, 1)
BOTH = {"u": NET, "v": NET}
LEFT, RIGHT, LINE = pde.Interval(0, 0.5), pde.Interval(0.5, 1), pde.Interval(0, 1)
SQUARE, DISK, TIME = pde.Box(x=(0, 1), y=(0, 1)), pde.Disk((0.5, 0.5), 0.25), pde.Time(0, 1)
CUBE, FLOOR = pde.Box(x=(0, 1), y=(0, 1), z=(0, 1)), pde.Box(x=(0, 1), y=(0, 1), z=(0, 0.4))
SLANTED = [(0, 0), (0.4, 0), (0.7, 1), (0, 1)]
ENDS = [pde.Dirichlet(u=0, on="x-"), pde.Dirichlet(v=1, on="x+")]
TWO = {"copper": pde.Within(LEFT, lambda u: u.xx), "steel": pde.Within(RIGHT, lambda v: v.xx)}

PARTED: dict[str, tuple[Any, Any, Callable[..., Any]]] = {
    "interval": (LINE, LEFT, lambda x: x - 0.5),
    "union": (LEFT | RIGHT, RIGHT, lambda x: 0.5 - x),
    "box": (SQUARE, pde.Box(x=(0, 0.37), y=(0, 1)), lambda x, y: x - 0.37),
    "polygon": (SQUARE, pde.Polygon(SLANTED), lambda x, y: x - 0.4 - 0.3 * y),
    "cube": (CUBE, FLOOR, lambda x, y, z: z - 0.4),
}
"""A domain, a part of it, and what grows from its boundary, with the slope of which the part is multiplied by 3."""


@pytest.mark.one_in(4)
@thinned(2, name=list(PARTED), degree=[1, 2])
def test_what_flows_is_one_between_materials(name: str, degree: int) -> None:
    """With a third of what the other conducts, a material has three times the slope, on elements that end there."""
    domain, part, across = PARTED[name]
    names = ", ".join(domain.names)

    def exact(value: Any) -> Any:
        return np.where(value < 0, 3 * value, value)

    flat = eval(f"lambda {names}: f(g({names}))", {"f": exact, "g": across})
    thick, rest = (
        pde.Within(part, lambda u: pde.laplacian(u) / 3),
        pde.Within(domain - part, lambda u: pde.laplacian(u)),
    )
    problem = pde.Problem([thick, rest], domain, [pde.Dirichlet(u=flat, hard=False)], network=NET)
    assert problem.solve(method="elements", size=0.3, degree=degree).error(u=flat) < 1e-12


def inner(x: Any, y: Any) -> Any:
    return ((x - 0.5) ** 2 + (y - 0.5) ** 2) / 8 + 0.0625 / 8 + 0.3


def outer(x: Any, y: Any) -> Any:
    return ((x - 0.5) ** 2 + (y - 0.5) ** 2) / 4


def test_unknowns_jump_at_a_circle_and_errors_fall_with_the_square_of_the_size() -> None:
    problem = pde.Problem(
        {
            "inside": pde.Within(DISK, lambda u: 2 * pde.laplacian(u) - 1),
            "outside": pde.Within(SQUARE - DISK, lambda v: pde.laplacian(v) - 1),
        },
        SQUARE,
        [
            pde.Dirichlet(v=outer, hard=False),
            pde.Interface(lambda u, v, n: (u - v - 0.3, 2 * (u.x * n.x + u.y * n.y) - v.x * n.x - v.y * n.y), of=DISK),
        ],
        unknowns=BOTH,
    )
    solutions = [problem.solve(method="elements", size=size) for size in (0.1, 0.05)]
    for name, exact in (("u", inner), ("v", outer)):
        errors = [one.error(**{name: exact}) for one in solutions]
        assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.6)
    assert np.isnan(solutions[0].v(0.5, 0.5)) and np.isnan(solutions[0].u(0.1, 0.1))


def line(slope: float, jump: float = 0.0) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return u and v of which u has a slope and v is 1 at the end, and jumps from u at the middle."""
    return lambda x: slope * x, lambda x: slope / 2 + jump + 2 * (1 - slope / 2 - jump) * (x - 0.5)


BETWEEN: dict[str, tuple[Callable[..., Any], Any]] = {
    "flux": (lambda u, v: (u - v, 8 * u.x - v.x), line(2 / 9)),
    "normal": (lambda u, v, n: (v - u, n.x * (8 * u.x - v.x)), line(2 / 9)),
    "jump": (lambda u, v: (2 * u - 2 * v + 0.2, 8 * u.x - v.x), line(1.8 / 9, 0.1)),
    "source": (lambda u, v: (u - v, u.x - v.x - 1), line(1.5)),
    "constant": (lambda u, v, k: (u - v, u.x - v.x - k), line(1.5)),
    "pulled": (lambda u, v: (u - v, u.x - v.x - u), line(4 / 3)),
    "contact": (lambda u, v: (8 * u.x - 4 * (v - u), 8 * u.x - v.x), line(1 / 6.5, 2 / 6.5)),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("said", BETWEEN)
def test_conditions_between_materials_are_exact_on_lines(said: str) -> None:
    condition, (u, v) = BETWEEN[said]
    constants = {"k": 1.0} if said == "constant" else {}
    for of, on in ((LEFT, "x+"), (RIGHT, "x-")):
        if said == "normal" or of is LEFT:
            between = pde.Interface(condition, of=of, on=on)
            problem = pde.Problem(TWO, LINE, [*ENDS, between], unknowns=BOTH, constants=constants)
            solution = problem.solve(method="elements", size=0.13)
            assert solution.error(u=u) < 1e-12 and solution.error(v=v) < 1e-12


def test_a_source_between_materials_is_differentiated() -> None:
    between = pde.Interface(BETWEEN["constant"][0], of=LEFT, on="x+")
    elements = pde.Elements(pde.Problem(TWO, LINE, [*ENDS, between], unknowns=BOTH, constants={"k": 1.0}), 0.1)
    place = int(np.argmin(np.abs(elements.spaces[0].nodes.at[:, 0] - 0.5)))
    assert primad.grad(lambda k: elements.values(k=k)["u"][place])(1.0) == pytest.approx(0.25)


def test_conditions_of_one_place_may_be_stated_one_by_one_and_from_both_sides() -> None:
    values = pde.Interface(lambda u, v: u - v, of=LEFT, on="x+")
    flux = pde.Interface(lambda u, v, n: 8 * u.x - v.x + 5 * (1 + n.x), of=RIGHT, on="x-")
    solution = pde.Problem(TWO, LINE, [*ENDS, values, flux], unknowns=BOTH).solve(method="elements", size=0.1)
    assert solution.error(u=line(2 / 9)[0]) < 1e-12


def test_plates_of_two_materials_are_in_balance_where_they_meet() -> None:
    """Stretched and sheared evenly on each side, as stress is one; what is along the facets counts too."""

    def stress(u: Any, v: Any) -> tuple[Any, Any, Any]:
        return 2.4 * u.x + 0.9 * v.y, 0.75 * (u.y + v.x), 2.4 * v.y + 0.9 * u.x

    def at_rest(u: Any, v: Any) -> Any:
        return 2.4 * u.xx + 0.75 * u.yy + 1.65 * v.d("xy"), 2.4 * v.yy + 0.75 * v.xx + 1.65 * u.d("xy")

    def between(u: Any, v: Any, w: Any, z: Any, n: Any) -> Any:
        xx, xy, yy = [one - 2 * other for one, other in zip(stress(u, v), stress(w, z), strict=True)]
        return u - w, v - z, xx * n.x + xy * n.y, xy * n.x + yy * n.y

    across, along, shear = 0.2, 0.1, 0.3
    stretched, turned = (2.4 * across - 0.9 * along) / 4.8, (shear - 0.1) / 2
    exact = {
        "u": lambda x, y: across * x + 0.1 * y,
        "v": lambda x, y: shear * x + along * y,
        "w": lambda x, y: across + stretched * (x - 1) + 0.1 * y,
        "z": lambda x, y: shear + turned * (x - 1) + along * y,
    }
    plate, half = pde.Box(x=(0, 2), y=(0, 1)), pde.Box(x=(0, 1), y=(0, 1))
    problem = pde.Problem(
        {
            "soft": pde.Within(half, at_rest),
            "stiff": pde.Within(plate - half, lambda w, z: tuple([2 * one for one in at_rest(w, z)])),
        },
        plate,
        [pde.Dirichlet(**exact, hard=False), pde.Interface(between, of=half, on="x+")],
        unknowns=dict.fromkeys(exact, NET),
    )
    solution = problem.solve(method="elements", size=0.3)
    assert [solution.error(**{name: one}) < 1e-12 for name, one in exact.items()] == [True] * 4


def test_values_are_given_inside_of_a_domain() -> None:
    """On a boundary inside, of an unknown on both sides, and of one that ends there."""
    inner_one = pde.Interface(lambda u, x, k: u - k * x, of=pde.Interval(0.3, 0.6))
    problem = pde.Problem(lambda u, k: u.xx, LINE, [pde.Dirichlet(u=0), inner_one], constants={"k": 2.0}, network=NET)
    exact = {0.15: 0.3, 0.45: 0.9, 0.8: 0.6}
    solution = problem.solve(method="elements", size=0.1)
    assert [solution.u(x) for x in exact] == pytest.approx(list(exact.values()))
    between = [
        pde.Interface(lambda u: u - 0.5, of=LEFT, on="x+"),
        pde.Interface(lambda v, n: v.x * n.x - 3, of=LEFT, on="x+"),
    ]
    solution = pde.Problem(TWO, LINE, [*ENDS, *between], unknowns=BOTH).solve(method="elements", size=0.1)
    assert solution.error(u=lambda x: x) < 1e-12 and solution.error(v=lambda x: 1 - 3 * (1 - x)) < 1e-12


def test_errors_around_an_electrode_fall_with_the_square_of_the_size() -> None:
    problem = pde.Problem(
        lambda u: pde.laplacian(u),
        pde.Disk((0, 0), 1),
        [pde.Dirichlet(u=0), pde.Interface(lambda u: u - 1, of=pde.Disk((0, 0), 0.25))],
        network=NET,
    )

    def exact(x: Any, y: Any) -> Any:
        return np.minimum(np.log(np.maximum(np.hypot(x, y), 0.1)) / np.log(0.25), 1)

    errors = [problem.solve(method="elements", size=size).error(u=exact) for size in (0.2, 0.1)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.5)


def test_one_level_is_chosen_for_unknowns_that_are_tied() -> None:
    """On a circle of two materials, with a source where they meet at one place, and none on the whole."""
    middle = pde.Interface(lambda u, v, n: (u - v, n.x * (8 * u.x - v.x) - 1 + 2 * 0.5), of=LEFT, on="x+")
    problem = pde.Problem(
        {"copper": pde.Within(LEFT, lambda u: 8 * u.xx + 1), "steel": pde.Within(RIGHT, lambda v: v.xx - 1)},
        LINE,
        [pde.Neumann(u=0, on="x-"), pde.Neumann(v=0, on="x+"), middle],
        unknowns=BOTH,
    )
    solution = problem.solve(method="elements", size=0.1, degree=2)
    shift = solution.u(0.0)
    assert solution.u(0.5) - shift == pytest.approx(-1 / 64)
    assert solution.v(1.0) - shift == pytest.approx(-1 / 64 - 1 / 8)
    total = sum(
        float(np.mean(one)) for one in (solution.u(np.linspace(0, 0.5, 2001)), solution.v(np.linspace(0.5, 1, 2001)))
    )
    assert total == pytest.approx(0, abs=1e-4)


OPEN: dict[str, tuple[Any, list[Any]]] = {
    "nothing is said of": (TWO, []),
    "says 1 things of values and 0 of derivatives": (TWO, [pde.Interface(lambda u, v: u - v, of=LEFT, on="x+")]),
    "says of values another thing": (TWO, [pde.Interface(lambda u, v: (u - 1, u.x - v.x), of=LEFT, on="x+")]),
    "differ by what is a number": (TWO, [pde.Interface(lambda u, v: (u - 2 * v, u.x - v.x), of=LEFT, on="x+")]),
    "is not linear in derivatives": (TWO, [pde.Interface(lambda u, v: (u - v, u.x**2 - v.x), of=LEFT, on="x+")]),
    "is on no boundary inside": (TWO, [pde.Interface(lambda u, v: (u - v, u.x - v.x), of=LEFT, on="x-")]),
    "where none holds": ({**TWO, "steel": pde.Within(pde.Interval(0.6, 1), lambda v: v.xx)}, []),
}


@pytest.mark.parametrize("words", OPEN)
def test_what_is_not_said_between_materials_is_an_error(words: str) -> None:
    equations, conditions = OPEN[words]
    problem = pde.Problem(equations, LINE, [*ENDS, *conditions], unknowns=BOTH)
    with pytest.raises(ProblemError, match=words):
        problem.solve(method="elements", size=0.1)


def test_materials_are_heated_in_time() -> None:
    problem = pde.Problem(
        {
            "copper": pde.Within(LEFT * TIME, lambda u: u.t - 8 * u.xx),
            "steel": pde.Within(RIGHT * TIME, lambda v: v.t - v.xx),
        },
        LINE * TIME,
        [
            *ENDS,
            pde.Initial(u=lambda x: x, v=lambda x: x),
            pde.Interface(lambda u, v: (u - v + 0.1, 8 * u.x - v.x), of=LEFT * TIME, on="x+"),
        ],
        unknowns=BOTH,
    )
    solution, (u, v) = problem.solve(method="elements", size=0.13), line(1.8 / 9, 0.1)
    assert solution.u(0.3, 1.0) == pytest.approx(u(0.3), abs=1e-6)
    assert solution.v(0.7, 1.0) == pytest.approx(v(0.7), abs=1e-6)


def test_an_equation_that_is_said_once_more_in_a_part_is_one() -> None:
    def bent(u: Any) -> Any:
        return u.xx - 1

    problem = pde.Problem({"all": bent, "part": pde.Within(LEFT, bent)}, LINE, [pde.Dirichlet(u=0)], network=NET)
    assert problem.solve(method="elements", size=0.1, degree=2).error(u=lambda x: x * (x - 1) / 2) < 1e-12
