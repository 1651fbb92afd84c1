"""Which packages run: their versions, what of them runs, and what is known to fail, with the reason."""

from __future__ import annotations

from dataclasses import dataclass, field

CONSTRAINTS = ("numpy==2.4.6", "scipy==1.17.1", "pandas==2.3.3", "autograd==1.9.1")
"""Versions that all programs share."""


_AUTOGRADS_TESTS = (
    "binary_ops", "builtins", "complex", "core", "dict", "direct", "fft", "graphs", "jacobian", "linalg", "list",
    "misc", "numpy", "scalar_ops", "scipy", "systematic", "tests", "truediv", "tuple", "ufunc_dispatch", "vspaces",
    "wrappers",
)  # fmt: skip
_AUTOGRADS_FAILURES = {
    "tests.test_fft.test_rfftn_odd_not_implemented": "it wants an error where primad has the derivative",
    "tests.test_linalg.test_pinv": "it tests autograd's own helper _dot",
    "tests.test_misc.test_const_graph_args": "it counts calls; const_graph is jit, which calls once for each type",
    "tests.test_numpy.test_cast_to_int": "int64(x) of a traced float loses its derivative, which is an error here",
    "tests.test_scipy.test_sqrtm": "only real square roots of real matrices",
    "tests.test_scipy.test_mvn_sing_cov": "no density of a singular covariance",
    "tests.test_wrappers.test_dtypes": "no derivatives in long double",
    "tests.test_wrappers.test_wrapped_name_and_docs": "it compares autograd's documentation",
}
"""Why tests of autograd's fail. Those of its tape (test_logic) do not import."""


@dataclass(frozen=True)
class Program:
    """One package of other people's, or one part of it.

    Attributes:
        name: what the command calls it.
        packages: what pip installs, with versions; the first is the package itself.
        what: what runs, in words.
        written_for: 'autograd' or 'numpy'.
        suite: files of the package's own tests in its source archive, with options of pytest; none runs the script of
            the program's name in `scripts`.
        rtol: the largest relative difference of results that count as equal: the tolerance of an optimiser in the
            package, where there is one.
        recorded: names of modules that `primad.compat.packages` records, with the script; none if a program needs no
            such call.
        known: what is known to fail: the reason by the name of a case or test.
        within: how long one run may take, in seconds.
    """

    name: str
    packages: tuple[str, ...]
    what: str
    written_for: str = "autograd"
    suite: tuple[str, ...] = ()
    rtol: float = 1e-8
    recorded: tuple[str, ...] = ()
    known: dict[str, str] = field(default_factory=dict)
    within: int = 600


PROGRAMS = (
    Program("pymanopt", ("pymanopt==2.2.1",), "15 problems on manifolds: gradients, Hessians, optima", rtol=1e-5),
    Program("lifelines", ("lifelines==0.30.3",), "parametric fitters, regressions, a mixture cure model", rtol=1e-5),
    Program("surpyval", ("surpyval==0.25",), "distributions fitted to censored data", rtol=1e-5),
    Program("pyerrors", ("pyerrors==2.17.0",), "errors propagated through fits, roots and matrices", rtol=1e-7),
    Program("ceviche", ("ceviche==0.1.3",), "Maxwell's equations: gradients through sparse solves"),
    Program("grcwa", ("grcwa==0.1.2",), "layered gratings: gradients through eigenvectors"),
    Program("celerite", ("celerite==0.4.3",), "kernels: Jacobians of their coefficients"),
    Program("pymoo", ("pymoo==0.6.2",), "test problems: gradients of objectives and constraints"),
    Program("lifetimes", ("lifetimes==0.11.3",), "how long customers stay: five fitters", rtol=1e-3),
    Program("reliability", ("reliability==0.9.0",), "how long parts last: nine fitters", rtol=1e-4),
    Program(
        "autograd",
        ("autograd==1.9.1",),
        "HIPS autograd's own tests",
        suite=tuple(f"tests/test_{part}.py" for part in _AUTOGRADS_TESTS),
        known=_AUTOGRADS_FAILURES,
    ),
    Program(
        "galpy",
        ("galpy==1.12.1",),
        "potentials and an orbit: forces and tidal tensors",
        written_for="numpy",
        rtol=1e-6,
        recorded=("galpy",),
    ),
    Program(
        "thermo",
        ("thermo==0.6.1",),
        "equations of state and correlations of thermo, chemicals and fluids",
        written_for="numpy",
        rtol=1e-6,
        recorded=("thermo", "chemicals", "fluids"),
    ),
    Program(
        "plain",
        (
            "ahrs==0.4.0",
            "colour-science==0.4.7",
            "filterpy==2.0.0",
            "ht==1.2.0",
            "iapws==1.5.5",
            "meent==0.13.2",
            "modern-robotics==1.1.1",
            "numpy-financial==1.0.0",
            "pvlib==0.16.1",
            "pymap3d==3.2.0",
            "pythermalcomfort==4.8.1",
            "roboticstoolbox-python==1.5.0",
            "tmm==0.2.0",
            "transforms3d==0.4.2",
        ),
        "14 packages: filters, rotations, colours, water and heat, light, robots, places on the Earth, payments",
        written_for="numpy",
        rtol=1e-6,
        recorded=(
            "ahrs",
            "colour",
            "filterpy",
            "fluids",
            "ht",
            "iapws",
            "meent",
            "modern_robotics",
            "numpy_financial",
            "pvlib",
            "pymap3d",
            "pythermalcomfort",
            "roboticstoolbox",
            "spatialmath",
            "tmm",
            "transforms3d",
        ),
        known={
            "ahrs_quaternions": "its class derives from NumPy's array, and holds plain numbers",
            "thermal_comfort": "numba compiles it",
            "transforms_of_rotations": "it takes one vector of a matrix that has equal eigenvalues",
        },
    ),
    Program(
        "science",
        (
            "ambiance==1.3.1",
            "chempy==0.10.2",
            "colorspacious==1.1.2",
            "control==0.10.2",
            "geographiclib==2.1",
            "haversine==2.9.0",
            "ikpy==4.2.1",
            "miepython==3.3.0",
            "NavPy==1.0",
            "nvector==1.2.0",
            "padasip==1.2.2",
            "POT==0.9.7.post1",
            "prysm==0.21.1",
            "PsychroLib==2.5.0",
            "PyAstronomy==0.25.0",
            "py-vollib==1.0.12",
            "pyquaternion==0.9.9",
            "pytransform3d==3.17.0",
            "pyXSteam==0.4.10",
            "scikit-kinematics==0.10.4",
            "seawater==3.3.5",
            "tensorly==0.10.0",
            "utm==0.9.0",
        ),
        "23 packages more: air, steam and sea water, orbits, lenses, colours, reactions, regulators, filters, options",
        written_for="numpy",
        rtol=1e-6,
        recorded=(
            "ambiance",
            "chempy",
            "cody_special",
            "colorspacious",
            "control",
            "geographiclib",
            "haversine",
            "ikpy",
            "miepython",
            "navpy",
            "nvector",
            "ot",
            "padasip",
            "prysm",
            "psychrolib",
            "PyAstronomy",
            "py_lets_be_rational",
            "py_vollib",
            "pyXSteam",
            "pyquaternion",
            "pytransform3d",
            "seawater",
            "skinematics",
            "tensorly",
            "utm",
            "vollib",
        ),
    ),
    Program(
        "engineering",
        (
            "astral==3.2",
            "blackscholes==0.2.2",
            "colossus==1.4.0",
            "gstools==1.7.0",
            "hydroeval==0.1.0",
            "impedance==1.7.1",
            "lenstronomy==1.14.2",
            "magpylib==6.3.0",
            "meteocalc==1.1.0",
            "nelson-siegel-svensson==0.5.0",
            "opencv-python-headless==5.0.0.93",
            "periodictable==2.1.0",
            "PyAbel==0.9.1",
            "pyet==1.5.0",
            "pyiast==1.4.3",
            "pyloudnorm==0.2.0",
            "pyorbital==1.13.0",
            "pyrr==0.10.3",
            "python_speech_features==0.6",
            "raytracing==1.4.7",
            "refet==0.5.0",
            "rowan==1.3.2",
            "scikit-fuzzy==0.5.0",
            "sewar==0.4.10",
            "sgp4==2.27",
            "simdkalman==1.0.4",
            "thermofeel==2.3.0",
            "tribology==0.4.5",
            "windpowerlib==0.2.2",
        ),
        "28 packages more: beams of light, machines, weather, rivers, ground, sound, pictures, satellites, interest",
        written_for="numpy",
        rtol=1e-6,
        recorded=(
            "abel",
            "astral",
            "blackscholes",
            "colossus",
            "gstools",
            "hydroeval",
            "impedance",
            "lenstronomy",
            "magpylib",
            "meteocalc",
            "nelson_siegel_svensson",
            "periodictable",
            "pyet",
            "pyiast",
            "pyloudnorm",
            "pyorbital",
            "pyrr",
            "python_speech_features",
            "raytracing",
            "refet",
            "rowan",
            "sewar",
            "sgp4",
            "simdkalman",
            "skfuzzy",
            "thermofeel",
            "tribology",
            "windpowerlib",
        ),
        known={
            "field_of_magnets": "SciPy's rotations, which are compiled, want arrays that they may write to",
            "impedance_by_a_text": "it writes numbers into a text, and runs that",
            "cosmos": "it writes numbers into a text, by which it finds what it has computed",
        },
    ),
    Program(
        "physics",
        ("ase==3.29.0", "pyhf==0.7.6", "pysolar==0.13", "scikit-rf==2.2.0"),
        "4 packages more: likelihoods of counts, microwave networks, crystals, the sun",
        written_for="numpy",
        rtol=1e-6,
        recorded=("ase", "pyhf", "pysolar", "skrf"),
    ),
    Program(
        "containers",
        ("pint==0.25.3", "xarray==2026.9.0", "pandas==2.3.3", "scikit-learn==1.9.1"),
        "24 short programs with pint, xarray, pandas, series, splines and scikit-learn",
        written_for="numpy",
        rtol=1e-6,
        recorded=("sklearn", "scipy.interpolate"),
        known={
            "xarray_interpolation": "xarray interpolates by SciPy's compiled functions",
            "pandas_series_meet_the_argument": "a Series holds no traced values: its column by to_numpy() does",
            "sklearn_prediction": "what was fitted to NumPy's arrays refuses other namespaces",
        },
    ),
    Program(
        "numpy_functions",
        ("sympy==1.14.0",),
        "SymPy's lambdify, NumPy's polynomials, SciPy's splines",
        written_for="numpy",
        rtol=1e-6,
        recorded=("scipy.interpolate",),
    ),
)
