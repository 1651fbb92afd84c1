"""A rule of its own holds at every order and in every nesting: random functions with rules that are not derivatives.

A *tower* is a family of functions f_ij of two variables with unrelated values: the rule of f_ij says that its partial
derivatives are f_(i+1)j and f_i(j+1). What nested derivatives must give follows by the chain rule alone, which `jets`
applies without differentiating anything.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy
from scipy import special
from scipy.interpolate import CubicSpline

import primad
from primad.functional.rules import rule_identity
from primad.functional.rules.custom_ops import Pullback
from primad.functional.rules.custom_rules import TwoSided
from primad.ir.array_types import ArrayType
from primad.numpy.special import softmax
from primad.recording import tree
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.checks.trial import Trial
from tests.cases import CASES
from tests.jets import ORDER, Jet, through

Function = Callable[..., Any]
N = 2
FORWARD_AND_REVERSE = ("custom_jvp", "linear rule", "composite", "elementwise")


def is_jets(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype == object


@pytest.fixture(autouse=True)
def plans_are_not_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that uses rules that use rules takes long to be recognised, which no derivative depends on."""
    monkeypatch.setattr(rule_identity, "DEEPEST", 1)


# -- functions with rules ----------------------------------------------------------------------------------------------


class Tower:
    """Functions of two variables, each the derivative of another by its rule and by nothing else."""

    def __init__(self, rng: random.Random, flavour: str, inner: Tower | None = None) -> None:
        self.flavour, self.inner = flavour, inner
        self.marked = rng.random() < 0.3
        orders = [(i, j) for i in range(ORDER + 2) for j in range(ORDER + 2)]
        self.coefficients = {place: [rng.randint(-4, 4) / 4 for _ in range(4)] for place in orders}
        self.member = cache(self._member)
        self.linear = cache(self._linear)

    def value(self, i: int, j: int, x: Any, y: Any) -> Any:
        a, b, c, d = self.coefficients[i, j]
        return a + b * x + c * y + d * x * y

    def _member(self, i: int, j: int) -> Function:
        def plain(x: Any, y: Any) -> Any:
            return self.value(i, j, x, y)

        def body(x: Any, y: Any) -> Any:
            """The value, with derivatives that have nothing to do with the rule."""
            found = primad.checkpoint(plain)(x, y) if self.marked else plain(x, y)
            return found if self.inner is None else found + self.inner(x, y) - self.inner.value(0, 0, x, y)

        if i + j > ORDER:
            return plain

        def partials(x: Any, y: Any) -> tuple[Any, Any]:
            return self.member(i + 1, j)(x, y), self.member(i, j + 1)(x, y)

        if self.flavour == "composite":
            terms = [lambda t, out, x, y: partials(x, y)[0] * t, lambda t, out, x, y: partials(x, y)[1] * t]
            return primad.composite(f"tower{i}{j}", numpy=plain, lower=body, jvp=terms)
        if self.flavour == "elementwise":
            slopes = [lambda out, x, y: partials(x, y)[0], lambda out, x, y: partials(x, y)[1]]
            return primad.elementwise(f"tower{i}{j}", numpy=plain, partials=slopes)
        if self.flavour == "custom_vjp":
            pulled = primad.custom_vjp(body)
            pulled.defvjp(lambda x, y: (pulled(x, y), (x, y)), lambda at, ct: tuple(d * ct for d in partials(*at)))
            return pulled
        if self.flavour == "two rules":
            return TwoSided(
                body,
                lambda at, ts: (body(*at), sum(d * t for d, t in zip(partials(*at), ts, strict=True))),
                lambda at, ct: tuple([d * ct for d in partials(*at)]),
            )
        pushed = primad.custom_jvp(body)

        def rule(primals: Any, tangents: Any) -> Any:
            if self.flavour == "linear rule":
                return pushed(*primals), self.linear(i, j)(*tangents, *primals)
            return pushed(*primals), sum(d * t for d, t in zip(partials(*primals), tangents, strict=True))

        pushed.defjvp(rule)
        return pushed

    def _linear(self, i: int, j: int) -> Function:
        """Return t, s, x, y ↦ t·f_(i+1)j + s·f_i(j+1), whose dependence on x and y only its rule knows."""

        def body(t: Any, s: Any, x: Any, y: Any) -> Any:
            x, y = primad.stop_gradient(x), primad.stop_gradient(y)
            return t * self.value(i + 1, j, x, y) + s * self.value(i, j + 1, x, y)

        if i + j >= ORDER:
            return body
        found = primad.custom_jvp(body)

        def rule(primals: Any, tangents: Any) -> Any:
            t, s, x, y = primals
            dt, ds, dx, dy = tangents
            moved = self.linear(i + 1, j)(t, s, x, y) * dx + self.linear(i, j + 1)(t, s, x, y) * dy
            return found(*primals), found(dt, ds, x, y) + moved

        found.defjvp(rule)
        return found

    def __call__(self, x: Any, y: Any) -> Any:
        if is_jets(x):
            pairs = zip(x, y, strict=True)
            shifted = [through(self.value, u, v) for u, v in pairs]
            return np.array(shifted, object)
        return self.member(0, 0)(x, y)


# -- random functions of them ------------------------------------------------------------------------------------------


def applied(rng: random.Random, tower: Tower) -> Function:
    """Return one way to apply a tower to two vectors."""
    how = rng.choice(("plain", "vmap", "first shared", "second shared", "twice"))

    def apply(u: Any, v: Any) -> Any:
        if how in ("first shared", "twice"):
            u = np.stack([u[0], u[0]])
        if how == "second shared":
            v = np.stack([v[1], v[1]])
        if how == "plain" or is_jets(u):
            return tower(u, v)
        if how == "first shared":
            return primad.vmap(tower, (None, 0))(u[0], v)
        if how == "second shared":
            return primad.vmap(tower, (0, None))(u, v[0])
        if how == "twice":
            return primad.vmap(primad.vmap(tower, (None, 0)), (0, None))(u[:1], v)[0]
        return primad.vmap(tower)(u, v)

    return apply


def marked(rng: random.Random, function: Function) -> Function:
    """Return the same function, marked or compiled."""
    how = rng.choice((primad.checkpoint, primad.jit, lambda f: lambda x: primad.vmap(f)(x[None])[0]))
    changed = how(function)
    return lambda x: function(x) if is_jets(x) else changed(x)


def expression(rng: random.Random, flavours: Any, depth: int) -> Function:
    """Return a random function of a vector of N elements that gives such a vector."""
    kind = rng.choice(("tower", "tower", "tower", "mark", "sin", "product", "softmax")) if depth else "leaf"
    if kind == "leaf":
        factor, shift = rng.choice((0.5, -0.75)), rng.randint(-2, 2) / 4
        turned = rng.random() < 0.5
        return lambda x: factor * (x[::-1] if turned else x) + shift
    first = expression(rng, flavours, depth - 1)
    if kind == "mark":
        return marked(rng, first)
    if kind == "sin":
        return lambda x: np.sin(first(x))
    if kind == "softmax":

        def share(x: Any) -> Any:
            y = first(x)
            return np.exp(y) / np.array([sum(np.exp(y))] * N) if is_jets(y) else softmax(y, axis=0)

        return share
    second = expression(rng, flavours, depth - 1)
    if kind == "product":
        return lambda x: first(x) * second(x)
    inner = Tower(rng, rng.choice(flavours)) if rng.random() < 0.3 else None
    apply = applied(rng, Tower(rng, rng.choice(flavours), inner))
    return lambda x: apply(first(x), second(x))


def scalar(rng: random.Random, flavours: Any) -> Function:
    """Return a random scalar function of a vector."""
    vector = expression(rng, flavours, rng.choice((1, 1, 2)))
    weights = np.array([rng.randint(1, 8) / 4 for _ in range(N)])
    return lambda x: np.sum(weights * vector(x))


# -- ways to differentiate ---------------------------------------------------------------------------------------------


def _units() -> Any:
    return np.eye(N)


def by_pushing(f: Function) -> Function:
    return lambda x: np.stack([primad.jvp(f, (x,), (e,))[1] for e in _units()], axis=-1)


def by_mapped_pushing(f: Function) -> Function:
    return lambda x: primad.vmap(lambda e: primad.jvp(f, (x,), (e,))[1], out_axes=-1)(_units())


def by_linearizing(f: Function) -> Function:
    def columns(x: Any) -> Any:
        push = primad.linearize(f, x)[1]
        return np.stack([push(e) for e in _units()], axis=-1)

    return columns


def by_pulling(f: Function) -> Function:
    def rows(x: Any) -> Any:
        y, pull = primad.vjp(f, x)
        size = int(np.prod(np.shape(y)))
        found = [pull(np.eye(size)[k].reshape(np.shape(y)))[0] for k in range(size)]
        return np.reshape(np.stack(found), (*np.shape(y), N))

    return rows


def by_gradients(f: Function) -> Function:
    def rows(x: Any) -> Any:
        shape = primad.trace(f)(np.ones(N)).out_types[0].shape
        size = int(np.prod(shape))
        found = [primad.grad(lambda z, k=k: np.reshape(f(z), (-1,))[k])(x) for k in range(size)]
        return np.reshape(np.stack(found), (*shape, N))

    return rows


def by_entries(f: Function) -> Function:
    def entries(x: Any) -> Any:
        J = primad.jacobian(f)(x)
        return np.stack([J[..., i] for i in range(N)], axis=-1)

    return entries


def by_transposing(f: Function) -> Function:
    """The transpose of the push forward, as a function of the point."""

    def rows(x: Any) -> Any:
        shape = primad.trace(f)(np.ones(N)).out_types[0].shape
        pull = primad.linear_transpose(lambda t: primad.jvp(f, (x,), (t,))[1], np.zeros(N))
        found = [pull(e.reshape(shape))[0] for e in np.eye(int(np.prod(shape)))]
        return np.reshape(np.stack(found), (*shape, N))

    return rows


def second(use: Function) -> Function:
    """Return a way to use the Hessian of a function."""
    return lambda f: lambda x: use(primad.hessian(f)(x))


def by_hvp(f: Function) -> Function:
    return lambda x: np.stack([primad.hvp(f, x, e) for e in _units()])


Way = tuple[str, Function, str, str]
"""A name, the transform, and as an index: the axes of the derivative that it takes, those that it returns."""
REVERSE: list[Way] = [
    ("jacrev", primad.jacrev, "a", "a"),
    ("pull", by_pulling, "a", "a"),
    ("gradients", by_gradients, "a", "a"),
    ("jacobian, reverse", lambda f: primad.jacobian(f, mode="reverse"), "a", "a"),
]
FIRST: list[Way] = [
    *REVERSE,
    ("jacfwd", primad.jacfwd, "a", "a"),
    ("push", by_pushing, "a", "a"),
    ("mapped push", by_mapped_pushing, "a", "a"),
    ("linearize", by_linearizing, "a", "a"),
    ("jacobian", primad.jacobian, "a", "a"),
    ("entries", by_entries, "a", "a"),
    ("transposed push", by_transposing, "a", "a"),
]
SECOND: list[Way] = [
    ("hessian", primad.hessian, "ab", "ab"),
    ("rows", second(lambda H: np.stack([H[..., i, :] for i in range(N)], axis=-2)), "ab", "ab"),
    ("elements", second(lambda H: np.stack([H[..., i, i] for i in range(N)], axis=-1)), "aa", "a"),
    ("products", second(lambda H: np.stack([H @ e for e in _units()], axis=-1)), "ab", "ab"),
    ("diagonal", second(lambda H: np.diagonal(H, axis1=-2, axis2=-1)), "aa", "a"),
    ("trace", second(lambda H: np.trace(H, axis1=-2, axis2=-1)), "aa", ""),
    ("laplacian", primad.laplacian, "aa", ""),
]
SCALAR_SECOND: list[Way] = [
    ("hvp", by_hvp, "ab", "ab"),
    ("products from the left", second(lambda H: np.stack([e @ H for e in _units()])), "ab", "ab"),
]
MARKS: dict[str, Function] = {
    "": lambda f: f,
    "jit": primad.jit,
    "checkpoint": primad.checkpoint,
    "vmap": lambda f: lambda x: primad.vmap(f)(x[None])[0],
}


def nested(rng: random.Random, f: Function, reverse: bool) -> tuple[str, Function, int, str]:
    """Return a random nesting of transforms up to order 3: its name, its function, its order, its indices."""
    letters = iter("ijk")
    names, indices, result = [], "", ""
    order = rng.randint(1, ORDER)
    while len(indices) < order:
        ways = REVERSE if reverse else FIRST
        if not reverse and order - len(indices) > 1:
            ways = [*ways, *SECOND, *SECOND, *(SCALAR_SECOND if not indices else [])]
        name, way, taken, given_back = rng.choice(ways)
        fresh = dict(zip("ab", letters, strict=False)) if len(taken) > 1 else {"a": next(letters)}
        indices += "".join(fresh[c] for c in taken)
        result += "".join(fresh[c] for c in given_back)
        mark = rng.choice(list(MARKS))
        f = MARKS[mark](way(f))
        names.append(f"{mark} {name}".strip())
    return " of ".join(reversed(names)), f, order, f"{indices}->{result}"


def check(rng: random.Random, flavours: Any, reverse: bool) -> None:
    f = scalar(rng, flavours)
    name, derived, order, indices = nested(rng, f, reverse)
    points = np.array([[rng.randint(-6, 6) / 8 for _ in range(N)] for _ in range(2)])
    expected = []
    for point in points:
        result = f(Jet.point(point))
        expected.append(np.einsum(indices, result.derivatives(order, N)))
    found = [np.asarray(derived(point)) for point in points[:1]]
    if rng.random() < 0.3:
        found[0] = np.asarray(primad.jit(derived)(points[0]))
    else:
        found = list(np.asarray(primad.vmap(derived)(points))) if rng.random() < 0.4 else found
    for got, wanted in zip(found, expected, strict=False):
        scale = max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9 * scale, err_msg=name)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("flavour", FORWARD_AND_REVERSE)
@pytest.mark.parametrize("seed", range(8))
def test_rules_in_both_modes(flavour: str, seed: int) -> None:
    check(random.Random(f"{flavour} {seed}"), (flavour, flavour, *FORWARD_AND_REVERSE), reverse=False)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", [113, 120, 123, 132, 134, 142])
def test_functions_with_a_rule_for_each_mode(seed: int) -> None:
    """These push a pullback's derivative forward, along all of its operands or some."""
    check(random.Random(f"two rules {seed}"), ("two rules", "two rules", *FORWARD_AND_REVERSE), reverse=False)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(24, 34))
def test_rules_in_reverse_mode(seed: int) -> None:
    check(random.Random(f"reverse {seed}"), ("custom_vjp", "custom_vjp", *FORWARD_AND_REVERSE), reverse=True)


# -- checking a rule ---------------------------------------------------------------------------------------------------


def quartic(wrong: int, flavour: str) -> Function:
    """Return x⁴ with rules that are right but for the derivative of one order."""

    def member(k: int) -> Function:
        factor, power = (1.0, 4.0, 12.0, 24.0, 24.0)[k], 4 - k

        def body(x: Any) -> Any:
            return factor * x**power

        if k > ORDER:
            return body
        error = 1.5 if k + 1 == wrong else 1.0
        if flavour == "custom_vjp":
            pulled = primad.custom_vjp(body)
            pulled.defvjp(lambda x: (pulled(x), x), lambda x, ct: (error * member(k + 1)(x) * ct,))
            return pulled
        pushed = primad.custom_jvp(body)
        pushed.defjvp(lambda p, t: (pushed(*p), error * member(k + 1)(p[0]) * t[0]))
        return pushed

    return member(0)


@pytest.mark.parametrize("wrong", (1, 2, 3))
@pytest.mark.parametrize(
    "flavour, modes", (("custom_jvp", ("fwd",)), ("custom_jvp", ("rev",)), ("custom_vjp", ("rev",)))
)
def test_check_grads_finds_the_order_that_is_wrong(wrong: int, flavour: str, modes: list[str]) -> None:
    f, x = quartic(wrong, flavour), (np.array([0.7, -1.3]),)
    primad.check_grads(quartic(9, flavour), x, order=wrong, modes=modes)
    if wrong > 1:
        primad.check_grads(f, x, order=wrong - 1, modes=modes)
    with pytest.raises(AssertionError, match=f"order {wrong}"):
        primad.check_grads(f, x, order=wrong, modes=modes)


# -- stacks ------------------------------------------------------------------------------------------------------------


def as_custom_jvp(f: Function) -> Function:
    found = primad.custom_jvp(f)
    found.defjvp(lambda primals, tangents: primad.jvp(f, primals, tangents))
    return found


def as_custom_vjp(f: Function) -> Function:
    found = primad.custom_vjp(f)
    found.defvjp(lambda *args: (f(*args), args), lambda args, ct: primad.vjp(f, *args)[1](ct))
    return found


def composites() -> list[str]:
    """Return the names of the composites of arrays that have a real float operand."""
    plain = [case for case in CASES.values() if case.op.kind == "composite" and not case.op.holds_program]
    kinds = {case.op.name: {x.type.dtype.kind for x in case.draw(Seeded("operands")).operands} for case in plain}
    return [name for name, found in kinds.items() if "f" in found]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", composites())
def test_composites_in_marked_functions_under_vmap(name: str) -> None:
    """The definition of a composite may bring in numbers, which the program of a stack then closes over."""
    op, trial = CASES[name].op, Trial(CASES[name], CASES[name].op, Seeded(f"{name} in a stack"))
    moving = [i for i, x in enumerate(trial.values) if x.dtype.kind == "f"]

    def f(*floats: Any) -> Any:
        values = list(trial.values)
        for i, value in zip(moving, floats, strict=True):
            values[i] = value
        return op(*values, **trial.example.params)

    stacks = [np.stack([trial.values[i], trial.values[i] * 0.875]) for i in moving]
    rows = list(zip(*stacks, strict=True))
    axes = tuple(0 if i % 2 == 0 else None for i in range(len(stacks)))
    shared = [stack if axis == 0 else stack[0] for stack, axis in zip(stacks, axes, strict=True)]
    every = tuple(range(len(stacks)))
    derived = primad.trace(f)(*rows[0]).out_types[0].is_float

    def total(g: Function, *args: Any) -> Any:
        return np.sum(primad.vmap(g, axes)(*args))

    for change in (primad.checkpoint, as_custom_jvp, as_custom_vjp):
        np.testing.assert_allclose(primad.vmap(change(f))(*stacks), np.stack([f(*row) for row in rows]), rtol=1e-12)
        if derived:
            found, expected = (primad.grad(partial(total, g), every)(*shared) for g in (change(f), f))
            for got, wanted in zip(found, expected, strict=True):
                np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


def test_forward_mode_through_a_pullback_says_so_under_vmap() -> None:
    f = primad.custom_vjp(np.sin)
    f.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (ct * np.cos(x),))
    x = np.ones(3)

    def slope(x: Any) -> Any:
        return primad.jvp(f, (x,), (1.0,))[1]

    for g in (slope, primad.jit(slope), primad.jacfwd(f), primad.grad(slope)):
        with pytest.raises(primad.NotDifferentiableError, match="forward mode through sin, which has only"):
            primad.vmap(g)(x)


@pytest.mark.parametrize("given", [(), (1.0,), (1.0, 2.0, 3.0), [1.0, 2.0], None, 1.0])
def test_a_rule_that_gives_no_pair_is_told_so(given: Any) -> None:
    """Of the value and the tangent; what is more, or less, is no derivative."""
    f = primad.custom_jvp(np.sin)
    f.defjvp(lambda primals, tangents: type(given)(tangents[0] * x for x in given) if np.iterable(given) else given)
    with pytest.raises(primad.ShapeError, match=r"rule of sin must return a pair \(value, tangent\)"):
        primad.grad(f)(1.0)


BAD_PARTIALS: dict[str, tuple[Any, str]] = {
    "None": ([None], "operand 0 is None, not a function"),
    "one None of two": ([lambda out, x, y: y, None], "operand 1 is None, not a function"),
    "a number": ([3.0], "a value of type float, not a function"),
    "no list": (lambda out, x: x, "got a value of type function"),
    "nothing": (None, "got None"),
    "none": ([], "got none"),
    "a list": ([[np.cos]], "a value of type list, not a function"),
    "a text": ("ab", "got a value of type str"),
    "too few arguments": ([lambda out: out], "does not take 2 arguments"),
    "too many arguments": ([lambda out, x, y: out], "does not take 2 arguments"),
    "a ufunc": ([np.cos], "does not take 2 arguments"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_PARTIALS)
def test_partials_that_are_none_are_refused_where_they_are_declared(name: str) -> None:
    partials, said = BAD_PARTIALS[name]
    with pytest.raises(
        primad.TracingError, match=rf"elementwise primitive 'bad'.*{re.escape(said)}(?s:.*)Fix: "
    ) as caught:
        primad.elementwise("bad", lambda *x: x[0], partials)
    assert f"\n  in {__file__}:" in str(caught.value)


def test_partials_of_every_form_are_taken() -> None:
    for rule in (
        lambda out, x: 2 * x,
        lambda *given: 2 * given[1],
        lambda out, x, k=2: k * x,
        lambda out, x, **p: 2 * x,
    ):
        assert primad.grad(primad.elementwise("good", lambda x: x * x, [rule]))(3.0) == 6.0
    assert primad.grad(primad.elementwise("exponential", np.exp, [np.multiply]))(0.0) == 0.0
    with pytest.raises(primad.TracingError, match="numpy is None, not a function"):
        primad.elementwise("bad", None, [lambda out, x: x])  # type: ignore[arg-type]
    with pytest.raises(primad.TracingError, match="2 operands but 1 partial derivative\n"):
        primad.elementwise("bad", special.jv, [lambda out, x: x])


def bessel() -> tuple[Any, Any]:
    """Bessel's functions of order 0 and 1, whose derivatives are made of each other, of numbers only."""
    zero: Any = primad.elementwise("bessel_0", j0, [lambda out, x: -one(x)])
    one: Any = primad.elementwise("bessel_1", j1, [lambda out, x: zero(x) - out / x])
    return zero, one


def j0(x: Any) -> Any:
    return special.j0(np.asarray(x, float))


def j1(x: Any) -> Any:
    return special.j1(np.asarray(x, float))


def test_a_ufunc_without_a_formula_is_told_how_to_be_proved() -> None:
    zero, one = bessel()
    report = primad.verify(one)
    (note, *_) = {row.note for row in report.failures}
    assert "runs neither on symbols nor on traced arrays" in note
    named = re.search(r"symbolic=\{(bessel_1): (lambda numbers, x: .*)\}\), with all", note.replace("\n", ""))
    assert named and "besselj(1, x)" in named[2], note

    def meaning(order: int) -> Any:
        return eval(named[2].replace("besselj(1", f"besselj({order}"), {"np": np, "sympy": sympy})

    report = primad.verify(one, symbolic={one: meaning(1), zero: meaning(0)})
    assert report.ok and report.counts["proved"] == 3
    wrong = primad.elementwise("bessel_1", j1, [lambda out, x: zero(x) + out / x])
    assert not primad.verify(wrong, symbolic={wrong: meaning(1), zero: meaning(0)}).ok
    primad.check_grads(one, (np.array([0.5, 2.0]),))


def test_a_function_of_doubles_alone_says_so() -> None:
    spline = CubicSpline(np.linspace(0.0, 3.0, 7), np.sin(np.linspace(0.0, 3.0, 7)))
    slope = spline.derivative()
    wrapped = primad.elementwise("spline", spline, [lambda out, x: primad.value(x) * 0 + slope(primad.value(x))])
    (row,) = [row for row in primad.verify(wrapped, domain=[(0.1, 2.9)]).rows if row.what == "type"]
    assert row.how == "tested" and "computes in double, and its result is rounded" in row.note
    assert primad.jit(wrapped)(np.ones(3, np.float32)).dtype == np.float32
    other = primad.elementwise("integers", lambda x: np.asarray(x).astype(int), [lambda out, x: x])
    (row,) = [row for row in primad.verify(other).rows if row.what == "type"]
    assert row.how == "failed"


def test_each_part_of_a_backward_rule_tells_two_apart() -> None:
    """What the forward rule keeps may be another tree of the same arrays, of another flag of the function's, say."""
    rule, other = (SimpleNamespace(name="f", key=key) for key in ("f", "g"))
    types = (ArrayType((2,), np.dtype(float)),)
    kept, turned = (tree.flatten(x)[1] for x in ((1.0, {"a": 2.0}), ({"a": 1.0}, 2.0)))
    parts = {"rule": other, "residuals": turned, "in_types": types * 2, "out_types": (), "stacks": (((True,), 3),)}
    given = {"rule": rule, "residuals": kept, "in_types": types, "out_types": types, "stacks": ()}
    assert Pullback(**given) == Pullback(**given) and hash(Pullback(**given)) == hash(Pullback(**given))
    for name, value in parts.items():
        assert Pullback(**{**given, name: value}) != Pullback(**given), name


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
def test_a_rule_counts_where_some_arguments_are_plain(kind: str) -> None:
    """The rule says ten times the slope, by which it is known."""
    if kind == "jvp":
        f = primad.custom_jvp(lambda x, y: x * y)
        f.defjvp(
            lambda primals, tangents: (
                primals[0] * primals[1],
                10.0 * (tangents[0] * primals[1] + primals[0] * tangents[1]),
            )
        )
    else:
        f = primad.custom_vjp(lambda x, y: x * y)
        f.defvjp(lambda x, y: (x * y, (x, y)), lambda kept, ct: (10.0 * ct * kept[1], 10.0 * ct * kept[0]))
    for plain in (3.0, np.float64(3.0), np.array(3.0)):
        assert primad.grad(lambda x, y=plain: f(x, y))(2.0) == 30.0
        assert primad.grad(lambda y, x=plain: f(x, y))(2.0) == 30.0
        assert primad.jit(primad.grad(lambda y, x=plain: f(x, y)))(2.0) == 30.0
