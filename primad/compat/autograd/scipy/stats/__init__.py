"""Densities and distribution functions under the names of `autograd.scipy.stats`."""

from primad.compat.autograd.scipy.stats import multivariate_normal as multivariate_normal
from primad.compat.autograd.scipy.stats import norm as norm
