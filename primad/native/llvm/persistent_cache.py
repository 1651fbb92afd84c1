"""Texts that are kept between processes, with what a plan needs to know of them: writing takes as long as compiling."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from primad import ops
from primad.ir.json_form import digest
from primad.ir.program import Program
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.compiler import compiler
from primad.system.disk_cache import disk_cache
from primad.system.machine import CORE, FIRST_CACHE, SECOND_CACHE

T = TypeVar("T")
_MISFITS = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What reading raises of something that was written by other code, or damaged."""


def kept(kind: str, program: Program, more: Sequence[Any], make: Callable[[], Any], read: Callable[[Any], T]) -> T:
    """Return what is made of a program, from the disk if another process has made it.

    What is read is checked; what does not fit is made again, and written in its place.

    Args:
        kind: what is made.
        program: what it is made of.
        more: what else it depends on beside the machine: numbers, and lists of such.
        make: makes it: what JSON can say, and lists rather than tuples.
        read: returns what that says; it raises for what it does not understand.
    """
    cache = disk_cache()
    said = None if cache is None or compiler() is None else digest(program, ops.BY_NAME)
    key = None if said is None else key_of(kind, said, json.dumps(more))
    if cache is None or key is None:
        return read(make())
    found = cache.get(key)
    if found is not None:
        with suppress(*_MISFITS):
            return read(json.loads(found))
    made = make()
    cache.put(key, json.dumps(made).encode())
    return read(made)


def key_of(kind: str, *said: str) -> tuple[str, ...] | None:
    """Return the key of something that is kept: its kind, the machine, all versions and bounds, and what it is made of.

    None without native code, where nothing is kept.
    """
    host = compiler()
    return None if host is None else (kind, *host.about, f"{FIRST_CACHE} {SECOND_CACHE} {CORE} {BUDGET}", *said)
