"""What notebooks show: every object that a user gets shows itself, with all that it says and nothing that is not."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import primad
from primad import pde


def wave(x, t):
    return np.exp(-t) * np.sin(2 * x)


@pytest.mark.parametrize(
    ("field", "formula"),
    [
        (pde.Field(wave, "x t"), r"\operatorname{wave}{\left(x,t \right)} = e^{- t} \sin{\left(2 x \right)}"),
        (pde.Field(lambda p: p[0] * p[1], "(x y)"), r"u{\left(x,y \right)} = x y"),
        (pde.Field(lambda p: p[:, 0] * p[:, 1], "(x y)", batched=True), r"u{\left(x,y \right)} = x y"),
        (pde.Field(lambda x, p: np.stack([x * p[0], p[1]]), "x (y z)", "v w"), r"w{\left(x,y,z \right)} = z"),
        (pde.Field(lambda x: np.stack([x, x]), "x"), r"u_{1}{\left(x \right)} = x"),
    ],
)
def test_a_field_shows_its_formula(field, formula) -> None:
    latex, html = field._repr_latex_(), field._repr_html_()
    assert formula in latex and latex.startswith("$")
    assert html.count("<math") == max(1, len(field.components)) or "u_{1}" in formula
    ET.fromstring(f"<div>{html}</div>")


def test_a_field_without_a_short_formula_shows_what_it_is_a_function_of() -> None:
    random = np.random.default_rng(0)
    first, last = random.normal(size=(2, 90)), random.normal(size=90)
    for body in (lambda p: np.tanh(p @ first) @ last, lambda p: np.sort(p)[0]):
        field = pde.Field(body, "(x y)")
        assert field._repr_latex_() is None
        assert field._repr_html_() == "<pre>Field(&lt;lambda&gt;: (x y))</pre>"


def test_a_field_at_points_shows_its_range() -> None:
    at = pde.Field(wave, "x t")(np.linspace(0, 1, 5)[:, None], np.zeros(3))
    assert "at points of shape (5, 3), from 0 to 0.997" in at._repr_html_()
    shown = []
    primad.jit(lambda x: shown.append(pde.Field(wave, "x t")(x, 0.0)._repr_html_()) or x)(np.ones(3))
    assert "at points of shape (3)</p>" in shown[0]


def test_problems_and_solutions_show_what_they_say() -> None:
    x = np.linspace(0, 1, 9)
    problem = pde.Problem(
        lambda u, k: u.xx + k, pde.Interval(0, 1),
        [pde.Dirichlet(u=0, on="x-"), pde.Neumann(u=lambda x: x, on="x+"), pde.Data(x=x, u=x)],
        coefficients={"k": 1.0}, network=pde.MLP(4, 1),
    )  # fmt: skip
    page = problem._repr_html_()
    ET.fromstring(f"<div>{page}</div>")
    for word in ("<math", "Interval(x=(0, 1))", "MLP(width=4, depth=1)", "by construction", "fitted", "a function"):
        assert word in page, word
    solution = problem.solve(points=20, steps=2, progress=False)
    page = solution._repr_html_()
    ET.fromstring(f"<div>{page}</div>")
    for word in ("all steps were made", "equation", "data", "coefficient", "mean square"):
        assert word in page, word


def test_programs_equations_and_reports_show_themselves() -> None:
    report = primad.verify("exp")
    ET.fromstring(f"<div>{report._repr_html_()}</div>")
    assert report.rows[0].what in report._repr_html_()
    program = primad.trace(wave)(1.0, 1.0)
    assert "sin" in program._repr_latex_() and "<pre>" in program._repr_html_()
    assert "u" in pde.heat("k")._repr_latex_()
    assert primad.explain(wave, 1.0, 1.0)._repr_html_().startswith("<svg")
