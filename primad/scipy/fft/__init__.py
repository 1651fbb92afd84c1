"""Functions of `scipy.fft` that record traced arrays; on plain arrays they are SciPy's own.

What its options say about memory and threads (`overwrite_x`, `workers`, `plan`) is left to it where arrays are plain,
and says nothing where they are traced. The module is a backend of `scipy.fft`, too, for traced arrays only: after
`scipy.fft.register_backend(primad.scipy.fft)` SciPy's own functions record them.
"""

from importlib import import_module
from typing import Any

from primad.numpy.promotion import any_traced
from primad.scipy import other_names
from primad.scipy.fft import fourier as _fourier
from primad.scipy.fft import real_transforms as _real_transforms
from primad.scipy.fft.fourier import *
from primad.scipy.fft.real_transforms import *

PLAIN = ("fftfreq", "fhtoffset", "get_workers", "next_fast_len", "prev_fast_len", "rfftfreq", "set_workers")
"""Functions of plain numbers: they are SciPy's own."""
__all__: list[str] = [*PLAIN]
__all__ += _fourier.__all__
__all__ += _real_transforms.__all__


def __getattr__(name: str) -> Any:
    """Return one of SciPy's own functions of plain numbers; raise, with what to take in place of a missing one."""
    if name in PLAIN:
        return getattr(import_module("scipy.fft"), name)
    raise other_names.missing("scipy.fft", name, __all__)


__ua_domain__ = "numpy.scipy.fft"
"""What SciPy's functions ask a backend for."""


def __ua_function__(method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record a function of SciPy's, called by its name there, if an argument is traced; leave others to SciPy."""
    if method.__name__ not in __all__ or not any_traced([*args, *kwargs.values()]):
        return NotImplemented
    return globals()[method.__name__](*args, **kwargs)
