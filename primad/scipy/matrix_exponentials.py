"""Of scipy.linalg: exponentials, logarithms and roots of matrices, and Sylvester's and Lyapunov's equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import numpy as pn
from primad import ops
from primad.errors import ShapeError
from primad.ops.linalg.factorization import adjoint
from primad.scipy.mirrors import floats, mirrors, square

__all__ = [
    "expm", "expm_frechet", "logm", "solve_continuous_lyapunov", "solve_discrete_lyapunov", "solve_sylvester", "sqrtm",
]  # fmt: skip


# -- functions of matrices ---------------------------------------------------------------------------------------------


@mirrors
def expm(A: Any) -> Any:
    """scipy.linalg.expm: exponentials of matrices; the derivative along E is `expm_frechet(A, E)`.

    Args:
        A: shape (…, n, n).

    Returns:
        the same shape. Derivatives of every order exist; one of order k works on matrices of 2ᵏ n rows.

    Example:
        >>> import numpy as np, primad, primad.scipy.linalg
        >>> turn = np.array([[0.0, -1.0], [1.0, 0.0]])
        >>> primad.derivative(lambda t: primad.scipy.linalg.expm(t * turn)[1, 0])(0.0)  # of the sine
        np.float64(1.0)
    """
    return ops.expm(square("expm", A))


@mirrors
def expm_frechet(
    A: Any, E: Any, method: str | None = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    """scipy.linalg.expm_frechet: the exponential and its derivative along E, or with `compute_expm=False` the latter.

    Both of SciPy's methods are the same one here.
    """
    if method not in (None, "SPS", "blockEnlarge"):
        raise ShapeError(f"scipy.linalg.expm_frechet: method={method!r} is not known")
    A, E = _fitting("expm_frechet", A, E)
    along = ops.expm_frechet(A, E)
    return (ops.expm(A), along) if compute_expm else along


@mirrors
def sqrtm(A: Any, disp: Any = True, blocksize: int = 64) -> Any:
    """scipy.linalg.sqrtm: the principal square root of matrices; of real ones a real one.

    Raises:
        numpy.linalg.LinAlgError: if an eigenvalue of a real matrix is negative, for which `A.astype(complex)` has a
            complex root; from derivatives, if a matrix is singular.
    """
    if disp is False:
        raise ShapeError("scipy.linalg.sqrtm of traced arrays takes no disp=False, which returns an error estimate too")
    return ops.sqrtm(square("sqrtm", A))


@mirrors
def logm(A: Any, disp: Any = True) -> Any:
    """scipy.linalg.logm: the principal logarithm of matrices; of real ones a real one.

    Args:
        A: shape (…, n, n).
        disp: must be True: otherwise SciPy returns an error estimate too.

    Raises:
        numpy.linalg.LinAlgError: if a matrix is singular, or an eigenvalue of a real one negative, for which
            `A.astype(complex)` has a complex logarithm.

    Example:
        >>> import numpy as np, primad, primad.scipy.linalg
        >>> spread = lambda s: primad.scipy.linalg.logm(s * np.array([[2.0, 1.0], [1.0, 2.0]]))[0, 0]
        >>> print(round(float(primad.derivative(spread)(2.0)), 12))  # a multiple of the identity is added
        0.5
    """
    if disp is False:
        raise ShapeError("scipy.linalg.logm of traced arrays takes no disp=False, which returns an error estimate too")
    return ops.logm(square("logm", A))


# -- equations ---------------------------------------------------------------------------------------------------------


def _fitting(name: str, *matrices: Any) -> list[Any]:
    """Return square matrices, and a last one with the rows of the first and the columns of the second, of one batch."""
    found = floats(*matrices)
    *factors, q = found
    shapes = [x.shape for x in found]
    try:
        lead = np.broadcast_shapes(*[shape[:-2] for shape in shapes])
    except ValueError:
        lead = None
    sizes = [square(name, x).shape[-1] for x in factors]
    if lead is None or q.ndim < 2 or q.shape[-2:] != (sizes[0], sizes[-1]):
        raise ShapeError(f"scipy.linalg.{name}: matrices of shapes {', '.join(map(str, shapes))} do not fit")
    return [pn.broadcast_to(x, (*lead, *x.shape[-2:])) for x in found]


@mirrors
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """scipy.linalg.solve_sylvester: the x with a x + x b = q.

    Args:
        a: shape (…, m, m).
        b: shape (…, n, n).
        q: shape (…, m, n).

    Raises:
        numpy.linalg.LinAlgError: if an eigenvalue of a is the negative of one of b, to rounding.
    """
    return ops.solve_sylvester(*_fitting("solve_sylvester", a, b, q))


@mirrors
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """scipy.linalg.solve_continuous_lyapunov: the x with a x + x aᴴ = q, of shape (…, n, n)."""
    a, q = _fitting("solve_continuous_lyapunov", a, q)
    return ops.solve_sylvester(a, adjoint(a), q)


@mirrors
def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Any:
    """scipy.linalg.solve_discrete_lyapunov: the x with a x aᴴ − x + q = 0, of shape (…, n, n), by the continuous one.

    With b = (a + 1)⁻¹ (a − 1) it is b x + x bᴴ = −2 (a + 1)⁻¹ q (aᴴ + 1)⁻¹; so for both of SciPy's methods.

    Source: by multiplying out (a − 1) x (aᴴ + 1) + (a + 1) x (aᴴ − 1) = −2 q.
    """
    if method not in (None, "direct", "bilinear"):
        raise ShapeError(f"scipy.linalg.solve_discrete_lyapunov: method={method!r} is not known")
    a, q = _fitting("solve_discrete_lyapunov", a, q)
    one = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    half = pn.linalg.solve(a + one, q)
    right = adjoint(pn.linalg.solve(a + one, adjoint(half))) * -2.0
    b = pn.linalg.solve(a + one, a - one)
    return ops.solve_sylvester(b, adjoint(b), right)
