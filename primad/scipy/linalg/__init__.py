"""Functions of `scipy.linalg` that record traced arrays; on plain arrays they are SciPy's own.

Of symmetric matrices the named triangle is read, and the derivatives are in its elements alone: the other's are 0.
What SciPy's options say about memory and checks (`overwrite_a`, `check_finite`, `lapack_driver`) is left to it where
arrays are plain, and says nothing where they are traced.
"""

from typing import Any

from primad.scipy import other_names
from primad.scipy.linalg import factorizations as _factorizations
from primad.scipy.linalg import matrix_exponentials as _matrix_exponentials
from primad.scipy.linalg import structured as _structured
from primad.scipy.linalg.factorizations import *
from primad.scipy.linalg.matrix_exponentials import *
from primad.scipy.linalg.structured import *

__all__: list[str] = []
__all__ += _factorizations.__all__
__all__ += _matrix_exponentials.__all__
__all__ += _structured.__all__


def __getattr__(name: str) -> Any:
    """Raise, with what to take in place of a name of scipy.linalg that is missing."""
    raise other_names.missing("scipy.linalg", name, __all__)
