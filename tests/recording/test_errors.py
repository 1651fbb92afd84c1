"""Every mistake has one error class, and a message that says what, why, how to fix it, and where in the user's file."""

from __future__ import annotations

import ast
import copy
import inspect
import math
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from scipy import special

import primad
import primad.numpy as pnp
from primad import IndexShapeError, NotDifferentiableError, PrimadError, ShapeError, TracingError
from primad.errors import ArraySizeError, MissingAttributeError
from primad.numpy.special import logsumexp
from tests.sources import trees

X = np.array([1.0, 2.0, 3.0])
F64 = primad.ArrayType((), float)
Case = tuple[Callable[[], Any], type[Exception], str]


def under_grad(f: Callable[[Any], Any], x: Any = X) -> Callable[[], Any]:
    return lambda: primad.grad(lambda x: np.sum(f(x)))(x)


def under_jit(f: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    return lambda: primad.jit(f)(*(args or (X,)))


def write_in_place(x: Any) -> Any:
    a = np.zeros(3)
    a[0] = x[0]
    return a


def write_slice(x: Any) -> Any:
    a = np.zeros(3)
    a[:2] = x[:2]
    return a


def write_to_traced(x: Any) -> Any:
    x[0] = 1.0
    return x


def add_in_place(x: Any) -> Any:
    a = np.zeros(3)
    a += x
    return a


def branch(x: Any) -> Any:
    return x if x[0] > 0 else -x


def keep(x: Any) -> Any:
    KEPT.append(x)
    return np.sum(x)


KEPT: list[Any] = []
primad.grad(keep)(X)

no_jvp = primad.Primitive(
    name="no_derivative", kind="custom", numpy=np.sin, infer=lambda x: x, doc="A record without a derivative."
)

LOST = "would silently lose the derivative"
TRACING: dict[str, Case] = {
    "float(x)": (
        under_grad(lambda x: float(x[0])),
        TracingError,
        r"float\(x\[0\]\) needs.*" + LOST + r".*primad\.value\(x\)",
    ),
    "complex(x)": (under_grad(lambda x: complex(x[0])), TracingError, r"complex\(x\[0\]\) needs.*" + LOST),
    "x.item()": (under_grad(lambda x: x[0].item()), TracingError, r"x\[0\]\.item\(\) needs.*" + LOST),
    "x.tolist()": (under_grad(lambda x: x.tolist()), TracingError, r"x\.tolist\(\).*" + LOST),
    "math.sin(x)": (
        under_grad(lambda x: math.sin(x[0])),
        TracingError,
        r"math\.sin\(x\[0\]\) needs.*" + LOST + ".*use np.sin",
    ),
    "np.array of traced": (
        under_grad(lambda x: np.array([x[0], x[1]], float)),
        TracingError,
        r"np\.array.*" + LOST + r".*primad\.numpy\.array",
    ),
    "np.asarray(x)": (under_grad(lambda x: np.asarray(x)), TracingError, r"np\.asarray\(x\).*" + LOST),
    "a[:2] = x": (under_grad(write_slice), TracingError, r"a\[:2\] = x\[:2\] needs.*" + LOST + r".*np\.s_\[:2\]"),
    "x[0] = 1": (under_grad(write_to_traced), TracingError, r"written to in place.*immutable.*copy.*set_at"),
    "a += x": (under_grad(add_in_place), TracingError, r"add .*existing array.*lose the derivative.*a = a \+ x"),
    "out= of a ufunc": (under_grad(lambda x: np.sin(x, out=np.zeros(3))), TracingError, r"np\.sin.*existing array"),
    "out= of a function": (under_grad(lambda x: np.sum(x, axis=0, out=np.zeros(()))), TracingError, r"sum with out="),
    "out= of primad.numpy": (under_grad(lambda x: pnp.exp(x, out=np.zeros(3))), TracingError, r"exp with out="),
    "where=": (under_grad(lambda x: np.log(x, where=x > 0)), TracingError, r"log with where=.*primad\.numpy\.where"),
    "dtype= of a ufunc": (
        under_grad(lambda x: np.add(x, 1.0, dtype=np.int32)),
        TracingError,
        r"results of dtype int32.*astype",
    ),
    "pickle": (under_grad(lambda x: pickle.dumps(x)), TracingError, "cannot be pickled"),
    "bool under jit": (under_jit(branch), TracingError, r"truth value.*jit, vmap or trace.*primad\.numpy\.where"),
    "bool under trace": (lambda: primad.trace(branch)(X), TracingError, "truth value.*jit, vmap or trace"),
    "bool under vmap": (lambda: primad.vmap(branch)(np.ones((2, 3))), TracingError, "truth value.*jit, vmap or trace"),
    "int under jit": (under_jit(lambda n: int(n), 3), TracingError, "integer value"),
    "range under jit": (under_jit(lambda n: sum(range(n)), 3), TracingError, "integer value"),
    "mask under jit": (under_jit(lambda x: x[x > 0]), TracingError, "boolean index"),
    "value under jit": (under_jit(lambda x: primad.value(x)), TracingError, "the value of a traced array"),
    "index a plain array under jit": (
        under_jit(lambda i: X[i], np.array([0, 1])),
        TracingError,
        r"primad\.numpy\.take",
    ),
    "escaped": (lambda: KEPT[0] + 1.0, TracingError, r"used after its trace ended.*keep.*return it"),
    "escaped into another trace": (under_grad(lambda x: x * KEPT[0]), TracingError, "used after its trace ended"),
    "escaped and read": (lambda: bool(KEPT[0][0] > 0), TracingError, "used after its trace ended"),
    "escaped and returned": (under_grad(lambda x: KEPT[0]), TracingError, "used after its trace ended"),
    "unsupported ufunc": (
        under_grad(lambda x: special.tklmbda(1.0, x)),
        TracingError,
        r"tklmbda.*no primitive.*primad\.elementwise",
    ),
    "unsupported function": (
        under_grad(lambda x: np.datetime_as_string(x)),
        TracingError,
        r"np\.datetime_as_string.*text.*primad.numpy",
    ),
    "unsupported ufunc method": (under_grad(lambda x: np.multiply.at(x, [0], 2.0)), TracingError, "multiply.at"),
    "unsupported attribute": (under_grad(lambda x: x.byteswap()), MissingAttributeError, "byteswap"),
    "one-argument where": (lambda: primad.jit(lambda x: np.where(x > 0))(X), TracingError, "pass both values"),
    "complex input": (lambda: primad.grad(np.sum)(X + 1j), NotDifferentiableError, "by a complex argument.*wirtinger"),
    "complex constant": (under_grad(lambda x: np.sum(x * 1j)), NotDifferentiableError, "by real arguments.*jacobian"),
    "object input": (lambda: primad.grad(np.sum)(np.array([1.0, None])), TracingError, "object are not supported"),
    "object constant": (under_grad(lambda x: x * np.array([1.0, None])), TracingError, "object are not supported"),
    "string array": (lambda: primad.jit(np.sum)(np.array(["a"])), TracingError, "not supported"),
    "long double": (lambda: primad.jit(np.sum)(np.ones(2, np.longdouble)), TracingError, "not supported"),
    "string argument": (lambda: primad.grad(np.sum)("abc"), TracingError, "type str"),
    "None returned": (lambda: primad.jit(lambda x: "text")(X), TracingError, "returned str"),
    "function returned": (lambda: primad.jit(lambda x: np.sin)(X), TracingError, "returned"),
    "set_at with a traced index": (
        under_jit(lambda i: pnp.set_at(X, i, 1.0), np.array([0, 1])),
        TracingError,
        "repetitions.*add_at",
    ),
    "unhashable static argument": (
        lambda: primad.jit(lambda x, s: x, static_argnums=1)(X, [1, 2]),
        TracingError,
        "not hashable",
    ),
    "negation of booleans": (under_jit(lambda x: -(x > 0)), TracingError, "negative does not take.*bool"),
    "& of floats": (under_jit(lambda x: x & x), TracingError, "bitwise_and does not take.*float64"),
    "argnums out of range": (lambda: primad.grad(np.sum, argnums=1)(X), TracingError, "argnums=1.*1 positional"),
    "argnums of another type": (lambda: primad.grad(np.sum, argnums="x")(X), TracingError, "argnums must be integers"),
    "hessian argnums": (lambda: primad.hessian(np.sum, argnums=(0, 3))(X), TracingError, "argnums"),
}

DIFFERENTIABLE: dict[str, Case] = {
    "int argument": (lambda: primad.grad(lambda x: x * 2.0)(3), NotDifferentiableError, r"int64.*pass a float \(3\.0"),
    "int array": (lambda: primad.grad(np.sum)(np.arange(3)), NotDifferentiableError, r"int64.*astype\(float\)"),
    "bool array": (lambda: primad.grad(np.sum)(X > 0), NotDifferentiableError, "bool"),
    "int argument of jvp": (lambda: primad.jvp(np.sin, (3,), (1.0,)), NotDifferentiableError, "int64"),
    "int argument of vjp": (lambda: primad.vjp(np.sin, 3), NotDifferentiableError, "int64"),
    "int argument of jacobian": (lambda: primad.jacobian(np.sin)(3), NotDifferentiableError, "jacobian.*int64"),
    "int argument of linearize": (lambda: primad.linearize(np.sin, 3), NotDifferentiableError, "int64"),
    "int leaf of a tree": (lambda: primad.grad(lambda p: p["a"] * 1.0)({"a": 1}), NotDifferentiableError, "int64"),
    "int result": (
        lambda: primad.grad(lambda x: np.argmax(x))(X),
        NotDifferentiableError,
        "result of grad has dtype int64",
    ),
    "bool result": (lambda: primad.grad(lambda x: x > 0)(1.0), NotDifferentiableError, "result of grad has dtype bool"),
    "int result of jacobian": (lambda: primad.jacfwd(np.argsort)(X), NotDifferentiableError, "result.*int64"),
    "missing rule": (under_grad(lambda x: no_jvp(x)), NotDifferentiableError, r"no_derivative has no .*never a zero"),
    "missing rule, forward": (
        lambda: primad.jvp(lambda x: no_jvp(x), (X,), (X,)),
        NotDifferentiableError,
        "no_derivative has no .*custom_jvp",
    ),
    "coupled derivative": (
        lambda: primad.derivative(np.cumsum)(X),
        NotDifferentiableError,
        r"couples elements through cumsum.*primad\.jacobian",
    ),
    "derivative of a reduction": (lambda: primad.derivative(np.sum)(X), NotDifferentiableError, "elementwise"),
    "transposing a product": (
        lambda: primad.linear_transpose(lambda x: x * x, X),
        NotDifferentiableError,
        "not linear",
    ),
    "transposing an affine function": (
        lambda: primad.linear_transpose(lambda x: x + 1.0, X),
        NotDifferentiableError,
        r"affine.*primad\.linearize",
    ),
    "transposing where one of two results is a captured array": (
        lambda: primad.linear_transpose(lambda x: (2.0 * x, X), X),
        NotDifferentiableError,
        "an output does not depend",
    ),
    "transposing where one of two results is a number": (
        lambda: primad.linear_transpose(lambda x: (x**0, 2.0 * x), X),
        NotDifferentiableError,
        "an output does not depend",
    ),
}

SHAPES: dict[str, Case] = {
    "vector-valued grad": (
        lambda: primad.grad(np.sin)(X),
        ShapeError,
        r"scalar result, got float64\[3\].*primad\.jacobian",
    ),
    "tuple-valued grad": (lambda: primad.grad(lambda x: (x, x))(1.0), ShapeError, "scalar result"),
    "grad of nothing": (lambda: primad.grad(lambda x: ())(1.0), ShapeError, "scalar result, got nothing"),
    "has_aux without a pair": (lambda: primad.grad(np.sum, has_aux=True)(X), ShapeError, "pair"),
    "broadcast": (under_jit(lambda x: x + np.ones(4)), ShapeError, r"add: shapes \(3,\) and \(4,\) do not broadcast"),
    "broadcast_to": (under_jit(lambda x: np.broadcast_to(x, (2, 4))), ShapeError, "does not broadcast"),
    "absurd broadcast_to": (
        under_jit(lambda x: np.broadcast_to(x[0], 10**15)),
        ArraySizeError,
        "larger than any memory",
    ),
    "absurd tile": (under_jit(lambda x: np.tile(x, 10**15)), ArraySizeError, "larger than any memory"),
    "absurd outer": (
        under_jit(lambda x: np.broadcast_to(x[:, None], (3, 10**9)).T @ np.broadcast_to(x[:, None], (3, 10**9))),
        ArraySizeError,
        "larger than any memory",
    ),
    "absurd pad": (under_jit(lambda x: np.pad(x, 10**15)), ArraySizeError, "larger than any memory"),
    "negative size": (under_jit(lambda x: np.broadcast_to(x[0], (-1,))), ShapeError, "-1|negative"),
    "reshape": (under_jit(lambda x: np.reshape(x, (2, 2))), ShapeError, r"reshape.*\(3,\)"),
    "reshape with two open lengths": (under_jit(lambda x: x.reshape(-1, -1)), ShapeError, "more than one"),
    "reshape that does not divide": (under_jit(lambda x: x.reshape(-1, 2)), ShapeError, "reshape"),
    "order of reshape": (under_jit(lambda x: x.reshape(3, 1, order="K")), ShapeError, "got 'K'"),
    "axis of sum": (under_jit(lambda x: np.sum(x, axis=1)), ShapeError, "sum: axis 1 is out of range.* 1 axis"),
    "axis of mean": (under_jit(lambda x: np.mean(x, axis=-2)), ShapeError, "mean: axis -2 is out of range"),
    "repeated axis": (under_jit(lambda x: np.sum(x, axis=(0, 0))), ShapeError, "twice"),
    "axis of sort": (under_jit(lambda x: np.sort(x, axis=3)), ShapeError, "sort: axis 3"),
    "axis of concatenate": (under_jit(lambda x: np.concatenate([x, x], axis=1)), ShapeError, "concatenate: axis 1"),
    "axis of cumsum": (under_jit(lambda x: np.cumsum(x, axis=1)), ShapeError, "cumsum: axis 1"),
    "axes of transpose": (under_jit(lambda x: np.transpose(x, (0, 1))), ShapeError, "transpose"),
    "repeated axes of transpose": (under_jit(lambda x: np.transpose(x[None], (0, 0))), ShapeError, "permute|transpose"),
    "squeeze": (under_jit(lambda x: np.squeeze(x, 0)), ShapeError, "squeeze: axis 0"),
    "concatenate": (under_jit(lambda x: np.concatenate([x[None], np.ones((1, 2))])), ShapeError, "concatenate"),
    "concatenate of unequal ndim": (under_jit(lambda x: np.concatenate([x, x[None]])), ShapeError, "concatenate"),
    "stack": (under_jit(lambda x: np.stack([x, x[:2]])), ShapeError, r"stack: shapes \[\(3,\), \(2,\)\] differ"),
    "split": (under_jit(lambda x: np.split(x, 2)), ShapeError, "cannot be split into 2"),
    "matmul": (
        under_jit(lambda x: x @ np.ones((2, 3))),
        ShapeError,
        r"matmul: shapes \(3,\) and \(2, 3\) do not fit.*\(3\).*\(2\)",
    ),
    "matmul from the left": (under_jit(lambda x: np.ones((3, 2)) @ x), ShapeError, "matmul: shapes"),
    "matmul of a number": (under_jit(lambda x: x @ 2.0), ShapeError, r"matmul.*use \*"),
    "leading axes of matmul": (
        under_jit(lambda x: np.broadcast_to(x, (2, 3, 3)) @ np.ones((4, 3, 3))),
        ShapeError,
        "matmul: leading axes",
    ),
    "dot": (under_jit(lambda x: np.dot(x, np.ones(2))), ShapeError, "do not fit"),
    "tensordot": (under_jit(lambda x: np.tensordot(x, np.ones((2, 3)), 1)), ShapeError, "contract|tensordot"),
    "einsum result letter": (under_jit(lambda x: np.einsum("i->j", x)), ShapeError, "einsum.*'j'.*unknown"),
    "einsum letters": (under_jit(lambda x: np.einsum("ij->i", x)), ShapeError, r"einsum: 'ij'.*shape \(3,\)"),
    "einsum operands": (under_jit(lambda x: np.einsum("i,i->", x)), ShapeError, "einsum.*2 operands, got 1"),
    "einsum lengths": (
        under_jit(lambda x: np.einsum("i,i->", x, np.ones(4))),
        ShapeError,
        "letter 'i'.*lengths 3 and 4",
    ),
    "einsum characters": (under_jit(lambda x: np.einsum("i$->", x)), ShapeError, "einsum.*letters"),
    "trace of a vector": (under_jit(lambda x: np.trace(x)), ShapeError, "trace: axis 1"),
    "diag of a cube": (under_jit(lambda x: np.diag(x[:, None, None])), ShapeError, "diag"),
    "cross": (under_jit(lambda x: np.cross(x[:2], x[:2])), ShapeError, "cross.*length 3"),
    "max of nothing": (under_jit(lambda x: np.max(x[:0])), ShapeError, "empty"),
    "where": (under_jit(lambda x: np.where(np.ones(4) > 0, x, 0.0)), ShapeError, "where.*shapes"),
    "logsumexp axis": (under_jit(lambda x: logsumexp(x, axis=2)), ShapeError, "logsumexp: axis 2"),
    "tangent shape": (
        lambda: primad.jvp(np.sin, (X,), (np.ones(2),)),
        ShapeError,
        r"tangents of jvp\(sin\).*float64\[3\].*float64\[2\]",
    ),
    "tangent dtype": (
        lambda: primad.jvp(np.sin, (X,), (X.astype(np.float32),)),
        ShapeError,
        r"expected dtype float64, got float32.*astype\('float64'\)",
    ),
    "tangent structure": (lambda: primad.jvp(np.sin, (X,), ({"a": X},)), ShapeError, "tangents.*tree"),
    "number of tangents": (lambda: primad.jvp(np.sin, (X,), (X, X)), ShapeError, "tangents.*tree"),
    "tangents not in a tuple": (lambda: primad.jvp(np.sin, (X,), X), ShapeError, "tangents must be a tuple"),
    "primals not in a tuple": (lambda: primad.jvp(np.sin, X, (X,)), ShapeError, "primals must be a tuple"),
    "tangent of linearize": (
        lambda: primad.linearize(np.sin, X)[1](np.ones(2)),
        ShapeError,
        r"tangents of linearize\(sin\)",
    ),
    "cotangent shape": (
        lambda: primad.vjp(np.sin, X)[1](np.ones(2)),
        ShapeError,
        r"cotangent of vjp\(sin\).*float64\[2\]",
    ),
    "cotangent dtype": (
        lambda: primad.vjp(np.sin, X)[1](X.astype(np.float32)),
        ShapeError,
        "dtype float64, got float32",
    ),
    "cotangent structure": (lambda: primad.vjp(lambda x: (x, x), X)[1](X), ShapeError, "cotangent.*tree"),
    "hvp vector": (lambda: primad.hvp(lambda x: np.sum(x**2), X, np.ones(2)), ShapeError, "tangents"),
    "vmap lengths": (lambda: primad.vmap(np.add)(np.ones(2), np.ones(3)), ShapeError, "different lengths, 2 and 3"),
    "vmap of numbers": (lambda: primad.vmap(np.sin)(1.0), ShapeError, "in_axes 0 does not fit.*0 axes"),
    "vmap axis": (lambda: primad.vmap(np.sin, in_axes=1)(X), ShapeError, "in_axes 1 does not fit"),
    "vmap out axis": (lambda: primad.vmap(np.sin, out_axes=1)(X), ShapeError, "out_axes 1 does not fit"),
    "vmap of nothing": (lambda: primad.vmap(np.sin, in_axes=None)(X), ShapeError, "no argument is mapped"),
    "vmap number of in_axes": (lambda: primad.vmap(np.sin, in_axes=(0, 0))(X), ShapeError, "in_axes"),
    "vmap in_axes too few": (lambda: primad.vmap(lambda p: p[0], in_axes=([0],))([X, X]), ShapeError, "in_axes"),
    "vmap in_axes too many": (lambda: primad.vmap(lambda p: p[0], in_axes=((0, 0),))((X,)), ShapeError, "in_axes"),
    "vmap in_axes tree": (lambda: primad.vmap(lambda d: d["a"], in_axes=({"b": 0},))({"a": X}), ShapeError, "in_axes"),
    "Program arguments": (lambda: primad.trace(np.sin)(X)(X, X), ShapeError, "arguments"),
    "Program argument type": (lambda: primad.trace(np.sin)(X)(np.ones(2)), ShapeError, r"must have type float64\[3\]"),
    "Program argument dtype": (
        lambda: primad.trace(np.sin)(X)(X.astype(np.float32)),
        ShapeError,
        "must have type float64",
    ),
    "Program argument tree": (lambda: primad.trace(lambda d: d["a"])({"a": X})({"b": X}), ShapeError, "arguments"),
    "Program keywords": (lambda: primad.trace(np.sin)(X)(x=X), ShapeError, "positional"),
    "jacobian mode": (lambda: primad.jacobian(np.sin, mode="sideways"), ShapeError, "'auto', 'forward' or 'reverse'"),
    "negative order": (lambda: primad.derivative(np.sin, -1), ShapeError, "order"),
    "fractional order": (lambda: primad.taylor(np.sin, 0.0, 1.0, 1.5), ShapeError, "order"),
    "pad mode": (under_jit(lambda x: np.pad(x, 1, mode="nearest")), ShapeError, "'nearest' with"),
    "set_at value": (under_jit(lambda x: pnp.set_at(x, [0, 1], np.ones(3))), ShapeError, "does not broadcast"),
    "average weights": (under_jit(lambda x: np.average(x, weights=np.ones(4))), ShapeError, "weights"),
}

INDEXING: dict[str, Case] = {
    "index": (under_jit(lambda x: x[3]), IndexShapeError, "index 3 is out of range for axis 0 of length 3"),
    "negative index": (under_jit(lambda x: x[-4]), IndexShapeError, "index -4"),
    "too many": (under_jit(lambda x: x[0, 0]), IndexShapeError, "too many indices: 2"),
    "two ellipses": (under_jit(lambda x: x[..., ...]), IndexShapeError, "one ellipsis"),
    "float": (under_jit(lambda x: x[1.0]), IndexShapeError, "cannot be an index"),
    "string": (under_jit(lambda x: x["a"]), IndexShapeError, "cannot be an index"),
    "float array": (under_jit(lambda x: x[np.array([0.0])]), IndexShapeError, "float64 cannot be an index"),
    "array": (under_jit(lambda x: x[[0, 5]]), IndexShapeError, "out of range"),
    "mask": (under_jit(lambda x: x[np.array([True, False])]), IndexShapeError, "boolean index of shape"),
    "arrays that do not broadcast": (
        under_jit(lambda x: x[None][[0, 0], [1, 1, 1]]),
        IndexShapeError,
        "broadcast",
    ),
    "take": (under_jit(lambda x: np.take(x, 7)), IndexShapeError, "out of range"),
    "slice by floats": (under_jit(lambda x: x[0.5:]), TracingError, "slice indices must be integers"),
    "add_at": (under_jit(lambda x: pnp.add_at(x, 5, 1.0)), IndexShapeError, "out of bounds|out of range"),
}

ALL = {f"{kind}: {name}": case for kind, table in
       (("tracing", TRACING), ("derivative", DIFFERENTIABLE), ("shape", SHAPES), ("index", INDEXING))
       for name, case in table.items()}  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_mistake(name: str) -> None:
    make, cls, message = ALL[name]
    with pytest.raises(cls, match=f"(?s){message}") as caught:
        make()
    assert isinstance(caught.value, PrimadError) and type(caught.value) is cls
    assert f"\n  in {__file__}:" in str(caught.value)


def parameters(thing: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(thing).parameters.values()) if callable(thing) else []


TAKE_FUNCTIONS = [
    name for name in primad.__all__ if [p.name for p in parameters(getattr(primad, name))][:1] == ["function"]
]


@pytest.mark.parametrize("name", TAKE_FUNCTIONS)
def test_a_value_in_place_of_a_function(name: str) -> None:
    """`grad(f(x))` for `grad(f)(x)`: whatever takes a function says so, before the result is called if it can."""
    take = getattr(primad, name)
    required = [p for p in parameters(take)[1:] if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    keywords = {p.name: F64 for p in parameters(take) if p.default is p.empty and p.kind is p.KEYWORD_ONLY}
    others = [{"order": 1}.get(p.name, (X,)) for p in required]
    with pytest.raises(TracingError, match="expected a function, got float64") as caught:
        take(np.sum(X), *others, **keywords)
    assert f"\n  in {__file__}:" in str(caught.value)


MAKES_FUNCTIONS = [name for name in TAKE_FUNCTIONS if callable(getattr(primad, name)) and name != "trace"]


@pytest.mark.parametrize("name", MAKES_FUNCTIONS)
def test_what_is_made_of_a_function_shows_its_name(name: str) -> None:
    required = [p for p in parameters(getattr(primad, name))[1:] if p.default is p.empty]
    if not required:
        made = getattr(primad, name)(branch)
        assert repr(made) == f"<primad.{name} of branch>"


MADE = {
    "trace": lambda f: primad.trace(f),
    "vjp": lambda f: primad.vjp(f, X)[1],
    "vjp with aux": lambda f: primad.vjp(lambda x: (f(x), x), X, has_aux=True)[1],
    "linearize": lambda f: primad.linearize(f, X)[1],
    "linear_transpose": lambda f: primad.linear_transpose(lambda x: 2.0 * x, 1.0),
}


@pytest.mark.parametrize("name", MADE)
def test_what_derivatives_return_says_what_it_is(name: str) -> None:
    made = MADE[name](branch)
    shown = repr(made)
    assert f"primad.{name.split()[0]}" in shown and " at 0x" not in shown and len(shown) < 120
    if " " not in name and name != "linear_transpose":
        assert "branch" in shown
    assert copy.deepcopy(made) is made
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(made)


def test_message_shape() -> None:
    with pytest.raises(TracingError) as caught:
        primad.grad(lambda x: float(x))(1.0)
    lines = str(caught.value).splitlines()
    line = caught.traceback[1].lineno + 1
    assert len(lines) == 4
    assert lines[0] == "float(x) needs the numbers of a traced array of type float64[]"
    assert lines[1].startswith("  A plain number")
    assert lines[2].startswith("  Fix: ")
    assert lines[3].startswith(f"  in {__file__}:")
    assert line > 0
    assert caught.value.what == lines[0]


def test_classes_are_the_ones_that_numpy_users_expect() -> None:
    assert issubclass(ShapeError, ValueError)
    assert issubclass(IndexShapeError, IndexError)
    assert issubclass(TracingError, TypeError)
    assert issubclass(NotDifferentiableError, TypeError)
    assert issubclass(primad.ProgramError, RuntimeError)
    assert issubclass(MissingAttributeError, (AttributeError, TypeError))


def test_too_few_arguments_is_pythons_own_error() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        primad.grad(lambda x, y: x * y)(1.0)
    with pytest.raises(TracingError, match="argnums=0 but the call has 0 positional arguments"):
        primad.grad(np.sin)()


def test_python_overflow_of_an_integer_constant() -> None:
    with pytest.raises(OverflowError):
        primad.jit(lambda x: x + 300)(np.zeros(2, np.uint8))


def test_errors_do_not_break_the_next_call() -> None:
    f = primad.jit(lambda x: x @ np.ones(2))
    with pytest.raises(ShapeError):
        f(X)
    assert f(np.ones(2)) == 2.0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("takes 1 arguments, got 2", "takes 1 argument, got 2"),
        ("the call has 1 positional arguments", "the call has 1 positional argument"),
        ("an array with 1 axes, of 1 elements", "an array with 1 axis, of 1 element"),
        ("the mesh has 1 points", "the mesh has 1 point"),
        ("11 arguments, x[1] values, 0.1 times, -1 steps, shape (3, 1) elements", None),
        ("1 partial derivatives for 1 matrices", "1 partial derivative for 1 matrix"),
    ],
)
def test_one_of_something_is_no_plural(text: str, told: str | None) -> None:
    assert PrimadError(text).what == (told or text)


def test_the_number_of_arguments_is_said_in_grammar() -> None:
    with pytest.raises(TracingError, match=r"argnums=3 but the call has 1 positional argument\n"):
        primad.grad(lambda x: x * x, argnums=3)(1.0)


def test_no_message_names_a_file_of_the_documents() -> None:
    """Who has installed primad has no folder of them."""
    named = []
    for path, tree in trees("docs/", "md"):
        said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
                named += [f"{path}:{node.lineno}"] if re.search(r"\bdocs/|\w\.md\b", node.value) else []
    assert not named


@pytest.mark.parametrize("name", ["anderson", "broyden1", "diagbroyden", "newton_krylov"])
def test_what_a_library_made_from_text_is_not_the_users_line(name: str) -> None:
    solver = getattr(scipy.optimize, name)
    with pytest.raises(primad.TracingError, match=r"primad\.(scipy\.optimize|implicit)\.\w+") as caught:
        primad.grad(lambda a: np.sum(solver(lambda x: x**2 - a, np.ones(2))))(2.0)
    assert f"in {__file__}:" in str(caught.value) and "<string>" not in str(caught.value)
