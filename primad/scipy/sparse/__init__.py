"""Sparse arrays of `scipy.sparse` under their path, whose entries may be traced.

Where nothing is traced they are SciPy's own.
"""

from typing import Any

from primad.scipy import other_names
from primad.scipy.sparse import joined_arrays as _joined_arrays
from primad.scipy.sparse import linalg as linalg
from primad.scipy.sparse import traced_arrays as _traced_arrays
from primad.scipy.sparse.joined_arrays import *
from primad.scipy.sparse.traced_arrays import *

__all__ = ["linalg", *_joined_arrays.__all__, *_traced_arrays.__all__]


def __getattr__(name: str) -> Any:
    """Raise, with what to do in place of a function that there is not."""
    raise other_names.missing("scipy.sparse", name, __all__)
