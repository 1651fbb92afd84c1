"""Short programs with pint, xarray, pandas, NumPy's series, SciPy's splines and scikit-learn, as users write them."""

import os

os.environ["SCIPY_ARRAY_API"] = "1"

import numpy
import pandas
import pint
import sklearn
import xarray
from numpy import polynomial
from scipy import interpolate
from sklearn import linear_model, metrics, preprocessing

sklearn.set_config(array_api_dispatch=True)
_units = pint.UnitRegistry()
_at = numpy.array([0.3, 0.9, 1.4, 2.2])
_table = pandas.DataFrame({"t": [0.0, 0.5, 1.0, 1.5], "y": [1.0, 0.62, 0.35, 0.24], "kind": ["a", "b", "a", "b"]})
_knots = numpy.linspace(0.0, 3.0, 9)


def _both(derive, f):
    return [derive.grad(f)(_at), derive.hessian(f)(_at)]


def pint_force_of_drag(derive):
    def f(speed):
        speed = speed * _units("m/s")
        force = 0.5 * 1.2 * _units("kg/m^3") * speed**2 * 0.3 * _units.m**2
        return numpy.sum(force.to("kN").magnitude)

    return _both(derive, f)


def pint_boltzmann_factors(derive):
    def f(x):
        return numpy.sum(numpy.exp(-(1200 * _units.K / _units.Quantity(100 * x + 273.15, "K"))).to_base_units().m)

    return _both(derive, f)


def pint_wrapped_function(derive):
    fallen = _units.wraps("m", ("s", "m/s^2"))(lambda t, a: 0.5 * a * t**2)
    return _both(derive, lambda x: numpy.sum(fallen(x * _units.s, 9.81 * _units.m / _units.s**2).m_as("ft")))


def pint_choices(derive):
    def f(x):
        x = x * _units.m
        return numpy.sum(numpy.where(x > 80 * _units.cm, x**2, 0 * _units.m**2).m)

    return _both(derive, f)


def xarray_groups(derive):
    def f(x):
        d = xarray.DataArray(x, dims="t", coords={"kind": ("t", ["a", "b", "a", "b"])})
        return (d.groupby("kind").mean() ** 2).sum().data

    return _both(derive, f)


def xarray_dataset(derive):
    def f(x):
        d = xarray.Dataset({"u": ("t", x), "v": ("t", x**2)}, coords={"t": [0.0, 1.0, 2.0, 3.0]})
        return d.assign(e=d.u * d.v).e.sel(t=slice(1, 3)).sum("t").data

    return _both(derive, f)


def xarray_calculus(derive):
    def f(x):
        d = xarray.DataArray(x, dims="t", coords={"t": [0.0, 1.0, 2.5, 3.0]})
        return (d.differentiate("t") ** 2).sum().data + d.integrate("t").data ** 2

    return _both(derive, f)


def xarray_weights(derive):
    weights = xarray.DataArray([1.0, 2.0, 3.0, 4.0], dims="t")
    return _both(derive, lambda x: xarray.DataArray(x, dims="t").weighted(weights).mean().data ** 3)


def xarray_applied_function(derive):
    def f(x):
        return xarray.apply_ufunc(numpy.exp, xarray.DataArray(x.reshape(2, 2), dims=("a", "b"))).sum("a").prod().data

    return _both(derive, f)


def xarray_interpolation(derive):
    def f(x):
        return xarray.DataArray(x, dims="t", coords={"t": [0.0, 1.0, 2.0, 3.0]}).interp(t=[0.5, 1.5]).sum().data

    return _both(derive, f)


def pandas_columns(derive):
    t, y = _table["t"].to_numpy(), _table["y"].to_numpy()
    return _both(derive, lambda p: numpy.sum((p[0] * numpy.exp(-p[1] * t) + p[2] - y) ** 2))


def pandas_categories(derive):
    codes = pandas.Categorical(_table["kind"]).codes
    return _both(derive, lambda p: numpy.sum(numpy.exp(p[codes]) * _table.y.values))


def pandas_groups(derive):
    def f(p):
        return sum(numpy.sum(p[rows.index] * rows["y"].values) ** 2 for _, rows in _table.groupby("kind"))

    return _both(derive, f)


def pandas_series_meet_the_argument(derive):
    return _both(derive, lambda p: ((p[0] * numpy.exp(-p[1] * _table["t"]) - _table["y"]) ** 2).sum())


def polynomial_quadrature(derive):
    x, w = polynomial.legendre.leggauss(6)
    return _both(derive, lambda a: numpy.sum(w * numpy.exp(a[0] * x + a[1] * x**2)))


def polynomial_values_of_series(derive):
    def f(x):
        return numpy.sum(polynomial.hermite.hermval(x, [1.0, 0.5, 0.2]) * polynomial.laguerre.lagval(x, [0.1, 2.0]))

    return _both(derive, f)


def polynomial_fitted_to_data(derive):
    return _both(derive, lambda y: numpy.polyfit(numpy.arange(4.0), y, 2)[0] ** 2 + numpy.poly1d(y)(0.3))


def polynomial_object_at_several_numbers(derive):
    series = polynomial.Chebyshev.interpolate(numpy.sin, 6, domain=[0.0, 3.0])
    return _both(derive, lambda x: numpy.sum(series(x) ** 2))


def interpolation_of_a_table(derive):
    return _both(derive, lambda x: numpy.sum(numpy.interp(0.1 * x + 1.2, _knots, numpy.sin(_knots)) ** 2))


def interpolation_by_scipys_objects(derive):
    made = interpolate.make_interp_spline(_knots, numpy.sin(_knots))
    return _both(derive, lambda x: numpy.sum(made(x) ** 2))


def sklearn_distances(derive):
    return _both(derive, lambda x: numpy.sum(metrics.pairwise.euclidean_distances(x.reshape(2, 2), x[:2][None] + 3.0)))


def sklearn_scores(derive):
    return _both(derive, lambda x: metrics.mean_squared_error(x**2, x + 0 * x))


def sklearn_scaling(derive):
    return _both(derive, lambda x: numpy.sum(preprocessing.StandardScaler().fit_transform(x[:, None]) ** 3))


def sklearn_prediction(derive):
    inputs = numpy.random.default_rng(0).normal(size=(6, 4))
    fitted = linear_model.LinearRegression().fit(inputs, inputs[:, 0] + inputs[:, 1])
    return _both(derive, lambda x: numpy.sum(fitted.predict(x[None]) ** 2))
