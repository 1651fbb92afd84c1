"""Names of SciPy's that `primad.scipy` does not have, and what to take instead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module

from primad.errors import MissingAttributeError, no_attribute

INSTEAD = {
    "scipy.special": dict.fromkeys(("SpecialFunctionError", "SpecialFunctionWarning"), "take SciPy's own class."),
    "scipy.linalg": {
        "lstsq": "np.linalg.lstsq is recorded.",
        "expm_cond": "expm and expm_frechet are recorded.",
    },
    "scipy.fft": {},
    "scipy.stats": {},
    "scipy.optimize": {},
    "scipy.integrate": {},
    "scipy.interpolate": {
        **dict.fromkeys(
            ("InterpolatedUnivariateSpline", "UnivariateSpline", "splrep", "lagrange", "KroghInterpolator"),
            "make_interp_spline makes splines through points, RegularGridInterpolator those on grids.",
        ),
        **dict.fromkeys(
            ("splev", "splder", "splantider", "splint"),
            "BSpline(*tck) has values, derivative, antiderivative and integrate.",
        ),
    },
    "scipy.ndimage": {"geometric_transform": "map_coordinates at the coordinates that the function gives is recorded."},
    "scipy.signal": {"zpk2sos": "zpk2tf, and freqz_zpk for a response, are recorded."},
    "scipy.sparse": {},
    "scipy.sparse.linalg": {},
    "scipy": {},
}
"""What does the same, by SciPy's module and name."""

UNRECORDED = {
    "scipy.special": {
        "It makes plain numbers: zeros, nodes, weights, coefficients, or settings.": (
            r"\w*_zeros|\w*roots\w*|euler|bernoulli|stirling2|geterr|seterr|errstate|\w*_seq|mathieu_\w+_coef|"
            r"factorial[2k]|(sh_)?cheby[cstu]|(sh_)?legendre|(sh_)?jacobi|(gen)?laguerre|hermite(norm)?|gegenbauer"
        ),
        "Its results are complex numbers, or several sequences of functions of all smaller orders.": (
            r"h[12]vp|sph_harm\w*|modfresnel\w|lqn|lqmn|riccati\w+|lmbda|\w*legendre_p\w*"
        ),
        "It is the inverse of a distribution function in a parameter.": (
            r"\w+dtri\w+|b?t?dtri[ab]|kolmogi|smirnovi|ncfdtri"
        ),
        "It is a distribution function that is no incomplete gamma or beta function.": (
            r"(chn|ncf|nct)dtr|smirnov|kolmogorov|tklmbda"
        ),
        "Its parameters are eigenvalues of an equation, whose solutions are no family with known derivatives.": (
            r"mathieu\w+|pro_\w+|obl_\w+|ellip_\w+"
        ),
        "It is another name, or a product, of functions that are recorded: np.sinc, eval_genlaguerre, airy.": (
            r"sinc|assoc_laguerre|airye"
        ),
        "It is the integral of x**lmb * jv(nu, 2 * a * x): primad.scipy.integrate.quad of that is recorded.": (
            r"besselpoly"
        ),
        "Of the parabolic cylinder functions, pbdv is recorded.": r"pbvv|pbwa",
    },
    "scipy.linalg": {
        "It finds out, or counts, by what the values are.": r"bandwidth|ishermitian|issymmetric",
        "It chooses one of many bases or orders, by its way; what does not depend on these is recorded, such as "
        "eigenvalues and projections (a @ np.linalg.pinv(a)).": (
            r"null_space|orth|schur|qz|ordqz|hessenberg|rsf2csf|cdf2rdf|cossin|ldl|rq|qr_\w+|matrix_balance"
        ),
        "np.linalg.lstsq is recorded.": r"lstsq",
        "It draws at random: a product with a plain matrix is recorded.": r"clarkson_woodruff_transform",
        "It is an estimate.": r"expm_cond",
        "It finds LAPACK's own functions.": r"find_best_blas_type|get_\w+_funcs",
        "It is an older name, or made of few lines of what is recorded.": r"solve_lyapunov|fiedler_companion",
    },
    "scipy.ndimage": {
        "It orders elements, or is of sets and their labels.": (
            r"binary_\w+|grey_\w+|\w*_tophat|morphological_\w+|distance_\w+|label|find_objects|iterate_structure|"
            r"generate_binary_structure|watershed_ift|value_indices|(maximum|minimum|median|rank|percentile)_\w+"
        ),
        "It sums over labelled elements: np.sum, np.where and np.bincount of them are recorded.": (
            r"sum\w*|mean|median|variance|standard_deviation|maximum|minimum|extrema|histogram|center_of_mass|"
            r"labeled_comprehension"
        ),
        "It calls a function for each place: write it on whole arrays.": (
            r"generic_\w+|geometric_transform|vectorized_\w+"
        ),
        "It multiplies a Fourier transform by a plain array: write it so.": r"fourier_\w+",
    },
    "scipy.signal": {
        "It finds, orders or counts by what the values are.": (
            r"find_peaks\w*|argrel\w+|peak_\w+|medfilt\w*|order_filter|unique_roots|wiener|findfreqs"
        ),
        "It converts, or simulates, a form of a linear system by its roots and its states.": (
            r"(tf|zpk|ss|sos)2\w+|residuez?|invresz?|normalize|\w*lsim|d?lti|StateSpace|TransferFunction|ZerosPolesGain|"
            r"d?(step|impulse|bode)|d?freqresp|place_poles|abcd_normalize|cont2discrete"
        ),
        "It is a class of warnings: take SciPy's own.": r"BadCoefficients",
        "It moves a filter to other frequencies: butter and its like take them traced.": r"lp2\w+|bilinear\w*",
        "It filters by B-splines, which scipy.ndimage and scipy.interpolate have, or smooths by a system, which "
        "primad.implicit.linear_solve solves.": (
            r"[cq]spline\w+|gauss_spline|spline_filter|symiirorder\d|sepfir2d|whittaker_henderson"
        ),
        "It is a wave with a formula: np.sin, np.mod and np.where of time are recorded.": (
            r"chirp|gausspulse|sawtooth|square|sweep_poly"
        ),
        "It divides polynomials, or says where a filter begins: lfilter with zi= is recorded.": r"deconvolve|lfiltic",
        "It changes a Fourier transform and goes back: hilbert and numpy.fft are recorded.": (
            r"envelope|hilbert2|minimum_phase"
        ),
        "It is a Fourier transform at other frequencies: a product with np.exp(-2j * np.pi * f[:, None] * t).": (
            r"\w*czt|CZT|ZoomFFT|zoom_fft|lombscargle|vectorstrength"
        ),
        "It is a Fourier transform of segments as a class, or its window: stft and istft are recorded.": (
            r"ShortTimeFFT|closest_STFT_dual_window"
        ),
        "It is a quotient, or a slope, of responses: freqs and freqz_zpk are recorded.": r"freqs_zpk|group_delay",
        "It is a product of windows of two axes: firwin is recorded.": r"firwin_2d",
    },
    "scipy.interpolate": {
        "It is FITPACK's, or a class of its splines: make_interp_spline and BSpline are recorded.": (
            r"\w*UnivariateSpline|spl\w+|spalde|sproot|bispl\w+|insert|\w*BivariateSpline|interp2d"
        ),
        "It chooses knots or triangles by what the data are.": (
            r"make_\w+|generate_knots|griddata|\w*NDInterpolator|CloughTocher\w+|AAA"
        ),
        "It is one polynomial or rational function through all points: write it as such.": (
            r"\w*[kK]rogh\w*|[bB]arycentric\w*|lagrange|pade|approximate_taylor_polynomial|FloaterHormann\w+"
        ),
        "It is an older form of RBFInterpolator, which is recorded.": r"Rbf",
        "Its form is another one of what BSpline, PPoly and RegularGridInterpolator record.": r"BPoly|Nd\w+",
    },
}
"""Why functions of SciPy's modules are not recorded: by patterns of names, of which the first that fits holds."""


def why_not(name: str, module: str = "scipy.special") -> str:
    """Return why a function of one of SciPy's modules is not recorded; "" where no reason is stated."""
    reasons = UNRECORDED.get(module, {}).items()
    return next((reason for reason, names in reasons if re.fullmatch(names, name)), "")


def missing(module: str, name: str, known: Sequence[str]) -> AttributeError:
    """Return the error for a name that one of SciPy's modules may have, and `primad.scipy` does not.

    Args:
        module: of SciPy's.
        name: which.
        known: the names that there are.
    """
    if name.startswith("__"):
        return AttributeError(f"module 'primad.{module}' has no attribute {name!r}")
    fix = INSTEAD.get(module, {}).get(name, "")
    if name not in import_module(module).__all__:
        return no_attribute(f"primad.{module}", name, known, fix)
    called = (
        f"write it with what is recorded, or have {module}.{name} called as it is: primad.opaque, with a rule by "
        "primad.custom_jvp."
    )
    return MissingAttributeError(f"primad.{module} has no attribute {name!r}", why_not(name, module), fix or called)
