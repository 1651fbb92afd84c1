"""A function with its derivatives for SciPy's solvers: every solver takes them, and what one point needs is shared."""

from __future__ import annotations

import itertools
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
from scipy.optimize import NonlinearConstraint, rosen, rosen_der, rosen_hess, rosen_hess_prod

import primad
from primad.errors import NotDifferentiableError, ShapeError, TracingError

RNG = np.random.default_rng(6)
TREE = {"a": 1.5, "b": [np.array([[0.5, -1.0]]), np.array(2.0)]}


def valley(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def loss(p, scale, centre):
    a, (b, c) = p["a"], p["b"]
    return scale * (a - centre[0]) ** 2 + np.sum((b - a) ** 4 * np.exp(c / 4)) + (c - centre[1]) ** 2


METHODS = {
    "BFGS": ("jac",), "CG": ("jac",), "L-BFGS-B": ("jac",), "SLSQP": ("jac",), "TNC": ("jac",), "Nelder-Mead": (),
    "Newton-CG": ("jac", "hessp"), "trust-ncg": ("jac", "hessp"), "trust-krylov": ("jac", "hess"),
    "trust-exact": ("jac", "hess"), "dogleg": ("jac", "hess"), "trust-constr": ("jac", "hess"),
}  # fmt: skip


def test_derivatives_are_those_of_scipys_own_function():
    f, x, p = primad.to_scipy(valley, np.zeros(5)), *RNG.normal(size=(2, 5))
    np.testing.assert_allclose(f.fun(x), rosen(x))
    np.testing.assert_allclose(f.jac(x), rosen_der(x))
    np.testing.assert_allclose(f.hess(x), rosen_hess(x))
    np.testing.assert_allclose(f.hessp(x, p), rosen_hess_prod(x, p))
    np.testing.assert_allclose(f.weighted_hess(x, 2.0), 2 * rosen_hess(x))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_minimize_takes_them(method):
    f = primad.to_scipy(valley, [1.1, 1.3])
    by_hand = {"jac": rosen_der, "hess": rosen_hess, "hessp": rosen_hess_prod}
    found = scipy.optimize.minimize(f.fun, f.x0, method=method, **{name: getattr(f, name) for name in METHODS[method]})
    wanted = scipy.optimize.minimize(rosen, f.x0, method=method, **{name: by_hand[name] for name in METHODS[method]})
    assert abs(found.nit - wanted.nit) <= 2
    np.testing.assert_allclose(found.x, wanted.x, atol=1e-4)


def test_trees_and_other_arguments():
    f = primad.to_scipy(loss, TREE)
    args = 2.0, np.array([0.3, -0.2])
    assert f.x0.tolist() == [1.5, 0.5, -1.0, 2.0] and f.vector(f.tree(f.x0)).tolist() == f.x0.tolist()
    np.testing.assert_allclose(f.jac(f.x0, *args), f.vector(primad.grad(loss)(f.tree(f.x0), *args)))
    p = RNG.normal(size=4)
    np.testing.assert_allclose(f.hess(f.x0, *args) @ p, f.hessp(f.x0, p, *args))
    step = 1e-6 * p
    differences = (f.jac(f.x0 + step, *args) - f.jac(f.x0 - step, *args)) / 2e-6
    np.testing.assert_allclose(f.hessp(f.x0, p, *args), differences, rtol=1e-6)
    found = scipy.optimize.minimize(f.fun, f.x0, args, "trust-exact", f.jac, f.hess, tol=1e-10)
    assert f.tree(found.x)["b"][0].shape == (1, 2) and abs(f.tree(found.x)["a"] - 0.3) < 1e-3
    other = scipy.optimize.minimize(f.fun, f.x0, (2.0, np.array([1.0, 0.0])), "trust-exact", f.jac, f.hess, tol=1e-10)
    assert abs(f.tree(other.x)["a"] - 1.0) < 1e-3


def test_residuals_equations_constraints_and_slopes():
    t = np.linspace(0.0, 3.0, 30)
    data = 2.0 * np.exp(-1.5 * t)
    fit = primad.to_scipy(lambda p, t: p["size"] * np.exp(-p["rate"] * t) - data, {"size": 1.0, "rate": 1.0})
    found = scipy.optimize.least_squares(fit.fun, fit.x0, fit.jac, args=(t,))
    assert {k: round(float(v), 6) for k, v in fit.tree(found.x).items()} == {"size": 2.0, "rate": 1.5}
    system = primad.to_scipy(lambda x: [x[0] + x[1] ** 2 - 3, np.sin(x[0]) - x[1]], [2.5, 0.5])
    found = scipy.optimize.root(system.fun, system.x0, jac=system.jac)
    np.testing.assert_allclose(system.fun(found.x), 0.0, atol=1e-9)
    assert found.njev < 5
    disc = primad.to_scipy(lambda x: np.sum(x**2), np.zeros(2))
    limit = NonlinearConstraint(disc.fun, -np.inf, 1.0, jac=disc.jac, hess=disc.weighted_hess)
    f = primad.to_scipy(valley, np.zeros(2))
    found = scipy.optimize.minimize(f.fun, f.x0, jac=f.jac, hessp=f.hessp, method="trust-constr", constraints=limit)
    np.testing.assert_allclose(found.x, [0.7864, 0.6177], atol=1e-3)
    rates = np.array([0.04, 3e7, 1e4])

    def robertson(t, y, k):
        slow, fast, back = k[0] * y[0], k[1] * y[1] ** 2, k[2] * y[1] * y[2]
        return [back - slow, slow - back - fast, fast]

    stiff = primad.to_scipy(robertson, [1.0, 0.0, 0.0], argnum=1)
    found = scipy.integrate.solve_ivp(
        stiff.fun,
        (0, 40),
        stiff.x0,
        "Radau",
        args=(rates,),
        jac=lambda t, y, k: stiff.jac(t, y, k),
        rtol=1e-8,
        atol=1e-10,
    )
    np.testing.assert_allclose(found.y[:, -1], [0.7158271, 9.1855e-6, 0.2841637], rtol=1e-4)


def test_weighted_curvature_of_constraints():
    f = primad.to_scipy(lambda x: {"a": np.prod(x), "b": x**3}, np.ones(3))
    x, v = np.array([1.0, 2.0, 3.0]), np.array([2.0, -1.0, 0.5, 0.25])
    wanted = 2.0 * np.array([[0, 3, 2], [3, 0, 1], [2, 1, 0]]) + np.diag(6 * v[1:] * x)
    np.testing.assert_allclose(f.weighted_hess(x, v), wanted)
    for call in (lambda: f.hess(x), lambda: f.hessp(x, x)):
        with pytest.raises(ShapeError, match=r"hess.* is of a function of one number, and this one has 4"):
            call()


def test_one_point_is_computed_once():
    calls = []
    f = primad.to_scipy(lambda x, a: calls.append(1) or np.sum(x**2 * a), np.ones(3), compiled=False)
    x, a = np.ones(3), np.arange(3.0)

    def counted(*names):
        calls.clear()
        for name in names:
            getattr(f, name)(x, a)
        return len(calls)

    assert counted("fun", "fun") == 1
    assert counted("jac", "jac", "fun") == 1
    x *= 2.0  # in place, as solvers do
    assert counted("fun", "jac", "fun") == 1 and f.fun(x, a) == 12.0
    a += 1.0
    assert counted("jac", "fun", "hess", "hess") == 2 and f.fun(x, a) == 24.0
    f.jac(x, a)[:] = 0.0
    assert f.jac(x, a).tolist() == [4.0, 8.0, 12.0]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("function", [valley, lambda x: np.outer(x, x)[0]], ids=["number", "vector"])
def test_whatever_is_asked_first_the_answers_are_the_same(function, compiled):
    x = np.full(3, 0.5)
    more = {"weighted_hess": [np.arange(np.size(function(x))) + 1.0]}
    answers = []
    for order in itertools.permutations(["fun", "jac", "weighted_hess"]):
        f = primad.to_scipy(function, x, compiled=compiled)
        answers.append({name: np.asarray(getattr(f, name)(x, *more.get(name, ()))) for name in order})
    for name, wanted in answers[0].items():
        for each in answers[1:]:
            np.testing.assert_allclose(each[name], wanted, strict=True)


def test_threads_and_processes_have_points_of_their_own():
    f = primad.to_scipy(valley, np.zeros(3))
    points = RNG.normal(size=(200, 3))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda x: (f.fun(x), f.jac(x)), points))
    for x, (value, slope) in zip(points, found, strict=True):
        np.testing.assert_allclose(value, rosen(x))
        np.testing.assert_allclose(slope, rosen_der(x))
    sent = pickle.loads(pickle.dumps(primad.to_scipy(loss, TREE).jac))
    args = np.arange(4.0), 2.0, np.array([0.3, -0.2])
    np.testing.assert_array_equal(sent(*args), primad.to_scipy(loss, TREE).jac(*args))


def test_complex_arguments_are_searched_by_their_parts():
    f = primad.to_scipy(lambda z: np.sum(np.abs(z**2 - 1j) ** 2), np.array([1.0 + 0.5j]))
    assert f.x0.tolist() == [1.0, 0.5]
    found = scipy.optimize.minimize(f.fun, f.x0, jac=f.jac, hess=f.hess, method="trust-exact", tol=1e-12)
    np.testing.assert_allclose(f.tree(found.x), [np.sqrt(0.5) * (1 + 1j)])
    g = primad.to_scipy(lambda z: z**2 - 1j, np.array([1.0 + 0.5j]))
    found = scipy.optimize.root(g.fun, g.x0, jac=g.jac)
    np.testing.assert_allclose(g.tree(found.x), [np.sqrt(0.5) * (1 + 1j)])


def test_refusals():
    f = primad.to_scipy(valley, np.zeros(3))
    with pytest.raises(ShapeError, match="a vector of 2 numbers, and x0 has 3"):
        f.fun(np.zeros(2))
    with pytest.raises(TracingError, match="expected a vector after x"):
        f.hessp(np.zeros(3))
    with pytest.raises(NotDifferentiableError, match="a function for SciPy"):
        primad.grad(f.fun)(np.zeros(3))
    with pytest.raises(TracingError, match="expected a function"):
        primad.to_scipy(3, np.zeros(3))
