"""Filters and interpolation of `scipy.ndimage` under their path, recorded where something is traced."""

from typing import Any

from primad.scipy import other_names
from primad.scipy.ndimage import filters as _filters
from primad.scipy.ndimage import gaussian_filters as _gaussian_filters
from primad.scipy.ndimage import interpolation as _interpolation
from primad.scipy.ndimage import spline_coefficients as _spline_coefficients
from primad.scipy.ndimage.filters import *
from primad.scipy.ndimage.gaussian_filters import *
from primad.scipy.ndimage.interpolation import *
from primad.scipy.ndimage.spline_coefficients import *

__all__: list[str] = []
__all__ += _filters.__all__
__all__ += _gaussian_filters.__all__
__all__ += _interpolation.__all__
__all__ += _spline_coefficients.__all__


def __getattr__(name: str) -> Any:
    """Raise, with what to do in place of a function that there is not."""
    raise other_names.missing("scipy.ndimage", name, __all__)
