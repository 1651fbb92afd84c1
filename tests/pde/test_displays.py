"""What fields, problems and solutions show in notebooks, of every kind that shows itself otherwise."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from primad import pde
from primad.symbolic.program_formulas import LONGEST


def wave(x, y):
    return x * np.sin(y)


def waves(x, y):
    return sum(np.sin(k * x) * np.cos(k * y) for k in range(1, LONGEST // 20))


FIELDS = {
    "a function with a name": (pde.Field(wave, "x y"), "wave", 1),
    "one without": (pde.Field(lambda x, y: x * y, "x y"), "u", 1),
    "two components": (pde.Field(lambda x, y: np.array([x, y]), "x y"), "u_1", 2),
    "components with names": (pde.Field(lambda x, y: np.array([x, y]), "x y", "p q"), "q", 2),
    "points in one array": (pde.Field(lambda p: p[0] * p[1], "(x y)"), "x", 1),
    "all points at once": (pde.Field(lambda x, y: x - y, "x y", batched=True), "u", 1),
    "a long formula": (pde.Field(waves, "x y"), "", 0),
    "no formula": (pde.Field(lambda x, y: np.sort(np.array([x, y]))[0] * np.array([x, y]).argsort()[0], "x y"), "", 0),
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_shows_its_formulas_where_they_are_short(name: str) -> None:
    field, word, count = FIELDS[name]
    page = field._repr_html_()
    ElementTree.fromstring(f"<page>{page}</page>")
    assert page.count("<math") == count
    written = field._repr_latex_()
    assert (written is None) == (count == 0)
    assert word in page


@pytest.mark.parametrize("shape", [(3,), (2, 2), (), (0,)])
def test_a_field_at_points_says_how_many_and_how_large(shape: tuple[int, ...]) -> None:
    x = np.linspace(0, 1, int(np.prod(shape))).reshape(shape)
    page = pde.Field(wave, "x y")(x, x)._repr_html_()
    assert f"shape ({', '.join(map(str, shape))})" in page
    assert ("from" in page) == bool(x.size)
