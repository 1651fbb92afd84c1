"""Distributions of symmetric positive definite matrices under SciPy's names: Wishart's, and that of the inverses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primad import nn
from primad import numpy as pn
from primad.errors import DomainError, ShapeError
from primad.numpy import special
from primad.numpy.elementwise.ufuncs import defined_where
from primad.numpy.promotion import any_traced
from primad.recording.traced_array import settled
from primad.scipy.stats.draws import dtype_of, normals, uniforms
from primad.scipy.stats.multivariate import OfVectors, block, keyed, one_number, recorded_method
from primad.scipy.stats.tails import LOG_2

__all__ = ["invwishart", "wishart"]


def _factor(matrices: Any) -> Any:
    """Return the Cholesky factors of the symmetric parts of matrices, so that gradients are symmetric."""
    return pn.linalg.cholesky(0.5 * (matrices + pn.swapaxes(matrices, -1, -2)))


def _log_det(factor: Any) -> Any:
    """Return the logarithms of the determinants of the matrices with these Cholesky factors."""
    return 2.0 * pn.sum(pn.log(pn.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)


def _trace(factor: Any, other: Any) -> Any:
    """Return the traces of A⁻¹B, of the Cholesky factors of A and B: the sum of squares of one over the other."""
    shape = (*max(factor.shape[:-2], other.shape[:-2], key=len), *factor.shape[-2:])
    rows = pn.linalg.solve(pn.broadcast_to(factor, shape), pn.broadcast_to(other, shape))
    return pn.sum(rows * rows, axis=(-2, -1))


class _OfMatrices(OfVectors):
    """What the distributions of matrices, with degrees of freedom df and a matrix scale, have in common."""

    unnormalized: Callable[..., Any]
    from_bartlett: Callable[..., Any]

    def _given(self, df: Any, scale: Any) -> tuple[Any, Any]:
        """Return the degrees of freedom and the matrix, of SciPy's shorter forms: None, a diagonal, one number."""
        scale = pn.atleast_1d(pn.asarray(1.0 if scale is None else scale) * 1.0)
        scale = scale if scale.ndim == 2 else pn.diag(scale)
        if scale.ndim != 2 or scale.shape[0] != scale.shape[1]:
            raise ShapeError(
                f"scipy.stats.{self.name}: scale of shape {scale.shape}", fix="give a square matrix or its diagonal."
            )
        df, least = one_number(self.name, scale.shape[0] if df is None else df), scale.shape[0] - 1
        if not any_traced([df]) and not df > least:
            raise DomainError(
                f"scipy.stats.{self.name}: df={df} for matrices of {least + 1} rows", fix=f"give more than {least}."
            )
        return df, scale

    def _points(self, x: Any, size: int) -> Any:
        """Return matrices (…, d, d) of SciPy's points, of which several are along the last axis."""
        x = pn.asarray(x) * 1.0
        if x.ndim == 0:
            x = x * pn.eye(size)
        elif x.ndim == 1:
            x = x[:, None, None] if size == 1 else pn.diag(x)
        elif x.ndim == 3:
            x = pn.moveaxis(x, -1, 0)
        if x.shape[-2:] != (size, size) or x.ndim > 3:
            raise ShapeError(
                f"scipy.stats.{self.name}: points of shape {x.shape} for a scale of {size} rows",
                fix=f"give one matrix, ({size}, {size}), or several along the last axis.",
            )
        return x

    @recorded_method
    def logpdf(self, x: Any, df: Any, scale: Any) -> Any:
        """Return the logarithm of the density at a matrix, or at several along the last axis."""
        df, scale = self._given(df, scale)
        size = scale.shape[0]
        found = self.unnormalized(_factor(self._points(x, size)), df, _factor(scale))
        found = found - 0.5 * LOG_2 * size * df - special.multigammaln(0.5 * df, size)
        return pn.squeeze(defined_where(df > size - 1.0, found))

    @recorded_method
    def pdf(self, x: Any, df: Any, scale: Any) -> Any:
        """Return the density."""
        return pn.exp(self.logpdf(x, df, scale))

    def rvs(self, df: Any, scale: Any, size: Any = 1, random_state: Any = None, *, key: Any = None) -> Any:
        """Draw matrices at random from a key, differentiable in df and scale; without a key as SciPy does.

        By Bartlett's decomposition: a triangle of normal numbers, and roots of chi-squared ones on its diagonal, whose
        derivative in df is that at a fixed probability.

        Args:
            df: the degrees of freedom.
            scale: a matrix, its diagonal, or one number.
            size: the shape of the draws; of one draw there is no axis.
            random_state: SciPy's, without a key.
            key: an integer, which decides the draws.
        """
        df, scale = settled(df), settled(scale)
        if not keyed(self.name, key, random_state, [df, scale]):
            return self._scipys.rvs(df, scale, size, random_state)
        df, scale = self._given(df, scale)
        n, dtype, keys = scale.shape[0], dtype_of(df, scale), pn.asarray(nn.split(key, 2))
        (below,) = normals(keys[..., 0], 1, (*block(size), n, n), dtype)
        halves = 0.5 * (df - self.removed(n))
        roots = pn.sqrt(2.0 * special.gammaincinv(halves, uniforms(keys[..., 1], (*block(size), n), dtype)))
        triangle = pn.tril(below, -1) + roots[..., None] * pn.eye(n, dtype=dtype)
        found = defined_where(df > n - 1.0, self.from_bartlett(triangle, _factor(scale)))
        return found[..., 0, 0] if n == 1 else found

    @staticmethod
    def removed(size: int) -> Any:
        """Return by how much the degrees of freedom of the numbers on the diagonal are less than df."""
        return pn.arange(size) * 1.0


def _digammas(df: Any, size: int) -> Any:
    return pn.sum(special.digamma(0.5 * (df - pn.arange(size))))


class wishart_gen(_OfMatrices):
    """Wishart's distribution: df and scale (a matrix, its diagonal, or one number).

    Example:
        >>> import numpy as np, primad, primad.scipy.stats as stats
        >>> primad.grad(lambda s: stats.wishart.logpdf(np.eye(2), 3.0, s))(2.0 * np.eye(2))
        array([[-0.625,  0.   ],
               [ 0.   , -0.625]])
    """

    @staticmethod
    def unnormalized(x: Any, df: Any, scale: Any) -> Any:
        """Return the logarithm of the density but for its constant, of Cholesky factors."""
        power = 0.5 * (df - scale.shape[0] - 1.0)
        return power * _log_det(x) - 0.5 * _trace(scale, x) - 0.5 * df * _log_det(scale)

    @staticmethod
    def from_bartlett(triangle: Any, scale: Any) -> Any:
        """Return draws, of Bartlett's triangles."""
        found = scale @ triangle
        return found @ pn.swapaxes(found, -1, -2)

    @recorded_method
    def mean(self, df: Any, scale: Any) -> Any:
        """Return the expected matrix."""
        df, scale = self._given(df, scale)
        return pn.squeeze(defined_where(df > scale.shape[0] - 1.0, df * scale))

    @recorded_method
    def var(self, df: Any, scale: Any) -> Any:
        """Return the variances of the elements."""
        df, scale = self._given(df, scale)
        diagonal = pn.diagonal(scale)
        return pn.squeeze(defined_where(df > scale.shape[0] - 1.0, df * (scale**2 + pn.outer(diagonal, diagonal))))

    @recorded_method
    def mode(self, df: Any, scale: Any) -> Any:
        """Return the matrix of the highest density, NaN where there is none."""
        df, scale = self._given(df, scale)
        rest = df - scale.shape[0] - 1.0
        return pn.squeeze(defined_where(rest >= 0.0, rest * scale))

    @recorded_method
    def entropy(self, df: Any, scale: Any) -> Any:
        """Return the differential entropy in nats."""
        df, scale = self._given(df, scale)
        n = scale.shape[0]
        found = 0.5 * (n + 1.0) * (_log_det(_factor(scale)) + n * LOG_2) + special.multigammaln(0.5 * df, n)
        return defined_where(df > n - 1.0, found - 0.5 * (df - n - 1.0) * _digammas(df, n) + 0.5 * df * n)


class invwishart_gen(_OfMatrices):
    """The distribution of inverses of Wishart's matrices: df and scale (a matrix, its diagonal, or one number).

    Example:
        >>> import numpy as np, primad, primad.scipy.stats as stats
        >>> primad.grad(lambda s: stats.invwishart.logpdf(np.eye(2), 3.0, s))(2.0 * np.eye(2))
        array([[0.25, 0.  ],
               [0.  , 0.25]])
    """

    @staticmethod
    def unnormalized(x: Any, df: Any, scale: Any) -> Any:
        """Return the logarithm of the density but for its constant, of Cholesky factors."""
        power = 0.5 * (df + scale.shape[0] + 1.0)
        return 0.5 * df * _log_det(scale) - 0.5 * _trace(x, scale) - power * _log_det(x)

    @staticmethod
    def from_bartlett(triangle: Any, scale: Any) -> Any:
        """Return draws, of Bartlett's triangles."""
        right = pn.broadcast_to(scale.T, triangle.shape)
        found = pn.linalg.solve(pn.swapaxes(triangle, -1, -2), right)
        return pn.swapaxes(found, -1, -2) @ found

    @staticmethod
    def removed(size: int) -> Any:
        """Return by how much the degrees of freedom of the numbers on the diagonal are less than df."""
        return pn.arange(size - 1, -1, -1) * 1.0

    @recorded_method
    def mean(self, df: Any, scale: Any) -> Any:
        """Return the expected matrix, NaN where there is none."""
        df, scale = self._given(df, scale)
        rest = df - scale.shape[0] - 1.0
        return pn.squeeze(defined_where(rest > 0.0, scale / rest))

    @recorded_method
    def var(self, df: Any, scale: Any) -> Any:
        """Return the variances of the elements, NaN where there are none."""
        df, scale = self._given(df, scale)
        rest, diagonal = df - scale.shape[0] - 1.0, pn.diagonal(scale)
        found = (rest + 2.0) * scale**2 + rest * pn.outer(diagonal, diagonal)
        return pn.squeeze(defined_where(rest > 2.0, found / ((rest + 1.0) * rest**2 * (rest - 2.0))))

    @recorded_method
    def mode(self, df: Any, scale: Any) -> Any:
        """Return the matrix of the highest density."""
        df, scale = self._given(df, scale)
        n = scale.shape[0]
        return pn.squeeze(defined_where(df > n - 1.0, scale / (df + n + 1.0)))

    @recorded_method
    def entropy(self, df: Any, scale: Any) -> Any:
        """Return the differential entropy in nats."""
        df, scale = self._given(df, scale)
        n = scale.shape[0]
        found = special.multigammaln(0.5 * df, n) + 0.5 * n * df + 0.5 * (n + 1.0) * (_log_det(_factor(scale)) - LOG_2)
        return defined_where(df > n - 1.0, found - 0.5 * (df + n + 1.0) * _digammas(df, n))


wishart = wishart_gen()
invwishart = invwishart_gen()
