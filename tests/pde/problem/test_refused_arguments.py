"""Every clause of what the statements of a problem refuse: for each, an argument that only this clause turns away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy

from primad import pde
from primad.errors import PrimadError
from primad.pde.fields.coordinate_names import MOST_PARTS, coordinates
from primad.pde.references import periodic
from primad.pde.solve.confidence import Confidence

POINTS, CELLS = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)], [(0, 1, 2)]
ROWS = np.ones((3, 20))
LINE = pde.Interval(0, 1)
SQUARE = pde.Box(x=(0, 1), y=(0, 1))
FREE = pde.Free("u", on="x-")
STARTS = pde.Dirichlet(u=0), pde.Initial(u=0), pde.Initial(u=0, order=1)


def _problem(*conditions: Any, domain: Any = LINE, equations: Any = lambda u: u.xx - u.value, **more: Any) -> Any:
    return pde.Problem(equations, domain, conditions or [pde.Dirichlet(u=0)], **more)


def _field(coordinates: Any = "x y", *more: Any, **how: Any) -> pde.Field:
    return pde.Field(lambda x, y: x * y, coordinates, *more, **how)


def _vector() -> Any:
    return pde.Field(lambda x, y: np.array([x, y]), "x y", "u v")(np.ones(3), np.ones(3))


def _scalar() -> Any:
    return _field()(np.ones(3), np.ones(3))


def _solution(**more: Any) -> pde.Solution:
    one = pde.Problem(lambda u: u.xx - u.y, pde.Box(x=(0, 1), y=(0, 1)), [pde.Free("u")], **more)
    return pde.Solution(one, one.init(), None, one.points(9), pde.History(()))


def _march(times: Any, domain: Any = LINE, start: Any = 0.0, starts: Any = None) -> Any:
    heat = lambda time, start: pde.Problem(  # noqa: E731
        lambda u: u.t - u.xx, domain * time, [pde.Initial(u=lambda x: x), pde.Free("u")]
    )
    return pde.march(heat, {"u": start, **(starts or {})}, times, steps=1, points=9, progress=False)


def _periodic(times: Any) -> Any:
    x = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    return periodic(np.sin(x), 2 * np.pi, np.array(times), lambda k: -(k**2), lambda u: 0 * u)


def _confidence() -> Confidence:
    return Confidence({"k": 1.0}, {"k": np.float64(0.1)}, 5.0, ())


def _settings(**values: Any) -> Callable[[], Any]:
    return lambda: pde.Settings(**values)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    # domains
    "an interval from minus infinity": (lambda: pde.Interval(-np.inf, 1), "has no end"),
    "an interval to infinity": (lambda: pde.Interval(0, np.inf), "has no end"),
    "two corners of a box": (lambda: pde.Box((0, 0), (1, 2)), "takes the range of each coordinate"),
    "two corners of a cube": (lambda: pde.Box((0, 0, 0), (1, 2, 3)), "takes the range of each coordinate"),
    "corners of which the last has equal coordinates": (lambda: pde.Box((0, 1), (2, 2)), "takes the range"),
    "parameters without names": (lambda: pde.Parameters((0.01, 0.1)), "need names"),
    "no parameters": (lambda: pde.Parameters(), "need names"),
    "a centre that is a matrix": (lambda: pde.Ball(np.zeros((2, 2))), "centre of a ball is a point"),
    "a centre that is a number": (lambda: pde.Ball(0.0), "centre of a ball is a point"),
    "a centre of no dimension": (lambda: pde.Ball(()), "centre of a ball is a point"),
    "a centre that is nowhere": (lambda: pde.Ball((0, np.nan)), "centre of a ball is a point"),
    "a ball of radius 0": (lambda: pde.Ball((0, 0), 0), "is empty"),
    "a ball of everything": (lambda: pde.Ball((0, 0), np.inf), "is empty"),
    "corners apart": (lambda: pde.Polygon((0, 0), ("x", "y"), (0, 1)), "three corners"),
    "corners in a row": (lambda: pde.Polygon([0, 1, 2, 3]), "three corners"),
    "corners in space": (lambda: pde.Polygon([(0, 0, 0), (1, 0, 0), (0, 1, 0)]), "three corners"),
    "two corners": (lambda: pde.Polygon([(0, 0), (1, 1)]), "three corners"),
    "a corner that is nowhere": (lambda: pde.Polygon([(0, 0), (1, 0), (0, np.inf)]), "three corners"),
    "a mesh of one point": (lambda: pde.Mesh([0.0, 1.0], CELLS), "has points in the plane or in space"),
    "a mesh of a line": (lambda: pde.Mesh([(0.0,), (1.0,)], CELLS), "consists of intervals"),
    "a mesh with a point nowhere": (lambda: pde.Mesh([*POINTS[:2], (0, np.nan)], CELLS), "has points in the plane"),
    "a cell that is not in a row": (lambda: pde.Mesh(POINTS, [0, 1, 2]), "consists of triangles"),
    "no cells": (lambda: pde.Mesh(POINTS, np.zeros((0, 3), int)), "consists of triangles"),
    "cells with two corners": (lambda: pde.Mesh(POINTS, [(0, 1)]), "consists of triangles"),
    "cells of numbers with a point": (lambda: pde.Mesh(POINTS, [(0.0, 1.0, 2.0)]), "consists of triangles"),
    "ranges of unlike lengths": (lambda: pde.Box((1, 0), (0, 1, 2)), "the range of y is a pair"),
    "a coordinate that is a number": (lambda: pde.Disk(names=("x", 1)), "needs a name that can be an argument"),
    "no points of an end": (lambda: LINE.boundary("x-", 0), "at least one point, got 0"),
    # fields
    "a derivative of very many parts": (lambda: coordinates("x y").split("x" * (MOST_PARTS + 1)), "no coordinate"),
    "an operator of a solution": (lambda: pde.laplacian(_solution()), "of a solution, add up derivatives"),
    "a component of a component as an attribute": (lambda: _vector().u.v, "has no attribute 'v'"),
    "a slip in an attribute": (lambda: _scalar().valeu, "value"),
    "an element of an axis too many": (lambda: _scalar()[None, 0, ..., 0], "is indexed as a matrix"),
    "a name that is nowhere": (lambda: pde.qwertz, r"dir\(primad.pde\) lists"),
    # equations and networks
    "no coordinates of space": (lambda: pde.poisson(coordinates=""), "the coordinates of space"),
    "time among those of space": (lambda: pde.poisson(coordinates="x t"), "the coordinates of space"),
    "a number for a velocity": (lambda: pde.advection_diffusion(1, 1, coordinates="x y"), "1 component in 2"),
    "an equation in two lists": (lambda: _problem(equations={"heat": [lambda u: u.xx]}), "got list"),
    "a formula and a function in a list": (
        lambda: _problem(equations={"heat": [sympy.Symbol("x"), lambda u: u.xx]}),
        "got list",
    ),
    "a coordinate without a name": (lambda: pde.Periodic("x", 1), "names of coordinates"),  # type: ignore[arg-type]
    "an unknown without a name": (lambda: pde.Free("u", 2), "names of unknowns"),  # type: ignore[arg-type]
    "a name and a number of unknowns": (lambda: _problem(unknowns=["u", 2]), "need names"),
    "an unknown that begins with a number": (lambda: _problem(unknowns="u 2v"), "need names"),
    "an unknown with equations beyond a part": (
        lambda: pde.Problem(
            {
                "left": pde.Within(pde.Interval(0, 0.4), lambda u: u.xx),
                "right": pde.Within(pde.Interval(0.6, 1), lambda u: u.xx),
            },
            LINE,
            [pde.Dirichlet(u=0, on="x+")],
        ),
        "nothing is said of u on the part 'x-'",
    ),
    "an equation of nothing": (lambda: _problem(equations={"heat": []}), "got list"),
    "a yes for a width": (lambda: pde.MLP(True), "a positive integer, got True"),
    "a basis alone": (lambda: pde.Mixture(pde.MLP()), "needs networks in a list"),  # type: ignore[arg-type]
    "no bases": (lambda: pde.Mixture(()), "needs networks in a list"),
    "coordinates without a name": (lambda: _field("() x"), "empty place"),
    "no coordinates": (lambda: _field(""), "empty place"),
    "a coordinate twice": (lambda: _field("x x"), "x twice"),
    "a derivative by a number": (lambda: _scalar().d(1), "named by coordinates"),
    "a derivative by nothing": (lambda: _scalar().d(), "named by coordinates"),
    "a derivative by some names": (lambda: _scalar().d("x", 2), "named by coordinates"),
    "two results": (lambda: pde.Field(lambda x, y: (x, y), "x y")(np.ones(3), np.ones(3)), "result of shape"),
    "a matrix at each point": (
        lambda: pde.Field(lambda x, y: np.ones((2, 2)) * x, "x y")(np.ones(3), np.ones(3)),
        "result of shape",
    ),
    "results of fewer points": (
        lambda: pde.Field(lambda x, y: (x * y)[:2], "x y", batched=True)(np.ones(3), np.ones(3)),
        "result of shape",
    ),
    "a number for an array": (
        lambda: pde.Field(lambda p: p[0] * p[1], "(x y)")(1.0),
        "last axis of",
    ),
    "three for two": (lambda: pde.Field(lambda p: p[0] * p[1], "(x y)")(np.ones((4, 3))), "last axis of"),
    "a number for points": (lambda: _field().on(1.0), "for a field of"),
    "points of another space": (lambda: _field().on(np.ones((4, 3))), "for a field of"),
    "a component of a number by name": (lambda: _scalar()["v"], "no component"),
    "a component of a number by places": (lambda: _scalar()[0, 0], "is indexed as a matrix"),
    "a component of a component": (lambda: _vector().u["v"], "no component"),
    "a component by a fraction": (lambda: _vector()[0.5], "there is no component"),
    "a component too far": (lambda: _vector()[2], "there is no component"),
    "a component too far back": (lambda: _vector()[-3], "there is no component"),
    "the components of a number": (lambda: _scalar().components, "has no components"),
    "the components of a component": (lambda: _vector().u.components, "has no components"),
    "a matrix with too few rows": (lambda: pde.diffusion(_scalar(), [[1.0, 0.0]]), "that many rows and columns"),
    "a matrix with a short row": (lambda: pde.diffusion(_scalar(), [[1.0, 0.0], [1.0]]), "that many rows and columns"),
    # conditions
    "a place that is a number": (lambda: pde.Condition(lambda u: u.value, 3), "parts of a boundary have names"),
    "places of which one is a number": (
        lambda: pde.Condition(lambda u: u.value, ["x-", 3]),
        "parts of a boundary have names",
    ),
    "values without names": (lambda: pde.Dirichlet(0.0), "by their names"),
    "a value and a place without names": (lambda: pde.Dirichlet(0.0, u=1), "parts of a boundary have names"),
    "a value beside a place": (lambda: pde.Dirichlet(0.0, on="x-"), "by their names"),
    "two values without names": (lambda: pde.Dirichlet("x-", 0.0), "by their names"),
    "a place alone": (lambda: pde.Dirichlet("x-"), "says nothing of any unknown"),
    "places alone": (lambda: pde.Dirichlet(["x-", "x+"]), "says nothing of any unknown"),
    "periodic along nothing": (lambda: pde.Periodic(), "needs names of coordinates"),
    "periodic along a number": (lambda: pde.Periodic(1), "needs names of coordinates"),
    "periodic with a value": (lambda: pde.Periodic("x", u=0), "needs names of coordinates"),
    "freedom of nothing": (lambda: pde.Free(), "needs names of unknowns"),
    "freedom of a number": (lambda: pde.Free(1), "needs names of unknowns"),
    "freedom with a value": (lambda: pde.Free("u", p=0), "needs names of unknowns"),
    "data in a matrix": (lambda: pde.Data(x=np.ones((2, 2)), u=np.ones((2, 2))), "array of one axis"),
    "no data": (lambda: pde.Data(x=[], u=[]), "array of one axis"),
    "a weight in words": (lambda: pde.Dirichlet(u=0, weight="10"), "must be a positive number"),
    "a weight of 0": (lambda: pde.Dirichlet(u=0, weight=0), "must be a positive number"),
    "an infinite weight": (lambda: pde.Dirichlet(u=0, weight=np.inf), "must be a positive number"),
    "an integral in words": (lambda: pde.Integral(lambda u: u.value, "1"), "value of an integral must be a number"),
    "an infinite integral": (lambda: pde.Integral(lambda u: u.value, np.inf), "value of an integral must be a number"),
    "an integral at no point": (lambda: pde.Integral(lambda u: u.value, 1.0, order=0), "at least one point"),
    # problems
    "no unknowns": (lambda: _problem(unknowns=""), "unknowns need names"),
    "an unknown that is a number": (lambda: _problem(unknowns=[1]), "unknowns need names"),
    "an unknown that is no name": (lambda: _problem(unknowns=["1u"]), "unknowns need names"),
    "a part that is not there": (lambda: _problem(pde.Integral(lambda u: u.value, 1.0, on="y-")), "y-"),
    "an end that is free and is not": (lambda: _problem(FREE, pde.Dirichlet(u=0)), "contradict each other"),
    "an end that is given and free": (lambda: _problem(pde.Dirichlet(u=0), FREE), "contradict each other"),
    "an unknown of data alone": (
        lambda: _problem(pde.Dirichlet(u=0), pde.Data(x=[0.5], v=[1.0]), unknowns="u v"),
        "nothing is said of v",
    ),
    "a slope at the start": (lambda: _problem(pde.Initial(u_x=0), domain=LINE * pde.Time(0, 1)), "write Neumann"),
    "periods of two pieces apart": (
        lambda: _problem(pde.Periodic("x"), domain=SQUARE | pde.Box(x=(2, 3), y=(0, 1))),
        "'x' cannot be periodic",
    ),
    "two conditions for three derivatives in time": (
        lambda: _problem(*STARTS, equations=lambda u: u.d("t t t") - u.xx, domain=LINE * pde.Time(0, 1)),
        r"pde.Condition\(lambda u: u.d\('t t'\)",
    ),
    # families
    "just too few sensors": (lambda: pde.GaussianProcess("x", sensors=3), "3 sensors are too few"),
    "functions in three dimensions": (
        lambda: _problem(equations=lambda u, f: u.xx - f.value, family={"f": pde.GaussianProcess("x")}).family.rows(
            {"f": np.ones((1, 2, 50))}
        ),
        "has values of the shape",
    ),
    "functions of a number": (lambda: pde.GaussianProcess(1), "of one coordinate, by name"),
    "a yes for a length": (lambda: pde.GaussianProcess("x", length=True), "must be a positive number"),
    "a word for a length": (lambda: pde.GaussianProcess("x", length="1"), "must be a positive number"),
    "a length of 0": (lambda: pde.GaussianProcess("x", length=0), "must be a positive number"),
    "half a function": (lambda: pde.GaussianProcess("x", count=2.5), "must be a positive integer"),
    "values in a row": (lambda: pde.GivenFunctions("x", ROWS[0]), "a function a row"),
    "an infinite value": (lambda: pde.GivenFunctions("x", np.where(ROWS == 1, np.inf, 0)), "NaN or infinite"),
    "more functions than there are": (lambda: pde.GivenFunctions("x", ROWS, 4), "fewer than 4"),
    # solutions
    "a point with a coordinate more": (lambda: _solution().u(0.1, 0.2, 0.3), "is a function of x, y"),
    "a coordinate by place and by name": (lambda: _solution().u(0.1, 0.2, x=0.1), "is a function of x, y"),
    "a coordinate that is missing": (lambda: _solution().u(0.1), "is a function of x, y"),
    "a function of nothing": (lambda: _solution().u(), "got nothing"),
    "an error of points alone": (lambda: _solution().error(lambda x, y: x), "is that of one unknown"),
    "an error beside a function": (lambda: _solution().error(lambda x, y: x, u=lambda x, y: x), "of one unknown"),
    "an error of two": (lambda: _solution().error(u=lambda x: x, v=lambda x: x), "is that of one unknown"),
    "a residual of no equation": (lambda: _solution().residual_at(np.ones((2, 2)), "motion"), "no equation"),
    "windows in a matrix": (lambda: _march([[0, 1], [1, 2]]), "where windows begin and end"),
    "one time": (lambda: _march([0.0]), "where windows begin and end"),
    "times that stand": (lambda: _march([0.0, 1.0, 1.0]), "where windows begin and end"),
    "a window in four dimensions": (
        lambda: _march([0, 1], pde.Box(x=(0, 1), y=(0, 1), z=(0, 1), w=(0, 1))),
        "one to three coordinates of space",
    ),
    "a start that nothing begins with": (lambda: _march([0, 1, 2], start=lambda x: x), "makes no use of start"),
    "a window without time": (
        lambda: pde.march(lambda time, start: _problem(pde.Free("u"), domain=SQUARE), {"u": 0.0}, [0, 1]),
        "time and one to three coordinates",
    ),
    "a march of velocities": (
        lambda: pde.march(
            lambda time, start: _problem(*STARTS, equations=lambda u: u.t - u.xx, domain=LINE * time), {"u": 0}, [0, 1]
        ),
        "is of order 2 in t",
    ),
    "a slip in an equation": (lambda: _solution().residual_at(np.ones((2, 2)), "equatoin"), r"did you mean equation\?"),
    "a slip in an unknown": (lambda: _solution().plot("uu"), r"did you mean u\?"),
    "a picture along nothing": (lambda: _solution().plot(along=()), "no picture along no coordinate with fixed none"),
    "a picture of a point": (lambda: _solution().plot(x=0.5, y=0.5), "no picture along no coordinate with fixed x, y"),
    "a picture along three": (lambda: _solution().plot(along="x y x"), "no picture along x, y, x"),
    "a picture of what is fixed": (lambda: _solution().plot(along="x", x=0.5), "no picture along x with fixed x"),
    "no confidence at all": (lambda: _confidence().intervals(0), "is a probability"),
    "all confidence": (lambda: _confidence().intervals(1), "is a probability"),
    "a weight of 0 in a search": (
        lambda: _problem().solve(steps=1, points=9, progress=False, weights={"equation": 0}),
        "must be positive",
    ),
    "times of a reference in a matrix": (lambda: _periodic([[0.0, 1.0]]), "must increase"),
    "no times of a reference": (lambda: _periodic([]), "must increase"),
    "times of a reference that stand": (lambda: _periodic([0.0, 0.0]), "must increase"),
    "times of a reference before 0": (lambda: _periodic([-1.0, 0.0]), "must increase"),
    # settings
    "a yes for steps": (_settings(steps=True), "must be an integer of at least 1"),
    "half a step": (_settings(steps=2.5), "must be an integer of at least 1"),
    "no steps": (_settings(steps=0), "must be an integer of at least 1"),
    "less than no redrawing": (_settings(resample=-1), "must be an integer of at least 0"),
    "no time": (_settings(seconds=0), "seconds must be more than 0"),
    "a negative target": (_settings(target=-1.0), "must not be negative"),
    "an infinite target": (_settings(target=np.inf), "must not be negative"),
    "a share below 0": (_settings(refine=-0.1, resample=20), "at least 0 and less than 1"),
    "all points": (_settings(refine=1.0, resample=20), "at least 0 and less than 1"),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", REFUSED)
def test_what_a_clause_turns_away(name: str) -> None:
    make, words = REFUSED[name]
    with pytest.raises(PrimadError, match=words):
        make()


TAKEN: dict[str, Callable[[], Any]] = {
    "ranges that look like corners": lambda: pde.Box((0, 1), (0, 2)),
    "two ranges of unlike shapes": lambda: pde.Box([0, 1], (0.0, 2.0)),
    "an integral at one point": lambda: pde.Integral(lambda u: u.value, 1.0, order=1),
    "a weight of NumPy's": lambda: pde.Dirichlet(u=0, weight=np.float32(2)),
    "a place without its name": lambda: pde.Dirichlet("x-", u=0),
    "as many functions as there are": lambda: pde.GivenFunctions("x", ROWS, 3),
    "the fewest sensors": lambda: pde.GaussianProcess("x", sensors=4),
    "sensors for just these waves": lambda: pde.FourierSeries("x", terms=8, sensors=32),
    "a target of 0": _settings(target=0.0),
    "a window": lambda: _march([0.0, 1.0]),
    "a point by names": lambda: _solution().u(y=0.5, x=0.1),
    "an error of numbers": lambda: _solution().error(np.full((2, 2), 0.5), u=lambda x, y: x),
    "no redrawing": _settings(resample=0, refine=0.0),
    "one step": _settings(steps=1, points=1, boundary_points=1, patience=1),
    "a component from the end": lambda: _vector()[-2],
    "the last component": lambda: _vector()[1],
    "as many parts of a derivative as there may be": lambda: coordinates("x y").split("x" * MOST_PARTS),
    "times of a reference from 0 on": lambda: _periodic([0.0, 0.5]),
    "a window that is given more than it takes": lambda: _march([0, 1], starts={"k": np.sin}),
    "no condition where an unknown does not live": lambda: pde.Problem(
        pde.Within(pde.Interval(0, 0.4), lambda u: u.x - 1), LINE, [pde.Dirichlet(u=0, on="x-")]
    ),
    "components by their name": lambda: pde.Field(lambda x: x, "x", None),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_just_still_taken(name: str) -> None:
    assert TAKEN[name]() is not None
