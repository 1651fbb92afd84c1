"""What is no number: refused wherever it meets a traced array, with what it is, the line, and a way out that works."""

from __future__ import annotations

import datetime
import operator
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy as pnp

V = np.array([0.5, 1.5, 2.5])
START = datetime.datetime(2020, 1, 1)
SPAN = datetime.timedelta(seconds=3)


class Thing:
    """An object without operators or numbers."""


KINDS: dict[str, tuple[Any, str, str, Callable[[Any], Any] | None]] = {
    "None": (None, "None", "return a value", None),
    "text": ("1.5", "a text, '1.5'", "float(text)", float),
    "bytes": (b"1.5", "a text, b'1.5'", "float(text)", float),
    "Decimal": (Decimal("1.5"), "a number of type Decimal", "float(number)", float),
    "Fraction": (Fraction(3, 2), "a number of type Fraction", "float(number)", float),
    "time": (START, "a time, ", "(t - start).total_seconds()", lambda t: (t - START).total_seconds()),
    "date": (START.date(), "a time, ", "(t - start).total_seconds()", lambda t: (t - START.date()).total_seconds()),
    "span": (SPAN, "a span of time, ", "t.total_seconds()", lambda t: t.total_seconds()),
    "dict": ({"a": 2.0}, "a dict", "d[name]", lambda d: d["a"]),
    "set": ({3.0, 1.0, 2.0}, "a set", "np.array(sorted(s))", lambda s: np.array(sorted(s))),
    "generator": ((i for i in range(3)), "a generator", "primad.numpy.array(list(g))", None),
    "map": (map(abs, range(3)), "a map", "primad.numpy.array(list(g))", None),
    "lambda": (lambda x: x, "a function, <lambda>", "f(x)", lambda f: f(2.0)),
    "ufunc": (np.sin, "a function, sin", "f(x)", lambda f: f(2.0)),
    "builtin": (abs, "a function, abs", "f(x)", lambda f: f(2.0)),
    "transformed": (primad.grad(lambda x: x * x), "a function, <lambda>", "f(x)", lambda f: f(2.0)),
    "class": (float, "a class, float", "what it makes", lambda f: f(2.0)),
    "object": (Thing(), "", "np.asarray(x", None),
}  # fmt: skip
"""What comes in, what it is called, the way out that the message names, and that in code."""
OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lt", "ge", "and_", "lshift")
MEETINGS: dict[str, Callable[[Any, Any], Any]] = {
    **{name: getattr(operator, name) for name in OPERATORS},
    **{f"reflected {name}": lambda x, t, name=name: getattr(operator, name)(t, x) for name in OPERATORS},
    "divmod": divmod,
    "np.multiply": lambda x, t: np.multiply(t, x),
    "np.maximum": lambda x, t: np.maximum(x, t),
    "np.where": lambda x, t: np.where(x > 1, x, t),
    "np.dot": lambda x, t: np.dot(x, t),
    "pnp.add": lambda x, t: pnp.add(t, x),
    "x.dot": lambda x, t: x.dot(t),
    "np.append": lambda x, t: np.append(x, t),
}  # fmt: skip


PYTHONS = {"text": "reflected mod", "bytes": "reflected mod", "Fraction": "reflected pow"}
"""What Python does by itself: texts are formatted, and a Fraction to a power is a float to it."""


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_number_is_refused_with_what_it_is(kind: str) -> None:
    thing, words, way, _ = KINDS[kind]
    for name, meet in MEETINGS.items():
        if name == PYTHONS.get(kind):
            continue
        for transform in (primad.grad, primad.jit):
            with pytest.raises(primad.PrimadError) as caught:
                transform(lambda x, meet=meet: np.sum(meet(x, thing)))(V)
            told = str(caught.value)
            first, _, rest = told.partition("\n")
            if "of dtype" not in first:
                assert words in first and way in rest, (name, told)
            assert re.search(r"\n  Fix: .+(\n.*)*\n  in .*test_hostile_operands\.py:\d+$", told), (name, told)
            assert "TracedArray" not in told and "primad.recording" not in told


@pytest.mark.parametrize("kind", [kind for kind, (_, _, _, way) in KINDS.items() if way is not None])
def test_the_way_out_works(kind: str) -> None:
    thing, _, _, way = KINDS[kind]
    assert way is not None
    assert np.isfinite(primad.grad(lambda x: np.sum(x * way(thing)))(V)).all()


def test_the_expression_is_named() -> None:
    with pytest.raises(
        primad.TracingError, match=r"^z \* 'abc': an operator between a traced array of type float64\[\] "
    ):
        primad.grad(lambda z: z * "abc")(1.0)


INDICES: dict[str, tuple[Any, str]] = {
    "a float array": (V, "dtype float64 cannot be an index"),
    "a float": (1.5, "cannot be an index"),
    "a text": ("a", "a text, 'a' cannot be an index"),
    "a dict": ({}, "a dict cannot be an index"),
    "a function": (abs, "a function, abs cannot be an index"),
    "a class": (int, "a class, int cannot be an index"),
    "masked": (np.ma.masked_array([0, 1], [True, False]), "plain array"),
}  # fmt: skip


@pytest.mark.parametrize("kind", INDICES)
def test_what_is_no_index_is_refused(kind: str) -> None:
    index, told = INDICES[kind]
    with pytest.raises(primad.PrimadError, match=rf"{re.escape(told)}(?s:.*)\n  in .*test_hostile_operands") as caught:
        primad.grad(lambda x: np.sum(x[index]))(V)
    assert "Fix:" in str(caught.value)


def test_a_range_is_an_array_as_it_is_to_numpy() -> None:
    np.testing.assert_array_equal(primad.grad(lambda x: np.sum(x * range(3) + range(3)))(V), [0.0, 1.0, 2.0])
