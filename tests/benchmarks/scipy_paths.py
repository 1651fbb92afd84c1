"""Functions of SciPy's paths as their users call them, once for every system that has them.

Each takes `own`, what a system has: its arrays' functions `np`, `special`, `grad`, `hessian`, `lfilter`,
`CubicSpline`, `map_coordinates`. What a system lacks is missing there. It returns the function to time; KINDS has its
arguments.
"""

import numpy

NUMBERS = 1_000_000
ROWS = 100_000


def gradient(name, *, fixed=()):
    """Return a program: the gradient of the sum of a special function, in all arguments but fixed ones before them."""

    def program(own):
        function = getattr(own.special, name)

        def total(*arguments):
            return own.np.sum(function(*fixed, *arguments))

        return lambda *arguments: own.grad(total, tuple(range(len(arguments))))(*arguments)

    return program


def survival(own):
    """The Hessian of a regression of generalised gamma numbers in its coefficients, its spread and its shape."""
    np, gammaln = own.np, own.special.gammaln

    def loss(p, x, y):
        shape, spread = p[0], np.exp(p[1])
        inverse = 1.0 / shape**2
        w = (y - x @ p[2:]) / spread
        each = inverse * (shape * w - np.exp(shape * w))
        one = np.log(shape) - p[1] + inverse * np.log(inverse) - gammaln(inverse)
        return -np.sum(each) - y.shape[0] * one

    return own.hessian(loss)


def filtered(own):
    """The gradient of a filtered signal's energy, in the coefficients of both polynomials and in the signal."""
    return own.grad(lambda b, a, x: own.np.sum(own.lfilter(b, a, x) ** 2), (0, 1, 2))


def spline(own):
    """The gradient of a cubic spline's values at points, in what it goes through and in the points."""
    knots = numpy.linspace(0.0, 1.0, 1000)
    return own.grad(lambda y, x: own.np.sum(own.CubicSpline(knots, y)(x) ** 2), (0, 1))


def warped(own):
    """The gradient of a warped image, in the image and in the places."""
    return own.grad(lambda image, at: own.np.sum(own.map_coordinates(image, at, order=1) ** 2), (0, 1))


def uniform(low, high, count=NUMBERS, seed=0):
    return numpy.random.default_rng(seed).uniform(low, high, count)


def normal(*shape, seed=0):
    return numpy.random.default_rng(seed).normal(size=shape)


POLES = 0.7 * numpy.exp(2j * numpy.pi * numpy.arange(1, 5) / 9.0)
DESIGN = normal(ROWS, 4)
KINDS = {
    "lgamma": (gradient("gammaln"), (uniform(0.1, 50.0),)),
    "digamma": (gradient("digamma"), (uniform(0.1, 50.0),)),
    "gammainc": (gradient("gammainc"), (uniform(0.1, 50.0), uniform(0.1, 50.0, seed=1))),
    "betainc": (gradient("betainc"), (uniform(0.1, 50.0), uniform(0.1, 50.0, seed=1), uniform(0.01, 0.99, seed=2))),
    "j0": (gradient("j0"), (uniform(0.1, 50.0),)),
    "jv": (gradient("jv", fixed=(2.3,)), (uniform(0.1, 50.0),)),
    "erfcinv": (gradient("erfcinv"), (uniform(0.01, 1.99),)),
    "log_ndtr": (gradient("log_ndtr"), (uniform(-30.0, 5.0),)),
    "gengamma": (survival, (numpy.array([0.8, -0.2, 0.1, 0.2, -0.3, 0.4]), DESIGN, normal(ROWS, seed=3))),
    "lfilter": (filtered, (normal(9), numpy.poly([*POLES, *POLES.conj()]).real, normal(100_000, seed=1))),
    "spline": (spline, (normal(1000), uniform(0.0, 1.0))),
    "map_coordinates": (warped, (normal(512, 512), uniform(1.0, 510.0, (2, 512 * 512), seed=1))),
}
