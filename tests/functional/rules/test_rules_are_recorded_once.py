"""Rules of a user's own are recorded again only where what they read has changed, and then they are."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import primad
import primad.compat.autograd.numpy as anp
from primad.compat import autograd
from primad.functional.rules import readings, rule_identity

X = np.linspace(0.3, 1.0, 4)
KINDS = ("primitive by pullback", "primitive by both", "custom_jvp", "custom_vjp")


def ruled(kind: str, slope: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return sin with a rule that says that its derivative is what `slope` gives."""
    if kind.startswith("primitive"):
        made: Any = autograd.primitive(lambda x: np.sin(x))
        autograd.defvjp(made, lambda ans, x: lambda g: g * slope(x))
        if kind == "primitive by both":
            autograd.defjvp(made, lambda g, ans, x: g * slope(x))
        return made  # type: ignore[no-any-return]
    if kind == "custom_jvp":
        pushed = primad.custom_jvp(lambda x: anp.sin(x))
        pushed.defjvp(lambda primals, tangents: (pushed(*primals), tangents[0] * slope(primals[0])))
        return pushed
    pulled = primad.custom_vjp(lambda x: anp.sin(x))
    pulled.defvjp(lambda x: (pulled(x), x), lambda x, g: (g * slope(x),))
    return pulled


def second(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the Hessian, by reverse mode alone."""
    return primad.jacrev(primad.grad(f))


WAYS: dict[str, Callable[[Any], Any]] = {"value": lambda f: f, "gradient": primad.grad, "Hessian": second}


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what grows with each recording of a rule that is made to tell it from others."""
    found: list[Any] = []
    record = rule_identity.record

    def noting(*args: Any, **kwargs: Any) -> Any:
        found.append(args[0])
        return record(*args, **kwargs)

    monkeypatch.setattr(rule_identity, "record", noting)
    return found


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", KINDS)
def test_second_calls_record_no_rule(kind: str, recorded: list[Any]) -> None:
    """In whatever order: the first calls of all three are over."""
    inner = ruled(kind, anp.cos)
    first = 0
    for number, order in enumerate(itertools.permutations(WAYS)):
        outer = ruled(kind, lambda x, k=number + 1.5: k * inner(x))  # one that no earlier order has used
        for again in range(3):
            recorded.clear()
            for way in order:
                WAYS[way](lambda x, outer=outer: anp.sum(outer(x) * inner(x)))(X)
            first += len(recorded)
            assert again == 0 or not recorded
    assert first or kind == "primitive by both"  # whose rules stand for themselves as long as nothing changes


# -- what changes ------------------------------------------------------------------------------------------------------

SCALE: Any = 1.0
ELSEWHERE = ModuleType("elsewhere")


def helper(x: Any) -> Any:
    return SCALE * x


class Point(NamedTuple):
    x: float
    y: float


class Model:
    offset = 1.0

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def slope(self, x: Any) -> Any:
        return self.scale * x + self.offset


class Slots:
    __slots__ = ("scale",)

    def __init__(self) -> None:
        self.scale = 1.0


def by_keyword(x: Any, *, scale: float = 1.0) -> Any:
    return scale * x


def by_default(x: Any, scale: float = 1.0) -> Any:
    return scale * x


def rewritten(x: Any) -> Any:
    return x


def rebind(scale: float) -> None:
    globals()["SCALE"] = scale


def cases() -> Iterator[tuple[str, Callable[[Any], Any], Callable[[float], Any]]]:
    """Yield slopes, and what makes them others by a number."""
    array, items, table, cell = np.ones(4), [1.0], {"scale": 1.0}, 1.0
    model, slots, name = Model(1.0), Slots(), SimpleNamespace()
    name.part = table

    def moved(number: float) -> None:
        nonlocal cell
        cell = number

    def again(x: Any) -> Any:
        return by_default(x)

    def written(number: float) -> None:
        rewritten.__code__ = eval(f"lambda x: {number} * x").__code__

    yield "an array in place", lambda x: array * x, lambda number: array.fill(number)
    yield "an array of a list", partial(lambda xs, x: xs[0] * x, [array]), lambda number: array.fill(number)
    yield "a list", lambda x: items[0] * x, lambda number: items.__setitem__(0, number)
    yield "a dict", lambda x: table["scale"] * x, lambda number: table.update(scale=number)
    yield "a cell", lambda x: cell * x, moved
    yield "a global", lambda x: SCALE * x, rebind
    yield "a global of a helper", lambda x: helper(x), rebind
    yield "a global of an inner function", lambda x: (lambda y: helper(y))(x), rebind
    yield "a module", lambda x: ELSEWHERE.scale * x, lambda number: setattr(ELSEWHERE, "scale", number)
    yield "an attribute", lambda x: model.scale * x, lambda number: setattr(model, "scale", number)
    yield "a method's object", model.slope, lambda number: setattr(model, "scale", number)
    yield "an attribute of the class", model.slope, lambda number: setattr(Model, "offset", number)
    yield "a slot", lambda x: slots.scale * x, lambda number: setattr(slots, "scale", number)
    yield "a default", again, lambda number: setattr(by_default, "__defaults__", (number,))
    yield "a keyword's default", lambda x: by_keyword(x), lambda n: by_keyword.__kwdefaults__.update(scale=n)
    yield "a function's attribute", lambda x: helper.scale * x, lambda n: setattr(helper, "scale", n)  # type: ignore[attr-defined]
    yield "code", lambda x: rewritten(x), written


CHANGES = list(cases())


@pytest.mark.one_in(6)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("slope", "change"), [each[1:] for each in CHANGES], ids=[each[0] for each in CHANGES])
def test_each_change_is_seen(kind: str, slope: Any, change: Any) -> None:
    """What was found before a change, first or second derivative, is not taken for what is there after it, and back."""
    change(1.0)
    f = ruled(kind, slope)
    for number, ways in ((2.0, "g"), (3.0, "gh"), (2.0, "gh"), (4.0, "h"), (3.0, "hg"), (2.0, "gh")):
        change(number)
        for way in ways:
            if way == "g":
                assert np.allclose(primad.grad(lambda x: anp.sum(f(x)))(X), slope(X))
            else:
                found = np.diag(np.asarray(second(lambda x: anp.sum(f(x)))(X)))
                assert np.allclose(found, (slope(X + 1.0) - slope(X)))
    change(1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_another_rule_is_another(kind: str) -> None:
    for number in (2.0, 3.0, 2.0):
        for slope in partial(lambda number, x: number * x, number), lambda x, n=number: n + 0.0 * x:
            f = ruled(kind, slope)
            assert np.allclose(primad.grad(lambda x, f=f: anp.sum(f(x)))(X), slope(X))


def test_a_change_under_a_rule_is_seen() -> None:
    """A rule calls what has a rule, which only third derivatives record; first ones came before, with two of them."""
    array = np.ones(4)
    inner = ruled("primitive by pullback", lambda x: array * x)
    outer = primad.custom_vjp(lambda x: inner(x))
    outer.defvjp(lambda x: (outer(x), x), lambda x, g: (g * inner(x),))
    first = primad.grad(lambda x: anp.sum(outer(x)))
    second = primad.grad(lambda x: anp.sum(first(x)))
    third = primad.grad(lambda x: anp.sum(second(x)))
    for number in (1.0, 2.0):
        array.fill(number)
        assert np.allclose(first(X), np.sin(X))
    for number in (2.0, 1.0, 3.0, 2.0):
        array.fill(number)
        assert np.allclose(second(X), number * X)
        assert np.allclose(third(X), number)


def test_a_rule_given_again_is_taken() -> None:
    made: Any = autograd.primitive(lambda x: np.sin(x))
    for number in (2.0, 3.0, 2.0):
        autograd.defvjp(made, lambda ans, x, number=number: lambda g: g * number * x)
        for _ in range(2):
            assert np.allclose(primad.grad(lambda x: anp.sum(made(x)))(X), number * X)
            assert np.allclose(np.diag(np.asarray(second(lambda x: anp.sum(made(x)))(X))), number)


# -- what cannot be told -----------------------------------------------------------------------------------------------

GENERATOR = np.random.default_rng(0)
STEPS = itertools.count()


def importing(x: Any) -> Any:
    import math as named

    return named.pi * x


@pytest.mark.parametrize(
    "function",
    [
        lambda x: GENERATOR.normal() * x,
        lambda x: np.random.normal() * x,
        lambda x: next(STEPS) * x,
        lambda x: getattr(sys, "maxsize") * x,  # noqa: B009
        importing,
        primad.jit(lambda x: x * 2.0),
        np.frompyfunc(lambda x: x, 1, 1),
        list(range(readings.MOST_VALUES + 1)),
        np.zeros(readings.MOST_BYTES),
        np.array([None]),
        np.zeros(readings.MOST_BYTES + 1, np.uint8),
        np.zeros(2).view(np.matrix),
        dict.fromkeys(range(readings.MOST_VALUES + 1)),
        [(i,) for i in range(readings.MOST_VALUES)],
        [].append,
        {"a": 1}.get,
        type("Number", (np.float64,), {})(2.0),
        type("Numbers", (list,), {})([2.0]),
        type("Pair", (tuple,), {})((1.0, 2.0)),
        type("Fields", (list,), {"_fields": ()})([1.0]),
    ],
)
def test_there_is_no_reading_of_what_cannot_be_compared(function: Any) -> None:
    assert readings.reading(function) is None


@pytest.mark.parametrize(
    "function",
    [
        np.exp, np.sum, np.linalg.norm, math.log, len, anp.exp, Model, Model(1.0).slope, partial(helper, 1.0),
        lambda x: np.linalg.norm(x) + math.pi * np.sum(x), primad.grad(helper), {"a": [1, (2.0, np.float32)]},
        list(range(readings.MOST_VALUES)), dict.fromkeys(range(readings.MOST_VALUES)), Slots.__new__(Slots),
        [(i,) for i in range(readings.MOST_VALUES - 1)], np.zeros(readings.MOST_BYTES, np.uint8), Point(1.0, 2.0),
        [np.float64(2.0), np.int8(1), np.bool_(True), None],
    ],
)  # fmt: skip
def test_there_is_a_reading_of_what_programs_are_made_of(function: Any) -> None:
    found = readings.reading(function)
    assert found is not None and found.holds()
    again = readings.reading(function)
    assert again is not None and again.values == found.values and hash(again.values) == hash(found.values)
