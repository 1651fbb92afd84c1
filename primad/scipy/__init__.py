"""Functions of SciPy's that are Python code, which no protocol reaches, under SciPy's paths."""

from primad.scipy import linalg as linalg

__all__ = ["linalg"]
