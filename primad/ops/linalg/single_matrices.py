"""Factors, solutions and cofactors of one small matrix: LAPACK's functions, looked up before they are called."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from primad.ir.array_types import ArrayType
from primad.system.machine import CALL_ELEMENTS


def is_small(a: ArrayType) -> bool:
    """Say whether arrays of a type are one small matrix of floats: of larger ones a call is no part of the time."""
    return a.ndim == 2 and 0 < a.size <= CALL_ELEMENTS and a.dtype.char in "fd"


def eliminating(a: ArrayType) -> Callable[[Any], tuple[Any, Any, Any]]:
    """Return what factors matrices of a type, by elimination with pivoting."""
    from scipy.linalg import lapack

    getrf, rows, dtype = getattr(lapack, f"{_letter(a)}getrf"), [*range(a.shape[0])], a.dtype

    def factored(a: Any) -> tuple[Any, Any, Any]:
        factors, pivots, _ = getrf(np.array(a, order="F"), overwrite_a=1)
        order, swaps = [*rows], 0
        for row, pivot in enumerate(pivots.tolist()):
            if pivot != row:
                order[row], order[pivot] = order[pivot], order[row]
                swaps += 1
        return factors, np.array(order), dtype.type(1 - 2 * (swaps % 2))

    return factored


def substituting(a: ArrayType, b: ArrayType, lower: bool, transpose: bool, unit: bool) -> Callable[[Any, Any], Any]:
    """Return what solves triangular systems of these types."""
    from scipy.linalg import blas

    trsm, trsv = (getattr(blas, f"{_letter(a)}{name}") for name in ("trsm", "trsv"))
    shape, dtype, is_vector = b.shape, b.dtype, b.shape[-1] == 1

    def solution(a: Any, b: Any) -> Any:
        if not unit and not a.diagonal().all():
            raise np.linalg.LinAlgError("singular matrix")
        matrix, turned = (a, True) if a.flags.f_contiguous else (a.T, False)
        x = np.empty(shape, dtype)
        if is_vector:
            x[:, 0] = trsv(matrix, b[:, 0], lower=lower == turned, diag=unit, trans=transpose == turned)
        else:
            x[...] = trsm(1, matrix, b.T, side=1, lower=lower == turned, diag=unit, trans_a=transpose != turned).T
        return x

    return solution


def cofactoring(a: ArrayType, otherwise: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what finds the cofactors of matrices of a type: by the inverse, and `otherwise` where it may be far off.

    With n rows, Skeel's condition numbers, by which `inverted` in `cofactors` says what is far off, are at most n times
    the product of the lengths of all elements of the matrix and of its inverse. What is not finite makes that product
    infinite or NaN, and so do numbers whose squares underflow, since those of the inverse then overflow.
    """
    range_, most = np.finfo(a.dtype), 1 / (2 * a.shape[0])  # half of it: the bound itself is rounded
    determinant, inverted = (_loop(name, a) for name in ("det", "inv"))
    tiny, largest = float(range_.tiny), most * most / float(range_.eps)

    def found(a: Any) -> Any:
        det = determinant(a)
        if not tiny <= abs(det) < math.inf:
            return otherwise(a)
        inverse = inverted(a)
        elements, of_inverse = a.ravel(), inverse.ravel()
        if not elements.dot(elements) * of_inverse.dot(of_inverse) <= largest:
            return otherwise(a)
        return det * inverse.T

    return found


def _loop(name: str, a: ArrayType) -> Callable[[Any], Any]:
    """Return the ufunc by which NumPy's function computes, where there is one and it takes matrices of a type.

    Where the matrix is singular it gives NaN and raises nothing.
    """
    found: Callable[[Any], Any] | None
    try:
        found = getattr(import_module("numpy.linalg._umath_linalg"), name)
    except (ImportError, AttributeError):  # it is no public name
        found = None
    public: Callable[[Any], Any] = getattr(np.linalg, name)
    return public if found is None or a.dtype != np.float64 else found


def _letter(a: ArrayType) -> str:
    """Return the letter with which LAPACK's functions for a type begin."""
    return "s" if a.dtype.char == "f" else "d"
