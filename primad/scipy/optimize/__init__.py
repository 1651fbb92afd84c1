"""Solvers of `scipy.optimize` under their path: of traced functions their results are differentiated.

Where nothing is traced they are SciPy's own.
"""

from typing import Any

from primad.scipy import other_names
from primad.scipy.optimize import curves as _curves
from primad.scipy.optimize import linear_fits as _linear_fits
from primad.scipy.optimize import linear_programs as _linear_programs
from primad.scipy.optimize import minima as _minima
from primad.scipy.optimize import scalar_roots as _scalar_roots
from primad.scipy.optimize import systems as _systems
from primad.scipy.optimize.curves import *
from primad.scipy.optimize.linear_fits import *
from primad.scipy.optimize.linear_programs import *
from primad.scipy.optimize.minima import *
from primad.scipy.optimize.scalar_roots import *
from primad.scipy.optimize.systems import *

__all__: list[str] = []
__all__ += _curves.__all__
__all__ += _linear_fits.__all__
__all__ += _linear_programs.__all__
__all__ += _minima.__all__
__all__ += _scalar_roots.__all__
__all__ += _systems.__all__


def __getattr__(name: str) -> Any:
    """Raise, with what to do in place of a function that there is not."""
    raise other_names.missing("scipy.optimize", name, __all__)
