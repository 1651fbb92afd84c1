"""Functions that are made before they are differentiated: by SymPy's lambdify, NumPy's polynomials, SciPy's splines."""

import numpy
import sympy
from numpy import polynomial
from scipy import interpolate


def _both(derive, f, *at):
    x = numpy.array(at)
    return [derive.grad(f)(x), derive.hessian(f)(x)]


def lambdified_expression(derive):
    x, y = sympy.symbols("x y")
    made = sympy.lambdify((x, y), sympy.exp(-(x**2)) * sympy.sin(x * y) + sympy.sqrt(1 + y**2) / (2 + sympy.cos(x)))
    return _both(derive, lambda p: made(p[0], p[1]), 0.4, 1.3)


def lambdified_with_common_subexpressions(derive):
    x, y = sympy.symbols("x y")
    made = sympy.lambdify(((x, y),), sympy.log(1 + (x + y) ** 2) * sympy.tanh((x + y) ** 2) + sympy.erf(x), cse=True)
    return _both(derive, made, 0.4, 1.3)


def lambdified_matrix(derive):
    x, y = sympy.symbols("x y")
    made = sympy.lambdify((x, y), sympy.Matrix([[sympy.sin(x), x * y], [y**2, sympy.exp(x)]]))
    return _both(derive, lambda p: numpy.sum(made(p[0], p[1]) @ numpy.array([1.0, -2.0])), 0.4, 1.3)


def lambdified_piecewise(derive):
    x, y = sympy.symbols("x y")
    made = sympy.lambdify((x, y), sympy.Piecewise((x**3 * y, x < 0), (sympy.sin(x) * y**2, x < 1), (y, True)))
    return _both(derive, lambda p: made(p[0], p[1]), 0.4, 1.3)


def lambdified_bessel_functions(derive):
    x, y = sympy.symbols("x y")
    made = sympy.lambdify((x, y), sympy.besselj(0, x) * sympy.gamma(y) + sympy.Max(x, y), modules=["scipy", "numpy"])
    return _both(derive, lambda p: made(p[0], p[1]), 0.4, 1.3)


def power_series(derive):
    p = polynomial.Polynomial([1.0, -2.0, 0.5, 0.25], domain=[0.0, 4.0])
    return _both(derive, lambda x: p(x[0]) * p.deriv()(x[1]) + p.integ()(x[0]), 0.4, 1.3)


def chebyshev_series(derive):
    p = polynomial.Chebyshev.interpolate(numpy.cos, 7, domain=[0.0, 2.0])
    return _both(derive, lambda x: p(x[0]) ** 2 + p(x[0] * x[1]), 0.4, 1.3)


def legendre_hermite_and_laguerre_series(derive):
    kinds = polynomial.Legendre, polynomial.Hermite, polynomial.HermiteE, polynomial.Laguerre
    made = [kind([0.1, 0.2, -0.3, 0.05]) for kind in kinds]
    return _both(derive, lambda x: sum(p(x[0]) * p(x[1]) for p in made), 0.4, 0.7)


def coefficients_of_polynomials(derive):
    def f(c):
        return polynomial.polynomial.polyval(0.3, c) ** 2 + polynomial.chebyshev.chebval(0.7, c) + numpy.polyval(c, 1.1)

    return _both(derive, f, 0.4, 1.3, -0.2)


def fitted_splines(derive):
    t = numpy.linspace(0.0, 2.0, 9)
    cubic = interpolate.CubicSpline(t, numpy.sin(t))
    smooth = interpolate.make_interp_spline(t, numpy.cos(t), k=5)
    return _both(derive, lambda x: cubic(x[0]) * smooth(x[1]), 0.43, 1.31)
