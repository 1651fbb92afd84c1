"""Arrays that are more than their elements are refused at every entrance, and the way out that is named works."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import primad
import primad.numpy as pnp
from primad import pde

V = np.array([0.5, 1.5, 2.5])


class Measured(np.lib.mixins.NDArrayOperatorsMixin):
    """Numbers with a unit, as pint's: an array of another kind, which gives its numbers away when it is asked."""

    def __init__(self, magnitude: Any, units: float) -> None:
        self.magnitude, self.units = magnitude, units

    def to_base_units(self) -> Measured:
        return Measured(self.magnitude * self.units, 1.0)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.magnitude, dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return Measured(ufunc(*map(np.asarray, inputs)), self.units)


class WithUnit(np.ndarray[Any, Any]):
    """Numbers with a unit, as astropy's: a NumPy array whose class computes with the unit."""

    @property
    def unit(self) -> float:
        return 0.01

    @property
    def value(self) -> Any:
        return self.view(np.ndarray)

    @property
    def si(self) -> Any:
        return (np.asarray(self) * self.unit).view(type(self))

    def tobytes(self, order: Any = "C") -> Any:
        raise NotImplementedError("cannot write these to bytes")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return NotImplemented


class Labelled(np.lib.mixins.NDArrayOperatorsMixin):
    """Numbers by label, as a pandas Series."""

    iloc = None

    def __init__(self, values: Any) -> None:
        self.values = values

    def to_numpy(self) -> Any:
        return self.values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.values, dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return Labelled(ufunc(*map(np.asarray, inputs)))


class Named(Labelled):
    """Numbers along named axes, as an xarray DataArray; its product refuses in words of its own."""

    dims, coords = ("t",), {"t": 0}
    iloc = property()


exec(  # what a library's own file refuses
    compile(
        "def product_by_names(self, other):\n    raise TypeError('dot only operates on arrays with names')",
        "/lib/site-packages/xarray/named.py",
        "exec",
    )
)
Named.__matmul__ = globals()["product_by_names"]  # type: ignore[method-assign]


TIMES = np.array(["2020-01-01T00:00:00", "2020-01-01T00:00:01", "2020-01-01T00:00:03"], "M8[s]")
FIELDS = np.zeros(3, [("a", float), ("b", float)])
THINGS: dict[str, tuple[Any, str, Callable[[Any], Any], Any]] = {
    "pint": (Measured(V, 0.01), "x.to_base_units().magnitude", lambda x: x.to_base_units().magnitude, V / 100),
    "astropy": (V.view(WithUnit), "x.si.value", lambda x: x.si.value, V / 100),
    "pandas": (Labelled(V), "x.to_numpy()", lambda x: x.to_numpy(), V),
    "xarray": (Named(V), "x.to_numpy()", lambda x: x.to_numpy(), V),
    "masked": (np.ma.masked_array(V, V > 1), "x.filled(0.0)", lambda x: x.filled(0.0), [0.5, 0, 0]),
    "matrix": (V.view(np.matrix), "np.asarray(x)", lambda x: np.asarray(x)[0], V),
    "sparse array": (scipy.sparse.csr_array(np.diag(V)), "A.toarray()", lambda x: x.toarray() @ V, V**2),
    "sparse matrix": (scipy.sparse.csc_matrix(np.diag(V)), "A @ x", lambda x: primad.jit(lambda v: x @ v)(V), V**2),
    "long": (V.astype(np.longdouble), "x.astype(np.float64)", lambda x: x.astype(np.float64), V),
    "times": (TIMES, "(t - t[0]) / np.timedelta64(1, 's')", lambda t: (t - t[0]) / np.timedelta64(1, "s"), [0, 1, 3]),
    "spans": (TIMES - TIMES[0], "t / np.timedelta64(1, 's')", lambda t: t / np.timedelta64(1, "s"), [0, 1, 3]),
    "texts": (V.astype(str), "np.array(x).astype(float)", lambda x: np.array(x).astype(float), V),
    "fields": (FIELDS, "x[name], of each name in x.dtype.names", lambda x: sum(x[n] for n in x.dtype.names), 0 * V),
    "objects": (V.astype(object), "np.array(x, float)", lambda x: np.array(x, float), V),
}  # fmt: skip
"""What comes in, the way out that the message names, what it is in code, and what it gives."""


def meet(combine: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Return an entrance: a captured thing meets a traced array."""
    return lambda t: primad.grad(lambda x: np.sum(combine(x, t)))(V)


def written(x: Any, t: Any) -> Any:
    y = pnp.copy(x)
    y[:] = t
    return x + y


def squares(x: Any) -> Any:
    return np.sum(x * x)


ENTRANCES: dict[str, Callable[[Any], Any]] = {
    "grad": lambda t: primad.grad(squares)(t),
    "value_and_grad": lambda t: primad.value_and_grad(squares)(t),
    "jit": lambda t: primad.jit(lambda x: x * 2)(t),
    "vmap": lambda t: primad.vmap(lambda x: x * 2)(t),
    "jacobian": lambda t: primad.jacobian(lambda x: x * 2)(t),
    "hessian": lambda t: primad.hessian(squares)(t),
    "jvp": lambda t: primad.jvp(squares, (V,), (t,)),
    "vjp": lambda t: primad.vjp(squares, t),
    "hvp": lambda t: primad.jvp(primad.grad(squares), (t,), (V,)),
    "an argument beside": lambda t: primad.grad(lambda x, y: np.sum(x * y))(V, t),
    "in a tree": lambda t: primad.grad(lambda p: squares(p["a"]))({"a": t}),
    "a result": lambda t: primad.jit(lambda x: (x, t))(V),
    "scan": lambda t: primad.scan(lambda c, row: (c + row, None), 0.0, t),
    "while_loop": lambda t: primad.while_loop(lambda x: squares(x) < 1, lambda x: 2 * x, t),
    "minimize": lambda t: primad.optimize.minimize(squares, t),
    "least_squares": lambda t: primad.optimize.least_squares(lambda p: p, t),
    "data of a fit": lambda t: primad.optimize.least_squares(lambda p, y: p - y, V, args=(t,)),
    "root": lambda t: primad.optimize.root(lambda p: p, t),
    "a place of a curve": lambda t: primad.optimize.curve_fit(lambda x, a: a * x, t, V),
    "a value of a curve": lambda t: primad.optimize.curve_fit(lambda x, a: a * x, V, t),
    "an error of a curve": lambda t: primad.optimize.curve_fit(lambda x, a: a * x, V, V, sigma=t),
    "solve_ivp": lambda t: primad.integrate.solve_ivp(lambda s, y: -y, (0.0, 1.0), t),
    "t_eval": lambda t: primad.integrate.solve_ivp(lambda s, y: -y, (0.0, 9.0), V, t_eval=t),
    "data of a problem": lambda t: pde.Data(x=V, u=t),
    "a coefficient": lambda t: pde.Problem(
        lambda u, c: u.x - c, pde.Interval(0, 1), [pde.Dirichlet(u=0.0)], coefficients={"c": t}
    ),
    "x * t": meet(lambda x, t: x * t),
    "t * x": meet(lambda x, t: t * x),
    "x - t": meet(lambda x, t: x - t),
    "t / x": meet(lambda x, t: t / x),
    "x @ t": meet(lambda x, t: x @ t),
    "t @ x": meet(lambda x, t: t @ x),
    "np.multiply": meet(lambda x, t: np.multiply(x, t)),
    "primad.numpy": meet(lambda x, t: pnp.multiply(x, t)),
    "np.maximum": meet(lambda x, t: np.maximum(t, x)),
    "np.dot": meet(lambda x, t: np.dot(x, t)),
    "np.where": meet(lambda x, t: np.where(x > 1, x, t)),
    "np.stack": meet(lambda x, t: np.stack([x, t])),
    "np.concatenate": meet(lambda x, t: np.concatenate([x, t])),
    "np.einsum": meet(lambda x, t: np.einsum("i,i->", x, t)),
    "np.interp": meet(lambda x, t: np.interp(x, V, t)),
    "set_at": meet(lambda x, t: pnp.set_at(x, np.s_[:], t)),
    "written": meet(written),
}  # fmt: skip
NOT_MET = {
    ("long", "t_eval"), ("long", "solve_ivp"), ("long", "data of a problem"), ("long", "a coefficient"),
    *((thing, way) for thing in ("sparse array", "sparse matrix") for way in ("x @ t", "t @ x")),
    *(("sparse matrix", way) for way in ("x * t", "t * x", "an argument beside")),
    *((thing, f"{what} of a curve") for thing in ("pandas", "xarray") for what in ("a place", "a value", "an error")),
}  # fmt: skip
"""Where digits beyond those of 64 bits are left out, as everywhere in SciPy; where columns of tables are taken; and
products with sparse arrays, which are recorded: of sparse matrices `*` is one."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("thing", THINGS)
def test_what_is_more_than_its_elements_is_refused(thing: str, entrance: str) -> None:
    value, way, _, _ = THINGS[thing]
    if (thing, entrance) in NOT_MET:
        return
    with pytest.raises(primad.TracingError) as caught:
        ENTRANCES[entrance](value)
    told = str(caught.value)
    assert "Fix: " in told and way in told and f"\n  in {__file__}:" in told
    assert "primad.recording.foreign" not in told and "lose the derivative" not in told


@pytest.mark.parametrize("thing", THINGS)
def test_the_way_out_gives_an_array_that_is_traced(thing: str) -> None:
    value, _, code, expected = THINGS[thing]
    found = code(value)
    np.testing.assert_allclose(np.asarray(found), expected)
    np.testing.assert_allclose(primad.grad(lambda x: np.sum(x * found))(V), expected)


@pytest.mark.parametrize("other", ["abc", b"abc", Decimal("1.5"), Fraction(1, 3)])
@pytest.mark.parametrize("meeting", ["x * t", "t * x", "x - t", "t / x", "x @ t", "t @ x"])
def test_texts_and_numbers_of_other_kinds_are_told_to_be_converted(other: Any, meeting: str) -> None:
    with pytest.raises(
        primad.TracingError, match=r"an operator between a traced array of type float64\[3\] and a (text|number of)"
    ) as caught:
        ENTRANCES[meeting](other)
    assert "Fix: convert it: float(" in str(caught.value) and __file__ in str(caught.value)


REAL: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "an array with a pint unit": ("pint", lambda m: V * m.UnitRegistry().cm),
    "a number with a pint unit": ("pint", lambda m: 100 * m.UnitRegistry().cm),
    "an array with an astropy unit": ("astropy.units", lambda m: V * m.cm),
    "a number with an astropy unit": ("astropy.units", lambda m: 1.0 * m.m),
    "a Series": ("pandas", lambda m: m.Series(V)),
    "a column of a table": ("pandas", lambda m: m.DataFrame({"a": V})["a"]),
    "an Index": ("pandas", lambda m: m.Index(V)),
    "a DataArray": ("xarray", lambda m: m.DataArray(V, dims="t")),
    "a Dataset": ("xarray", lambda m: m.Dataset({"a": ("t", V)})),
}
"""Values of libraries that these tests do without, and with which they run where those are installed."""
CONVERSIONS = ("x.to_base_units().magnitude", "x.si.value", "x.to_numpy()")


@pytest.mark.parametrize("thing", REAL)
def test_the_libraries_own_values_are_refused_and_converted_as_the_message_says(thing: str) -> None:
    module, make = REAL[thing]
    value = make(pytest.importorskip(module))
    for entrance in (
        "grad",
        "jit",
        "an argument beside",
        "a result",
        "x * t",
        "t * x",
        "np.multiply",
        "np.dot",
        "written",
    ):
        with pytest.raises(primad.TracingError) as caught:
            ENTRANCES[entrance](value)
        assert f"\n  in {__file__}:" in str(caught.value)
    way = next((way for way in CONVERSIONS if way in str(caught.value)), None)
    if thing == "a Dataset":
        assert "x[name].to_numpy(), of each name" in str(caught.value)
        way = "x['a'].to_numpy()"
    assert way is not None, str(caught.value)
    found = eval(way, {"x": value})
    assert np.isfinite(primad.grad(lambda x: np.sum(x * found))(V)).all()
