"""Survival models of lifelines, fitted by gradients and Hessians of autograd's: numbers that a user reads off."""

import autograd.numpy as np
import lifelines
import pandas
from lifelines import datasets, fitters
from lifelines.fitters.mixture_cure_fitter import MixtureCureFitter

_WALTONS = datasets.load_waltons()
_T, _E = _WALTONS["T"], _WALTONS["E"]


def _fitted(model, *data, **options):
    model.fit(*data, **options)
    return [model.summary[["coef", "se(coef)"]].to_numpy(), model.log_likelihood_]


def weibull():
    return _fitted(lifelines.WeibullFitter(), _T, _E)


def exponential():
    return _fitted(lifelines.ExponentialFitter(), _T, _E)


def log_normal():
    return _fitted(lifelines.LogNormalFitter(), _T, _E)


def log_logistic():
    return _fitted(lifelines.LogLogisticFitter(), _T, _E)


def piecewise_exponential():
    return _fitted(lifelines.PiecewiseExponentialFitter([30.0]), _T, _E)


def generalized_gamma():
    model = lifelines.GeneralizedGammaFitter().fit(_T, _E)
    return [model.log_likelihood_, model.median_survival_time_]


def spline():
    return _fitted(lifelines.SplineFitter([6.0, 20.0, 50.0]), _T, _E)


def weibull_censored_to_the_left():
    model = lifelines.WeibullFitter().fit_left_censoring(_T, _E)
    return [model.summary[["coef", "se(coef)"]].to_numpy(), model.log_likelihood_]


def weibull_censored_to_intervals():
    lower = _T.where(_E == 1, _T - 1.0).clip(lower=0.0)
    upper = _T.where(_E == 1, np.inf) + 1.0
    model = lifelines.WeibullFitter().fit_interval_censoring(lower, upper)
    return [model.summary[["coef", "se(coef)"]].to_numpy(), model.log_likelihood_]


def mixture_cure():
    model = MixtureCureFitter(base_fitter=lifelines.WeibullFitter())
    model.fit(_T, _E)
    return [model.summary["coef"].to_numpy(), model.log_likelihood_, model.cured_fraction_]


def a_hazard_of_a_users_own():
    class Gompertz(fitters.ParametricUnivariateFitter):
        _fitted_parameter_names = ["nu_", "b_"]  # noqa: RUF012

        def _cumulative_hazard(self, params, times):
            nu, b = params
            return nu / b * np.expm1(times * b)

    model = Gompertz()
    model.fit(_T / 50.0, _E)
    return [model.summary[["coef", "se(coef)"]].to_numpy(), model.hazard_.to_numpy(), model.log_likelihood_]


def _rossi():
    return datasets.load_rossi()


def weibull_regression_with_both_parameters():
    return _fitted(lifelines.WeibullAFTFitter(), _rossi(), "week", "arrest", ancillary=True)


def log_logistic_regression():
    return _fitted(lifelines.LogLogisticAFTFitter(), _rossi(), "week", "arrest")


def spline_regression():
    model = lifelines.CRCSplineFitter(n_baseline_knots=3)
    model.fit(
        _rossi(), "week", "arrest", regressors={"beta_": "age + fin", "gamma0_": "1", "gamma1_": "1", "gamma2_": "1"}
    )
    return [model.log_likelihood_, model.summary["coef"].to_numpy()]


def predictions():
    model = lifelines.WeibullAFTFitter().fit(_rossi(), "week", "arrest")
    some = _rossi().head(4)
    return [_array(model.predict_median(some)), _array(model.predict_survival_function(some, times=[10.0, 50.0]))]


def _array(frame):
    return pandas.DataFrame(frame).to_numpy()
