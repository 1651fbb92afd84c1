"""Tests without native code, in a process that has a compiler."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from primad.functional.derived_calls import _RECORDINGS
from primad.native.llvm.compiler import compiler
from primad.runtime.cache import BUILT, EXECUTABLES


@contextmanager
def interpreted() -> Iterator[None]:
    """Leave out the compiler, and the plans that were made with it; those that are made here are forgotten."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRIMAD_NATIVE", "0")
        patch.setattr(compiler, "_made", {})
        for cache in (EXECUTABLES, BUILT, _RECORDINGS):
            patch.setattr(cache, "_entries", {})
            patch.setattr(cache, "held", 0)
        yield
