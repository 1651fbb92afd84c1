"""primad.scipy.integrate: SciPy's own on plain values, recorded otherwise, with derivatives in samples and points."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest
from scipy import integrate

import primad
import primad.scipy.integrate as mirror
from primad.recording.scipy_names import RECORDED

RNG = np.random.default_rng(0)
RULES = {
    "trapezoid": {}, "simpson": {}, "cumulative_trapezoid": {"initial": 0}, "cumulative_simpson": {"initial": 0.0},
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", RULES)
def test_rules_are_scipys_in_samples_points_and_distance(name: str) -> None:
    ours, scipys = getattr(mirror, name), getattr(integrate, name)
    for shape, axis in [((1,), -1), ((2,), 0), ((3,), 0), ((4,), 0), ((7,), -1), ((8,), -1), ((2, 6), 1), ((5, 3), 0)]:
        y = RNG.normal(size=shape)
        x = np.cumsum(RNG.uniform(0.5, 1.5, shape), axis=axis)
        for options in ({}, RULES[name]):
            if name == "trapezoid" and shape == (1,):
                continue
            given = {"axis": axis, **options}
            for way in (
                lambda f, y, x, g=given: f(y, x=x, **g),
                lambda f, y, x, g=given: f(y, dx=x.ravel()[0], **g),
                lambda f, y, x, g=given: f(y, **g) + 0 * x.ravel()[0],
            ):
                wanted = way(scipys, y, x)
                np.testing.assert_array_equal(way(ours, y, x), wanted)
                found = primad.jit(lambda y, x, f=way: f(ours, y, x), backend="reference")(y, x)
                assert found.shape == np.shape(wanted)
                np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
    y, x = RNG.normal(size=(2, 6)), np.cumsum(RNG.uniform(0.5, 1.5, (2, 6)), axis=1)
    recorded = lambda y, x: ours(y, x=x)  # noqa: E731
    value, slope = primad.jvp(recorded, (y, x), (y, np.sin(x)))
    np.testing.assert_allclose(value, scipys(y, x=x), rtol=1e-13, atol=1e-15)
    ends = [scipys(y + s * y, x=x + s * np.sin(x)) for s in (1e-6, -1e-6)]
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-8)


def slope(t: Any, y: Any, rate: Any = 0.5) -> Any:
    return -rate * y


def test_paths_and_integrals_have_derivatives() -> None:
    exact = {"rtol": 1e-9, "atol": 1e-11}
    for method in ("RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA", integrate.BDF):
        end = lambda rate, m=method: mirror.solve_ivp(  # noqa: E731
            slope, (0, 2), [1.0], m, t_eval=[1.0, 2.0], args=(rate,), **exact).y[0, 1]  # fmt: skip
        np.testing.assert_allclose(primad.grad(end)(0.5), -2 * np.exp(-1), rtol=1e-6)
    last = lambda rate: mirror.odeint(lambda y, t: slope(t, y, rate), 1.0, [0.0, 1.0, 2.0])[-1, 0]  # noqa: E731
    np.testing.assert_allclose(primad.grad(last)(0.5), -2 * np.exp(-1), rtol=1e-6)
    first = lambda y0: mirror.odeint(slope, y0, np.array([0.0, 2.0]), (0.5,), tfirst=True)[1]  # noqa: E731
    np.testing.assert_allclose(primad.jacobian(first)(np.ones(2))[:, :], np.exp(-1) * np.eye(2), rtol=1e-6)
    area = lambda a, w: mirror.quad(lambda x, w: np.exp(-((x / w) ** 2)), a, np.inf, (w,))[0]  # noqa: E731
    np.testing.assert_allclose(primad.grad(area, (0, 1))(0.0, 2.0), [-1, np.sqrt(np.pi) / 2], rtol=1e-7)


def test_plain_values_are_scipys_own() -> None:
    for name in mirror.__all__:
        ours, scipys = (list(inspect.signature(getattr(of, name)).parameters) for of in (mirror, integrate))
        assert ours == scipys or set(ours) - {"others"} < set(scipys), name
    found, wanted = (
        of.solve_ivp(slope, (0, 2), [1.0], "LSODA", jac=lambda t, y: [[-0.5]]) for of in (mirror, integrate)
    )
    np.testing.assert_array_equal(found.y, wanted.y)
    assert mirror.quad(lambda x: float(x) ** 2, 0, 1, full_output=True)[2]["neval"] == 21
    np.testing.assert_array_equal(
        mirror.odeint(slope, 1.0, [0, 1], tfirst=True), integrate.odeint(slope, 1.0, [0, 1], tfirst=True)
    )


def test_what_is_refused_names_a_way() -> None:
    assert set(mirror.__all__) == RECORDED["scipy.integrate"]
    for call in (
        lambda a: integrate.quad(lambda x: a * x, 0, 1)[0],
        lambda a: integrate.odeint(lambda y, t: -a * y, 1.0, [0, 1])[0, 0],
    ):
        name = re.findall(r"integrate\.(\w+)", inspect.getsource(call))[0]
        with pytest.raises(primad.TracingError, match=f"call primad.scipy.integrate.{name}, "):
            primad.grad(call)(2.0)
    with pytest.raises(primad.NotDifferentiableError, match="leave full_output out"):
        primad.grad(lambda a: mirror.quad(lambda x: a * x, 0, 1, full_output=1)[0])(1.0)
    with pytest.raises(primad.TracingError, match="multiply func by the weight"):
        primad.grad(lambda a: mirror.quad(lambda x: a * x, 0, 1, weight="cos")[0])(1.0)
    with pytest.raises(primad.ShapeError, match="initial is 0 or None"):
        primad.grad(lambda a: mirror.cumulative_trapezoid(a * np.ones(3), initial=1)[0])(1.0)
    with pytest.raises(primad.ShapeError, match="4 points for 3 samples"):
        primad.grad(lambda a: mirror.simpson(a * np.ones(3), x=np.arange(4.0)))(1.0)


@pytest.mark.parametrize("name", RULES)
def test_rules_record_as_much_for_many_samples_as_for_few(name: str) -> None:
    few, many = (primad.trace(getattr(mirror, name))(np.ones(count)) for count in (9, 901))
    assert len(many.nodes) == len(few.nodes)


@pytest.mark.parametrize("count", [2, 3, 5, 17])
def test_romberg_of_samples(count: int) -> None:
    y = np.random.default_rng(count).normal(size=(count, 2))
    found = primad.jit(lambda y, dx: mirror.romb(y, dx, axis=0))(y, 0.3)
    np.testing.assert_allclose(found, integrate.romb(y, 0.3, axis=0), rtol=1e-13)
    primad.check_grads(lambda y, dx: mirror.romb(y, dx, axis=0), (y, 0.3), order=2)
    with pytest.raises(primad.ShapeError, match="one more than a power of two"):
        primad.grad(lambda y: mirror.romb(y))(np.ones(count + 5))
    with pytest.raises(primad.NotDifferentiableError, match="leave show out"):
        primad.grad(lambda y: mirror.romb(y, show=True))(np.ones(3))


def test_quadrature_at_fixed_points() -> None:
    """In the ends, in what the function depends on, and of several functions at once."""

    def f(x: Any, k: Any) -> Any:
        return np.exp(-k * x) * np.array([[1.0], [2.0]])

    found = primad.jit(lambda a, b, k: mirror.fixed_quad(f, a, b, (k,), n=7)[0])(0.2, 1.7, 1.3)
    np.testing.assert_allclose(found, integrate.fixed_quad(f, 0.2, 1.7, (1.3,), n=7)[0], rtol=1e-14)
    primad.check_grads(lambda a, b, k: mirror.fixed_quad(f, a, b, (k,))[0], (0.2, 1.7, 1.3), order=2)
    assert mirror.fixed_quad(np.exp, 0.0, 1.0) == integrate.fixed_quad(np.exp, 0.0, 1.0)
    with pytest.raises(primad.TracingError, match=r"primad.scipy.integrate.fixed_quad"):
        primad.jit(lambda a: integrate.fixed_quad(np.exp, a, 1.0)[0])(0.0)
