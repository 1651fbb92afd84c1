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
    "scipy.sparse": {
        **dict.fromkeys(
            ("diags", "spdiags"),
            "diags_array(diagonals, offsets=…) makes an array of traced diagonals, whose products are `@`.",
        ),
        **{
            f"{form}_matrix": f"{form}_array takes traced entries; its products are `@`."
            for form in ("csr", "csc", "coo")
        },
        **dict.fromkeys(("eye", "identity"), "eye_array(n) is an array, whose products are `@`."),
        "bmat": "block_array takes blocks with traced entries.",
    },
    "scipy.sparse.linalg": {"lsmr": "lsqr has the same solution, and its derivatives."},
    "scipy": {},
}
"""What does the same, by SciPy's module and name."""

UNRECORDED = {
    "scipy.special": {
        "It makes plain numbers: zeros, nodes, weights, coefficients, or settings.": (
            r"\w*_zeros|\w*roots\w*|euler|bernoulli|stirling2|geterr|seterr|errstate|\w*_seq|mathieu_\w+_coef|"
            r"factorial[2k]|(sh_)?cheby[cstu]|(sh_)?legendre|(sh_)?jacobi|(gen)?laguerre|hermite(norm)?|gegenbauer"
        ),
        "Its results are of complex numbers, or several sequences of functions of all smaller orders.": (
            r"sph_harm\w*|modfresnel\w|lqn|lqmn|riccati\w+|lmbda|\w*legendre_p\w*"
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
    "scipy.fft": {
        "It chooses who computes: scipy.fft.register_backend(primad.scipy.fft) has SciPy's own functions recorded.": (
            r"(register|skip|set|set_global)_backend"
        ),
    },
    "scipy.integrate": {
        "It is an integral over several variables: quad of a function that calls quad is recorded.": (
            r"dblquad|tplquad|nquad|cubature|qmc_quad"
        ),
        "It is another rule for one integral: quad and fixed_quad are recorded.": r"quad_vec|tanhsinh",
        "It is a sum until terms are small: primad.while_loop is recorded.": r"nsum",
        "It makes plain numbers: nodes and weights.": r"newton_cotes|lebedev_rule",
        "It is an object that steps: solve_ivp and odeint are recorded.": (
            r"BDF|DOP853|LSODA|RK23|RK45|Radau|OdeSolver|DenseOutput|OdeSolution|(complex_)?ode"
        ),
        "It solves a system of equations for the values on a mesh: optimize.root of such a system is recorded.": (
            r"solve_bvp"
        ),
        "It is a class of warnings: take SciPy's own.": r"\w+Warning",
    },
    "scipy.optimize": {
        "It is another way to a minimum: minimize and minimize_scalar are recorded, which start where it ended.": (
            r"fmin\w*|brent|golden|bracket|basinhopping|brute|differential_evolution|direct|dual_annealing|shgo"
        ),
        "It is another way to a root: root is recorded.": (
            r"anderson|broyden[12]|diagbroyden|excitingmixing|linearmixing|\w+(Jacobian|First)"
        ),
        "It is least squares by another name: least_squares is recorded.": r"leastsq",
        "Its result jumps: it chooses, or has whole numbers.": r"milp|linear_sum_assignment|quadratic_assignment",
        "It approximates derivatives, which are exact here: primad.check_grads compares both.": (
            r"approx_fprime|check_grad"
        ),
        "It takes part in a solver, or is its result: take SciPy's own.": (
            r"BFGS|SR1|HessianUpdateStrategy|LbfgsInvHessProduct|Bounds|(Non)?[lL]inearConstraint|line_search|"
            r"OptimizeResult|RootResults|linprog_verbose_callback|show_options|NoConvergence|OptimizeWarning"
        ),
        "It is a test function of one line, and its derivatives.": r"rosen\w*",
    },
    "scipy.stats": {
        "It is a test, whose statistic is made of means and of sorted numbers, and whose p-value is a distribution "
        "function: these are recorded.": (
            r"\w*test\w*|\w+_(exact|1samp|2samp|ksamp|ind|rel|hsd|oneway|contingency)|ansari|bartlett|\w*anderson\w*|"
            r"brunnermunzel|(friedman)?chisquare|combine_pvalues|cramervonmises|dunnett|alexandergovern|epps_singleton_2samp|"
            r"false_discovery_control|fligner|goodness_of_fit|jarque_bera|kruskal|levene|logrank|mannwhitneyu|mood|"
            r"multiscale_graphcorr|power_divergence|ranksums|shapiro|wilcoxon|f_oneway|ttest_ind_from_stats"
        ),
        "It is a statistic of a sample, of few lines of what is recorded: np.mean, np.var, np.sort, np.quantile.": (
            r"[ghp]mean|g?zscore|zmap|skew|kurtosis|moment|sem|t(mean|var|std|sem|min|max)|trim_mean|variation|"
            r"circ(mean|std|var)|describe|iqr|median_abs_deviation|kstat(var)?|lmoment|expectile|directional_stats|gstd|"
            r"differential_entropy|entropy|quantile|scoreatpercentile|percentileofscore|obrientransform|\w+_distance\w*"
        ),
        "It is a line or a correlation and its test: np.cov, np.corrcoef and np.linalg.lstsq are recorded.": (
            r"pearsonr|linregress|kendalltau|spearmanrh?o?|pointbiserialr|siegelslopes|theilslopes|weightedtau|somersd|"
            r"chatterjeexi"
        ),
        "It ranks, counts or leaves out by what the values are.": (
            r"rankdata|tiecorrect|sigmaclip|trim1|trimboth|binned_statistic\w*|cumfreq|relfreq|ecdf|mode"
        ),
        "It draws at random: rvs of what is recorded takes keys.": (r"bootstrap|\w+Method|power|sobol_indices"),
        "It fits, or draws a plot for a fit: scipy.optimize.minimize of a sum of logpdf is recorded.": (
            r"fit|bayes_mvs|mvsdist|probplot|ppcc_\w+|(boxcox|yeojohnson)(_\w+)?"
        ),
        "It is SciPy's newer form of distributions: norm, uniform, logistic and binom are recorded.": (
            r"Normal|Uniform|Logistic|Binomial|Mixture|make_distribution|order_statistic|truncate|abs|exp|log"
        ),
        "It makes distributions of your own: write the density with the functions that are recorded.": (
            r"rv_(continuous|discrete|histogram)|Covariance|CensoredData"
        ),
        "It is a mean of densities: np.mean(norm.pdf(x[:, None], data, h), axis=1).": r"gaussian_kde",
        "It is a class of warnings or errors: take SciPy's own.": r"\w+Warning|FitError",
    },
    "scipy.sparse.linalg": {
        "It is another way to the solution of a linear system: spsolve and cg are recorded.": (
            r"gcrotmk|lgmres|lsmr|qmr|tfqmr|spsolve_triangular|spilu|inv"
        ),
        "It is a function of the matrix, or has its spectrum: scipy.linalg's of A.toarray() is recorded.": (
            r"expm|expm_multiply|funm_multiply_krylov|matrix_power|norm|eigs|eigsh|svds|lobpcg"
        ),
        "It is an estimate, or finds out what the entries are.": r"onenormest|is_sptriangular|spbandwidth",
        "It is a class, or a setting: take SciPy's own.": (
            r"Arpack\w+|LaplacianNd|LinearOperator|aslinearoperator|MatrixRankWarning|SuperLU|use_solver"
        ),
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
