"""Marching in time: windows meet, the interpolant is exact, and what does not fit is refused."""

import numpy as np
import pytest

import primad
from primad import pde
from primad.errors import ProblemError


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
    np.testing.assert_allclose(primad.derivative(found, 3)(at), primad.derivative(shape, 3)(at), atol=1e-8)


def heat(u):
    return u.t - 0.1 * u.xx


def window(time, initial):
    conditions = [pde.Periodic("x"), pde.Initial(**initial)]
    return pde.Problem(heat, pde.Interval(0, 1) * time, conditions, network=pde.MLP(8, 1))


START = {"u": lambda x: np.sin(2 * np.pi * x)}


def test_windows_meet_and_are_the_solution():
    found = pde.march(window, START, [0.0, 0.1, 0.3], points=64, steps=40, seed=0, progress=False)
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


def test_what_does_not_fit_is_refused():
    with pytest.raises(ProblemError, match="increasing"):
        pde.march(window, START, [0.0, 0.0])

    def plane(time, initial):
        conditions = [pde.Dirichlet(u=0), pde.Initial(**initial)]
        return pde.Problem(lambda u: u.t - u.xx - u.yy, pde.Box(x=(0, 1), y=(0, 1)) * time, conditions)

    with pytest.raises(ProblemError, match="one coordinate of space"):
        pde.march(plane, {"u": 0.0}, [0.0, 1.0])
