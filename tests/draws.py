"""Random numbers of tests that do not depend on which tests ran before.

Many files of tests have one generator, from which all of their tests draw. Each test finds it where the import of the
file left it, so that a test that fails in a run of all fails alone, too.
"""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

_STATES = pytest.StashKey[dict[str, list[tuple[np.random.Generator, Any, Any]]]]()


def remember(config: pytest.Config) -> None:
    """Remember where the generators of each file of tests stand, those of the files that it imports from included."""
    config.stash[_STATES] = {
        name: [(drawn, drawn.bit_generator.state, drawn.bit_generator.jumped().state) for drawn in set(_seen(name))]
        for name in list(sys.modules)
        if name.startswith("tests.")
    }


def draw_anew(item: pytest.Item, *, made: bool) -> None:
    """Have a test draw the same in any order of tests, and something else than what was `made` before it is run."""
    name = getattr(getattr(item, "module", None), "__name__", "")
    for drawn, first, later in item.config.stash[_STATES].get(name, ()):
        drawn.bit_generator.state = later if made else first


def _seen(name: str) -> Iterator[np.random.Generator]:
    for value in vars(sys.modules[name]).values():
        if isinstance(value, np.random.Generator):
            yield value
        other = str(getattr(value, "__module__", ""))
        if other != name and other.startswith("tests.") and other in sys.modules:
            yield from (drawn for drawn in vars(sys.modules[other]).values() if isinstance(drawn, np.random.Generator))
