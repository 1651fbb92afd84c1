"""numpy.linalg: systems of equations, factorizations, spectra, norms and products of matrices."""

from primad.numpy import matrices, spectra, systems
from primad.numpy.matrices import *
from primad.numpy.spectra import *
from primad.numpy.systems import *

COMPOSITES = (*systems.COMPOSITES, *spectra.COMPOSITES)

__all__ = sorted([*matrices.__all__, *spectra.__all__, *systems.__all__])
