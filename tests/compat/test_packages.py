"""Packages in plain NumPy and Python's math that are recorded as they are."""

from __future__ import annotations

import importlib
import math
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import fftpack, interpolate

import primad
from primad.compat import packages
from primad.compat.packages import fitted, importing, python_functions

NAME = "written_by_others"
SOURCE = """
import math
import numpy as np
import numpy
from math import exp, floor as down
from numpy import asarray, c_, float64, zeros
from numpy.polynomial import polynomial as series
from scipy.linalg import expm
from scipy import fftpack
from scipy.fftpack import fft

def converted(x):
    return np.asarray(x, dtype=float).sum() + asarray(x, float).prod() + float(x[0]) ** 2 + float64(x[1])

def filled(x):
    found = zeros(3)
    for i in range(3):
        found[i] = math.log(x[i]) * exp(-x[i])
    return found @ numpy.arange(3.0)

def by_class(x):
    r = np.sqrt(x[0] ** 2 + x[1] ** 2)
    if isinstance(r, (float, int)):
        return 3.0 * r ** 2
    raise ValueError("an array was needed")

def caught(x):
    try:
        return math.sqrt(x[0] - 5.0)
    except ValueError:
        return x[0] ** 3

def by_builtins(x):
    r = x[0] * x[1]
    if hasattr(r, "__len__") or hasattr(r, "__iter__") or not hasattr(x, "__len__") or not hasattr(r, "__add__"):
        raise ValueError("a number is no sequence")
    return (r - round(r)) ** 2 * round(x[2]) + round(3.7)

class Chosen:
    def __init__(self, library):
        self.library = library

    def __getattr__(self, name):
        return getattr(self.library, name)

chosen = Chosen(np)

def enclosing(sine, cosine=math.cos):
    def both(x):
        return sine(x) * cosine(x)
    return both

enclosed, table, row = enclosing(math.sin), {"tan": math.tan}, [math.exp]

class Kept:
    logarithm = staticmethod(math.log)

    @staticmethod
    def root(x, *, root=math.sqrt):
        return root(x)

    @property
    def power(self, power=math.pow):
        return power

def by_what_is_kept(x):
    of_class = Kept.logarithm(x[0]) * Kept().root(x[1]) + Kept().power(x[2], 3)
    return enclosed(x[0]) + table["tan"](x[1]) * row[0](x[2]) + of_class

def by_complex_numbers(x):
    z = complex(x[0], x[1]) * np.complex128(x[2]) + complex(x[0])
    return z.real * z.imag + abs(z) + (3.0 if isinstance(z, complex) else 0.0)

def by_choice(x):
    found = chosen.zeros(3)
    found[1:] = chosen.asarray(x[1:], dtype=float) ** 2
    return chosen.sum(found)

def by_places(x):
    found = np.zeros(3)
    for k in np.where(x > 1.0)[0]:  # what is numpy's own in a comment
        found[k] = x[k] ** 2
    shape = np.broadcast(x, np.ones((2, 1)))
    pairs = sum(a * b for a, b in np.broadcast(x, [[1.0], [2.0]]))
    return np.sum(np.ones(shape.shape) * found) * shape.size * shape.ndim + pairs

def by_older_transforms(x):
    return np.sum(np.abs(fft(x)) ** 3) + np.sum(fftpack.dct(x, 2, None, -1, "ortho")[:2] ** 3)

def by_pythons_number(x):
    r = x[0] * x[1]
    if isinstance(r, np.generic):
        r = r.item()
    if not isinstance(r, (float, np.ndarray)) or not isinstance(x, (np.ndarray, np.generic)):
        raise TypeError("a number was needed")
    return r ** 3

def joined(x):
    return series.polyval(0.3, x) + np.linalg.det(c_[[x[0], 1.0], [2.0, x[1]]]) + expm(np.diag(x))[1, 1] + down(x[2])
"""
FUNCTIONS = (
    "converted", "filled", "by_class", "by_builtins", "by_choice", "by_what_is_kept", "by_complex_numbers", "caught",
    "joined", "by_places", "by_older_transforms", "by_pythons_number",
)  # fmt: skip
AT = np.array([0.7, 1.3, 2.2])


def differences(f: Any, x: Any, step: float = 1e-5) -> Any:
    """Return a gradient by central differences."""
    return np.array([(f(x + step * unit) - f(x - step * unit)) / (2 * step) for unit in np.eye(len(x))])


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package of that source which can be imported, and no trace of it afterwards."""
    (tmp_path / f"{NAME}.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(importing._FINDER, "packages", set(importing._FINDER.packages))
    yield NAME
    sys.modules.pop(NAME, None)


@pytest.mark.parametrize("first", ["recorded", "imported"])
def test_what_programs_do_with_numbers_is_recorded(module: str, first: str) -> None:
    """Each function of the package is what it was on plain numbers, and has the derivative of differences."""
    own = ModuleType("plain")
    exec(SOURCE, vars(own))
    if first == "imported":
        importlib.import_module(module)
    packages.record(module)
    theirs = importlib.import_module(module)
    for name in FUNCTIONS:
        plain, recorded = getattr(own, name), getattr(theirs, name)
        assert recorded(AT) == plain(AT), name
        np.testing.assert_allclose(primad.grad(recorded)(AT), differences(plain, AT), rtol=1e-8, err_msg=name)
        assert primad.hessian(recorded)(AT).shape == (3, 3)


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("def f(x): return 2.0 * x if type(2.0) is float else x", "float"),
        ("import numpy as np\ndef f(x): return 2.0 * x if np.ones(2).dtype.type is np.float64 else x", "float"),
        ("import numpy\ndef f(x, xp=numpy): return 2.0 * x if xp is numpy else x", "isinstance"),
        ("import numpy\ndef f(x, xp=numpy): return x if numpy is not xp else 2.0 * x", "isinstance"),
    ],
)
def test_programs_that_ask_for_a_class_or_module_itself_find_it(
    source: str, kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "strict_ones.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    theirs = importlib.import_module("strict_ones")
    packages.record(theirs)
    sys.modules.pop("strict_ones")
    assert theirs.f(3.0) == 6.0 and primad.grad(theirs.f)(3.0) == 2.0 and kept not in vars(theirs)


def test_functions_of_fftpack_are_those_that_stand_for_them() -> None:
    """All of them that take an array, by name; what is scaled or packed otherwise is none of them."""
    x = np.array([0.3, 1.0, -0.4, 2.0])
    for name in importing._OF_FFTPACK:
        own, standing = getattr(fftpack, name), importing.counterpart(getattr(fftpack, name))
        assert standing is not own
        np.testing.assert_allclose(primad.jit(standing)(x), own(x), rtol=1e-13, err_msg=name)
        if name.startswith(("dct", "dst")):
            for kind in (1, 2, 3, 4):
                found = primad.jit(lambda x, call=standing, kind=kind: call(x, kind, norm="ortho"))(x)
                np.testing.assert_allclose(found, own(x, kind, norm="ortho"), rtol=1e-12, atol=1e-14)
    for name in ("idct", "idst", "rfft", "irfft"):
        assert importing.counterpart(getattr(fftpack, name)) is getattr(fftpack, name)


DERIVING = """
import numpy as np

class Kept:
    pass

def twice(x):
    class Length(float):
        def doubled(self):
            return type(self)(2 * self)
    found = Length(x).doubled()
    return found, found.doubled(), isinstance(found, float), isinstance(found, Length)

def kept():
    found = Kept()
    found.kind = float
    return found

def of_doubles(x):
    class Double(np.float64):
        pass
    return isinstance(Double(x), np.float64)
"""


def test_classes_of_a_package_that_derive_from_arrays_are_one_error() -> None:
    theirs = ModuleType("vectors")
    text = """
import numpy as np
class Vector(np.ndarray):
    def __new__(cls, x):
        x = np.array(x, dtype=float)
        return super().__new__(cls, x.shape, float, x)
"""
    exec(text, vars(theirs))
    theirs.Vector.__module__ = "vectors"
    packages.record(theirs)
    assert np.array_equal(theirs.Vector([1.0, 2.0]), [1.0, 2.0])
    with pytest.raises(primad.TracingError, match=r"(?s)Vector of traced values.*plain numbers.*functions of vectors"):
        primad.grad(lambda x: np.sum(theirs.Vector(x)))(AT)
    with pytest.raises(TypeError, match="missing"):
        theirs.Vector()


def test_classes_of_a_package_that_derive_from_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what it keeps of a class of numbers is pickled as that class."""
    (tmp_path / "deriving_ones.py").write_text(DERIVING)
    (tmp_path / "doubling_ones.py").write_text(DERIVING.partition("def of_doubles")[0])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(importing._FINDER, "packages", set(importing._FINDER.packages))
    for name in ("deriving_ones", "doubling_ones"):
        packages.record(name)
        found = importlib.import_module(name)
        assert found.twice(1.5) == (3.0, 6.0, True, True)
        assert pickle.loads(pickle.dumps(found.kept())).kind is float
        if name == "deriving_ones":
            assert found.of_doubles(1.5)
        sys.modules.pop(name)


def test_modules_that_numba_compiles_stay_as_they_are() -> None:
    theirs = ModuleType("compiled")
    exec(SOURCE, vars(theirs))
    kind = type("Dispatcher", (), {"__module__": "numba.core.registry"})
    theirs.jitted = kind()  # type: ignore[attr-defined]
    packages.record(theirs)
    assert theirs.np is np and "isinstance" not in vars(theirs)


@pytest.mark.parametrize("name", ["numpy", "numpy.linalg", "scipy.special", "math", "builtins", "primad"])
def test_modules_of_all_programs_are_refused(name: str) -> None:
    with pytest.raises(primad.TracingError, match=r"(?s)All programs.*Fix: name the packages"):
        packages.record(name)


def test_every_function_of_pythons_math_is_recorded_or_of_integers() -> None:
    known = {*python_functions.MATH, *python_functions.OF_INTEGERS}
    assert {name for name in dir(math) if callable(getattr(math, name)) and name[0] != "_"} <= known


NUMBERS: dict[str, tuple[Any, ...]] = {
    "acosh": (1.7,), "atan2": (0.4, 0.9), "copysign": (0.4, -2.0), "dist": ([0.4, 1.0], [2.0, 0.3]),
    "fmod": (2.7, 1.1), "fsum": ([0.4, 0.7],), "hypot": (0.4, 0.9, 0.2), "ldexp": (0.7, 3), "log": (0.7, 3.0),
    "pow": (0.7, 1.4), "prod": ([0.4, 0.7],), "remainder": (2.9, 1.1), "sumprod": ([0.4, 0.7], [1.1, 2.0]),
    "isclose": (0.7, 0.7 + 1e-12),
}  # fmt: skip
"""Arguments of functions of `math`; of the others 0.7."""


@pytest.mark.parametrize("name", [name for name in python_functions.MATH if hasattr(math, name)])
def test_functions_of_math_have_pythons_values_and_their_derivatives(name: str) -> None:
    own = getattr(math, name)
    recorded = python_functions.recorded(own, python_functions.MATH[name])
    args = NUMBERS.get(name, (0.7,))

    def at(call: Any, x: Any) -> Any:
        first = [x, *args[0][1:]] if isinstance(args[0], list) else x
        found = call(first, *args[1:])
        return found[0] if isinstance(found, tuple) else found

    start = args[0][0] if isinstance(args[0], list) else args[0]

    def traced(x: Any) -> Any:
        found = at(recorded, x)
        seen.append(primad.value(found))
        return 1.0 * found + 0.0 * x

    seen: list[Any] = []
    assert at(recorded, start) == at(own, start)
    slope, step = primad.grad(traced)(start), 1e-6
    np.testing.assert_allclose(seen[0], at(own, start))
    np.testing.assert_allclose(slope, (at(own, start + step) - at(own, start - step)) / (2 * step), atol=1e-8)


def test_errors_of_math_are_raised_on_traced_numbers_too() -> None:
    recorded = {
        name: python_functions.recorded(getattr(math, name), python_functions.MATH[name]) for name in ("log", "exp")
    }
    for name, x, error in (("log", -1.0, ValueError), ("log", 0.0, ValueError), ("exp", 1e4, OverflowError)):
        with pytest.raises(error):
            primad.grad(recorded[name])(x)
        with pytest.raises(error):
            recorded[name](x)
    assert np.isnan(primad.jit(recorded["log"])(-1.0))  # where values are not known


KNOTS = np.linspace(0.0, 3.0, 9)
GRID = interpolate.RegularGridInterpolator((KNOTS, KNOTS), np.sin(KNOTS)[:, None] * np.cos(KNOTS))
FITTED = {
    "cubic": interpolate.CubicSpline(KNOTS, np.sin(KNOTS)),
    "periodic": interpolate.CubicSpline(KNOTS, np.append(np.sin(KNOTS[:-1]), 0.0), bc_type="periodic"),
    "monotone": interpolate.PchipInterpolator(KNOTS, np.sin(KNOTS)),
    "B-splines": interpolate.make_interp_spline(KNOTS, np.cos(KNOTS), k=5),
    "smoothing": interpolate.UnivariateSpline(KNOTS, np.sin(KNOTS) + 0.01 * np.cos(9 * KNOTS), s=1e-4),
    "grid": lambda x: GRID((x, 1.3 + 0 * x)),
}


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """SciPy's interpolators take traced points, and afterwards no more."""
    for kind in fitted.FITTED:
        monkeypatch.setattr(getattr(interpolate, kind), "__call__", getattr(interpolate, kind).__call__)
    packages.record("scipy.interpolate")


@pytest.mark.usefixtures("evaluated")
@pytest.mark.parametrize("name", FITTED)
def test_interpolators_that_were_fitted_before_take_traced_points(name: str) -> None:
    spline, points = FITTED[name], np.array([0.41, 1.2, 2.7])
    slopes = primad.grad(lambda x: np.sum(spline(x) * AT))(points)
    np.testing.assert_allclose(slopes, differences(lambda x: np.sum(spline(x) * AT), points), rtol=1e-7)


@pytest.mark.usefixtures("evaluated")
@pytest.mark.parametrize("ext", [0, 1, 3, "extrapolate", "zeros", "const"])
def test_smoothing_splines_beyond_their_data(ext: Any) -> None:
    spline = interpolate.UnivariateSpline(KNOTS, np.sin(KNOTS) + 1.0, ext=ext)
    points = np.array([-0.3, 1.2, 3.4])
    for nu in (0, 1):
        np.testing.assert_allclose(
            primad.vjp(lambda x, nu=nu: spline(x, nu), points)[0], spline(points, nu), atol=1e-12
        )

    def total(x: Any) -> Any:
        return np.sum(spline(x))

    np.testing.assert_allclose(primad.grad(total)(points), differences(total, points), atol=1e-8)


@pytest.mark.usefixtures("evaluated")
def test_a_spline_that_raises_beyond_its_data_says_what_to_write() -> None:
    spline = interpolate.UnivariateSpline(KNOTS, np.sin(KNOTS), ext=2)
    with pytest.raises(primad.TracingError, match=r"(?s)ext=2.*Fix: ext=0"):
        primad.grad(spline)(1.0)


@pytest.mark.parametrize("answer", [{}.__getitem__, {}.get])
def test_objects_that_answer_every_name_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    class Settings:
        __slots__ = ()

        def __getattr__(self, name: str) -> Any:
            return answer(name)

    module = ModuleType("with_settings")
    module.Holder = type("Holder", (), {"__module__": module.__name__, "settings": Settings()})  # type: ignore[attr-defined]
    module.settings = Settings()  # type: ignore[attr-defined]
    exec("import numpy as np\ndef f(x): return np.sum(np.asarray(x) ** 2)", vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    packages.record(module)
    assert primad.grad(module.f)(np.ones(2)).tolist() == [2.0, 2.0]
