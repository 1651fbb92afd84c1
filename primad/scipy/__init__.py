"""Functions of SciPy's that are Python code, which no protocol reaches, under SciPy's paths."""

from typing import Any

from primad.scipy import fft as fft
from primad.scipy import integrate as integrate
from primad.scipy import linalg as linalg
from primad.scipy import optimize as optimize
from primad.scipy import other_names
from primad.scipy import sparse as sparse
from primad.scipy import special as special
from primad.scipy import stats as stats

__all__ = ["fft", "integrate", "linalg", "optimize", "sparse", "special", "stats"]


def __getattr__(name: str) -> Any:
    """Raise, with what to take in place of a module of SciPy's that is missing."""
    raise other_names.missing("scipy", name, __all__)
