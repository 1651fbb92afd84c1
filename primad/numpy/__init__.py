"""NumPy's names and semantics over primad's ops.

Each function computes with NumPy on plain arrays and records on traced arrays; plain `np.sin(x)` on a traced array
finds the same implementation through NumPy's protocols, so user code need not change its imports. Which names are
public is said in the `__all__` of the file that has them.
"""

from primad.numpy import einstein, elementwise, indexing, linalg, logic, products, reductions, shaping, special
from primad.numpy.einstein import *
from primad.numpy.elementwise import *
from primad.numpy.indexing import *
from primad.numpy.logic import *
from primad.numpy.products import *
from primad.numpy.reductions import *
from primad.numpy.shaping import *
from primad.numpy.spectra import norm as norm

abs = absolute

COMPOSITES = (
    *elementwise.COMPOSITES,
    *reductions.COMPOSITES,
    *products.COMPOSITES,
    *linalg.COMPOSITES,
    *special.COMPOSITES,
)
"""The composite ops of this layer, for `primad.verify`."""

__all__ = ["abs", "linalg", "norm", "special"]
__all__ += einstein.__all__
__all__ += elementwise.__all__
__all__ += indexing.__all__
__all__ += logic.__all__
__all__ += products.__all__
__all__ += reductions.__all__
__all__ += shaping.__all__


def __dir__() -> list[str]:
    return sorted(__all__)
