"""Arrays that recorded packages compute of plain numbers, and write traced values into."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import primad
from primad.compat import packages
from primad.compat.packages import assigned, importing

NAME = "writing_ones"
MADE = (
    "KEPT * 2", "-KEPT", "KEPT.copy()", "KEPT.astype(float)", "np.arange(3.0)", "np.linspace(0, 1, 3)", "np.sin(KEPT)",
    "np.eye(3)[1] + 0", "np.eye(3) @ KEPT", "KEPT.reshape(3, 1).sum(axis=1)", "np.where(KEPT > 1, KEPT, 0.0)",
    "KEPT[[0, 2, 1]]", "KEPT[KEPT >= 0]", "(KEPT * np.ones((3, 1))).T[0]", "np.random.default_rng(0).normal(size=3)",
    "helped()", "KEPT * 2 if len(KEPT) == 3 else None", "np.cumsum(KEPT)", "np.concatenate([KEPT[:1], KEPT[1:]])",
    "np.linalg.inv(np.eye(3))[0] * 1", "KEPT.tolist() @ np.eye(3)",
)  # fmt: skip
"""Expressions of plain numbers that make an array of three numbers."""
WAYS = {
    "element": "y[1] = x\n    return np.sum(y**2)",
    "in_place": "y *= x\n    return np.sum(y**2)",
    "some_in_place": "y[1:] *= x\n    return np.sum(y**2)",
    "through_a_view": "z = y[1:]\n    z[0] = x\n    return np.sum(y**2)",
    "as_out": "np.multiply(KEPT, x, out=y)\n    return np.sum(y**2)",
}
"""How a function goes on that has one of these as y."""
OTHERS = """
import functools
import numpy as np
KEPT = np.arange(3.0)

def helped():
    return KEPT + 1

class Filter:
    def __init__(self):
        self.spread = KEPT * 2
        self.same, self.table = self.spread, {}

    def update(self, x):
        self.spread[1] = x
        self.table["gain"] = KEPT * 3
        self.table["gain"][0] = x
        return np.sum(self.same**2) + np.sum(self.table["gain"] ** 3)

def by_attributes(x):
    return Filter().update(x)

def by_several(x):
    a, b = np.meshgrid(np.arange(2.0), np.arange(3.0))
    (q, _), c = np.linalg.qr(np.eye(3) * 2), KEPT * 2
    a[1], q[0, 0], c[0] = x, x * x, x
    return np.sum(a**2) + np.sum(q**3) + np.sum(b) * np.sum(c**2)

def _write(y, x):
    y[0] = x
    return y

def by_choices(x):
    a, b = KEPT * 2, None
    y = a if x > 0 else KEPT * 3
    z = b or KEPT.tolist() and KEPT * 4
    y[1], z[2] = x, x
    return np.sum(a**2) + np.sum((w := KEPT + z) ** 3) + np.sum(w)

def by_helpers(x):
    return np.sum(_write(KEPT * 2, x) ** 2) + np.sum(_write(y=np.exp(KEPT), x=x) ** 2)

def by_rows(x):
    table = np.ones((2, 3)) * 2
    for row in table:
        row[1] = x
    return np.sum(table**2)

def decorated(function):
    @functools.wraps(function)
    def called(*args):
        return function(*args)
    return called

@decorated
def by_decorated(x):
    def inner():
        y = KEPT * 2
        y[1] = x
        return y
    return np.sum(inner() ** 2)
"""
HELD = """
import functools
import numpy as np
KEPT = np.arange(3.0)
TABLE = {"kept": np.arange(3.0) * 2}

@functools.lru_cache
def _kept_by_a_cache():
    return KEPT * 2

def global_one(x):
    KEPT[1] = x
    return np.sum(KEPT)

def view_of_one(x):
    y = KEPT.reshape(3, 1)
    y[1] = x
    return np.sum(KEPT)

def same_one(x):
    y = TABLE["kept"]
    y[1] = x
    return np.sum(TABLE["kept"])

def one_in_a_cache(x):
    y = _kept_by_a_cache()
    y[1] = x
    return np.sum(_kept_by_a_cache())

def default(x, y=KEPT * 2):
    y[1] = x
    return np.sum(y)
"""
MAKERS = "".join(
    f"\ndef {way}_{k}(x):\n    y = {expression}\n    {rest}\n"
    for k, expression in enumerate(MADE)
    for way, rest in WAYS.items()
)


@pytest.fixture
def theirs(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A package of a source, recorded before or after it is imported."""
    source, first = request.param
    (tmp_path / f"{NAME}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(importing._FINDER, "packages", set(importing._FINDER.packages))
    if first == "imported":
        importlib.import_module(NAME)
    packages.record(NAME)
    yield importlib.import_module(NAME)
    sys.modules.pop(NAME)


@pytest.mark.parametrize("theirs", [(OTHERS + MAKERS, "recorded"), (OTHERS + MAKERS, "imported")], indirect=True)
def test_whatever_makes_an_array_it_takes_traced_values(theirs: ModuleType) -> None:
    """Values are those of plain numbers, derivatives those of differences, and plain arrays stay plain outside."""
    own = ModuleType("plain")
    exec(OTHERS + MAKERS, vars(own))
    names = [name for name in vars(own) if name.startswith((*WAYS, "by_"))]
    assert len(names) == len(MADE) * len(WAYS) + 6
    for name in names:
        plain, recorded = getattr(own, name), getattr(theirs, name)
        assert recorded(1.3) == plain(1.3), name
        value, slope = primad.value_and_grad(recorded)(1.3)
        np.testing.assert_allclose(value, plain(1.3), rtol=1e-14, err_msg=name)
        np.testing.assert_allclose(slope, (plain(1.3 + 1e-5) - plain(1.3 - 1e-5)) / 2e-5, rtol=1e-8, err_msg=name)
    assert type(theirs.helped()) is np.ndarray and np.array_equal(theirs.KEPT, np.arange(3.0))


@pytest.mark.parametrize("theirs", [(HELD, "recorded"), (HELD, "imported")], indirect=True)
def test_what_is_held_elsewhere_stays_as_it_is(theirs: ModuleType) -> None:
    """A traced value in it would outlive the recording, so it is refused, and the numbers are as before."""
    for name in ("global_one", "view_of_one", "same_one", "one_in_a_cache", "default"):
        with pytest.raises(primad.TracingError, match=r"primad\.numpy\.array"):
            primad.grad(getattr(theirs, name))(5.0)
    kept: list[Any] = [theirs.KEPT, theirs.TABLE["kept"] / 2, theirs._kept_by_a_cache() / 2]
    assert all(np.array_equal(each, np.arange(3.0)) for each in kept)
    assert theirs.one_in_a_cache(5.0) == 9.0  # on plain numbers it writes into what the cache holds, as it did


def test_arrays_that_something_holds_are_told_from_new_ones() -> None:
    kinds: list[Any] = []

    def f(x: Any) -> Any:
        held, shown = np.zeros((2, 2)), np.zeros((2, 2))
        view = shown.T
        pair = (np.ones(2), held)
        found = (
            assigned.made(np.zeros(2)), assigned.made(np.zeros((2, 3)).T), assigned.made(held), assigned.made(view),
            assigned.made(shown[0]), *assigned.made((np.ones(2), held)), *assigned.made(pair), assigned.made("text"),
        )  # fmt: skip
        kinds.extend(type(each).__name__ for each in found)
        return x * 2

    assert primad.grad(f)(1.0) == 2.0
    new, plain = "WritableArray", "ndarray"
    assert kinds == [new, new, plain, plain, plain, new, plain, plain, plain, "str"]


def test_a_choice_between_names_is_looked_at_by_its_parts() -> None:
    """Python may lend the reference of a name that is chosen, so that it counts as one of nothing."""
    for text in ("y = a if c else 2 * b", "y = a or 2 * b", "y = (z := a)", "y = (a, 2 * b)"):
        (statement,) = ast.parse(text).body
        assert isinstance(statement, ast.Assign)
        called = ast.unparse(assigned._called(statement.value))
        assert f"{assigned.CALL}(a)" not in called and f"{assigned.CALL}({text[4:]})" not in called
        assert called.count(assigned.CALL) == text.count("2 * b")
