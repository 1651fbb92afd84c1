"""Observables of Monte Carlo data: errors that pyerrors propagates by gradients, through fits, roots and matrices."""

import autograd.numpy as anp
import numpy
import pyerrors as pe

pe.Obs.S_global = 2.0


def _observables(count, seed=0):
    rng = numpy.random.default_rng(seed)
    found = [pe.Obs([1.0 + i + 0.1 * rng.normal(size=200)], ["ensemble"]) for i in range(count)]
    return found


def _read(found):
    values = found if isinstance(found, (list, tuple, numpy.ndarray)) else [found]
    values = list(numpy.ravel(values))
    for each in values:
        each.gamma_method()
    return [[each.value, each.dvalue] for each in values]


def a_function_of_observables():
    a, b = _observables(2)
    return _read(pe.derived_observable(lambda x, **kwargs: anp.sin(x[0]) * anp.exp(-x[1]) / x[0], [a, b]))


def arithmetic():
    a, b = _observables(2)
    return _read([a * b, a / b, a**b, numpy.log(a + 2.0) * b, numpy.arctan(a) - numpy.cosh(b)])


def an_array_of_results():
    found = pe.derived_observable(lambda x, **kwargs: anp.array([x[0] * x[1], x[1] ** 2, x[0]]), _observables(2))
    return _read(found)


def least_squares():
    y = _observables(6)
    for each in y:
        each.gamma_method()

    def line(a, x):
        return a[0] + a[1] * x + 0.01 * anp.exp(-a[2] * x)

    fit = pe.fits.least_squares(numpy.arange(6.0), y, line, silent=True, initial_guess=[1.0, 1.0, 0.3])
    return [_read(fit.fit_parameters), fit.chisquare]


def total_least_squares():
    x, y = _observables(6), _observables(6, seed=1)
    for each in [*x, *y]:
        each.gamma_method()
    fit = pe.fits.total_least_squares(x, y, lambda a, x: a[0] + a[1] * x, silent=True)
    return _read(fit.fit_parameters)


def correlated_fit():
    y = _observables(5)
    for each in y:
        each.gamma_method()
    fit = pe.fits.least_squares(numpy.arange(5.0), y, lambda a, x: a[0] + a[1] * x, correlated_fit=True, silent=True)
    return _read(fit.fit_parameters)


def roots():
    (a,) = _observables(1)
    return _read(pe.roots.find_root(a, lambda x, d: anp.exp(-(x**2)) - d / 4.0, guess=1.0))


def integrals():
    a, b = _observables(2)
    return _read(pe.integrate.quad(lambda p, x: p[0] * anp.cos(p[1] * x), [a, b], 0.0, 2.0)[0])


def matrices():
    a, b, c, d = _observables(4)
    m = numpy.array([[a + 5.0, b], [c, d]])
    symmetric = numpy.array([[a, 0.1 * b], [0.1 * b, d]])
    found = [_read(pe.linalg.inv(m)), _read(pe.linalg.matmul(m, m)), _read(pe.linalg.det(m))]
    return [*found, _read(pe.linalg.eigh(symmetric)[0]), _read(pe.linalg.cholesky(symmetric)), _read(pe.linalg.eigv(m))]


def special_functions():
    def of(x, **kwargs):
        special = pe.special
        return anp.array([special.gammaln(x[0]), special.erf(x[1]), special.beta(x[0], x[1]), special.kn(1, x[0])])

    return _read(pe.derived_observable(of, _observables(2)))
