"""Of scipy.linalg: sines, cosines, signs and powers of matrices, by their exponentials, logarithms and roots."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from primad import numpy as pn
from primad import ops
from primad.scipy.mirrors import floats, mirrors, square

__all__ = [
    "coshm", "cosm", "fractional_matrix_power", "signm", "sinhm", "sinm", "tanhm", "tanm",
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
