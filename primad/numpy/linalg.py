"""numpy.linalg: factorizations of matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.numpy.promotion import as_float, implements


class QRResult(NamedTuple):
    """The factors of `qr`."""

    Q: Any
    R: Any


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> QRResult:
    """np.linalg.qr: the reduced factorization a = Q R, for matrices of full column rank.

    Args:
        a: shape (…, m, n) with m ≥ n; integers become float64.
        mode: 'reduced' only (for square matrices 'complete' is the same).

    Returns:
        Q of shape (…, m, n), with orthonormal columns, and R of shape (…, n, n), upper triangular. If only `R` is used,
        Q is not computed.

    Raises:
        ShapeError: for wide matrices and other modes.
        numpy.linalg.LinAlgError: from a derivative where the columns of a matrix are linearly dependent.

    Example:
        >>> import numpy as np, primad
        >>> a = np.array([[3.0, 1.0], [4.0, 2.0]])
        >>> primad.grad(lambda a: np.abs(np.linalg.qr(a).R[0, 0]))(a)  # the length of the first column
        array([[0.6, 0. ],
               [0.8, 0. ]])
    """
    a = as_float(a)
    m, n = a.shape[-2:] if a.ndim >= 2 else (0, 0)
    if m < n or mode not in ("reduced", "complete") or (mode == "complete" and m != n):
        raise ShapeError(
            f"np.linalg.qr of shape {a.shape} in mode {mode!r} has no derivative in primad",
            why="Only the reduced factorization of matrices with at least as many rows as columns is unique.",
            fix="use mode='reduced'; of a wide matrix, factorize its first columns.",
        )
    return QRResult(*ops.qr(a))
