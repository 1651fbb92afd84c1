"""primad.scipy.interpolate: SciPy's values under every transform, and derivatives in points, values and knots."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import interpolate

import primad
import primad.scipy.interpolate as mirror
from primad.recording.scipy_names import RECORDED
from tests.mirrored import check_mirror

RNG = np.random.default_rng(0)
X = np.array([0.0, 0.7, 1.5, 2.1, 3.2, 4.0])
Y = np.array([0.3, -0.4, 1.1, 1.9, 0.2, -0.5])
AT = np.array([-0.6, 0.1, 1.1, 1.8, 2.4, 3.9, 4.7])
INSIDE = AT[1:-1]

CUBIC = {
    "not a knot": lambda of, x, y, t: of.CubicSpline(x, y)(t),
    "natural": lambda of, x, y, t: of.CubicSpline(x, y, bc_type="natural", extrapolate=False)(t),
    "clamped": lambda of, x, y, t: of.CubicSpline(x, y, bc_type=("clamped", "not-a-knot"))(t, 1),
    "given": lambda of, x, y, t: of.CubicSpline(x, y, bc_type=((1, y[0]), (2, 0.3)))(t, nu=2),
    "given the other way": lambda of, x, y, t: of.CubicSpline(x, y, bc_type=((2, -1.5), (1, 0.2)))(t, nu=3),
    "hermite": lambda of, x, y, t: of.CubicHermiteSpline(x, y, y[::-1], extrapolate=True)(t),
    "pchip": lambda of, x, y, t: of.PchipInterpolator(x, y)(t),
    "akima": lambda of, x, y, t: of.Akima1DInterpolator(x, y)(t),
    "makima": lambda of, x, y, t: of.Akima1DInterpolator(x, y, method="makima", extrapolate=True)(t),
    "two": lambda of, x, y, t: sum(kind(x[:2], y[:2])(t[:3]) for kind in (of.CubicSpline, of.PchipInterpolator)),
    "two in Akima's way": lambda of, x, y, t: of.Akima1DInterpolator(x[:2], y[:2], extrapolate=True)(t),
    "three": lambda of, x, y, t: of.CubicSpline(x[:3], y[:3])(t),
    "three, one end given": lambda of, x, y, t: of.CubicSpline(x[:3], y[:3], bc_type=("not-a-knot", "natural"))(t),
    "derivative": lambda of, x, y, t: of.CubicSpline(x, y).derivative(2)(t),
    "no derivative": lambda of, x, y, t: of.CubicSpline(x, y).derivative(4)(t),
    "antiderivative": lambda of, x, y, t: of.CubicSpline(x, y).antiderivative()(t),
    "twice": lambda of, x, y, t: of.CubicSpline(x, y).antiderivative(2)(t) + of.PchipInterpolator(x, y)(t),
    "integral": lambda of, x, y, t: of.CubicSpline(x, y).integrate(t[1], t[0]),
    "integral of a part": lambda of, x, y, t: of.PchipInterpolator(x, y).integrate(t[1], t[3], extrapolate=False),
    "pchip_interpolate": lambda of, x, y, t: of.pchip_interpolate(x, y, t, der=1),
    "spline 1": lambda of, x, y, t: of.make_interp_spline(x, y, k=1)(t),
    "spline 2": lambda of, x, y, t: of.make_interp_spline(x, y, k=2)(t),
    "spline 3": lambda of, x, y, t: of.make_interp_spline(x, y)(t),
    "spline 4": lambda of, x, y, t: of.make_interp_spline(x, y, k=4)(t, 1),
    "spline 5": lambda of, x, y, t: of.make_interp_spline(x, y, k=5)(t),
    "natural spline": lambda of, x, y, t: of.make_interp_spline(x, y, bc_type="natural")(t),
    "spline with ends": lambda of, x, y, t: of.make_interp_spline(x, y, bc_type=([(1, 0.5)], [(2, -1.0)]))(t),
    "spline of order 5 with ends": lambda of, x, y, t: of.make_interp_spline(
        x, y, 5, bc_type=([(1, 0.5), (2, 0.0)], [(2, -1.0), (3, 0.4)])
    )(t),
    "its derivative": lambda of, x, y, t: of.make_interp_spline(x, y).derivative()(t),
    "its integral": lambda of, x, y, t: of.make_interp_spline(x, y).integrate(t[0], t[3], extrapolate=False),
    "cubic": lambda of, x, y, t: of.interp1d(x, y, "cubic", fill_value="extrapolate")(t),
    "quadratic": lambda of, x, y, t: of.interp1d(x, y, "quadratic", bounds_error=False)(t),
    "linear": lambda of, x, y, t: of.interp1d(x, y, fill_value="extrapolate")(t),
    "filled": lambda of, x, y, t: of.interp1d(x, y, bounds_error=False, fill_value=(-1.0, 2.0))(t),
    "not in order": lambda of, x, y, t: of.interp1d(x[::-1], y, "slinear", fill_value="extrapolate")(t),
    "on a line": lambda of, x, y, t: of.RegularGridInterpolator((x,), y, bounds_error=False)(t),
}  # fmt: skip


@pytest.mark.one_in(12)
@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", CUBIC)
def test_functions_of_one_variable(name: str) -> None:
    check_mirror(CUBIC[name], mirror, interpolate, X, Y, AT)


STEPS = {
    kind: lambda of, x, y, t, kind=kind: of.interp1d(x, y, kind, fill_value="extrapolate")(t)
    for kind in ("nearest", "nearest-up", "previous", "next", "zero")
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_have_derivatives_in_values_alone(name: str) -> None:
    at = np.concatenate([AT, X])
    check_mirror(STEPS[name], mirror, interpolate, X, Y, at, smooth=(1,))
    assert not np.any(primad.grad(lambda t: np.sum(STEPS[name](mirror, X, Y, t)))(INSIDE))


def test_periodic_splines() -> None:
    y = np.append(Y[:-1], Y[0])
    for call in (
        lambda of, x, t: of.CubicSpline(x, y, bc_type="periodic")(t),
        lambda of, x, t: of.CubicSpline(x[:3], y[[0, 1, 0]], bc_type="periodic")(t),
        lambda of, x, t: of.make_interp_spline(x, y, bc_type="periodic")(t, extrapolate="periodic"),
        lambda of, x, t: of.CubicSpline(x, y, bc_type="periodic").integrate(t[0], t[3] + 9),
        lambda of, x, t: of.PchipInterpolator(x, y, extrapolate="periodic")(t),
    ):
        check_mirror(call, mirror, interpolate, X, 0.98 * AT, rtol=1e-10)
    values = lambda of, x: of.make_interp_spline(x, y, 5, bc_type="periodic")(INSIDE)  # noqa: E731
    found = primad.jit(partial(values, mirror), backend="reference")(X)
    np.testing.assert_allclose(found, values(interpolate, X), rtol=1e-10)


KINDS = {
    "cubic": lambda of, y, t, axis: of.CubicSpline(X, y, axis=axis)(t),
    "natural": lambda of, y, t, axis: of.CubicSpline(X, y, axis=axis, bc_type="natural").integrate(0.5, t[0, 0]),
    "spline": lambda of, y, t, axis: of.make_interp_spline(X, y, axis=axis)(t),
    "interp1d": lambda of, y, t, axis: of.interp1d(X, y, axis=axis, fill_value="extrapolate")(t),
    "previous": lambda of, y, t, axis: of.interp1d(X, y, "previous", axis=axis, bounds_error=False, fill_value=7.0)(t),
    "bspline": lambda of, y, t, axis: of.BSpline(np.arange(9.0), y[..., :5, :], 3, axis=-2)(t + 3) + 0 * axis,
    "ppoly": lambda of, y, t, axis: of.PPoly(y, X[: y.shape[(axis and 1) + 1] + 1], axis=axis and 1)(t),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_axes(name: str, axis: int) -> None:
    shape = [2, 3, 2]
    shape[axis] = 6
    y = RNG.normal(size=(2, 6, 3) if name == "bspline" else (2, 4, 3) if name == "ppoly" else shape)
    smooth = (0,) if name == "previous" else None
    check_mirror(partial(KINDS[name], axis=axis), mirror, interpolate, y, AT[1:5].reshape(2, 2), smooth=smooth)


def test_complex_values() -> None:
    y = Y + 1j * Y[::-1]
    for call in (
        lambda of, y, t: of.CubicSpline(X, y)(t),
        lambda of, y, t: of.make_interp_spline(X, y)(t),
        lambda of, y, t: of.interp1d(X, y, fill_value="extrapolate")(t),
    ):
        check_mirror(call, mirror, interpolate, y, AT, smooth=(1,))
    with pytest.raises(primad.ShapeError, match=r"interpolate y\.real and y\.imag"):
        primad.trace(lambda y: mirror.PchipInterpolator(X, y)(INSIDE))(y)


T = np.array([0.0, 0.0, 0.0, 0.0, 0.8, 1.5, 1.5, 3.0, 3.0, 3.0, 3.0])


def test_knots_of_splines_are_differentiated() -> None:
    """Simple ones: at a knot that is there twice a change of one of them is no smooth change."""
    simple = np.array([-0.3, -0.2, -0.1, 0.0, 0.8, 1.5, 2.2, 3.0, 3.1, 3.2, 3.3])
    c = RNG.normal(size=7)
    for call in (
        lambda of, t, c, x: of.BSpline(t, c, 3)(x),
        lambda of, t, c, x: of.BSpline(t, c, 3, extrapolate=False)(x, 2),
        lambda of, t, c, x: of.BSpline(t, c, 3).derivative(2)(x),
        lambda of, t, c, x: of.BSpline(t, c, 3).integrate(x[0], x[4]),
        lambda of, t, c, x: of.BSpline(t, c, 3).antiderivative()(x),
    ):
        inside = np.array([0.2, 1.0, 1.9, 2.5, 2.9])
        check_mirror(call, mirror, interpolate, simple, c, inside)
        check_mirror(partial(lambda of, c, x, call: call(of, T, c, x), call=call), mirror, interpolate, c, inside)
    near = np.concatenate([T[:5], [1.4, 1.6], T[7:]])
    x = np.array([0.0, 0.5, 1.0, 1.45, 1.7, 2.2, 3.0])
    spline = lambda of, t, y: of.make_interp_spline(x, y, t=t)(INSIDE[:3])  # noqa: E731
    check_mirror(lambda of, y: spline(of, near, y), mirror, interpolate, np.sin(x))
    inner = lambda of, t: spline(of, np.concatenate([T[:4], t, T[7:]]), np.sin(x))  # noqa: E731
    moved = lambda t: spline(mirror, primad.numpy.concatenate([T[:4], t, T[7:]]), np.sin(x))  # noqa: E731
    slopes = primad.jvp(moved, (near[4:7],), (np.ones(3),))[1]
    ends = [inner(interpolate, near[4:7] + step) for step in (1e-6, -1e-6)]
    np.testing.assert_allclose(slopes, (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-8)


GRIDS: dict[str, dict[str, Any]] = {
    "linear": {}, "nearest": {"bounds_error": False}, "outside": {"bounds_error": False, "fill_value": None},
    "filled": {"bounds_error": False, "fill_value": -3.0},
    "slinear": {"method": "slinear"}, "cubic": {"method": "cubic", "bounds_error": False, "fill_value": None},
    "quintic": {"method": "quintic"},
}  # fmt: skip


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", GRIDS)
def test_grids(name: str) -> None:
    options = GRIDS[name]
    points = RNG.uniform(0.1, 3.9, (5, 2))
    if "bounds_error" in options:
        points[0] = 4.4, 1.0
    v = X * 1.1 - 0.1
    values = RNG.normal(size=(6, 6))
    plain = lambda of, values, points: of.RegularGridInterpolator((X, v), values, **options)(points)  # noqa: E731
    moved = lambda of, values, x, points: of.RegularGridInterpolator((x, v), values, **options)(points)  # noqa: E731
    loose = {"rtol": 1e-5} if name in ("cubic", "quintic") else {}  # SciPy's solver stops there
    if name in ("cubic", "quintic"):
        for call, args in ((plain, (values, points)), (moved, (values, X, points))):
            found = primad.jit(partial(call, mirror), backend="reference")(*args)
            np.testing.assert_allclose(found, call(interpolate, *args), rtol=1e-4, atol=1e-4)
        ends = [plain(interpolate, values, points + step) for step in (1e-5, -1e-5)]
        slopes = primad.jvp(lambda p: plain(mirror, values, p), (points,), (np.ones((5, 2)),))[1]
        np.testing.assert_allclose(slopes, (ends[0] - ends[1]) / 2e-5, rtol=1e-3, atol=1e-3)
        second = lambda of: of.RegularGridInterpolator((X, v), values, **options)(points, nu=(1, 2))  # noqa: E731
        found = primad.jit(lambda p: mirror.RegularGridInterpolator((X, v), values, **options)(p, nu=(1, 2)))(points)
        np.testing.assert_allclose(found, second(interpolate), rtol=1e-3, atol=1e-3)
        return
    smooth = (0,) if name == "nearest" else None
    options |= {"method": name} if name == "nearest" else {}
    check_mirror(plain, mirror, interpolate, values, points, smooth=smooth, **loose)
    check_mirror(moved, mirror, interpolate, values, X, points, smooth=smooth, **loose)
    stacked = lambda of, values, points: of.RegularGridInterpolator(  # noqa: E731
        (X, v[::-1]), np.stack([values, -2 * values], -1) if isinstance(values, np.ndarray) else
        primad.numpy.stack([values, -2 * values], -1), **options)(points)  # fmt: skip
    check_mirror(stacked, mirror, interpolate, values, points, smooth=smooth, **loose)
    cube = lambda of, values, p: of.interpn((X[:3], X[:2], X[:2]), values, (p, 0.5 * p, 0.1 * p), **options)  # noqa: E731
    check_mirror(cube, mirror, interpolate, RNG.normal(size=(3, 2, 2)), INSIDE[:2], smooth=smooth, **loose)


def test_second_derivatives() -> None:
    """Those of recorded splines are those that SciPy gives for nu = 2."""
    for make in (mirror.CubicSpline, mirror.PchipInterpolator, mirror.make_interp_spline):
        spline = make(X, Y)
        found = primad.vmap(primad.grad(primad.grad(spline)))(INSIDE)
        np.testing.assert_allclose(found, spline(INSIDE, 2), rtol=1e-10)


def test_what_is_plain_is_scipys_own() -> None:
    assert set(mirror.__all__) == RECORDED["scipy.interpolate"]
    for name in mirror.__all__:
        ours, scipys = (list(inspect.signature(getattr(of, name)).parameters) for of in (mirror, interpolate))
        assert ours == scipys, name
    np.testing.assert_array_equal(mirror.CubicSpline(X, Y).roots(), interpolate.CubicSpline(X, Y).roots())
    np.testing.assert_array_equal(mirror.make_interp_spline(X, Y).tck[1], interpolate.make_interp_spline(X, Y).c)
    with pytest.raises(primad.TracingError, match="it can be called and has derivative"):
        primad.grad(lambda y: mirror.CubicSpline(X, y).roots()[0])(Y)


def test_points_outside() -> None:
    for call in (
        lambda t: mirror.interp1d(X, Y)(t),
        lambda t: mirror.RegularGridInterpolator((X,), Y)(([t],))[0],
    ):
        with pytest.raises(primad.DomainError, match="bounds_error=False"):
            primad.grad(call)(4.5)
        assert np.isnan(primad.jit(call)(4.5)) and np.isfinite(primad.jit(call)(3.5))


def test_scipys_own_objects_name_these() -> None:
    spline, line = interpolate.CubicSpline(X, Y), interpolate.interp1d(X, Y)
    b = interpolate.make_interp_spline(X, Y)
    grid = interpolate.RegularGridInterpolator((X,), Y)
    for call, name in (
        (lambda t: spline(t), "CubicSpline"), (lambda t: line(t), "interp1d"), (lambda t: b(t), "BSpline"),
        (lambda t: grid(np.array([1.0]) * t), "RegularGridInterpolator"),
    ):  # fmt: skip
        with pytest.raises(primad.PrimadError, match=rf"primad\.scipy\.interpolate\.{name}"):
            primad.grad(call)(1.2)
    for call, name in (
        (lambda y: interpolate.CubicSpline(X, y)(1.0), "CubicSpline"),
        (lambda y: interpolate.make_interp_spline(X, y)(1.0), "make_interp_spline"),
        (lambda y: interpolate.interp1d(X, y)(1.0), "interp1d"),
        (lambda y: interpolate.pchip_interpolate(X, y, 1.0), "pchip_interpolate"),
    ):
        with pytest.raises(primad.TracingError, match=rf"call primad\.scipy\.interpolate\.{name}"):
            primad.grad(call)(Y)
    with pytest.raises(primad.TracingError, match=r"primad\.opaque"):
        primad.grad(lambda y: interpolate.KroghInterpolator(X, y)(1.0))(Y)
    with pytest.raises(AttributeError, match="Fix: "):
        getattr(mirror, "KroghInterpolator")  # noqa: B009


@pytest.mark.parametrize("refused", [
    lambda y: mirror.CubicSpline(X[:4], y)(1.0), lambda y: mirror.CubicSpline(X, y, bc_type="odd")(1.0),
    lambda y: mirror.CubicSpline(X, y, bc_type=("periodic", "natural"))(1.0), lambda y: mirror.BSpline(X, y, 3)(1.0),
    lambda y: mirror.CubicSpline(X, y, bc_type=((3, 0.0), "natural"))(1.0), lambda y: mirror.interp1d(X, y, "odd")(1.0),
    lambda y: mirror.make_interp_spline(X, y, bc_type="odd")(1.0), lambda y: mirror.PPoly(y[None], X)(1.0),
    lambda y: mirror.make_interp_spline(X, y, 2, bc_type="periodic")(1.0),
    lambda y: mirror.make_interp_spline(X, y, bc_type=([(1, 0.0)], None))(1.0),
    lambda y: mirror.RegularGridInterpolator((X, X), y)((1.0, 1.0)),
    lambda y: mirror.Akima1DInterpolator(X, y, method="b"),
    lambda y: mirror.RegularGridInterpolator((X,), y, "pchip")(1.0), lambda y: mirror.interp1d(X[:3], y)(1.0),
    lambda y: mirror.RegularGridInterpolator((X,), y)((1.0, 1.0)),
    lambda y: mirror.CubicHermiteSpline(X, y, Y[:3])(1.0),
    lambda y: mirror.interp1d(X, y, bounds_error=True, fill_value="extrapolate")(1.0),
])  # fmt: skip
def test_what_is_refused(refused: Any) -> None:
    with pytest.raises(primad.PrimadError):
        primad.trace(refused)(Y)


@pytest.mark.parametrize("kind", ["CubicSpline", "PchipInterpolator", "Akima1DInterpolator", "interp1d"])
def test_curves_of_no_component(kind: str) -> None:
    y = np.zeros((len(X), 0)) if kind != "interp1d" else np.zeros((0, len(X)))
    found = primad.jit(lambda y: getattr(mirror, kind)(X, y)(INSIDE))(y)
    assert found.shape == getattr(interpolate, kind)(X, y)(INSIDE).shape
