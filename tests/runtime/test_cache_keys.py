"""Every key of a cache, field by field: calls that differ in one alone are told apart, and each gives its own result.

Calls that are neighbours run after one another, and are compared with each alone, where nothing was cached. The keys
that they ask for are noted. Each field of each class of keys must have told two of them apart, alone: a key or a field
that is new needs neighbours here.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec import Struct

import primad
import primad.scipy.sparse
from primad.compat import mxnet, paddle
from primad.compat.autograd import defvjp, grad, primitive
from primad.compat.mxnet.graph.symbol_lowering import GradientKey
from primad.compat.tape import OperatorKey
from primad.functional.derivatives.recorded_jacobians import RecordedJacobianKey
from primad.ir.law_families import DIRECTIONS, without
from primad.ir.program import ClosedProgram
from primad.ir.signature import Signature
from primad.programs.loops.scan import scan
from primad.programs.sparsity.compressed import CompressedKey
from primad.recording import tree
from primad.recording.traced_array import TracedArray
from primad.runtime.cache import Cache
from primad.runtime.executors.executor import Options

X = np.array([0.5, -0.25, 0.125])
MATRIX = np.outer(X, X + 1.0)
LARGE = np.linspace(0.1, 1.0, 400_000)
Calls = Sequence[Callable[[], Any]]


def scaled(scale: Any) -> Any:
    return lambda x: np.sin(x) * scale + 1.0


def jitted(*calls: Any, **options: Any) -> Calls:
    """Return calls of one jitted function, which sees all that there is to see, by their arguments."""
    f = primad.jit(lambda *args, **kwargs: looking(args, kwargs), **options)
    return [functools.partial(call, f) if callable(call) else functools.partial(f, *call) for call in calls]


def looking(*given: Any) -> Any:
    """Return a number that tells what was given, and the arrays in its structure, where float32 meets weak numbers."""
    said = repr(tree.map(lambda leaf: (leaf.shape, leaf.dtype) if isinstance(leaf, TracedArray) else repr(leaf), given))
    number = 1.5 + zlib.crc32(said.encode()) % 1000
    return number, tree.map(lambda leaf: leaf * np.float32(1.5) if isinstance(leaf, TracedArray) else 0.5, given)


def step(x: Any, row: Any) -> Any:
    return x * 0.75 + row, x * row


def composite_by(number: Any) -> Callable[[], Any]:
    return lambda: primad.jit(lambda x: weighed(x, n=number))(np.arange(3))


weighed = primad.composite("weighed", numpy=lambda x, *, n: np.multiply(x, n), lower=lambda x, *, n: x * n)


def stepwise(n: int, rtol: float, scale: float) -> Any:
    """Solve with a matrix that has entries in the first three rows, by conjugate gradients."""
    places, b = np.array([[0, 1, 2, 0, 1], [0, 1, 2, 1, 0]]), np.r_[1.0, 2.0, 3.0, np.zeros(n - 3)]
    entries = scale * np.array([2.0, 3.0, 4.0, 1.0, 1.0])
    solve = primad.scipy.sparse.linalg.cg
    return primad.jit(lambda d: solve(primad.scipy.sparse.coo_array((d, places), (n, n)), b, rtol=rtol, atol=1e-9)[0])(
        entries
    )


def linked(i: int, j: int) -> Any:
    """Solve with a matrix that has, beside the diagonal, two entries at mirrored places."""
    links = np.array([[0, 1, 2, i, j], [0, 1, 2, j, i]])
    A = primad.scipy.sparse.coo_array((np.array([2.0, 3.0, 4.0, 1.0, 1.0]), links), (3, 3))
    return primad.jit(lambda b: primad.scipy.sparse.linalg.spsolve(A, b))(X)


@primitive
def told(x: Any, flag: Any) -> Any:
    return float(x) * (2.0 if flag is True else 3.0)


defvjp(told, lambda ans, x, flag: lambda g: g * (2.0 if flag is True else 3.0))


@primad.custom_jvp
def ruled(x: Any, factor: Any) -> Any:
    return np.sin(x) * factor


def paddle_runs() -> Calls:
    paddle.enable_static()
    try:
        programs = [paddle.static.Program(), paddle.static.Program()]
        found = []
        for program in programs:
            with paddle.static.program_guard(program):
                x, y = paddle.static.data("x", [3], "float64"), paddle.static.data("y", [3], "float64")
                found.append([x * 2.0, y + 1.0])
    finally:
        paddle.disable_static()

    def run(fetched: int, fed: Any, program: int = 0) -> Any:
        results = [found[program][fetched]]
        return paddle.static.Executor().run(programs[program], feed=fed, fetch_list=results)

    def changed() -> Any:
        paddle.enable_static()
        try:
            with paddle.static.program_guard(programs[1]):
                x = programs[1].global_block().var("x")
                found[1].append(x * 3.0)
        finally:
            paddle.disable_static()
        return run(0, {"x": X}, 1)

    both = {"x": X, "y": X + 1.0}
    return [
        lambda: run(0, {"x": X}), lambda: run(1, {"y": X}), lambda: run(0, both), lambda: run(1, both), changed,
        lambda: run(0, {"x": X}, 1),
    ]  # fmt: skip


def on_tape(
    use: Callable[[Any], Any], of: Sequence[int] = (0,), values: Any = (X, X + 1.0), seeded: bool = False
) -> Callable[[], Any]:
    def call() -> Any:
        tensors = [paddle.to_tensor(value, stop_gradient=False) for value in values]
        outputs = use(tensors)
        seeds = [paddle.to_tensor(X + 2.0) for _ in outputs] if seeded else None
        found = paddle.grad(outputs, [tensors[i] for i in of], grad_outputs=seeds, allow_unused=True)
        return [None if each is None else each.numpy() for each in found]

    return call


def inner_and_outer(tensors: Any) -> Any:
    inner = tensors[0] * tensors[1]
    return [inner, inner * tensors[0]]


def energy(x: Any) -> Any:
    return np.sum(np.sin(x) ** 2 * x[::-1])


def under(families: tuple[str, ...], call: Callable[[], Any]) -> Any:
    with without(*families):
        return np.asarray(call())


def sum_of_loop(a: Any) -> Any:
    return np.sum(primad.scan(lambda x, _: (np.sin(x) * a, x), a, length=4)[1])


def powers(x: Any, y: Any, count: int) -> Any:
    return np.sum(primad.scan(lambda v, _: (v * y, v), x, length=count)[1])


ROW = np.linspace(0.1, 1.0, 40)


def dense_of(families: tuple[str, ...], scale: float) -> Any:
    """Return the entries of a matrix with full rows, which are pulled back, beside a band of as many columns."""

    def arrow(x: Any) -> Any:
        return np.concatenate([np.sum(smoothed(x) * scale) * np.arange(1.0, 6.0), smoothed(x)])

    return under(families, lambda: primad.jacobian(arrow)(ROW).sparse().toarray())


def crossed(x: Any, shares: Sequence[int], others: Sequence[int]) -> Any:
    """Return shares of squares less others of the same the other way round, with nothing at both ends."""
    return np.pad(x**2 * np.array(shares), 1) - np.pad(x[::-1] ** 2 * np.array(others), 1)


def turned(x: Any, order: Any, taken_away: bool) -> Any:
    """Return squares in another order with nothing at both ends, or what is left of nothing without them."""
    squares = np.pad((x**2)[order], 1)
    return -squares if taken_away else squares


def smoothed(x: Any) -> Any:
    """Return sums of neighbours of sums of neighbours, of which no points stay apart, so that there are directions."""
    weights = [1.0, 2.0, 1.0]
    return np.convolve(np.sin(np.convolve(x, weights, "same")), weights, "same")


def smoothed_at(rows: list[int]) -> Any:
    """Return the entries of some rows: two that have columns in common are pulled back apart."""
    kept = np.isin(np.arange(8), rows) * 1.0
    return primad.jacobian(lambda x: smoothed(x) * kept)(np.ones(8)).sparse().toarray()


def scaled_sums(x: Any, groups: Any) -> Any:
    """Return sums of products in groups, which are multiplied behind the sum."""
    return np.exp(x) * primad.numpy.bincount(groups, x[::-1] * np.sin(x), len(x))


def joined_choices(x: Any, scale: float) -> Any:
    """Return a row of everything beside sums of neighbours that are chosen."""
    row = np.sum(np.maximum(smoothed(x), 0.5) ** 2) * scale
    return np.append(row, smoothed(np.where(x > 0.4, x, x[::-1])))


def vector(x: Any) -> Any:
    return np.sin(x) * x[::-1]


def given_away(which: tuple[int, ...], backend: str) -> Any:
    x, y = LARGE.copy(), LARGE.copy()
    found = primad.jit(lambda x, y: np.sort(x) * y, donate=which, backend=backend)(x, y)
    return found[::1000], found is x, found is y


def by_reference(function: Callable[..., Any], *args: Any) -> Any:
    return primad.jit(function, backend="reference")(*args)


def looped(count: int, reverse: bool = False, memory: int | None = None) -> Callable[[], Any]:
    def loop(x: Any) -> Any:
        return primad.scan(lambda x, r: (x * 0.75 + r, x), x, LARGE[:count], reverse=reverse)

    return lambda: primad.jit(loop, memory=memory)(0.3)


def until(which: int, function: Callable[..., Any]) -> Any:
    """Return a result of a stack of loops; of no native function, since the memory is limited."""

    def loop(a: Any) -> Any:
        found = primad.while_loop(
            lambda pair: pair[0] > 0.05, lambda pair: (pair[0] * 0.5, function(pair[1]) + pair[0]), (a, a), max_steps=20
        )
        return found[which]

    return primad.jit(primad.vmap(loop), memory=10**6)(LARGE[::50_000])


def stepping(memory: int | None) -> Any:
    of = ClosedProgram(primad.trace(step)(0.3, 0.7))
    form = {"carry": 1, "stacked": 1, "length": 3, "reverse": False, "counted": False}
    return scan.numpy(np.float64(0.3), X, *of.program.source_values, of=of, memory=memory, **form)


def repeated(x: Any, factor: float) -> Any:
    @primad.jit
    def longer(y: Any) -> Any:
        for i in range(24):
            y = y + factor * np.sin(y + i)
        return y

    for _ in range(30):
        x = longer(x)
    return x


def with_rule(weight: float) -> Any:
    @primad.custom_jvp
    def ruled(x: Any, factor: Any) -> Any:
        return np.sin(x) * factor

    ruled.defjvp(lambda primals, tangents: (ruled(*primals), tangents[0] * weight + 0.0 * tangents[1]))
    return ruled


def with_rule_of_dicts(name: Any) -> Any:
    """Return the derivative of a function of a dict with one name."""

    @primad.custom_jvp
    def ruled(table: Any) -> Any:
        return sum(table.values())

    ruled.defjvp(lambda primals, tangents: (ruled(*primals), sum(t * (n + 1.5) for n, t in tangents[0].items())))
    return primad.grad(lambda x: ruled({name: x}))(0.5)


def rules_of_rules() -> Any:
    """Return derivatives of a function whose rule calls what has a rule, which only the third of them records."""
    cube = primitive(lambda x: x**3)
    defvjp(cube, lambda ans, x: lambda g: g * 3.0 * x**2)

    @primad.custom_vjp
    def ruled(x: Any) -> Any:
        return cube(x)

    ruled.defvjp(lambda x: (ruled(x), x), lambda x, g: (g * cube(x),))
    first = primad.grad(lambda x: ruled(x) * x)
    return [lambda: first(0.5), lambda: primad.grad(primad.grad(first))(0.5), lambda: first(0.5)]


def fitted(both: bool, kept: int, scale: float) -> Any:
    """Return a product with JᵀJ of residuals at points, of one parameter or of two."""
    points = np.linspace(0.0, 1.0, 7)
    if both:
        residuals = primad.optimize.Residuals(lambda p, t: np.sin(p[0] * t) * p[1] * scale, memory=kept)
        return residuals.linearized((1.5, 2.5), points).product(np.ones(2))
    residuals = primad.optimize.Residuals(lambda p, q, t: np.sin(p * t) * q * scale, memory=kept)
    return residuals.linearized(1.5, 2.5, points).product(np.ones(1))


def pushed_on_tape(function: Callable[..., Any]) -> Any:
    x = paddle.to_tensor(X)
    return [each.numpy() for each in paddle.incubate.autograd.jvp(lambda x: getattr(paddle, function.__name__)(x), x)]


def of_graph(number: float, wanted: str) -> Any:
    a, b = mxnet.sym.Variable("a"), mxnet.sym.Variable("b")
    given = {"a": mxnet.nd.array([1.0, 2.0]), "b": mxnet.nd.array([3.0, 4.0])}
    slope = mxnet.nd.zeros((2,))
    bound = (a * b * number).bind(mxnet.cpu(), given, {wanted: slope})
    bound.forward(is_train=True)
    bound.backward(mxnet.nd.ones((2,)))
    return slope.asnumpy()


def beside_jax(made: Callable[..., Any], *more: Any) -> Calls:
    """Return calls of a function that JAX and primad hand to each other, of arguments of many types."""
    jax = pytest.importorskip("jax")
    f = made(lambda *args: looking(args)[1])

    def call(given: Any, wide: bool = True) -> Any:
        with jax.enable_x64(wide):
            return tree.map(np.asarray, f(given))

    given = (np.ones(2), np.ones(2, np.float32), 2.0, np.float64(2.0), {1: X}, {True: X}, [X, X], (X, X), *more)
    return [lambda x=x: call(x) for x in given] + [lambda: call(np.ones(2, np.float32), False)]


def of_jax() -> Calls:
    return beside_jax(primad.from_jax, "a", "b")


def in_jax() -> Calls:
    return beside_jax(primad.to_jax)


def in_pytensor() -> Calls:
    """Return calls of functions for PyTensor."""
    f = primad.to_pytensor(looking)
    given = (np.ones(2), np.ones(3), np.ones(2, np.float32), 2.0, 3.0, 2, {1: X}, {True: X}, [X, X], [X, 2.0], [2.0, X])
    return [lambda x=x: tree.map(lambda result: result.eval(mode="FAST_COMPILE"), f(x)) for x in given]


def shared() -> Calls:
    f = primad.distribute(lambda given: looking(given)[1])
    share = primad.Share.of
    return [
        lambda g=g: f(g()) for g in (
            lambda: [share(X), 2.0], lambda: [share(X), np.float64(2.0)], lambda: [share(X), np.float32(2.0)],
            lambda: {1: share(X), 2: X}, lambda: {True: share(X), 2: X}, lambda: {1: X, 2: share(X)},
            lambda: [share(X, chunks=2), 2.0], lambda: (share(X), 2.0),
        )
    ]  # fmt: skip


NEIGHBOURS: dict[str, Callable[[], Calls]] = {
    # -- what a call of a jitted function is found by
    "types": lambda: jitted((np.ones(2),), (np.ones(3),), (np.ones(2, np.float32),), (np.ones(2, int),), (1.0,), (1,)),
    "weak": lambda: jitted((2.0,), (np.float64(2.0),)),
    "trees": lambda: jitted(((X, X),), ([X, X],), ({"a": X, "b": X},), ({"b": X, "a": X},), (X, X)),
    "keys of dicts": lambda: jitted(({1: X},), ({True: X},), ({1.0: X},), ({(1, 2): X},), ({(True, 2): X},)),
    "keywords": lambda: jitted(lambda f: f(a=X, b=2.0), lambda f: f(b=2.0, a=X)),
    "static": lambda: jitted(*[(X, value) for value in STATIC], static_argnums=1),
    "which are static": lambda: jitted((X, 2), (X, 2, 2), static_argnums=(1, -1)),
    # -- what is compiled is found by
    "scalars": lambda: [lambda s=s: primad.jit(scaled(s))(X) for s in (2.5, 3.5, 0.0, -0.0, 1, 1.0, True, np.inf)],
    "signs of zero": lambda: [
        lambda s=s, way=way: way(lambda x: np.arctan2(x, s))(-0.5) for s in (0.0, -0.0, 0)
        for way in (primad.jit, primad.value_and_grad)
    ],
    "captured": lambda: [lambda c=c: primad.jit(scaled(c))(X) for c in (X, X + 1.0, X.astype(np.float32), X[:1])],
    "results": lambda: [lambda r=r: primad.jit(lambda x: r(x * 2.5))(X) for r in RESULTS],
    "arguments": lambda: [lambda a=a: primad.jit(lambda a: a[1] * 2.5)(a) for a in ({1: X}, {True: X}, [X, X])],
    "executors": lambda: [lambda b=b: primad.jit(np.sort, backend=b)(LARGE) for b in EXECUTORS],
    "executors of functions": lambda: [lambda b=b: primad.jit(scaled(1.5), backend=b)(X) for b in EXECUTORS],
    "donated": lambda: [lambda d=d, b=b: given_away(d, b) for d in ((), (0,), (1,)) for b in EXECUTORS],
    "memory": lambda: [lambda m=m: primad.jit(scaled(2.0), memory=m)(LARGE) for m in (None, 10**8, 10**9)],
    "along": lambda: [lambda a=a: primad.jit(energy, along=a)(LARGE.reshape(500, -1)) for a in (None, (0, 1))],
    "laws": lambda: [lambda f=f: under(f, lambda: primad.jit(primad.hessian(energy))(X)) for f in ((), (DIRECTIONS,))],
    "laws of derivatives": lambda: [lambda f=f: under(f, lambda: primad.hessian(energy)(X)[0]) for f in FAMILIES],
    "laws of linear parts": lambda: [lambda f=f: under(f, lambda: primad.vjp(energy, X)[1](1.0)) for f in FAMILIES],
    "laws of loops": lambda: [lambda f=f: under(f, lambda: primad.grad(sum_of_loop)(0.3)) for f in FAMILIES],
    "composites": lambda: [composite_by(number) for number in (1, 1.0, True)],
    # -- derivatives
    "recordings": lambda: [lambda f=f: primad.grad(f)(0.5) for f in (np.sin, np.cos, scaled(2.0), scaled(3.0))],
    "recorded types": lambda: [
        lambda x=x: primad.grad(scaled(2.0))(x) for x in (2.0, np.float64(2.0), np.float32(2.0))
    ],
    "recorded arrays": lambda: [
        lambda c=c: primad.grad(lambda x: (np.sum(np.sin(x)), c), has_aux=True)(X)
        for c in (np.zeros(3), np.zeros(3, int), np.zeros(3, np.float32), -np.zeros(3), np.zeros((3, 1)), X)
    ],
    "recorded trees": lambda: [lambda t=t: primad.grad(lambda t: np.sum(t[1]))(t) for t in ({1: X}, {True: X}, [X, X])],
    "derivatives": lambda: [
        lambda: primad.jvp(np.multiply, (2.0, 3.0), (1.0, 0.5)), lambda: primad.vjp(np.multiply, 2.0, 3.0)[1](1.0),
        lambda: primad.grad(lambda a, b: a * b)(2.0, 3.0), lambda: primad.grad(lambda a, b: a * b, 1)(2.0, 3.0),
        lambda: primad.grad(lambda a: a * 3.3)(2.0), lambda: primad.vmap(lambda a: a * X)(X),
        lambda: primad.vmap(lambda a: a * X, 1)(np.outer(X, X)),
        lambda: primad.grad(lambda a, b: a * b, (0, 1))(2.0, 3.0),
    ],
    "linear parts": lambda: [
        lambda: primad.vjp(lambda a: a * X, X)[1](X),
        lambda: primad.linearize(lambda a: a * X, X)[1](X), lambda: primad.linearize(lambda a, b: a * b, X, X)[1](X, X),
        lambda: primad.vjp(lambda a: a * 0.3, 1.5)[1](1.0), lambda: primad.vjp(lambda a, b: a * b, 1.5, 0.3)[1](1.0),
        lambda: primad.vjp(lambda a: a + 0.3, 1.5)[1](1.0),
    ],
    "jacobians and what comes beside": lambda: [
        lambda f=f, a=a: primad.jacfwd(lambda x, y: (f(x, y), np.exp(x)), a, has_aux=True)(X, X + 1.0)
        for f in (np.multiply, np.divide)
        for a in (0, 1)
    ],
    "jacobians": lambda: [
        lambda i=i, j=j: np.asarray(primad.jit(lambda x: primad.hessian(energy)(x)[i, j])(X))
        for i in (0, 1) for j in (0, 2)
    ],
    "batches": lambda: [
        lambda a=a, b=b: primad.jit(primad.vmap(lambda x, y: np.sin(x) * y, (a, b)))(MATRIX, MATRIX - X)
        for a, b in ((0, 0), (0, 1), (1, 0))
    ],
    "consumers": lambda: [
        lambda: primad.jit(lambda x: primad.jvp(vector, (x,), (x,)))(X),
        lambda: primad.jit(lambda x: primad.vjp(vector, x)[1](x))(X),
        lambda: primad.jit(lambda x: primad.jacobian(vector)(x) @ x)(X), lambda: primad.jit(primad.jacobian(vector))(X),
        lambda: primad.jit(primad.jacobian(lambda x: vector(x) * 2.0))(X),
        lambda: primad.jit(primad.hessian(energy))(X),
        lambda: primad.jit(lambda x: primad.vmap(energy)(np.stack([x, x])))(X),
        lambda: primad.jit(lambda x: primad.vmap(vector)(np.stack([x, x])))(X),
    ],
    "products of residuals": lambda: [
        lambda b=b, m=m, s=s: fitted(b, m, s) for b in (False, True) for m in (0, 10**9) for s in (1.0, 2.0)
    ],
    "entries": lambda: [
        *[lambda f=f, s=s: dense_of(f, s) for f in FAMILIES for s in (1.0, 2.0)],
        *[lambda a=a: primad.jacobian(lambda x, y: np.sin(x) * y[::-1], a)(X, X).sparse().toarray() for a in (0, 1)],
        *[lambda i=i: primad.jacobian(lambda x: x[i] * x[::-1])(X).sparse().toarray() for i in ORDERS],
        *[
            lambda i=i, away=away: primad.jacobian(lambda x: turned(x, i, away))(X).sparse().toarray()
            for i in ORDERS for away in (False, True)
        ],
        *[lambda rows=rows: smoothed_at(rows) for rows in ([0], [0, 1], [0, 6])],
        *[lambda i=i: primad.jacobian(lambda x: scaled_sums(x, i))(X).sparse().toarray() for i in ORDERS],
        *[lambda m=m: primad.jacobian(lambda x: crossed(x, *m))(np.ones(len(m[0]))).sparse().toarray() for m in SHARES],
    ],
    "entries at a point": lambda: [
        lambda s=s, local=local: primad.jacobian(lambda x: joined_choices(x, s))(ROW).sparse(local=local).toarray()
        for s in (1.0, 2.0) for local in (False, True)
    ],
    "solutions": lambda: [
        lambda f=f, a=a: primad.grad(lambda p: primad.implicit.root(f, np.array(a / 2), p))(a)
        for a, f in ((0.5, HALVES[0]), (0.5, HALVES[1]), (0.5, HALVES[2]), (0.75, HALVES[0]))
    ],
    "steps of solvers": lambda: [
        lambda f=f, solver=solver: primad.grad(lambda p: primad.implicit.root(f, X[0], p, solver=solver))(0.5)
        for f in HALVES for solver in (quarter, other_quarter)
    ],
    "sparse systems": lambda: [
        lambda n=n, r=r, s=s: stepwise(n, r, s) for n, r, s in ((3, 0, 1.0), (4, 0, 1.0), (3, 0.9, 1.0), (3, 0, 2.0))
    ],
    "orders of sparse matrices": lambda: [lambda p=p: linked(*p) for p in ((0, 1), (0, 2), (1, 2))],
    # -- loops
    "steps": lambda: [
        *[looped(*how) for how in ((5,), (6,), (5, True), (5, False, 10**6), (5, False, 10**7))],
        lambda: by_reference(lambda x, r: primad.scan(step, x, r), 0.3, X),
        lambda: by_reference(lambda x, r: primad.scan(step, x, r, reverse=True), 0.3, X),
        lambda: by_reference(lambda x, r: primad.scan(lambda x, _: step(x, r), x, length=3), 0.3, 0.7),
        lambda: by_reference(lambda x, r: primad.scan(lambda p, _: (step(*p), None), (x, r), length=3), 0.3, 0.7),
    ],
    "ends": lambda: [
        lambda: by_reference(lambda x: primad.while_loop(lambda x: x > 0.01, lambda x: x * 0.5, x, max_steps=20), 0.7),
        lambda: by_reference(lambda x: primad.scan(lambda x, _: (x * 0.5, x * 0.5 > 0.01), x, length=3), 0.7),
    ],
    "gradients of loops": lambda: [
        lambda a=a, n=n: primad.grad(lambda x, y: powers(x, y, n), a)(0.5, 0.7) for a in (0, 1) for n in (3, 4)
    ],
    "stacks of loops": lambda: [
        lambda w=w, f=f, g=g: under(f, lambda: until(w, g)) for w in (0, 1) for f in FAMILIES for g in (np.sin, np.cos)
    ],
    "memory of loops": lambda: [lambda m=m: stepping(m) for m in (None, 10**6, 10**7)],
    "calls": lambda: [lambda f=f: primad.grad(lambda x: repeated(x, f))(0.5) for f in (0.1, 0.2)],
    "rules": lambda: [lambda w=w: primad.grad(lambda x: with_rule(w)(x, 2.0))(0.5) for w in (1.0, 2.5, 3.5, -0.0, 0.0)],
    "types of rules": lambda: [
        lambda x=x: primad.grad(lambda x: np.sum(with_rule(2.5)(x, x)))(x) for x in (0.5, X)
    ],
    "dicts of rules": lambda: [lambda n=n: with_rule_of_dicts(n) for n in (1, True)],
    "laws of rules": lambda: [
        lambda f=f: under(f, lambda: primad.grad(lambda x: with_rule(2.5)(x, 2.0))(0.5)) for f in FAMILIES
    ],
    "rules of rules": rules_of_rules,
    # -- other systems' ways
    "constants of autograd": lambda: [lambda c=c: grad(lambda x: told(x, c))(2.0) for c in (1, True, "a", [1], [True])],
    "scalars of mxnet": lambda: [lambda s=s: (mxnet.nd.array([1.0, -2.0]) / s).asnumpy() for s in (0.0, -0.0, 2.0, 2)],
    "parts of a tape": lambda: [
        on_tape(lambda t: [t[0] * t[1]]), on_tape(lambda t: [t[0] * t[1]], (1,)), on_tape(lambda t: [t[0] + t[1]]),
        on_tape(lambda t: [t[0] * t[1]], (0, 1)), on_tape(lambda t: [t[0] * t[1] * t[0]]),
        on_tape(lambda t: [t[0] * t[0]]), on_tape(lambda t: [t[0] * t[1]], values=(X[:2], X[:2])),
        on_tape(lambda t: [t[0] * 2.0]), on_tape(lambda t: [t[0] * 3.0]), on_tape(lambda t: [t[0] * t[1], t[0] + t[1]]),
        on_tape(lambda t: [t[0] + t[1], t[0] * t[1]]), on_tape(inner_and_outer),
        on_tape(lambda t: inner_and_outer(t)[::-1]),
        on_tape(lambda t: [t[0] * t[1]], seeded=True),
    ],
    "tangents of a tape": lambda: [lambda f=f: pushed_on_tape(f) for f in (np.sin, np.cos)],
    "operators": lambda: [
        lambda x=x, o=o: o(paddle.to_tensor(x)).numpy()[::1000]
        for x in (LARGE[: 1 << 15], LARGE[: 1 << 16])
        for o in (paddle.sin, paddle.cos, lambda x: paddle.scale(x, 2.0), lambda x: paddle.scale(x, 3.0))
    ],
    "gradients of a graph": lambda: [lambda n=n, w=w: of_graph(n, w) for n in (2.0, 3.0) for w in ("a", "b")],
    "runs of a program": paddle_runs,
    "jax": in_jax,
    **({"pytensor": in_pytensor} if find_spec("pytensor") else {}),
    "from jax": of_jax,
    "shares": shared,
}  # fmt: skip
HALVES = (lambda x, a: x - a / 2, lambda x, a: 2.0 * (x - a / 2), lambda x, a: x - a**2)
"""Equations that half of a solves; the last where a is a half."""


def quarter(*_: Any) -> Any:
    return np.array(0.25)


def other_quarter(*_: Any) -> Any:
    return np.array(0.25)


ORDERS = (np.array([0, 1, 2]), np.array([1, 1, 1]), np.array([2, 1, 0]))
SHARES = (
    ((1, 1, 1), (0, 0, 0)), ((1, 1, 1), (1, 0, 0)), ((1, 0, 1), (2, 0, 1)), ((1, 1), (0, 0)), ((0, 0), (1, 1)),
)  # fmt: skip
STATIC = (1, 1.0, True, 0, 0.0, -0.0, "1", (1, 2.0), (True, 2.0), None)
RESULTS = (lambda y: {1: y}, lambda y: {True: y}, lambda y: {1.0: y}, lambda y: [y], lambda y: (y,), lambda y: y)
EXECUTORS = ("native", "reference")
FAMILIES: tuple[tuple[str, ...], ...] = ((), (DIRECTIONS,))


# -- what they give, and what they ask for -----------------------------------------------------------------------------


def modules() -> list[Any]:
    """Return all modules of primad but those that need what is not installed."""
    found = []
    for module in pkgutil.walk_packages(primad.__path__, "primad."):
        if not module.name.startswith(("primad.demos", "primad.__main__")):
            found.append(importlib.import_module(module.name))
    return found


MODULES = modules()
KEYS = sorted(
    {
        cls
        for module in MODULES
        for cls in vars(module).values()
        if isinstance(cls, type) and "kind" in getattr(cls, "_field_defaults", ())
    },
    key=lambda cls: cls.__name__,
)
WITHIN = [Options, Signature]
"""What keys have in them that has fields of its own."""


def names_of(cls: Any) -> list[str]:
    return [*cls.__struct_fields__] if issubclass(cls, Struct) else [x for x in cls._fields if x != "kind"]


def values_of(key: Any) -> dict[str, Any]:
    return {name: getattr(key, name) for name in names_of(type(key))}


def exactly(value: Any) -> Any:
    """Return what tells a result from all others: types, bits, structure, keys of dicts."""
    if isinstance(value, dict):
        return dict, [(type(key), repr(key), exactly(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [exactly(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return type(value), value.dtype.str, value.shape, value.tobytes()
    return type(value), repr(value)


CACHES = {id(x): x for module in MODULES for x in vars(module).values() if isinstance(x, Cache)}.values()
MEMOS = {
    id(x): x for module in MODULES for x in vars(module).values() if isinstance(x, functools._lru_cache_wrapper)
}.values()


def result_of(call: Callable[[], Any]) -> Any:
    try:
        return exactly(call())
    except Exception as error:
        return type(error), str(error)


def forget() -> None:
    """Empty all caches but that of machine code, which is found by all of its text."""
    for cache in CACHES:
        cache._entries.clear()
    for memo in MEMOS:
        memo.cache_clear()


@dataclass
class Seen:
    """What all neighbours gave: alone and after one another, and the keys that they asked for."""

    alone: dict[str, list[Any]]
    together: dict[str, list[list[Any]]]
    keys: dict[type, dict[Any, Any]]
    odd: set[str]


@pytest.fixture(scope="module")
def seen() -> Iterator[Seen]:
    found = Seen({}, {}, {cls: {} for cls in [*KEYS, *WITHIN]}, set())
    look = Cache._found

    def note(key: Any) -> None:
        if type(key) in found.keys:
            found.keys[type(key)][key] = None
            for value in values_of(key).values():
                note(value)

    def looking(self: Cache, key: Any) -> Any:
        if type(key) not in found.keys:
            found.odd.add(repr(key)[:200])
        note(key)
        return look(self, key)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cache, "_found", looking)
        patch.setattr("primad.parallel.job._communicator", lambda: SimpleNamespace(rank=0, size=1))
        for name, make in NEIGHBOURS.items():
            calls = make()
            found.alone[name] = []
            for i in range(len(calls)):
                forget()
                found.alone[name].append(result_of(make()[i]))
            forget()
            found.together[name] = [[result_of(call) for call in calls] for _ in range(3)]
    yield found
    forget()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", NEIGHBOURS)
def test_each_call_gives_what_it_gives_alone(name: str, seen: Seen) -> None:
    for again in seen.together[name]:
        assert again == seen.alone[name]
    assert not any(isinstance(each[0], type) and issubclass(each[0], Exception) for each in seen.alone[name])


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_neighbours_differ(name: str, seen: Seen) -> None:
    """Or they would find what is another's and nobody would see it."""
    found = seen.alone[name]
    assert len({repr(each) for each in found}) > 1 or name in ALIKE


ALIKE = {
    "arguments": "both are read in the same way", "executors": "sorting makes no errors", "memory": "it is enough",
    "along": "the order of sums is that of chunks", "laws": "they are true", "laws of derivatives": "as above",
    "laws of linear parts": "as above", "laws of loops": "as above",
    "dicts of rules": "the names are the same numbers", "laws of rules": "as above",
    "memory of loops": "it is enough",
}  # fmt: skip
"""Neighbours that give the same by right."""
IMPLIED = {
    (GradientKey, "everything"): "the inputs of a program are those of the graph and the heads",
    (GradientKey, "late"): "as above", (GradientKey, "early"): "the results of a program are the graph's",
    (OperatorKey, "pattern"): "it follows from the types, but for operators with slots that may be empty",
    (CompressedKey, "op"): "a Hessian has options that a Jacobian has not",
    (RecordedJacobianKey, "output"): "an equation and what is solved for its user have programs of their own",
    (Options, "inner"): "only parts have them, whose key has the programs",
}  # fmt: skip
"""Fields that alone tell nothing apart, and why; what they are of is told apart by others with them."""
FOR_OTHERS = {"TensorsKey": "torch", "MappedKey": "torch", "MixedKey": "pytensor", "ResultsKey": "pytensor"}
"""Keys that only functions for PyTorch and PyTensor ask for, which `.ci/run` installs for their own tests."""


def test_every_key_of_a_cache_has_a_class(seen: Seen) -> None:
    assert not seen.odd
    kinds = [cls._field_defaults["kind"] for cls in KEYS]
    assert len(set(kinds)) == len(kinds) > 10
    for cls in KEYS:
        assert list(cls._field_defaults) == ["kind"], f"{cls.__name__}: a field with a default can be forgotten"


@pytest.mark.parametrize(("cls", "name"), [(cls, name) for cls in [*KEYS, *WITHIN] for name in names_of(cls)])
def test_each_field_alone_tells_two_keys_apart(cls: Any, name: str, seen: Seen) -> None:
    groups: dict[Any, set[Any]] = {}
    for key in seen.keys[cls]:
        values = values_of(key)
        own = values.pop(name)
        groups.setdefault(tuple(values.values()), set()).add(own)
    alone = any(len(group) > 1 for group in groups.values())
    other = FOR_OTHERS.get(cls.__name__)
    if other is not None and find_spec(other) is None:
        pytest.skip(f"{other} is not installed")
    assert alone != ((cls, name) in IMPLIED), f"of {len(seen.keys[cls])} keys no two differ in it alone"
