"""Of scipy.linalg: sines, cosines, signs, powers of matrices, by exponentials, logarithms and roots; any function."""

from __future__ import annotations

import operator
from importlib import import_module
from typing import Any

import numpy as np

from primad import numpy as pn
from primad import ops
from primad.errors import ShapeError
from primad.recording.traced_array import TracedArray, settled
from primad.scipy.mirrors import floats, mirrors, square
from primad.scipy.traced_calls import Function, is_recorded
from primad.system.tracebacks import entrance

__all__ = [
    "coshm", "cosm", "fractional_matrix_power", "funm", "signm", "sinhm", "sinm", "tanhm", "tanm",
]  # fmt: skip


def _turned(name: str, a: Any) -> tuple[Any, Any]:
    """Return the cosine and the sine of matrices."""
    a = square(name, a)
    forth = ops.expm(a * np.asarray(1j, np.result_type(a.dtype, np.complex64)))
    if a.dtype.kind != "c":
        return pn.real(forth), pn.imag(forth)
    back = ops.expm(a * -1j)
    return 0.5 * (forth + back), -0.5j * (forth - back)


def _grown(name: str, a: Any) -> tuple[Any, Any]:
    """Return the hyperbolic cosine and sine of matrices."""
    a = square(name, a)
    forth, back = ops.expm(a), ops.expm(-a)
    return 0.5 * (forth + back), 0.5 * (forth - back)


@mirrors
def cosm(A: Any) -> Any:
    """scipy.linalg.cosm: cosines of matrices.

    Example:
        >>> import numpy as np, primad, primad.scipy.linalg
        >>> turn = np.array([[0.0, 1.0], [1.0, 0.0]])
        >>> print(primad.derivative(lambda t: primad.scipy.linalg.cosm(t * turn)[0, 0])(0.5).round(6))  # −sin
        -0.479426
    """
    return _turned("cosm", A)[0]


@mirrors
def sinm(A: Any) -> Any:
    """scipy.linalg.sinm: sines of matrices."""
    return _turned("sinm", A)[1]


@mirrors
def tanm(A: Any) -> Any:
    """scipy.linalg.tanm: tangents of matrices."""
    return pn.linalg.solve(*_turned("tanm", A))


@mirrors
def coshm(A: Any) -> Any:
    """scipy.linalg.coshm: hyperbolic cosines of matrices."""
    return _grown("coshm", A)[0]


@mirrors
def sinhm(A: Any) -> Any:
    """scipy.linalg.sinhm: hyperbolic sines of matrices."""
    return _grown("sinhm", A)[1]


@mirrors
def tanhm(A: Any) -> Any:
    """scipy.linalg.tanhm: hyperbolic tangents of matrices."""
    return pn.linalg.solve(*_grown("tanhm", A))


@mirrors
def signm(A: Any, disp: Any = True) -> Any:
    """scipy.linalg.signm: signs of matrices, A·(A²)^(−1/2): of each eigenvalue that of its real part.

    Raises:
        numpy.linalg.LinAlgError: if an eigenvalue is imaginary.
    """
    a = square("signm", A)
    return pn.linalg.solve(ops.sqrtm(a @ a), a)


@mirrors
def fractional_matrix_power(A: Any, t: Any) -> Any:
    """scipy.linalg.fractional_matrix_power: exp(t·log A), differentiable in both; of a plain whole t a product.

    Raises:
        numpy.linalg.LinAlgError: if a matrix is singular, or an eigenvalue of a real one negative, for which
            `A.astype(complex)` has a complex power; not for whole powers.
    """
    if isinstance(t, int | float) and float(t).is_integer():
        return pn.linalg.matrix_power(square("fractional_matrix_power", A), operator.index(int(t)))
    (a,) = floats(A, beside=[t])
    return ops.expm(t * ops.logm(square("fractional_matrix_power", a)))


@entrance
def funm(A: Any, func: Function, disp: Any = True) -> Any:
    """scipy.linalg.funm: an analytic function of matrices, V f(w) V⁻¹; of what is traced with all derivatives.

    They exist at equal eigenvalues too, by divided differences. SciPy's own values, of plain arrays, lose digits there.

    Args:
        A: a matrix, or a stack of them where something is traced.
        func: the function of an array of complex numbers, written with NumPy.
        disp: as SciPy's, where nothing is traced; otherwise True.

    Returns:
        the matrices: complex ones where something is traced, as eigenvalues are; otherwise SciPy's.

    Raises:
        MatrixError: where something is traced, for a matrix that is not diagonalizable, as far as rounding tells.
        ShapeError: for matrices that are not square, and disp=False where something is traced.

    Example:
        >>> import numpy as np, primad, primad.scipy.linalg
        >>> def corner(a):
        ...     return primad.scipy.linalg.funm(a, lambda w: 1 / (1 + np.exp(w)))[0, 0].real
        >>> float(primad.grad(corner)(np.eye(2))[0, 0].round(4))  # the derivative of 1/(1 + eʷ) at 1
        -0.1966
    """
    A = settled(A)
    if not is_recorded((A,), lambda: func(np.linalg.eigvals(np.asarray(A)).astype(complex))):
        return import_module("scipy.linalg").funm(A, func, disp)
    if disp is False:
        raise ShapeError(
            "scipy.linalg.funm of traced arrays takes no disp=False, which returns an error estimate too",
            fix="leave disp out.",
        )
    w, v = np.linalg.eig(square("funm", A) if isinstance(A, TracedArray) else np.asarray(A))
    w, v = (x.astype(np.result_type(x.dtype, np.complex64)) for x in (w, v))
    return (v * pn.expand_dims(func(w), -2)) @ ops.left_vectors(v, w, pn.expand_dims(w * 0.0, -1))
