"""Interpolation of `scipy.interpolate` under its path: recorded where data or points are traced."""

from typing import Any

from primad.scipy import other_names
from primad.scipy.interpolate import bsplines as _bsplines
from primad.scipy.interpolate import cubic as _cubic
from primad.scipy.interpolate import grids as _grids
from primad.scipy.interpolate import piecewise as _piecewise
from primad.scipy.interpolate import radial as _radial
from primad.scipy.interpolate import samples as _samples
from primad.scipy.interpolate.bsplines import *
from primad.scipy.interpolate.cubic import *
from primad.scipy.interpolate.grids import *
from primad.scipy.interpolate.piecewise import *
from primad.scipy.interpolate.radial import *
from primad.scipy.interpolate.samples import *

__all__: list[str] = []
for _module in (_bsplines, _cubic, _grids, _piecewise, _radial, _samples):
    __all__ += _module.__all__


def __getattr__(name: str) -> Any:
    """Raise, with what to do in place of a function that there is not."""
    raise other_names.missing("scipy.interpolate", name, __all__)
