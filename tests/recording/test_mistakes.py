"""The usual mistakes: the whole message, and the way out that it names, which works.

Whatever else NumPy offers gives, on a traced array, what it gives on a plain one, or an error of primad's.
"""

from __future__ import annotations

import builtins
import contextlib
import copy
import io
import math
import operator
import statistics
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.sparse
import scipy.special
import scipy.stats

import primad
import primad.numpy as pnp
import primad.scipy.linalg
import primad.scipy.stats
from primad import PrimadError
from primad.errors import suggestion
from primad.functional.derived_calls import run_once
from primad.ir.node import Trace
from primad.recording.foreign_errors import explained
from primad.recording.protocols import FUNCTIONS, UFUNCS
from primad.system.deferred import special as special_names

X = np.array([0.25, 0.5, 0.75])
A = np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]])
S = scipy.sparse.csr_array(A)

LOST = "  A plain number would silently lose the derivative."
READ = "primad.value(x) reads a plain number on purpose (its derivative is then zero)."
JOIN = "primad.numpy.array joins traced values to an array"


def writes(x: Any) -> Any:
    y = np.zeros(3)
    y[0] = x[0] ** 2
    return y


def sets(x: Any) -> Any:
    y = np.zeros(3)
    y = primad.numpy.set_at(y, 0, x[0] ** 2)
    return y


def writes_slice(x: Any) -> Any:
    y = np.zeros(3)
    y[1:] = x[1:]
    return y


def sets_slice(x: Any) -> Any:
    y = np.zeros(3)
    y = primad.numpy.array(y)
    y[1:] = x[1:]
    return y


def adds(x: Any) -> Any:
    y = np.zeros(3)
    y += x
    return y


def adds_made(x: Any) -> Any:
    y = primad.numpy.array(np.zeros(3))
    y += x
    return np.zeros(3) + y


def root(c: Any) -> Any:
    return scipy.optimize.brentq(lambda t: t**3 - c, 0.0, 2.0)


# The way out of functions that cannot be recorded, as docs/adding_a_primitive.md has it.
inverted: Any = primad.custom_jvp(primad.opaque(np.linalg.inv, result=lambda m: m, vmap="vectorized"))
inverted.defjvp(lambda primals, tangents: (out := inverted(*primals), -(out @ tangents[0] @ out)))


def solve(m: Any, b: Any) -> Any:
    return inverted(m) @ b


def needs(what: str, kind: str, fix: str) -> str:
    return f"{what} needs the numbers of a traced array of type {kind}\n{LOST}\n  Fix: {fix}"


def elsewhere(what: str, kind: str, name: str) -> str:
    fix = (
        f"write {name} with functions of primad.numpy, or have it called as it is: primad.opaque, with a rule by "
        "primad.custom_jvp; "
    )
    return needs(what, kind, fix + READ)


LISTS = "primad.numpy takes traced values in lists."
MIRRORED = "which is recorded (import primad.scipy.linalg)"
DISTRIBUTIONS = "of primad.scipy.stats.norm, which is recorded (import primad.scipy.stats)"
MADE = "y = primad.numpy.array(y) before: arrays that primad.numpy makes may be written to"
Mistake = tuple[Callable[[Any], Any], str, Callable[[Any], Any]]
MISTAKES: dict[str, Mistake] = {
    "an element of a plain array": (
        writes,
        needs(
            "y[0] = x[0] ** 2",
            "float64[]",
            f"{MADE}; or y = primad.numpy.set_at(y, 0, x[0] ** 2).",
        ),
        sets,
    ),
    "a part of a plain array": (
        writes_slice,
        needs(
            "y[1:] = x[1:]",
            "float64[2]",
            f"{MADE}; or y = primad.numpy.set_at(y, np.s_[1:], x[1:]).",
        ),
        sets_slice,
    ),
    "adding to a plain array": (
        adds,
        "np.add was asked to write a traced array into an existing array\n"
        "  An in-place write (`a += x`, out=) into a NumPy array would lose the derivative.\n"
        "  Fix: write `a = a + x`, or a = primad.numpy.array(a) before: what primad.numpy makes may be written to.",
        adds_made,
    ),
    "float": (
        lambda x: float(x[0]) * x,
        needs("float(x[0])", "float64[]", f"leave the conversion out; {READ}"),
        lambda x: x[0] * x,
    ),
    "item": (
        lambda x: x[0].item() * x,
        needs("x[0].item()", "float64[]", f"leave the conversion out; {READ}"),
        lambda x: x[0] * x,
    ),
    "np.array of a list, with a dtype": (
        lambda x: np.array([x[0], x[1] * 2], dtype=float),
        needs(
            "np.array([x[0], x[1] * 2], dtype=float)",
            "float64[]",
            f"write primad.numpy.array([x[0], x[1] * 2], dtype=float): {LISTS}",
        ),
        lambda x: primad.numpy.array([x[0], x[1] * 2], dtype=float),
    ),
    "np.array of rows": (
        lambda x: np.array([x, [1, 2, 3]]),
        needs("np.array([x, [1, 2, 3]])", "float64[3]", f"write primad.numpy.array([x, [1, 2, 3]]): {LISTS}"),
        lambda x: primad.numpy.array([x, [1, 2, 3]]),
    ),
    "np.asarray": (
        lambda x: np.asarray(x),
        needs("np.asarray(x)", "float64[3]", f"a traced array is an array already: leave np.asarray out; {READ}"),
        lambda x: x,
    ),
    "np.fromiter": (
        lambda x: np.fromiter((v * v for v in x), float),
        needs(
            "np.fromiter((v * v for v in x), float)",
            "float64[]",
            f"write primad.numpy.array([v * v for v in x], float): {LISTS}",
        ),
        lambda x: primad.numpy.array([v * v for v in x], float),
    ),
    "math.sin": (
        lambda x: math.sin(x[0]),
        needs("math.sin(x[0])", "float64[]", "use np.sin, which takes arrays and numbers."),
        lambda x: np.sin(x[0]),
    ),
    "a function of a list": (
        lambda x: np.sin([x[0], 1.0]),
        "np.sin([x[0], 1.0]): loop of ufunc does not support argument 1 of type float which has no callable sin "
        "method\n"
        "  NumPy puts traced numbers into an array of objects, and computes on that with operators only, as on "
        f"Fractions.\n  Fix: write primad.numpy.sin([x[0], 1.0]): {LISTS}",
        lambda x: primad.numpy.sin([x[0], 1.0]),
    ),
    "the mean of a list": (
        lambda x: np.mean([x[0], x[1]]),
        needs("np.mean([x[0], x[1]])", "float64[]", f"write primad.numpy.mean([x[0], x[1]]): {LISTS}"),
        lambda x: pnp.mean([x[0], x[1]]),
    ),
    "a solver of SciPy": (
        lambda x: scipy.linalg.solve(A, x),
        needs(
            "scipy.linalg.solve(A, x)", "float64[3]", f"call primad.scipy.linalg.solve, {MIRRORED}; {READ}"
        ),
        lambda x: primad.scipy.linalg.solve(A, x),
    ),
    "a factorization of SciPy": (
        lambda x: scipy.linalg.cholesky(x * np.eye(3)),
        needs(
            "scipy.linalg.cholesky(x * np.eye(3))",
            "float64[3,3]",
            f"call primad.scipy.linalg.cholesky, {MIRRORED}; {READ}",
        ),
        lambda x: primad.scipy.linalg.cholesky((x * x + 1.0) * np.eye(3)),
    ),
    "an exponential of SciPy": (
        lambda x: scipy.linalg.expm(x * np.eye(3)),
        needs(
            "scipy.linalg.expm(x * np.eye(3))", "float64[3,3]", f"call primad.scipy.linalg.expm, {MIRRORED}; {READ}"
        ),
        lambda x: primad.scipy.linalg.expm(x * np.eye(3)),
    ),
    "a logarithm of SciPy": (
        lambda x: scipy.linalg.logm(x * np.eye(3)),
        needs("scipy.linalg.logm(x * np.eye(3))", "float64[3,3]", f"call primad.scipy.linalg.logm, {MIRRORED}; {READ}"),
        lambda x: primad.scipy.linalg.logm(x * np.eye(3)),
    ),
    "a power of a matrix": (
        lambda x: scipy.linalg.fractional_matrix_power(x * np.eye(3), 0.3),
        needs(
            "scipy.linalg.fractional_matrix_power(x * np.eye(3), 0.3)",
            "float64[3,3]",
            f"call primad.scipy.linalg.fractional_matrix_power, {MIRRORED}; {READ}",
        ),
        lambda x: primad.scipy.linalg.fractional_matrix_power(x * np.eye(3), 0.3),
    ),
    "a sparse matrix": (
        lambda x: S * x,
        "S * x: a value of type csr_array cannot meet a traced array\n"
        "  It is sparse: zeros are not among its elements.\n"
        "  Fix: A @ x and x @ A are recorded; entries that depend on traced values are those of primad.scipy.sparse: "
        "csr_array((s * A.data, A.indices, A.indptr), shape=A.shape); of others use the dense array, A.toarray().",
        lambda x: S.toarray() * x,
    ),
    "a sparse system": (
        lambda x: scipy.sparse.linalg.spsolve(S, x),
        needs(
            "scipy.sparse.linalg.spsolve(S, x)",
            "float64[3]",
            "call primad.scipy.sparse.linalg.spsolve, whose derivative is that of the solution (import "
            f"primad.scipy.sparse.linalg); {READ}",
        ),
        lambda x: primad.scipy.sparse.linalg.spsolve(S, x),
    ),
    "a distribution": (
        lambda x: scipy.stats.norm.pdf(x),
        needs("scipy.stats.norm.pdf(x)", "float64[3]", f"call pdf {DISTRIBUTIONS}; {READ}"),
        lambda x: primad.scipy.stats.norm.pdf(x),
    ),
    "a spline": (
        lambda x: scipy.interpolate.CubicSpline(X, x)(1.5),
        needs(
            "scipy.interpolate.CubicSpline(X, x)",
            "float64[3]",
            f"call primad.scipy.interpolate.CubicSpline, which is recorded (import primad.scipy.interpolate); {READ}",
        ),
        lambda x: primad.scipy.interpolate.CubicSpline(X, x)(1.5),
    ),
    "another interpolation": (
        lambda x: scipy.interpolate.KroghInterpolator(X, x)(1.5),
        elsewhere("scipy.interpolate.KroghInterpolator(X, x)", "float64[3]", "scipy.interpolate.KroghInterpolator"),
        lambda x: x,
    ),
    "an integrator": (
        lambda x: scipy.integrate.odeint(lambda y, t: -x[0] * y, 1.0, [0, 1]),
        needs(
            "scipy.integrate.odeint(lambda y, t: -x[0] * y, 1.0, [0, 1])",
            "float64[1]",
            f"call primad.scipy.integrate.odeint, which is recorded (import primad.scipy.integrate); {READ}",
        ),
        lambda x: np.exp(-x[0]),
    ),
    "a root finder": (
        lambda x: root(x[0]),
        needs(
            "scipy.optimize.brentq(lambda t: t ** 3 - c, 0.0, 2.0)",
            "float64[]",
            "call primad.scipy.optimize.brentq, whose derivative is that of what it finds (import "
            f"primad.scipy.optimize); {READ}",
        ),
        lambda x: primad.scipy.optimize.brentq(lambda t: t**3 - x[0], 0.0, 2.0),
    ),
    "a special function in Python": (
        lambda x: scipy.special.softmax(x),
        needs(
            "scipy.special.softmax(x)",
            "float64[3]",
            f"call primad.numpy.special.softmax; {READ}",
        ),
        lambda x: primad.numpy.special.softmax(x) * np.arange(3.0),
    ),
    "round": (
        lambda x: round(x[0]),
        "round(x) of a traced array\n  Python's is an integer, of one number.\n"
        "  Fix: np.round(x) rounds; its derivative is 0.",
        lambda x: np.floor(x[::2] + 0.5),
    ),
    "round to digits": (
        lambda x: round(x, 1),
        "round(x) of a traced array\n  Python's is of one number.\n  Fix: np.round(x, 1) rounds; its derivative is 0.",
        lambda x: x[:2] - round(x[0] * 0, 1),
    ),
    "a shift": (
        lambda x: x << 1,
        "a shift of bits needs integers, got float64[3]\n  Fix: cast to int64.",
        lambda x: x * 2,
    ),
    "statistics": (
        lambda x: statistics.mean(x),
        "statistics.mean(x), on a traced array: can't convert a traced array to numerator/denominator\n"
        f"  Fix: np.mean, np.median, np.std and np.var, of an array; {JOIN}.",
        lambda x: np.mean(x),
    ),
    "an unknown method": (
        lambda x: x.meen(),
        "a traced array has no attribute 'meen'\n  Fix: did you mean mean?",
        lambda x: x.mean(),
    ),
    "a method that is missing": (
        lambda x: x.tobytes(),
        "a traced array has no attribute 'tobytes'\n  Fix: primad.value(x).tobytes is that of the plain array, without "
        "a derivative; dir(x) lists what traced ones have.",
        lambda x: x.astype(np.float32),
    ),
    "a function that is missing": (
        lambda x: np.ix_(x),
        "np.ix_ has no implementation for traced arrays\n"
        "  It makes plain arrays, of lengths and positions.\n"
        "  Fix: write it with functions of primad.numpy, or have it called as it is: primad.opaque, with a rule by "
        "primad.custom_jvp.",
        lambda x: solve(A, x),
    ),
    "a keyword that is missing": (
        lambda x: np.broadcast_to(x, (2, *x.shape), subok=True),
        "np.broadcast_to on a traced array: got an unexpected keyword argument 'subok'\n"
        "  Some of NumPy's options are not supported there.\n"
        "  Fix: write what it does with other functions; primad.numpy's docstrings say what they take.",
        lambda x: np.broadcast_to(x, (2, *x.shape)),
    ),
    "an iterator": (
        lambda x: list(np.nditer(x)),
        elsewhere("np.nditer(x)", "float64[3]", "np.nditer"),
        lambda x: list(x)[1],
    ),
    "an index": (
        lambda x: np.arange(3)[x[0]],
        needs("np.arange(3)[x[0]]", "float64[]", f"{READ[:-1]}; {JOIN}."),
        lambda x: np.arange(3.0)[int(primad.value(x[0]))] * x,
    ),
    "an operator that Python lacks": (
        lambda x: "a" + x,
        "'a' + x: an operator between a traced array of type float64[3] and a text, 'a'\n"
        "  Fix: convert it: float(text), or np.array(texts).astype(float).",
        lambda x: x,
    ),
}  # fmt: skip


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", MISTAKES)
def test_the_whole_message_of_a_mistake_and_its_way_out(name: str) -> None:
    wrong, message, right = MISTAKES[name]
    with pytest.raises(PrimadError) as caught:
        primad.grad(lambda x: np.sum(wrong(x)))(X)
    told, _, where = str(caught.value).rpartition("\n  in ")
    assert told == message
    file, _, line = where.rpartition(":")
    assert file == __file__ and int(line) in range(1, 410)
    primad.check_grads(lambda x: np.sum(right(x)), (X,), order=2)


def test_the_way_out_for_functions_that_cannot_be_recorded_has_every_transform() -> None:
    inverse = np.linalg.inv(A)
    for jacobian in (primad.jacfwd, primad.jacrev):
        np.testing.assert_allclose(jacobian(lambda x: solve(A, x))(X), inverse, atol=1e-14)
    hessian = primad.hessian(lambda x: np.sum(solve(A, x) ** 2))(X)
    np.testing.assert_allclose(np.asarray(hessian), 2 * inverse.T @ inverse)
    np.testing.assert_allclose(primad.jit(solve)(A, X), inverse @ X)
    np.testing.assert_allclose(
        primad.vmap(solve, in_axes=(None, 0))(A, np.stack([X, A[0]])), [inverse @ X, inverse @ A[0]]
    )

    def by_matrix(m: Any) -> Any:
        return np.sum(solve(m, X) ** 2)

    np.testing.assert_allclose(primad.grad(by_matrix)(A), -2 * np.outer(inverse.T @ inverse @ X, inverse @ X))
    primad.check_grads(by_matrix, (A,), order=2)


@pytest.mark.parametrize("name", [name for name in dir(math) if callable(getattr(math, name)) and name[0] != "_"])
def test_every_function_of_math_names_what_to_call(name: str) -> None:
    function = getattr(math, name)
    for arguments in ((X[0],), (X[0], X[1]), (X[0], X[1], X[2]), (list(X),), (list(X), list(X))):
        with contextlib.suppress(TypeError, ValueError):
            function(*arguments)
            break
    else:
        pytest.skip("a function of integers")
    try:
        found = run_once(lambda *arguments: function(*arguments), arguments)
    except PrimadError as error:
        told = str(error)
    else:  # Python computes it with operators
        np.testing.assert_allclose(found, function(*arguments))
        return
    assert told.startswith("function(*arguments)") and f"\n  in {__file__}:" in told
    fix = told.partition("Fix: ")[2]
    named = fix.removeprefix("use ").split(",")[0].removesuffix("(x)")
    if named.startswith("np.") and "(x" in named:
        assert run_once(eval(f"lambda x: {named}", {"np": np, "primad": primad}), (X[0],)) == pytest.approx(
            function(X[0])
        )
    elif named.startswith("np."):
        recommended = eval(named, {"np": np, "primad": primad})
        assert recommended in UFUNCS or recommended in FUNCTIONS, told
    elif named.startswith("primad.numpy.special"):
        recommended = eval(named, {"np": np, "primad": primad})
        run_once(recommended, (X[0],))
    else:
        assert READ in fix or "π" in fix or "np." in fix


def test_without_the_source_the_message_names_every_way_out() -> None:
    scope: dict[str, Any] = {"np": np, "math": math}
    exec("def writes(x):\n    y = np.zeros(3)\n    y[0] = x[0]\n    return y", scope)
    exec("def sine(x):\n    return math.sin(x[0])", scope)
    with pytest.raises(
        PrimadError,
        match=r"^y\[i\] = … needs the numbers.*\n.*\n  Fix: y = primad.numpy.array\(y\) before.*set_at\(y, i, value\)",
    ):
        primad.grad(lambda x: np.sum(scope["writes"](x)))(X)
    with pytest.raises(PrimadError, match=r"^float\(x\) needs the numbers(?s:.*)written to.*array.*np\.sin"):
        primad.grad(lambda x: np.sum(scope["sine"](x)))(X)


def test_a_list_as_an_argument() -> None:
    with pytest.raises(PrimadError) as caught:
        primad.grad(lambda x: np.sum(x**2))([1.0, 2.0])
    assert str(caught.value).splitlines()[:3] == [
        "x ** 2: unsupported operand type(s) for ** or pow(): 'list' and 'int'",
        "  Argument 0 is a list of numbers: to primad a tree of numbers, not an array.",
        "  Fix: pass an array: np.array([…]).",
    ]


class Own(ValueError):
    """A user's error."""


def test_errors_of_the_user_stay_the_users() -> None:
    def raises(x: Any) -> Any:
        raise Own("mine")

    def after_a_refusal(x: Any) -> Any:
        try:
            return float(x)
        except TypeError:
            raise Own("mine") from None

    def because_of_a_refusal(x: Any) -> Any:
        try:
            return math.sin(x)
        except TypeError as error:
            raise Own("mine") from error

    for function in (raises, after_a_refusal, because_of_a_refusal):
        for transform in (primad.grad, primad.jit, primad.vmap, lambda f: primad.grad(primad.jit(f))):
            with pytest.raises(Own, match=r"^mine$"):
                transform(function)(X if transform is primad.vmap else 1.0)
    with pytest.raises(ZeroDivisionError):
        primad.grad(lambda x: x * (1 // 0))(1.0)
    with pytest.raises(KeyError):
        primad.grad(lambda x: {}["a"])(1.0)
    with pytest.raises(TypeError, match="missing 1 required") as caught:
        primad.grad(lambda x: sets())(X)  # type: ignore[call-arg]
    assert not isinstance(caught.value, PrimadError)
    assert explained(ValueError("no traceback"), (), Trace()) is None


def test_a_refusal_that_was_handled_leaves_the_array_as_it_was() -> None:
    def careful(x: Any) -> Any:
        try:
            return float(x[0])
        except TypeError:
            return x[0][()] + x[0][None][0] + x[0][...]

    np.testing.assert_array_equal(primad.grad(careful)(X), [3.0, 0.0, 0.0])


def test_copies_of_a_traced_array_are_the_array() -> None:
    np.testing.assert_array_equal(primad.grad(lambda x: np.sum(copy.deepcopy([x])[0] * copy.copy(x)))(X), 2 * X)


def test_lists_of_traced_numbers_are_arrays_for_primads_functions() -> None:
    for function in (pnp.mean, pnp.sum, pnp.std, pnp.var, pnp.norm, pnp.max, pnp.min, pnp.prod, pnp.sort, pnp.cumsum):
        got, plain = run_once(lambda x, f=function: f([x[0], 2.0, x[1]]), (X,)), function([X[0], 2.0, X[1]])
        np.testing.assert_allclose(got, plain)
        assert np.shape(got) == np.shape(plain)
    np.testing.assert_allclose(
        run_once(lambda x: pnp.add([[x[0]], [x[1]]], [x[2], 1.0]), (X,)), X[:2, None] + [X[2], 1.0]
    )


# -- everything that NumPy has -----------------------------------------------------------------------------------------

V, M = np.array([0.3, 1.5, 2.5]), 0.1 * np.arange(1.0, 10.0).reshape(3, 3) + np.eye(3)
OUTSIDE = {
    "info", "show_config", "show_runtime", "set_printoptions", "printoptions", "seterr", "seterrcall", "setbufsize",
    "save", "savez", "savez_compressed", "savetxt", "load", "loadtxt", "genfromtxt", "fromfile", "fromregex", "memmap",
    "test", "bmat",
}  # fmt: skip
"""Functions that read and write files or settings, or take names of variables."""
OTHERWISE = {
    "isscalar": "NumPy means its scalars and Python's numbers only",
    "empty_like": "its elements are what the memory holds",
    "polydiv": "leading coefficients of a remainder stay, if they are 0: shapes do not depend on values",
}
"""Where another result than NumPy's is right, and why."""
FORMS: dict[str, Callable[[Any, Any], tuple[Any, ...]]] = {
    "x": lambda x, m: (x,),
    "m": lambda x, m: (m,),
    "x[0]": lambda x, m: (x[0],),
    "x, x": lambda x, m: (x, x),
    "x, 2": lambda x, m: (x, 2),
    "2, x": lambda x, m: (2, x),
    "m, m": lambda x, m: (m, m),
    "m, x": lambda x, m: (m, x),
    "[x, x]": lambda x, m: ([x, x],),
    "x, plain": lambda x, m: (x, V.copy()),
    "x, x, x": lambda x, m: (x, x, x),
    "x > 1, x, 0": lambda x, m: (x > 1, x, 0),
    "x, 0, 1": lambda x, m: (x, 0, 1),
}


def functions() -> Iterator[tuple[str, Any]]:
    for module in (np, np.linalg, np.fft):
        for name in sorted(dir(module)):
            function = getattr(module, name)
            error = isinstance(function, type) and issubclass(function, (BaseException, np.dtype, np.generic))
            if name[0] != "_" and name not in OUTSIDE and callable(function) and not error:
                yield f"{module.__name__}.{name}", function


def same(found: Any, plain: Any) -> bool:
    """Say whether two results are equal; of a tree, its leaves."""
    if isinstance(plain, (list, tuple)):
        return len(found) == len(plain) and all(same(a, b) for a, b in zip(found, plain, strict=True))
    if plain is None or isinstance(plain, (str, type, np.dtype)) or callable(plain):
        return bool(found == plain)
    return np.shape(found) == np.shape(plain) and bool(np.allclose(found, plain, rtol=1e-10, equal_nan=True))


def foreign(call: Callable[..., Any], *arrays: Any) -> str:
    """Return what is wrong with a call on traced arrays; "" if it is right, an error of ours, or no call at all."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            plain = call(*copy.deepcopy(arrays))
        except Exception:
            return ""
        try:
            found = run_once(call, arrays)
        except PrimadError as error:
            return "" if f"\n  in {__file__}:" in str(error) else f"no line: {error}"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return "" if same(found, plain) else f"{found!r} and not {plain!r}"


@pytest.mark.one_in(6)
@pytest.mark.parametrize("form", FORMS)
def test_every_function_of_numpy_is_right_or_refused_by_primad(form: str) -> None:
    wrong = {
        name: told
        for name, function in functions()
        if name.rpartition(".")[2] not in OTHERWISE
        and (told := foreign(lambda x, m, f=function: f(*FORMS[form](x, m)), V, M))
    }
    assert not wrong


ARGUMENTS: tuple[tuple[Any, ...], ...] = ((), (0,), (1,), (-1,), (float,), (2, 2))


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
@pytest.mark.parametrize("array", [V, M, V[0]], ids=["vector", "matrix", "number"])
def test_every_attribute_of_an_array_is_right_or_refused_by_primad(array: Any, arguments: tuple[Any, ...]) -> None:
    def using(x: Any, name: str) -> Any:
        attribute = getattr(x, name)
        return attribute(*arguments) if callable(attribute) else attribute

    names = [name for name in dir(np.ndarray) if name[0] != "_"]
    wrong = {name: told for name in names if (told := foreign(lambda x, name=name: using(x, name), array))}
    assert not wrong


BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift", "lt",
    "le", "gt", "ge", "eq", "ne", "divmod",
)  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", BINARY)
def test_every_operator_is_right_or_refused_by_primad(name: str) -> None:
    apply = divmod if name == "divmod" else getattr(operator, name)
    others = (2, 2.0, True, V, V > 1, np.arange(1, 4), "a", None, [1, 2, 3], {}, 1j)
    arrays = (V, M, V[0], np.arange(1, 4), V > 1)
    wrong = {
        f"{array!r} and {other!r}": told
        for array in arrays
        for other in others
        for call in (lambda x, o=other: apply(x, o), lambda x, o=other: apply(o, x))
        if (told := foreign(call, array))
    }
    assert not wrong


@pytest.mark.parametrize(
    "name", ["abs", "neg", "pos", "invert", "float", "int", "complex", "bool", "len", "iter", "round"]
)
def test_every_conversion_is_right_or_refused_by_primad(name: str) -> None:
    apply = getattr(operator, name, None) or getattr(builtins, name)
    if name == "iter":
        apply = list
    for array in (V, M, V[0], np.arange(3), V > 1):
        told = foreign(lambda x: apply(x), array)
        assert not told


def test_an_error_that_c_code_went_on_with_is_told_and_not_what_failed_after_it() -> None:
    # SciPy's root finders call the function again with the refusal still set: whatever lookup misses Python's cache
    # then fails as if the attribute were missing, which this one does at any time.
    def root_of_a_failing_function(x: Any) -> Any:
        def cube(t: float) -> Any:
            return t**3 - x[0] if t == 0.0 else t.kind  # type: ignore[attr-defined]

        return scipy.optimize.brentq(cube, 0.0, 2.0)

    with pytest.raises(PrimadError, match="needs the numbers of a traced array"):
        primad.grad(root_of_a_failing_function)(X)


@pytest.mark.parametrize("other", [V.view(np.matrix), np.ma.masked_array(V, V > 0)], ids=["matrix", "masked"])
def test_arrays_whose_operators_mean_something_else_are_refused(other: Any) -> None:
    """As arguments, and where they meet traced arrays: elements would be multiplied that NumPy does not multiply."""
    meetings: dict[str, Callable[[Any], Any]] = {
        "*": lambda x: x * other,
        "+": lambda x: x + other,
        "multiply": lambda x: np.multiply(other, x),
        "maximum": lambda x: np.maximum(x, other),
        "where": lambda x: np.where(x > 0, x, other),
        "reflected *": lambda x: other * x,
        "reflected -": lambda x: other - x,
    }
    for meeting in meetings.values():
        with pytest.raises(primad.TracingError):
            primad.grad(lambda x, f=meeting: np.sum(f(x)))(V)
    with pytest.raises(primad.TracingError, match="plain array"):
        primad.jit(lambda x: x)(other)


@pytest.mark.parametrize("name", [name for name in special_names.names() if hasattr(scipy.special, name)])
def test_every_function_of_scipy_that_is_recorded_has_its_name_in_primad(name: str) -> None:
    """So that the way out of a list of traced values is there: `scipy.special.erf([x, y])`."""
    assert callable(getattr(pnp.special, name))


IN_PYTHON = [
    name
    for name in special_names.names()
    if callable(getattr(scipy.special, name, None)) and not isinstance(getattr(scipy.special, name), np.ufunc)
]


@pytest.mark.parametrize("name", IN_PYTHON)
def test_a_function_of_scipy_in_python_that_refuses_names_primads(name: str) -> None:
    """Also where it calls a ufunc that is SciPy's own secret, as lambertw and zeta do."""
    function, mine = getattr(scipy.special, name), getattr(pnp.special, name)
    for before, after in (((), ()), ((2,), ()), ((), (2,)), ((1, 2), ())):
        try:
            expected = np.sum(np.abs(np.asarray(function(*before, 1.7, *after))))
        except (TypeError, ValueError):  # it takes another number of arguments
            continue
        try:
            primad.grad(lambda x, before=before, after=after: np.sum(np.abs(function(*before, x, *after))))(1.7)
        except PrimadError as error:
            if "of a traced order" in str(error):
                continue
            assert f"primad.numpy.special.{name}" in str(error)
            with contextlib.suppress(primad.TracingError):  # of a traced order
                found = primad.jit(lambda x, before=before, after=after: np.sum(np.abs(mine(*before, x, *after))))(1.7)
                np.testing.assert_allclose(found, expected, rtol=1e-12)
        break


def test_a_ufunc_of_a_python_function_is_to_be_primads_vectorize() -> None:
    square = np.frompyfunc(lambda x: x**2, 1, 1)
    with pytest.raises(PrimadError, match=r"Fix: primad\.numpy\.vectorize\(function\)"):
        primad.grad(lambda x: np.sum(square(x)))(X)


@pytest.mark.parametrize("name", ["cbrt", "exp2", "expm1", "log1p", "psi"])
def test_scipys_names_of_numpys_functions(name: str) -> None:
    function = getattr(scipy.special, name)
    found = primad.jit(lambda x: function(x))(X)
    np.testing.assert_allclose(found, function(X), rtol=1e-14)
    primad.check_grads(lambda x: function(x), (1.0 + X,), order=2)


@pytest.mark.parametrize("name", ["pdtrik", "fdtridfd", "tklmbda", "kolmogorov", "nctdtr"])
def test_a_ufunc_of_scipy_that_is_missing_is_not_taken_for_another(name: str) -> None:
    """Its name is no slip of the hand: functions of similar names are others."""
    function = getattr(scipy.special, name)
    with pytest.raises(PrimadError, match=rf"^the ufunc scipy\.special\.{name} has no primitive") as caught:
        primad.grad(lambda x: function(*[x] * function.nin))(0.5)
    told = str(caught.value)
    assert "did you mean" not in told and f"primad.elementwise('{name}', {name}, [lambda out, x" in told


def test_suggestions_are_distinct() -> None:
    assert suggestion("expp1", ["expm1", "expm1", "expm1"]) == "did you mean expm1?"


@pytest.mark.parametrize("name", ["factorial2", "stirling2"])
def test_a_function_of_scipy_that_is_missing_says_so(name: str) -> None:
    function, rest = getattr(scipy.special, name), () if name.startswith("factorial") else (2.0,)
    with pytest.raises(PrimadError, match=f"Fix: primad has no {name}: write it with(?s:.*)primad.opaque") as caught:
        primad.grad(lambda x: function(x, *rest))(2.5)
    assert "unhashable" not in str(caught.value)


def test_a_function_of_scipy_given_to_a_transform_is_named() -> None:
    with pytest.raises(PrimadError, match=r"scipy.special.factorial2\(…\)(?s:.*)primad has no factorial2: write it"):
        primad.grad(scipy.special.factorial2)(2.5)
    with pytest.raises(PrimadError, match=r"call primad\.numpy\.special\.softmax;"):
        primad.jacobian(scipy.special.softmax)(X)


def test_a_function_in_a_variable_is_called_by_its_own_name() -> None:
    soft, determinant, root = scipy.special.softmax, scipy.linalg.det, math.exp
    for call, way in (
        (lambda x: soft(x)[0], "call primad.numpy.special.softmax;"),
        (lambda x: determinant(x[:, None] * x), "call primad.scipy.linalg.det,"),
        (lambda x: root(x[0]), "use np.exp,"),
    ):
        with pytest.raises(PrimadError, match=way):
            primad.grad(call)(X)


TABLE = np.arange(5.0) ** 2
ROWS = np.arange(10.0).reshape(5, 2)
LISTED = [0.0, 1.0, 4.0, 9.0, 16.0]


@pytest.mark.parametrize(
    ("taken", "ways"),
    [
        (lambda i: TABLE[i], ["primad.numpy.take(TABLE, i, axis=0)", "primad.numpy.array(TABLE)[i]"]),
        (lambda i: ROWS[i], ["primad.numpy.take(ROWS, i, axis=0)", "primad.numpy.array(ROWS)[i]"]),
        (lambda i: ROWS[i + 1], ["primad.numpy.take(ROWS, i + 1, axis=0)", "primad.numpy.array(ROWS)[i + 1]"]),
        (lambda i: ROWS[i, 1], ["primad.numpy.array(ROWS)[i, 1]"]),
        (lambda i: LISTED[i.sum()], ["primad.numpy.array(LISTED)[i.sum()]"]),
    ],
)
@pytest.mark.parametrize(
    "transform",
    [
        primad.jit,
        primad.vmap,
        lambda f: primad.vmap(lambda x: primad.grad(lambda y: np.sum(f(x) * y))(1.0)),
        lambda f: primad.jit(primad.grad(lambda x: np.sum(f(x) * x))),
    ],
    ids=["jit", "vmap", "vmap of grad", "jit of grad"],
)
def test_a_plain_array_at_traced_places_names_what_takes_them(taken: Any, ways: list[str], transform: Any) -> None:
    x = np.array([1.2])
    with pytest.raises(PrimadError) as caught:
        transform(lambda x: taken(np.floor(x).astype(int)))(x)
    for way in ways:
        assert way in str(caught.value)
        other = eval(f"lambda i: {way}", {**globals(), "primad": primad})
        transform(lambda x, other=other: other(np.floor(x).astype(int)))(x)
        np.testing.assert_array_equal(other(np.array([1])), taken(np.array([1])))
