"""Measured derivatives are data as values are: of any order, with noise, complex, beside values and alone."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from primad import pde
from primad.errors import ProblemError, ShapeError

LINE, SMALL = pde.Interval(0, 1), pde.MLP(8, 1)
X = np.linspace(0.05, 0.95, 12)


def test_a_coefficient_is_found_from_slopes_or_curvatures() -> None:
    for data in (pde.Data({"u.x": 1.0 - 2.0 * X}, x=X), pde.Data({"x": X, "u.xx": np.full(12, -2.0)})):
        problem = pde.Problem(
            lambda u, k: u.xx + k, LINE, [pde.Dirichlet(u=0), data], coefficients={"k": 1.0}, network=SMALL
        )
        solution = problem.solve(steps=40, points=60, progress=False)
        np.testing.assert_allclose(solution.coefficients["k"], 2.0, rtol=1e-4)


def test_the_residuals_are_the_differences_over_the_noise() -> None:
    measured = {"u": np.sin(X), "u.x": np.cos(X), "u.t": X, "u.tx": X**2}
    data = pde.Data(measured, x=X, t=0.5 * X, noise=0.1)
    domain = LINE * pde.Time(0, 1)
    problem = pde.Problem(lambda u: u.t - u.xx, domain, [pde.Free("u"), pde.Initial(u=0), data], network=SMALL)
    params = problem.init(3)
    at = np.stack([X, 0.5 * X], axis=1)
    found = problem.values(params, {"data": problem.terms["data"].draw(1, (0,))})["data"]
    field = problem.fields(params, at)["u"]
    for place, (name, column) in enumerate(measured.items()):
        _, _, along = name.partition(".")
        value = field.d(along) if along else field.value
        np.testing.assert_allclose(found[:, place], (value - column) / 0.1, rtol=1e-10, atol=1e-12)


def test_complex_slopes_count_as_two_parts() -> None:
    data = pde.Data({"h.x": 1j * np.exp(1j * X)}, x=X)
    problem = pde.Problem(
        lambda h: h.xx + h.value,
        LINE,
        [pde.Dirichlet(h=1, on="x-"), pde.Free("h", on="x+"), data],
        unknowns="h",
        network=pde.Complex(SMALL),
    )
    assert len(problem.labels["data"]) == 2
    assert problem.solve(steps=30, points=60, progress=False).error(h=lambda x: np.exp(1j * x)) < 1e-4


def test_slopes_alone_leave_a_constant_open_and_that_is_said() -> None:
    slopes = pde.Data({"u.x": 1.0 - 2.0 * X}, x=X)
    with pytest.warns(match="a constant may be added to u"):
        pde.Problem(lambda u: u.xx + 2, LINE, [pde.Neumann(u=-1), slopes], network=SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value = pde.Data(x=[0.5], u=[0.25])
        pde.Problem(lambda u: u.xx + 2, LINE, [pde.Neumann(u=-1), slopes, value], network=SMALL)


def test_what_is_no_derivative_is_refused() -> None:
    for column, error, words in (
        ("u.y", ShapeError, "'y' is no coordinate"),
        ("v.x", ProblemError, "'v.x' is neither a coordinate nor an unknown"),
        ("u_x", ProblemError, r"derivatives are \{'u.x': …\}"),
    ):
        with pytest.raises(error, match=words):
            pde.Problem(lambda u: u.xx, LINE, [pde.Dirichlet(u=0), pde.Data({column: X}, x=X)], network=SMALL)
