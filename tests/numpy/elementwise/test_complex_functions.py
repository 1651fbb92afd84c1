"""NumPy's functions of complex arrays: values, dtypes and derivatives, or a refusal; never another number."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy as pnp
from primad import PrimadError, ShapeError
from tests.numpy.test_numpy_surface import CASES
from tests.sweeps import thinned

RTOL = 1e-9
REFUSED = re.compile(
    r"x [<>]=? y of complex numbers|asked for the truth value of a traced array|real or complex depends on"
)
"""What is refused on purpose where NumPy gives a result: operators that compare, and branches by values."""
WIDE = {"full_like", "polydiv"}
"""Functions whose cases are of 128 bits only: one names its dtype, and one cuts off what rounding leaves of 0."""


def as_complex(args: tuple[Any, ...], dtype: str = "complex128") -> tuple[Any, ...] | None:
    """Return the arguments with complex numbers in place of real ones; None where there are none."""
    rng = np.random.default_rng(7)

    def turned(x: Any) -> Any:
        if isinstance(x, np.ndarray) and x.dtype == np.float64:
            return (x + 1j * rng.uniform(0.2, 0.9, x.shape)).astype(dtype)
        return x

    found = tuple([turned(x) for x in args])
    return found if any(isinstance(x, np.ndarray) and x.dtype.kind == "c" for x in found) else None


def computed(function: Any, args: tuple[Any, ...]) -> tuple[Any, bool]:
    """Return what NumPy gives (None where it refuses), and whether it warns that imaginary parts are lost."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = np.asarray(function(np, *args))
    except (TypeError, ValueError, np.linalg.LinAlgError):
        return None, False
    return found, any(each.category is np.exceptions.ComplexWarning for each in said)


@pytest.mark.one_in(12)
@pytest.mark.filterwarnings("ignore")
@thinned(2, name=sorted(CASES), dtype=["complex128", "complex64"])
def test_values_and_dtypes(name: str, dtype: str) -> None:
    """Where NumPy takes complex arrays, the recorded value is the same.

    What is refused: what NumPy refuses, or warns of since it loses imaginary parts, operators that compare, and what
    asks for a truth value.
    """
    if dtype == "complex64" and name in WIDE:
        return
    for function, args in CASES[name]:
        given = as_complex(args, dtype)
        if given is None:
            continue
        expected, lossy = computed(function, given)
        try:
            with np.errstate(all="ignore"):
                backend = "native" if dtype == "complex128" else "reference"
                found = np.asarray(primad.jit(lambda *z, f=function: f(pnp, *z), backend=backend)(*given))
        except (PrimadError, TypeError) as error:
            assert isinstance(error, PrimadError) or expected is None
            assert expected is None or lossy or REFUSED.search(str(error)), f"{name}: {error}"
            continue
        assert expected is not None, f"{name}: NumPy refuses complex numbers"
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=RTOL if dtype == "complex128" else 1e-4, atol=1e-6)


def differences(function: Any, point: list[Any], along: list[Any]) -> Any:
    """Return the derivative along a direction by central differences of fourth order."""
    h = 1e-3
    near = [function(*[x + k * h * v for x, v in zip(point, along, strict=True)]) for k in (-2, -1, 1, 2)]
    return (near[0] - 8 * near[1] + 8 * near[2] - near[3]) / (12 * h)


@pytest.mark.one_in(12)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(CASES))
def test_derivatives(name: str) -> None:
    """Forward mode gives central differences, reverse mode its transpose in the pairing Re Σ ct·t."""
    rng = np.random.default_rng(11)
    for function, args in CASES[name][:2]:
        given = as_complex(args)
        if given is None or any(not np.all(np.isfinite(x)) for x in given if isinstance(x, np.ndarray)):
            continue
        places = [i for i, x in enumerate(given) if isinstance(x, np.ndarray) and x.dtype.kind == "c"]

        def of(*zs: Any, f: Any = function, given: Any = given, places: Any = places) -> Any:
            full = dict(enumerate(given)) | dict(zip(places, zs, strict=True))
            return f(pnp, *full.values())

        point = [given[i] for i in places]
        along = [rng.standard_normal(x.shape) + 1j * rng.standard_normal(x.shape) for x in point]
        try:
            with np.errstate(all="ignore"):
                value, tangent = primad.jvp(of, tuple(point), tuple(along))
        except PrimadError:
            continue
        if np.asarray(value).dtype.kind not in "fc" or not np.all(np.isfinite(value)):
            continue
        np.testing.assert_allclose(tangent, differences(of, point, along), rtol=1e-6, atol=1e-7)
        weights = rng.standard_normal(np.shape(value))
        if np.asarray(value).dtype.kind == "c":
            weights = weights + 1j * rng.standard_normal(np.shape(value))
        pulled = primad.vjp(of, *point)[1](weights if np.shape(value) else weights[()])
        paired = sum(np.sum(ct * v) for ct, v in zip(pulled, along, strict=True)).real
        np.testing.assert_allclose(paired, np.sum(weights * np.asarray(tangent)).real, rtol=1e-10, atol=1e-11)


def _built(np_: Any, x: Any) -> Any:
    """Return arrays that are written to by their parts."""
    a = np_.zeros((3, 4), complex)
    a.real[:] = x
    a.imag[1] = 2
    a.real[0, 1:3] += x[1, :2]
    a.imag = a.imag * 2 + x
    part = a.real
    a[0] = x[1] + 3j
    a.T.imag[2] = x[:, 1]
    np_.real(a)[[0, 1], [1, 2]] = 5
    real, imaginary = np.broadcast_arrays(a.real, a.imag)
    return a, part * 1, real * 1, imaginary * 1, np_.imag(a) * 1


def _of_reals(np_: Any, x: Any) -> Any:
    a = np_.zeros((3, 4))
    a.real[:] = x
    a.real = a.real + 1
    return a * 1, a.imag * 1, np_.real_if_close(a) * 1


@pytest.mark.parametrize("function", [_built, _of_reals])
def test_parts_of_arrays_that_are_written_to_are_views(function: Any) -> None:
    """What is written into the parts of a complex array, and into the array after it, is seen as with NumPy's."""
    x = np.arange(12.0).reshape(3, 4) - 5
    for found, expected in zip(primad.jit(lambda x: function(pnp, x))(x), function(np, x), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    primad.check_grads(lambda x: np.sum(np.abs(_built(pnp, x)[0]) ** 2), (x,))
    with pytest.raises(AttributeError, match="Fix: y = y"):
        primad.jit(lambda x: setattr(pnp.array(x), "imag", x))(x)


BY_VALUES = {
    "real_if_close": (lambda x: np.real_if_close(x + 0j), lambda x: np.real(x + 0j)),
    **{
        f"emath.{name}": (getattr(np.emath, name), lambda x, name=name: getattr(np.emath, name)(x + 0j))
        for name in ("sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh")
    },
    "emath.power": (lambda x: np.emath.power(x, 0.5), lambda x: np.emath.power(x + 0j, 0.5)),
    "emath.logn": (lambda x: np.emath.logn(3, x), lambda x: np.emath.logn(3, x + 0j)),
}
"""Functions whose dtype NumPy chooses by the values, and what the message says to write where these are not known."""


@pytest.mark.parametrize("name", BY_VALUES)
def test_dtypes_that_depend_on_values_are_refused_with_a_way_out(name: str) -> None:
    """Where only types are known, the function is named, and what is said to be written instead works there."""
    function, instead = BY_VALUES[name]
    x = np.array([0.3, 0.8])
    for recorded in (primad.jit, primad.vmap):
        with pytest.raises(primad.TracingError, match=rf"np\.{re.escape(name)} is real or complex[^$]*Fix: .*x"):
            recorded(function)(x)
        np.testing.assert_allclose(recorded(instead)(x), function(x), rtol=1e-14)


@pytest.mark.parametrize("exponent", [1j, 2 + 0j, -1j])
@pytest.mark.parametrize("x", [2.0, np.array([2, 3]), np.array([1.5, 2.0])])
def test_real_numbers_to_complex_powers(x: Any, exponent: complex) -> None:
    """A literal exponent may be complex whatever the base is."""
    np.testing.assert_allclose(primad.jit(lambda x: x**exponent)(x), x**exponent, rtol=1e-14)
    np.testing.assert_allclose(primad.jit(lambda x: np.power(x, exponent))(x), np.power(x, exponent), rtol=1e-14)


SQUARES = {
    "power": lambda z: np.sum(np.abs(z) ** 2),
    "square": lambda z: np.sum(np.square(np.abs(z))),
    "product": lambda z: np.sum(np.abs(z) * np.abs(z)),
    "hypot": lambda z: np.sum(np.hypot(np.real(z), np.imag(z)) ** 2),
    "norm": lambda z: np.linalg.norm(z) ** 2,
    "norm along an axis": lambda z: np.sum(np.linalg.norm(z[None], axis=1) ** 2),
    "norm of a matrix": lambda z: np.linalg.norm(z[None], "fro") ** 2,
    "vector_norm": lambda z: np.linalg.vector_norm(z) ** 2,
}


@pytest.mark.parametrize("name", SQUARES)
def test_second_derivatives_of_squares_where_a_number_is_0(name: str) -> None:
    """A square of a size is smooth at 0, where the size is not: Σ|z|² changes by 2 z̄ of each element."""
    z, along = np.array([0j, 1 + 1j, 2 - 1j]), np.array([1 + 2j, 1j, 3])
    np.testing.assert_allclose(primad.hvp(SQUARES[name], z, along), 2 * np.conj(along), atol=1e-12)
    if name != "norm of a matrix":
        x = np.array([0.0, 1.0, -2.0])
        np.testing.assert_allclose(np.asarray(primad.hessian(SQUARES[name])(x)), 2 * np.eye(3), atol=1e-12)
        np.testing.assert_allclose(np.asarray(primad.hessian(SQUARES[name])(0 * x)), 2 * np.eye(3), atol=1e-12)


@pytest.mark.parametrize("name", ["sqrt", "log", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"])
@pytest.mark.parametrize("size", [-2.5, -0.5, 0.5, 2.5])
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_derivatives_on_branch_cuts_are_those_of_the_side_of_the_value(name: str, size: float, zero: float) -> None:
    """Along an axis, by differences that keep the sign of the zero, and so the side on which the value is."""
    function = getattr(np, name)
    for axis in (0, 1):

        def at(x: float, axis: int = axis) -> complex:
            return complex(zero, x) if axis else complex(x, zero)

        expected = (function(at(size + 1e-6)) - function(at(size - 1e-6))) / (2e-6j if axis else 2e-6)
        found = primad.grad(function, holomorphic=True)(at(size))
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("z", [1 + 20j, -0.5 + 300j, 2 - 40j, 0.3 - 0.2j, 800j])
def test_tan_far_from_the_real_axis(z: complex) -> None:
    """The derivative 1/cos² is tiny there, and no difference of 1 and what is nearly 1."""
    e = np.exp(2j * z) if z.imag > 0 else np.exp(-2j * z)
    for order, expected in enumerate((4 * e / (1 + e) ** 2, 2 * np.tan(z) * 4 * e / (1 + e) ** 2), 1):
        function: Any = np.tan
        for _ in range(order):
            function = primad.grad(function, holomorphic=True)
        np.testing.assert_allclose(function(z), expected, rtol=1e-12)


SIGNED: dict[str, Any] = {
    "0 - x": lambda x, y: 0 - x,
    "x + 0": lambda x, y: x + 0,
    "x - 0": lambda x, y: x - 0,
    "x + 0j": lambda x, y: x + 0j,
    "x + (-0)": lambda x, y: x + (-0.0),
    "1 - x": lambda x, y: 1 - x,
    "-(1 - x)": lambda x, y: -(1 - x),
    "-(x - y)": lambda x, y: -(x - y),
    "-(x + y)": lambda x, y: -(x + y),
    "(-x) y": lambda x, y: (-x) * y,
    "x (-y)": lambda x, y: x * (-y),
    "(-x) (-y)": lambda x, y: (-x) * (-y),
    "(-x) - y": lambda x, y: (-x) - y,
    "(-x) + y": lambda x, y: (-x) + y,
    "x - (-y)": lambda x, y: x - (-y),
    "x / (-y)": lambda x, y: x / (-y),
    "(-x) / y": lambda x, y: (-x) / y,
    "(2 x) / 3": lambda x, y: (2 * x) / 3,
    "2 (3 x)": lambda x, y: 2 * (3 * x),
    "2 x + x": lambda x, y: 2 * x + x,
    "x ** 2": lambda x, y: x**2,
    "sum of -x": lambda x, y: np.sum(np.stack([-x, -y]), axis=0),
    "rows of -x": lambda x, y: -np.broadcast_to(x, (2, *x.shape)) * y,
    "conjugates": lambda x, y: np.conj(-np.conj(x)) - y,
}
"""Functions that a law over the real numbers would give zeros of another sign."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SIGNED)
def test_signs_of_zeros_are_numpys(name: str) -> None:
    """On a branch cut a zero of another sign is another number, by a jump."""
    points = np.array([complex(a, b) for a in (2.0, -2.0, 0.0, -0.0) for b in (0.0, -0.0, 3.0)])
    x, y = (each.reshape(-1) for each in np.meshgrid(points, points))
    found, expected = primad.jit(SIGNED[name])(x, y), SIGNED[name](x, y)
    for part in ("real", "imag"):
        a, b = getattr(found, part), getattr(expected, part)
        np.testing.assert_array_equal(a, b)
        known = ~np.isnan(a)
        np.testing.assert_array_equal(np.signbit(a)[known], np.signbit(b)[known])


@pytest.mark.parametrize("to", [np.complex64, np.complex128])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_parts_of_what_was_cast_are_those_of_numpy(dtype: Any, to: Any) -> None:
    x = np.array([1.5 + 2.5j, -0.5 - 4.0j])
    x = x.astype(dtype) if np.issubdtype(dtype, np.complexfloating) else x.real.astype(dtype)
    for part in (np.real, np.imag):
        program = primad.simplify(primad.trace(lambda z, part=part: part(z.astype(to)))(x))
        found, expected = program(x), part(x.astype(to))
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
        if x.dtype.kind == "f":
            assert not any(node.type.is_complex for node in program.nodes)


ORDERED = {
    "sort": np.sort,
    "along an axis": lambda z: np.sort(z, axis=0),
    "argsort": np.argsort,
    "sort_complex": np.sort_complex,
    "of real ones": lambda z: np.sort_complex(z.real),
    "median": lambda z: np.median(z, axis=1),
    "lexsort": lambda z: np.lexsort((z.real, z)),
    "of eigenvalues": lambda z: np.sort(np.linalg.eigvals(z[:, :3])),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ORDERED)
def test_numpys_order(name: str) -> None:
    """By real parts, then by imaginary ones; NaN last, in the real part or both after those in the imaginary one."""
    z = np.array([[2 + 1j, 2 - 1j, -3, 2j], [0, -0.0 - 1j, 5, 1 + 1j], [3 - 2j, 3, 3, 1j]])
    np.testing.assert_allclose(primad.jit(ORDERED[name])(z), ORDERED[name](z), rtol=RTOL)
    if name != "of eigenvalues":
        parts = (np.nan, 1.0, -1.0)
        special = np.array([[complex(x, y) for x in parts] + [complex(y, x) for x in parts] for y in parts])
        np.testing.assert_array_equal(primad.jit(ORDERED[name])(special), ORDERED[name](special))


PARTS = (0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan)
EACH = np.array([complex(x, y) for x in PARTS for y in PARTS])


def _along_pairs(name: str) -> Any:
    return lambda x, y: getattr(np, name)(np.stack([x, y]), axis=0)


ELEMENTWISE = ("less", "less_equal", "greater", "greater_equal", "maximum", "minimum", "fmax", "fmin")
ALONG = ("max", "min", "argmax", "argmin", "nanmax", "nanmin", "nanargmax", "nanargmin")
IN_ORDER: dict[str, Any] = {
    **{name: getattr(np, name) for name in ELEMENTWISE},
    **{name: _along_pairs(name) for name in ALONG},
    "max of several axes": lambda x, y: np.max(np.stack([x, y]).reshape(2, 7, 7, -1), (1, 3)),
    "min from a number": lambda x, y: np.min(np.stack([x, y]), 0, initial=1 - 2j, where=np.array([[True], [False]])),
    "nanmax from a number": lambda x, y: np.nanmax(np.stack([x, y]), 0, initial=-1 + 2j),
    "clip": lambda x, y: np.clip(x, -1 - 1j, 1 + 2j),
    "searchsorted": lambda x, y: np.searchsorted(np.sort(EACH), x),
    "searchsorted to the right": lambda x, y: np.searchsorted(np.sort(EACH), y, "right"),
}  # fmt: skip
"""Functions of two vectors that ask NumPy's order of complex numbers."""


@pytest.mark.one_in(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["native", "reference"])
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_functions_that_ask_the_order_have_numpys_values(backend: str, dtype: Any) -> None:
    """Of NaN, infinities and zeros of both signs too; of equal ones the first."""
    x, y = (each.ravel().astype(dtype) for each in np.meshgrid(EACH, EACH))
    run = primad.jit(lambda x, y: [f(x, y) for f in IN_ORDER.values()], backend=backend)
    for name, found in zip(IN_ORDER, run(x, y), strict=True):
        some = np.ones(x.shape, bool)
        if name in ("nanargmax", "nanargmin"):  # NumPy's are errors where all are NaN
            some = ~np.isnan(np.stack([x, y])).all(axis=0)
            found = found[some]
        expected = IN_ORDER[name](x[some], y[some])
        assert found.dtype == expected.dtype, name
        np.testing.assert_array_equal(found, expected, err_msg=name)


def test_derivatives_in_the_order_are_those_of_the_one_that_is_picked() -> None:
    """Of equal ones the first; by real parts the second differs from the third in none."""
    z = np.array([1 + 1j, 2 - 1j, 2 + 3j, 2 + 3j, -3 + 9j])
    for function, place in ((np.max, 2), (np.nanmax, 2), (np.min, 4), (lambda z: np.maximum(z[2], z[3]), 2)):
        np.testing.assert_array_equal(primad.grad(function, holomorphic=True)(z), np.eye(5)[place])
    found = primad.grad(lambda z: np.sum(np.abs(np.clip(z, 0, 2)) ** 2))(z)
    np.testing.assert_allclose(found, [2 - 2j, 4 + 2j, 0, 0, 0])
    primad.check_grads(lambda z: np.ptp(z), (z[[0, 2, 4]],), holomorphic=True)


@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_running_extrema_keep_the_first_of_equal_ones_and_of_nan(ufunc: np.ufunc) -> None:
    values = [1 + 1j, 2 - 1j, complex(2, np.nan), 3, complex(np.nan, 1), 3, complex(0.0, -0.0), complex(-0.0, 0.0)]
    for z in (np.array(values), np.array(values)[::-1].copy(), np.array([1 + 1j, 1 + 1j, 0.5, 2, 2])):
        found, wanted = primad.jit(lambda z: ufunc.accumulate(z))(z), ufunc.accumulate(z)
        np.testing.assert_array_equal(found.view(float), wanted.view(float))
        np.testing.assert_array_equal(np.signbit(found.view(float)), np.signbit(wanted.view(float)))
    last = primad.grad(lambda z: ufunc.accumulate(z)[-1], holomorphic=True)(np.array([2 + 1j, 2 + 1j, 2 + 1j]))
    np.testing.assert_array_equal(last, [1, 0, 0])


@pytest.mark.parametrize("function", [
    lambda z: z < 1, lambda z: z <= z, lambda z: z < 1, lambda z: z >= 2j, lambda z: z.real < z, lambda z: z.real > 1j,
])  # fmt: skip
def test_operators_that_compare_complex_numbers_say_what_to_write(function: Any) -> None:
    """It is nearly always a slip: the way out has NumPy's function, and parts."""
    with pytest.raises(PrimadError, match=r"[<>]=? y of complex numbers"):
        primad.jit(function)(np.array([1j, 2.0]))


@pytest.mark.parametrize("name", ["quantile", "percentile", "digitize"])
def test_what_numpy_refuses_of_complex_numbers_says_so(name: str) -> None:
    z = np.array([1j, 2.0])
    with pytest.raises(TypeError):
        getattr(np, name)(z, [0.25, 0.5])
    with pytest.raises(ShapeError, match="does not take complex"):
        primad.jit(lambda z: getattr(np, name)(z, [0.25, 0.5]))(z)


def test_sorted_numbers_have_derivatives() -> None:
    z = np.array([2 + 1j, 2 - 1j, -3, 2j])
    found = primad.jacobian(np.sort, holomorphic=True)(z)
    np.testing.assert_array_equal(found, np.eye(4)[np.argsort(z)])
