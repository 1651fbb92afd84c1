"""The package's own text, as trees of syntax: of the files that have to do with what is asked."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import primad

PACKAGE = Path(primad.__file__).parent


def trees(*words: str) -> Iterator[tuple[Path, ast.Module]]:
    """Yield the path and the tree of each file in which one of some words stands: to read all takes a second."""
    any_of = re.compile("|".join(rf"\b{re.escape(word)}" for word in words))
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if any_of.search(text):
            yield path, ast.parse(text)
