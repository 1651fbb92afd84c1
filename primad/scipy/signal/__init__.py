"""Functions of `scipy.signal` under their path, recorded where something is traced and SciPy's own otherwise."""

from importlib import import_module
from typing import Any

from primad.scipy import other_names
from primad.scipy.signal import convolutions as _convolutions
from primad.scipy.signal import designs as _designs
from primad.scipy.signal import filters as _filters
from primad.scipy.signal import rates as _rates
from primad.scipy.signal import responses as _responses
from primad.scipy.signal import smoothing as _smoothing
from primad.scipy.signal import spectrograms as _spectrograms
from primad.scipy.signal.convolutions import *
from primad.scipy.signal.designs import *
from primad.scipy.signal.filters import *
from primad.scipy.signal.rates import *
from primad.scipy.signal.responses import *
from primad.scipy.signal.smoothing import *
from primad.scipy.signal.spectrograms import *

PLAIN = (
    "band_stop_obj", "besselap", "buttap", "buttord", "cheb1ap", "cheb1ord", "cheb2ap", "cheb2ord", "check_COLA",
    "check_NOLA", "choose_conv_method", "correlation_lags", "czt_points", "ellipap", "ellipord", "firls",
    "firwin2", "gammatone", "get_window", "iircomb", "iirdesign", "iirnotch", "iirpeak", "kaiser_atten", "kaiser_beta",
    "kaiserord", "max_len_seq", "remez", "savgol_coeffs", "unit_impulse", "windows",
)  # fmt: skip
"""What makes filters, windows and settings of plain numbers: SciPy's own functions, and its module of windows."""
__all__: list[str] = [*PLAIN]
for _module in (_convolutions, _designs, _filters, _rates, _responses, _smoothing, _spectrograms):
    __all__ += _module.__all__


def __getattr__(name: str) -> Any:
    """Return what is SciPy's own; raise, with what to do in place of a function that there is not."""
    if name in PLAIN:
        return getattr(import_module("scipy.signal"), name)
    raise other_names.missing("scipy.signal", name, __all__)
