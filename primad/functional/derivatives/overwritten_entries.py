"""SciPy's sparse arrays whose entries are overwritten by those of a matrix of derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ShapeError

if TYPE_CHECKING:
    from primad.programs.sparsity.found_entries import Found

Array = np.ndarray[Any, Any]

OUT = "pass an array that sparse() gave for the same function, in the same format."
"""What to do where an array that is given does not fit."""
PLACES = {"dia": ("offsets",), "bsr": ("indices", "indptr")}
"""What says where entries are in formats that also store numbers that are none, by SciPy's names."""


def _check_out(out: Any, shape: tuple[int, ...], format: str, dtype: Any) -> None:
    """Raise if SciPy's array has another format or shape, or its entries another dtype, or may not be written."""
    if out.format != format or out.shape != shape:
        ours = f"in {format}, of shape {shape}"
        raise ShapeError(f"sparse: out is in {out.format}, of shape {out.shape}, and the matrix {ours}", fix=OUT)
    if out.data.dtype != dtype or not out.data.flags.writeable or not out.data.flags.c_contiguous:
        raise ShapeError(f"sparse: the entries of out are {out.data.dtype}, and of the matrix {dtype}", fix=OUT)


def overwritten(out: Any, matrix: Any) -> Any:
    """Return SciPy's array, in a format that stores more than entries, with those of another.

    Raises:
        ShapeError: if these have other places, or another dtype, or may not be written.
    """
    _check_out(out, matrix.shape, matrix.format, matrix.dtype)
    same = [np.array_equal(getattr(out, name), getattr(matrix, name)) for name in PLACES[matrix.format]]
    if not all(same) or out.data.shape != matrix.data.shape:
        raise ShapeError("sparse: out has its entries at other places than the matrix", fix=OUT)
    out.data[...] = matrix.data
    return out


def entries_in(out: Any, found: Found, format: str, dtype: Any) -> Array:
    """Return the entries of SciPy's array that are to be overwritten.

    Raises:
        ShapeError: if it has other places, or its entries another dtype, or may not be written.
    """
    _check_out(out, found.shape, format, dtype)
    if format == "coo":
        pairs = list(zip(out.coords, (found.places.rows, found.places.columns), strict=True))
    else:
        pairs = list(zip((out.indices, out.indptr), found.indices(format), strict=True))
    if not all(np.array_equal(x, y) for x, y in pairs):
        raise ShapeError("sparse: out has its entries at other places than the matrix", fix=OUT)
    data: Array = out.data
    return data
