"""Of scipy.linalg: exponentials, logarithms and roots of matrices; Sylvester's, Lyapunov's and Riccati's equations."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from primad import numpy as pn
from primad import ops
from primad.errors import MatrixError, ShapeError
from primad.functional.rules.custom_rules import custom_jvp
from primad.functional.rules.opaque import opaque
from primad.ops.linalg.factorization import adjoint
from primad.scipy.mirrors import floats, mirrors, square

__all__ = [
    "expm", "expm_frechet", "logm", "solve_continuous_are", "solve_continuous_lyapunov", "solve_discrete_are",
    "solve_discrete_lyapunov", "solve_sylvester", "sqrtm",
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
        raise ShapeError(
            f"scipy.linalg.expm_frechet: method={method!r} is not known",
            fix="leave it out: both of SciPy's methods are the same here.",
        )
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
        raise ShapeError(
            "scipy.linalg.sqrtm of traced arrays takes no disp=False, which returns an error estimate too",
            fix="leave disp out.",
        )
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
        raise ShapeError(
            "scipy.linalg.logm of traced arrays takes no disp=False, which returns an error estimate too",
            fix="leave disp out.",
        )
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
        raise ShapeError(
            f"scipy.linalg.{name}: matrices of shapes {', '.join(map(str, shapes))} do not fit",
            fix="give square matrices, and a last one with the rows of the first and the columns of the one before it.",
        )
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
        raise ShapeError(
            f"scipy.linalg.solve_discrete_lyapunov: method={method!r} is not known",
            fix="leave it out: both of SciPy's methods are the same here.",
        )
    a, q = _fitting("solve_discrete_lyapunov", a, q)
    one = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    half = pn.linalg.solve(a + one, q)
    right = adjoint(pn.linalg.solve(a + one, adjoint(half))) * -2.0
    b = pn.linalg.solve(a + one, a - one)
    return ops.solve_sylvester(b, adjoint(b), right)


# -- Riccati's equations -----------------------------------------------------------------------------------------------


def _solved_by_scipy(name: str, a: Any, *matrices: Any) -> Any:
    try:
        return getattr(import_module("scipy.linalg"), name)(a, *matrices).astype(a.dtype)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise MatrixError(
            f"scipy.linalg.{name}: {error}",
            fix="q and r are Hermitian, r is regular, and u = −k x reaches all that is unstable.",
        ) from None


@custom_jvp
@opaque(result=lambda a, b, q, r: a, name="continuous_riccati")
def _continuous(a: Any, b: Any, q: Any, r: Any) -> Any:
    return _solved_by_scipy("solve_continuous_are", a, b, q, r)


@_continuous.defjvp
def _push_continuous(primals: Any, tangents: Any) -> Any:
    (a, b, _, r), (da, db, dq, dr) = primals, tangents
    x = _continuous(*primals)
    gain = pn.linalg.solve(r, adjoint(b) @ x)
    closed, change = a - b @ gain, x @ (da - db @ gain)
    right = change + adjoint(change) + dq + adjoint(gain) @ dr @ gain
    return x, ops.solve_sylvester(adjoint(closed), closed, -right)


@custom_jvp
@opaque(result=lambda a, b, q, r: a, name="discrete_riccati")
def _discrete(a: Any, b: Any, q: Any, r: Any) -> Any:
    return _solved_by_scipy("solve_discrete_are", a, b, q, r)


@_discrete.defjvp
def _push_discrete(primals: Any, tangents: Any) -> Any:
    (a, b, _, r), (da, db, dq, dr) = primals, tangents
    x = _discrete(*primals)
    gain = pn.linalg.solve(r + adjoint(b) @ x @ b, adjoint(b) @ x @ a)
    closed = a - b @ gain
    change = adjoint(closed) @ x @ (da - db @ gain)
    right = change + adjoint(change) + dq + adjoint(gain) @ dr @ gain
    return x, solve_discrete_lyapunov(adjoint(closed), right)


def _riccati(name: str, solution: Any, a: Any, b: Any, q: Any, r: Any, e: Any, s: Any) -> Any:
    """Solve an equation with `e` and `s` by the one without: y = eᴴ x e solves that of e⁻¹ a, e⁻¹ b, without s.

    Source: by multiplying out, with a − b r⁻¹ sᴴ for a and q − s r⁻¹ sᴴ for q.
    """
    a, b, q, r, *rest = floats(a, b, q, r, *[x for x in (e, s) if x is not None])
    shapes = [x.shape for x in (a, b, q, r, *rest)]
    n, m = b.shape if b.ndim == 2 else (0, 0)
    if shapes != [(n, n), (n, m), (n, n), (m, m), *[(n, n)] * (e is not None), *[(n, m)] * (s is not None)]:
        raise ShapeError(
            f"scipy.linalg.{name} of traced arrays: matrices of shapes {', '.join(map(str, shapes))} do not fit",
            fix="a, q and e have the shape (n, n), b and s (n, m), r (m, m); primad.vmap maps stacks of them.",
        )
    left = rest[0] if e is not None else None
    if s is not None:
        coupled = pn.linalg.solve(r, adjoint(rest[-1]))
        a, q = a - b @ coupled, q - rest[-1] @ coupled
    if left is None:
        return solution(a, b, q, r)
    y = solution(pn.linalg.solve(left, a), pn.linalg.solve(left, b), q, r)
    turned = adjoint(left)
    return adjoint(pn.linalg.solve(turned, adjoint(pn.linalg.solve(turned, y))))


@mirrors
def solve_continuous_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:  # fmt: skip
    """scipy.linalg.solve_continuous_are: the x ≥ 0 with aᴴ x + x a − x b r⁻¹ bᴴ x + q = 0.

    Its derivative solves Lyapunov's equation of a − b k with the gain k = r⁻¹ bᴴ x of the regulator, to every order.

    Args:
        a: shape (n, n).
        b: shape (n, m).
        q: shape (n, n), Hermitian.
        r: shape (m, m), Hermitian and regular.
        e: shape (n, n), for the equation of e ẋ = a x + b u.
        s: shape (n, m), the weight of products of x and u.
        balanced: SciPy's option, which says nothing about the result.

    Raises:
        numpy.linalg.LinAlgError: if there is no such solution.

    Source: Lancaster & Rodman, Algebraic Riccati Equations (1995), differentiated.

    Example:
        >>> import numpy as np, primad
        >>> from primad.scipy import linalg
        >>> one = np.eye(1)
        >>> cost = lambda weight: linalg.solve_continuous_are(one, one, one, weight * one)[0, 0]
        >>> round(float(primad.grad(cost)(1.0)), 6)  # of r + √(r² + r), 1 + 3/√8
        2.06066
    """
    return _riccati("solve_continuous_are", _continuous, a, b, q, r, e, s)


@mirrors
def solve_discrete_are(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Any:
    """scipy.linalg.solve_discrete_are: the x ≥ 0 with aᴴ x a − x − (aᴴ x b) (r + bᴴ x b)⁻¹ (bᴴ x a) + q = 0.

    Arguments and errors are those of `solve_continuous_are`. The derivative solves the discrete equation of Lyapunov.
    """
    return _riccati("solve_discrete_are", _discrete, a, b, q, r, e, s)
