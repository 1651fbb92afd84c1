"""Complex fields and unknowns: equations as they are written, conditions of every kind, data, pictures, marches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
from primad import pde
from primad.errors import ProblemError, ShapeError
from tests.sweeps import chosen

K = 2.0


def soliton(x: Any, t: Any) -> Any:
    """The soliton of i h_t + h_xx / 2 + |h|² h = 0 that moves with the speed 1/2."""
    return np.exp(0.5j * x + 0.375j * t) / np.cosh(x - 0.5 * t)


def schroedinger(h: Any) -> Any:
    return 1j * h.t + 0.5 * h.xx + abs(h) ** 2 * h


def plane(x: Any, y: Any) -> Any:
    return np.exp(1j * K * (0.6 * x + 0.8 * y))


def standing(x: Any, t: Any) -> Any:
    return np.sin(np.pi * x) * np.exp(1j * np.pi * t)


STRIP = pde.Interval(-3, 3) * pde.Time(0, 0.4)
BORDERS = [pde.Dirichlet(h=soliton), pde.Initial(h=lambda x: soliton(x, 0))]
CASES: dict[str, tuple[Any, ...]] = {
    "by construction": (schroedinger, STRIP, BORDERS, soliton),
    "fitted": (
        schroedinger,
        STRIP,
        [pde.Dirichlet(h=soliton, hard=False), pde.Initial(h=lambda x: soliton(x, 0), hard=False)],
        soliton,
    ),
    "velocity": (
        lambda h: h.tt - h.xx,
        pde.Interval(0, 1) * pde.Time(0, 0.5),
        [
            pde.Dirichlet(h=0),
            pde.Initial(h=lambda x: standing(x, 0)),
            pde.Initial(h=lambda x: 1j * np.pi * np.sin(np.pi * x), order=1),
        ],
        standing,
    ),
    "radiation": (
        lambda h: h.xx + K**2 * h,
        pde.Interval(0, 1),
        [pde.Dirichlet(h=1 + 0j, on="x-"), pde.Robin(h=0, a=-1j * K, b=1, on="x+")],
        lambda x: np.exp(1j * K * x),
    ),
    "a residual on the boundary": (
        lambda h: pde.laplacian(h) + K**2 * h,
        pde.Box(x=(0, 1), y=(0, 1)),
        [pde.Condition(lambda h, n, x, y: n @ pde.gradient(h) - 1j * K * (0.6 * n[0] + 0.8 * n[1]) * plane(x, y))],
        plane,
    ),
}


def problem(equation: Any, domain: Any, conditions: Any, **more: Any) -> pde.Problem:
    network = pde.Complex(pde.MLP(10, 2))
    return pde.Problem(equation, domain, conditions, **{"unknowns": "h", "network": network, **more})


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", chosen(CASES, ["by construction", "radiation", "a residual on the boundary"]))
def test_problems(name: str) -> None:
    equation, domain, conditions, exact = CASES[name]
    made = problem(equation, domain, conditions)
    assert made.labels["equation"] == ("equation real", "equation imaginary")
    found = made.solve(steps=15, points=100, progress=False)
    assert found.error(h=exact) < 2e-2


def test_derivatives_are_those_of_the_parts() -> None:
    x, t = np.linspace(-1, 1, 7), np.linspace(0, 0.4, 7)
    h = pde.Field(soliton, "x t")(x, t)
    parts = [pde.Field(lambda x, t, of=of: of(soliton(x, t)), "x t")(x, t) for of in (np.real, np.imag)]
    for name in ("x", "t", "xx", "xt"):
        assert np.allclose(h.d(name), parts[0].d(name) + 1j * parts[1].d(name))
    assert np.allclose(schroedinger(h), 0, atol=1e-12) and h.dtype == complex
    assert np.array_equal(h.real, parts[0].value) and np.array_equal(h.imag, parts[1].value)
    assert np.array_equal(h.conj() * h, np.conj(h.value) * h.value)


@pytest.mark.exhaustive
def test_the_loss_is_that_of_the_parts() -> None:
    """A problem of a complex unknown is the one of a real pair, to the last digit but rounding."""

    def pair(u: Any, v: Any) -> Any:
        square = u.value**2 + v.value**2
        return -v.t + 0.5 * u.xx + square * u.value, u.t + 0.5 * v.xx + square * v.value

    both = {"u": lambda x, t: soliton(x, t).real, "v": lambda x, t: soliton(x, t).imag}
    start = {"u": lambda x: soliton(x, 0).real, "v": lambda x: soliton(x, 0).imag}
    real = pde.Problem(
        pair, STRIP, [pde.Dirichlet(**both), pde.Initial(**start)], unknowns="u v", network=pde.MLP(4, 1)
    )
    whole = problem(schroedinger, STRIP, BORDERS, network=pde.Complex(pde.MLP(4, 1)))
    params = whole.init(3)
    same = {**params, "networks": {"u,v": params["networks"]["h"]}}
    slopes = primad.grad(whole.loss)(params, whole.points(20))["networks"]["h"]
    right = primad.grad(real.loss)(same, real.points(20))["networks"]["u,v"]
    for layer, other in zip(slopes["layers"], right["layers"], strict=True):
        assert np.allclose(layer["weights"], other["weights"], rtol=1e-10)


@pytest.mark.exhaustive
def test_data_and_a_coefficient() -> None:
    rng = np.random.default_rng(0)
    x, t = rng.uniform(-3, 3, 60), rng.uniform(0, 0.4, 60)
    measured = soliton(x, t) + 1e-4 * (rng.normal(size=60) + 1j * rng.normal(size=60))
    data = pde.Data(x=x, t=t, h=measured, noise=1e-4)
    made = problem(lambda h, k: 1j * h.t + k * h.xx + abs(h) ** 2 * h, STRIP, [*BORDERS, data], coefficients={"k": 1.0})
    found = made.solve(steps=20, points=100, progress=False)
    assert found.coefficients["k"] == pytest.approx(0.5, abs=5e-3)
    assert made.labels["data"] == ("data 0", "data 1") and not made.latex()["equation"]


def test_real_unknowns_beside_complex_ones_stay_real() -> None:
    networks = {"h": pde.Complex(pde.MLP(4, 1)), "V": pde.MLP(4, 1)}
    made = pde.Problem(
        lambda h, V, x: (1j * h.t + 0.5 * h.xx - V * h, V - 0.5 * x**2),
        STRIP,
        [*BORDERS, pde.Free("V")],
        unknowns=networks,
    )
    found = made.solve(steps=1, points=20, progress=False)
    assert found.h(0.1, 0.1).dtype == complex and found.V(0.1, 0.1).dtype == float
    assert made.labels["equation"] == ("equation 0 real", "equation 0 imaginary", "equation 1")
    assert made.complex == {"h"}


@pytest.mark.exhaustive
def test_a_march_hands_complex_values_on() -> None:
    def exact(x: Any, t: Any) -> Any:
        return 0.5 * np.exp(1j * (x - 0.25 * t))

    def window(time: pde.Time, start: Any) -> pde.Problem:
        return problem(schroedinger, pde.Interval(0, 2 * np.pi) * time, [pde.Periodic("x"), pde.Initial(**start)])

    march = pde.march(window, {"h": lambda x: exact(x, 0)}, np.linspace(0, 0.4, 3), steps=8, points=60, progress=False)
    assert march.error(h=exact) < 1e-3


def test_pictures_show_size_and_phase() -> None:
    found = problem(schroedinger, STRIP, BORDERS).solve(steps=1, points=20, progress=False)
    x = np.linspace(-3, 3, 5)
    size, phase = found.plot(along="x", t=0.1, exact=soliton)
    for axes, part in ((size, np.abs), (phase, np.angle)):
        exact, drawn = axes.lines
        assert np.allclose(np.interp(x, *drawn.get_data()), part(found.h(x, 0.1)), atol=1e-2)
        assert np.allclose(np.interp(x, *exact.get_data()), part(soliton(x, 0.1)), atol=1e-2)
    size, phase = found.plot()
    assert [axes.get_title() for axes in (size, phase)] == ["|h|", "arg h"]
    assert phase.collections[0].get_clim() == (-np.pi, np.pi)
    assert found.plot_slices(exact=soliton).get_ylabel() == "|h|"
    assert found.plot_error(h=soliton).get_title() == "|h − exact|"
    pde.plots.close("all")


REFUSED: dict[str, Any] = {
    "by construction": lambda: pde.Problem(schroedinger, STRIP, BORDERS, unknowns="h"),
    "fitted": lambda: pde.Problem(lambda u: u.xx, pde.Interval(0, 1), [pde.Dirichlet(u=1j, hard=False)]),
    "slopes": lambda: pde.Problem(
        lambda u: u.xx, pde.Interval(0, 1), [pde.Neumann(u=1j, on="x+"), pde.Dirichlet(u=0, on="x-")]
    ),
    "data": lambda: pde.Problem(lambda u: u.x, pde.Interval(0, 1), [pde.Free("u"), pde.Data(x=[0.5], u=[1j])]),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", REFUSED)
def test_complex_values_of_real_unknowns_are_refused(name: str) -> None:
    with pytest.raises(ProblemError, match=r"complex values, and a real network(?s:.*)pde.Complex"):
        REFUSED[name]()


@pytest.mark.parametrize("count", [15, 16])
@pytest.mark.parametrize("dtype", [float, complex])
def test_spectral_derivatives(dtype: Any, count: int) -> None:
    x = np.linspace(0, 3, count, endpoint=False)
    wave = 2j * np.pi / 3 * 2
    for order in range(4):
        values, right = np.exp(wave * x), wave**order * np.exp(wave * x)
        if dtype is float:
            values, right = values.real, right.real
        found = pde.spectral_derivative(np.stack([values, 2 * values], 1), 3.0, order, axis=0)
        assert found.dtype == dtype and np.allclose(found, np.stack([right, 2 * right], 1), atol=1e-10)


def test_the_highest_wave_has_no_odd_derivative() -> None:
    for dtype in (float, complex):
        wave = np.array([1, -1] * 4, dtype)
        assert np.array_equal(pde.spectral_derivative(wave, 2 * np.pi), np.zeros(8))
        assert np.allclose(pde.spectral_derivative(wave, 2 * np.pi, 2), -16 * wave)
    gradient = primad.grad(lambda u: np.sum(pde.spectral_derivative(u, 1.0) ** 2))(np.ones(8))
    assert np.allclose(gradient, 0)


@pytest.mark.parametrize("options", [{"order": 0.5}, {"order": -1}, {"order": True}, {"axis": 1}])
def test_spectral_derivatives_that_are_none(options: Any) -> None:
    with pytest.raises(ShapeError, match="spectral_derivative"):
        pde.spectral_derivative(np.ones(4), 1.0, **options)
