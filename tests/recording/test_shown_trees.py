"""Messages show trees as users write them, and never as the library shows them that flattens them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import primad
from primad.recording import tree


@dataclass
class Layer:
    w: Any
    b: Any


class Pair(NamedTuple):
    first: Any
    second: Any


SHOWN: dict[str, tuple[Any, str]] = {
    "an array": (np.ones(2), "* (one array)"),
    "a dict": ({"b": 1.0, "a": [2.0, None]}, "{'b': *, 'a': [*, None]}"),
    "a tuple": ((1.0, (2.0,), ()), "(*, (*,), ())"),
    "a dataclass": (Layer(1.0, {"x": 2.0}), "Layer(w=*, b={'x': *})"),
    "a named tuple": ([Pair(1.0, 2.0)], "[Pair(first=*, second=*)]"),
    "many": ([1.0] * 100, "of 100 arrays"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_structures_are_shown_as_they_are_written(name: str) -> None:
    value, text = SHOWN[name]
    assert tree.shown(tree.flatten(value)[1]) == text


def pairs(c: Any, x: Any) -> Any:
    return (c, c), None


MESSAGES: dict[str, Callable[[], Any]] = {
    "a program": lambda: primad.trace(lambda p: p["a"])({"a": 1.0})(2.0),
    "a carry": lambda: primad.scan(pairs, 1.0, length=3),
    "an associative scan": lambda: primad.associative_scan(lambda a, b: (a["x"], b["x"]), {"x": np.ones(4)}),
    "a choice": lambda: primad.cond(np.True_, lambda x: x, lambda x: (x, x), 1.0),
    "axes": lambda: primad.vmap(lambda x: x["a"], in_axes=((0, 0),))({"a": np.ones(3)}),
    "tangents": lambda: primad.jvp(lambda x: x["a"], ({"a": 1.0},), ({"b": 1.0},)),
    "cotangents": lambda: primad.vjp(lambda x: (x, x), 1.0)[1](1.0),
    "a map": lambda: tree.map(lambda a, b: a, {"a": 1.0}, {"b": 1.0}),
    "bounds": lambda: primad.optimize.minimize(lambda p: p["a"], {"a": 1.0}, bounds=({"b": 0.0}, None)),
    "states": lambda: primad.optimize.solve_ivp(lambda t, y: y["a"], (0, 1), {"a": 1.0}),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_no_message_shows_a_structure_of_the_library(name: str) -> None:
    with pytest.raises(primad.PrimadError) as info:
        MESSAGES[name]()
    assert "PyTreeSpec" not in str(info.value) and "namespace" not in str(info.value)
