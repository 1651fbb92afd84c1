"""Other libraries' containers hold traced arrays: units and labels stay, and so do derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import primad
import primad.numpy as pnp

V = np.array([0.5, 1.5, 2.5])


class Held(np.lib.mixins.NDArrayOperatorsMixin):
    """An array inside, for which it answers NumPy's protocols, as pint's and xarray's containers do."""

    def __init__(self, inside: Any) -> None:
        self.inside = inside

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inside, name)
        return lambda *args: Held(method(*args)) if method.__name__ == name else method(*args)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return Held(getattr(ufunc, method)(*map(inside, inputs), **kwargs))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return Held(function(*map(inside, args), **kwargs))


def inside(x: Any) -> Any:
    return x.inside if isinstance(x, Held) else x


MEETINGS: dict[str, Callable[[Any, Any], Any]] = {
    "held * x": lambda q, x: q * x,
    "x * held": lambda q, x: x * q,
    "x - held": lambda q, x: x - q,
    "x / held": lambda q, x: x / q,
    "x ** held": lambda q, x: x**q,
    "number / held": lambda q, x: 2.0 / q,
    "np.multiply": lambda q, x: np.multiply(x, q),
    "np.hypot": lambda q, x: np.hypot(q, x),
    "np.where": lambda q, x: np.where(x > 1.0, q, x),
    "np.dot": lambda q, x: np.dot(x, q),
    "np.sum": lambda q, x: np.sum(q * x),
    "a method": lambda q, x: (q * x).mean(),
    "a method with arguments": lambda q, x: q.reshape(3, 1) * x,
}


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("meeting", MEETINGS)
def test_what_has_an_array_inside_says_what_it_is_with_a_traced_array(meeting: str, plain: bool) -> None:
    combine = MEETINGS[meeting]

    def f(x: Any) -> Any:
        found = combine(Held(V + 1.0 if plain else x + 1.0), x)
        assert isinstance(found, Held)
        return np.sum(found.inside)

    def expected(x: Any) -> Any:
        return np.sum(combine(V + 1.0 if plain else x + 1.0, x))

    np.testing.assert_allclose(primad.grad(f)(V), primad.grad(expected)(V))


def test_errors_of_a_librarys_own_class_come_through() -> None:
    class UnitsDiffer(TypeError):
        pass

    class Picky(Held):
        units = magnitude = to_base_units = __array__ = None

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            globals()["raise_in_library"](UnitsDiffer("metres and seconds"))

    exec(compile("def raise_in_library(e):\n raise e", "/lib/site-packages/pint/own.py", "exec"), globals())
    with pytest.raises(UnitsDiffer):
        primad.grad(lambda x: Picky(x) + x)(V)


# -- the Array-API standard --------------------------------------------------------------------------------------------


def test_a_traced_array_has_the_namespace_of_primads_functions() -> None:
    def f(x: Any) -> Any:
        xp = x.__array_namespace__(api_version="2024.12")
        assert xp is pnp is pnp.array(x).__array_namespace__()
        with pytest.raises(ValueError, match="not supported"):
            x.__array_namespace__(api_version="1999.1")
        return xp.sum(xp.exp(x) * xp.asarray(x, dtype=xp.float64)) + xp.max(x)

    np.testing.assert_allclose(primad.grad(f)(V), np.exp(V) * (1 + V) + [0, 0, 1])


def test_array_api_compat() -> None:
    compat = pytest.importorskip("array_api_compat", reason="the tests do without array_api_compat")

    def f(x: Any) -> Any:
        xp = compat.array_namespace(x, 2.0 * x)
        assert compat.is_array_api_obj(x) and compat.size(x) == 3
        return xp.sum(compat.to_device(x, compat.device(x)) ** 2)

    np.testing.assert_allclose(primad.grad(f)(V), 2 * V)
    np.testing.assert_allclose(
        primad.grad(lambda x: compat.array_namespace(x, pnp.array(V)).sum(x * V))(V), V
    )  # the way out of the next
    with pytest.raises(primad.TracingError, match=r"(?s)a traced and a plain array.*Fix: .*primad\.numpy\.array\(a\)"):
        primad.grad(lambda x: compat.array_namespace(x, V).sum(x))(V)


# -- xarray, pandas, pint ----------------------------------------------------------------------------------------------

LABELLED: dict[str, Callable[[Any, Any], Any]] = {
    "arithmetic": lambda d, x: (d**2 + 3.0 * d * d).sum(),
    "a ufunc": lambda d, x: np.sin(d).sum(),
    "a traced factor": lambda d, x: (x * d).sum(),
    "a mean": lambda d, x: (d**2).mean("t"),
    "isel": lambda d, x: d.isel(t=1) ** 2,
    "sel": lambda d, x: (d.sel(t=[10, 30]) ** 2).sum(),
    "where": lambda d, x: d.where(d > 1.0, 0.0).sum() * d.max(),
    "diff": lambda d, x: (d.diff("t") ** 2).sum(),
    "cumsum": lambda d, x: d.cumsum("t").std("t"),
    "alignment": lambda d, x: (d.isel(t=[0, 1]) * d.isel(t=[1, 2])).sum(),
}


def test_xarray_holds_traced_arrays() -> None:
    xarray = pytest.importorskip("xarray", reason="the tests do without xarray")

    def labelled(x: Any) -> Any:
        return xarray.DataArray(x, dims="t", coords={"t": [10, 20, 30]})

    for name, f in LABELLED.items():
        gradient = primad.grad(lambda x, f=f: f(labelled(x), x).data)(V)
        steps = 1e-6 * np.eye(3)
        there, back = [[float(f(labelled(V + sign * step), V + sign * step)) for step in steps] for sign in (1, -1)]
        np.testing.assert_allclose(gradient, (np.array(there) - back) / 2e-6, rtol=1e-6, atol=1e-9, err_msg=name)
    with pytest.raises(primad.TracingError, match=r"(?s)type DataArray cannot be traced.*x\.data where it holds"):
        primad.grad(lambda x: labelled(x).sum())(V)


def test_a_column_of_pandas_is_data_and_holds_no_traced_values() -> None:
    pandas = pytest.importorskip("pandas", reason="the tests do without pandas")
    table = pandas.DataFrame({"a": V})
    np.testing.assert_allclose(primad.grad(lambda x: np.sum(x * table["a"].to_numpy()))(V), V)
    for make in (
        lambda x: pandas.Series(x),
        lambda x: pandas.DataFrame({"a": x}),
        lambda x: table.assign(b=x),
        lambda x: x * table["a"],
        lambda x: table["a"] * x,
    ):
        with pytest.raises(primad.TracingError, match=r"type (Series|DataFrame) cannot meet") as caught:
            primad.grad(lambda x, make=make: make(x).sum())(V)
        assert f"\n  in {__file__}:" in str(caught.value)


MEASURED: dict[str, Callable[[Any, Any], Any]] = {
    "a conversion": lambda q, u: q.to("km"),
    "sums": lambda q, u: q + 3.0 * u.cm,
    "a quotient": lambda q, u: (q / (2.0 * u.s)).to("km/h"),
    "a root": lambda q, u: np.sqrt(q / (9.81 * u.m / u.s**2)).to("s"),
    "a function": lambda q, u: np.sin(q / u.m * u.deg),
    "a method": lambda q, u: q.sum().to("cm"),
    "a mean": lambda q, u: (q**2).mean(),
    "a reshape": lambda q, u: q.reshape(3, 1).to("cm"),
    "a product with numbers before": lambda q, u: q.magnitude * (2.0 * u.cm),
    "a choice": lambda q, u: np.where(q > 100 * u.cm, q, 0.0 * u.m),
    "a stack": lambda q, u: np.stack([q, 2.0 * q]).to("mm"),
    "a dot product": lambda q, u: np.dot(q, q),
}


def test_pint_keeps_units_of_traced_arrays() -> None:
    pint = pytest.importorskip("pint", reason="the tests do without pint")
    units = pint.UnitRegistry()
    for name, f in MEASURED.items():
        found: list[Any] = []

        def total(x: Any, f: Any = f, found: Any = found) -> Any:
            found.append(f(x * units.m, units))
            return np.sum(found[-1].magnitude)

        gradient = primad.grad(total)(V)
        expected = f(V * units.m, units)
        assert found[-1].units == expected.units, name
        steps = 1e-6 * np.eye(3)
        there, back = [[total(V + sign * step) for step in steps] for sign in (1, -1)]
        np.testing.assert_allclose(gradient, (np.array(there) - back) / 2e-6, rtol=1e-6, atol=1e-9, err_msg=name)
    with pytest.raises(pint.DimensionalityError):
        primad.grad(lambda x: (x * units.m + 1.0 * units.s).magnitude)(2.0)
    for refused in (lambda: primad.grad(np.sum)(V * units.m), lambda: primad.grad(lambda x: (x * units.m).sum())(V)):
        with pytest.raises(primad.TracingError, match="It has units"):
            refused()


@pytest.mark.parametrize("function", [scipy.special.logsumexp, scipy.special.softmax, scipy.special.expit])
def test_functions_of_scipy_that_take_namespaces_are_recorded_or_say_what_is(function: Any) -> None:
    try:
        found = primad.grad(lambda x: np.sum(function(x) ** 2))(V)
    except primad.TracingError as refused:
        assert f"primad.numpy.special.{function.__name__}" in str(refused)
        found = primad.grad(lambda x: np.sum(getattr(pnp.special, function.__name__)(x) ** 2))(V)
    steps = 1e-6 * np.eye(3)
    expected = [(np.sum(function(V + s) ** 2) - np.sum(function(V - s) ** 2)) / 2e-6 for s in steps]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
