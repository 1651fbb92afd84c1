"""Functions of `scipy.linalg` that record traced arrays; on plain arrays they are SciPy's own.

Of symmetric matrices the named triangle is read, and the derivatives are in its elements alone: the other's are 0.
What SciPy's options say about memory and checks (`overwrite_a`, `check_finite`, `lapack_driver`) is left to it where
arrays are plain, and says nothing where they are traced.
"""

from importlib import import_module
from typing import Any

from primad.scipy import other_names
from primad.scipy.linalg import banded as _banded
from primad.scipy.linalg import factorizations as _factorizations
from primad.scipy.linalg import matrix_exponentials as _matrix_exponentials
from primad.scipy.linalg import matrix_functions as _matrix_functions
from primad.scipy.linalg import structured as _structured
from primad.scipy.linalg import subspaces as _subspaces
from primad.scipy.linalg.banded import *
from primad.scipy.linalg.factorizations import *
from primad.scipy.linalg.matrix_exponentials import *
from primad.scipy.linalg.matrix_functions import *
from primad.scipy.linalg.structured import *
from primad.scipy.linalg.subspaces import *

PLAIN = (
    "LinAlgError", "LinAlgWarning", "dft", "hadamard", "helmert", "hilbert", "invhilbert", "invpascal", "pascal",
)  # fmt: skip
"""What makes matrices of a plain size: SciPy's own functions, and its errors."""
__all__: list[str] = [*PLAIN]
for _module in (_banded, _factorizations, _matrix_exponentials, _matrix_functions, _structured, _subspaces):
    __all__ += _module.__all__


def __getattr__(name: str) -> Any:
    """Return what is SciPy's own; raise, with what to take in place of a name of scipy.linalg that is missing."""
    if name in PLAIN:
        return getattr(import_module("scipy.linalg"), name)
    raise other_names.missing("scipy.linalg", name, __all__)
