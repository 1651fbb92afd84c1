"""Functions of SciPy's modules that are recorded under primad's paths, for messages about those that are not."""

RECORDED = {
    "scipy.integrate": frozenset((
        "cumulative_simpson", "cumulative_trapezoid", "odeint", "quad", "simpson", "solve_ivp", "trapezoid",
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
        "bisect", "brenth", "brentq", "curve_fit", "fixed_point", "fsolve", "least_squares", "linprog", "minimize",
        "minimize_scalar", "newton", "ridder", "root", "root_scalar", "toms748",
    )),
    "scipy.signal": frozenset((
        "bessel", "butter", "cheby1", "cheby2", "coherence", "convolve", "convolve2d", "correlate", "correlate2d",
        "csd", "decimate", "detrend", "ellip", "fftconvolve", "filtfilt", "firwin", "freqs", "freqz", "freqz_sos",
        "freqz_zpk", "hilbert", "iirfilter", "istft", "lfilter", "lfilter_zi", "oaconvolve", "periodogram", "resample",
        "resample_poly", "savgol_filter", "sosfilt", "sosfilt_zi", "sosfiltfilt", "sosfreqz", "spectrogram", "stft",
        "upfirdn", "welch", "zpk2tf",
    )),
    "scipy.sparse.linalg": frozenset(("bicgstab", "cg", "factorized", "gmres", "minres", "splu", "spsolve")),
}  # fmt: skip
"""Functions and classes of SciPy's modules that `primad.scipy` has under the same path."""
DERIVATIVE = {
    "scipy.optimize": "whose derivative is that of what it finds",
    "scipy.sparse.linalg": "whose derivative is that of the solution",
}
"""What there is to say of the derivative of a module's functions."""
SOLVED = {
    **dict.fromkeys(("anderson", "broyden1", "broyden2", "diagbroyden", "newton_krylov"), "root"),
    **dict.fromkeys(("fmin", "fmin_bfgs", "fmin_cg", "fmin_l_bfgs_b", "fmin_powell", "fmin_tnc"), "minimize"),
    "leastsq": "least_squares",
}
"""Further functions of `scipy.optimize`, and that of `primad.implicit` whose result is differentiated."""
LINEAR_SYSTEMS = ("bicg", "cgs", "gcrotmk", "lgmres", "qmr", "tfqmr")
"""Further functions of `scipy.sparse.linalg` that solve linear systems."""
