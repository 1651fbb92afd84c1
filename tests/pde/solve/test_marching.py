"""Marching in time: windows meet, the interpolant is exact, and what does not fit is refused."""

import numpy as np
import pytest

import primad
from primad import pde
from primad.errors import ProblemError, TracingError
from primad.pde.report import picture_grids
from primad.pde.report.spectral_interpolation import ChebyshevBasis, TrigonometricBasis, near, through
from tests.sweeps import chosen


@pytest.mark.parametrize("count", [8, 9, 64])
def test_the_interpolant_reproduces_trigonometric_polynomials(count):
    x = np.linspace(-1, 3, count, endpoint=False)

    def wave(x):
        return 0.3 + np.sin(np.pi * x / 2) - 0.5 * np.cos(3 * np.pi * x / 2 + 0.2)

    found = pde.trigonometric(wave(x), -1, 3)
    at = np.linspace(-1, 3, 17)
    np.testing.assert_allclose(found(at), wave(at), atol=1e-13)
    np.testing.assert_allclose(primad.vmap(primad.derivative(found, 3))(at), primad.derivative(wave, 3)(at), atol=1e-11)


@pytest.mark.parametrize("count", [8, 9, 40])
def test_the_polynomial_reproduces_polynomials(count):
    x = 1 + 2 * np.cos(np.linspace(0, np.pi, count))

    def shape(x):
        return 0.3 + x - 0.5 * x**3 + 0.01 * x**7

    found = pde.chebyshev(shape(x), -1, 3)
    at = np.linspace(-1, 3, 17)
    np.testing.assert_allclose(found(at), shape(at), atol=1e-11)
    np.testing.assert_allclose(primad.vmap(primad.derivative(found, 3))(at), primad.derivative(shape, 3)(at), atol=1e-8)


def heat(u):
    return u.t - 0.1 * u.xx


def window(time, initial):
    conditions = [pde.Periodic("x"), pde.Initial(**initial)]
    return pde.Problem(heat, pde.Interval(0, 1) * time, conditions, network=pde.MLP(8, 1))


START = {"u": lambda x: np.sin(2 * np.pi * x)}


def test_windows_meet_and_are_the_solution():
    found = pde.march(window, START, [0.0, 0.1, 0.3], points=300, nodes=64, steps=40, seed=0, progress=False)
    x, t = np.linspace(0, 1, 9)[:, None], np.linspace(0, 0.3, 7)
    right = np.exp(-0.1 * (2 * np.pi) ** 2 * t) * np.sin(2 * np.pi * x)
    np.testing.assert_allclose(found.u(x, t), right, atol=1e-3)
    first, second = found.solutions
    np.testing.assert_allclose(first.u(x, 0.1), second.u(x, 0.1), atol=1e-9)
    assert len(found.solutions) == 2 and found.u(0.25, 0.0) == pytest.approx(1.0)


def test_windows_meet_without_a_period_and_a_march_goes_on_from_its_checkpoints(tmp_path):
    def window(time, initial):
        conditions = [pde.Dirichlet(u=0), pde.Initial(**initial)]
        return pde.Problem(heat, pde.Interval(0, 1) * time, conditions, network=pde.MLP(8, 1))

    start = {"u": lambda x: np.sin(np.pi * x)}
    settings = {"points": 40, "steps": 25, "progress": False, "checkpoint": tmp_path}
    pde.march(window, start, [0.0, 0.2], **settings)
    found = pde.march(window, start, [0.0, 0.2, 0.5], **settings)
    x, t = np.linspace(0, 1, 9)[:, None], np.linspace(0, 0.5, 7)
    np.testing.assert_allclose(found.u(x, t), np.exp(-0.1 * np.pi**2 * t) * np.sin(np.pi * x), atol=1e-4)
    assert all(list(one.problem.labels) == ["equation"] for one in found.solutions)
    assert {path.name for path in tmp_path.iterdir()} == {"window 0", "window 1"}


def test_an_interrupted_march_keeps_what_it_has():
    def stop(solution):
        if solution.problem.domain.bounds[1][0] > 0:
            raise KeyboardInterrupt

    found = pde.march(window, START, [0.0, 0.1, 0.2, 0.3], steps=2, progress=False, callback=stop)
    assert [one.reason for one in found.solutions] == ["steps", "interrupted"]
    assert found.times.tolist() == [0.0, 0.1, 0.2]


def decaying(domain, conditions):
    """March the heat equation in two windows from a product of waves that decays; return the largest error."""
    rate = 0.1 * 2 * np.pi**2

    def exact(x, y, t):
        return np.exp(-rate * t) * np.sin(np.pi * x) * np.sin(np.pi * y)

    def window(time, initial):
        given = [each(exact) for each in conditions]
        return pde.Problem(
            lambda u: u.t - 0.1 * pde.laplacian(u), domain * time, [*given, pde.Initial(**initial)],
            network=pde.MLP(12, 1),
        )  # fmt: skip

    start = {"u": lambda x, y: exact(x, y, 0.0)}
    found = pde.march(window, start, [0.0, 0.2, 0.5], points=120, steps=25, progress=False)
    at = found.solutions[0].problem.domain.interior(200).at
    t = 2.5 * at[:, 2]
    return found, np.max(np.abs(found.u(at[:, 0], at[:, 1], t=t) - exact(at[:, 0], at[:, 1], t)))


PLANES = {
    "a box": (pde.Box(x=(0, 1), y=(0, 1)), [lambda exact: pde.Dirichlet(u=0)]),
    "with a period": (
        pde.Box(x=(-1, 1), y=(0, 1)),
        [lambda exact: pde.Periodic("x"), lambda exact: pde.Dirichlet(u=0, on=["y-", "y+"])],
    ),
    "a disk": (pde.Disk((0.5, 0.5), 0.5), [lambda exact: pde.Dirichlet(u=exact)]),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", chosen(PLANES, ["with a period", "a disk"]))
def test_windows_of_the_plane_meet_and_are_the_solution(name):
    domain, conditions = PLANES[name]
    found, error = decaying(domain, conditions)
    assert error < 2e-3
    first, second = found.solutions
    at = domain.interior(50).at.T
    np.testing.assert_allclose(first.u(*at, 0.2), second.u(*at, 0.2), atol=1e-8)
    assert list(second.problem.labels) == ["equation"]  # the start holds by construction, also at the boundary
    with pytest.raises(ProblemError, match="is a function of x, y, t"):
        found.u(0.5, 0.5)


@pytest.mark.parametrize("names", ["a", "a b", "a b c"])
def test_functions_through_values_are_the_functions(names):
    """In one to three coordinates, some with a period, by products of nodes and by points in part of the box."""
    names, shape = names.split(), np.array([1.0, -0.7, 0.4])

    def right(*at):
        return np.sin(2 * np.pi * at[0]) * np.exp(sum(c * x for c, x in zip(shape[1:], at[1:], strict=False)))

    bases = [TrigonometricBasis(0.0, 1.0), ChebyshevBasis(-1.0, 2.0), ChebyshevBasis(0.0, 1.0)][: len(names)]
    nodes = np.meshgrid(*[basis.nodes(19) for basis in bases], indexing="ij")
    rng = np.random.default_rng(0)
    at = [rng.uniform(basis.low, basis.high, 2000) for basis in bases]
    counts = [3, 13, 11][: len(names)]
    half = np.stack(at, axis=1)[at[-1] < (0.6 if len(names) > 1 else 2.0)]
    for found in (
        through(names, bases, right(*nodes), 1e-14),
        near(names, bases, half, right(*half.T), counts, 1e-14),
    ):
        some = half[:20].T
        np.testing.assert_allclose(found(*some), right(*some), atol=1e-9)
        one = tuple(float(x) for x in some[:, 0])
        slope = primad.grad(found, len(names) - 1)(*one)
        np.testing.assert_allclose(slope, primad.grad(right, len(names) - 1)(*one), atol=1e-7)
        np.testing.assert_allclose(primad.vmap(found)(*some), right(*some), atol=1e-9)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ProblemError, match="increasing"):
        pde.march(window, START, [0.0, 0.0])

    with pytest.raises(TracingError, match="returns that of a window, got Problem"):
        pde.march(window(pde.Time(0, 1), START), START, [0.0, 1.0])
    with pytest.raises(TracingError, match="by name, got function"):
        pde.march(window, lambda x: x, [0.0, 1.0])

    def many(time, initial):
        conditions = [pde.Free("u", on=["boundary"]), pde.Initial(**initial)]
        return pde.Problem(lambda u: u.t - pde.laplacian(u), pde.Ball((0,) * 4, 1) * time, conditions)

    with pytest.raises(ProblemError, match="one to three coordinates of space"):
        pde.march(many, {"u": 0.0}, [0.0, 1.0])


@pytest.fixture(scope="module")
def marched(code):
    return pde.march(learning, START, [0.0, 0.1, 0.4], points=30, nodes=32, steps=5, progress=False)


def learning(time, initial):
    conditions = [pde.Periodic("x"), pde.Initial(**initial)]
    x = np.linspace(0, 1, 9)
    data = pde.Data(x=x, t=0 * x + time.high, u=np.exp(-0.1 * (2 * np.pi) ** 2 * time.high) * np.sin(2 * np.pi * x))
    return pde.Problem(
        lambda u, k: u.t - k * u.xx,
        pde.Interval(0, 1) * time,
        [*conditions, data],
        coefficients={"k": 0.1},
        network=pde.MLP(5, 1),
    )


def exact(x, t):
    return np.exp(-0.1 * (2 * np.pi) ** 2 * t) * np.sin(2 * np.pi * x)


def test_a_march_is_a_solution_like_any_other(marched, tmp_path):
    """All that a solution answers, a march answers: no attribute of one is missing, or fails, on the other."""
    assert isinstance(marched, pde.Solution)
    x, t = np.meshgrid(np.linspace(0, 1, 7), np.linspace(0, 0.4, 9))
    at = np.stack([x.ravel(), t.ravel()], axis=1)
    np.testing.assert_array_equal(marched.at(at, "u").reshape(x.shape), marched.u(x, t))
    np.testing.assert_allclose(marched.u(x, t), exact(x, t), atol=0.1)
    np.testing.assert_array_equal(marched.u(0.3, t=0.15), marched.solutions[1].u(0.3, 0.15))
    np.testing.assert_array_equal(marched.u.d("xt")(0.3, 0.35), marched.solutions[1].u.d("xt")(0.3, 0.35))
    assert marched.error(200, u=exact) < 0.2
    assert len(marched.history) == sum(len(one.history) for one in marched.solutions) == len(marched.history.of("data"))
    assert marched.coefficients["k"].shape == (2,) and marched.seconds >= marched.solutions[-1].seconds
    assert marched.size == sum(one.size for one in marched.solutions)
    points, values = marched.residuals(50)["equation"]
    assert points.shape == (50, 2) and values.shape == (50,) and np.max(np.abs(values)) < 1
    assert repr(marched).startswith("<march of u from t = 0 to 0.4: loss ")
    for name in (name for name in dir(marched.solutions[0]) if not name.startswith("_")):
        assert hasattr(marched, name), name
    with pytest.raises(AttributeError, match="has no attribute 'v'"):
        getattr(marched, "v")  # noqa: B009
    with pytest.raises(ProblemError, match="ask the solution of a window"):
        marched.confidence()


@pytest.mark.parametrize("time", [0.41, -0.01, 3.0, np.nan])
@pytest.mark.parametrize("ask", ["call", "at", "derivative", "residual"])
def test_a_march_is_not_asked_outside_of_its_times(marched, time, ask):
    asked = {
        "call": lambda: marched.u(np.array([0.1, 0.2]), np.array([0.1, time])),
        "at": lambda: marched.at(np.array([[0.1, 0.1], [0.1, time]]), "u"),
        "derivative": lambda: marched.u.d("xx")(0.1, time),
        "residual": lambda: marched.residual_at(np.array([[0.1, time]]), "equation"),
    }
    with pytest.raises(ProblemError, match=r"is asked at t = .*, and it goes from 0 to 0.4"):
        asked[ask]()


def test_a_time_may_be_off_by_what_rounding_makes_of_it(marched):
    """A billionth of the time between the first and the last one."""
    marched.u(0.1, 0.4 * (1 + 0.9e-9))
    marched.u(0.1, -0.9e-9 * 0.4)
    for time in (0.4 * (1 + 1.1e-9), -1.1e-9 * 0.4):
        with pytest.raises(ProblemError, match="is asked at t"):
            marched.u(0.1, time)


@pytest.mark.exhaustive
def test_a_march_is_drawn_and_reported(marched, tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    monkeypatch.setattr(picture_grids, "POINTS", 21)
    axes = marched.plot_slices(at=[0.0, 0.4])
    assert len(axes.lines) == 3, "with the data at the end"
    matplotlib.pyplot.close(axes.figure)
    page = marched.report(tmp_path / "march.html", exact={"u": exact}).read_text()
    assert "in the last of 2 windows" in page and "relative error of u" in page
    for picture in ("error of u", "residual of equation", "losses", "coefficients"):
        assert f'alt="{picture}"' in page
    assert "steps" in marched._repr_html_()


def test_a_march_whose_windows_have_problems_of_their_own_is_still_a_function():
    """What wants a problem of all times says so, when it is asked for: nothing that was computed is lost."""

    def window(time, initial):
        if time.high - time.low > 0.15:
            raise KeyError("no such window")
        return pde.Problem(heat, pde.Interval(0, 1) * time, [pde.Periodic("x"), pde.Initial(**initial)],
                           network=pde.MLP(3, 1))  # fmt: skip

    found = pde.march(window, START, [0.0, 0.1, 0.2], points=9, nodes=16, steps=1, progress=False)
    assert np.isfinite(found.u(0.3, 0.15)) and "march of u" in repr(found)
    with pytest.raises(ProblemError, match=r"cannot be made: KeyError: 'no such window'(.|\n)*march.solutions\[0\]"):
        found.error(u=exact)


def test_a_march_is_saved_and_loaded_without_solving_again(marched, tmp_path):
    file = tmp_path / "march.safetensors"
    marched.save(file)
    loaded = pde.Marched.load(file, learning, START)
    x, t = np.linspace(0, 1, 5)[:, None], np.linspace(0, 0.4, 9)
    np.testing.assert_array_equal(loaded.u(x, t), marched.u(x, t))
    assert loaded.times.tolist() == marched.times.tolist() and loaded.reason == "loaded"
    with pytest.raises(ProblemError, match="parameters of another problem"):
        pde.Marched.load(file, learning, {"u": lambda x: np.cos(2 * np.pi * x)})
    marched.solutions[0].save(file)
    with pytest.raises(ProblemError, match="holds no march"):
        pde.Marched.load(file, learning, START)
