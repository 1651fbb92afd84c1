"""numpy.linalg: systems of equations, factorizations, spectra, norms and products of matrices."""

from primad.numpy.linalg import array_api, least_squares, linear_systems, spectra
from primad.numpy.linalg.array_api import *
from primad.numpy.linalg.least_squares import *
from primad.numpy.linalg.linear_systems import *
from primad.numpy.linalg.spectra import *

COMPOSITES = (*linear_systems.COMPOSITES, *least_squares.COMPOSITES)

__all__ = sorted([*least_squares.__all__, *array_api.__all__, *spectra.__all__, *linear_systems.__all__])
