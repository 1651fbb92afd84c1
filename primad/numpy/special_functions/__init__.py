"""SciPy's special functions by families: those that are members of one, and those that are formulas of others."""

from primad.numpy.special_functions import families, formulas
from primad.numpy.special_functions.families import *
from primad.numpy.special_functions.formulas import *

__all__ = sorted([*families.__all__, *formulas.__all__])
