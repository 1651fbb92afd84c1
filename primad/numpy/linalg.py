"""numpy.linalg: systems of equations, factorizations, spectra, norms and products of matrices."""

from primad.numpy import least_squares, matrices, spectra, systems
from primad.numpy.least_squares import *
from primad.numpy.matrices import *
from primad.numpy.spectra import *
from primad.numpy.systems import *

COMPOSITES = (*systems.COMPOSITES, *least_squares.COMPOSITES)

__all__ = sorted([*least_squares.__all__, *matrices.__all__, *spectra.__all__, *systems.__all__])
