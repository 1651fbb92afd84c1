"""Names of SciPy's that `primad.scipy` does not have, and what to take instead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module

from primad.errors import MissingAttributeError, no_attribute

INSTEAD = {
    "scipy.linalg": {
        "lstsq": "np.linalg.lstsq is recorded.",
        "expm_cond": "expm and expm_frechet are recorded.",
    },
    "scipy.fft": {},
    "scipy.special": {
        "loggamma": "gammaln is recorded: the same for positive numbers.",
        "comb": "binom is recorded.",
        "factorial": "gamma(1 + n) is recorded.",
        "wofz": "erfcx and dawsn are recorded, its values on the axes.",
    },
    "scipy.stats": {
        "multivariate_normal": "primad.compat.autograd.scipy.stats.multivariate_normal has its densities.",
        "dirichlet": "primad.compat.autograd.scipy.stats.dirichlet has its densities.",
    },
    "scipy.optimize": {},
    "scipy.integrate": {},
    "scipy.sparse": {},
    "scipy.sparse.linalg": {},
    "scipy": {},
}
"""What does the same, by SciPy's module and name."""

UNRECORDED = {
    "It makes plain numbers: zeros, nodes, weights, coefficients, or settings.": (
        r"\w*_zeros|\w*roots\w*|euler|bernoulli|stirling2|geterr|seterr|errstate|\w*_seq|mathieu_\w+_coef|"
        r"factorial\w*|perm|comb|(sh_)?cheby[cstu]|(sh_)?legendre|(sh_)?jacobi|(gen)?laguerre|hermite(norm)?|gegenbauer"
    ),
    "Its results are complex numbers.": r"hankel\w+|h[12]vp|wofz|sph_harm\w*|lambertw|loggamma|modfresnel\w|kelvin",
    "It is a distribution function in SciPy's older form: those of scipy.stats are recorded instead.": (
        r"(n?b|p|ch|chn|f|ncf|nct|g|bt|st|nr)d?tr\w*|ndtri_exp|smirnov\w*|kolmog\w+"
    ),
    "Derivatives in its parameters are not known in closed form, and it is not recorded in its argument alone.": r"\w+",
}
"""Why functions of `scipy.special` are not recorded: by patterns of names, of which the first that fits holds."""


def why_not(name: str) -> str:
    """Return why a function of `scipy.special` is not recorded."""
    return next(reason for reason, names in UNRECORDED.items() if re.fullmatch(names, name))


def missing(module: str, name: str, known: Sequence[str]) -> AttributeError:
    """Return the error for a name that one of SciPy's modules may have, and `primad.scipy` does not.

    Args:
        module: of SciPy's.
        name: which.
        known: the names that there are.
    """
    if name.startswith("__"):
        return AttributeError(f"module 'primad.{module}' has no attribute {name!r}")
    fix = INSTEAD[module].get(name, "")
    if not fix and name in import_module(module).__all__:
        fix = (
            f"write it with what is recorded, or have {module}.{name} called as it is: primad.opaque, with a rule by "
            "primad.custom_jvp."
        )
    found: MissingAttributeError = no_attribute(f"primad.{module}", name, known, fix)
    return found
