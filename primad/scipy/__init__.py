"""Functions of SciPy's that are Python code, which no protocol reaches, under SciPy's paths."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from primad.scipy import fft as fft
from primad.scipy import linalg as linalg
from primad.scipy import other_names
from primad.scipy import special as special
from primad.scipy import stats as stats

if TYPE_CHECKING:
    from primad.scipy import integrate as integrate
    from primad.scipy import interpolate as interpolate
    from primad.scipy import ndimage as ndimage
    from primad.scipy import optimize as optimize
    from primad.scipy import signal as signal
    from primad.scipy import sparse as sparse

__all__ = ["fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "special", "stats"]


def __getattr__(name: str) -> Any:
    """Import what is asked for late; raise for others, with what to take in place of SciPy's module."""
    if name in (
        "integrate",
        "interpolate",
        "ndimage",
        "optimize",
        "signal",
        "sparse",
    ):  # with the solvers, which take longer than all the rest
        return import_module(f"primad.scipy.{name}")
    raise other_names.missing("scipy", name, __all__)
