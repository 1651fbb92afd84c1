"""Functions of SciPy's modules that are recorded under primad's paths, for messages about those that are not."""

from __future__ import annotations

import ast

from primad.recording.user_expressions import Doing

READ = "primad.value(x) reads a plain number on purpose (its derivative is then zero)"

RECORDED = {
    "scipy.integrate": frozenset((
        "cumulative_simpson", "cumulative_trapezoid", "fixed_quad", "odeint", "quad", "romb", "simpson", "solve_ivp",
        "trapezoid",
    )),
    "scipy.interpolate": frozenset((
        "Akima1DInterpolator", "BSpline", "CubicHermiteSpline", "CubicSpline", "PPoly", "PchipInterpolator",
        "RBFInterpolator", "RegularGridInterpolator", "interp1d", "interpn", "make_interp_spline", "pchip_interpolate",
    )),
    "scipy.linalg": frozenset((
        "block_diag", "cho_factor", "cho_solve", "cho_solve_banded", "cholesky", "cholesky_banded", "circulant",
        "companion", "convolution_matrix", "coshm", "cosm", "det", "diagsvd", "eig", "eig_banded", "eigh",
        "eigh_tridiagonal", "eigvals", "eigvals_banded", "eigvalsh", "eigvalsh_tridiagonal", "expm", "expm_frechet",
        "fiedler", "fractional_matrix_power", "funm", "hankel", "inv", "khatri_rao", "leslie", "logm", "lu",
        "lu_factor", "lu_solve", "matmul_toeplitz", "norm", "orthogonal_procrustes", "pinv", "pinvh", "polar", "qr",
        "signm", "sinhm", "sinm", "solve", "solve_banded", "solve_circulant", "solve_continuous_are",
        "solve_continuous_lyapunov", "solve_discrete_are", "solve_discrete_lyapunov", "solve_sylvester",
        "solve_toeplitz", "solve_triangular", "solveh_banded", "sqrtm", "subspace_angles", "svd", "svdvals", "tanhm",
        "tanm", "toeplitz",
    )),
    "scipy.ndimage": frozenset((
        "affine_transform", "convolve", "convolve1d", "correlate", "correlate1d", "gaussian_filter",
        "gaussian_filter1d", "gaussian_gradient_magnitude", "gaussian_laplace", "laplace", "map_coordinates",
        "prewitt", "rotate", "shift", "sobel", "spline_filter", "spline_filter1d", "uniform_filter",
        "uniform_filter1d", "zoom",
    )),
    "scipy.optimize": frozenset((
        "bisect", "brenth", "brentq", "curve_fit", "fixed_point", "fsolve", "isotonic_regression",
        "least_squares", "linprog", "lsq_linear", "minimize", "minimize_scalar", "newton", "newton_krylov", "nnls",
        "ridder", "root", "root_scalar", "toms748",
    )),
    "scipy.signal": frozenset((
        "bessel", "butter", "cheby1", "cheby2", "coherence", "convolve", "convolve2d", "correlate", "correlate2d",
        "csd", "decimate", "detrend", "ellip", "fftconvolve", "filtfilt", "firwin", "freqs", "freqz", "freqz_sos",
        "freqz_zpk", "hilbert", "iirfilter", "istft", "lfilter", "lfilter_zi", "oaconvolve", "periodogram", "resample",
        "resample_poly", "savgol_filter", "sosfilt", "sosfilt_zi", "sosfiltfilt", "sosfreqz", "spectrogram", "stft",
        "upfirdn", "welch", "zpk2tf",
    )),
    "scipy.sparse.linalg": frozenset((
        "bicg", "bicgstab", "cg", "cgs", "factorized", "gmres", "lsqr", "minres", "splu", "spsolve",
    )),
}  # fmt: skip
"""Functions and classes of SciPy's modules that `primad.scipy` has under the same path."""
_OF_PARAMETERS = "mean var std entropy stats moment expect rvs"
_CONTINUOUS = "logpdf pdf cdf logcdf sf logsf ppf isf median interval " + _OF_PARAMETERS
_DISCRETE = "logpmf pmf cdf logcdf sf logsf " + _OF_PARAMETERS
DISTRIBUTIONS = {
    _CONTINUOUS: (
        "arcsine beta betaprime bradford burr burr12 cauchy chi chi2 expon exponweib f fisk gamma genextreme gengamma "
        "genlogistic gennorm genpareto gompertz gumbel_l gumbel_r halfcauchy halfgennorm halflogistic halfnorm "
        "hypsecant invgamma invgauss invweibull johnsonsb johnsonsu laplace levy loggamma logistic loglaplace lognorm "
        "loguniform lomax maxwell moyal nakagami norm pareto powerlaw powernorm rayleigh reciprocal t triang "
        "truncexpon truncnorm uniform wald weibull_max weibull_min"
    ),
    _DISCRETE: "bernoulli binom dlaplace geom nbinom planck poisson randint",
    "logpmf pmf " + _OF_PARAMETERS: "betabinom logser",
    "logpdf pdf mean mode var entropy rvs": "invwishart wishart",
    "logpdf pdf mean var cov entropy rvs": "dirichlet",
    "logpdf pdf entropy rvs": "multivariate_normal multivariate_t vonmises",
    "logpmf pmf cdf logcdf sf logsf mean var std rvs": "yulesimon",
    "logpdf pdf mean var std rvs": "skewnorm",
    "logpdf pdf rvs": "rice",
    "logpmf pmf mean cov rvs": "multinomial",
}
"""Distributions that `primad.scipy.stats` has, by the methods that are recorded."""
DERIVATIVE = {
    "scipy.optimize": "whose derivative is that of what it finds",
    "scipy.sparse.linalg": "whose derivative is that of the solution",
}
"""What there is to say of the derivative of a module's functions."""
SOLVED = {
    **dict.fromkeys(("anderson", "broyden1", "broyden2", "diagbroyden"), "root"),
    **dict.fromkeys(("fmin", "fmin_bfgs", "fmin_cg", "fmin_l_bfgs_b", "fmin_powell", "fmin_tnc"), "minimize"),
    "leastsq": "least_squares",
}
"""Further functions of `scipy.optimize`, and that of `primad.implicit` whose result is differentiated."""
LINEAR_SYSTEMS = ("gcrotmk", "lgmres", "qmr", "tfqmr")
"""Further functions of `scipy.sparse.linalg` that solve linear systems."""


def under_its_path(now: Doing, module: str, name: str) -> str:
    """Say that a function of SciPy's, or the class of an object that is called, is recorded under its path, or ""."""
    assert isinstance(now.node, ast.Call)
    path = next((path for path in RECORDED if module.startswith(path)), "")
    function = now.node.func
    called = now.value(function)
    if called is None and isinstance(function, ast.Attribute):
        called = now.value(function.value)
    found = [each for each in (name, type(called).__name__) if each in RECORDED.get(path, ())]
    if not found:
        return ""
    made = "call" if found[0] == name else f"make {ast.unparse(function).partition('.')[0]} by"
    derivative = DERIVATIVE.get(path, "which is recorded")
    return f"{made} primad.{path}.{found[0]}, {derivative} (import primad.{path}); {READ}."


def of_distribution(now: Doing, method: str) -> str:
    """Say that a method of a distribution of SciPy's is recorded, or which other ones are; "" of anything else."""
    assert isinstance(now.node, ast.Call)
    written: ast.expr = now.node.func
    while True:  # to norm of scipy.stats.norm(0.0, 1.0).logpdf
        owner = now.value(written)
        owner = getattr(owner, "dist", owner)  # of a frozen one
        name = type(owner).__name__.removesuffix("_gen").removesuffix("_frozen")
        methods = next((methods.split() for methods, names in DISTRIBUTIONS.items() if name in names.split()), [])
        if methods and written is now.node.func:
            return f"call primad.scipy.stats.{name}, whose methods are recorded (import primad.scipy.stats)"
        if method in methods:
            return f"call {method} of primad.scipy.stats.{name}, which is recorded (import primad.scipy.stats)"
        if methods:
            return f"{', '.join(methods)} of primad.scipy.stats.{name} are recorded (import primad.scipy.stats)"
        if not isinstance(written, (ast.Attribute, ast.Call)):
            return ""
        written = written.value if isinstance(written, ast.Attribute) else written.func
