"""Distributions of SurPyval, fitted to data that is censored and truncated, by gradients and Hessians of autograd's."""

import numpy
import surpyval

_X = numpy.array([3.0, 4.0, 5.5, 6.1, 7.0, 8.2, 9.9, 12.0, 15.0, 21.0])
_C = numpy.array([0, 0, 0, 1, 0, 0, 1, 0, 0, 1])


def _fitted(distribution, **options):
    model = distribution.fit(_X, c=_C, **options)
    return [model.params, model.hess_inv if hasattr(model, "hess_inv") else 0.0, model.neg_ll()]


def weibull():
    return _fitted(surpyval.Weibull)


def exponential():
    return _fitted(surpyval.Exponential)


def normal():
    return _fitted(surpyval.Normal)


def log_normal():
    return _fitted(surpyval.LogNormal)


def gumbel():
    return _fitted(surpyval.Gumbel)


def logistic():
    return _fitted(surpyval.Logistic)


def gamma():
    return _fitted(surpyval.Gamma)


def exponentiated_weibull():
    return _fitted(surpyval.ExpoWeibull)


def weibull_with_an_offset():
    return _fitted(surpyval.Weibull, offset=True)


def weibull_truncated_to_the_left():
    return _fitted(surpyval.Weibull, tl=1.0)


def confidence_bounds():
    model = surpyval.Weibull.fit(_X, c=_C)
    return model.cb(numpy.array([4.0, 8.0]), on="sf")
