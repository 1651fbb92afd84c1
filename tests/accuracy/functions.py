"""All functions whose accuracy is known, and why that of others is not asked."""

from __future__ import annotations

from tests.accuracy.distributions import DISTRIBUTIONS
from tests.accuracy.elementary import ELEMENTARY
from tests.accuracy.entries import Entry
from tests.accuracy.families import BESSEL, OTHERS

FUNCTIONS: dict[str, Entry] = {**ELEMENTARY, **DISTRIBUTIONS, **BESSEL, **OTHERS}
"""By name, with the number of the result of functions that have several."""

LEFT_OUT: dict[str, str] = {
    **dict.fromkeys(("hankel1", "hankel1e", "hankel2", "hankel2e", "h1vp", "h2vp"), "its parts are `jv` and `yv`"),
    "wofz": "a complex number: `erfcx` and `voigt_profile` are parts of it",
    "kelvin": "its parts are `ber`, `bei`, `ker`, `kei` and their derivatives",
    **dict.fromkeys(("softmax", "log_softmax", "logsumexp"), "a function of several numbers along an axis"),
    **dict.fromkeys(("gammasgn", "round"), "constant between its jumps"),
    "sph_harm_y": "a complex number: its parts are `eval_gegenbauer` and powers of sine and cosine",
    "radian": "a linear function",
    "psi": "another name of `digamma`",
}
"""Recorded functions of which no table is made, and why."""


def name_of(entry: str) -> str:
    """Return SciPy's name of an entry's function."""
    return entry.partition(" ")[0]
