"""reliability: distributions of how long parts last, fitted to failures and censored data, with standard errors."""

import numpy
from reliability import Fitters

_TIMES = numpy.random.default_rng(1).weibull(2.0, 30) * 100 + 5
_FOUND = ("loglik", "alpha", "beta", "gamma", "mu", "sigma", "Lambda", "alpha_SE", "beta_SE", "mu_SE", "sigma_SE")


def _fitted(fitter, failures=_TIMES, censored=1.2 * _TIMES[:8]):
    fit = fitter(failures=failures, right_censored=censored, show_probability_plot=False, print_results=False)
    found = {name: getattr(fit, name, None) for name in _FOUND}
    return {name: float(value) for name, value in found.items() if isinstance(value, float)}


def weibull():
    return _fitted(Fitters.Fit_Weibull_2P)


def weibull_from_a_time_on():
    return _fitted(Fitters.Fit_Weibull_3P)


def normal():
    return _fitted(Fitters.Fit_Normal_2P)


def lognormal():
    return _fitted(Fitters.Fit_Lognormal_2P)


def gamma():
    return _fitted(Fitters.Fit_Gamma_2P)


def loglogistic():
    return _fitted(Fitters.Fit_Loglogistic_2P)


def exponential():
    return _fitted(Fitters.Fit_Exponential_1P)


def gumbel():
    return _fitted(Fitters.Fit_Gumbel_2P)


def beta():
    return _fitted(Fitters.Fit_Beta_2P, _TIMES / (1.1 * _TIMES.max()), None)
