"""Distributions of vectors whose densities are the same on ellipsoids, under SciPy's names: normal and Student's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad import nn
from primad import numpy as pn
from primad.errors import TracingError
from primad.numpy import special
from primad.numpy.elementwise.ufuncs import defined_where
from primad.numpy.promotion import any_traced
from primad.recording.traced_array import settled
from primad.scipy import linalg
from primad.scipy.stats.distribution import LOG_ROOT
from primad.scipy.stats.draws import dtype_of, uniforms
from primad.scipy.stats.multivariate import OfVectors, block, keyed, one_number, recorded_method

__all__ = ["multivariate_normal", "multivariate_t"]


def _distances(away: Any, matrix: Any) -> tuple[Any, Any]:
    """Return squared distances of vectors (…, d) in the metric of a matrix's inverse, and log |matrix|.

    The matrix counts as its symmetric part, so that gradients in it are symmetric.
    """
    factor = pn.linalg.cholesky(0.5 * (matrix + matrix.T))
    rows = linalg.solve_triangular(factor, pn.reshape(away, (-1, away.shape[-1])).T, lower=True)
    squares = pn.reshape(pn.sum(rows * rows, axis=0), away.shape[:-1])
    return squares, 2.0 * pn.sum(pn.log(pn.diagonal(factor)))


def normal_log_density(away: Any, covariance: Any) -> Any:
    """Return the logarithm of a normal density, of distances from the mean (…, d) and a covariance (d, d)."""
    squares, log_det = _distances(away, covariance)
    return -0.5 * (squares + log_det) - away.shape[-1] * LOG_ROOT


def _is_singular(matrix: Any) -> bool:
    """Say whether SciPy takes a covariance to be singular, or may: where its values are not known.

    Source: `scipy.stats._multivariate._PSD`, whose smallest eigenvalue that counts is 10⁶ units in the last place of
    the largest.
    """
    matrix = settled(matrix)
    try:
        values = np.asarray(matrix._read("the elements") if any_traced([matrix]) else matrix, float)
    except TracingError:
        return True
    sizes = np.linalg.eigvalsh(0.5 * (values + values.T)) if values.ndim == 2 else np.atleast_1d(values)
    return bool(np.min(sizes) <= _COUNTS * np.finfo(float).eps * np.max(np.abs(sizes)))


_COUNTS = 1e6
"""Units in the last place of the largest eigenvalue above which another one is not 0. SciPy's."""


def _centre_and_matrix(
    name: str, centre: Any, matrix: Any, allow_singular: bool = False, called: str = "cov"
) -> tuple[Any, Any]:
    """Return a vector and a matrix, of SciPy's shorter forms: None, a diagonal, one number.

    Args:
        name: of the distribution.
        centre: its mean or location.
        matrix: its covariance or shape.
        allow_singular: SciPy's option.
        called: what SciPy calls the matrix.
    """
    matrix = 1.0 if matrix is None else matrix
    known = any_traced([matrix]) or isinstance(matrix, int | float | list | tuple) or hasattr(matrix, "ndim")
    if not known or (allow_singular and _is_singular(matrix)):
        raise TracingError(
            f"{name} of traced values with a singular {called}, or one of scipy.stats.Covariance",
            why="The density is computed with a Cholesky factor of a matrix, which is to be positive definite.",
            fix=f"give {called} as a positive definite matrix, as its diagonal, or as one number.",
        )
    matrix = pn.asarray(matrix) * 1.0
    if centre is None:
        centre = pn.zeros(matrix.shape[0] if matrix.ndim == 2 else 1)
    centre = pn.atleast_1d(pn.asarray(centre))
    return centre, matrix if matrix.ndim == 2 else pn.diag(pn.broadcast_to(matrix, centre.shape))


def _away(x: Any, centre: Any) -> Any:
    """Return the distances (…, d) of points from a vector; in one dimension each number is a point."""
    x = pn.asarray(x)
    single = x.ndim == 0 or (x.ndim == 1 and centre.shape[0] == 1)
    return (x[..., None] if single else x) - centre


def _normal_draws(key: Any, shape: tuple[int, ...], cov: Any, dtype: Any) -> Any:
    z = special.ndtri(uniforms(key, (*shape, cov.shape[0]), dtype))
    return z @ pn.linalg.cholesky(0.5 * (cov + cov.T)).T


class multivariate_normal_gen(OfVectors):
    """The normal distribution of vectors: SciPy's mean and cov (a matrix, its diagonal, or one number).

    Example:
        >>> import numpy as np, primad, primad.scipy.stats as stats
        >>> primad.grad(lambda m: stats.multivariate_normal.logpdf(np.array([1.0, 2.0]), m, 4.0))(np.zeros(2))
        array([0.25, 0.5 ])
    """

    @recorded_method
    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """Return the logarithm of the density at points, whose coordinates are the last axis."""
        mean, cov = _centre_and_matrix(self.name, mean, cov, allow_singular)
        return pn.squeeze(normal_log_density(_away(x, mean), cov))

    @recorded_method
    def pdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """Return the density."""
        return pn.exp(self.logpdf(x, mean, cov, allow_singular))

    def rvs(self, mean: Any = None, cov: Any = 1, size: Any = 1, random_state: Any = None, *, key: Any = None) -> Any:
        """Draw at random from a key, differentiable in the mean and the covariance; without a key as SciPy does.

        Args:
            mean: of the vectors.
            cov: their covariance.
            size: the shape of the draws; of one draw there is no axis.
            random_state: SciPy's, without a key.
            key: an integer, which decides the draws.
        """
        mean, cov = settled(mean), settled(cov)
        if not keyed(self.name, key, random_state, [mean, cov]):
            return self._scipys.rvs(mean, cov, size, random_state)
        mean, cov = _centre_and_matrix(self.name, mean, cov)
        found = mean + _normal_draws(key, block(size), cov, dtype_of(mean, cov))
        return found[..., 0] if mean.shape[0] == 1 else found

    @recorded_method
    def entropy(self, mean: Any = None, cov: Any = 1) -> Any:
        """Return the differential entropy in nats."""
        mean, cov = _centre_and_matrix(self.name, mean, cov)
        factor = pn.linalg.cholesky(0.5 * (cov + cov.T))
        return mean.shape[0] * (LOG_ROOT + 0.5) + pn.sum(pn.log(pn.diagonal(factor)))


class multivariate_t_gen(OfVectors):
    """Student's distribution of vectors: SciPy's loc, shape (a matrix, its diagonal, or one number) and df.

    Example:
        >>> import numpy as np, primad, primad.scipy.stats as stats
        >>> score = primad.grad(lambda df: stats.multivariate_t.logpdf(np.array([1.0, 2.0]), np.zeros(2), 4.0, df))
        >>> score(3.0).round(6)
        np.float64(0.070945)
    """

    def _given(self, loc: Any, shape: Any, df: Any, allow_singular: bool = False) -> tuple[Any, Any, Any]:
        return *_centre_and_matrix(self.name, loc, shape, allow_singular, "shape"), one_number(
            self.name, 1.0 if df is None else df
        )

    @recorded_method
    def logpdf(self, x: Any, loc: Any = None, shape: Any = 1, df: Any = 1, allow_singular: bool = False) -> Any:
        """Return the logarithm of the density at points, whose coordinates are the last axis.

        The quotient of gamma functions is B(df/2, d/2) over Γ(d/2), which does not cancel where df is large.
        """
        loc, shape, df = self._given(loc, shape, df, allow_singular)
        away = _away(x, loc)
        if _is_infinite(df):
            return pn.squeeze(normal_log_density(away, shape))
        squares, log_det = _distances(away, shape)
        half = 0.5 * loc.shape[0]
        norm = special.gammaln(half) - special.betaln(0.5 * df, half) - half * pn.log(math.pi * df) - 0.5 * log_det
        return pn.squeeze(defined_where(df > 0.0, norm - (0.5 * df + half) * pn.log1p(squares / df)))

    @recorded_method
    def pdf(self, x: Any, loc: Any = None, shape: Any = 1, df: Any = 1, allow_singular: bool = False) -> Any:
        """Return the density."""
        return pn.exp(self.logpdf(x, loc, shape, df, allow_singular))

    def rvs(
        self, loc: Any = None, shape: Any = 1, df: Any = 1, size: Any = 1, random_state: Any = None, *, key: Any = None
    ) -> Any:
        """Draw at random from a key, differentiable in all parameters; without a key as SciPy does.

        A draw is a normal vector over the root of a chi-squared number's share of df.

        Args:
            loc: of the vectors.
            shape: a matrix, the covariance times (df − 2) / df.
            df: the degrees of freedom.
            size: the shape of the draws; of one draw there is no axis.
            random_state: SciPy's, without a key.
            key: an integer, which decides the draws.
        """
        loc, shape, df = settled(loc), settled(shape), settled(df)
        if not keyed(self.name, key, random_state, [loc, shape, df]):
            return self._scipys.rvs(loc, shape, df, size, random_state)
        loc, shape, df = self._given(loc, shape, df)
        if _is_infinite(df):
            return multivariate_normal.rvs(loc, shape, size, key=key)
        keys, dtype = pn.asarray(nn.split(key, 2)), dtype_of(loc, shape, df)
        shares = special.gammaincinv(0.5 * df, uniforms(keys[..., 0], block(size), dtype)) / (0.5 * df)
        found = loc + _normal_draws(keys[..., 1], block(size), shape, dtype) / pn.sqrt(shares)[..., None]
        return found[..., 0] if loc.shape[0] == 1 else found

    @recorded_method
    def entropy(self, loc: Any = None, shape: Any = 1, df: Any = 1) -> Any:
        """Return the differential entropy in nats; its differences of digammas lose digits where df is large."""
        loc, shape, df = self._given(None, shape, df)
        if _is_infinite(df):
            return multivariate_normal.entropy(loc, shape)
        half, start = 0.5 * loc.shape[0], 0.5 * df
        slope = special.digamma(start + half) - special.digamma(start)
        rest = special.betaln(start, half) - special.gammaln(half) + half * pn.log(math.pi * df)
        log_det = 2.0 * pn.sum(pn.log(pn.diagonal(pn.linalg.cholesky(0.5 * (shape + shape.T)))))
        return defined_where(df > 0.0, rest + (start + half) * slope + 0.5 * log_det)


def _is_infinite(df: Any) -> bool:
    """Say whether degrees of freedom are known to be infinite, where Student's distribution is the normal one."""
    return not any_traced([df]) and bool(df == math.inf)


multivariate_normal = multivariate_normal_gen()
multivariate_t = multivariate_t_gen()
