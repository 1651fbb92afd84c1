"""Ensembles: mean and band of members at any points, in columns, files and pictures; what makes none."""

import csv

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose

import primad
from primad import pde
from primad.errors import PrimadError

matplotlib.use("Agg")
LINE, NETWORK = pde.Interval(0, 1), pde.MLP(4, 1)
ROD = LINE * pde.Time(0, 1)
AT = np.linspace(0, 1, 5)[:, None]


def poisson(load, domain=LINE, unknowns="u", network=NETWORK) -> pde.Problem:
    said = [pde.Dirichlet(**{unknowns: 0})]
    equation = {"u": lambda u: u.xx + load, "v": lambda v: v.xx + load}[unknowns]
    return pde.Problem(equation, domain, said, unknowns=unknowns, network=network)


@pytest.fixture(scope="module")
def members(code: None) -> list[pde.Solution]:
    return [poisson(load).solve(steps=25, points=12, seed=k, progress=False) for k, load in enumerate((1, 2, 6))]


def test_the_mean_and_the_spread_are_those_of_the_members(members) -> None:
    found = pde.Ensemble(members)
    each = np.stack([one.at(AT, "u") for one in members])
    assert_allclose(found.u(AT[:, 0]), each.mean(axis=0))
    assert_allclose(found.u(0.5), 3 / 8, atol=1e-4)
    assert_allclose(found.spread(AT, "u"), each.std(axis=0, ddof=1))
    assert_allclose(found.spread(AT, "u", "xx"), np.std([1, 2, 6], ddof=1), rtol=1e-2)
    assert_allclose(found.u.d("x")(0.0), 1.5, atol=1e-3)
    assert_allclose(primad.grad(found.u)(0.0), 1.5, atol=1e-3)
    assert found.error(u=lambda x: 1.5 * x * (1 - x)) < 1e-3
    assert not members[0].spread(AT, "u").any() and not members[0].deviations


def test_columns_and_files_have_the_band(members, tmp_path) -> None:
    found = pde.Ensemble(members, deviations=3)
    columns = found.table(points=AT, names="u u.x")
    assert list(columns) == ["x", "u", "u.low", "u.high", "u.x", "u.x.low", "u.x.high"]
    assert_allclose(columns["u.high"] - columns["u"], 3 * found.spread(AT, "u"))
    assert_allclose(columns["u"] - columns["u.low"], 3 * found.spread(AT, "u"))
    found.save_csv(tmp_path / "u.csv", points=3)
    with open(tmp_path / "u.csv", newline="", encoding="utf-8") as file:
        assert next(csv.reader(file)) == ["x", "u", "u.low", "u.high"]
    found.save_vtk(tmp_path / "u.vtk", points=3)
    assert "SCALARS u.high double" in (tmp_path / "u.vtk").read_text()


def test_pictures_have_the_band(members) -> None:
    found = pde.Ensemble(members)
    axes = found.plot()
    (band,) = axes.collections
    low, high = band.get_paths()[0].vertices[:, 1].min(), band.get_paths()[0].vertices[:, 1].max()
    middle, half = found.u(0.5), 2 * found.spread([[0.5]], "u")[0]
    assert_allclose(high, middle + half, rtol=1e-3)
    assert low < 0 or half < middle
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["u", "band"]
    assert not members[0].plot().collections
    assert_allclose(found.plot_spread().lines[0].get_ydata().max(), half / 2, rtol=1e-3)
    matplotlib.pyplot.close("all")


@pytest.mark.exhaustive
def test_slices_and_maps_of_ensembles() -> None:
    def heat(k):
        said = [pde.Dirichlet(u=0), pde.Initial(u=lambda x: np.sin(np.pi * x))]
        return pde.Problem(lambda u: u.t - k * u.xx, ROD, said, network=NETWORK).solve(method="differences", points=13)

    found = pde.Ensemble([heat(0.1), heat(0.2)])
    axes = found.plot_slices("t", [0.0, 0.5])
    assert len(axes.collections) == 2 and len(axes.lines) == 2
    assert found.plot_spread("u").get_title() == "deviation of u"
    assert found.spread([[0.5, 0.0]], "u")[0] < 1e-12
    matplotlib.pyplot.close("all")


def test_coefficients_of_members_have_a_mean_and_a_spread() -> None:
    def fitted(value):
        data = pde.Data(x=[0.0, 0.5, 1.0], u=np.array([0.0, 0.5, 1.0]) * value)
        problem = pde.Problem(
            lambda u, k: u.x - k, LINE, [pde.Free("u"), data], coefficients={"k": 1.0}, network=NETWORK
        )
        return problem.solve(steps=20, points=8, progress=False)

    found = pde.Ensemble([fitted(2.0), fitted(4.0)])
    assert_allclose(found.coefficients["k"], 3.0, rtol=1e-4)
    assert_allclose(found.coefficient_spread["k"], np.sqrt(2), rtol=1e-3)


def test_what_is_no_ensemble_is_told(members) -> None:
    def solved(problem):
        return problem.solve(steps=1, points=20, progress=False)

    wave = pde.Problem(lambda u: u.x - 1j * u, LINE, pde.Free("u"), network=pde.Complex(NETWORK))
    family = pde.Problem(
        lambda u, v: u - v, LINE, pde.Free("u"), family={"v": pde.GaussianProcess("x", count=2, sensors=5)},
        network=pde.DeepONet(2, NETWORK, NETWORK),
    )  # fmt: skip
    first = members[0]
    for made, words in (
        ([], "of 0 solutions"),
        ([first], "of 1 solution\n"),
        ([first, 3.0], "got float"),
        (first, "several solutions, got Solution"),
        ([first, solved(poisson(1, pde.Interval(0, 2)))], "other bounds"),
        ([first, solved(poisson(1, unknowns="v"))], "other unknowns"),
        ([first, solved(poisson(1, pde.Box(x=(0, 1), y=(0, 1))))], "other coordinates"),
        ([solved(wave)] * 2, "is complex"),
        ([solved(family)] * 2, "solution.given(v=…)"),
    ):
        with pytest.raises(PrimadError) as caught:
            pde.Ensemble(made)
        assert words in str(caught.value)
        assert "Fix: " in str(caught.value)
    for wrong in (0, -1.0, np.inf, "two"):
        with pytest.raises(PrimadError, match="deviations of a band are a positive number"):
            pde.Ensemble([first, first], deviations=wrong)
    assert repr(pde.Ensemble([first, first])) == "<2 solutions of u>"
    given = solved(family).given(v=np.sin)
    assert pde.Ensemble([given, given]).spread(AT, "u").max() == 0
