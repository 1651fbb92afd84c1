"""Sweeps over all combinations, of which the suite takes some and `pytest -m exhaustive` the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import product
from typing import Any

import pytest

from primad.native.llvm import vectors

WIDTHS = sorted({32, vectors.WIDTH_BYTES})
"""Bytes of vectors, every width that the host allows."""
ANY_WIDTHS = sorted({16, *WIDTHS})
"""Every width for which there is code; short ones run on every host."""

DOCTESTS = 3
"""One in so many examples of docstrings is the suite's."""


def is_swept(config: pytest.Config) -> bool:
    """Say whether cases of sweeps may be run: making what is left out takes each process a third of a second."""
    return str(config.getoption("markexpr")) != "not exhaustive"


def thinned(every: int, **parameters: Sequence[Any]) -> pytest.MarkDecorator:
    """Parametrize a test by all combinations, of which the suite runs one in so many.

    These are the ones whose places in the sequences add up to a multiple: each value is among them, and so is each pair
    of values wherever a third parameter has `every` values or more. The fixtures of widths may be parameters, too.
    """
    return pytest.mark.thinned(every, **parameters)


def chosen(cases: Iterable[str], suite: Collection[str]) -> list[Any]:
    """Return names of cases, of which the suite runs those that are chosen for it and the sweep the others."""
    every = list(cases)
    assert set(suite) <= set(every), f"no such case: {set(suite) - set(every)}"
    return [case if case in suite else pytest.param(case, marks=pytest.mark.exhaustive) for case in every]


def leave_to_the_sweep(items: Iterable[pytest.Item]) -> None:
    """Leave all but one in so many cases of a test to the sweep, where it has the mark `one_in`.

    It is for cases that other tests ask as well, as functions, ops and pages: what is asked of all of them twice has no
    place in five minutes.
    """
    for place, example in enumerate([item for item in items if isinstance(item, pytest.DoctestItem)]):
        if place % DOCTESTS:
            example.add_marker(pytest.mark.exhaustive)
    seen: Counter[str] = Counter()
    for item in [item for item in items if not item.get_closest_marker("exhaustive")]:
        mark = item.get_closest_marker("one_in")
        if mark is not None:
            name = item.nodeid.partition("[")[0]
            if seen[name] % mark.args[0]:
                item.add_marker(pytest.mark.exhaustive)
            seen[name] += 1


def generate(metafunc: pytest.Metafunc) -> None:
    """Mark a test that is thinned with its cases; by the mark pytest knows that fixtures bring none of their own."""
    for mark in metafunc.definition.iter_markers("thinned"):
        (every,), parameters = mark.args, mark.kwargs
        cases = []
        for case in product(*map(enumerate, parameters.values())):
            places, values = zip(*case, strict=True)
            is_left_out = bool(sum(places) % every)
            if not is_left_out or is_swept(metafunc.config):
                cases.append(pytest.param(*values, marks=[pytest.mark.exhaustive] * is_left_out))
        fixtures = [name for name in parameters if name in ("width", "any_width")]
        metafunc.definition.add_marker(pytest.mark.parametrize(",".join(parameters), cases, indirect=fixtures))
