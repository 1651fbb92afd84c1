"""Densities and distribution functions under the names of `autograd.scipy.stats`."""

from typing import Any

from primad.compat.autograd.importing import missing
from primad.compat.autograd.scipy.stats import beta as beta
from primad.compat.autograd.scipy.stats import chi2 as chi2
from primad.compat.autograd.scipy.stats import dirichlet as dirichlet
from primad.compat.autograd.scipy.stats import gamma as gamma
from primad.compat.autograd.scipy.stats import multivariate_normal as multivariate_normal
from primad.compat.autograd.scipy.stats import norm as norm
from primad.compat.autograd.scipy.stats import poisson as poisson
from primad.compat.autograd.scipy.stats import t as t

_NAMES = ("beta", "chi2", "dirichlet", "gamma", "multivariate_normal", "norm", "poisson", "t")


def __getattr__(name: str) -> Any:
    missing(__name__, name, _NAMES)
