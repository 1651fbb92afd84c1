"""Ways out that messages name: what was wrong raises with the way, and what takes the way runs."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import primad
import primad.numpy as pnp
from primad import PrimadError, nn
from primad.optimize import NewtonCG, Residuals
from primad.scipy.sparse.linalg import spsolve

X, A = np.array([0.25, 0.5, 0.75]), np.arange(6.0).reshape(2, 3)
IDENTITY = scipy.sparse.eye_array(3, format="csc")
SERIES = np.polynomial.Chebyshev.interpolate(np.cos, 5, domain=[0.0, 2.0])
SUMS = (
    np.polynomial.polynomial.polyval,
    np.polynomial.chebyshev.chebval,
    np.polynomial.legendre.legval,
    np.polynomial.hermite_e.hermeval,
)
Call = Callable[[], Any]


def same_derivatives(theirs: Any) -> None:
    """Compare the way out with NumPy's own function: it is linear in the coefficients."""
    ours = getattr(getattr(pnp.polynomial, theirs.__module__.rpartition(".")[2]), theirs.__name__)
    expected = [theirs(0.3, row) for row in np.eye(3)]
    np.testing.assert_allclose(primad.grad(lambda c: ours(0.3, c))(X), expected, rtol=1e-14)


def of(function: Callable[[Any], Any], x: Any = X) -> Call:
    """Record a function."""
    return lambda: primad.trace(function)(x)


PAIRS: dict[str, tuple[Call, str, Call]] = {
    "a product with a number": (of(lambda x: np.matmul(x, 2.0)), "x * y", of(lambda x: x * 2.0)),
    "lengths of a product": (
        of(lambda x: x @ np.ones((2, 2)), A),
        "x.T or y.T",
        of(lambda x: x.T @ np.ones((2, 2)), A),
    ),
    "broadcast": (of(lambda x: x + np.ones(2)), "x[:, None]", of(lambda x: x[:, None] + np.ones(2))),
    "an axis": (of(lambda x: np.sum(x, axis=3), A), "from 0 to 1", of(lambda x: np.sum(x, axis=1), A)),
    "two open lengths": (of(lambda x: np.reshape(x, (-1, -1)), A), "-1 once", of(lambda x: np.reshape(x, (-1, 2)), A)),
    "a series at several numbers": (
        of(lambda x: SERIES(x)),
        "primad.vmap(SERIES)",
        of(lambda x: primad.vmap(SERIES)(x)),
    ),
    "a derivative of a series": (
        of(lambda x: SERIES.deriv()(x)),
        "primad.vmap(SERIES.deriv())",
        of(lambda x: primad.vmap(SERIES.deriv())(x)),
    ),
    **{
        f"coefficients of a series: {f.__name__}": (
            of(lambda x, f=f: f(0.3, x)),
            f"primad.{f.__module__}.{f.__name__}",
            lambda f=f: same_derivatives(f),
        )
        for f in SUMS
    },
    "a series of coefficients": (
        of(lambda x: np.polynomial.Chebyshev(x)(0.3)),
        "primad.numpy.polynomial.chebyshev sums (…val(x, c))",
        of(lambda x: pnp.polynomial.chebyshev.chebval(0.3, x)),
    ),
    "a product of series": (
        of(lambda x: np.polynomial.legendre.legmul(x, x)),
        "derives, integrates and fits",
        of(lambda x: pnp.polynomial.legendre.legder(x)),
    ),
    "parts": (of(lambda x: np.split(x, 2)), "np.array_split", of(lambda x: np.array_split(x, 2))),
    "stacks": (
        of(lambda x: np.stack([x, x[:1]])),
        "np.broadcast_arrays",
        of(lambda x: np.stack(np.broadcast_arrays(x, x[:1]))),
    ),
    "a squeezed axis": (of(lambda x: np.squeeze(x, 1), A), "leave it out", of(lambda x: np.squeeze(x), A)),
    "letters": (of(lambda x: np.einsum("i->ij", x)), "each once", of(lambda x: np.einsum("i->i", x))),
    "a vector's plane": (
        of(lambda x: np.cross(x[:2], x[1:])),
        "append a zero",
        of(lambda x: np.cross(np.append(x[:2], 0.0), np.append(x[1:], 0.0))),
    ),
    "a square matrix": (of(lambda x: np.linalg.inv(x), A), "np.linalg.pinv", of(lambda x: np.linalg.pinv(x), A)),
    "an order of norms": (of(lambda x: np.linalg.norm(x, "fro")), "a number, as 2", of(lambda x: np.linalg.norm(x, 2))),
    "percents": (of(lambda x: np.quantile(x, 50.0)), "np.percentile", of(lambda x: np.percentile(x, 50.0))),
    "a wrapped index": (
        of(lambda x: np.take(x, [4], mode="odd")),
        "clip or wrap",
        of(lambda x: np.take(x, np.array([4]) % 3)),
    ),
    "index arrays": (
        of(lambda x: x[np.arange(2), np.arange(3)], A),
        "np.ix_",
        of(lambda x: x[np.ix_(np.arange(2), np.arange(3))], A),
    ),
    "axes of vmap": (
        lambda: primad.vmap(np.dot, in_axes=(0, 0))(A, A[:1]),
        "None for what all share",
        lambda: primad.vmap(np.dot, in_axes=(0, None))(A, X),
    ),
    "nothing is mapped": (
        lambda: primad.vmap(np.sin, in_axes=None)(X),
        "in_axes=0",
        lambda: primad.vmap(np.sin, in_axes=0)(X),
    ),
    "tangents": (
        lambda: primad.jvp(np.sin, X, X),
        "with the comma",
        lambda: primad.jvp(np.sin, (X,), (X,)),
    ),
    "an order of derivatives": (
        lambda: primad.derivative(np.sin, 1.5)(0.0),
        "as 2",
        lambda: primad.derivative(np.sin, 2)(0.0),
    ),
    "steps of a loop": (
        lambda: primad.scan(lambda c, _: (c + 1.0, c), 0.0, length=X),
        "x.shape[0]",
        lambda: primad.scan(lambda c, _: (c + 1.0, c), 0.0, length=X.shape[0]),
    ),
    "branches": (lambda: primad.switch(0, [], 1.0), "one at least", lambda: primad.switch(0, [np.sin], 1.0)),
    "a program's names": (
        lambda: primad.trace(np.sin)(X)(x=X),
        "without their names",
        lambda: primad.trace(np.sin)(X)(X),
    ),
    "an argument of a program": (
        lambda: primad.trace(np.sin)(X)(X[:2]),
        "record the function again",
        lambda: primad.trace(np.sin)(X[:2])(X[:2]),
    ),
    "forcing": (lambda: NewtonCG(forcing=2.0), "for 0.1", lambda: NewtonCG(forcing=0.1)),
    "a block of residuals": (lambda: Residuals(np.sin, block=0), "leave it out", lambda: Residuals(np.sin)),
    "a grouped convolution": (
        lambda: nn.conv(np.ones((1, 3, 4)), np.ones((2, 3, 2)), groups=2),
        "divide 3 channels",
        lambda: nn.conv(np.ones((1, 3, 4)), np.ones((3, 1, 2)), groups=3),
    ),
    "slopes": (lambda: nn.prelu(A, X[:2], axis=1), "or 3", lambda: nn.prelu(A, X, axis=1)),
    "groups of channels": (lambda: nn.maxout(A, 2, axis=1), "divides", lambda: nn.maxout(A, 3, axis=1)),
    "a right side": (
        of(lambda b: spsolve(IDENTITY, b), np.ones((3, 1, 1))),
        "reshape it to a matrix",
        of(lambda b: spsolve(IDENTITY, b), np.ones((3, 1))),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_way_out_works(name: str) -> None:
    wrong, way, right = PAIRS[name]
    with pytest.raises(PrimadError) as caught:
        wrong()
    fix = next((line for line in str(caught.value).splitlines() if line.startswith("  Fix: ")), "")
    assert way in fix, str(caught.value)
    right()


SAME = ("acosh", "asinh", "cbrt", "cos", "cosh", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "sin", "sinh",
        "sqrt", "tan", "tanh")  # fmt: skip
OTHER = {"asin": "np.arcsin", "atan": "np.arctan", "lgamma": "special.gammaln", "erf": "special.erf", "fabs": "np.abs"}
HANDLED = """
import math
import numpy as np
from math import log, sin as sine
from primad.numpy import special

def function(x):
    try:
        y = {call}
    except {kind}:
        y = {instead}
    return y * x
"""


def handled(folder: Path, call: str, instead: str, kind: str = "TypeError") -> Any:
    """Return a function that calls one of `math` in a `try`."""
    file = folder / "handled.py"
    file.write_text(HANDLED.format(call=call, instead=instead, kind=kind).replace("except :", "except:"))
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), file, "exec"), names)
    linecache.checkcache(str(file))
    return names["function"]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", [*SAME, *OTHER])
def test_what_catches_an_error_of_math_and_computes_the_same_is_differentiated(name: str, tmp_path: Path) -> None:
    of = OTHER.get(name, f"np.arc{name[1:]}" if name in ("acosh", "asinh") else f"np.{name}")
    function = handled(tmp_path, f"math.{name}(x * 1.5)", f"{of}(x * 1.5)", "(TypeError, OverflowError)")
    known = {"np": np, "special": primad.numpy.special}
    plain = eval(f"lambda x: {of}(x * 1.5) * x", known)
    x = 0.45 if name != "acosh" else 1.2
    assert function(x) == pytest.approx(float(plain(x)), rel=1e-14)  # by math
    for transform in (primad.grad, primad.jit, lambda f: primad.grad(primad.grad(f))):
        assert transform(function)(x) == transform(plain)(x)
    assert np.array_equal(primad.vmap(function)(np.array([x, x + 0.1])), plain(np.array([x, x + 0.1])))


@pytest.mark.parametrize(
    ("call", "instead", "kind"),
    [
        ("math.log(x)", "7.0", "TypeError"),
        ("math.log(x)", "np.sin(x)", "TypeError"),
        ("math.log(x)", "np.log(2.0 * x)", "TypeError"),
        ("math.exp(x)", "1e300", ""),
        ("math.log(x) + np.log(x)", "0.0", "TypeError"),
        ("math.log(x)", "[np.log(2.0)][0]", "(ValueError, TypeError)"),
    ],
)
def test_what_catches_an_error_of_math_and_computes_something_else_is_refused(
    call: str, instead: str, kind: str, tmp_path: Path
) -> None:
    function = handled(tmp_path, call, instead, kind)
    for transform in (primad.grad, primad.jit, primad.hessian):
        with pytest.raises(primad.TracingError, match="caught this error and went on"):
            transform(function)(0.3)


def test_names_that_a_module_gives_to_functions_of_math_are_seen_through(tmp_path: Path) -> None:
    for call, instead, slope in (("log(x)", "np.log(x)", 1.0 / 0.3), ("sine(x)", "np.sin(x)", np.cos(0.3))):
        function = handled(tmp_path, call, instead)
        found = primad.grad(lambda x, function=function: function(x) / x)(0.3)
        assert found == pytest.approx(slope, rel=1e-14)
