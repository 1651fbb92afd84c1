"""lifetimes: how long customers stay and what they spend, fitted by gradients through autograd."""

import numpy
from lifetimes import (
    BetaGeoBetaBinomFitter,
    BetaGeoFitter,
    GammaGammaFitter,
    ModifiedBetaGeoFitter,
    ParetoNBDFitter,
)
from lifetimes.datasets import (
    load_cdnow_summary,
    load_cdnow_summary_data_with_monetary_value,
    load_donations,
)


def _fitted(fitter, table, *columns):
    fitter.fit(*[table[column] for column in columns])
    return fitter.params_.to_numpy()


def _purchases(fitter, count):
    return _fitted(fitter, load_cdnow_summary().head(count), "frequency", "recency", "T")


def beta_geometric():
    fitter = BetaGeoFitter()
    return [_purchases(fitter, 300), numpy.sqrt(numpy.diag(fitter.variance_matrix_))]


def modified_beta_geometric():
    return _purchases(ModifiedBetaGeoFitter(), 300)


def pareto():
    return _purchases(ParetoNBDFitter(penalizer_coef=0.01), 100)


def beta_binomial():
    return _fitted(BetaGeoBetaBinomFitter(), load_donations(), "frequency", "recency", "periods", "weights")


def what_they_spend():
    table = load_cdnow_summary_data_with_monetary_value()
    return _fitted(GammaGammaFitter(), table[table.frequency > 0].head(300), "frequency", "monetary_value")
