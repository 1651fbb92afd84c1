"""Families of problems: residuals of all functions, what they cost together, new functions, and refusals."""

from __future__ import annotations

import re

import numpy as np
import pytest

import primad
from primad import nn, optimize, pde
from primad.errors import PrimadError
from primad.pde.families.family import key
from primad.recording.tracing import trace
from primad.simplify import simplify
from primad.transforms.lowering import lower, without_calls

SENSORS, FUNCTIONS, POINTS, WIDTH = 12, 5, 17, 7
GRID = np.linspace(0, 1, SENSORS)
DEEPONET = pde.DeepONet(WIDTH, branch=pde.MLP(WIDTH, 1), trunk=pde.MLP(WIDTH, 2))
PROCESS = pde.GaussianProcess("x", length=0.3, count=FUNCTIONS, sensors=SENSORS)
PLANE = pde.Interval(0, 1) * pde.Time(0, 1)


def reaction(u, v):
    return u.t - 0.1 * u.xx - 0.1 * u * u - v


def problem(network=DEEPONET, family=None, equation=reaction, **other):
    conditions = [pde.Dirichlet(u=0), pde.Initial(u=0)]
    return pde.Problem(equation, PLANE, conditions, network=network, family=family or {"v": PROCESS}, **other)


def antiderivative(network, count=20, **settings):
    inputs = pde.GaussianProcess("x", length=0.3, count=count, sensors=SENSORS)
    conditions = [pde.Dirichlet(u=0, on="x-"), pde.Free("u", on="x+")]
    of = pde.Problem(lambda u, v: u.x - v, pde.Interval(0, 1), conditions, network=network, family={"v": inputs})
    return of.solve(**{"steps": 30, "points": 20, "progress": False, **settings})


@pytest.fixture(scope="module")
def solved(code):
    return antiderivative(DEEPONET)


# -- residuals ---------------------------------------------------------------------------------------------------------


@pytest.mark.one_in(2)
@pytest.mark.parametrize("network", [DEEPONET, pde.MLP(WIDTH, 1), pde.Separable(3, pde.MLP(WIDTH, 1))], ids=repr)
def test_residuals_of_a_family_are_those_of_each_function_alone(network):
    of = problem(network)
    params, points = of.init(1), of.points(POINTS)
    row = points["equation"]
    together = np.reshape(of.values(params, points)["equation"], (FUNCTIONS, POINTS))
    for place, numbers in enumerate(row[key("v")]):

        def u(x, t, numbers=numbers):
            inner = network.apply_in_family(params["networks"]["u"], np.stack([2 * x - 1, 2 * t - 1]), numbers)
            return 4 * x * (1 - x) * t * inner[0]

        x, t = row["at"].T
        at = pde.Field(u, "x t")(x, t)
        spline = primad.scipy.interpolate.make_interp_spline(GRID, numbers, 3)
        alone = at.t - 0.1 * at.xx - 0.1 * at.value**2 - spline(x)
        np.testing.assert_allclose(together[place], alone, atol=1e-12)


def test_several_unknowns_and_derivatives_of_functions():
    def equations(u, w, v, x):
        return u.x - w, w.x - v.x - x, pde.gradient(u)[..., 0] - u.x, pde.laplacian(w) - w.xx

    conditions = [pde.Dirichlet(u=0, w=1, on="x-"), pde.Free("u w", on="x+")]
    of = pde.Problem(equations, pde.Interval(0, 1), conditions, unknowns="u w", network=DEEPONET, family={"v": PROCESS})
    params, points = of.init(), of.points(POINTS)
    values = of.values(params, points)["equation"]
    assert values.shape == (FUNCTIONS * POINTS, 4)
    np.testing.assert_allclose(values[:, 2:], 0, atol=1e-12)
    given = pde.Solution(of, params, None, points, None).given(v=lambda x: x**3)  # which a cubic spline is
    x = np.linspace(0, 1, 9)
    found = given.residual_at(x, "equation")
    np.testing.assert_allclose(found[:, 1], given.w.d("x")(x) - 3 * x**2 - x, atol=1e-9)
    assert given.w(0.0) == 1.0 and given.u(0.0) == 0.0


def test_a_family_of_two_functions_and_of_coefficients_that_are_functions():
    conditions = [pde.Dirichlet(u=0), pde.Initial(u=0)]
    family = {"k": pde.FourierSeries("x", terms=2, count=3, sensors=10), "v": pde.GaussianProcess("t", count=3)}

    by_hand, found = [
        pde.Problem(equation, PLANE * pde.Parameters(y=(0, 1)), conditions, network=DEEPONET, family=family)
        for equation in (
            lambda u, k, v: u.t - (2 + k) * u.xx - 2 * u.yy - k * u.yy - k.x * u.x - v,
            lambda u, k, v: u.t - 2 * pde.laplacian(u, "x y") - pde.diffusion(u, k, "x y") - v,
        )
    ]
    params, points = by_hand.init(), by_hand.points(POINTS)
    right = by_hand.values(params, points)["equation"]
    assert right.shape == (3 * POINTS, 1) and by_hand.family.size == 10 + 50
    np.testing.assert_allclose(found.values(params, points)["equation"], right, atol=1e-10)


def test_conditions_may_ask_for_the_function():
    start = pde.Condition(lambda u, v: u.value - v, on="initial")
    of = pde.Problem(lambda u: u.t - u.xx, PLANE, [pde.Dirichlet(u=0), start], network=DEEPONET, family={"v": PROCESS})
    points = of.points(POINTS, 9)
    values = of.values(of.init(), points)
    assert {name: len(value) for name, value in values.items()} == {
        "equation": FUNCTIONS * POINTS, "condition on initial": FUNCTIONS * 9,
    }  # fmt: skip


# -- the law -----------------------------------------------------------------------------------------------------------


def of_a_pair(network, run):
    """Return flops and bytes of a program for each pair of a function and a point: those that grow with both."""

    def cost(count, points):
        of = problem(network, {"v": pde.GaussianProcess("x", length=0.3, count=count, sensors=SENSORS)})
        row = of.init(), of.points(points)
        found = simplify(lower(without_calls(trace(run(of))(*row)))).cost()
        return np.array([found.flops, found.bytes])

    return cost(6, 34) - cost(3, 34) - cost(6, 17) + cost(3, 17)


@pytest.mark.parametrize(
    "run", [lambda of: of.residuals, lambda of: primad.grad(of.loss)], ids=["residuals", "gradient of the loss"]
)
def test_coordinates_are_differentiated_once_for_all_functions(run):
    """What is computed and kept for each pair does not depend on the networks, but for the products of both."""

    def network(width, depth):
        return pde.DeepONet(4, pde.MLP(width, depth), pde.MLP(width, depth))

    small, large = of_a_pair(network(7, 1), run), of_a_pair(network(13, 3), run)
    np.testing.assert_array_equal(small, large)
    each, twice = of_a_pair(pde.MLP(7, 1), run), of_a_pair(pde.MLP(14, 1), run)
    assert np.all(each > small) and np.all(twice > 1.7 * each - small), "and where they do, this tells it"


# -- new functions -----------------------------------------------------------------------------------------------------


def test_a_new_function_is_answered(solved):
    x = np.linspace(0, 1, 11)
    np.testing.assert_allclose(solved.u(x, v=lambda x: np.cos(3 * x)), np.sin(3 * x) / 3, atol=0.05)
    assert solved.given(v=np.cos).error(u=lambda x: np.sin(x)) < 0.05
    assert abs(solved.u.d("x")(0.4, v=np.cos) - np.cos(0.4)) < 0.1
    for constant in (lambda x: 2.0, 2.0, 2, np.float32(2)):
        np.testing.assert_array_equal(solved.u(x, v=constant), solved.u(x, v=np.full(SENSORS, 2.0)))
    slope = primad.grad(lambda size: solved.u(0.7, v=size))(2.0)
    assert abs((solved.u(0.7, v=2.0 + 1e-6) - solved.u(0.7, v=2.0)) / 1e-6 - slope) < 1e-5
    both = solved.u(x, v=np.stack([np.cos(GRID), np.sin(GRID)]))
    np.testing.assert_allclose(both, [solved.u(x, v=np.cos), solved.u(x, v=np.sin)], atol=1e-12)
    assert solved.u(0.5, v=np.cos).shape == () and solved.u(x[:, None], v=np.cos).shape == (11, 1)


def test_derivatives_by_the_function(solved):
    values, step = np.cos(GRID), 1e-6
    slope = primad.grad(lambda values: solved.u(0.7, v=values))(values)
    for place in (0, 4, SENSORS - 1):
        moved = values + step * np.eye(SENSORS)[place]
        assert abs((solved.u(0.7, v=moved) - solved.u(0.7, v=values)) / step - slope[place]) < 1e-5


def test_a_solution_of_one_function_is_one_as_any_other(solved, tmp_path):
    given = solved.given(v=np.cos)
    assert {name: values.shape for name, (at, values) in given.residuals(30).items()} == {"equation": (30,)}
    given.plot("u")
    solved.save(tmp_path / "operator")
    again = solved.problem.load(tmp_path / "operator")
    assert again.u(0.3, v=np.cos) == given.u(0.3)
    assert "<table" in solved._repr_html_() and "v" in solved.problem.latex()["equation"][0]


def test_pages_show_a_family_and_one_of_its_functions(solved, tmp_path):
    """Input functions are in its formulas; pictures of the solution are those of one function."""
    assert "<mi>v</mi>" in solved.problem._repr_html_()
    for solution, captions in ((solved, ["losses"]), (solved.given(v=np.cos), ["u", "residual of equation", "losses"])):
        page = solution.report(tmp_path / "run.html").read_text(encoding="utf-8")
        assert re.findall("<figcaption>(.*?)</figcaption>", page) == captions and "<mi>v</mi>" in page


def test_the_residual_of_one_function_is_certified_where_the_equation_does_not_ask_for_it():
    start = pde.Condition(lambda u, v: u.value - v, on="initial")
    inputs = pde.FourierSeries("x", terms=1, count=3, sensors=5)
    network = pde.DeepONet(2, pde.MLP(3, 1), pde.MLP(3, 1))
    heat = pde.Problem(lambda u: u.t - u.xx, PLANE, [pde.Periodic("x"), start], network=network, family={"v": inputs})
    found = heat.solve(steps=1, points=10, progress=False)
    proven = [found.given(v=v).certify(most=300, progress=False).residuals[0] for v in (1.0, -2.0)]
    assert all(one.most >= one.sampled > 0 for one in proven) and proven[0].most != proven[1].most


# -- searches ----------------------------------------------------------------------------------------------------------


@pytest.mark.one_in(2)
@pytest.mark.filterwarnings("ignore:.*points only:UserWarning")
@pytest.mark.parametrize(
    "settings",
    [{"resample": 1, "refine": 0.5}, {"causal": 1.0}, {"optimizer": optimize.Descent(nn.Adam(1e-2)), "resample": 2}],
    ids=str,
)
def test_searches_in_all_ways(settings):
    of = problem(family={"v": pde.GivenFunctions("x", PROCESS.drawn(GRID, np.random.default_rng(0)), count=3)})
    found = of.solve(steps=4, points=POINTS, progress=False, **settings)
    assert found.loss < found.history.values[0]


def test_functions_are_drawn_anew_and_from_the_seed():
    of = problem()
    first, again, other = (of.points(4, seed=seed)["equation"][key("v")] for seed in (0, 0, 1))
    assert np.all(first == again) and not np.any(first == other)


def test_samples_have_their_covariance():
    drawn = pde.GaussianProcess("x", length=0.3, deviation=2.0, count=4000, sensors=5).drawn(
        np.linspace(0, 1, 5), np.random.default_rng(0)
    )
    np.testing.assert_allclose(drawn.T @ drawn / 4000, 4 * np.exp(-((np.arange(5)[:, None] - np.arange(5)) / 4) ** 2
                                                                  / 0.18), atol=0.4)  # fmt: skip


def test_what_is_not_finite_is_told_with_its_point():
    of = pde.Problem(lambda u, v: u.x - np.log(v - 1e9), pde.Interval(0, 1), [pde.Dirichlet(u=0)], network=DEEPONET,
                     family={"v": PROCESS})  # fmt: skip
    with pytest.raises(PrimadError, match=r"'equation' is .* at x = "):
        of.solve(steps=1, points=5, progress=False)


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda s: s.u(0.5), r"depends on v.*v=…"),
        (lambda s: s.u(0.5, v=np.ones(5)), r"shape \(5,\).*np.linspace\(0, 1, 12\)"),
        (lambda s: s.u(0.5, v=np.full(SENSORS, np.nan)), "NaN"),
        (lambda s: s.u(0.5, w=np.cos), "got a number, w"),
        (lambda s: s.given(w=np.cos), "no input function 'w'"),
        (lambda s: s.given(v=np.ones((2, SENSORS))), "one function of each"),
        (lambda s: s.plot("u"), "depends on v"),
        (lambda s: s.problem.solve(chunks=2), "this is a family"),
        (lambda s: s.certify(), "depends on v"),
        (lambda s: s.given(v=np.cos).certify(), "'equation' asks for the input function v.*residuals"),
        (lambda s: pde.GaussianProcess("x", length=0), "positive number"),
        (lambda s: pde.GaussianProcess("x", sensors=2), "too few"),
        (lambda s: pde.GaussianProcess(0.2), "by name"),
        (lambda s: pde.FourierSeries("x", terms=40), "160 sensors"),
        (lambda s: pde.GivenFunctions("x", np.ones(9)), "function a row"),
        (lambda s: pde.GivenFunctions("x", [np.sin, np.cos]), r"got functions of Python.*\[f\(x\) for f in"),
        (lambda s: problem(family={"k": PROCESS}, equation=lambda u, k: u.t - pde.diffusion(u, 2 + k)), "exp"),
        (lambda s: pde.GivenFunctions("x", np.ones((3, 9)), count=4), "fewer than 4"),
        (lambda s: problem(family={"v": np.cos}), "how functions are drawn"),
        (lambda s: problem(family=PROCESS), "functions by name, got GaussianProcess"),
        (lambda s: problem({"u": DEEPONET}), r"is dict.*unknowns=\{'u'"),
        (lambda s: problem(family={"v": pde.GaussianProcess("y")}), "'y', which is no coordinate"),
        (lambda s: problem(family={"v": PROCESS, "w": pde.GaussianProcess("x", count=3)}), "5 of v, 3 of w"),
        (lambda s: problem(family={"v": PROCESS, "w": PROCESS}), "input function 'w'"),
        (lambda s: problem(family={"x": PROCESS}), "'x' is among the coordinates and the input functions"),
        (lambda s: pde.Problem(lambda u: u.x - 1, pde.Interval(0, 1), [pde.Dirichlet(u=0)], network=DEEPONET),
         "DeepONet is the network of a family"),
        (lambda s: pde.Problem(lambda u, v: u.x - v, pde.Interval(0, 1), [pde.Dirichlet(u=0), pde.Data(x=[0.5], u=[1])],
                               network=DEEPONET, family={"v": PROCESS}), "in a family"),
        (lambda s: pde.Problem(lambda u, v: u.x - v, pde.Interval(0, 1), [pde.Dirichlet(u=lambda v: v)],
                               network=DEEPONET, family={"v": PROCESS}), "pde.Condition"),
        (lambda s: pde.DeepONet(branch=3), "branch is a network"),
    ],
)  # fmt: skip
def test_refusals_say_what_to_do(solved, call, said):
    with pytest.raises(PrimadError, match=re.compile(said, re.DOTALL)) as error:
        call(solved)
    assert "Fix: " in str(error.value)


def test_a_march_is_refused():
    def window(time, start):
        conditions = [pde.Dirichlet(u=0), pde.Initial(**start)]
        return pde.Problem(reaction, pde.Interval(0, 1) * time, conditions, network=DEEPONET, family={"v": PROCESS})

    with pytest.raises(PrimadError, match="march: the problem of a window is a family"):
        pde.march(window, {"u": lambda x: 0 * x}, [0, 0.5, 1.0], progress=False)


def test_a_problem_without_a_family_has_no_input_functions():
    of = pde.Problem(lambda u: u.x - 1, pde.Interval(0, 1), [pde.Dirichlet(u=0, on="x-"), pde.Free("u", on="x+")])
    found = pde.Solution(of, of.init(), None, None, None)
    for call in (lambda: found.given(v=np.cos), lambda: found.given(), lambda: found.u(0.5, v=np.cos)):
        with pytest.raises(PrimadError, match=r"no input functions|got a number, v"):
            call()


def test_functions_that_are_all_zero_have_a_scale() -> None:
    """What networks get of them is 0, and no 0 / 0."""
    zero = pde.GivenFunctions("x", np.zeros((3, 20)))
    problem = pde.Problem(lambda u, f: u.xx - f.value, pde.Interval(0, 1), pde.Dirichlet(u=0), family={"f": zero})
    rows, several = problem.family.rows({"f": lambda x: 0 * x})
    assert not several and np.all(problem.family.numbers(rows) == 0)
