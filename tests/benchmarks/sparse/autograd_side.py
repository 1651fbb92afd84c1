"""The matrices in HIPS autograd, which has dense ones only: a pullback for each row."""

from __future__ import annotations

import autograd
import autograd.numpy as anp
import numpy as np
from functions import MATRICES, points_of
from timing import Measured, digest, spent

NAME = "HIPS autograd"


def matrix(name: str) -> Measured:
    """Measure the whole matrix."""
    second, make, size = MATRICES[name]
    of = (autograd.hessian if second else autograd.jacobian)(make(anp))
    each, found = spent(lambda: of(points_of(size)[1]))
    rows, columns = np.nonzero(found)
    return {
        "entries": len(rows),
        "directions": size,
        "each": each,
        "digest": digest(rows, columns, found[rows, columns]),
    }


KINDS = {"brusselator 32": matrix}
