"""What fields, problems and solutions show in notebooks, of every kind that shows itself otherwise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import sympy

import primad
from primad import optimize, pde
from primad.ir.program import Cost
from primad.pde.fields import field_display
from primad.pde.fields.coordinate_names import coordinates
from primad.pde.fields.field_refusals import likely
from primad.pde.fields.problem_formulas import latex_of
from primad.pde.report import pages
from primad.pde.report.comparison import plot_comparison
from primad.pde.report.summary import SAMPLE, TRIED, _of_a_step, brief, summary
from primad.pde.solve.confidence import Confidence
from primad.pde.solve.run_checkpoints import _short as short_value
from primad.pde.solve.solution_files import SHOWN
from primad.pde.solve.solution_files import _short as short_text
from primad.symbolic import program_formulas


def wave(x, y):
    return x * np.sin(y)


def waves(x, y):
    return sum(np.sin(k * x) * np.cos(k * y) for k in range(1, program_formulas.LONGEST // 20))


FIELDS = {
    "a function with a name": (pde.Field(wave, "x y"), "wave", 1),
    "one without": (pde.Field(lambda x, y: x * y, "x y"), "u", 1),
    "two components": (pde.Field(lambda x, y: np.array([x, y]), "x y"), "u_1", 2),
    "components with names": (pde.Field(lambda x, y: np.array([x, y]), "x y", "p q"), "q", 2),
    "points in one array": (pde.Field(lambda p: p[0] * p[1], "(x y)"), "x", 1),
    "all points at once": (pde.Field(lambda x, y: x - y, "x y", batched=True), "u", 1),
    "a long formula": (pde.Field(waves, "x y"), "", 0),
    "no formula": (pde.Field(lambda x, y: np.sort(np.array([x, y]))[0] * np.array([x, y]).argsort()[0], "x y"), "", 0),
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_shows_its_formulas_where_they_are_short(name: str) -> None:
    field, word, count = FIELDS[name]
    page = field._repr_html_()
    ElementTree.fromstring(f"<page>{page}</page>")
    assert page.count("<math") == count
    written = field._repr_latex_()
    assert (written is None) == (count == 0)
    assert word in page


@pytest.mark.parametrize("shape", [(3,), (2, 2), (), (0,)])
def test_a_field_at_points_says_how_many_and_how_large(shape: tuple[int, ...]) -> None:
    x = np.linspace(0, 1, int(np.prod(shape))).reshape(shape)
    page = pde.Field(wave, "x y")(x, x)._repr_html_()
    assert f"shape ({', '.join(map(str, shape))})" in page
    assert ("from" in page) == bool(x.size)


def test_a_field_that_is_recorded_shows_no_values() -> None:
    shown = []

    def function(x):
        shown.append(pde.Field(wave, "x y")(x, x)._repr_html_())
        return x

    primad.jit(function)(np.ones(3))
    assert "shape (3)" in shown[0] and "from" not in shown[0]


def test_a_formula_is_shown_up_to_a_length(monkeypatch) -> None:
    field = pde.Field(wave, "x y")
    longest = sum(len(sympy.latex(one)) for one in field_display.equations(field))
    monkeypatch.setattr(program_formulas, "LONGEST", longest)
    assert field._repr_latex_() is not None and "<math" in field._repr_html_()
    monkeypatch.setattr(program_formulas, "LONGEST", longest - 1)
    assert field._repr_latex_() is None and "<math" not in field._repr_html_()


X = sympy.Symbol("x")
Y = sympy.Symbol("y")
U, V = sympy.Function("u"), sympy.Function("v")
FORMULAS = {
    "a derivative": (U(X).diff(X, 2), "u_{xx} = 0"),
    "that of a square": (sympy.Derivative(U(X) ** 2, X), r"\frac{d}{d x} u^{2} = 0"),
    "a value elsewhere": (U(X).diff(X) + U(0), r"u_{x} + u{\left(0 \right)} = 0"),
    "at other places of coordinates": (V(X, 0) + V(X, Y), r"v + v{\left(x,0 \right)} = 0"),
    "sides that are matrices": (
        sympy.Eq(sympy.Matrix([U(X).diff(X), X]), sympy.Matrix([2 * U(X), 1])),
        "- 2 u + u_{x} = 0",
    ),
    "two equations": ([U(X), X], "u = 0"),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_have_derivatives_of_unknowns_as_indices(name: str) -> None:
    given, first = FORMULAS[name]
    assert latex_of(given, None, pde.Box(x=(0, 1), y=(0, 1)), ("u", "v"), {})[0] == first


ELSEWHERE = {
    "a delay": (lambda u, t: u.t + u(t - np.pi / 2), r"u_{t} + u{\left(t - \frac{\pi}{2} \right)} = 0"),
    "a delay by the name of a coordinate": (
        lambda u, t, k: u.t + u(t=t - k) * u.value,
        r"u u{\left(- k + t \right)} + u_{t} = 0",
    ),
    "a derivative elsewhere": (lambda u, t: u(t / 2).tt - u, r"- u + u_{tt}{\left(\frac{t}{2} \right)} = 0"),
    "a place that depends on the unknown": (
        lambda u, t: u.t + u(t - u**2),
        r"u_{t} + u{\left(t - u^{2} \right)} = 0",
    ),
    "an integral": (
        lambda u, t: u.t - pde.integral(lambda s: np.exp(s - t) * u(s), 0, t),
        r"u_{t} - \int\limits_{0}^{t} u{\left(s \right)} e^{s - t}\, ds = 0",
    ),
    "integrals in integrals, of a variable called as the coordinate": (
        lambda u, t: u - pde.integral(lambda s: pde.integral(lambda t: u(s * t), 0, s), 0, 1),
        r"u - \int\limits_{0}^{1}\int\limits_{0}^{s} u{\left(s t \right)}\, dt\, ds = 0",
    ),
    "an integral of a function of NumPy": (lambda u: u.t - pde.integral(np.cos, 0, 1), None),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_formulas_have_values_elsewhere_and_integrals_as_they_are_written(name: str) -> None:
    function, wanted = ELSEWHERE[name]
    found = latex_of(None, function, pde.Time(0, 1), ("u",), {"k": 1.0})
    assert found == [wanted] if wanted else r"\int\limits_{0}^{1} \cos{\left(s \right)}\, ds" in found[0]


def test_formulas_of_two_coordinates_have_all_of_them_elsewhere() -> None:
    found = latex_of(None, lambda u, y: u.x + u(y=y - 1), pde.Box(x=(0, 1), y=(0, 1)), ("u",), {})
    assert found == [r"u_{x} + u{\left(x,y - 1 \right)} = 0"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [("d2x", "xx"), ("dx2", "xx"), ("u_xx", "xx"), ("dudx2", "xx"), ("d2u_dx2", "xx"), ("du_dy", "y"), ("uxx", "")],
)
def test_derivatives_as_others_write_them_are_understood(written: str, meant: str) -> None:
    assert likely(written, coordinates("x y")) == meant


def test_balls_show_four_coordinates_of_their_centre() -> None:
    assert [("…" in repr(pde.Ball((0,) * size))) for size in (3, 4, 5)] == [False, False, True]


@pytest.mark.parametrize(("short", "most", "quoted"), [(short_text, SHOWN, 0), (short_value, 60, 2)])
def test_long_texts_are_cut(short: Any, most: int, quoted: int) -> None:
    kept, cut = short("a" * (most - quoted)), short("a" * (most + 1))
    assert len(kept) == most and "…" not in kept
    assert len(cut) <= most and cut.endswith("…")


# -- reports and summaries ---------------------------------------------------------------------------------------------


def _rough(u, x):
    """The second derivative, sorted."""
    return np.sort(np.stack([u.xx, x]), axis=0)[0]


LINE = pde.Interval(0, 1)


@pytest.mark.parametrize(
    ("equation", "words"),
    [(_rough, "The second derivative, sorted."), (lambda u, x: _rough(u, x), "heat"), (lambda u: u.xx, "<math")],
)
def test_a_report_has_of_each_equation_its_formula_or_what_is_said_of_it(equation: Any, words: str) -> None:
    shown = pages.equations(pde.Problem({"heat": equation}, LINE, pde.Dirichlet(u=0)))
    assert words in shown[0] and ("<math" in shown[0]) == (words == "<math")


def test_tables_have_numbers_at_the_right() -> None:
    assert pages.table([("a", True, 2000, 0.5)]).count('class="number"') == 2
    assert "True" in pages.table([("a", True)])


def _learning() -> pde.Solution:
    """Return a solution with steps, of a coefficient that is a number and one that is an array."""
    data = pde.Data(x=np.linspace(0, 1, SAMPLE + 1), u=np.linspace(0, 1, SAMPLE + 1))
    problem = pde.Problem(
        lambda u, k, c, x: u.xx - k - c[0] * x,
        LINE,
        [pde.Free("u"), data],
        coefficients={"k": 1.0, "c": [1.0, 2.0]},
        network=pde.MLP(4, 1),
    )
    history, params = pde.History(("equation", "data")), problem.init()
    for step in range(3):
        history.add([0.5, 0.5], 1.0 / (step + 1), float(step), params)
    return pde.Solution(problem, params, None, problem.points(9), history)


def test_a_report_says_how_sure_coefficients_are(monkeypatch) -> None:
    """Of numbers; nothing where there are doubts, and no doubts where there are none."""
    solution = _learning()
    found = Confidence(solution.coefficients, {"k": np.float64(0.1), "c": np.ones(2)}, 5.0, ())
    monkeypatch.setattr(pages, "confidence", lambda _: found)
    shown = "".join(pages.results(solution, {}))
    low, high = found.intervals(0.95)["k"]
    assert f"{low:.6g} to {high:.6g}" in shown and shown.count(" to ") == 1 and "No confidence" not in shown
    assert " to " not in "".join(pages.results(solution, {}, bands=False))
    doubted = Confidence(found.values, found.deviations, 5.0, ("nothing fits",))
    monkeypatch.setattr(pages, "confidence", lambda _: doubted)
    shown = "".join(pages.results(solution, {}))
    assert " to " not in shown and "No confidence: nothing fits." in shown


def test_a_summary_counts_the_points_that_a_run_will_have() -> None:
    """Of data all of them, of an end one, of what is fitted on a larger part as many as are asked for."""
    long = np.linspace(0, 1, SAMPLE + 1)
    square = pde.Box(x=(0, 1), y=(0, 1))
    conditions = [pde.Condition(lambda u: u.x, on="x-"), pde.Free("u"), pde.Data(x=long, y=long, u=long)]
    flat = pde.Problem(lambda u: u.xx + u.yy, square, conditions, network=pde.MLP(3, 1))
    end = pde.Problem(lambda u: u.xx, LINE, [pde.Condition(lambda u: u.x, on="x-"), pde.Free("u")])
    for problem, counts in ((flat, (100, 70, SAMPLE + 1)), (end, (100, 1))):
        settings = pde.Settings(points=100, boundary_points=70, weights="gradient")
        found = summary(problem, settings, settings.optimizer)
        assert tuple(term.points for term in found.terms) == counts
        assert dict(found._facts())["by construction"] == "nothing"
    found = summary(flat, pde.Settings(points=500), None)
    assert [term.points for term in found.terms] == [500, 100, SAMPLE + 1]


def test_a_summary_is_a_table_of_lines_of_one_width() -> None:
    found = summary(pde.Problem(lambda u: u.xx, LINE, [pde.Dirichlet(u=0)]), pde.Settings(), optimize.LBFGS())
    names = [name for name, _ in found._facts()]
    lines = str(found).split("\n")
    gap = lines.index("")
    assert len({line.index(value) for line, (_, value) in zip(lines[:gap], found._facts(), strict=True)}) == 1
    assert max(map(len, names)) == len("by construction") and lines[0].startswith("u ")
    assert len({len(line) for line in lines[gap + 1 :]}) == 1 and lines[gap + 1].startswith("term    ")
    short = replace(found, terms=(replace(found.terms[0], name="a"),))
    assert str(short).split("\n")[gap + 1].startswith("term ") and str(short).split("\n")[gap + 2].startswith("a    ")


STEPS = {
    "LevenbergMarquardt": (2 * 600 + TRIED * 60 + 20 * 10 * 10 + 10**3 / 3, 2 * 100 + TRIED * 20),
    "GaussNewtonCG": (51 * 600 + TRIED * 60, 51 * 100 + TRIED * 20),
    "NewtonCG": (51 * 600 + TRIED * 60, 51 * 100 + TRIED * 20),
    "SelfScaledBroyden": (TRIED * 600, TRIED * 100 + 8 * 10**2),
    "LBFGS": (TRIED * 600, TRIED * 100),
}


@pytest.mark.parametrize("name", STEPS)
def test_flops_of_a_step_are_those_of_its_rule(name: str) -> None:
    """Of 10 parameters and 20 residuals; with more parameters than residuals the system is one of residuals."""
    value, slope = Cost(flops=80, matmul_flops=60), Cost(flops=700, matmul_flops=600)
    rule = getattr(optimize, name)()
    assert _of_a_step(rule, 10, 20, value, slope) == pytest.approx(STEPS[name], rel=1e-14)
    if name == "LevenbergMarquardt":
        flops, others = _of_a_step(rule, 20, 10, value, slope)
        assert (flops, others) == pytest.approx(STEPS[name], rel=1e-14)


def test_families_in_parameters_and_names_of_conditions_are_shown() -> None:
    bar = pde.Interval(0, 1) * pde.Parameters(k=(1, 2))
    named = pde.Condition(lambda u: u.x, on="x+", name="no flux")
    problem = pde.Problem(lambda u, k: k * u.xx, bar, [pde.Dirichlet(u=0, on="x-"), named])
    assert "a family in its parameters" in summary(problem, pde.Settings(), optimize.LBFGS()).held
    shown = [name for name, _, _ in pages.condition_rows(problem)]
    assert len(shown) == 2 and "x-" in shown[0] and shown[1] == "no flux"


def test_a_comparison_shows_how_far_off_a_solution_is() -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    found, right = np.array([[1.0, -2.0], [3.0, 4.0]]), np.array([[1.0, 2.0], [2.0, 5.0]])
    figure = plot_comparison(np.arange(2.0), np.arange(2.0), found, right)
    shown = [np.ravel(axes.collections[0].get_array()).tolist() for axes in figure.axes[:3]]
    assert shown == [[1.0, -2.0, 3.0, 4.0], [1.0, 2.0, 2.0, 5.0], [0.0, 4.0, 1.0, 1.0]]
    plt.close(figure)


@dataclass
class Table:
    """A record with an array."""

    values: np.ndarray
    scale: float = 1.0


def test_a_record_is_shown_with_what_is_not_by_default() -> None:
    assert brief(Table(np.zeros(2))) == "Table(values=array([0., 0.]))"
    assert brief(Table(np.zeros(1), 2.0)) == "Table(values=array([0.]), scale=2.0)"
    assert brief(pde.MLP(4)) == "MLP(width=4)"
